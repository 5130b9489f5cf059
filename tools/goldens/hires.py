#!/usr/bin/env python3
"""What diffusers makes in two passes: text2image, its result at a larger size, image2image from there.

  tools/goldens/hires.py [--check]

Runs on the folders of tests/goldens/pipelines and the upscalers of tests/goldens/upscalers;
tests/goldens/hires/RUN/{request.json,image.png} is a run. The second pass's generators begin again from the same seeds.
"""

import argparse

import common
import diffusers
import numpy
import torch
import upscalers
from diffusers.pipelines.flux2.pipeline_flux2_klein import compute_empirical_mu
from PIL import Image

FOLDER = common.GOLDENS / "hires"
PIPELINES = common.GOLDENS / "pipelines"
TEXTS = {"prompt": "a red apple", "negative_prompt": "gray"}

# As A1111 names them (modules/shared.py, latent_upscale_modes), and torch's arguments.
LATENT_MODES = {
    "latent": dict(mode="bilinear", antialias=False),
    "latent-antialiased": dict(mode="bilinear", antialias=True),
    "latent-bicubic": dict(mode="bicubic", antialias=False),
    "latent-bicubic-antialiased": dict(mode="bicubic", antialias=True),
    "latent-nearest": dict(mode="nearest", antialias=False),
    "latent-nearest-exact": dict(mode="nearest-exact", antialias=False),
}
IMAGE_MODES = {"lanczos": Image.LANCZOS, "nearest": Image.NEAREST}

CONTROL = common.GOLDENS / "control"

# name: model, config, and ControlNets of tests/goldens/control with their images
RUNS = {
    "sd15_latent": ("sd15", dict(hires_scale=1.5)),
    "sd15_antialiased": ("sd15", dict(hires_scale=1.25, hires_upscaler="latent-antialiased")),
    "sd15_bicubic": ("sd15", dict(hires_scale=2.0, hires_upscaler="latent-bicubic")),
    "sd15_bicubic_antialiased": ("sd15", dict(hires_scale=1.4, hires_upscaler="latent-bicubic-antialiased")),
    "sd15_nearest": ("sd15", dict(hires_scale=1.5, hires_upscaler="latent-nearest")),
    "sd15_own_sides": (
        "sd15",
        dict(hires_width=104, hires_height=80, hires_upscaler="latent-nearest-exact", hires_steps=7, hires_strength=0.5),
    ),
    "sd15_two_images": (
        "sd15",
        dict(
            hires_scale=1.5,
            hires_upscaler="lanczos",
            num_images_per_prompt=2,
            scheduler="EulerAncestralDiscreteScheduler",
        ),
    ),
    "sd15_nearest_image": ("sd15", dict(hires_scale=1.5, hires_upscaler="nearest")),
    "sd15_network": ("sd15", dict(hires_scale=1.5, hires_upscaler="rrdb_x2plus", hires_steps=3)),
    "sdxl_latent": ("sdxl", dict(hires_scale=1.5)),
    "sdxl_lanczos": ("sdxl", dict(hires_scale=1.5, hires_upscaler="lanczos", hires_steps=6)),
    "flux2_latent": ("flux2_klein", dict(hires_scale=1.5, hires_upscaler="latent-nearest-exact")),
    "flux2_lanczos": ("flux2_klein", dict(hires_scale=1.5, hires_upscaler="lanczos", hires_steps=6)),
    "sd15_controlnet": ("sd15", dict(hires_scale=1.5), ["parts/controlnet_a"], ["edges.png"]),
    "sd15_controlnet_two": (
        "sd15",
        dict(
            hires_width=104,
            hires_height=80,
            hires_upscaler="lanczos",
            hires_steps=6,
            controlnet_conditioning_scale=[0.8, 0.5],
            control_guidance_end=[0.6, 1.0],
            scheduler="EulerAncestralDiscreteScheduler",
        ),
        ["parts/controlnet_a", "parts/controlnet_b"],
        ["edges.png", "depth_48x40.png"],
    ),
    "sdxl_controlnet": (
        "sdxl",
        dict(hires_scale=1.5, hires_upscaler="latent-bicubic", guess_mode=True),
        ["parts_xl/controlnet_a"],
        ["edges.png"],
    ),
}


