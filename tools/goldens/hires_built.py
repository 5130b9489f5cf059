#!/usr/bin/env python3
"""Second passes that diffusers has no pipeline for, built from its parts.

  tools/goldens/hires_built.py [--check] [--only pixart_latent,...]

As hires.py, into the same folder. With a T2I-Adapter the second pass is image2image whose UNet is given the adapter's
features of its own size; PixArt's is text2image from the first pass's result under noise, along the rest of the schedule.
"""

import argparse

import common
import diffusers
import numpy
import torch
from diffusers.pipelines.pixart_alpha import pipeline_pixart_alpha, pipeline_pixart_sigma
from diffusers.pipelines.t2i_adapter.pipeline_stable_diffusion_adapter import _preprocess_adapter_image
from hires import CONTROL, FOLDER, IMAGE_MODES, LATENT_MODES, PIPELINES, TEXTS, generators
from PIL import Image

SAMPLE = dict(scheduler="EulerAncestralDiscreteScheduler")

# name: model, config, and a T2I-Adapter of tests/goldens/control with its image
RUNS = {
    "sd15_t2i": ("sd15", dict(hires_scale=1.5, adapter_conditioning_scale=0.7), "parts/t2i_full", "depth_48x40.png"),
    "sdxl_t2i": (
        "sdxl",
        dict(hires_scale=1.5, hires_upscaler="lanczos", hires_steps=6, adapter_conditioning_factor=0.5, **SAMPLE),
        "parts_xl/t2i_xl",
        "depth_48x40.png",
    ),
    "pixart_latent": ("pixart_sigma", dict(hires_scale=1.5, hires_upscaler="latent-bicubic")),
    "pixart_lanczos": ("pixart_sigma", dict(hires_width=96, hires_height=80, hires_upscaler="lanczos", hires_steps=7)),
    "pixart_two_images": ("pixart_alpha", dict(hires_scale=1.25, num_images_per_prompt=2, **SAMPLE)),
}


def request_of(index, model, config, adapter="", image=""):
    pixart = model.startswith("pixart")
    settings = dict(num_inference_steps=4, width=64, height=64, seed=90 + index, guidance_scale=5.0, **config)
    if pixart:
        settings.update(use_resolution_binning=False, max_sequence_length=24)
    request = {"task": "text2image", "model": f"../../pipelines/{model}/model", "inputs": dict(TEXTS), "config": settings}
    if adapter:
        request["inputs"]["adapter_image"] = f"../../control/inputs/{image}"
        request["components"] = {"t2i_adapter": f"../../control/{adapter}"}
    return request


