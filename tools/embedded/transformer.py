"""Trains the transformer: rectified flow from noise to the latents of what a caption asks for.

Needs FOLDER/latents.pt and FOLDER/features.pt. Keeps FOLDER/transformer.pt, about every five
minutes, and continues from it; FOLDER/pause and FOLDER/stop are honoured. The learning rate stays up
except for the last DECAY steps of STEPS, in which it falls to 0.

    python transformer.py FOLDER STEPS [DECAY]
"""

import math
import pathlib
import random
import sys

import torch
import torch.nn.functional as F
from diffusers import Flux2Transformer2DModel

import runs
from captions import BACKGROUNDS, THINGS, caption
from latents import EPSILON
from muon import Muon

BATCH = 64
RATE = 3e-3
LENGTHS = (16, 16, 16, 32)  # of the text; 32 is what the model's users ask for, 16 trains faster
SHIFT = 6.8  # of times: the pipeline's own, exp(mu) at 8 steps
WHITE = 0.15  # of the batch, in addition to white's turn among all backgrounds
GRID = 4


def network(channels, text_width):
    model = Flux2Transformer2DModel(
        patch_size=1,
        in_channels=channels,
        num_layers=2,
        num_single_layers=6,
        attention_head_dim=64,
        num_attention_heads=5,
        joint_attention_dim=text_width,
        timestep_guidance_channels=256,
        mlp_ratio=3.0,
        axes_dims_rope=(8, 24, 24, 8),
        rope_theta=100,
        guidance_embeds=False,
    )
    torch.nn.init.zeros_(model.proj_out.weight)
    for name, parameter in model.named_parameters():
        if "modulation" in name:  # else every block begins almost closed
            parameter.data.mul_(12)
    return model


def optimizer_of(model):
    """Each part of a fused projection is a matrix by itself."""
    width = model.inner_dim
    hidden = int(width * model.config.mlp_ratio)
    matrices, others = [], []
    for name, parameter in model.named_parameters():
        if parameter.ndim != 2 or "embed" in name or "proj_out" in name:
            others.append(parameter)
        elif "to_qkv_mlp_proj" in name:
            matrices.append((parameter, [width] * 3 + [hidden] * 2))
        elif "linear_in" in name:
            matrices.append((parameter, hidden))
        elif "modulation" in name or "norm_out" in name:
            matrices.append((parameter, width))
        else:
            matrices.append((parameter, 0))
    return Muon(matrices, others, RATE)


def positions(*sizes):
    return torch.cartesian_prod(*(torch.arange(size) for size in sizes)).float()


def velocity(model, x, times, text):
    return model(
        hidden_states=x,
        encoder_hidden_states=text,
        timestep=times,
        img_ids=positions(1, GRID, GRID, 1),
        txt_ids=positions(1, 1, 1, text.shape[1]),
        return_dict=False,
    )[0]


def shifted(times, shift=SHIFT):
    return shift * times / (1 + (shift - 1) * times)


class Captions:
    """Draws captions with their features; every (thing, background) has a few."""

    def __init__(self, path):
        stored = torch.load(path)
        self.features, self.index = stored["features"], {}
        self.texts = {text: number for number, text in enumerate(stored["texts"])}
        for number, label in enumerate(stored["labels"].tolist()):
            self.index.setdefault(tuple(label), []).append(number)

    def draw(self, thing, background):
        if background == 0 and random.random() < 0.02:
            return self.texts[""]
        return random.choice(self.index[thing, background])


def batch(captions, latents):
    length = random.choice(LENGTHS)
    asked = [
        (
            random.randrange(len(THINGS)),
            0 if random.random() < WHITE else random.randrange(len(BACKGROUNDS)),
        )
        for _ in range(BATCH)
    ]
    text = captions.features[[captions.draw(*pair) for pair in asked]][:, :length].float()
    things, backgrounds = zip(*asked)
    clean = latents[list(things), list(backgrounds)]
    # Spread evenly over the batch, so that steps are alike.
    times = shifted((torch.arange(BATCH) + torch.rand(BATCH)) / BATCH)
    return clean, text, times[torch.randperm(BATCH)]


def pipeline_times(steps, tokens=GRID * GRID):
    """Of Flux2KleinPipeline at its defaults, the final 0 included."""
    far, near = 0.00016927 * tokens + 0.45666666, 8.73809524e-05 * tokens + 1.89833333
    slope = (far - near) / 190
    shift = math.exp(slope * steps + far - 200 * slope)
    return [shifted(1 - step / steps, shift) for step in range(steps + 1)]


@torch.no_grad()
def sample(model, text, steps, noise):
    x, times = noise, pipeline_times(steps)
    for now, then in zip(times, times[1:]):
        x = x + (then - now) * velocity(model, x, torch.full((len(x),), now), text).float()
    return x


def evaluate(model, captions, state, every=5, steps=8):
    """Share of things whose nearest icon on the same background is right, and the linear parts'
    error as PSNR: pixels without what the decoder adds."""
    deviations = (state["variance"] + EPSILON).sqrt()
    deviations = deviations * state["basis"]["deviations"].repeat_interleave(4)
    things = torch.arange(0, len(THINGS), every)
    backgrounds = (things // every) % len(BACKGROUNDS)
    names = list(BACKGROUNDS)
    asked = [captions.texts[caption(THINGS[t], names[b])] for t, b in zip(things, backgrounds)]
    text = captions.features[asked].float()
    fixed = torch.Generator().manual_seed(5)
    noise = torch.randn(len(things), GRID * GRID, len(deviations), generator=fixed)
    found = sample(model, text, steps, noise)
    references = state["tokens"][:, backgrounds]  # icons, asked, tokens, channels
    errors = ((found - references) * deviations).square().sum((2, 3))
    right = (errors.argmin(0) == things).float().mean().item()
    own = torch.arange(len(things))
    pixels = errors[things, own] / (128 * 128 * 3) / 4
    plain = (found - references[things, own]).square().mean().item()
    return right, (-10 * pixels.log10()).mean().item(), plain


def main():
    folder, steps = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    decay = int(sys.argv[3]) if len(sys.argv) > 3 else steps // 5
    state = torch.load(folder / "latents.pt")
    captions = Captions(folder / "features.pt")
    latents = state["tokens"]
    torch.manual_seed(0)
    model = network(latents.shape[-1], captions.features.shape[-1])
    model.set_attention_backend("_native_math")  # the fused kernel is slow at its gradient
    training = runs.Training(folder / "transformer.pt", model, optimizer_of(model))
    random.seed(training.step)

    def measures():
        with torch.autocast("cpu", torch.bfloat16):
            right, pixels, error = evaluate(model, captions, state)
        return f"right {right:.3f} linear PSNR {pixels:.2f} error {error:.4f}"

    def gradients(_):
        clean, text, times = batch(captions, latents)
        noise = torch.randn_like(clean)
        mixed = torch.lerp(clean, noise, times[:, None, None])
        with torch.autocast("cpu", torch.bfloat16):
            found = velocity(model, mixed, times, text)
        loss = F.mse_loss(found.float(), noise - clean)
        loss.backward()
        return loss.item()

    training.run(steps, decay, 100, RATE, gradients, measures)


if __name__ == "__main__":
    main()
