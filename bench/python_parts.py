#!/usr/bin/env python3
"""What a block, a guider and a scheduler in Python cost next to their native twins, in one process.

  build/wheels-test/bin/python bench/python_parts.py [--model emoji-sd] [--size 64] [--steps 20] [--rounds 9]

Rounds alternate, each starting at another kind; figures are medians over the rounds of what a step
takes, and of the turn of `prepare_latents`, by the reports. The images of both are compared. The last line is JSON.
"""

import argparse
import json
import math
import statistics

import numpy
import omnirt
import torch


class Cfg(omnirt.Guider):
    """Classifier-free guidance."""

    type = "python_cfg"
    guidance_scale = omnirt.Config(float, 7.5, min=0, max=100)

    def combine(self, predictions, step):
        uncond = predictions["uncond"]
        return uncond + self.settings.guidance_scale * (predictions["cond"] - uncond)


class PythonEuler(omnirt.Scheduler):
    """Euler's method for networks that predict noise or velocity, with the spacings of the two models here."""

    config_keys = ("beta_start", "beta_end", "beta_schedule", "num_train_timesteps", "prediction_type", "timestep_spacing")
    last = None

    def __init__(self, config):
        super().__init__(config)
        PythonEuler.last = self

    def spacing(self):
        return self.config.get("timestep_spacing", "linspace")

    def set_timesteps(self, num_inference_steps):
        count = self.config["num_train_timesteps"]
        power = 2.0 if self.config["beta_schedule"] == "scaled_linear" else 1.0
        first, last = (self.config[name] ** (1 / power) for name in ("beta_start", "beta_end"))
        kept = torch.cumprod(1 - torch.linspace(first, last, count) ** power, 0)
        table = (((1 - kept) / kept) ** 0.5).numpy()
        if self.spacing() == "leading":
            timesteps = numpy.arange(num_inference_steps)[::-1] * (count // num_inference_steps) + self.config.get("steps_offset", 0)
        else:
            timesteps = numpy.linspace(0, count - 1, num_inference_steps)[::-1]
        sigmas = numpy.interp(timesteps, numpy.arange(count), table)
        self.sigmas = [float(each) for each in sigmas] + [0.0]
        return timesteps

    def init_noise_sigma(self):
        largest = max(self.sigmas)
        return largest if self.spacing() == "linspace" else math.sqrt(largest**2 + 1)

    def scale_model_input(self, sample, index):
        return sample / math.sqrt(self.sigmas[index] ** 2 + 1)

    def step(self, model_output, index, sample, noise):
        sigma, original = self.sigmas[index], None
        if self.config.get("prediction_type") == "v_prediction":
            original = model_output * (-sigma / math.sqrt(sigma**2 + 1)) + sample / (sigma**2 + 1)
        else:
            original = sample - sigma * model_output
        derivative = (sample - original) / sigma
        return sample + derivative * (self.sigmas[index + 1] - sigma), original

    def add_noise(self, original, noise, index):
        return original + noise * self.sigmas[index]


class PrepareLatents(omnirt.Block):
    """The native block's words."""

    name = "prepare_latents"
    stage = "prepare_latents"
    seeds = omnirt.Input("seeds")
    noise_source = omnirt.InOut("noise")
    width = omnirt.Config(int)
    height = omnirt.Config(int)
    latents = omnirt.Output("tensor")
    channels, grid, sigma = 4, 8, 1.0

    def run(self, frame):
        shape = [len(frame.seeds), self.channels, frame.height // self.grid, frame.width // self.grid]
        frame.latents = frame.noise_source(shape) * self.sigma


PARTS = {
    "native": {},
    "guider": {"guider": {"type": "python_cfg", "guidance_scale": 7.5}},
    "scheduler": {"scheduler": "PythonEuler"},
    "block": {},
    "all": {"guider": {"type": "python_cfg", "guidance_scale": 7.5}, "scheduler": "PythonEuler"},
}


def opened(options):
    size = {"width": options.size, "height": options.size} if options.size else {}
    made = omnirt.Pipeline.from_pretrained(options.model, strict=False, num_inference_steps=options.steps, **size)
    made.add_guider(Cfg)
    made.add_scheduler(PythonEuler)
    return made


def block_for(pipe):
    """With the latents' shape, and the first noise's size, that the native parts of this model give."""
    seen, block = [], PrepareLatents()
    pipe("a red apple", scheduler="PythonEuler", callback=lambda at: seen.append(at.latents.shape))
    block.channels, block.grid = seen[0][1], pipe.validate("a red apple").config["width"].value // seen[0][3]
    block.sigma = PythonEuler.last.init_noise_sigma()
    return block


def pipelines(options):
    """Two of one model: as it is, and with the block. They share the files' pages alone."""
    plain, with_block = opened(options), opened(options)
    with_block.blocks.replace("prepare_latents", block_for(plain))
    return {kind: with_block if kind in ("block", "all") else plain for kind in PARTS}


def run(pipe, parts, seed):
    parts = {"guider": {"type": "cfg", "guidance_scale": 7.5}, "scheduler": "EulerDiscreteScheduler", **parts}
    made = pipe("a red apple", seed=seed, **parts)
    timings = made.report.timings
    return {"step": statistics.median(made.report.denoise_steps_ms), "latents": timings.prepare_latents_ms}, made.image


def decibels(image, other):
    difference = (numpy.asarray(image).astype(float) - numpy.asarray(other).astype(float)) ** 2
    return math.inf if difference.max() == 0 else 10 * math.log10(255**2 / difference.mean())


def measured(options):
    """{kind: [a round's times]}, and the worst PSNR of each kind's images against the native one."""
    pipes, kinds = pipelines(options), list(PARTS)
    times, worst = {kind: [] for kind in kinds}, dict.fromkeys(kinds, math.inf)
    for turn in range(options.rounds + 1):
        images = {}
        for place in range(len(kinds)):
            kind = kinds[(turn + place) % len(kinds)]
            timing, images[kind] = run(pipes[kind], PARTS[kind], turn)
            if turn > 0:  # the first one loads
                times[kind].append(timing)
        for kind in kinds:
            worst[kind] = min(worst[kind], decibels(images[kind], images["native"]))
    return times, worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="emoji-sd", help="an id or a folder of a Stable Diffusion")
    parser.add_argument("--size", type=int, help="in pixels, if omitted the model's")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    times, worst = measured(options)
    median = {kind: {what: statistics.median(each[what] for each in rounds) for what in rounds[0]} for kind, rounds in times.items()}
    native = median["native"]
    for kind, each in median.items():
        pairs = [a["step"] / b["step"] - 1 for a, b in zip(times[kind], times["native"])]
        latents = (each["latents"] - native["latents"]) / native["step"]
        print(
            f"{kind:<10} a step {each['step']:8.3f} ms, {100 * (each['step'] / native['step'] - 1):+.2f} % "
            f"(pairs {100 * statistics.median(pairs):+.2f} %); prepare_latents {each['latents']:.3f} ms, "
            f"{100 * latents:+.2f} % of a step; PSNR {worst[kind]:.1f} dB"
        )
    print(json.dumps({"model": options.model, "median_ms": median, "psnr_db": {k: min(v, 999.0) for k, v in worst.items()}}))


if __name__ == "__main__":
    main()
