"""Plots about what someone does, fears, grows or promises."""

from __future__ import annotations

from core.train import story_words as words
from core.train.story_things import begin, end, enter
from core.train.story_world import Teller


def weather(t: Teller) -> None:
    """The weather turns, so something is fetched."""
    turn, cover, cause, harm = t.rng.choice(words.WEATHER)
    t.cast(a=t.child(), turn=turn, cover=cover, cause=cause, harm=harm)
    t.cast(b=t.parent("a"), q=t.pick(words.SITES), p=t.pick(words.INDOORS))
    enter(t)
    t.say("{a} wanted to go to {q}.", '"May I go to {q}?" {a} asked {b}.')
    t.say("But {turn}.", "On the way {turn}.", "Then {turn}, and {a} stopped.")
    t.say(
        '"Take your {cover}," said {b}.',
        '"You will {harm} without your {cover}," said {b}.',
        '{b} said, "It is {p}. Take your {cover} with you."',
    )
    t.say("The {cover} was {p}.", "{a} found the {cover} {p}.", "{a} went to look {p}.")
    t.say(
        "{a} took the {cover} because {turn}.",
        "So {a} took {a.his} {cover} and went out again.",
    )
    t.scene(0.2)
    t.cast(c=t.child())
    t.say(
        "At {q}, {a} met {c}, who had no {cover}.",
        "{c} was at {q} too, but {c.he} had no {cover}.",
    )
    t.say(
        '"Come here, {c}," said {a}. "There is room for two."',
        "{a} and {c} shared the {cover}.",
    )
    t.say("They did not {harm}.", "Because of the {cover}, they did not {harm}.")
    t.maybe(0.6, '"I do not mind {cause} now," said {c}.', "When {a} came home, {b} was glad.")
    end(t)


def helping(t: Teller) -> None:
    """A hurt animal is helped and helps back."""
    hurt, cure = t.rng.choice(words.HURTS)
    t.cast(a=t.child(), hurt=hurt, cure=cure, q=t.pick(words.SITES))
    t.cast(b=t.animal(named=False), x=t.thing())
    enter(t)
    t.say("One day, {a} walked to {q}.", "{a} went for a walk near {q}.")
    t.scene()
    t.say(
        "There {a.s} saw a {b.kind}. The {b.kind} {hurt}.",
        "By the path sat {b.intro}. It {hurt}.",
        "{a} heard a small cry. It was a {b.kind} that {hurt}.",
    )
    t.say('"Please help me," said {b}.', '"Do not be afraid," said {a}.', '"Oh no!" cried {a}.')
    t.say("{a} {cure}.", "{a} was kind and {cure}.", "Because {a} felt sorry, {a.he} {cure}.")
    t.say('"Thank you, {a}," said {b}. "I will not forget this."', "{b} looked at {a} and ran off.")
    t.put("x", t.pick(words.OUTDOORS))
    t.say("Some days later {a} lost {a.his} {x}.", "The next week {a}'s {x} was gone.")
    t.maybe(0.6, "{a} looked and looked.", "{a} sat down and cried.")
    t.say("Then the {b.kind} from {q} came by.", "But {b} had not forgotten {a}.")
    t.find("x", "b")
    t.say("{b} found the {x} {p} and brought it back.", '"It was {p}," said {b}. "Here it is."')
    t.have("x", "a")
    t.say("{a} took the {x} and gave {b} a hug.", "So {a} got {a.his} {x} back.")
    t.maybe(0.7, '"You helped me, so I helped you," said {b}.', "{a} and {b} became good friends.")
    end(t)


def race(t: Teller) -> None:
    """The fast one rests, the slow one wins."""
    t.cast(a=t.animal())
    t.cast(b=t.animal(), q=t.pick(words.SITES), p=t.pick(words.OUTDOORS), x=t.thing())
    t.cast(g=t.pick(words.SITES, str(t.slots["q"])))
    t.say(
        "Once upon a time there were {a.intro} and {b.intro}.",
        "{a.intro} and {b.intro} lived near {g}.",
        "One day, {a} and {b} wanted to have a race.",
    )
    t.say('"I am faster than you," said {a}.', '{a} said, "Nobody can run like me."')
    t.say('"Let us run to {q}," said {b}. "We will see."', '"We will see," said {b}.')
    t.say("The prize was a {x}.", "The winner would get a {x}.")
    t.say("They both began to run.", '"One, two, three, go!" said a bird.')
    t.say("{a} was fast, and soon {b} was far behind.", "{a} ran ahead and laughed at {b}.")
    t.scene(0.3)
    t.say(
        "But {a} was tired and lay down to sleep {p}.",
        "{a} stopped to eat some grass and fell asleep {p}.",
    )
    t.say("{b} did not stop.", "Step by step, {b} went on.", "{b} was slow, but {b} went on.")
    t.say("{b} walked past {a} and came to {q}.", "When {a} woke up, {b} was already at {q}.")
    t.have("x", "b")
    t.say("{b} won the race and got the {x}.", "So the {x} went to {b}.")
    t.say(
        '"I should not have slept," said {a}.',
        '"You won because you did not stop," {a} said.',
        '"Well done, {b}," said {a}.',
    )
    t.maybe(0.6, "From then on {a} did not laugh at {b}.", "{a} and {b} went home together.")


