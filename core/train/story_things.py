"""Plots in which a thing moves between people and places."""

from __future__ import annotations

from core.train import story_words as words
from core.train.story_world import Teller


def begin(t: Teller) -> None:
    """Introduce the hero in slot ``a``."""
    t.cast(home=t.pick(words.HOMES))
    t.say(
        "Once upon a time there was {a.intro}.",
        "Once upon a time, there was {a.intro}. {a.s} lived {home}.",
        "Once upon a time there was {a.intro} who lived {home}.",
        "There was once {a.intro}.",
        "Long ago, {a.intro} lived {home}.",
        "In a far away land there lived {a.intro}.",
    )


def enter(t: Teller) -> None:
    """Begin with an introduction, or plainly with what the hero does one day."""
    if t.rng.random() < 0.6:
        begin(t)
        t.scene(0.2)
    else:
        t.cast(q=t.pick(words.SITES))
        t.say(
            "One day, {a} woke up early.",
            "It was a sunny morning, and {a} was up early.",
            "One morning {a} looked out and saw {q}.",
            "{a} had a good day.",
            "One day {a} was playing near {q}.",
        )


def end(t: Teller) -> None:
    """A closing word, often none."""
    t.cast(glad=t.pick(words.HAPPY))
    t.maybe(
        0.6,
        "{a} was {glad}.",
        "{a} went to bed and was {glad}.",
        "From that day on, {a} was {glad}.",
        "{a} smiled all the way home.",
        "And that is how the day of {a} ended.",
        "The end.",
        *words.MORALS,
    )


def lost_and_found(t: Teller) -> None:
    """The thing is put somewhere, forgotten, looked for in other places and found."""
    t.cast(a=t.hero(), x=t.thing())
    enter(t)
    t.say(
        "{a} had a {x}.", "{a} loved {a.his} {x} very much.", "Best of all, {a} liked {a.his} {x}."
    )
    t.have("x", "a")
    t.maybe(0.5, "{a.s} took it everywhere.", "It was a gift from {a.his} grandmother.")
    t.put("x", t.pick(words.NOOKS))
    t.say(
        "One evening {a} put the {x} {p} and went to sleep.",
        "{a.s} played all day, and then {a.s} put the {x} {p}.",
        "Before lunch {a} left the {x} {p}.",
    )
    t.scene()
    t.say(
        "The next day {a} could not find the {x.noun}.",
        "Later {a} wanted to play, but the {x} was not there.",
        'In the morning {a} cried, "Where is my {x}?"',
    )
    place = t.where[str(t.slots["x"])]
    wrong = t.pick(words.NOOKS, place)
    t.cast(wrong=wrong, other=t.pick(words.NOOKS, place, wrong))
    t.say(
        "{a.s} looked {wrong}, but it was not there. {a.s} looked {other}, but it was not there.",
        "First {a.s} looked {wrong}. Then {a.s} looked {other}. There was nothing.",
    )
    t.cast(b=t.parent("a") if t.rng.random() < 0.5 else t.child())
    t.maybe(
        0.7,
        '"Do not be sad," said {b}. "Think about where you left it."',
        '{b} asked, "Where did you have it last?"',
        '"I will help you look," said {b}.',
    )
    t.find("x", "a")
    t.say(
        "At last {a} looked {p} and found the {x}.",
        "Then {a} remembered. {a.s} looked {p}, and there was the {x}!",
        "{a} looked {p}. There it was, the {x}.",
    )
    t.maybe(0.6, '"Here is my {x.noun}!" said {a}.', "{a} held the {x} tight.")
    end(t)


def moved(t: Teller) -> None:
    """A thing is put in one place, and someone else moves it to another."""
    t.cast(a=t.child(), x=t.thing())
    t.cast(b=t.parent("a") if t.rng.random() < 0.5 else t.child())
    t.maybe(0.6, "Once upon a time there was {a.intro}.", "{a} and {b} were at home.")
    first = t.pick(words.NOOKS)
    t.put("x", first)
    t.cast(first=first, q=t.pick(words.SITES))
    t.say("{a} put the {x} {p}.", "One day, {a} put {a.his} {x} {p}.")
    t.say("Then {a.s} went to {q}.", "{a.s} went out to play at {q}.")
    t.scene()
    t.put("x", t.pick(words.NOOKS, first))
    t.say(
        "While {a} was away, {b} took the {x} and put it {p}.",
        "{b} saw the {x} {first}. {b.s} moved it and put it {p}.",
    )
    t.some(0, "{b} cleaned the room.", "{b} sang a song.", "{b} made some tea.")
    t.say(
        "After some time {a} came back from {q}. {a.s} looked {first}, but it was empty.",
        "When {a} came home, {a.s} looked {first} for the {x}. It was not there.",
    )
    t.say('"Where is my {x.noun}?" asked {a}.', '"{b}, did you see my {x}?" {a} asked.')
    t.say('"I put it {p}," said {b}.', '{b} said, "Look {p}."', '"It is {p} now," said {b}.')
    t.find("x", "a")
    t.say("So {a} looked {p} and found the {x}.", "{a} ran and looked {p}, and there it was.")
    t.maybe(0.8, '"Thank you, {b}!" said {a}.', '"Next time I will ask you first," said {b}.')
    end(t)


