#!/usr/bin/env python3
"""What diffusers' VaeImageProcessor and Pillow make of images and masks of noise: fitted to other shapes, blurred,
cut out, put back.

  tools/goldens/image_masks.py [--check]      writes tests/data/images/masks.json

Results are checksums of pixels; sources are noise that both sides can make (images.noise).
"""

import argparse
import json
import pathlib
import zlib

import images
import numpy
from diffusers.image_processor import VaeImageProcessor
from PIL import Image

FILE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "images" / "masks.json"
MODES = {"stretch": "default", "crop": "crop", "fill": "fill"}
SHAPES = [(64, 48), (33, 70), (50, 50), (7, 90), (1, 9), (90, 6)]
TARGETS = [(64, 64), (40, 72), (71, 33), (16, 17)]
MASKS = [(5, 7, 9, 12), (0, 0, 3, 40), (58, 1, 63, 4), (10, 30, 60, 31), (0, 0, 63, 47)]  # first and last pixel


def checksum(image):
    return zlib.crc32(image.tobytes())


def fits(processor):
    for source in SHAPES:
        image = images.as_pillow(images.noise(*source, 3))
        for target in TARGETS:
            for name, mode in MODES.items():
                fitted = processor.resize(image, target[1], target[0], mode)
                yield [name, *source, *target, checksum(fitted)]


def blurs():
    for source in SHAPES:
        for radius in (1, 2, 4, 9, 31):
            blurred = VaeImageProcessor.blur(images.as_pillow(images.noise(*source, 1)), radius)
            yield [*source, radius, checksum(blurred)]


def mask_of(box):
    mask = numpy.zeros((48, 64), dtype=numpy.uint8)
    mask[box[1] : box[3] + 1, box[0] : box[2] + 1] = 1
    return Image.fromarray(mask)


def regions():
    for box in MASKS:
        for target in TARGETS:
            for padding in (0, 6, 100):
                found = VaeImageProcessor.get_crop_region(mask_of(box), *target, pad=padding)
                yield [*box, *target, padding, *found]


def overlays(processor):
    for width, height in SHAPES:
        noise = images.noise(width, height, 7)
        mask, original, repainted = (
            images.as_pillow(numpy.ascontiguousarray(noise[:, :, part]))
            for part in (slice(0, 1), slice(1, 4), slice(4, 7))
        )
        yield [width, height, checksum(processor.apply_overlay(mask, original, repainted))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the stored file")
    arguments = parser.parse_args()
    processor = VaeImageProcessor()
    parts = {"fits": fits(processor), "blurs": blurs(), "regions": regions(), "overlays": overlays(processor)}
    lines = [f'"{name}": [\n' + ",\n".join(json.dumps(row) for row in rows) + "\n]" for name, rows in parts.items()]
    text = "{" + ",\n".join(lines) + "}\n"
    if arguments.check:
        raise SystemExit(0 if FILE.read_text() == text else f"{FILE} differs from what this makes")
    FILE.write_text(text)


if __name__ == "__main__":
    main()
