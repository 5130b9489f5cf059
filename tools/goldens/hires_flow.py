#!/usr/bin/env python3
"""Second passes of flow matching: text2image, its result at a larger size, diffusers' image2image from there.

  tools/goldens/hires_flow.py [--check] [--only z_image_latent,...]

As hires.py, into the same folder; timesteps of both passes go into golden.safetensors. Where diffusers has no
image2image, the second pass is text2image from the first one's result under noise, along the rest of the schedule.
"""

import argparse
import importlib

import common
import diffusers
import numpy
import torch
from flux import unpacked
from hires import FOLDER, IMAGE_MODES, LATENT_MODES, PIPELINES, TEXTS, generators
from hires_built import kind_of_result, rest_of_schedule, second_size
from PIL import Image

IMAGE2IMAGE = {
    "flux_schnell": "FluxImg2ImgPipeline",
    "flux_dev": "FluxImg2ImgPipeline",
    "chroma": "ChromaImg2ImgPipeline",
    "z_image": "ZImageImg2ImgPipeline",
    "sd3": "StableDiffusion3Img2ImgPipeline",
    "sd35": "StableDiffusion3Img2ImgPipeline",
    "qwen_image": "QwenImageImg2ImgPipeline",
}
# Whose second pass begins where Stable Diffusion's image2image does.
WHOLE_STEPS = {"aura_flow"}
TWO = {"num_images_per_prompt": 2}
GUIDED = {"guidance_scale": 4.0}

# name: model, config; sides are 64 x 48 unless they are given
RUNS = {
    "flux_latent": ("flux_dev", dict(hires_scale=1.5, guidance_scale=2.5, max_sequence_length=24)),
    "flux_lanczos": (
        "flux_schnell",
        dict(hires_scale=1.5, hires_upscaler="lanczos", hires_steps=6, max_sequence_length=24, **TWO),
    ),
    "chroma_latent": ("chroma", dict(hires_scale=1.5, hires_upscaler="latent-bicubic", max_sequence_length=24, **GUIDED)),
    "z_image_latent": ("z_image", dict(hires_scale=1.5, max_sequence_length=64, hires_strength=0.6, **GUIDED)),
    "z_image_shifted": (
        "z_image",
        dict(
            hires_width=80,
            hires_height=96,
            hires_upscaler="lanczos",
            hires_steps=6,
            max_sequence_length=64,
            scheduler_config={"use_dynamic_shifting": True, "base_shift": 0.4, "shift_terminal": 0.02},
            **TWO,
            **GUIDED,
        ),
    ),
    "sd3_latent": ("sd3", dict(hires_scale=1.5, hires_upscaler="latent-antialiased", max_sequence_length=24, **GUIDED)),
    "sd3_shifted": (
        "sd3",
        dict(
            hires_scale=1.5,
            hires_upscaler="lanczos",
            hires_steps=7,
            hires_strength=0.5,
            max_sequence_length=24,
            scheduler_config={"use_dynamic_shifting": True, "base_shift": 0.4, "max_shift": 1.3},
            **GUIDED,
        ),
    ),
    "qwen_image_latent": ("qwen_image", dict(hires_scale=1.5, hires_upscaler="latent-nearest-exact", **GUIDED)),
    "qwen_image_lanczos": (
        "qwen_image",
        dict(hires_scale=1.5, hires_upscaler="lanczos", hires_steps=6, **TWO, **GUIDED),
    ),
    "lumina2_latent": ("lumina2", dict(hires_scale=1.5, hires_steps=6, max_sequence_length=64, **GUIDED)),
    "aura_flow_latent": ("aura_flow", dict(hires_scale=1.5, max_sequence_length=40, **GUIDED)),
}


def takes_negative(model):
    return not model.startswith("flux")


def request_of(index, model, config):
    settings = dict(num_inference_steps=4, width=64, height=48, seed=120 + index, **config)
    texts = dict(TEXTS) if takes_negative(model) else {"prompt": TEXTS["prompt"]}
    return {"task": "text2image", "model": f"../../pipelines/{model}/model", "inputs": texts, "config": settings}


def call_of(model, config):
    """What both passes are called with."""
    call = dict(TEXTS) if takes_negative(model) else {"prompt": TEXTS["prompt"]}
    names = ("guidance_scale", "num_images_per_prompt", "max_sequence_length")
    call.update({name: config[name] for name in names if name in config})
    if model == "qwen_image":
        call["true_cfg_scale"] = call.pop("guidance_scale")
        # Of several images of a prompt each is given it; the reference pads them otherwise.
        count = call.pop("num_images_per_prompt", 1)
        call.update({name: [text] * count for name, text in TEXTS.items()})
    return call


