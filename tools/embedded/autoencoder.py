"""Trains the autoencoder, AutoencoderKLFlux2 with 16 latent channels at a sixteenth of the side.

Its latents are those of latents.py. The decoder learns to draw the images from them, sharper
than their linear reconstruction, and with noise on them, so that it forgives the transformer its
small errors. The encoder learns, on every fourth batch, to produce those latents.

Keeps FOLDER/autoencoder.pt, about every five minutes, and continues from it; FOLDER/pause and
FOLDER/stop are honoured. The learning rate stays up except for the last DECAY steps of STEPS.

    python autoencoder.py FOLDER STEPS [DECAY]
"""

import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKLFlux2

import group_norm
import latents as linear
import runs
from captions import COLOURS, THINGS, compose
from measures import psnr, ssim
from muon import Muon

BATCH = 8
RATE = 2e-3
NOISE = 0.4  # at most, of a latent's deviation
CERTAIN = -12.0  # logarithm of the variance that the encoder states: none to speak of


def network():
    widths = (16, 32, 64, 128, 192)
    model = AutoencoderKLFlux2(
        down_block_types=("DownEncoderBlock2D",) * len(widths),
        up_block_types=("UpDecoderBlock2D",) * len(widths),
        block_out_channels=widths,
        layers_per_block=1,
        latent_channels=linear.CHANNELS,
        norm_num_groups=8,
        sample_size=128,
    )
    torch.nn.init.zeros_(model.quant_conv.weight[linear.CHANNELS :].detach())
    torch.nn.init.constant_(model.quant_conv.bias[linear.CHANNELS :].detach(), CERTAIN)
    return model.to(memory_format=torch.channels_last)


def optimizer_of(model):
    matrices, others = [], []
    for name, parameter in model.named_parameters():
        edge = any(part in name for part in ("conv_in", "conv_out", "quant_conv"))
        if parameter.ndim > 1 and not edge:
            matrices.append((parameter, 0))
        else:
            others.append(parameter)
    return Muon(matrices, others, RATE)


def batch(icons, random):
    """Images of 0..1: for the most part things on the named backgrounds."""
    chosen = []
    for _ in range(BATCH):
        thing = random.integers(len(THINGS) if random.random() < 0.9 else len(icons))
        colour = COLOURS[random.integers(len(COLOURS))]
        if random.random() < 0.1:
            colour = random.random(3)
        chosen.append(compose(icons[thing], colour))
    found = torch.from_numpy(np.stack(chosen)).float().permute(0, 3, 1, 2)
    return found.contiguous(memory_format=torch.channels_last)


def noisy(state, clean):
    """Latents as the transformer might predict them: noise on their normalised, packed form."""
    deviation = (state["variance"] + linear.EPSILON).sqrt()[:, None, None]
    levels = NOISE * torch.rand(len(clean), 1, 1, 1) ** 2
    packed = linear.patchify(clean)
    return linear.unpatchify(packed + torch.randn_like(packed) * deviation * levels)


def edges(x):
    return x[..., 1:, :] - x[..., :-1, :], x[..., 1:] - x[..., :-1]


def drawing_loss(drawn, wanted):
    loss = (drawn - wanted).abs().mean() + 2 * (drawn - wanted).square().mean()
    for a, b in zip(edges(drawn), edges(wanted)):
        loss = loss + 0.5 * (a - b).abs().mean()
    return loss + 0.2 * (1 - ssim(drawn, wanted).mean())


@torch.no_grad()
def evaluate(model, icons, state):
    """PSNR and SSIM of every eighth thing, drawn from its exact latents."""
    things = np.arange(0, len(THINGS), 8)
    wanted = np.stack([compose(icons[t], COLOURS[t % len(COLOURS)]) for t in things])
    wanted = torch.from_numpy(wanted).permute(0, 3, 1, 2)
    found = model.decode(linear.encode(state["basis"], wanted * 2 - 1)).sample
    drawn = ((found.float() + 1) / 2).clamp(0, 1)
    return psnr(drawn, wanted).mean().item(), ssim(drawn, wanted).mean().item()


def main():
    folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    decay = int(sys.argv[3]) if len(sys.argv) > 3 else steps // 5
    icons, state = np.load(folder / "icons.npz")["rgba"], torch.load(folder / "latents.pt")
    torch.manual_seed(0)
    model = network()
    group_norm.install(model)
    training = runs.Training(folder / "autoencoder.pt", model, optimizer_of(model))
    random = np.random.default_rng(training.step)

    def measures():
        ratio, likeness = evaluate(model, icons, state)
        return f"PSNR {ratio:.2f} SSIM {likeness:.4f}"

    def gradients(step):
        wanted = batch(icons, random)
        clean = linear.encode(state["basis"], wanted * 2 - 1)
        with torch.autocast("cpu", torch.bfloat16):
            drawn = model.decode(noisy(state, clean)).sample.float()
        loss = drawing_loss((drawn + 1) / 2, wanted)
        loss.backward()
        if step % 4 == 0:
            with torch.autocast("cpu", torch.bfloat16):
                found = model.encode(wanted * 2 - 1).latent_dist.mode().float()
            F.mse_loss(found, clean).backward()
        return loss.item()

    training.run(steps, decay, 50, RATE, gradients, measures)


if __name__ == "__main__":
    main()
