#!/usr/bin/env python3
"""Second passes of flow matching: text2image, its result at a larger size, diffusers' image2image from there.

  tools/goldens/hires_flow.py [--check] [--only z_image_latent,...]

As hires.py, into the same folder; timesteps of both passes go into golden.safetensors. Where diffusers has no
image2image, the second pass is text2image from the first one's result under noise, along the rest of the schedule: of
FLUX.3's modular pipeline, its levels from there on.
"""

import argparse
import importlib

import common
import diffusers
import flux3
import numpy
import qwen_image_21
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
    "sana_sprint": "SanaSprintImg2ImgPipeline",
}
# Distilled models, which read no negative prompt.
DISTILLED = ("flux", "krea2_turbo", "qwen_image_21_turbo", "sana_sprint")
LOAD = {"qwen_image_21": qwen_image_21.load, "qwen_image_21_turbo": qwen_image_21.load}
# Whose second pass begins where Stable Diffusion's image2image does.
WHOLE_STEPS = {"aura_flow"}
TWO = {"num_images_per_prompt": 2}
GUIDED = {"guidance_scale": 4.0}

# name: model, config; sides are 64 x 48 if omitted
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
    "krea2_latent": ("krea2", dict(hires_scale=1.5, hires_steps=6, max_sequence_length=40, **TWO, **GUIDED)),
    "krea2_turbo_latent": ("krea2_turbo", dict(hires_scale=1.5, hires_strength=0.6, max_sequence_length=40)),
    "qwen_image_21_latent": ("qwen_image_21", dict(height=64, hires_scale=1.5, hires_steps=5, **GUIDED)),
    "qwen_image_21_turbo_latent": (
        "qwen_image_21_turbo",
        dict(height=64, hires_scale=1.5, hires_upscaler="latent-bicubic"),
    ),
    "flux3_latent": ("flux3_klein_base", dict(hires_scale=1.5, hires_steps=6, guidance_scale=2.5)),
    "flux3_flow_map_lanczos": ("flux3_klein", dict(hires_scale=1.5, hires_upscaler="lanczos", **TWO)),
    "sana_latent": (
        "sana",
        dict(
            width=64,
            height=64,
            hires_width=96,
            hires_height=64,
            hires_steps=6,
            use_resolution_binning=False,
            **GUIDED,
        ),
    ),
    "sana_sprint_latent": (
        "sana_sprint",
        dict(
            width=64,
            height=64,
            hires_width=96,
            hires_height=96,
            hires_strength=0.6,
            use_resolution_binning=False,
            **GUIDED,
        ),
    ),
    "sana_lanczos": (
        "sana",
        dict(
            width=64,
            height=64,
            hires_width=64,
            hires_height=96,
            hires_upscaler="lanczos",
            use_resolution_binning=False,
            **TWO,
            **GUIDED,
        ),
    ),
}


def takes_negative(model):
    return not model.startswith(DISTILLED)


def request_of(index, model, config):
    settings = dict(num_inference_steps=4, width=64, height=48, seed=120 + index) | config
    texts = dict(TEXTS) if takes_negative(model) else {"prompt": TEXTS["prompt"]}
    return {"task": "text2image", "model": f"../../pipelines/{model}/model", "inputs": texts, "config": settings}


def call_of(model, config):
    """What both passes are called with."""
    call = dict(TEXTS) if takes_negative(model) else {"prompt": TEXTS["prompt"]}
    names = ("guidance_scale", "num_images_per_prompt", "max_sequence_length", "use_resolution_binning")
    call.update({name: config[name] for name in names if name in config})
    if model == "sana_sprint":
        call["intermediate_timesteps"] = None
    if model == "qwen_image_21":
        call["true_cfg_scale"] = call.pop("guidance_scale")
    if model == "qwen_image":
        call["true_cfg_scale"] = call.pop("guidance_scale")
        # Of several images of a prompt each is given it; the reference pads them otherwise.
        count = call.pop("num_images_per_prompt", 1)
        call.update({name: [text] * count for name, text in TEXTS.items()})
    return call


def of_one_latent(pipe):
    """A token is one latent, not a square of four."""
    return type(pipe).__name__ == "QwenImage21Pipeline"