def baking(t: Teller) -> None:
    """Something is missing, is borrowed, and the cake is shared."""
    first = t.pick(words.STUFF)
    t.cast(a=t.child(), cake=t.pick(words.BAKES), one=first, two=t.pick(words.STUFF, first))
    t.cast(b=t.parent("a"))
    t.cast(c=t.child(), p=t.pick(words.NOOKS))
    enter(t)
    t.say("{a} and {b} wanted to bake {cake}.", '"Let us bake {cake}," said {b}.')
    t.say("They needed {one} and {two}.", '"We need {one} and {two}," said {b}.')
    t.say("The {one} was {p}, but there was no {two}.", "{a} found the {one} {p}, but no {two}.")
    t.say('"What can we do?" asked {a}.', '"Go and ask {c}," said {b}.')
    t.say("So {a} went to {c}, who lived next door.", "{a} ran to the house of {c}.")
    t.say('"Do you have some {two}?" asked {a}.', '"Please, {c}, may I have some {two}?"')
    t.say('"Yes, take it," said {c}, and {c.he} gave {a} the {two}.', "{c} had a lot of {two}.")
    t.scene(0.2)
    t.say("{a} brought the {two} home.", "{a} came back with the {two} and was glad.")
    t.some(
        1,
        "{a} mixed the {one} and the {two} in a bowl.",
        "{b} made the oven hot.",
        "{a} licked the spoon.",
        "Soon the house smelled very good.",
    )
    t.say("Then {cake} came out of the oven.", "At last it was ready.")
    t.say(
        '"We must give some to {c}," said {a}, "because {c.he} gave us the {two}."',
        "{a} took a big piece to {c}, because the {two} came from {c.him}.",
    )
    t.maybe(0.7, '"It is so good!" said {c}.', "They ate {cake} together.")
    end(t)


def visit(t: Teller) -> None:
    """A journey to a relative, with something carried there and something brought back."""
    kin = t.pick(("grandmother", "aunt", "grandfather", "uncle"))
    t.cast(a=t.hero(), x=t.thing(), food=t.pick(words.FOODS), kin=kin, q=t.pick(words.SITES))
    t.cast(he="she" if kin in ("grandmother", "aunt") else "he")
    t.cast(g=t.pick(words.SITES, str(t.slots["q"])))
    enter(t)
    t.cast(far=t.pick(words.HOMES, str(t.slots.get("home"))))
    t.say("{a}'s {kin} lived {far}.", "One day, {a} went to visit {a.his} {kin}.")
    t.say("{a} took a basket of {food} along.", "{a} carried some {food} in a bag.")
    t.say("The way went past {q} and past {g}.", "First {a.s} came to {q}, and then to {g}.")
    t.scene()
    t.cast(b=t.animal(named=False))
    t.say("At {q} sat {b.intro}.", "Near {g} {a} met a {b.kind}.")
    t.say('"Where are you going?" asked {b}.', '"What is in your bag?" {b} asked.')
    t.say('"I am going to my {kin}," said {a}.', '{a} said, "I have {food} for my {kin}."')
    t.maybe(0.6, "{a} gave {b} some of the {food}.", '"Say hello for me," said {b}.')
    t.say("At last {a} came to the house and knocked at the door.", "Soon {a} was there.")
    t.say('"Come in, dear," said the {kin}.', '"Hello, {a}!" said the {kin}.')
    t.say("They ate the {food} together.", "The {kin} liked the {food} very much.")
    t.have("x", "a")
    t.say("When it was time to go, {he} gave {a} a {x}.", "The {kin} gave {a} a {x} to take home.")
    t.maybe(0.6, "{a} went back past {g} and past {q} with the {x}.", '"Come again," {he} said.')
    end(t)


def fear(t: Teller) -> None:
    """A fear is overcome because somebody needs help."""
    dread, sight, lesson = t.rng.choice(words.FEARS)
    t.cast(a=t.hero(), dread=dread, sight=sight, lesson=lesson, p=t.pick(words.NOOKS))
    t.cast(b=t.child())
    begin(t)
    t.say("{a} was afraid of {dread}.", "There was one thing that {a} feared, and it was {dread}.")
    t.say("When {a} thought of {dread}, {a.he} hid {p}.", "{a} often hid {p}.")
    t.say("One day {b} came to play.", "{a}'s friend {b} was not afraid at all.")
    t.say("{sight}.", "{sight}, and {a} wanted to run away.")
    t.say('"I am scared," said {a}.', '"Help! I am afraid of {dread}," cried {a}.')
    t.say('"Take my hand," said {b}. "I am here."', '"Count to three," {b} said.')
    t.scene(0.2)
    t.some(1, "{a} took a deep breath.", "{a} held on to {b}.", "{a} counted to three.")
    t.say("Then {a} went forward, one step at a time.", "And then {a} was brave.")
    t.say('"{lesson}!" said {a}.', "Nothing bad happened to {a}.", '"Look at me!" called {a}.')
    t.say(
        "Now {a} is not afraid of {dread} any more.",
        "After that day {a} did not hide {p} again.",
        '"You were very brave," said {b}.',
    )
    end(t)


