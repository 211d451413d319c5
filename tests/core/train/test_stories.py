from __future__ import annotations

import random
import re

import pytest

from core.train.stories import PLOTS, distinct_lower_bound, story, tell
from core.train.story_words import BOYS, GIRLS
from core.train.story_world import Person, Teller, Thing

TOLD = [tell(random.Random(seed), plot) for plot in PLOTS for seed in range(150)]


def test_the_same_seed_tells_the_same_story() -> None:
    assert [story(random.Random(n)) for n in range(50)] == [
        story(random.Random(n)) for n in range(50)
    ]


def test_stories_are_distinct() -> None:
    rng = random.Random(0)
    assert len({story(rng) for _ in range(20_000)}) >= 19_990
    assert distinct_lower_bound() >= 10**6


def test_what_the_lower_bound_counts_is_always_told() -> None:
    for telling in (t for t in TOLD if t.plot == "moved"):
        first, second = [e.where for e in telling.events if e.deed == "put"]
        hero, helper = telling.people
        told = [telling.events[0].thing, first, second, hero.name, helper.name]
        assert all(part in telling.text for part in told)
        assert first != second


@pytest.mark.parametrize("plot", PLOTS)
def test_every_plot_has_many_tellings_of_the_right_length(plot: str) -> None:
    texts = [t.text for t in TOLD if t.plot == plot]
    assert len(set(texts)) == len(texts)
    lengths = [len(text.split()) for text in texts]
    assert min(lengths) >= 50
    assert max(lengths) <= 170


def test_an_unknown_plot_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of lost_and_found"):
        tell(random.Random(0), "tragedy")


@pytest.mark.parametrize(
    ("plot", "start"),
    [
        ("on_the_mat", "The cat sat on the mat"),
        ("fear", "Once upon a time there was a little girl named Lily"),
        ("gift", "One day, "),
    ],
)
def test_prompts_of_the_kind_people_type_are_told(plot: str, start: str) -> None:
    rng = random.Random(1)
    assert any(tell(rng, plot).text.startswith(start) for _ in range(20_000))


def test_the_text_is_clean() -> None:
    for text in (t.text for t in TOLD):
        assert not re.search(r"[{}]|  | [.,]|\.\.", text), text
        assert not re.search(r"\b[Aa] [aeiou]", text), text
        assert not re.search(r"\b[Aa]n [^aeiou]", text), text
        assert text[-1] in '.!?"', text
        assert text.count('"') % 2 == 0, text
        for letter in re.findall(r"(?:^|[.!?] )\"?(\w)", text):
            assert letter.isupper(), text


def test_everything_found_was_where_it_was_put() -> None:
    for telling in TOLD:
        where: dict[str, str] = {}
        for event in telling.events:
            if event.deed == "find":
                assert where[event.thing] == event.where
            where[event.thing] = event.where


def test_every_place_that_something_is_found_in_is_told() -> None:
    for telling in (t for t in TOLD if t.plot in ("lost_and_found", "moved")):
        for event in telling.events:
            if event.deed == "find":
                assert event.where in telling.text
                assert event.thing in telling.text


def test_names_come_back_far_apart() -> None:
    spans = []
    for telling in TOLD:
        name = telling.people[0].name
        spans.append(telling.text.lower().rfind(name.lower()) / len(telling.text))
    assert sorted(spans)[len(spans) // 10] > 0.5


def test_no_two_people_of_a_story_share_a_name() -> None:
    for telling in TOLD:
        names = [p.name for p in telling.people]
        assert len(set(names)) == len(names)


def test_pronouns_of_children_fit_their_names() -> None:
    people = {p for telling in TOLD for p in telling.people if p.kind in ("girl", "boy")}
    assert len(people) > 50
    for person in people:
        expected = ("she", "her", "her") if person.name in GIRLS else ("he", "him", "his")
        assert (person.he, person.him, person.his) == expected
        assert (person.name in BOYS) == (person.kind == "boy")


def test_a_story_about_girls_alone_has_no_he() -> None:
    alone = [t for t in TOLD if {p.he for p in t.people} == {"she"} and t.plot != "visit"]
    assert len(alone) > 50
    for telling in alone:
        assert not re.search(r"\b(he|him|his)\b", telling.text, re.IGNORECASE), telling.text


TOM = Person("Tom", "boy", "a boy named Tom", "he", "him", "his")
BEN = Person("Ben", "boy", "a boy named Ben", "he", "him", "his")
MIA = Person("Mia", "girl", "a girl named Mia", "she", "her", "her")


def test_a_pronoun_stands_only_for_the_one_it_can_mean() -> None:
    seen = set()
    for seed in range(200):
        teller = Teller(random.Random(seed))
        teller.cast(a=TOM, b=BEN, c=MIA)
        teller.say("{a.s} met {b}.")
        teller.say("{a.s} sang.")
        teller.say("{a.s} ran.")
        teller.say("{c.s} met {a}.")
        teller.say("{a.s} slept.")
        told = teller.telling("").text
        assert told.startswith("Tom met Ben. Tom sang.")
        assert "Mia met Tom." in told
        seen.add(told)
    assert {"He ran." in told for told in seen} == {True, False}
    assert {"He slept." in told for told in seen} == {True, False}


def test_a_thing_is_found_only_after_it_was_put() -> None:
    teller = Teller(random.Random(0))
    teller.cast(a=TOM, x=Thing("ball", "old"))
    with pytest.raises(KeyError):
        teller.find("x", "a")
    teller.put("x", "in the box")
    teller.find("x", "a")
    teller.say("A {x} was {p}, and {a} took the {x.noun}.")
    assert teller.telling("").text == "An old ball was in the box, and Tom took the ball."
    assert teller.where == {"old ball": "Tom"}
