#!/usr/bin/env python3
"""Fits the colours of the latent channels of an embedded model, as previews use them (src/families/*/previews.cpp):
least squares from latents to the images that they are encoded from, averaged over the pixels of one latent. Prints the
C++ table.
Usage: preview_colours.py emoji|emoji-sd IMAGE...   (images of the model, `omnirt generate -m emoji-sd`)"""
import pathlib
import sys

import flux2_autoencoders
import numpy as np
import torch
from diffusers import AutoencoderKLFlux2, AutoencoderTiny
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def encoder(model):
    """A function from an image in -1..1 to latents as the denoiser sees them."""
    folder = ROOT / "models" / model / "vae"
    if model == "emoji-sd":
        tiny = AutoencoderTiny.from_pretrained(folder)
        return lambda image: tiny.encode(image).latents * tiny.config.scaling_factor
    vae = AutoencoderKLFlux2.from_pretrained(folder, torch_dtype=torch.float32)
    return lambda image: flux2_autoencoders.normalised(vae, vae.encode(image).latent_dist.mode())


def samples(encode, paths):
    for path in paths:
        picture = torch.from_numpy(np.asarray(Image.open(path).convert("RGB")).copy()).permute(2, 0, 1)[None] / 127.5 - 1
        with torch.no_grad():
            latents = encode(picture)
        grid = picture.shape[-1] // latents.shape[-1]
        colours = torch.nn.functional.avg_pool2d(picture, grid)
        yield latents[0].flatten(1).T, colours[0].flatten(1).T


def main():
    encode = encoder(sys.argv[1])
    latents, colours = (torch.cat(parts) for parts in zip(*samples(encode, sys.argv[2:])))
    design = torch.cat([latents, torch.ones(len(latents), 1)], 1).double()
    # A little ridge: channels that say nothing of colour stay near 0.
    solved = torch.linalg.solve(design.T @ design + 1e-2 * len(design) * torch.eye(design.shape[1]).double(),
                                design.T @ colours.double())
    error = (design @ solved - colours).square().mean().sqrt()
    print(f"// root mean square error {error:.3f} of -1..1")
    for row in solved[:-1]:
        print("{" + ", ".join(f"{value:.3f}" for value in row) + "},")
    print("bias {" + ", ".join(f"{value:.3f}" for value in solved[-1]) + "}")


if __name__ == "__main__":
    main()
