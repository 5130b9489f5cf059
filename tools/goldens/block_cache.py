#!/usr/bin/env python3
"""What diffusers makes with steps that share what a transformer's blocks add, or predict what its attentions
make (its hooks first_block_cache, mag_cache and taylorseer_cache).

  tools/goldens/block_cache.py [--check]

Runs on the folders of tests/goldens/pipelines; tests/goldens/block_cache/RUN/{request.json,golden.safetensors}
is a run: its image, {1, H, W, 3} in 0..1, and how many of its calls computed all blocks, for each condition.
"""

import argparse

import common
import torch
from diffusers import FirstBlockCacheConfig, MagCacheConfig, TaylorSeerCacheConfig
from diffusers.hooks import first_block_cache
from diffusers.hooks.first_block_cache import FBCBlockHook

FOLDER = common.GOLDENS / "block_cache"
PIPELINES = common.GOLDENS / "pipelines"
RATIOS = [1.0, 1.21, 1.12, 1.08, 1.06, 1.04, 1.03, 1.04, 1.02, 0.99, 0.97, 0.9]

FLUX = dict(max_sequence_length=24)
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
}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
TAYLORSEER = ("cache_interval", "disable_cache_before_step", "disable_cache_after_step", "max_order",
              "use_lite_mode")


class ImageOfBoth(FBCBlockHook):
    """The hook of diffusers 0.42.1 ends with a TypeError after FLUX.2's last block, which returns text and image
    as one tensor. What counts are the image's tokens, at the end, as in mag_cache.py; the text's are dropped
    behind the blocks."""

    compute = FBCBlockHook.new_forward

    def new_forward(self, module, *arguments, **named):
        shared = self.state_manager.get_state()
        if not self.is_tail or not shared.should_compute:
            return self.compute(module, *arguments, **named)
        output = self.fn_ref.original_forward(*arguments, **named)
        head = shared.head_block_output[0]
        shared.tail_block_residuals = (output[:, -head.shape[1] :] - head, 0.0)
        return output


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


def enable_taylorseer(transformer, config):
    settings = {name: config[name] for name in TAYLORSEER if name in config}
    if "taylor_factors_dtype" in config:
        settings["taylor_factors_dtype"] = DTYPES[config["taylor_factors_dtype"]]
    transformer.enable_cache(TaylorSeerCacheConfig(**settings))


def enable(transformer, config):
    threshold = {"threshold": config["cache_threshold"]} if "cache_threshold" in config else {}
    if config["cache"] == "first_block":
        fused = type(transformer).__name__ == "Flux2Transformer2DModel"
        first_block_cache.FBCBlockHook = ImageOfBoth if fused else FBCBlockHook
        return transformer.enable_cache(FirstBlockCacheConfig(**threshold))
    transformer.enable_cache(
        MagCacheConfig(
            num_inference_steps=config["num_inference_steps"],
            mag_ratios=config["cache_ratios"],
            max_skip_steps=config.get("cache_max_skips", 3),
            retention_ratio=config.get("cache_retention", 0.2),
            **threshold,
        )
    )


def count_calls(block, calls):
    forward = block.forward

    def counted(*arguments, **named):
        calls.append(1)
        return forward(*arguments, **named)

    block.forward = counted


def generate(model, request):
    pipe = common.load_any(PIPELINES / model / "model")
    config, calls = request["config"], []
    # The second block, or its attention, runs where it is computed; the hooks call it under theirs.
    block = pipe.transformer.transformer_blocks[1]
    if config["cache"] == "taylorseer":
        count_calls(block if config.get("use_lite_mode") else block.attn, calls)
        enable_taylorseer(pipe.transformer, config)
    else:
        count_calls(block, calls)
        enable(pipe.transformer, config)
    names = ("num_inference_steps", "max_sequence_length", "width", "height")
    if model == "flux2_klein_base":
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
    check = parser.parse_args().check
    for index, (name, (model, config)) in enumerate(RUNS.items()):
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
