#!/usr/bin/env python3
"""What diffusers makes where only the masked part is inpainted, where the mask is blurred, and where images are fitted.

  tools/goldens/masked_parts.py [--check]

Runs on the folders of tests/goldens/pipelines (pipelines.py, sdxl.py and flux2.py make them);
tests/goldens/masked_parts/RUN/{request.json,image.png} is a run.
"""

import argparse
import shutil

import common
import diffusers
import numpy
import qwen_image_edit
import torch
from PIL import Image

FOLDER = common.GOLDENS / "masked_parts"
PIPELINES = common.GOLDENS / "pipelines"
TEXTS = {"prompt": "a red apple", "negative_prompt": "gray"}
PART = ("image_88x72.png", "part_88x72.png")
WHOLE = ("image.png", "mask.png")

# name: model, class, image and mask, config
RUNS = {
    "sd15_part": ("sd15", "StableDiffusionInpaintPipeline", PART, dict(padding_mask_crop=6)),
    "sd15_blurred_part": ("sd15", "StableDiffusionInpaintPipeline", PART, dict(padding_mask_crop=4, mask_blur=3)),
    "sd15_blurred": ("sd15", "StableDiffusionInpaintPipeline", WHOLE, dict(mask_blur=4)),
    "sd15_crop": ("sd15", "StableDiffusionImg2ImgPipeline", PART[:1], dict(image_fit="crop")),
    "sd15_fill": ("sd15", "StableDiffusionImg2ImgPipeline", PART[:1], dict(image_fit="fill")),
    "inpaint9_part": ("inpaint9", "StableDiffusionInpaintPipeline", PART, dict(padding_mask_crop=0)),
    "sdxl_part": ("sdxl", "StableDiffusionXLInpaintPipeline", PART, dict(padding_mask_crop=6)),
    "flux2_klein_part": ("flux2_klein", "Flux2KleinInpaintPipeline", PART, dict(padding_mask_crop=6)),
    "qwen_image_edit_part": ("qwen_image_edit", "QwenImageEditInpaintPipeline", PART, dict(padding_mask_crop=6)),
}


def write_mask(path):
    y, x = numpy.mgrid[0:72, 0:88]
    mask = numpy.clip((14 - numpy.hypot(x - 60, (y - 30) * 1.4)) * 40, 0, 255)
    Image.fromarray(mask.astype(numpy.uint8)).save(path)


def request_of(index, model, kind, files, config):
    inputs = dict(TEXTS) if model != "flux2_klein" else {"prompt": TEXTS["prompt"]}
    inputs.update({name: f"../../pipelines/inputs/{file}" for name, file in zip(("image", "mask"), files)})
    settings = dict(num_inference_steps=4, seed=40 + index, strength=0.8, **config)
    if model == "flux2_klein":
        settings["max_sequence_length"] = 48
    else:
        settings.update(guidance_scale=5.0, width=64, height=64)
    task = "inpaint" if len(files) == 2 else "image2image"
    return {"task": task, "model": f"../../pipelines/{model}/model", "inputs": inputs, "config": settings}


def load(model, kind):
    folder = PIPELINES / model / "model"
    if model == "qwen_image_edit":
        return qwen_image_edit.pipeline_of(qwen_image_edit.load(folder, model), "inpaint")
    pipe = common.load_any(folder)
    extra = {"is_distilled": pipe.config.is_distilled} if model == "flux2_klein" else {}
    if model not in ("flux2_klein", "sdxl"):
        extra = {"requires_safety_checker": False}
    made = getattr(diffusers, kind)(**pipe.components, **extra)
    made.set_progress_bar_config(disable=True)
    if model == "flux2_klein":
        # Flux2ImageProcessor's crop does not scale, so that apply_overlay would put the middle of the enlarged part where
        # the part was; every other pipeline scales it to its place.
        usual = diffusers.image_processor.VaeImageProcessor._resize_and_crop
        made.image_processor._resize_and_crop = usual.__get__(made.image_processor)
    return made


def generate(request, model, kind):
    pipe = load(model, kind)
    inputs, config = request["inputs"], dict(request["config"])
    blur, fit = config.pop("mask_blur", 0), config.pop("image_fit", None)
    generator = torch.Generator().manual_seed(config.pop("seed"))
    given = Image.open(FOLDER / "run" / inputs["image"]).convert("RGB")
    arguments = {name: inputs[name] for name in TEXTS if name in inputs}
    arguments["image"] = given
    if fit:
        size = (config.pop("height"), config.pop("width"))
        arguments["image"] = pipe.image_processor.preprocess(given, *size, resize_mode=fit)
    if "mask" in inputs:
        arguments["mask_image"] = Image.open(FOLDER / "run" / inputs["mask"]).convert("L")
    if model == "qwen_image_edit":
        size = config.pop("width"), config.pop("height")
        # It finds the part in a mask of the size that is made, and puts it back by that.
        arguments["mask_image"] = arguments["mask_image"].resize(size, Image.LANCZOS)
        config["true_cfg_scale"] = config.pop("guidance_scale")
    if blur:
        arguments["mask_image"] = pipe.mask_processor.blur(arguments["mask_image"], blur)
    with qwen_image_edit.sizes_of(request["config"]):
        image = pipe(**arguments, **config, generator=generator).images[0]
    if blur and "padding_mask_crop" not in config:
        image = pipe.image_processor.apply_overlay(arguments["mask_image"], given, image)
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the stored images")
    arguments = parser.parse_args()
    (FOLDER / "run").mkdir(parents=True, exist_ok=True)
    write_mask(PIPELINES / "inputs" / PART[1])
    for index, (name, run) in enumerate(RUNS.items()):
        request = request_of(index, *run)
        image = generate(request, *run[:2])
        if arguments.check:
            stored = numpy.asarray(Image.open(FOLDER / name / "image.png"), dtype=int)
            print(name, "largest difference", abs(stored - numpy.asarray(image, dtype=int)).max())
            continue
        (FOLDER / name).mkdir(exist_ok=True)
        common.write_json(FOLDER / name / "request.json", request)
        image.save(FOLDER / name / "image.png")
    shutil.rmtree(FOLDER / "run")


if __name__ == "__main__":
    main()
