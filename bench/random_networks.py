"""Stable Diffusion 1.5's networks at full size with random weights, as a diffusers pipeline.

Speed and memory do not depend on what a network has learnt; images must still be worth comparing,
so the last layers are scaled to make noise of unit size and an image that uses its range. Weights
are rounded to fp16: stored in either type they are the same numbers, and one reference serves both.
"""

import json
import os
import pathlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import diffusers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "tests" / "data" / "configs" / "sd-v1-5"
TOKENIZER = ROOT / "tests" / "data" / "tokenizers" / "clip-l"
SEED = 15
PICTURE_STD = 0.4  # of values in [-1, 1]: most of the range, little of it clipped

# The scheduler that every peer has; the rest is Stable Diffusion 1.5's own.
SCHEDULER = {
    "num_train_timesteps": 1000,
    "beta_start": 0.00085,
    "beta_end": 0.012,
    "beta_schedule": "scaled_linear",
    "prediction_type": "epsilon",
    "timestep_spacing": "leading",
    "steps_offset": 1,
}

torch.set_grad_enabled(False)


def config(component):
    return json.loads((CONFIGS / component / "config.json").read_text())


def made(component):
    """The network of a component with the library's own initial values."""
    torch.manual_seed(SEED)
    settings = config(component)
    if component == "text_encoder":
        return transformers.CLIPTextModel(transformers.CLIPTextConfig(**settings)).eval()
    return getattr(diffusers, settings["_class_name"]).from_config(settings).eval()


def scale_output(layer, values, std):
    layer.weight.mul_(std / values.std())
    layer.bias.zero_()


def scaled_unet():
    unet, draw = made("unet"), torch.Generator().manual_seed(SEED)
    sample = torch.randn(1, 4, 16, 16, generator=draw)
    text = torch.randn(1, 77, 768, generator=draw)
    scale_output(unet.conv_out, unet(sample, 500, text).sample, 1.0)
    return unet


def scaled_vae():
    vae, draw = made("vae"), torch.Generator().manual_seed(SEED)
    latents = torch.randn(1, 4, 16, 16, generator=draw)
    scale_output(vae.decoder.conv_out, vae.decode(latents).sample, PICTURE_STD)
    return vae


def rounded(network):
    for value in network.parameters():
        value.copy_(value.half().float())
    return network


def pipeline():
    """The parts in fp32, with the tokenizer that the tests have of CLIP-L."""
    return diffusers.StableDiffusionPipeline(
        vae=rounded(scaled_vae()),
        text_encoder=rounded(made("text_encoder")),
        tokenizer=transformers.CLIPTokenizer.from_pretrained(TOKENIZER),
        unet=rounded(scaled_unet()),
        scheduler=diffusers.EulerDiscreteScheduler(**SCHEDULER),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def halved(pipe):
    """The same pipeline, its weights in fp16."""
    return pipe.to(torch.float16)
