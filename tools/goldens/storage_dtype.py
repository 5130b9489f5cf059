#!/usr/bin/env python3
"""What diffusers makes with layers' weights kept in a narrower type (apply_layerwise_casting).

  tools/goldens/storage_dtype.py [--check]

Runs on the folders of tests/goldens/pipelines; tests/goldens/storage_dtype/RUN/{request.json,image.png}
is a run. Models of diffusers are cast by enable_layerwise_casting, with their own patterns; text encoders
by the function under it, with its default patterns.
"""

import argparse

import common
import numpy
import torch
from diffusers.hooks import apply_layerwise_casting
from diffusers.hooks.layerwise_casting import DEFAULT_SKIP_MODULES_PATTERN
from PIL import Image

FOLDER = common.GOLDENS / "storage_dtype"
PIPELINES = common.GOLDENS / "pipelines"
TYPES = {"float8_e4m3fn": torch.float8_e4m3fn, "float8_e5m2": torch.float8_e5m2}
E4M3, E5M2 = "float8_e4m3fn", "float8_e5m2"

# name: model, denoiser, storage_dtype, config
RUNS = {
    "sd15": ("sd15", "unet", E4M3, dict(guidance_scale=4.0)),
    "sd15_each": (
        "sd15",
        "unet",
        {"unet": E5M2, "text_encoder": E4M3, "vae": E4M3},
        dict(guidance_scale=4.0),
    ),
    "flux_dev": ("flux_dev", "transformer", E4M3, dict(max_sequence_length=24)),
    "flux2_klein": ("flux2_klein", "transformer", E5M2, dict(max_sequence_length=48)),
    "flux2_encoder": (
        "flux2_klein",
        "transformer",
        {"transformer": E4M3, "text_encoder": E5M2},
        dict(max_sequence_length=48),
    ),
    "z_image": ("z_image", "transformer", E4M3, dict(max_sequence_length=24, guidance_scale=1.0)),
}


def request_of(index, model, storage, config):
    settings = dict(num_inference_steps=3, seed=60 + index, width=64, height=48, **config)
    return {
        "task": "text2image",
        "model": f"../../pipelines/{model}/model",
        "inputs": {"prompt": "a small red apple"},
        "config": {**settings, "storage_dtype": storage},
    }


def cast(pipe, component, name):
    module = getattr(pipe, component)
    if hasattr(module, "enable_layerwise_casting"):
        module.enable_layerwise_casting(storage_dtype=TYPES[name], compute_dtype=torch.float32)
    else:
        # Pipelines take the type of prompts from `dtype`, which is then that of storage.
        computes = {"dtype": property(lambda self: torch.float32)}
        module.__class__ = type(type(module).__name__, (type(module),), computes)
        apply_layerwise_casting(module, TYPES[name], torch.float32, DEFAULT_SKIP_MODULES_PATTERN)


def generate(model, denoiser, storage, request):
    pipe = common.load_any(PIPELINES / model / "model")
    for component, name in (storage if isinstance(storage, dict) else {denoiser: storage}).items():
        cast(pipe, component, name)
    config = request["config"]
    names = ("num_inference_steps", "guidance_scale", "max_sequence_length", "width", "height")
    call = {name: config[name] for name in names if name in config}
    generator = torch.Generator().manual_seed(config["seed"])
    return pipe(**request["inputs"], **call, generator=generator, output_type="pil").images[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    check = parser.parse_args().check
    for index, (name, (model, denoiser, storage, config)) in enumerate(RUNS.items()):
        request = request_of(index, model, storage, config)
        image = generate(model, denoiser, storage, request)
        path = FOLDER / name / "image.png"
        if check:
            stored = numpy.array(Image.open(path)).astype(int)
            print(f"{name}: {(stored != numpy.array(image)).sum()} values differ")
            continue
        common.write_json(FOLDER / name / "request.json", request)
        image.save(path)
        common.check_file(path)
        print(name, image.size)


if __name__ == "__main__":
    main()
