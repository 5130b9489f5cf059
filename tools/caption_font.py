#!/usr/bin/env python3
"""Writes src/io/image_caption_font.inc: the printable ASCII of Aileron Regular (CC0) as Pillow has it, 12 pixels, as levels.

  tools/caption_font.py > src/io/image_caption_font.inc

One line per glyph, from the space on: its rows of ROWS, one after the other, one hexadecimal digit per pixel. Its length over
ROWS is its advance.
"""

import numpy
from PIL import Image, ImageDraw, ImageFont

SIZE, ROWS = 12, 15


def glyph(font, character):
    width = round(font.getlength(character))
    page = Image.new("L", (width, ROWS), 0)
    ImageDraw.Draw(page).text((0, 0), character, font=font, fill=255)
    levels = (numpy.asarray(page).astype(int) + 8) // 17
    return "".join(f"{level:x}" for level in levels.ravel())


def main():
    font = ImageFont.load_default(SIZE)
    for code in range(32, 127):
        print(f'    "{glyph(font, chr(code))}",')


if __name__ == "__main__":
    main()
