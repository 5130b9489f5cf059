#!/usr/bin/env python3
"""Runs that start from given noise (`latents` of diffusers' pipelines) on the tiny folders of pipelines.py,
sdxl.py, pixart.py, flux2.py and svd.py.

  tools/goldens/start_latents.py [--check]

tests/goldens/pipelines/MODEL/given_noise (videos/MODEL/given_noise for svd) is a run: {request.json,
golden.safetensors, noise.safetensors}.
"""

import argparse

import common
import sdxl
import svd
import torch

PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}
ANCESTRAL = "EulerAncestralDiscreteScheduler"


def run(task, inputs, **config):
    inputs = {**inputs, "latents": "noise.safetensors"}
    return {"task": task, "model": "../model", "inputs": inputs, "config": config}


# Folder, shape of the noise, request. The ancestral scheduler shows that nothing is drawn for the start.
RUNS = [
    (
        "pipelines/sd15",
        (2, 4, 5, 13),
        run(
            "text2image",
            PROMPT,
            num_inference_steps=5,
            guidance_scale=7.5,
            seed=61,
            width=104,
            height=40,
            num_images_per_prompt=2,
            scheduler=ANCESTRAL,
        ),
    ),
    (
        "pipelines/sdxl",
        (1, 4, 8, 8),
        run(
            "text2image",
            PROMPT,
            num_inference_steps=5,
            guidance_scale=5.0,
            seed=62,
            width=64,
            height=64,
            scheduler=ANCESTRAL,
        ),
    ),
    (
        "pipelines/pixart_sigma",
        (1, 4, 6, 10),
        run(
            "text2image",
            {"prompt": "a small red apple", "negative_prompt": ""},
            num_inference_steps=5,
            guidance_scale=4.5,
            seed=63,
            width=80,
            height=48,
            use_resolution_binning=False,
            max_sequence_length=16,
            scheduler=ANCESTRAL,
        ),
    ),
    (
        "pipelines/flux2_klein",
        (1, 12, 6, 8),
        run("text2image", {"prompt": "a red apple"}, num_inference_steps=4, seed=64, width=64, height=48),
    ),
    (
        "videos/svd",
        (1, 2, 4, 20, 24),
        run(
            "image2video",
            {"image": "../../in.png"},
            width=48,
            height=40,
            num_frames=2,
            num_inference_steps=3,
            seed=65,
            decode_chunk_size=2,
        ),
    ),
]


def load(folder, model):
    if model == "sdxl":
        return sdxl.load(folder.parent, model, "text2image")
    if model == "svd":
        return svd.load_model(folder / "model")
    if model == "sd15":
        return common.load_pipeline(folder / "model")
    return common.load_any(folder / "model")


def generate(pipe, model, request, folder, noise):
    if model == "svd":
        given = {**request, "config": {**request["config"], "latents": noise}}
        return svd.generate(pipe, given, folder)
    config, inputs = dict(request["config"]), dict(request["inputs"])
    common._set_scheduler(pipe, config)
    seed, latents, timesteps = config.pop("seed"), [], []
    config.pop("scheduler", None)
    count = config.get("num_images_per_prompt", 1)
    inputs.pop("latents")
    if model == "pixart_sigma":
        inputs["clean_caption"] = False

    def on_step(_, index, timestep, values):
        latents.append((values if torch.is_tensor(values) else values["latents"]).clone())
        timesteps.append(float(timestep))
        return {}

    if model == "pixart_sigma":
        on_each = {"callback": lambda index, timestep, values: on_step(None, index, timestep, values)}
    else:
        on_each = {"callback_on_step_end": on_step}
    made = pipe(
        **inputs,
        **config,
        **on_each,
        latents=noise.clone(),
        generator=[torch.Generator().manual_seed(seed + i) for i in range(count)],
        output_type="pt",
    )
    out = {"image": made.images.half(), "timesteps": torch.tensor(timesteps, dtype=torch.float64)}
    for index in sorted({0, len(latents) - 1}):
        one = latents[index]
        if model == "flux2_klein":
            one = one.unflatten(1, noise.shape[2:]).permute(0, 3, 1, 2)
        out[f"latents_after_step_{index}"] = one
    return out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    for path, shape, request in RUNS:
        model, folder = path.split("/")[1], common.GOLDENS / path / "given_noise"
        noise = common.normal(900 + len(model), *shape)
        folder.mkdir(exist_ok=True)
        out = generate(load(folder.parent, model), model, request, folder, noise)
        if not all(bool(value.isfinite().all()) for value in out.values()):
            raise SystemExit(f"{folder}: not finite")
        if options.check:
            common.report_difference(path, folder / "golden.safetensors", out)
            continue
        common.write_json(folder / "request.json", request)
        common.write_tensors(folder / "noise.safetensors", {"latents": noise})
        common.write_tensors(folder / "golden.safetensors", out)
        print(path, {k: (list(v.shape), f"{v.float().std():.2f}") for k, v in out.items()})


if __name__ == "__main__":
    main()
