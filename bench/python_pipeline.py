#!/usr/bin/env python3
"""The package beside diffusers in one interpreter, and beside its own program, on one folder.

  bench/checkpoint.py build/bench     # Stable Diffusion 1.5's networks at full size, random weights
  build/ops-test/bin/pip install --no-deps build/wheels/omnirt-*.whl
  build/ops-test/bin/python bench/python_pipeline.py build/bench/sd15 [--size 256] [--steps 4] [--rounds 3]

fp32, guidance (batch 2). Rounds alternate, each starting at another kind; figures are medians over the
steps of all rounds but each run's first, which packs weights in a process that has just begun. The
first round is not counted. The last line is JSON.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import diffusers  # noqa: E402
import numpy  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402

import omnirt  # noqa: E402

PROMPT = "a red apple"
GUIDANCE = 7.5


class Diffusers:
    def __init__(self, options):
        self.options = options
        # The folder of a text-to-image model alone, whose other parts are as they come.
        self.pipe = diffusers.StableDiffusionPipeline.from_pretrained(
            options.model, torch_dtype=torch.float32, safety_checker=None
        )
        self.pipe.set_progress_bar_config(disable=True)

    def run(self, seed):
        ends = []

        def ended(pipe, step, timestep, values):
            ends.append(time.perf_counter())
            return values

        image = self.pipe(
            PROMPT,
            width=self.options.size,
            height=self.options.size,
            num_inference_steps=self.options.steps,
            guidance_scale=GUIDANCE,
            generator=torch.Generator().manual_seed(seed),
            callback_on_step_end=ended,
        ).images[0]
        return [1e3 * (after - before) for before, after in zip(ends, ends[1:])], image


class Package:
    def __init__(self, options):
        size = {"width": options.size, "height": options.size}
        # Not strict: a size far from the model's is a warning.
        self.pipe = omnirt.Pipeline.from_pretrained(
            options.model, strict=False, num_inference_steps=options.steps, guidance_scale=GUIDANCE, **size
        )

    def run(self, seed):
        made = self.pipe(PROMPT, generator=torch.Generator().manual_seed(seed))
        return made.report.denoise_steps_ms[1:], made.image


class Program:
    """The wheel's own, as `python -m omnirt` starts it."""

    def __init__(self, options):
        self.options = options

    def run(self, seed):
        with tempfile.TemporaryDirectory() as folder:
            report, image = pathlib.Path(folder) / "report.json", pathlib.Path(folder) / "image.png"
            words = ["generate", "--model", self.options.model, "--prompt", PROMPT, "--seed", seed]
            words += ["--steps", self.options.steps, "--guidance-scale", GUIDANCE]
            words += ["--width", self.options.size, "--height", self.options.size]
            line = [sys.executable, "-m", "omnirt", *words, "-o", image, "--report", report]
            subprocess.run([str(word) for word in line], check=True, capture_output=True)
            return json.loads(report.read_text())["denoise_steps_ms"][1:], Image.open(image).copy()


KINDS = {"diffusers": Diffusers, "package": Package, "program": Program}


def decibels(image, other):
    difference = (numpy.asarray(image).astype(float) - numpy.asarray(other).astype(float)) ** 2
    return math.inf if difference.max() == 0 else 10 * math.log10(255**2 / difference.mean())


def measured(options):
    """{kind: steps}, the worst PSNR to diffusers, and whether package and program agree to the bit."""
    made, kinds = {name: kind(options) for name, kind in KINDS.items()}, list(KINDS)
    steps, worst, equal = {name: [] for name in kinds}, math.inf, True
    for turn in range(options.rounds + 1):
        images = {}
        for place in range(len(kinds)):
            kind = kinds[(turn + place) % len(kinds)]
            taken, images[kind] = made[kind].run(turn)
            if turn > 0:
                steps[kind] += taken
        worst = min(worst, decibels(images["package"], images["diffusers"]))
        equal = equal and decibels(images["package"], images["program"]) == math.inf
    return steps, worst, equal


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="a folder of Stable Diffusion")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    steps, worst, equal = measured(parser.parse_args())
    median = {kind: statistics.median(each) for kind, each in steps.items()}
    for kind, each in median.items():
        ratio = each / median["program"]
        print(f"{kind:<10} a step {each:9.1f} ms, {ratio:.3f} of the program's; least {min(steps[kind]):.1f} ms")
    agree = "equal to the bit" if equal else "NOT equal"
    print(f"package and diffusers: {worst:.1f} dB at least; package and program: {agree}")
    print(json.dumps({"median_ms": median, "steps_ms": steps, "psnr_db": min(worst, 999.0), "equal": equal}))


if __name__ == "__main__":
    main()
