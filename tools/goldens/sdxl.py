#!/usr/bin/env python3
"""Tiny random Stable Diffusion XL folders, and what diffusers makes of requests to them, stage by stage.

  tools/goldens/sdxl.py [--only sdxl,sdxl_refiner,networks] [--check]

In addition to what pipelines.py writes: tests/goldens/pipelines/sdxl*/model, where sdxl's folder is whole and
the others take what they share from it by their requests' `components`; MODEL/RUN/{request.json,
golden.safetensors}; and the networks' cases of tests/goldens/networks.
"""

import argparse
import functools
import json
import pathlib
import shutil

import common
import networks
import pipelines
import torch

FOLDER = common.GOLDENS / "pipelines"
BASE = "../../sdxl/model"

FIRST = dict(networks.CLIP, hidden_size=32, num_hidden_layers=3, projection_dim=32)
SECOND = dict(
    networks.CLIP,
    hidden_size=24,
    intermediate_size=48,
    num_hidden_layers=2,
    num_attention_heads=3,
    hidden_act="gelu",
    projection_dim=20,
)
UNET = dict(
    sample_size=8,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    norm_num_groups=4,
    block_out_channels=(8, 16, 16),
    attention_head_dim=(1, 2, 4),
    transformer_layers_per_block=(1, 2, 3),
    use_linear_projection=True,
    upcast_attention=None,
    cross_attention_dim=56,
    addition_embed_type="text_time",
    addition_time_embed_dim=8,
    projection_class_embeddings_input_dim=68,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
)
REFINER = dict(
    UNET,
    attention_head_dim=(2, 4, 4),
    transformer_layers_per_block=2,
    cross_attention_dim=24,
    projection_class_embeddings_input_dim=60,
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
)
VAE = dict(networks.KL, sample_size=64, scaling_factor=0.13025, force_upcast=True)
EULER = ("EulerDiscreteScheduler", {**pipelines.STOCK, "timestep_spacing": "leading"})
TURBO = ("EulerAncestralDiscreteScheduler", {**pipelines.STOCK, "timestep_spacing": "trailing"})


