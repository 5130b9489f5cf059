#!/usr/bin/env python3
"""What diffusers makes with its autoencoder's tiles on (enable_tiling).

  tools/goldens/vae_tiling.py [--check]

Runs on the folders of tests/goldens/pipelines; tests/goldens/vae_tiling/RUN/{request.json,image.png} is a run.
"""

import argparse

import common
import diffusers
import numpy
import torch
from PIL import Image

FOLDER = common.GOLDENS / "vae_tiling"
PIPELINES = common.GOLDENS / "pipelines"
INPUTS = PIPELINES / "inputs"
TEXTS = {"prompt": "a red apple", "negative_prompt": "gray"}

# name: model, task, config
RUNS = {
    "sd15_text2image": ("sd15", "text2image", dict(width=136, height=104)),
    "sd15_one_row": ("sd15", "text2image", dict(width=160, height=64)),
    "sd15_image2image": ("sd15", "image2image", dict(width=120, height=80, strength=0.6)),
    "inpaint9": ("inpaint9", "inpaint", dict(width=96, height=104)),
    "sdxl_larger_tiles": ("sdxl", "text2image", dict(width=168, height=120, vae_tile_size=96)),
    "flux2_text2image": ("flux2_klein", "text2image", dict(width=176, height=96, vae_tile_size=64)),
    "flux2_edit": ("flux2_klein", "edit", dict(width=96, height=80, vae_tile_size=64)),
    "sana": ("sana", "text2image", dict(width=448, height=288, vae_tile_size=256, use_resolution_binning=False)),
}


def request_of(index, model, task, config):
    settings = dict(num_inference_steps=3, seed=80 + index, vae_tiling=True, **config)
    inputs = {"prompt": TEXTS["prompt"]}
    if model == "flux2_klein":
        settings["max_sequence_length"] = 48
    else:
        settings["guidance_scale"] = 5.0
        inputs = dict(TEXTS)
    if task != "text2image":
        inputs["image"] = "../../pipelines/inputs/image.png"
    if task == "inpaint":
        inputs["mask"] = "../../pipelines/inputs/mask.png"
        settings["strength"] = 1.0
    return {"task": task, "model": f"../../pipelines/{model}/model", "inputs": inputs, "config": settings}


def pipeline(model, task):
    pipe = common.load_any(PIPELINES / model / "model")
    if task == "image2image":
        pipe = diffusers.StableDiffusionImg2ImgPipeline(**pipe.components, requires_safety_checker=False)
    if task == "inpaint":
        pipe = diffusers.StableDiffusionInpaintPipeline(**pipe.components, requires_safety_checker=False)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def tile(vae, side):
    vae.enable_tiling()
    if side and hasattr(vae, "tile_sample_stride_height"):
        parts = vae.tile_sample_min_height // (vae.tile_sample_min_height - vae.tile_sample_stride_height)
        stride = side - side // parts
        vae.enable_tiling(side, side, stride, stride)
    elif side:
        levels = len(vae.config.block_out_channels) - 1
        vae.tile_sample_min_size, vae.tile_latent_min_size = side, side >> levels


def generate(model, task, request):
    config = request["config"]
    pipe = pipeline(model, task)
    tile(pipe.vae, config.get("vae_tile_size"))
    names = ("num_inference_steps", "guidance_scale", "max_sequence_length", "strength")
    names += ("use_resolution_binning",)
    call = {name: config[name] for name in names if name in config}
    call.update({name: text for name, text in request["inputs"].items() if "prompt" in name})
    size = (config["width"], config["height"])
    if task != "text2image":
        call["image"] = Image.open(INPUTS / "image.png")
    if task == "image2image":
        call["image"] = call["image"].convert("RGB").resize(size, Image.LANCZOS)
    else:
        call.update(width=size[0], height=size[1])
    if task == "inpaint":
        call["mask_image"] = Image.open(INPUTS / "mask.png")
    return pipe(**call, generator=torch.Generator().manual_seed(config["seed"]), output_type="pil").images[0]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    check = parser.parse_args().check
    for index, (name, (model, task, config)) in enumerate(RUNS.items()):
        request = request_of(index, model, task, config)
        image = generate(model, task, request)
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