def second_size(config, grid=8):
    sides = [int(config[side] * config.get("hires_scale", 1)) // grid * grid for side in ("width", "height")]
    return config.get("hires_width", sides[0]), config.get("hires_height", sides[1])


def start_of(made, config, size):
    """The first pass's latents or images at the second's size."""
    wanted = config.get("hires_upscaler", "latent")
    if wanted in LATENT_MODES:
        return torch.nn.functional.interpolate(made, size=(size[1] // 8, size[0] // 8), **LATENT_MODES[wanted])
    return [image.resize(size, IMAGE_MODES[wanted]) for image in made]


def kind_of_result(config):
    return "latent" if config.get("hires_upscaler", "latent") in LATENT_MODES else "pil"


def with_features(unet, features, calls):
    """The UNet's first `calls` calls are given the features, too."""
    plain, count = unet.forward, [0]

    def forward(sample, *given, **named):
        count[0] += 1
        if count[0] <= calls:
            rows = [each.expand(sample.shape[0], -1, -1, -1).clone() for each in features]
            named["down_intrablock_additional_residuals"] = rows
        return plain(sample, *given, **named)

    unet.forward = forward


def generate_with_adapter(model, config, adapter, image):
    base = common.load_any(PIPELINES / model / "model")
    if "scheduler" in config:
        base.scheduler = getattr(diffusers, config["scheduler"]).from_config(base.scheduler.config)
    network = diffusers.T2IAdapter.from_pretrained(
        (CONTROL / adapter).resolve(), torch_dtype=torch.float32, low_cpu_mem_usage=False
    ).eval()
    xl = model == "sdxl"
    name, extra = ("StableDiffusionXL", {}) if xl else ("StableDiffusion", {"requires_safety_checker": False})
    shared = {key: part for key, part in base.components.items() if key not in ("image_encoder", "feature_extractor")}
    if not xl:
        shared["feature_extractor"] = None
    first = getattr(diffusers, f"{name}AdapterPipeline")(**shared, adapter=network, **extra)
    second = getattr(diffusers, f"{name}Img2ImgPipeline")(**shared, **extra)
    for pipe in (first, second):
        pipe.set_progress_bar_config(disable=True)
    picture = Image.open(CONTROL / "inputs" / image).convert("RGB")
    how = {key: config[key] for key in ("adapter_conditioning_scale", "adapter_conditioning_factor") if key in config}
    call = dict(TEXTS, guidance_scale=config["guidance_scale"])
    made = first(
        **call,
        **how,
        image=picture,
        num_inference_steps=config["num_inference_steps"],
        width=config["width"],
        height=config["height"],
        generator=generators(config),
        output_type=kind_of_result(config),
    ).images
    size = second_size(config)
    steps, strength = config.get("hires_steps", config["num_inference_steps"]), config.get("hires_strength", 0.7)
    scale = config.get("adapter_conditioning_scale", 1.0)
    features = [each * scale for each in network(_preprocess_adapter_image(picture, size[1], size[0]))]
    taken = int(int(steps * strength) * config.get("adapter_conditioning_factor", 1.0))
    with_features(second.unet, features, taken)
    return second(
        **call,
        image=start_of(made, config, size),
        strength=strength,
        num_inference_steps=steps,
        generator=generators(config),
        output_type="pil",
    ).images


def rest_of_schedule(module, begin):
    """The pipeline's timesteps from its step `begin` on."""
    plain = module.retrieve_timesteps

    def retrieve(scheduler, num_inference_steps, device, timesteps=None, sigmas=None, **given):
        times, _ = plain(scheduler, num_inference_steps, device, timesteps, sigmas, **given)
        # PixArt-Alpha's pipeline sets it to 0 itself, later on.
        scheduler.set_begin_index(begin * scheduler.order)
        scheduler.set_begin_index = lambda index: None
        times = times[begin * scheduler.order :]
        return times, len(times)

    module.retrieve_timesteps = retrieve
    return plain


def generate_pixart(model, config):
    pipe = common.load_any(PIPELINES / model / "model")
    if "scheduler" in config:
        pipe.scheduler = getattr(diffusers, config["scheduler"]).from_config(pipe.scheduler.config)
    module = pipeline_pixart_alpha if model == "pixart_alpha" else pipeline_pixart_sigma
    call = dict(
        TEXTS,
        guidance_scale=config["guidance_scale"],
        num_images_per_prompt=config.get("num_images_per_prompt", 1),
        max_sequence_length=config["max_sequence_length"],
        use_resolution_binning=False,
        clean_caption=False,
    )
    made = pipe(
        **call,
        num_inference_steps=config["num_inference_steps"],
        width=config["width"],
        height=config["height"],
        generator=generators(config),
        output_type=kind_of_result(config),
    ).images
    size, drawn = second_size(config), generators(config)
    start = start_of(made, config, size)
    if not torch.is_tensor(start):
        pixels = pipe.image_processor.preprocess(start)
        # Each image's sample of its own generator.
        means = [pipe.vae.encode(row[None]).latent_dist.sample(drawn[i]) for i, row in enumerate(pixels)]
        start = torch.cat(means) * pipe.vae.config.scaling_factor
    steps = config.get("hires_steps", config["num_inference_steps"])
    begin = max(steps - min(int(steps * config.get("hires_strength", 0.7)), steps), 0)
    pipe.scheduler.set_timesteps(steps)
    pipe.scheduler.set_begin_index(begin * pipe.scheduler.order)
    noise = torch.cat([torch.randn(1, *start.shape[1:], generator=each) for each in drawn])
    time = pipe.scheduler.timesteps[begin * pipe.scheduler.order].repeat(len(noise))
    latents = pipe.scheduler.add_noise(start, noise, time)
    plain = rest_of_schedule(module, begin)
    # What the pipeline multiplies noise alone by is in the latents already.
    prepare = pipe.prepare_latents
    pipe.prepare_latents = lambda *given: latents
    try:
        return pipe(
            **call,
            num_inference_steps=steps,
            width=size[0],
            height=size[1],
            generator=drawn,
            output_type="pil",
        ).images
    finally:
        module.retrieve_timesteps = plain
        del pipe.scheduler.set_begin_index
        pipe.prepare_latents = prepare


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="runs, with commas")
    options = parser.parse_args()
    for index, (name, (model, config, *adapter)) in enumerate(RUNS.items()):
        if options.only and name not in options.only:
            continue
        request = request_of(index, model, config, *adapter)
        whole = {**request["config"], **config}
        images = generate_with_adapter(model, whole, *adapter) if adapter else generate_pixart(model, whole)
        for number, image in enumerate(images):
            path = FOLDER / name / ("image.png" if len(images) == 1 else f"image_{number}.png")
            if options.check:
                stored = numpy.array(Image.open(path)).astype(int)
                print(f"{path.parent.name}/{path.name}: {(stored != numpy.array(image)).sum()} values differ")
                continue
            common.write_json(FOLDER / name / "request.json", request)
            image.save(path)
            common.check_file(path)
            print(name, image.size)


if __name__ == "__main__":
    main()