def promise(t: Teller) -> None:
    """A promise is made, nearly forgotten, and kept."""
    t.cast(a=t.child(), x=t.thing())
    t.cast(b=t.child(), c=t.animal(named=False), q=t.pick(words.SITES))
    t.cast(day=t.pick(("Monday", "Tuesday", "Friday", "Saturday", "Sunday")))
    enter(t)
    t.have("x", "b")
    t.say("{b} lent {a} a {x}.", "{a} wanted to play with the {x} of {b}.")
    t.have("x", "a")
    t.say('"Bring it back to {q} on {day}," said {b}.', '"I need it on {day}," said {b}.')
    t.say('"I promise," said {a}.', '{a} said, "I will bring it back. I promise."')
    t.say("{a} played with the {x} every day.", "{a} took good care of the {x}.")
    t.put("x", t.pick(words.NOOKS))
    t.say("At night {a} kept it {p}.", "{a} put the {x} {p} so that it would be safe.")
    t.scene(0.3)
    t.say("Then it was {day}.", "{day} came, and it was raining hard.")
    t.say('"Stay at home," said {c}. "It is too far."', "{a} was tired and wanted to stay in bed.")
    t.say('"No, I made a promise to {b}," said {a}.', "But {a} remembered the promise.")
    t.find("x", "a")
    t.say("{a} looked {p}, took the {x} and ran to {q}.", "So {a} got the {x} and went to {q}.")
    t.have("x", "b")
    t.say("{b} was waiting, and {a} gave the {x} back.", '"Here is your {x}," said {a} to {b}.')
    t.say('"You kept your promise," said {b}.', '"I knew you would come," said {b}.')
    end(t)


def growing(t: Teller) -> None:
    """A seed is planted, watched and grows."""
    seed, plant = t.rng.choice(words.SEEDS)
    t.cast(a=t.hero(), seed=seed, plant=plant, p=t.pick(words.OUTDOORS))
    t.cast(b=t.child(), c=t.animal(named=False))
    enter(t)
    t.say("{a} found a {seed}.", "{b} gave {a} a {seed}.", "{a} had a {seed} in a small bag.")
    t.say("{a.s} put it in the ground {p}.", "{a} dug a hole {p} and planted the {seed}.")
    t.say("Every day {a} gave it water.", "{a} watered it each morning.")
    t.say("But nothing came up.", "A week went by, and there was nothing to see.")
    t.say('"It will not grow," said {b}.', '"You must wait," said {b}.')
    t.maybe(0.7, "{c} wanted to dig it up, but {a} said no.", "{a} sat {p} and waited.")
    t.scene()
    t.say("Then the rain came, and the sun came after it.", "One night it rained.")
    t.say('"Look!" cried {a}. "It is green!"', "In the morning {a} saw a small green leaf.")
    t.say("The {plant} grew and grew.", "Soon the {plant} was as tall as {a}.")
    t.say(
        "{b} came to see the {plant}.",
        '"What a fine {plant}!" said {b}.',
        "{c} came to sit under the {plant}.",
    )
    t.say(
        'And {a} said, "It was only a {seed}, and now it is a {plant}."',
        "Now there is a {plant} {p}, because {a} did not give up.",
    )
    end(t)


def new_friend(t: Teller) -> None:
    """Somebody is alone, somebody asks for a name."""
    t.cast(a=t.hero(), q=t.pick(words.SITES), x=t.thing(), food=t.pick(words.FOODS))
    t.cast(b=t.hero())
    begin(t)
    t.say("{a} had no friends and was often alone.", "{a} was new in the village.")
    t.say("One day {a} sat alone at {q}.", "{a} went to {q} with {a.his} {x}.")
    t.have("x", "a")
    t.scene()
    t.say("Then {b} came along.", "There {a} saw {b.intro}.", "Not far away sat {b.intro}.")
    t.say('"Hello," said {b}. "What is your name?"', '"Who are you?" asked {b}.')
    t.say('"I am {a}," said {a}.', '"My name is {a}," {a} said. "I have a {x}."')
    t.some(
        1,
        '"I am hungry," said {b}.',
        '"Do you like {food}?" asked {a}.',
        '"I like your {x}," said {b}.',
    )
    t.say("{a} gave {b} some {food}.", "They sat down and ate {food}.")
    t.say("Then they played with the {x}.", "{b} showed {a} a new game with the {x}.")
    t.maybe(0.6, "They ran around {q} and laughed.", "Soon it was late, and the sun went down.")
    t.say('"Will you come again?" asked {a}.', '"I must go home now," said {b}.')
    t.say('"Yes, I will come to {q} tomorrow," said {b}.', '"See you tomorrow!" they said.')
    t.maybe(0.8, "Now {a} had a friend, and the friend was {b}.", "{a} and {b} met every day.")
    end(t)