def sharing(t: Teller) -> None:
    """One has, the other wants, and both end up playing."""
    t.cast(a=t.child(), x=t.thing())
    t.cast(b=t.child(), q=t.pick(words.SITES), food=t.pick(words.FOODS))
    t.say(
        "{a} and {b} were friends.",
        "Once upon a time there were two friends, {a} and {b}.",
        "One day, {a} met {b} at {q}.",
    )
    t.have("x", "a")
    t.say("{a} had a {x}, but {b} had nothing to play with.", "{a} came to {q} with a {x}.")
    t.say('"May I play with your {x.noun}?" asked {b}.', '{b} said, "I want to play too."')
    t.say(
        '"No, it is mine," said {a}, and {a.he} held the {x} tight.',
        '{a} said, "No! The {x} is mine."',
    )
    t.say("{b} was sad and sat down on the grass.", "{b} went away and began to cry.")
    t.scene()
    t.say(
        "{a} played alone, but it was no fun.",
        "Soon {a} felt bad because {b} was sad.",
        "{a} thought about it and was sorry.",
    )
    t.say('"I am sorry, {b}," {a} said. "We can share."', 'So {a} said, "Come, {b}, let us share."')
    t.have("x", "b")
    t.say("{a} gave the {x} to {b}.", "Then {a} let {b} have the {x}.")
    t.maybe(
        0.7,
        "{b} was glad and gave {a} some {food}.",
        '"Thank you," said {b}. "You can have some of my {food}."',
    )
    t.say(
        "{a} and {b} played with the {x} until the sun went down.",
        "They played at {q} all day, and both of them were happy.",
    )
    end(t)


def gift(t: Teller) -> None:
    """A thing is bought or made, wrapped, and given."""
    t.cast(a=t.child(), x=t.thing(), shop=t.pick(words.SHOPS))
    t.cast(b=t.parent("a") if t.rng.random() < 0.4 else t.child())
    enter(t)
    t.say(
        "It was the birthday of {b}, and {a} wanted to give {b.him} a gift.",
        "The next day was {b}'s birthday. {a} did not have a gift.",
    )
    t.say(
        '"What can I give to {b}?" thought {a}.', "{a} thought and thought.", "{a} had three coins."
    )
    t.have("x", "a")
    t.say(
        "So {a} went to {shop} and bought a {x}.",
        "{a.s} worked all day and made a {x}.",
        "At {shop}, {a} found a {x} that nobody wanted.",
    )
    t.put("x", t.pick(words.NOOKS))
    t.say("{a.s} hid the {x} {p} so that {b} would not see it.", "{a} put it {p} for the night.")
    t.scene()
    t.maybe(0.5, '"What do you have there?" asked {b}. "Nothing," said {a}.')
    t.find("x", "a")
    t.say("In the morning {a} took the {x} from its place {p}.", "Then {a} got the {x.noun} again.")
    t.have("x", "b")
    t.say('"Happy birthday, {b}!" said {a}, and {a.he} gave {b.him} the {x}.')
    t.say(
        '"A {x}! It is just what I wanted," said {b}.',
        "{b} opened the paper and saw the {x}.",
        "{b} laughed and hugged {a}.",
    )
    t.maybe(0.5, "{b} put the {x.noun} next to the bed and looked at it every night.")
    end(t)


