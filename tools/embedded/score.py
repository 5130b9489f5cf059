"""Measures a model folder at its default settings: every thing, on white and on a colour.

    python score.py MODEL FOLDER [--every N] [--steps 8] [--sheet FILE.png]

FOLDER holds icons.npz. An image is right if its nearest icon on the asked background, of all
things, is the asked one. Corners: mean error of the four 8x8 corners, of 255.
"""

import argparse
import pathlib

import numpy as np
import torch
from diffusers import Flux2KleinPipeline
from PIL import Image

from captions import BACKGROUNDS, COLOURS, THINGS, caption, compose
from measures import psnr, ssim

SIDE = 128
LENGTH = 32


def draw(pipeline, texts, seed, steps):
    """A batch may be of any size: each image has its own seed."""
    generators = [torch.Generator().manual_seed(seed + number) for number in range(len(texts))]
    found = pipeline(
        prompt=texts,
        height=SIDE,
        width=SIDE,
        num_inference_steps=steps,
        max_sequence_length=LENGTH,
        generator=generators,
        output_type="np",
    ).images
    return torch.from_numpy(found).permute(0, 3, 1, 2)


def corners(drawn, colour):
    errors = (drawn - colour[:, None, None]).abs()
    ends = (slice(8), slice(-8, None))
    return np.mean([errors[:, y, x].mean().item() for y in ends for x in ends]) * 255


def measure(drawn, thing, background, icons):
    colour = torch.from_numpy(COLOURS[background])
    wanted = torch.from_numpy(compose(icons, COLOURS[background])).permute(0, 3, 1, 2)
    errors = (wanted - drawn).square().mean((1, 2, 3))
    one, other = drawn[None], wanted[thing][None]
    return dict(
        right=float(errors.argmin() == thing),
        ssim=ssim(one, other).item(),
        psnr=psnr(one, other).item(),
        corners=corners(drawn, colour),
    )


def sheet(images, path, columns=13):
    rows = -(-len(images) // columns)
    page = np.full((rows * SIDE, columns * SIDE, 3), 255, np.uint8)
    for number, image in enumerate(images):
        y, x = divmod(number, columns)
        pixels = (image.permute(1, 2, 0).numpy() * 255).round().astype(np.uint8)
        page[y * SIDE : (y + 1) * SIDE, x * SIDE : (x + 1) * SIDE] = pixels
    Image.fromarray(page).save(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--every", type=int, default=1, help="only every N-th thing")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sheet", help="image of all that was drawn")
    options = parser.parse_args()

    icons = np.load(options.folder / "icons.npz")["rgba"][: len(THINGS)]
    pipeline = Flux2KleinPipeline.from_pretrained(options.model, torch_dtype=torch.float32)
    pipeline.set_progress_bar_config(disable=True)
    names, things = list(BACKGROUNDS), range(0, len(THINGS), options.every)
    found, images = {"white": [], "coloured": []}, []
    for kind in found:
        asked = [(t, 0 if kind == "white" else 1 + t % (len(names) - 1)) for t in things]
        for start in range(0, len(asked), 13):
            part = asked[start : start + 13]
            texts = [caption(THINGS[thing], names[background]) for thing, background in part]
            drawn = draw(pipeline, texts, options.seed + start, options.steps)
            images += list(drawn)
            for image, (thing, background) in zip(drawn, part):
                found[kind].append(measure(image, thing, background, icons))
                if not found[kind][-1]["right"]:
                    print(f"wrong: {caption(THINGS[thing], names[background])}")
    print(f"{'':10}{'right':>8}{'SSIM':>8}{'PSNR':>8}{'corners':>9}{'worst corners':>15}")
    for kind, rows in found.items():
        means = {key: np.mean([row[key] for row in rows]) for key in rows[0]}
        worst = max(row["corners"] for row in rows)
        print(
            f"{kind:10}{means['right']:8.3f}{means['ssim']:8.3f}{means['psnr']:8.2f}"
            f"{means['corners']:9.2f}{worst:15.2f}"
        )
    if options.sheet:
        sheet(images, options.sheet)


if __name__ == "__main__":
    main()
