"""Goldens of denoising in overlapping windows (tests/goldens/pipelines/sd15/panorama_*).

diffusers' StableDiffusionPanoramaPipeline fixes its windows to 64 latents with a stride of 8; the tiny checkpoint
gets smaller ones through the arguments that get_views has. Sizes are such that its windows leave nothing uncovered.

    python tools/goldens/windows.py
"""


import sys

import diffusers
import torch

import common

FOLDER = common.GOLDENS / "pipelines" / "sd15"


def request(config, negative=None):
    inputs = {"prompt": "a wide view of hills"}
    if negative:
        inputs["negative_prompt"] = negative
    base = {"seed": 11, "num_inference_steps": 4, "guidance_scale": 6.0}
    return {"task": "text2image", "model": "../model", "inputs": inputs, "config": {**base, **config}}


def cases(grid):
    wide = {"width": 24 * grid, "height": 16 * grid, "window_size": 16 * grid, "window_stride": 4 * grid}
    return {
        "panorama_ddim": request({**wide, "scheduler": "DDIMScheduler"}, "fog"),
        "panorama_dpm": request({**wide, "scheduler": "DPMSolverMultistepScheduler"}),
        "panorama_ancestral_n2": request(
            {**wide, "scheduler": "EulerAncestralDiscreteScheduler", "num_images_per_prompt": 2}
        ),
        "panorama_circular": request(
            {**wide, "scheduler": "DDIMScheduler", "circular_padding": True, "guidance_scale": 1.0}
        ),
    }


def run(pipe, wanted, grid):
    config = wanted["config"]
    kind = getattr(diffusers, config["scheduler"])
    pipe.scheduler = kind.from_config(pipe.scheduler.config)
    size, stride = config["window_size"] // grid, config["window_stride"] // grid
    views = diffusers.StableDiffusionPanoramaPipeline.get_views
    # get_views divides by 8 whatever the autoencoder's scale is.
    pipe.get_views = lambda height, width, circular_padding: views(
        pipe, height * 8 // grid, width * 8 // grid, size, stride, circular_padding
    )
    # With several images the reference mixes up their prompts: each is made on its own.
    parts = [run_one(pipe, wanted, seed) for seed in common.seeds_of(wanted)]
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}


def run_one(pipe, wanted, seed):
    config, inputs, latents = wanted["config"], wanted["inputs"], []

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        return {}

    image = pipe(
        **inputs,
        width=config["width"],
        height=config["height"],
        num_inference_steps=config["num_inference_steps"],
        guidance_scale=config["guidance_scale"],
        circular_padding=config.get("circular_padding", False),
        generator=torch.Generator().manual_seed(seed),
        output_type="pt",
        callback_on_step_end=on_step,
    ).images
    last = len(latents) - 1
    return {"image": image, "latents_after_step_0": latents[0], f"latents_after_step_{last}": latents[last]}


def main(only):
    pipe = diffusers.StableDiffusionPanoramaPipeline.from_pretrained(
        FOLDER / "model", torch_dtype=torch.float32, safety_checker=None, requires_safety_checker=False
    )
    pipe.set_progress_bar_config(disable=True)
    grid = pipe.vae_scale_factor
    for name, wanted in cases(grid).items():
        if only and name not in only:
            continue
        out = run(pipe, wanted, grid)
        common.write_tensors(FOLDER / name / "golden.safetensors", out)
        common.write_json(FOLDER / name / "request.json", wanted)
        print(name, tuple(out["image"].shape))


if __name__ == "__main__":
    main(sys.argv[1:])