def trade(t: Teller) -> None:
    """Two swap what they have."""
    t.cast(a=t.hero(), x=t.thing())
    t.cast(b=t.child(), y=t.thing(), q=t.pick(words.SITES))
    enter(t)
    t.have("x", "a")
    t.say("{a} had a {x}, but {a.he} did not need it.", "{a.s} had only a {x}.")
    t.have("y", "b")
    t.say(
        "On the way to {q}, {a} met {b}, who had a {y}.",
        "At {q} there was {b.intro}. {b} had a {y}.",
    )
    t.say('"Hello, {a}," said {b}.', '"Good morning, {b}," said {a}.', "{a} and {b} said hello.")
    t.say('"I like your {x.noun}," said {b}.', '{b} said, "What a fine {x}!"')
    t.say(
        '"I will give you my {x} if you give me your {y}," said {a}.',
        '{a} asked, "Will you give me your {y} for it?"',
    )
    t.maybe(0.6, "{b} thought about it for a while.", '"That is fair," said {b}.')
    t.have("x", "b")
    t.have("y", "a")
    t.say("So {a} took the {y}, and {b} took the {x}.", "{b} got the {x} and {a} got the {y}.")
    t.scene(0.3)
    t.cast(m=t.pick(words.NOOKS), n=t.pick(words.NOOKS))
    t.maybe(0.8, "At home, {b} put the {x} {m}.", "{b} went home with the {x.noun}.")
    t.maybe(0.8, "{a} put the {y} {n}.", "{a} played with the {y} until night.")
    t.say(
        "Now {a} had a {y} and {b} had a {x}, and both were happy.",
        "{b} loved the {x}, and {a} loved the {y}.",
    )
    end(t)


def on_the_mat(t: Teller) -> None:
    """An animal sits, sees a thing, takes it, and someone gets it back."""
    t.cast(a=t.animal(named=False), x=t.thing())
    t.cast(b=t.child(), seat=t.pick(("mat", "rug", "bed", "chair", "sofa", "step", "wall")))
    t.say(
        "The {a.kind} sat on the {seat}.",
        "The {a.kind} sat on the {seat} and looked at the door.",
        "The {a.kind} was asleep on the {seat}.",
        "A {a.kind} lay on the {seat} in the sun.",
    )
    t.scene(0.5)
    t.have("x", "b")
    t.say("{b} came in with a {x}.", "{b} was playing with a {x}.")
    t.put("x", t.pick(words.NOOKS))
    t.say("{b.s} put the {x} {p} and went to eat.", "When lunch was ready, {b} left it {p}.")
    t.say("{a} saw the {x.noun}.", "{a} opened one eye and saw the {x}.")
    t.find("x", "a")
    t.say("{a} jumped down, went to look {p}, and took the {x}.", "{a} crept up and took it.")
    t.put("x", f"on the {t.slots['seat']}")
    t.say("Then {a} carried it to the {seat} and sat on it.", "{a} hid the {x} on the {seat}.")
    t.say('"Where is my {x}?" asked {b}.', "{b} came back, but the {x} was gone.")
    t.maybe(0.6, "{b} looked everywhere.", "{a} did not make a sound.")
    t.find("x", "b")
    t.say(
        "{b} looked at the {seat} and laughed. The {a.kind} was sitting on the {x}!",
        "Then {b} saw {a} on the {seat}, and under {a} was the {x}.",
    )
    t.say('"You funny {a.kind}!" said {b}.', "{b} took the {x} and patted {a}.")
    t.maybe(0.7, "The {a.kind} went back to sleep on the {seat}.", "Now {b} and {a} play together.")


def hide_and_seek(t: Teller) -> None:
    """Three play; where each hides is where each is found."""
    t.cast(a=t.child())
    t.cast(b=t.child())
    t.cast(c=t.animal())
    nook = t.pick(words.NOOKS)
    t.cast(q=t.pick(words.SITES), p=nook, r=t.pick(words.NOOKS, nook))
    t.say("One day, {a}, {b} and {c} played near {q}.", "{a} and {b} went to {q} with {c}.")
    t.say('"Let us play hide and seek," said {a}.', '"Close your eyes and count," {b} told {a}.')
    t.say("{a} closed {a.his} eyes and counted to ten.", '"One, two, three," counted {a}.')
    plain = t.rng.random() < 0.5
    hid = ("hid", "hid") if plain else ("ran and hid", "went and hid")
    t.some(2, f"{{b}} {hid[0]} {{p}}.", f"{{c}} {hid[1]} {{r}}.")
    t.scene(0.3)
    t.say('"Here I come!" called {a}.', 'Then {a} said, "I am coming!"')
    t.some(0, "{a} looked up and down.", "{a} walked very slowly.", "{a} heard a small noise.")
    t.say("{a} looked {r} and found {c}.", "First {a} found {c}, because {c} had moved {r}.")
    t.say(
        '"But where is {b}?" said {a}.',
        "{b} was still hiding.",
        "Now {a} and {c} looked for {b}.",
    )
    t.say("At last {a} looked {p}, and there was {b}.", 'Then {a} looked {p}. "I see you, {b}!"')
    t.maybe(0.7, "{b} laughed and came out.", '"You are good at this game," said {b}.')
    t.maybe(0.6, "Next it was {b}'s turn to count.", "They played until it was time to go home.")
    end(t)
