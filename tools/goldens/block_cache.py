#!/usr/bin/env python3
"""What diffusers makes with steps that share what a transformer's blocks add, or predict what its attentions
make (its hooks first_block_cache, mag_cache and taylorseer_cache). The classes of Krea 2, SD3 and Z-Image have no
enable_cache, but the hooks know their blocks.

  tools/goldens/block_cache.py [--check] [--only RUN,...]

Runs on the folders of tests/goldens/pipelines; tests/goldens/block_cache/RUN/{request.json,golden.safetensors}
is a run: its image, {1, H, W, 3} in 0..1, and how many of its calls computed all blocks, for each condition.
"""

import argparse

import common
import torch
from diffusers import FirstBlockCacheConfig, MagCacheConfig, TaylorSeerCacheConfig
from diffusers.hooks import (
    apply_first_block_cache,
    apply_mag_cache,
    apply_taylorseer_cache,
    first_block_cache,
)
from diffusers.hooks._helpers import TransformerBlockMetadata, TransformerBlockRegistry
from diffusers.hooks.first_block_cache import FBCBlockHook
from diffusers.hooks.hooks import CacheContext, _set_cache_context
from diffusers.models.transformers.transformer_krea2 import Krea2TransformerBlock
from diffusers.models.transformers.transformer_z_image import ZImageTransformerBlock

FOLDER = common.GOLDENS / "block_cache"
PIPELINES = common.GOLDENS / "pipelines"
RATIOS = [1.0, 1.21, 1.12, 1.08, 1.06, 1.04, 1.03, 1.04, 1.02, 0.99, 0.97, 0.9]

