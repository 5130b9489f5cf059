#!/usr/bin/env python3
"""A step of a diffusers pipeline as it is and patched by omnirt_ops, side by side in one process.

  build/wheels-test/bin/python bench/patched_pipeline.py [--size 512] [--steps 4] [--rounds 3]

Stable Diffusion 1.5's networks at full size with random weights, fp32, guidance (batch 2). Rounds
alternate; figures are medians over the steps of all rounds but each run's first. The last line is JSON.
"""

import argparse
import json
import math
import statistics
import time

import random_networks  # first: it keeps the hub out
import torch

import omnirt_ops


class Steps:
    """Notes when each step of a run ended."""

    def __init__(self):
        self.ends = []

    def __call__(self, pipe, step, timestep, values):
        self.ends.append(time.perf_counter())
        return values

    def seconds(self):
        return [after - before for before, after in zip(self.ends, self.ends[1:])]


def run(pipe, options, seed):
    steps, began = Steps(), time.perf_counter()
    latents = pipe(
        "a red apple",
        num_inference_steps=options.steps,
        guidance_scale=7.5,
        generator=torch.Generator().manual_seed(seed),
        height=options.size,
        width=options.size,
        output_type="latent",
        callback_on_step_end=steps,
    ).images
    decode = time.perf_counter()
    image = pipe.vae.decode(latents / pipe.vae.config.scaling_factor).sample.clamp(-1, 1)
    ended = time.perf_counter()
    return {"steps": steps.seconds(), "decode": ended - decode, "whole": ended - began}, image


def decibels(got, wanted):
    return -10 * math.log10(max(1e-20, ((got - wanted) / 2).square().mean().item()))


def measure(pipe, options):
    kinds, worst = {"diffusers": [], "patched": []}, math.inf
    for turn in range(options.rounds):
        timing, plain = run(pipe, options, turn)
        kinds["diffusers"].append(timing)
        with omnirt_ops.patched(pipe, precision=options.precision) as report:
            timing, patched = run(pipe, options, turn)
        kinds["patched"].append(timing)
        worst = min(worst, decibels(patched, plain))
    return kinds, worst, report


def median_of(runs, what):
    values = [run[what] for run in runs]
    return statistics.median(sum(values, []) if what == "steps" else values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", choices=omnirt_ops.PRECISIONS, default="highest")
    options = parser.parse_args()
    pipe = random_networks.pipeline()
    pipe.set_progress_bar_config(disable=True)
    kinds, worst, report = measure(pipe, options)
    told = {what: {k: median_of(r, what) for k, r in kinds.items()} for what in ("steps", "decode", "whole")}
    print(report)
    for what, each in told.items():
        ratio = each["diffusers"] / each["patched"]
        print(f"{what:<7} {each['diffusers']:.3f} s, patched {each['patched']:.3f} s: {ratio:.2f}x")
    print(f"PSNR {worst:.1f} dB at least, torch {torch.__version__}, {omnirt_ops.CPU_TARGET}")
    print(json.dumps({**told, "psnr_db": worst, "torch": torch.__version__}))


if __name__ == "__main__":
    main()