def latents_of(pipe, made, size):
    """Of packed tokens {n, L, 4 C} or {n, L, C}: {n, C, H, W}."""
    rows, columns = (side // pipe.vae_scale_factor for side in reversed(size))
    return (qwen_image_21.unpacked if of_one_latent(pipe) else unpacked)(made, rows, columns)


def packed(pipe, latents):
    """The same back."""
    if of_one_latent(pipe):
        return latents.flatten(2).transpose(1, 2)
    return torch.nn.functional.pixel_unshuffle(latents, 2).flatten(2).transpose(1, 2)


def start_of(pipe, made, config, size):
    wanted = config.get("hires_upscaler", "latent")
    if wanted in IMAGE_MODES:
        images = [image.resize(size, IMAGE_MODES[wanted]) for image in made]
        if type(pipe).__name__ != "SanaPipeline":
            return images
        # It has no image2image; its autoencoder draws nothing.
        return pipe.vae.encode(pipe.image_processor.preprocess(images)).latent * pipe.vae.config.scaling_factor
    if made.dim() == 3:
        made = latents_of(pipe, made, (config["width"], config["height"]))
    grid = config["height"] // made.shape[2]
    return torch.nn.functional.interpolate(made, size=(size[1] // grid, size[0] // grid), **LATENT_MODES[wanted])


def image_to_image(pipe, model, start):
    given = {name: part for name, part in pipe.components.items() if part is not None or name.startswith("image_enc")}
    second = getattr(diffusers, IMAGE2IMAGE[model])(**given)
    second.set_progress_bar_config(disable=True)
    if model == "sana_sprint":
        second.prepare_image = lambda image, *_: image * second.scheduler.config.sigma_data
    elif torch.is_tensor(start):
        second.image_processor.preprocess = lambda image, **_: image  # they are latents
    return second


def generate(model, config):
    """The images, and the timesteps of both passes."""
    if model.startswith("flux3"):
        return generate_flux3(model, config)
    pipe = LOAD.get(model, common.load_any)(PIPELINES / model / "model")
    pipe.set_progress_bar_config(disable=True)
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
    if model == "sana_sprint":
        angles = torch.tensor(times)
        times = (torch.sin(angles) / (torch.cos(angles) + torch.sin(angles))).tolist()
    return images, times


def generate_flux3(model, config):
    """As generate. Latents are resampled as the transformer sees them, as those of FLUX.2 (hires.py)."""
    pipe = flux3.load(PIPELINES / model / "model")
    if hasattr(pipe, "guider"):
        pipe.update_components(guider=diffusers.ClassifierFreeGuidance(guidance_scale=config["guidance_scale"]))
    count, steps = config.get("num_images_per_prompt", 1), config["num_inference_steps"]
    call = dict(prompt=TEXTS["prompt"], num_images_per_prompt=count, output_type="pil")
    size, grid = second_size(config, 16), 16
    first = dict(num_inference_steps=steps, width=config["width"], height=config["height"])
    with common.recorded_steps(pipe.scheduler) as (tokens, first_times):
        state = pipe(**call, **first, generator=generators(config))
    drawn = generators(config)
    wanted = config.get("hires_upscaler", "latent")
    if wanted in IMAGE_MODES:
        # Its encoder's mode, as for references: nothing is drawn.
        start = torch.cat([flux3_latents(pipe, image.resize(size, IMAGE_MODES[wanted])) for image in state.get("images")])
    else:
        made = tokens[-1].transpose(1, 2).unflatten(2, (config["height"] // grid, config["width"] // grid))
        start = torch.nn.functional.interpolate(made, size=(size[1] // grid, size[0] // grid), **LATENT_MODES[wanted])
    steps = config.get("hires_steps", steps)
    begin = int(max(steps - min(steps * config.get("hires_strength", 0.7), steps), 0))
    sigmas = numpy.linspace(1.0, 1 / steps, steps)[begin:]
    pipe.scheduler.set_timesteps(sigmas=sigmas)
    sigma = pipe.scheduler.sigmas[0]
    noise = torch.cat([torch.randn(1, *start.shape[1:], generator=each) for each in drawn])
    second = dict(sigmas=sigmas, latents=sigma * noise + (1 - sigma) * start, width=size[0], height=size[1])
    with common.recorded_steps(pipe.scheduler) as (_, times):
        images = pipe(**call, **second, num_inference_steps=steps).get("images")
    return images, first_times + times


def flux3_latents(pipe, image):
    """{1, C, H, W} of an image, normalised as the transformer takes it."""
    pixels = torch.from_numpy(numpy.array(image.convert("RGB"))).permute(2, 0, 1)[None].float() / 127.5 - 1
    mode = torch.nn.functional.pixel_unshuffle(pipe.vae.encode(pixels).latent_dist.mode(), 2)
    norm = pipe.vae.bn
    deviation = torch.sqrt(norm.running_var + pipe.vae.config.batch_norm_eps)
    return (mode - norm.running_mean.view(1, -1, 1, 1)) / deviation.view(1, -1, 1, 1)


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
        noisy = sigma * noise + (1 - sigma) * start
        latents.copy_(packed(pipe, noisy) if packs else noisy)
        return made

    packs = model.startswith(("krea2", "qwen_image_21"))
    latents = torch.empty_like(packed(pipe, start) if packs else start)
    pipe.prepare_latents = lambda *given, **named: (latents, None) if of_one_latent(pipe) else latents
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
