"""Who and what a story is about, and the teller that keeps what is told true.

A plot hands sentences with slots to a `Teller`. The teller knows who was named last, so that a
pronoun always has one possible owner, and where every thing is, so that nothing is found where it
was not put.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.train import story_words as words

_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_START = re.compile(r"(^|[.!?] |^\")([a-z])")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiou])")


@dataclass(frozen=True)
class Person:
    """Someone in a story: a child, an animal or a grown-up.

    ``he``, ``him`` and ``his`` are the pronouns; ``intro`` names the person for the first time.
    """

    name: str
    kind: str
    intro: str
    he: str = "it"
    him: str = "it"
    his: str = "its"


@dataclass(frozen=True)
class Thing:
    """An object that is carried, hidden or given; ``str()`` gives look and noun."""

    noun: str
    look: str

    def __str__(self) -> str:
        return f"{self.look} {self.noun}"


@dataclass(frozen=True)
class Event:
    """Something that happened to a thing: ``deed`` is "put", "have" or "find"."""

    deed: str
    thing: str
    where: str


@dataclass(frozen=True)
class Telling:
    """A told story with what a test needs to check it."""

    text: str
    plot: str
    people: tuple[Person, ...]
    events: tuple[Event, ...]


@dataclass
class Teller:
    """Tells one story sentence by sentence.

    Slots in a sentence are written ``{a}`` (name or phrase), ``{a.s}`` (name, or the pronoun
    where only one person can be meant), and ``{a.he}``, ``{a.him}``, ``{a.his}``, ``{a.intro}``,
    ``{a.kind}`` and ``{x.noun}``.
    """

    rng: random.Random
    slots: dict[str, Person | Thing | str] = field(default_factory=dict)
    sentences: list[str] = field(default_factory=list)
    focus: set[Person] = field(default_factory=set)
    where: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)

    # -- telling

    def cast(self, **slots: Person | Thing | str) -> None:
        """Fill slots; a slot that is filled again changes its meaning from here on."""
        self.slots.update(slots)

    def say(self, *ways: str) -> None:
        """Tell one of the ways to say a thing."""
        mentioned: set[Person] = set()
        text = _SLOT.sub(lambda m: self._fill(m, mentioned), self.rng.choice(ways))
        text = _START.sub(lambda m: m[1] + m[2].upper(), text)
        self.sentences.append(_ARTICLE.sub(r"\1n ", text))
        if mentioned:
            self.focus = mentioned

    def maybe(self, chance: float, *ways: str) -> None:
        """Tell one of the ways, or nothing."""
        if self.rng.random() < chance:
            self.say(*ways)

    def some(self, least: int, *beats: str) -> None:
        """Tell at least ``least`` of the beats in any order: they must not need each other."""
        for beat in self.rng.sample(beats, self.rng.randint(least, len(beats))):
            self.say(beat)

    def scene(self, chance: float = 0.4) -> None:
        """Look at the sky now and then."""
        self.maybe(chance, *words.SCENES)

    def pick(self, options: Sequence[str], *taken: str) -> str:
        """One of the options that is not taken."""
        return self.rng.choice([option for option in options if option not in taken])

    def _fill(self, match: re.Match[str], mentioned: set[Person]) -> str:
        value, part = self.slots[match[1]], match[2]
        if not isinstance(value, Person):
            return str(getattr(value, part)) if part else str(value)
        known = mentioned or self.focus
        mentioned.add(value)
        if part == "s":
            rivals = [p for p in known | mentioned if p != value and p.he == value.he]
            short = value in known and not rivals and self.rng.random() < 0.6
            return value.he if short else value.name
        return str(getattr(value, part or "name"))

    # -- the world

    def put(self, slot: str, place: str) -> None:
        """The thing in ``slot`` is now at ``place`` (also slot ``p``)."""
        self.where[str(self.slots[slot])] = place
        self.events.append(Event("put", str(self.slots[slot]), place))
        self.cast(p=place)

    def have(self, slot: str, holder: str) -> None:
        """The person in slot ``holder`` now has the thing in ``slot``."""
        person = self.slots[holder]
        assert isinstance(person, Person)
        self.where[str(self.slots[slot])] = person.name
        self.events.append(Event("have", str(self.slots[slot]), person.name))

    def find(self, slot: str, holder: str) -> None:
        """The person finds the thing where it is; slot ``p`` says where that was."""
        place = self.where[str(self.slots[slot])]
        self.events.append(Event("find", str(self.slots[slot]), place))
        self.have(slot, holder)
        self.cast(p=place)

    # -- the cast

    def child(self) -> Person:
        """A girl or a boy whose name is not taken yet."""
        girl = self.rng.random() < 0.5
        name = self.pick(words.GIRLS if girl else words.BOYS, *self._names())
        kind = "girl" if girl else "boy"
        intro = f"a {self.pick(words.TRAITS)} {kind} {self.pick(('named', 'called'))} {name}"
        pronouns = ("she", "her", "her") if girl else ("he", "him", "his")
        return Person(name, kind, intro, *pronouns)

    def animal(self, *, named: bool | None = None) -> Person:
        """An animal, either with a name (then he or she) or plainly "the cat" (it)."""
        kind = self.pick(words.ANIMALS, *self._kinds())
        named = self.rng.random() < 0.4 if named is None else named
        fur = self.pick(words.FURS)
        if not named:
            return Person(f"the {kind}", kind, f"a {fur} {kind}")
        name = self.pick(words.PET_NAMES, *self._names())
        pronouns = self.rng.choice((("she", "her", "her"), ("he", "him", "his")))
        return Person(name, kind, f"a {fur} {kind} named {name}", *pronouns)

    def parent(self, child: str) -> Person:
        """The mother or father of the person in slot ``child``."""
        owner = self.slots[child]
        assert isinstance(owner, Person)
        if self.rng.random() < 0.5:
            return Person("Mom", "mother", f"{owner.his} mother", "she", "her", "her")
        return Person("Dad", "father", f"{owner.his} father", "he", "him", "his")

    def hero(self) -> Person:
        """A child mostly, an animal sometimes."""
        return self.child() if self.rng.random() < 0.75 else self.animal()

    def thing(self) -> Thing:
        """A thing of a kind that is not in the story yet."""
        taken = [x.noun for x in self.slots.values() if isinstance(x, Thing)]
        return Thing(self.pick(words.TOYS, *taken), self.pick(words.LOOKS))

    def _people(self) -> list[Person]:
        return [x for x in self.slots.values() if isinstance(x, Person)]

    def _names(self) -> list[str]:
        return [x.name for x in self._people()]

    def _kinds(self) -> list[str]:
        return [x.kind for x in self._people()]

    def telling(self, plot: str) -> Telling:
        """What was told so far."""
        return Telling(" ".join(self.sentences), plot, tuple(self._people()), tuple(self.events))