# ---------------------------------------------------------------------------------------- models
def write_index(folder, pipeline, scheduler, parts, **settings):
    kind, config = scheduler
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {"_class_name": kind, "_diffusers_version": "0.42.1", **config},
    )
    classes = {
        "text_encoder": ["transformers", "CLIPTextModel"],
        "text_encoder_2": ["transformers", "CLIPTextModelWithProjection"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "tokenizer_2": ["transformers", "CLIPTokenizer"],
        "unet": ["diffusers", "UNet2DConditionModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    listed = {
        name: entry if name in parts else [None, None] for name, entry in classes.items()
    }
    common.write_json(
        folder / "model_index.json",
        {
            "_class_name": pipeline,
            "_diffusers_version": "0.42.1",
            **settings,
            "feature_extractor": [None, None],
            "image_encoder": [None, None],
            "scheduler": ["diffusers", kind],
            **listed,
        },
    )


def write_unet(folder, seed, config):
    from diffusers import UNet2DConditionModel

    networks.save_checkpoint(UNet2DConditionModel(**config), folder, seed, 1.0, torch.float16)


def prefix_first(state):
    """The names of files before transformers 5; those of the class with projection did not change."""
    return networks.prefixed(state)


def write_base(folder):
    from diffusers import AutoencoderKL
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    if folder.exists():
        shutil.rmtree(folder)
    vocabulary = pipelines.write_tokenizer(folder / "tokenizer", "<|endoftext|>")
    pipelines.write_tokenizer(folder / "tokenizer_2", "!")
    half = torch.float16
    tokens = dict(
        vocab_size=vocabulary, max_position_embeddings=77, bos_token_id=0, eos_token_id=2
    )
    first = CLIPTextModel(CLIPTextConfig(**{**FIRST, **tokens}))
    networks.save_checkpoint(first, folder / "text_encoder", 70, 1.5, half, prefix_first)
    second = CLIPTextModelWithProjection(CLIPTextConfig(**{**SECOND, **tokens}))
    networks.save_checkpoint(second, folder / "text_encoder_2", 71, 1.5, half)
    write_unet(folder / "unet", 72, UNET)
    networks.save_checkpoint(AutoencoderKL(**VAE), folder / "vae", 73, 1.0, half)
    parts = {"text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "unet", "vae"}
    write_index(
        folder, "StableDiffusionXLPipeline", EULER, parts, force_zeros_for_empty_prompt=True
    )


def write_part(folder, pipeline, scheduler, unet=None, **settings):
    if folder.exists():
        shutil.rmtree(folder)
    if unet:
        write_unet(folder / "unet", *unet)
    write_index(folder, pipeline, scheduler, {"unet"} if unet else set(), **settings)


def write_models(folder, only):
    makers = {
        "sdxl": lambda to: write_base(to),
        "sdxl_refiner": lambda to: write_part(
            to,
            "StableDiffusionXLImg2ImgPipeline",
            EULER,
            (74, REFINER),
            force_zeros_for_empty_prompt=False,
            requires_aesthetics_score=True,
        ),
        "sdxl_inpaint9": lambda to: write_part(
            to,
            "StableDiffusionXLInpaintPipeline",
            EULER,
            (75, dict(UNET, in_channels=9)),
            force_zeros_for_empty_prompt=False,
            requires_aesthetics_score=False,
        ),
        "sdxl_turbo": lambda to: write_part(
            to, "StableDiffusionXLPipeline", TURBO, force_zeros_for_empty_prompt=True
        ),
    }
    for name, make in makers.items():
        if not only or name in only:
            make(folder / name / "model")


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}
ALONE = {"prompt": "a red apple"}
TWO = {"prompt": ["a red apple", "the sea at night"], "negative_prompt": ["gray", "a tree"]}
SECONDS = {"prompt_2": ["the sea", "a tree"], "negative_prompt_2": ["a cloud", "a red stone"]}
PICTURE = {**PROMPT, "image": "../../inputs/image.png"}
MASKED = {**PICTURE, "mask": "../../inputs/mask.png"}
LATENTS = "../../inputs/sdxl_latents.safetensors"
ANCESTRAL, DDIM, HEUN, DPM = (
    "EulerAncestralDiscreteScheduler",
    "DDIMScheduler",
    "HeunDiscreteScheduler",
    "DPMSolverMultistepScheduler",
)
SIZES = dict(original_size=[80, 48], crops_coords_top_left=[8, 16], target_size=[72, 56])
NEGATIVE = dict(
    negative_original_size=[32, 40],
    negative_crops_coords_top_left=[4, 2],
    negative_target_size=[24, 16],
)
SHARED = {
    "sdxl": [],
    "sdxl_turbo": ["text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "unet", "vae"],
    "sdxl_inpaint9": ["text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "vae"],
    "sdxl_refiner": ["text_encoder_2", "tokenizer_2", "vae"],
}


def run(task, inputs, seed, steps=4, scale=5.0, **config):
    config = {"num_inference_steps": steps, "guidance_scale": scale, "seed": seed, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": config}


def base_runs():
    yield "text2image", run("text2image", PROMPT, 1)
    yield "no_negative_prompt", run("text2image", ALONE, 2)
    yield "prompts", run(
        "text2image", {**TWO, **SECONDS}, 3, num_images_per_prompt=2, scheduler=ANCESTRAL
    )
    yield "clip_skip", run(
        "text2image",
        {**PROMPT, "prompt_2": "the sea at night", "negative_prompt_2": "a tree"},
        4,
        steps=3,
        clip_skip=1,
    )
    yield "sizes", run("text2image", PROMPT, 5, **SIZES, **NEGATIVE)
    yield "half_of_negative_sizes", run(
        "text2image", PROMPT, 6, steps=3, **SIZES, negative_original_size=[32, 40]
    )
    yield "no_guidance", run("text2image", PROMPT, 7, scale=1.0, scheduler=DDIM)
    yield "guidance_rescale", run("text2image", PROMPT, 8, guidance_rescale=0.7)
    yield "wide", run("text2image", PROMPT, 9, steps=5, width=104, height=40, scheduler=DPM)
    yield "long_prompt", run("text2image", {"prompt": "the sea at night, " * 30}, 10, steps=2)
    yield "hand_over", run(
        "text2image", PROMPT, 11, steps=6, denoising_end=0.6, output_type="latent"
    )
    yield "hand_over_heun", run(
        "text2image", PROMPT, 12, steps=5, denoising_end=0.55, output_type="latent", scheduler=HEUN
    )
    yield "image2image", run("image2image", PICTURE, 13, strength=0.6)
    yield "image2image_sizes", run(
        "image2image",
        PICTURE,
        14,
        strength=0.7,
        num_images_per_prompt=2,
        scheduler=ANCESTRAL,
        **SIZES,
        **NEGATIVE,
    )
    yield "image2image_prompts", run(
        "image2image", {**PICTURE, **TWO}, 15, strength=0.6, scheduler=DDIM, eta=1.0
    )
    yield "image2image_between", run(
        "image2image", PICTURE, 16, steps=8, denoising_start=0.4, denoising_end=0.8
    )
    yield "image2image_heun", run(
        "image2image", PICTURE, 17, steps=5, denoising_start=0.5, scheduler=HEUN
    )
    yield "inpaint", run("inpaint", MASKED, 18, strength=0.9999)
    yield "inpaint_full", run("inpaint", MASKED, 19, strength=1.0, scheduler=DPM)
    yield "inpaint_n2", run(
        "inpaint", MASKED, 20, strength=0.7, num_images_per_prompt=2, scheduler=ANCESTRAL, **SIZES
    )
    yield "inpaint_start", run("inpaint", MASKED, 21, denoising_start=0.5, scheduler=ANCESTRAL)


def refiner_runs():
    yield "image2image", run("image2image", PICTURE, 30, strength=0.5)
    yield "scores", run(
        "image2image",
        {**PICTURE, "negative_prompt": ""},
        31,
        strength=0.8,
        aesthetic_score=7.5,
        negative_aesthetic_score=1.25,
        original_size=[80, 48],
        crops_coords_top_left=[8, 16],
        negative_original_size=[32, 40],
        negative_crops_coords_top_left=[4, 2],
    )
    yield "hand_over", run(
        "image2image", {**PROMPT, "latents": LATENTS}, 32, steps=6, denoising_start=0.6
    )
    yield "hand_over_n2", run(
        "image2image",
        {**ALONE, "latents": LATENTS},
        33,
        steps=6,
        denoising_start=0.6,
        num_images_per_prompt=2,
        scheduler=ANCESTRAL,
    )
    yield "noised_latents", run(
        "image2image", {**PROMPT, "latents": LATENTS}, 34, strength=0.6, clip_skip=1
    )
    yield "inpaint", run("inpaint", MASKED, 35, strength=0.7)


def runs(model):
    if model == "sdxl":
        yield from base_runs()
    elif model == "sdxl_refiner":
        yield from refiner_runs()
    elif model == "sdxl_inpaint9":
        yield "inpaint", run("inpaint", MASKED, 40, strength=1.0)
        yield "inpaint_n2", run(
            "inpaint",
            {**ALONE, "image": MASKED["image"], "mask": MASKED["mask"]},
            41,
            strength=0.7,
            num_images_per_prompt=2,
            scheduler=ANCESTRAL,
        )
    else:
        yield "text2image", run("text2image", ALONE, 50, steps=1, scale=0.0)
        yield "text2image_n2", run(
            "text2image", ALONE, 51, steps=4, scale=0.0, num_images_per_prompt=2
        )
        yield "image2image", run(
            "image2image", {**ALONE, "image": MASKED["image"]}, 52, steps=2, scale=0.0, strength=0.5
        )


# Runs whose embeddings are stored too; the others' are the same or follow.
EMBEDDINGS = {
    "sdxl/text2image",
    "sdxl/no_negative_prompt",
    "sdxl/prompts",
    "sdxl/clip_skip",
    "sdxl/long_prompt",
    "sdxl_refiner/scores",
    "sdxl_refiner/noised_latents",
    "sdxl_inpaint9/inpaint_n2",
}


@functools.cache
def component(folder, name):
    import diffusers
    import transformers

    classes = {
        "text_encoder": transformers.CLIPTextModel,
        "text_encoder_2": transformers.CLIPTextModelWithProjection,
        "tokenizer": transformers.CLIPTokenizer,
        "tokenizer_2": transformers.CLIPTokenizer,
        "unet": diffusers.UNet2DConditionModel,
        "vae": diffusers.AutoencoderKL,
    }
    path = (folder / name).resolve()
    if "tokenizer" in name:
        return classes[name].from_pretrained(path)
    extra = {} if "text" in name else {"low_cpu_mem_usage": False}
    return classes[name].from_pretrained(path, torch_dtype=torch.float32, **extra).eval()


def load(root, model, task):
    import diffusers

    diffusers.utils.logging.disable_progress_bar()
    folder = root / model / "model"
    index = json.loads((folder / "model_index.json").read_text())
    scheduler = json.loads((folder / "scheduler" / "scheduler_config.json").read_text())
    parts = {}
    for name in ("text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2", "unet", "vae"):
        own = index.get(name, [None])[0] is not None
        shared = name in SHARED[model]
        parts[name] = (
            component(folder if own else root / "sdxl" / "model", name) if own or shared else None
        )
    kind = {
        "text2image": diffusers.StableDiffusionXLPipeline,
        "image2image": diffusers.StableDiffusionXLImg2ImgPipeline,
        "inpaint": diffusers.StableDiffusionXLInpaintPipeline,
    }[task]
    settings = {"force_zeros_for_empty_prompt": index["force_zeros_for_empty_prompt"]}
    if task != "text2image":
        settings["requires_aesthetics_score"] = index.get("requires_aesthetics_score", False)
    made = getattr(diffusers, scheduler["_class_name"]).from_config(scheduler)
    pipe = kind(**parts, scheduler=made, add_watermarker=False, **settings)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def arguments_of(request, folder, count):
    inputs, config, task = request["inputs"], dict(request["config"]), request["task"]
    for name in ("seed", "scheduler"):
        config.pop(name, None)
    pairs = {name: tuple(value) for name, value in config.items() if isinstance(value, list)}
    arguments = {**config, **pairs, "output_type": config.get("output_type", "pt")}
    arguments.update({name: text for name, text in inputs.items() if "prompt" in name})
    if "latents" in inputs:
        arguments["image"] = common.load_file(folder / inputs["latents"])["latents"]
    elif task == "image2image":
        arguments["image"] = common._picture(folder / inputs["image"], {}, "RGB", 1)[0]
    elif task == "inpaint":
        # One image and mask for each result, so that each generator draws for its own image.
        arguments["image"] = common._picture(folder / inputs["image"], {}, "RGB", count)
        arguments["mask_image"] = common._picture(folder / inputs["mask"], {}, "L", count)
        arguments["width"], arguments["height"] = arguments["image"][0].size
    return arguments


def generate(pipe, request, folder):
    """What a runtime must reproduce: embeddings of the prompts {prompts, ...}, timesteps, latents
    after the first and the last step, the image {n, 3, H, W} in 0..1 (fp16)."""
    seeds = common.seeds_of(request)
    common._set_scheduler(pipe, request["config"])
    out, latents, timesteps = {}, [], []
    per_prompt = request["config"].get("num_images_per_prompt", 1)

    def on_embeds(result):
        names = ["prompt_embeds", "negative_prompt_embeds"]
        names += ["pooled_prompt_embeds", "negative_pooled_prompt_embeds"]
        out.update({n: v[::per_prompt] for n, v in zip(names, result) if v is not None})

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", on_embeds)
    made = pipe(
        **arguments_of(request, folder, len(seeds)),
        generator=[torch.Generator().manual_seed(seed) for seed in seeds],
        callback_on_step_end=on_step,
    ).images
    for index in sorted({0, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = latents[index]
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    if request["config"].get("output_type") != "latent":
        out["image"] = made.half()
    return out


# -------------------------------------------------------------------------------------- networks
def text_time_golden(model, seed, rows, height, width, timesteps):
    config = model.config
    numbers = 6 if config.projection_class_embeddings_input_dim == 68 else 5
    inputs = {
        "in.sample": common.normal(seed, rows, config.in_channels, height, width),
        "in.timestep": torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone(),
        "in.encoder_hidden_states": common.normal(seed + 1, rows, 7, config.cross_attention_dim),
        "in.text_embeds": common.normal(seed + 2, rows, 20),
        "in.time_ids": (common.normal(seed + 3, rows, numbers).abs() * 500).round() / 2,
    }
    out = model(
        inputs["in.sample"],
        inputs["in.timestep"],
        inputs["in.encoder_hidden_states"],
        added_cond_kwargs={
            "text_embeds": inputs["in.text_embeds"],
            "time_ids": inputs["in.time_ids"],
        },
    ).sample
    return {**inputs, "out.sample": out}


def text_time_case(seed, config):
    from diffusers import UNet2DConditionModel

    def make(folder):
        write_unet(folder, seed, config)

    def goldens(folder):
        model = UNet2DConditionModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", text_time_golden(model, 500, 3, 8, 8, [999.0, 0.0, 570.857])
        yield "golden_odd", text_time_golden(model, 510, 1, 10, 14, [499.5])

    return make, goldens


def projection_case(seed):
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection

    def make(folder):
        config = CLIPTextConfig(**{**SECOND, "vocab_size": 300, "num_hidden_layers": 3})
        networks.save_checkpoint(
            CLIPTextModelWithProjection(config), folder, seed, 1.5, torch.float16
        )

    def goldens(folder):
        model = CLIPTextModelWithProjection.from_pretrained(
            folder, torch_dtype=torch.float32
        ).eval()
        for file, ids in (
            ("golden", networks.clip_ids(100, 3, 16)),
            ("golden_short", networks.clip_ids(101, 1, 7)),
        ):
            tensors = networks.clip_golden(model.text_model, ids)
            tensors = {k: v for k, v in tensors.items() if "clip_skip" not in k}
            yield file, {**tensors, "out.text_embeds": model(ids).text_embeds}

    return make, goldens


def network_cases():
    yield "unet_xl", text_time_case(80, UNET)
    yield "unet_xl_refiner", text_time_case(81, REFINER)
    yield "clip_xl_projection", projection_case(82)


# ------------------------------------------------------------------------------------------ main
def keep(path, tensors, check, title):
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise SystemExit(f"{title}: not finite")
    if check:
        common.report_difference(title, path, tensors)
    else:
        common.write_tensors(path, tensors)


def run_pipelines(options):
    for model in ("sdxl", "sdxl_refiner", "sdxl_inpaint9", "sdxl_turbo"):
        if options.only and model not in options.only:
            continue
        for title, request in runs(model):
            folder = options.folder / model / title
            folder.mkdir(parents=True, exist_ok=True)
            if SHARED[model]:
                request["components"] = {name: f"{BASE}/{name}" for name in SHARED[model]}
            tensors = generate(load(options.folder, model, request["task"]), request, folder)
            if f"{model}/{title}" not in EMBEDDINGS:
                tensors = {k: v for k, v in tensors.items() if "embeds" not in k}
            keep(folder / "golden.safetensors", tensors, options.check, f"{model}/{title}")
            if options.check:
                continue
            common.write_json(folder / "request.json", request)
            if f"{model}/{title}" == "sdxl/hand_over":
                last = max(k for k in tensors if k.startswith("latents_after"))
                path = options.folder / "inputs" / pathlib.Path(LATENTS).name
                common.write_tensors(path, {"latents": tensors[last]})
            image = tensors.get("image", torch.zeros(1)).float()
            limits = ((image == 0) | (image == 1)).float().mean()
            print(f"{model}/{title}: {image.std():.2f}, {limits:.0%} at the limits")


def run_networks(options):
    for name, (make, goldens) in network_cases():
        folder = common.GOLDENS / "networks" / name
        if not options.check:
            make(folder)
        for file, tensors in goldens(folder):
            keep(folder / f"{file}.safetensors", tensors, options.check, f"{name}/{file}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    if not options.only or "networks" in options.only:
        run_networks(options)
    if not options.check:
        write_models(options.folder, options.only)
    run_pipelines(options)


if __name__ == "__main__":
    main()