FLUX = dict(max_sequence_length=24)
KREA2 = dict(guidance_scale=0.0)
SD3 = dict(max_sequence_length=24, guidance_scale=1.0)
Z_IMAGE = dict(max_sequence_length=64, guidance_scale=0.0)
# name: model, config of the request
RUNS = {
    "first_block": ("flux_dev", dict(cache="first_block", cache_threshold=0.9, **FLUX)),
    "first_block_low": ("flux_dev", dict(cache="first_block", cache_threshold=0.76, **FLUX)),
    "first_block_default": ("flux_dev", dict(cache="first_block", **FLUX)),
    "first_block_qwen": (
        "qwen_image",
        dict(cache="first_block", cache_threshold=0.96, guidance_scale=3.0),
    ),
    "mag": ("flux_dev", dict(cache="mag", cache_ratios=RATIOS, cache_threshold=0.3, **FLUX)),
    "mag_stretched": (
        "flux_dev",
        dict(cache="mag", cache_ratios=RATIOS[:7], cache_threshold=0.4, cache_max_skips=2,
             cache_retention=0.3, **FLUX),
    ),
    "mag_qwen": (
        "qwen_image",
        dict(cache="mag", cache_ratios=RATIOS, cache_threshold=0.5, cache_retention=0.0,
             guidance_scale=3.0),
    ),
    "first_block_flux2": (
        "flux2_klein",
        dict(cache="first_block", cache_threshold=0.8, max_sequence_length=24),
    ),
    "first_block_flux2_base": (
        "flux2_klein_base",
        dict(cache="first_block", cache_threshold=0.95, max_sequence_length=48, guidance_scale=3.0),
    ),
    "mag_flux2": (
        "flux2_klein",
        dict(cache="mag", cache_ratios=RATIOS, cache_threshold=0.3, max_sequence_length=24),
    ),
    "taylorseer": ("flux_dev", dict(cache="taylorseer", **FLUX)),
    "taylorseer_order_2": (
        "flux_dev",
        dict(cache="taylorseer", cache_interval=3, max_order=2, disable_cache_before_step=2,
             disable_cache_after_step=9, taylor_factors_dtype="fp32", **FLUX),
    ),
    "taylorseer_lite": (
        "flux_dev",
        dict(cache="taylorseer", cache_interval=4, use_lite_mode=True,
             taylor_factors_dtype="fp32", **FLUX),
    ),
    "taylorseer_flux2": ("flux2_klein", dict(cache="taylorseer", max_sequence_length=24)),
    "taylorseer_flux2_order_0": (
        "flux2_klein",
        dict(cache="taylorseer", cache_interval=2, max_order=0, taylor_factors_dtype="fp16",
             max_sequence_length=24),
    ),
    "taylorseer_lite_base": (
        "flux2_klein_base",
        dict(cache="taylorseer", cache_interval=2, use_lite_mode=True, max_sequence_length=48,
             guidance_scale=3.0),
    ),
    "taylorseer_qwen": (
        "qwen_image",
        dict(cache="taylorseer", cache_interval=3, taylor_factors_dtype="fp32", guidance_scale=3.0),
    ),
    "first_block_sd3": ("sd35", dict(cache="first_block", cache_threshold=0.73, **SD3)),
    "first_block_z_image": ("z_image", dict(cache="first_block", cache_threshold=1.02, **Z_IMAGE)),
    "mag_sd3": ("sd35", dict(cache="mag", cache_ratios=RATIOS, cache_threshold=0.3, **SD3)),
    "mag_z_image": ("z_image", dict(cache="mag", cache_ratios=RATIOS, cache_threshold=0.3, **Z_IMAGE)),
    "taylorseer_sd3": ("sd35", dict(cache="taylorseer", cache_interval=3, taylor_factors_dtype="fp32", **SD3)),
    "taylorseer_z_image": (
        "z_image",
        dict(cache="taylorseer", cache_interval=3, taylor_factors_dtype="fp32", **Z_IMAGE),
    ),
    "taylorseer_lite_sd3": (
        "sd35",
        dict(cache="taylorseer", cache_interval=4, use_lite_mode=True, taylor_factors_dtype="fp32", **SD3),
    ),
    "taylorseer_lite_z_image": (
        "z_image",
        dict(cache="taylorseer", cache_interval=4, use_lite_mode=True, taylor_factors_dtype="fp32", **Z_IMAGE),
    ),
    "mag_krea2": ("krea2_turbo", dict(cache="mag", cache_ratios=RATIOS, cache_threshold=0.3, **KREA2)),
    "taylorseer_krea2": (
        "krea2_turbo",
        dict(cache="taylorseer", cache_interval=3, taylor_factors_dtype="fp32", **KREA2),
    ),
    "taylorseer_lite_krea2": (
        "krea2_turbo",
        dict(cache="taylorseer", cache_interval=4, use_lite_mode=True, taylor_factors_dtype="fp32", **KREA2),
    ),
}
# What attentions, what makes the output, and blocks are called, where the hooks look for other names.
NAMES = {
    "ZImageTransformer2DModel": (
        r"^(layers|noise_refiner)\..*attention$",
        r"^all_final_layer\.[^.]+$",
        r"^(layers|noise_refiner)\.[^.]+$",
    ),
    "Krea2Transformer2DModel": (r"^transformer_blocks.*attn$", r"^final_layer$", r"^transformer_blocks\.[^.]+$"),
}
APPLY = {
    "first_block": apply_first_block_cache,
    "mag": apply_mag_cache,
    "taylorseer": apply_taylorseer_cache,
}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
TAYLORSEER = ("cache_interval", "disable_cache_before_step", "disable_cache_after_step", "max_order",
              "use_lite_mode")


class ImageOfBoth(FBCBlockHook):
    """The hook of diffusers 0.42.1 ends with a TypeError after FLUX.2's last block, which returns text and image
    as one tensor, and after SD3's, which returns no text. What counts are the image's tokens, at the end, as in
    mag_cache.py; the text's are dropped behind the blocks."""

    compute = FBCBlockHook.new_forward

    def new_forward(self, module, *arguments, **named):
        shared = self.state_manager.get_state()
        if not self.is_tail or not shared.should_compute:
            return self.compute(module, *arguments, **named)
        output = self.fn_ref.original_forward(*arguments, **named)
        head = shared.head_block_output[0]
        images = output[1] if isinstance(output, tuple) else output
        shared.tail_block_residuals = (images[:, -head.shape[1] :] - head, 0.0)
        return output


class FirstArgument(TransformerBlockMetadata):
    """The hooks look for hidden_states; the blocks of Z-Image call it x."""

    def _get_parameter_from_args_kwargs(self, identifier, args=(), kwargs=None):
        name = "x" if identifier == "hidden_states" else identifier
        return super()._get_parameter_from_args_kwargs(name, args, kwargs)


TransformerBlockRegistry.register(
    ZImageTransformerBlock, FirstArgument(return_hidden_states_index=0, return_encoder_hidden_states_index=None)
)
TransformerBlockRegistry.register(
    Krea2TransformerBlock,
    TransformerBlockMetadata(return_hidden_states_index=0, return_encoder_hidden_states_index=None),
)


