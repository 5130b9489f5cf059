#!/usr/bin/env python3
"""Prints the PSNR in dB of each pair of images (A1 B1 A2 B2 ...) as a JSON list.

Of 8-bit values, as they are stored; null for a pair of unequal sizes, 99 for equal images.
"""

import json
import sys

import numpy
from PIL import Image


def psnr(first, second):
    a, b = (numpy.asarray(Image.open(path).convert("RGB"), dtype=float) for path in (first, second))
    if a.shape != b.shape:
        return None
    error = ((a - b) ** 2).mean()
    return 99.0 if error == 0 else round(10 * numpy.log10(255.0**2 / error), 2)


if __name__ == "__main__":
    paths = sys.argv[1:]
    print(json.dumps([psnr(*pair) for pair in zip(paths[::2], paths[1::2])]))
