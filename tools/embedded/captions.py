"""The things and backgrounds that the embedded model knows, and how people ask for them."""

import pathlib

import numpy as np

THINGS = (pathlib.Path(__file__).parent / "things.txt").read_text().split("\n")
THINGS = [line.strip() for line in THINGS if line.strip()]

BACKGROUNDS = {
    "white": (255, 255, 255),
    "red": (226, 58, 58),
    "orange": (247, 148, 42),
    "yellow": (252, 216, 72),
    "green": (76, 175, 80),
    "teal": (38, 166, 154),
    "blue": (50, 110, 230),
    "purple": (142, 68, 193),
    "pink": (244, 143, 177),
    "brown": (121, 85, 72),
    "black": (16, 16, 16),
    "gray": (150, 150, 150),
}
COLOURS = np.array(list(BACKGROUNDS.values()), np.float32) / 255


def article(word):
    return "an" if word[0] in "aeiou" else "a"


def caption(thing, background="white"):
    """The plain form, which the model's page shows: the background is named unless it is white."""
    text = f"{article(thing)} {thing}"
    if background != "white":
        text += f" on {article(background)} {background} background"
    return text


def compose(rgba, colour):
    """An icon (uint8, ... x 4) on a colour (0..1, ... x 3), as floats of 0..1."""
    values = rgba.astype(np.float32) / 255
    alpha = values[..., 3:]
    return values[..., :3] * alpha + np.asarray(colour, np.float32) * (1 - alpha)


def paraphrases(thing, background):
    """What people write for a thing on a background; white is the background that no one names."""
    for subject in (thing, f"{article(thing)} {thing}"):
        if background == "white":
            yield subject
        yield f"{subject} on {article(background)} {background} background"
        yield f"{subject} on {background}"


# Around a caption; the text encoder learns to see past them.
FRAMES = [
    "{}.",
    "image of {}",
    "an image of {}",
    "an emoji of {}",
    "emoji of {}",
    "a drawing of {}",
    "draw {}",
    "draw me {}",
    "show me {}",
    "please draw {}",
    "an icon of {}",
    "a cute {}",
    "flat icon of {}",
    "{}, flat icon",
    "{}, emoji",
    "{} emoji",
]


def framed(text, random):
    """A caption as another person would have written it."""
    if random.random() < 0.5:
        text = random.choice(FRAMES).format(text)
    if random.random() < 0.3:
        text = text[:1].upper() + text[1:]
    return text
