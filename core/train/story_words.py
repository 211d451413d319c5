"""The words that stories are made of: people, things, places and small talk."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


GIRLS = _words(
    "Lily Mia Anna Lucy Emma Sara Rosa Ella Nora Ruby Daisy Molly Zoe Amy Grace Alice Clara Eva "
    "Jane Kate Lena Maya Nina Olivia Penny Sophie Tina Violet Wendy Holly"
)
BOYS = _words(
    "Tom Ben Max Sam Tim Jack Leo Finn Oscar Peter Noah Luke Adam Billy Charlie Dan Eddie Fred "
    "George Harry Jacob Kevin Liam Mark Nick Oliver Paul Rob Simon Toby"
)
PET_NAMES = _words("Spot Biscuit Pip Button Coco Rusty Patch Fluffy Nibbles Pepper Bruno Goldie")
ANIMALS = _words("cat dog rabbit mouse fox bear duck frog squirrel pig bird hedgehog")
LOOKS = _words(
    "red blue green yellow old new shiny little big white brown purple orange pink silver"
)
TOYS = _words(
    "ball kite drum doll boat teddy book hat scarf whistle truck puppet basket cup spoon key ring "
    "bell bowl blanket lantern horn coin feather button pencil"
)
INDOORS = (
    "in the box",
    "under the bed",
    "on the shelf",
    "behind the door",
    "in the drawer",
    "under the table",
    "behind the sofa",
    "on the chair",
    "in the cupboard",
    "under the stairs",
    "by the window",
)
OUTDOORS = (
    "under the apple tree",
    "behind the garden wall",
    "in the tall grass",
    "next to the well",
    "under the bench",
    "in the wheelbarrow",
    "behind the shed",
    "by the gate",
)
NOOKS = INDOORS + OUTDOORS
SITES = (
    "the park",
    "the beach",
    "the farm",
    "the market",
    "the pond",
    "the river",
    "the lake",
    "the playground",
    "the school",
    "the old mill",
    "the bridge",
    "the harbour",
)
SHOPS = ("the market", "the fair", "the toy shop", "the corner shop", "the bazaar")
HOMES = (
    "in a small house near the river",
    "in a white house on a hill",
    "in a little village by the sea",
    "on a farm with many animals",
    "at the edge of a big forest",
    "in a tall house in the town",
    "in a cottage with a green door",
    "next to an old mill",
)
FOODS = (
    "cookies",
    "apples",
    "strawberries",
    "pancakes",
    "sandwiches",
    "cherries",
    "plums",
    "carrots",
    "nuts",
    "grapes",
    "muffins",
    "pears",
)
BAKES = (
    "an apple pie",
    "a chocolate cake",
    "a loaf of bread",
    "a cherry tart",
    "a carrot cake",
    "a plum cake",
    "a honey cake",
    "a lemon cake",
)
STUFF = _words("flour sugar butter milk cocoa honey salt cream")
SEEDS = (
    ("sunflower seed", "sunflower"),
    ("bean", "bean plant"),
    ("pumpkin seed", "pumpkin plant"),
    ("apple seed", "apple tree"),
    ("pea", "pea plant"),
    ("acorn", "oak tree"),
    ("cherry stone", "cherry tree"),
    ("tulip bulb", "tulip"),
)
FEARS = (
    ("the dark", "It was very dark", "The dark is not so bad"),
    ("the water", "The water was deep and cold", "The water is not so bad"),
    ("thunder", "The thunder was very loud", "Thunder is only a noise"),
    ("big dogs", "A big dog stood by the gate", "Big dogs can be friends"),
    ("the old bridge", "The old bridge was high and narrow", "The bridge is strong"),
    ("the tall slide", "The tall slide went up and up", "The slide is fun"),
    ("loud noises", "There was a loud noise outside", "A noise cannot hurt me"),
    ("spiders", "A spider sat on the wall", "Spiders are only small"),
)
HURTS = (
    ("had a thorn in its foot", "pulled out the thorn"),
    ("had hurt its leg", "put a soft bandage on its leg"),
    ("was stuck under a branch", "lifted the heavy branch"),
    ("was cold and wet", "dried it with a warm towel"),
    ("was far from home", "carried it home again"),
    ("was lost and hungry", "gave it some bread and milk"),
    ("was caught in a net", "cut the net with great care"),
)
WEATHER = (
    ("it began to rain", "umbrella", "the rain", "get wet"),
    ("it began to snow", "warm coat", "the snow", "get cold"),
    ("the sun was very hot", "straw hat", "the sun", "get too hot"),
    ("a cold wind began to blow", "woolly scarf", "the wind", "get cold"),
)
TRAITS = _words("little small kind happy brave clever quiet young cheerful good lazy shy busy")
FURS = _words("little black white grey brown small fat old young lazy")
HAPPY = ("happy", "glad", "proud", "very happy", "so happy", "full of joy", "pleased")
SCENES = (
    "The sun was shining.",
    "The sky was blue.",
    "Birds were singing in the trees.",
    "A soft wind blew.",
    "The flowers smelled sweet.",
    "It was a warm day.",
    "There were white clouds in the sky.",
    "The grass was wet and green.",
    "Bees flew from flower to flower.",
    "It was a quiet morning.",
    "Everything was still.",
    "Far away, a bell rang.",
)
MORALS = (
    "It is good to have friends.",
    "A friend in need is a friend indeed.",
    "It is better to share.",
    "Being kind makes everyone happy.",
    "It always helps to try again.",
)
