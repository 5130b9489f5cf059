#!/usr/bin/env python3
"""What OpenCV and Pillow make of images as ControlNets' preprocessors do.

  tools/goldens/preprocess.py [--check]

tests/goldens/preprocess/{input,odd,gray,cube}.png are the images, CASE.png what is made of them, cases.json how.
"""

import argparse

import common
import cv2
import numpy
from PIL import Image

FOLDER = common.GOLDENS / "preprocess"

# name: image, how
CASES = {
    "canny": ("input", {"type": "canny"}),
    "canny_low": ("input", {"type": "canny", "low": 20, "high": 60}),
    "canny_swapped": ("input", {"type": "canny", "low": 180, "high": 40}),
    "canny_odd": ("odd", {"type": "canny", "low": 30, "high": 120}),
    "canny_gray": ("gray", {"type": "canny", "low": 30, "high": 90}),
    "tile_1": ("input", {"type": "tile"}),
    "tile_2": ("input", {"type": "tile", "rate": 2}),
    "tile_4": ("input", {"type": "tile", "rate": 4}),
    "tile_odd": ("odd", {"type": "tile", "rate": 2.5}),
    "grayscale": ("input", {"type": "grayscale"}),
    "luminance": ("input", {"type": "luminance"}),
    "luminance_odd": ("odd", {"type": "luminance"}),
    "luminance_cube": ("cube", {"type": "luminance"}),
    "intensity": ("input", {"type": "intensity"}),
    "invert": ("odd", {"type": "invert"}),
    "threshold": ("input", {"type": "threshold"}),
    "threshold_60": ("odd", {"type": "threshold", "level": 60}),
}


def scene(width, height, seed):
    """Shapes with sharp and soft edges, and noise."""
    generator = numpy.random.default_rng(seed)
    y, x = numpy.mgrid[0:height, 0:width]
    made = numpy.zeros((height, width, 3))
    made[..., 0] = 255 * (numpy.hypot(x - width / 3, y - height / 2) < height / 3.2)
    made[..., 1] = 255 * x / width
    made[..., 2] = 127 + 127 * numpy.sin(x / 7 + y / 11)
    made[height // 4 : height // 2, width // 2 : width * 3 // 4] = (240, 30, 90)
    made += generator.normal(0, 12, made.shape)
    return made.clip(0, 255).astype(numpy.uint8)


def preprocessed(image, how):
    kind = how["type"]
    if kind == "canny":
        return cv2.Canny(image, how.get("low", 100), how.get("high", 200))
    if kind == "tile":
        rate, (height, width) = how.get("rate", 1), image.shape[:2]
        small = image
        if rate > 1:
            small = cv2.resize(image, (int(width / rate), int(height / rate)), interpolation=cv2.INTER_AREA)
        return numpy.array(Image.fromarray(small).resize((width, height), Image.LANCZOS))
    if kind == "grayscale":
        return numpy.array(Image.fromarray(image).convert("L"))
    if kind == "luminance":
        return cv2.cvtColor(image, cv2.COLOR_RGB2LAB)[..., 0]
    if kind == "intensity":
        return cv2.cvtColor(image, cv2.COLOR_RGB2HSV)[..., 2]
    if kind == "invert":
        return 255 - image
    return numpy.where(image.min(axis=2) > how.get("level", 127), 255, 0).astype(numpy.uint8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    check = parser.parse_args().check
    images = {"input": scene(96, 64, 1), "odd": scene(77, 53, 2)}
    images["gray"] = numpy.array(Image.fromarray(images["input"]).convert("L"))
    levels = numpy.array([0, 1, 2, 5, 9, 20, 41, 60, 90, 127, 160, 200, 230, 250, 254, 255], dtype=numpy.uint8)
    images["cube"] = numpy.stack(numpy.meshgrid(levels, levels, levels), axis=-1).reshape(64, 64, 3)
    made = {name: preprocessed(images[image], how) for name, (image, how) in CASES.items()}
    if check:
        for name, values in {**images, **made}.items():
            print(name, (numpy.array(Image.open(FOLDER / f"{name}.png")) != values).sum(), "values differ")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, values in {**images, **made}.items():
        Image.fromarray(values).save(FOLDER / f"{name}.png")
        common.check_file(FOLDER / f"{name}.png")
    common.write_json(FOLDER / "cases.json", {name: {"image": image, "how": how} for name, (image, how) in CASES.items()})


if __name__ == "__main__":
    main()
