#!/usr/bin/env python3
"""Tiny random Stable Diffusion folders, and what diffusers makes of requests to them, stage by stage.

  tools/goldens/pipelines.py [--only sd15,inpaint9] [--check]

tests/goldens/pipelines/MODEL/model is the folder, MODEL/RUN/{request.json,golden.safetensors} a run,
inputs/ holds the images and masks.
"""

import argparse
import json
import pathlib
import shutil

import common
import networks
import numpy
import torch
from PIL import Image

FOLDER = common.GOLDENS / "pipelines"
MERGES = 500  # of the embedded model's tokenizer; a whole vocabulary would be most of a folder

BETAS = dict(
    beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", num_train_timesteps=1000
)
STOCK = dict(
    **BETAS,
    steps_offset=1,
    set_alpha_to_one=False,
    skip_prk_steps=True,
    trained_betas=None,
    clip_sample=False,
)


# ---------------------------------------------------------------------------------------- inputs
def write_inputs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    y, x = numpy.mgrid[0:64, 0:64]
    stripes = numpy.stack([x * 4, y * 4, ((x // 8 + y // 8) % 2) * 200 + 20], axis=2)
    Image.fromarray(stripes.astype(numpy.uint8)).save(folder / "image.png")
    Image.fromarray(stripes.astype(numpy.uint8)).resize((88, 72), Image.BICUBIC).save(
        folder / "image_88x72.png"
    )
    # Gray values on both sides of a half, and edges that are no multiple of 8.
    mask = numpy.clip((26 - numpy.hypot(x - 30, y - 35)) * 20, 0, 255)
    Image.fromarray(mask.astype(numpy.uint8)).save(folder / "mask.png")


# ---------------------------------------------------------------------------------------- models
def write_tokenizer(folder, pad):
    """A cut of CLIP's vocabulary in the files of the first Stable Diffusions (no tokenizer.json)."""
    source = common.ROOT / "models" / "emoji-sd" / "tokenizer"
    merges = (source / "merges.txt").read_text().splitlines()
    merges = [line for line in merges if not line.startswith("#version")][:MERGES]
    vocabulary = json.loads((source / "vocab.json").read_text())
    kept = sorted((i, token) for token, i in vocabulary.items() if i < 512 + MERGES)
    tokens = [token for _, token in kept] + ["<|startoftext|>", "<|endoftext|>"]
    folder.mkdir(parents=True)
    (folder / "merges.txt").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))

    def special(content):
        return {
            "content": content,
            "lstrip": False,
            "normalized": True,
            "rstrip": False,
            "single_word": False,
        }

    start, end = special("<|startoftext|>"), special("<|endoftext|>")
    common.write_json(
        folder / "special_tokens_map.json",
        {"bos_token": start, "eos_token": end, "pad_token": pad, "unk_token": end},
    )
    added = {"__type": "AddedToken"}
    config = {
        "add_prefix_space": False,
        "bos_token": {**added, **start},
        "do_lower_case": True,
        "eos_token": {**added, **end},
        "errors": "replace",
        "model_max_length": 77,
        "pad_token": pad,
        "tokenizer_class": "CLIPTokenizer",
        "unk_token": {**added, **end},
    }
    common.write_json(folder / "tokenizer_config.json", config)
    return len(tokens)


def write_model(folder, pipeline, scheduler, pad, unet, text):
    from diffusers import AutoencoderKL, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel

    if folder.exists():
        shutil.rmtree(folder)
    vocabulary = write_tokenizer(folder / "tokenizer", pad)
    clip = {
        **networks.CLIP,
        "vocab_size": vocabulary,
        "max_position_embeddings": 77,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "pad_token_id": 1,
        **text,
    }
    network = {
        **networks.UNET,
        "sample_size": 8,
        "cross_attention_dim": clip["hidden_size"],
        **unet,
    }
    half = torch.float16
    networks.save_checkpoint(
        CLIPTextModel(CLIPTextConfig(**clip)),
        folder / "text_encoder",
        60,
        1.5,
        half,
        networks.prefixed,
    )
    networks.save_checkpoint(UNet2DConditionModel(**network), folder / "unet", 61, 1.0, half)
    networks.save_checkpoint(
        AutoencoderKL(**{**networks.KL, "sample_size": 64}), folder / "vae", 62, 1.0, half
    )
    kind, config = scheduler
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {"_class_name": kind, "_diffusers_version": "0.42.1", **config},
    )
    parts = {
        "feature_extractor": [None, None],
        "safety_checker": [None, None],
        "scheduler": ["diffusers", kind],
        "text_encoder": ["transformers", "CLIPTextModel"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    common.write_json(
        folder / "model_index.json",
        {"_class_name": pipeline, "_diffusers_version": "0.42.1", **parts},
    )


def write_tiny_autoencoder(folder):
    from diffusers import AutoencoderTiny

    def gray(
        state,
    ):  # Most pixels between the limits, or the clamp would hide the rest of an image.
        last = max(
            (name for name in state if name.startswith("decoder.")),
            key=lambda name: int(name.split(".")[2]),
        )
        last = last.rsplit(".", 1)[0]
        return {
            **state,
            f"{last}.weight": state[f"{last}.weight"] * 0.25,
            f"{last}.bias": torch.full((3,), 0.5).half(),
        }

    networks.save_checkpoint(AutoencoderTiny(**networks.TINY), folder, 63, 1.0, torch.float16, gray)


MODELS = {
    "sd15": dict(
        pipeline="StableDiffusionPipeline",
        scheduler=("PNDMScheduler", STOCK),
        pad="<|endoftext|>",
        text={},
        unet=dict(attention_head_dim=8),
    ),
    "sd2": dict(
        pipeline="StableDiffusionPipeline",
        scheduler=("DDIMScheduler", {**STOCK, "prediction_type": "v_prediction"}),
        pad="!",
        text=dict(hidden_act="gelu", num_hidden_layers=2),
        unet=dict(
            attention_head_dim=[1, 2, 4, 4], use_linear_projection=True, upcast_attention=True
        ),
    ),
    "inpaint9": dict(
        pipeline="StableDiffusionInpaintPipeline",
        scheduler=("PNDMScheduler", STOCK),
        pad="<|endoftext|>",
        text={},
        unet=dict(attention_head_dim=8, in_channels=9),
    ),
    # The guidance scale as an input of the network.
    "lcm": dict(
        pipeline="StableDiffusionPipeline",
        scheduler=("LCMScheduler", {**STOCK, "original_inference_steps": 50}),
        pad="<|endoftext|>",
        text={},
        unet=dict(attention_head_dim=8, time_cond_proj_dim=17, **networks.TWO_LEVELS),
    ),
    # Values that diffusers' pipelines silently replace when they load the folder.
    "outdated": dict(
        pipeline="StableDiffusionPipeline",
        pad="<|endoftext|>",
        text={},
        scheduler=(
            "DDIMScheduler",
            {**STOCK, "steps_offset": 0, "clip_sample": True, "skip_prk_steps": False},
        ),
        unet=dict(
            attention_head_dim=8,
            block_out_channels=(8, 16),
            **{k: v for k, v in networks.TWO_LEVELS.items() if "types" in k},
        ),
    ),
}


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}
TWO = {"prompt": ["a red apple", "the sea at night"], "negative_prompt": ["gray", "a tree"]}
PICTURE = {**PROMPT, "image": "../../inputs/image.png"}
MASKED = {**PICTURE, "mask": "../../inputs/mask.png"}
TINY = {"components": {"vae": "../../tiny_vae"}}
EULER, ANCESTRAL, DDIM, HEUN = (
    "EulerDiscreteScheduler",
    "EulerAncestralDiscreteScheduler",
    "DDIMScheduler",
    "HeunDiscreteScheduler",
)


def run(task, inputs, seed, steps=8, scale=7.5, components=None, **config):
    config = {"num_inference_steps": steps, "guidance_scale": scale, "seed": seed, **config}
    return {
        "task": task,
        "model": "../model",
        "inputs": inputs,
        "config": config,
        **(components or {}),
    }


def runs(model):
    if model == "outdated":
        yield "text2image", run("text2image", PROMPT, 1, width=64, height=64)
        yield "euler", run("text2image", PROMPT, 2, scheduler=EULER)
        yield "inpaint", run("inpaint", MASKED, 3, strength=1.0)
        yield "pndm", run("text2image", PROMPT, 4, scheduler="PNDMScheduler")
        yield "inpaint_pndm", run("inpaint", MASKED, 5, strength=1.0, scheduler="PNDMScheduler")
        return
    if model == "lcm":
        yield "text2image", run("text2image", PROMPT, 1, steps=4, num_images_per_prompt=2)
        yield "text2image_weak", run("text2image", PROMPT, 2, steps=4, scale=1.5)
        yield "image2image", run("image2image", PICTURE, 3, steps=6, strength=0.6)
        return
    if model != "inpaint9":
        yield "text2image", run("text2image", PROMPT, 10)
        yield "text2image_long", run(
            "text2image", {"prompt": "the sea at night, " * 30}, 11, steps=3
        )
        yield "text2image_wide", run(
            "text2image", PROMPT, 12, steps=4, width=104, height=40, scheduler=EULER
        )
        yield "text2image_prompts", run(
            "text2image", TWO, 13, steps=4, num_images_per_prompt=2, scheduler=ANCESTRAL
        )
        yield "image2image", run("image2image", PICTURE, 14, strength=0.6)
        yield "image2image_n2", run(
            "image2image", PICTURE, 15, strength=0.7, num_images_per_prompt=2, scheduler=ANCESTRAL
        )
    yield "inpaint", run("inpaint", MASKED, 16, strength=1.0)
    yield "inpaint_strength_07", run("inpaint", MASKED, 17, strength=0.7)
    yield "inpaint_ancestral", run("inpaint", MASKED, 18, strength=1.0, scheduler=ANCESTRAL)
    yield "inpaint_n2", run(
        "inpaint", MASKED, 19, strength=0.7, num_images_per_prompt=2, scheduler=ANCESTRAL
    )
    if model == "sd2":
        yield "text2image_pndm", run("text2image", PROMPT, 30, scheduler="PNDMScheduler")
        return
    yield "inpaint_heun", run("inpaint", MASKED, 20, steps=5, strength=0.7, scheduler=HEUN)
    yield "inpaint_eta", run("inpaint", MASKED, 21, strength=0.7, scheduler=DDIM, eta=0.8)
    yield "inpaint_no_guidance", run(
        "inpaint", MASKED, 22, scale=1.0, strength=1.0, scheduler=EULER
    )
    yield "inpaint_tiny_vae", run(
        "inpaint", MASKED, 23, strength=0.7, scheduler=ANCESTRAL, components=TINY
    )
    if model == "sd15":
        yield "text2image_clip_skip", run("text2image", PROMPT, 24, steps=3, clip_skip=1)
        yield "text2image_no_guidance", run("text2image", PROMPT, 25, scale=1.0)
        yield "text2image_tiny_vae", run("text2image", PROMPT, 26, steps=3, components=TINY)
        yield "image2image_prompts", run(
            "image2image", {**PICTURE, **TWO}, 27, strength=0.6, scheduler=DDIM, eta=1.0
        )
        yield "image2image_resized", run(
            "image2image",
            {**PICTURE, "image": "../../inputs/image_88x72.png"},
            28,
            strength=0.6,
            width=64,
            height=64,
        )
        yield "image2image_full", run("image2image", PICTURE, 29, strength=1.0, scheduler=EULER)


def load(run_folder, request):
    from diffusers import AutoencoderTiny

    pipe = common.load_pipeline(run_folder / request["model"], request["task"])
    if "components" in request:
        path = run_folder / request["components"]["vae"]
        pipe.register_modules(
            vae=AutoencoderTiny.from_pretrained(path.resolve(), low_cpu_mem_usage=False)
            .float()
            .eval()
        )
    return pipe


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument(
        "--only", type=lambda text: set(text.split(",")), help="models, with commas"
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with what is there instead of writing"
    )
    options = parser.parse_args()
    if not options.check:
        write_inputs(options.folder / "inputs")
        write_tiny_autoencoder(options.folder / "tiny_vae")
    for name, parts in MODELS.items():
        if options.only and name not in options.only:
            continue
        folder = options.folder / name
        if not options.check:
            write_model(folder / "model", **parts)
        for title, request in runs(name):
            (folder / title).mkdir(parents=True, exist_ok=True)
            tensors = common.generate(load(folder / title, request), request, folder / title)
            if not all(bool(value.isfinite().all()) for value in tensors.values()):
                raise SystemExit(f"{name}/{title}: not finite")
            path = folder / title / "golden.safetensors"
            if options.check:
                common.report_difference(f"{name}/{title}", path, tensors)
            else:
                common.write_json(folder / title / "request.json", request)
                common.write_tensors(path, tensors)
                clipped = ((tensors["image"] == 0) | (tensors["image"] == 1)).float().mean()
                print(
                    f"{name}/{title}: image {tensors['image'].std():.2f}, {clipped:.0%} at the limits, steps {len(tensors['timesteps'])}"
                )


if __name__ == "__main__":
    main()
