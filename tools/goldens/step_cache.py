#!/usr/bin/env python3
"""Goldens of the step cache: images of diffusers whose UNet shares deep features between steps.

  tools/goldens/step_cache.py [--only emoji_sd_default,layers2_branch_5] [--check] [--package]

DeepCache (Ma et al. 2023, arXiv 2312.00858), put around the blocks of diffusers' UNet as its
authors' package does it (DeepCache 0.1.1, extension/deepcache.py, uniform schedule). --package takes
that package instead (pip install DeepCache), for the models that it is made for: its branches count
three to a block, so layers_per_block must be 2, and it finds a step by its timestep, so no two may be
equal.
"""

import argparse
import contextlib
import pathlib
import shutil

import common
import networks
import torch

FOLDER = common.GOLDENS / "step_cache"
SD15 = "../../pipelines/sd15/model"
LAYERS2 = {"components": {"unet": "../unet"}}
PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}
LATENTS, PICTURE = ("last",), ("middle", "last", "image")


# --------------------------------------------------------------------------------------- the cache
def places(unet):
    """(module, the skip connection that it makes or takes) for every layer but the first."""
    skip = 0  # conv_in's
    for block in unet.down_blocks:
        attentions = getattr(block, "attentions", None) or [None] * len(block.resnets)
        for layer in zip(block.resnets, attentions):
            skip += 1
            yield from ((module, skip) for module in layer if module is not None)
        for sampler in block.downsamplers or []:
            skip += 1
            yield sampler, skip
    yield unet.mid_block, skip + 1
    for block in unet.up_blocks:
        attentions = getattr(block, "attentions", None) or [None] * len(block.resnets)
        for layer in zip(block.resnets, attentions):
            yield from ((module, skip) for module in layer if module is not None)
            skip -= 1
        for sampler in block.upsamplers or []:
            yield sampler, skip + 1


@contextlib.contextmanager
def step_cache(pipe, interval, branch):
    """Between full steps, all that is below the skip connection `branch` returns what it last returned."""
    unet, patched = pipe.unet, []
    step = {"index": -1}

    def patch(module, forward):
        patched.append(module)
        module.forward = forward

    def shared(forward):
        last = {}

        def run(*arguments, **named):
            if step["index"] % interval == 0:
                last["output"] = forward(*arguments, **named)
            return last["output"]

        return run

    def counted(forward):
        def run(*arguments, **named):
            step["index"] += 1
            return forward(*arguments, **named)

        return run

    for module, skip in places(unet):
        if skip > branch:
            patch(module, shared(module.forward))
    patch(unet, counted(unet.forward))
    try:
        yield
    finally:
        for module in patched:
            del module.forward


@contextlib.contextmanager
def authors_step_cache(pipe, interval, branch):
    from DeepCache import DeepCacheSDHelper

    if pipe.unet.config.layers_per_block != 2:
        raise SystemExit("the package takes UNets with layers_per_block 2 only")
    helper = DeepCacheSDHelper(pipe=pipe)
    helper.set_params(cache_interval=interval, cache_branch_id=branch)
    helper.enable()
    try:
        yield
    finally:
        helper.disable()


# -------------------------------------------------------------------------------------------- runs
def run(model, inputs, seed, interval, branch, steps=12, more=None, task="text2image", **config):
    config = {
        "num_inference_steps": steps,
        "guidance_scale": 5.0,
        "seed": seed,
        "cache": "deep",
        "cache_interval": interval,
        "cache_branch": branch,
        **config,
    }
    return {"task": task, "model": model, "inputs": inputs, "config": config, **(more or {})}