def request_of(index, model, config):
    inputs = {"prompt": "a small red apple"}
    if model == "qwen_image":
        inputs["negative_prompt"] = "people at night"
    settings = dict(num_inference_steps=12, seed=30 + index, width=64, height=48, **config)
    return {
        "task": "text2image",
        "model": f"../../pipelines/{model}/model",
        "inputs": inputs,
        "config": settings,
    }


def taylorseer_config(transformer, config):
    settings = {name: config[name] for name in TAYLORSEER if name in config}
    if "taylor_factors_dtype" in config:
        settings["taylor_factors_dtype"] = DTYPES[config["taylor_factors_dtype"]]
    if names := NAMES.get(type(transformer).__name__):
        lite = settings.pop("use_lite_mode", False)
        settings["cache_identifiers"] = [names[1] if lite else names[0]]
        settings["skip_predict_identifiers"] = [names[2]] if lite else []
    return TaylorSeerCacheConfig(**settings)


def cache_config(transformer, config):
    if config["cache"] == "taylorseer":
        return taylorseer_config(transformer, config)
    threshold = {"threshold": config["cache_threshold"]} if "cache_threshold" in config else {}
    if config["cache"] == "first_block":
        return FirstBlockCacheConfig(**threshold)
    return MagCacheConfig(
        num_inference_steps=config["num_inference_steps"],
        mag_ratios=config["cache_ratios"],
        max_skip_steps=config.get("cache_max_skips", 3),
        retention_ratio=config.get("cache_retention", 0.2),
        **threshold,
    )


def enable(transformer, config):
    own_tail = type(transformer).__name__ in ("Flux2Transformer2DModel", "SD3Transformer2DModel")
    first_block_cache.FBCBlockHook = ImageOfBoth if own_tail else FBCBlockHook
    settings = cache_config(transformer, config)
    if hasattr(transformer, "enable_cache"):
        return transformer.enable_cache(settings)
    APPLY[config["cache"]](transformer, settings)
    _set_cache_context(transformer, CacheContext("cond"))


def count_calls(block, calls):
    forward = block.forward

    def counted(*arguments, **named):
        calls.append(1)
        return forward(*arguments, **named)

    block.forward = counted


def give_text_too(block):
    """The last block of SD3 makes none, which the hook of taylorseer's lite mode takes for a tensor."""
    forward = block.forward

    def both(*arguments, **named):
        image = forward(*arguments, **named)[1]
        return image[:, :0], image

    block.forward = both


def generate(model, request):
    without_t5 = {"text_encoder_3": None, "tokenizer_3": None} if model == "sd35" else {}
    pipe = common.load_any(PIPELINES / model / "model", **without_t5)
    config, calls = request["config"], []
    # The second block, or its attention, runs where it is computed; the hooks call it under theirs.
    z_image = model == "z_image"
    block = (pipe.transformer.layers if z_image else pipe.transformer.transformer_blocks)[1]
    attention = config["cache"] == "taylorseer" and not config.get("use_lite_mode")
    count_calls((block.attention if z_image else block.attn) if attention else block, calls)
    if model == "sd35" and config.get("use_lite_mode"):
        give_text_too(pipe.transformer.transformer_blocks[-1])
    enable(pipe.transformer, config)
    names = ("num_inference_steps", "max_sequence_length", "width", "height")
    if model in ("flux2_klein_base", "krea2_turbo", "sd35", "z_image"):
        names += ("guidance_scale",)
    call = {name: config[name] for name in names if name in config}
    if model == "qwen_image":
        call["true_cfg_scale"] = config["guidance_scale"]
    generator = torch.Generator().manual_seed(config["seed"])
    image = pipe(**request["inputs"], **call, generator=generator, output_type="pt").images
    return {"image": image.permute(0, 2, 3, 1).float(), "computed": torch.tensor([len(calls)])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    parser.add_argument("--only", default="", help="runs, with commas between")
    arguments = parser.parse_args()
    check, only = arguments.check, arguments.only.split(",") if arguments.only else RUNS
    for index, (name, (model, config)) in enumerate(RUNS.items()):
        if name not in only:
            continue
        request = request_of(index, model, config)
        tensors = generate(model, request)
        if check:
            common.report_difference(name, FOLDER / name / "golden.safetensors", tensors)
            continue
        common.write_json(FOLDER / name / "request.json", request)
        common.write_tensors(FOLDER / name / "golden.safetensors", tensors)
        print(name, int(tensors["computed"]))


if __name__ == "__main__":
    main()
