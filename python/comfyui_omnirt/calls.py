"""Widgets' values as a call of an omnirt pipeline, and its result as ComfyUI's tensors."""

import json

import torch

# 0 in these widgets: as the model has it.
MODELS_OWN = ("width", "height", "num_inference_steps")


def options_of(text):
    """The keywords that an options widget holds: a JSON object, or nothing."""
    if not text.strip():
        return {}
    try:
        options = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f'options: not JSON ({error}); write {{"scheduler": "euler"}}') from None
    if not isinstance(options, dict):
        raise ValueError(f"options: a JSON object is expected, not {text.strip()[:40]!r}")
    return options


def keywords_of(prompt, negative_prompt, guidance_scale, seed, options, images, mask, **sizes):
    """Keywords of omnirt.Pipeline's call. `options` go before the other widgets."""
    made = {"prompt": prompt, "seed": seed}
    if negative_prompt:
        made["negative_prompt"] = negative_prompt
    if guidance_scale >= 0:
        made["guidance_scale"] = guidance_scale
    made.update({name: sizes[name] for name in MODELS_OWN if sizes[name] > 0})
    if images is not None:
        made["image"] = one_image(images)
        if sizes["strength"] >= 0:
            made["strength"] = sizes["strength"]
    if mask is not None:
        made["mask"] = one_mask(mask)
    made.update(options_of(options))
    return made


def one_image(images):
    """ComfyUI's IMAGE {1, H, W, 3} in 0..1 as torch's {3, H, W}."""
    if images.shape[0] != 1:
        raise ValueError(f"image: one image is taken, and these are {images.shape[0]}")
    return images[0].movedim(-1, 0).contiguous()


def one_mask(mask):
    """ComfyUI's MASK {1, H, W} or {H, W} as {1, H, W}."""
    mask = mask if mask.dim() == 3 else mask[None]
    if mask.shape[0] != 1:
        raise ValueError(f"mask: one mask is taken, and these are {mask.shape[0]}")
    return mask.contiguous()


def images_of(result):
    """ComfyUI's IMAGE of a result with output_type "pt": {B, H, W, 3}, fp32 in 0..1."""
    images = result.images
    if images.shape[1] == 1:
        images = images.expand(-1, 3, -1, -1)
    return images[:, :3].movedim(1, -1).to(torch.float32).contiguous()
