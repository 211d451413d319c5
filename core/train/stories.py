"""A grammar of short stories: plain English whose links reach across many sentences.

Every sentence is our own. A plot is a function that tells sentences to a
`core.train.story_world.Teller`; names, things and places come back long after they were first
told, so that a model with a wide view beats a count of neighbours.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from core.train import story_deeds as deeds
from core.train import story_things as things
from core.train import story_words as words
from core.train.story_world import Teller, Telling

PLOTS: dict[str, Callable[[Teller], None]] = {
    plot.__name__: plot
    for plot in (
        things.lost_and_found,
        things.moved,
        things.sharing,
        things.gift,
        things.trade,
        things.on_the_mat,
        things.hide_and_seek,
        deeds.weather,
        deeds.helping,
        deeds.race,
        deeds.baking,
        deeds.visit,
        deeds.fear,
        deeds.promise,
        deeds.growing,
        deeds.new_friend,
    )
}


def tell(rng: random.Random, plot: str | None = None) -> Telling:
    """Tell one story with the record of who is in it and what happened to the things.

    Parameters
    ----------
    rng : the only source of chance: the same state tells the same story.
    plot : a name in `PLOTS`, or None for any.

    Raises
    ------
    ValueError
        if there is no such plot.
    """
    name = rng.choice(tuple(PLOTS)) if plot is None else plot
    if name not in PLOTS:
        raise ValueError(f"plot is {name}, but must be one of {', '.join(PLOTS)}.")
    teller = Teller(rng)
    PLOTS[name](teller)
    return teller.telling(name)


def story(rng: random.Random) -> str:
    """Tell one story, usually 60 to 160 words."""
    return tell(rng).text


def distinct_lower_bound() -> int:
    """How many different stories there are at least.

    One plot is enough: every way to tell `core.train.story_things.moved` names the hero, the
    helper, the look and noun of the thing, where it was put first and where it was moved. Two
    tellings that differ in any of these six differ in their text. Only children of the shorter
    list are counted, as hero and helper.
    """
    names = min(len(words.GIRLS), len(words.BOYS))
    people = names * (names - 1)
    things_told = len(words.TOYS) * len(words.LOOKS)
    places = len(words.NOOKS) * (len(words.NOOKS) - 1)
    return people * things_told * places
