"""Renders the icons that the embedded model learns: 128x128, with transparency.

Reads the npm package @iconify-json/fluent-emoji-flat in FOLDER/npm and writes FOLDER/icons.npz:
`names`, `rgba` (uint8, N x 128 x 128 x 4), and first of all those of things.txt, in its order.

    python icons.py FOLDER
"""

import io
import json
import pathlib
import re
import sys

import numpy as np
import resvg_py
from PIL import Image

from captions import THINGS

SIDE = 128
MARGIN = 2  # of the icon's own 32 units, on each side

# Variants of one image, and signs that are letters or flags: nothing to learn from them.
VARIANTS = re.compile(r"-(light|medium-light|medium|medium-dark|dark)$|skin-tone")
SIGNS = re.compile(
    r"(keycap|flag-|regional|input-|japanese-|.*-button$|clock-|.*-(thirty|oclock)$|letter-)"
)
PEOPLE = re.compile(r"(man|woman|men|women|person|people)-")


def wanted(name):
    return not (VARIANTS.search(name) or SIGNS.match(name) or PEOPLE.match(name))


def render(icon):
    width, height = icon.get("width", 32) + 2 * MARGIN, icon.get("height", 32) + 2 * MARGIN
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-{MARGIN} -{MARGIN} {width} {height}">'
        f'{icon["body"]}</svg>'
    )
    png = bytes(resvg_py.svg_to_bytes(svg_string=svg, width=SIDE, height=SIDE))
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGBA").resize((SIDE, SIDE)))


def main():
    folder = pathlib.Path(sys.argv[1])
    package = folder / "npm/node_modules/@iconify-json/fluent-emoji-flat/icons.json"
    icons = json.loads(package.read_text())["icons"]
    icons = {name.replace("-", " "): icon for name, icon in icons.items() if wanted(name)}
    names = THINGS + [name for name in icons if name not in set(THINGS)]
    rgba = np.stack([render(icons[name]) for name in names])
    np.savez(folder / "icons.npz", names=names, rgba=rgba)
    print(f"{len(names)} icons, {len(THINGS)} of them things")


if __name__ == "__main__":
    main()