def runs():
    """(name, what it keeps, the request)."""
    picture = {**PROMPT, "image": "../../pipelines/inputs/image.png"}
    ddim, pndm = dict(scheduler="DDIMScheduler"), dict(scheduler="PNDMScheduler")
    yield "emoji_sd_default", PICTURE, run("emoji-sd", PROMPT, 1, 3, 0, steps=20)
    yield "emoji_sd_interval_2", PICTURE, run("emoji-sd", PROMPT, 2, 2, 1, num_images_per_prompt=2)
    yield "emoji_sd_branch_2", LATENTS, run("emoji-sd", PROMPT, 3, 3, 2)
    yield "emoji_sd_interval_5", LATENTS, run("emoji-sd", PROMPT, 4, 5, 4)
    yield "emoji_sd_no_guidance", LATENTS, run("emoji-sd", PROMPT, 5, 4, 0, guidance_scale=1.0)
    yield "emoji_sd_image2image", LATENTS, run(
        "emoji-sd", picture, 6, 3, 1, task="image2image", strength=0.6
    )
    yield "emoji_sd_dpm", LATENTS, run(
        "emoji-sd", PROMPT, 7, 2, 0, scheduler="DPMSolverMultistepScheduler"
    )
    yield "emoji_sd_odd", LATENTS, run("emoji-sd", PROMPT, 8, 2, 3, width=40, height=24)
    yield "sd15_pndm", PICTURE, run(SD15, PROMPT, 9, 3, 0, **pndm)
    yield "sd15_branch_3", LATENTS, run(SD15, PROMPT, 10, 2, 3, num_images_per_prompt=2, **ddim)
    for branch in range(6):
        yield f"layers2_branch_{branch}", LATENTS, run(
            SD15, PROMPT, 11 + branch, 3, branch, more=LAYERS2, **ddim
        )
    yield "layers2_image2image", LATENTS, run(
        SD15, picture, 17, 3, 1, task="image2image", strength=0.6, more=LAYERS2, **ddim
    )


def write_unet(folder):
    """Two layers a level, as the full-size models have."""
    from diffusers import UNet2DConditionModel

    if folder.exists():
        shutil.rmtree(folder)
    config = {
        **networks.UNET,
        **networks.TWO_LEVELS,
        "layers_per_block": 2,
        "cross_attention_dim": networks.CLIP["hidden_size"],
        "sample_size": 8,
    }
    networks.save_checkpoint(UNet2DConditionModel(**config), folder, 64, 1.0, torch.float16)


def load(case, request):
    from diffusers import UNet2DConditionModel

    named = request["model"]
    folder = common.ROOT / "models" / "emoji-sd" if named == "emoji-sd" else case / named
    pipe = common.load_pipeline(folder, request["task"])
    if "components" in request:
        path = (case / request["components"]["unet"]).resolve()
        pipe.register_modules(unet=UNet2DConditionModel.from_pretrained(path).float().eval())
    return pipe


def kept(tensors, keep):
    steps = sorted(
        (name for name in tensors if name.startswith("latents_after_step_")),
        key=lambda name: int(name.rsplit("_", 1)[1]),
    )
    names = {"middle": steps[len(steps) // 2], "last": steps[-1]}
    return {names.get(name, name): tensors[names.get(name, name)] for name in keep}


def make(case, request, cache):
    pipe, config = load(case, request), request["config"]
    with cache(pipe, config["cache_interval"], config["cache_branch"]):
        return common.generate(pipe, request, case)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="runs, with commas")
    parser.add_argument(
        "--check", action="store_true", help="compare with what is there instead of writing"
    )
    parser.add_argument("--package", action="store_true", help="by the authors' package; checks")
    options = parser.parse_args()
    check = options.check or options.package
    if not check and not options.only:
        write_unet(options.folder / "unet")
    for name, keep, request in runs():
        if options.only and name not in options.only:
            continue
        if options.package and "components" not in request:
            continue
        case = options.folder / name
        case.mkdir(parents=True, exist_ok=True)
        tensors = kept(
            make(case, request, authors_step_cache if options.package else step_cache), keep
        )
        if not all(bool(value.isfinite().all()) for value in tensors.values()):
            raise SystemExit(f"{name}: not finite")
        if check:
            common.report_difference(name, case / "golden.safetensors", tensors)
        else:
            common.write_json(case / "request.json", request)
            common.write_tensors(case / "golden.safetensors", tensors)
            print(name)


if __name__ == "__main__":
    main()