def latents_of(made, size, grid):
    """Of packed tokens {n, L, 4 C}: {n, C, H, W}."""
    return unpacked(made, size[1] // grid, size[0] // grid)


def start_of(pipe, made, config, size):
    wanted = config.get("hires_upscaler", "latent")
    if wanted in IMAGE_MODES:
        return [image.resize(size, IMAGE_MODES[wanted]) for image in made]
    if made.dim() == 3:
        made = latents_of(made, (config["width"], config["height"]), pipe.vae_scale_factor)
    grid = config["height"] // made.shape[2]
    return torch.nn.functional.interpolate(made, size=(size[1] // grid, size[0] // grid), **LATENT_MODES[wanted])


def image_to_image(pipe, model, start):
    given = {name: part for name, part in pipe.components.items() if part is not None or name.startswith("image_enc")}
    second = getattr(diffusers, IMAGE2IMAGE[model])(**given)
    second.set_progress_bar_config(disable=True)
    if torch.is_tensor(start):
        second.image_processor.preprocess = lambda image, **_: image  # they are latents
    return second


def generate(model, config):
    """The images, and the timesteps of both passes."""
    pipe = common.load_any(PIPELINES / model / "model")
    common._set_scheduler(pipe, config)
    times = []

    def on_step(_, index, timestep, values):
        times.append(float(timestep))
        return {}

    call = call_of(model, config)
    steps, size = config["num_inference_steps"], second_size(config, pipe.vae_scale_factor * 2)
    made = pipe(
        **call,
        num_inference_steps=steps,
        width=config["width"],
        height=config["height"],
        generator=generators(config),
        output_type=kind_of_result(config),
        callback_on_step_end=on_step,
    ).images
    start = start_of(pipe, made, config, size)
    again = dict(
        **call,
        num_inference_steps=config.get("hires_steps", steps),
        width=size[0],
        height=size[1],
        output_type="pil",
        callback_on_step_end=on_step,
    )
    strength = config.get("hires_strength", 0.7)
    if model in IMAGE2IMAGE:
        second = image_to_image(pipe, model, start)
        images = second(**again, image=start, strength=strength, generator=generators(config)).images
    else:
        images = along_the_rest(pipe, model, again, start, strength, config)
    return images, times


def along_the_rest(pipe, model, call, start, strength, config):
    """Text2image from `start` under noise."""
    module = importlib.import_module(type(pipe).__module__)
    steps = call["num_inference_steps"]
    walked = int(steps * strength) if model in WHOLE_STEPS else steps * strength
    begin = int(max(steps - min(walked, steps), 0))
    drawn = generators(config)
    plain = rest_of_schedule(module, begin)
    cut = module.retrieve_timesteps

    noise = torch.cat([torch.randn(1, *start.shape[1:], generator=each) for each in drawn])

    def noised(scheduler, *given, **named):
        made = cut(scheduler, *given, **named)
        sigma = scheduler.sigmas[begin]
        latents.copy_(sigma * noise + (1 - sigma) * start)
        return made

    latents = torch.empty_like(start)
    pipe.prepare_latents = lambda *given, **named: latents
    module.retrieve_timesteps = noised
    try:
        return pipe(**call, generator=drawn).images
    finally:
        module.retrieve_timesteps = plain


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="runs, with commas")
    options = parser.parse_args()
    for index, (name, (model, config)) in enumerate(RUNS.items()):
        if options.only and name not in options.only:
            continue
        request = request_of(index, model, config)
        images, times = generate(model, request["config"])
        walk = {"timesteps": torch.tensor(times, dtype=torch.float64)}
        if options.check:
            common.report_difference(name, FOLDER / name / "golden.safetensors", walk)
        else:
            common.write_json(FOLDER / name / "request.json", request)
            common.write_tensors(FOLDER / name / "golden.safetensors", walk)
        for number, image in enumerate(images):
            path = FOLDER / name / ("image.png" if len(images) == 1 else f"image_{number}.png")
            if options.check:
                stored = numpy.array(Image.open(path)).astype(int)
                print(f"{path.parent.name}/{path.name}: {(stored != numpy.array(image)).sum()} values differ")
                continue
            image.save(path)
            common.check_file(path)
            print(name, image.size, len(times))


if __name__ == "__main__":
    main()
