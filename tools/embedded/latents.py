"""Chooses the latents: the strongest linear features of 16x16-pixel blocks of the images.

An autoencoder that is free to choose its latents mixes icon and background in ways that the
transformer must learn for each of the 2,028 pairs. Principal components of blocks are linear, so
that an image's latents are those of the icon plus those of the visible background; they pass
errors on to pixels evenly; and the transformer's training need not wait for the autoencoder's.

    python latents.py FOLDER     writes FOLDER/latents.pt
"""

import pathlib
import sys

import numpy as np
import torch

from captions import COLOURS, THINGS, compose

BLOCK = 16
CHANNELS = 16
EPSILON = 1e-4  # AutoencoderKLFlux2's batch_norm_eps


def blocks(images):
    """(n, 3, side, side) of -1..1 to (n, side / 16, side / 16, 768)."""
    n, _, side, _ = images.shape
    grid = side // BLOCK
    cut = images.reshape(n, 3, grid, BLOCK, grid, BLOCK)
    return cut.permute(0, 2, 4, 1, 3, 5).reshape(n, grid, grid, 3 * BLOCK * BLOCK)


def pictures_of(rgba):
    """Icons on every background: (icons, backgrounds, 3, side, side) of -1..1."""
    found = np.stack([compose(rgba, colour) for colour in COLOURS], 1)
    return torch.from_numpy(found).permute(0, 1, 4, 2, 3) * 2 - 1


def basis_of(images):
    """Mean and principal directions of all blocks, scaled to unit variance."""
    rows = blocks(images).flatten(0, 2)
    mean = rows.mean(0)
    covariance = ((rows - mean).T.double() @ (rows - mean).double()) / len(rows)
    values, vectors = torch.linalg.eigh(covariance)
    values, vectors = values.flip(0)[:CHANNELS], vectors.flip(1)[:, :CHANNELS]
    lost = (covariance.trace() - values.sum()) / rows.shape[1] / 4
    print(f"deviations {[round(v, 2) for v in values.sqrt().tolist()]}")
    print(f"linear reconstruction {-10 * lost.log10().item():.1f} dB")
    return dict(mean=mean, vectors=vectors.float(), deviations=values.sqrt().float())


def encode(basis, images):
    """(n, 3, side, side) to latents (n, CHANNELS, side / 16, side / 16)."""
    found = (blocks(images) - basis["mean"]) @ basis["vectors"] / basis["deviations"]
    return found.permute(0, 3, 1, 2)


def patchify(latents):
    """As Flux2KleinPipeline: 2x2 cells become channels."""
    n, channels, height, width = latents.shape
    cut = latents.reshape(n, channels, height // 2, 2, width // 2, 2)
    return cut.permute(0, 1, 3, 5, 2, 4).reshape(n, channels * 4, height // 2, width // 2)


def unpatchify(latents):
    n, channels, height, width = latents.shape
    cut = latents.reshape(n, channels // 4, 2, 2, height, width)
    return cut.permute(0, 1, 4, 2, 5, 3).reshape(n, channels // 4, height * 2, width * 2)


def main():
    folder = pathlib.Path(sys.argv[1])
    rgba = np.load(folder / "icons.npz")["rgba"][: len(THINGS)]
    images = pictures_of(rgba).flatten(0, 1)
    basis = basis_of(images)
    latents = encode(basis, images)
    packed = patchify(latents)
    mean, variance = packed.mean((0, 2, 3)), packed.var((0, 2, 3))
    packed = (packed - mean[:, None, None]) / (variance + EPSILON).sqrt()[:, None, None]
    tokens = packed.flatten(2).mT.reshape(len(THINGS), len(COLOURS), -1, 4 * CHANNELS)
    state = dict(basis=basis, mean=mean, variance=variance, tokens=tokens.contiguous())
    torch.save(state, folder / "latents.pt")
    print("tokens", tuple(tokens.shape))


if __name__ == "__main__":
    main()