def single(values):
    return values[0] if len(values) == 1 else values


def request_of(index, model, config, controlnets=(), controls=()):
    flux2 = model == "flux2_klein"
    settings = dict(num_inference_steps=4, width=64, height=64, seed=60 + index, **config)
    settings.update(dict(max_sequence_length=48) if flux2 else dict(guidance_scale=5.0))
    texts = {"prompt": TEXTS["prompt"]} if flux2 else dict(TEXTS)
    request = {"task": "text2image", "model": f"../../pipelines/{model}/model", "inputs": texts, "config": settings}
    if config.get("hires_upscaler") in upscalers.CASES:
        request["components"] = {"hires_upscaler": f"../../upscalers/{settings.pop('hires_upscaler')}/model.safetensors"}
    if controlnets:
        request["inputs"]["control_image"] = single([f"../../control/inputs/{name}" for name in controls])
        request["components"] = {"controlnet": single([f"../../control/{name}" for name in controlnets])}
    return request


def controlled(pipe, xl, controlnets):
    """The pipelines of both passes, with ControlNets."""
    parts = [
        diffusers.ControlNetModel.from_pretrained(
            (CONTROL / name).resolve(), torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        for name in controlnets
    ]
    name = "StableDiffusionXLControlNet" if xl else "StableDiffusionControlNet"
    extra = {} if xl else {"requires_safety_checker": False}
    kinds = [getattr(diffusers, name + end) for end in ("Pipeline", "Img2ImgPipeline")]
    left_out = [] if not xl else ["image_encoder", "feature_extractor"]
    shared = {name: part for name, part in pipe.components.items() if name not in left_out}
    return [kind(**shared, controlnet=single(parts), **extra) for kind in kinds]


def network_image(name, image, size):
    model, scale = upscalers.load(name)
    for _ in range(3):
        image = upscalers.upscaled(image, model, scale, 256, 16)
        if image.width >= size[0] and image.height >= size[1]:
            break
    return image if image.size == size else image.resize(size, Image.LANCZOS)


def generators(config):
    count = config.get("num_images_per_prompt", 1)
    return [torch.Generator().manual_seed(config["seed"] + i) for i in range(count)]


def generate_flux2(config):
    """FLUX.2 has no image2image: text2image from the first pass's result under noise, along the rest of the schedule.
    Latents are resampled as the transformer sees them, packed and normalised (as ComfyUI's latents of FLUX.2 are)."""
    pipe = common.load_any(PIPELINES / "flux2_klein" / "model")
    pipe.set_progress_bar_config(disable=True)
    seed = config["seed"]
    wanted, scale = config["hires_upscaler"], config["hires_scale"]
    grid = pipe.vae_scale_factor * 2
    width, height = (int(config[side] * scale) // grid * grid for side in ("width", "height"))
    call = dict(prompt=TEXTS["prompt"], max_sequence_length=config["max_sequence_length"])
    made = pipe(
        **call,
        num_inference_steps=config["num_inference_steps"],
        width=config["width"],
        height=config["height"],
        generator=torch.Generator().manual_seed(seed),
        output_type="latent" if wanted in LATENT_MODES else "pil",
    ).images
    if wanted in LATENT_MODES:
        mean = pipe.vae.bn.running_mean.view(1, -1, 1, 1)
        deviation = torch.sqrt(pipe.vae.bn.running_var.view(1, -1, 1, 1) + pipe.vae.config.batch_norm_eps)
        packed = (pipe._patchify_latents(made) - mean) / deviation
        start = torch.nn.functional.interpolate(packed, size=(height // grid, width // grid), **LATENT_MODES[wanted])
    else:
        image = pipe.image_processor.preprocess(made[0].resize((width, height), IMAGE_MODES[wanted]))
        start = pipe._encode_vae_image(image, None)
    steps = config.get("hires_steps", config["num_inference_steps"])
    first = int(max(steps - min(steps * config.get("hires_strength", 0.7), steps), 0))
    sigmas = numpy.linspace(1.0, 1 / steps, steps)[first:]
    mu = compute_empirical_mu(image_seq_len=start.shape[2] * start.shape[3], num_steps=steps)
    pipe.scheduler.set_timesteps(sigmas=sigmas, mu=mu)
    noise = torch.randn(start.shape, generator=torch.Generator().manual_seed(seed))
    sigma = pipe.scheduler.sigmas[0]
    return pipe(
        **call,
        num_inference_steps=steps,
        sigmas=sigmas,
        latents=sigma * noise + (1 - sigma) * start,
        width=width,
        height=height,
        output_type="pil",
    ).images


def generate(model, config, controlnets=(), controls=()):
    if model == "flux2_klein":
        return generate_flux2(config)
    first = common.load_any(PIPELINES / model / "model")
    if "scheduler" in config:
        first.scheduler = getattr(diffusers, config["scheduler"]).from_config(first.scheduler.config)
    xl = model == "sdxl"
    kind = diffusers.StableDiffusionXLImg2ImgPipeline if xl else diffusers.StableDiffusionImg2ImgPipeline
    second = kind(**first.components, **({} if xl else {"requires_safety_checker": False}))
    of_first = of_second = {}
    if controlnets:
        first, second = controlled(first, xl, controlnets)
        images = single([Image.open(CONTROL / "inputs" / name) for name in controls])
        names = ("controlnet_conditioning_scale", "control_guidance_end", "guess_mode")
        # One scale for both passes; the reference's image2image has another default.
        how = {"controlnet_conditioning_scale": 1.0}
        how.update({name: config[name] for name in names if name in config})
        of_first, of_second = {"image": images, **how}, {"control_image": images, **how}
        first.set_progress_bar_config(disable=True)
    second.set_progress_bar_config(disable=True)
    wanted = config.get("hires_upscaler", "latent")
    scale = config.get("hires_scale", 1)
    sides = [int(config[side] * scale) // 8 * 8 for side in ("width", "height")]
    size = (config.get("hires_width", sides[0]), config.get("hires_height", sides[1]))
    shared = dict(
        TEXTS,
        guidance_scale=config["guidance_scale"],
        num_images_per_prompt=config.get("num_images_per_prompt", 1),
    )
    made = first(
        **shared,
        **of_first,
        num_inference_steps=config["num_inference_steps"],
        width=config["width"],
        height=config["height"],
        generator=generators(config),
        output_type="latent" if wanted in LATENT_MODES else "pil",
    ).images
    if wanted in LATENT_MODES:
        start = torch.nn.functional.interpolate(made, size=(size[1] // 8, size[0] // 8), **LATENT_MODES[wanted])
    elif wanted in IMAGE_MODES:
        start = [image.resize(size, IMAGE_MODES[wanted]) for image in made]
    else:
        start = [network_image(wanted, image, size) for image in made]
    if controlnets:
        of_second.update(width=size[0], height=size[1])
    return second(
        **shared,
        **of_second,
        image=start,
        strength=config.get("hires_strength", 0.7),
        num_inference_steps=config.get("hires_steps", config["num_inference_steps"]),
        generator=generators(config),
        output_type="pil",
    ).images


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="runs, with commas")
    options = parser.parse_args()
    check = options.check
    for index, (name, (model, config, *control)) in enumerate(RUNS.items()):
        if options.only and name not in options.only:
            continue
        request = request_of(index, model, config, *control)
        images = generate(model, {**request["config"], **config}, *control)
        for number, image in enumerate(images):
            path = FOLDER / name / ("image.png" if len(images) == 1 else f"image_{number}.png")
            if check:
                stored = numpy.array(Image.open(path)).astype(int)
                print(f"{path.parent.name}/{path.name}: {(stored != numpy.array(image)).sum()} values differ")
                continue
            common.write_json(FOLDER / name / "request.json", request)
            image.save(path)
            common.check_file(path)
            print(name, image.size)


if __name__ == "__main__":
    main()
