#!/usr/bin/env python3
"""Upscalers of random weights as they are published, and what spandrel makes by them.

  tools/goldens/upscalers.py [--check]

tests/goldens/upscalers/CASE/{model,golden}.safetensors is a network: in.image and out.image. tests/goldens/upscaled/RUN/
{request.json,image.png} is an image made larger, alone or after a text. Of spandrel's dependencies only those are needed
that its ESRGAN and SPAN import.
"""

import argparse
import functools
import importlib.machinery
import math
import sys
import types

import common
import numpy
import torch
from PIL import Image


class Absent(types.ModuleType):
    """In place of torchvision, which other architectures of spandrel import and these do without."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    def __call__(self, *_, **__):
        return None


for name in ("torchvision", "torchvision.ops", "torchvision.transforms", "torchvision.transforms.functional"):
    module = Absent(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__path__ = []
    sys.modules[name] = module

from spandrel.architectures import ESRGAN, SPAN  # noqa: E402
from spandrel.architectures.ESRGAN.__arch import RRDB  # noqa: E402

for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
    del sys.modules[name]  # transformers asks whether it is there

NETWORKS = common.GOLDENS / "upscalers"
RUNS = common.GOLDENS / "upscaled"
INPUT = "../../pipelines/inputs/image_88x72.png"
GROWTH = 4  # spandrel's is always 32, too large for a small file

RRDB.B.RRDB = functools.partial(RRDB.B.RRDB)
_block = RRDB.B.RRDB.func


def small_block(**named):
    return _block(**{**named, "gc": GROWTH})


RRDB.B.RRDB = small_block

# name: class, arguments, names in the file, stored type
CASES = {
    "rrdb_x4": ("ESRGAN", dict(scale=4, num_blocks=2), "basicsr", torch.float32),
    "rrdb_x2plus": ("ESRGAN", dict(scale=4, num_blocks=1, shuffle_factor=2, in_nc=12), "basicsr", torch.float32),
    "rrdb_x1": ("ESRGAN", dict(scale=4, num_blocks=1, shuffle_factor=4, in_nc=48), "basicsr", torch.float32),
    "rrdb_six_blocks_fp16": ("ESRGAN", dict(scale=4, num_blocks=6), "params_ema", torch.float16),
    "rrdb_old_x4": ("ESRGAN", dict(scale=4, num_blocks=2), "esrgan", torch.float32),
    "rrdb_old_x2": ("ESRGAN", dict(scale=2, num_blocks=1), "esrgan", torch.float32),
    "rrdb_old_x8": ("ESRGAN", dict(scale=8, num_blocks=1), "esrgan", torch.float32),
    "rrdb_bsrgan": ("ESRGAN", dict(scale=4, num_blocks=2), "bsrgan", torch.float32),
    "span_x4": ("SPAN", dict(upscale=4), "span", torch.float32),
    "span_x2_no_norm": ("SPAN", dict(upscale=2, norm=False), "params", torch.float32),
}

# name: network, config; of those without a text task the image is INPUT
RUN_CASES = {
    "whole": ("rrdb_x4", dict()),
    "tiles": ("rrdb_x4", dict(upscale_tile=64, upscale_overlap=16)),
    "tiles_of_squares": ("rrdb_x2plus", dict(upscale_tile=64, upscale_overlap=8)),
    "resized": ("rrdb_x4", dict(upscale=2.5)),
    "twice": ("span_x2_no_norm", dict(upscale=3)),
}


# --------------------------------------------------------------------------------------- networks
def random_network(kind, arguments, seed):
    if kind == "ESRGAN":
        made = ESRGAN.ESRGAN(num_filters=8, **arguments)
    else:
        made = SPAN.SPAN(num_in_ch=3, num_out_ch=3, feature_channels=8, **arguments)
    # SPAN's values are 0..255 in the first layer where it normalises.
    common.reseed_parameters(made, seed, 1.0)
    if kind == "SPAN":
        for name, parameter in made.named_parameters():
            if name.startswith("conv_1.") and arguments.get("norm", True) and name.endswith("conv.0.weight"):
                parameter.data /= 100
            if name == "conv_1.sk.weight" and arguments.get("norm", True):
                parameter.data /= 100
    return made.eval()


def new_names(state, layout, blocks, upsamples):
    """From the names of one sequence, which spandrel's class has."""
    bsrgan = layout == "bsrgan"
    places = {"model.0": "conv_first", f"model.1.sub.{blocks}": "trunk_conv" if bsrgan else "conv_body"}
    for i in range(1, upsamples + 1):
        places[f"model.{3 * i}"] = f"upconv{i}" if bsrgan else f"conv_up{i}"
    places[f"model.{3 * upsamples + 2}"] = "HRconv" if bsrgan else "conv_hr"
    places[f"model.{3 * upsamples + 4}"] = "conv_last"
    renamed = {}
    for name, value in state.items():
        module, kind = name.rsplit(".", 1)
        if module in places:
            renamed[f"{places[module]}.{kind}"] = value
            continue
        _, _, _, number, dense, conv, _ = module.split(".")
        if bsrgan:
            renamed[f"RRDB_trunk.{number}.{dense}.{conv}.{kind}"] = value
        else:
            renamed[f"body.{number}.{dense.lower()}.{conv}.{kind}"] = value
    return renamed


def file_names(kind, arguments, layout, state):
    if kind == "ESRGAN" and layout != "esrgan":
        upsamples = int(math.log2(arguments["scale"]))
        state = new_names(state, layout, arguments["num_blocks"], upsamples)
    prefix = f"{layout}." if layout.startswith("params") else ""
    return {prefix + name: value for name, value in state.items()}


def load(name):
    """As spandrel reads the file: names without a prefix."""
    kind = CASES[name][0]
    state = common.load_file(NETWORKS / name / "model.safetensors")
    state = {key.removeprefix("params_ema.").removeprefix("params."): value.float() for key, value in state.items()}
    architecture = ESRGAN.ESRGANArch() if kind == "ESRGAN" else SPAN.SPANArch()
    descriptor = architecture.load(state)
    return descriptor.model.eval(), descriptor.scale


def make_network(index, name):
    kind, arguments, layout, dtype = CASES[name]
    made = random_network(kind, arguments, 700 + index)
    if kind == "SPAN":
        # As training leaves it behind: what the parts say counts.
        state = {key: value.clone() for key, value in made.state_dict().items()}
        for key in state:
            if ".eval_conv." in key:
                state[key] = torch.zeros_like(state[key])
    else:
        state = made.state_dict()
    state = file_names(kind, arguments, layout, state)
    common.write_tensors(NETWORKS / name / "model.safetensors", {key: value.to(dtype) for key, value in state.items()})


def network_golden(index, name):
    model, scale = load(name)
    image = (common.normal(800 + index, 1, 3, 20, 28) * 0.25 + 0.5).clamp(0, 1)
    made = model(image)
    assert made.shape == (1, 3, 20 * scale, 28 * scale), made.shape
    return {"in.image": image, "out.image": made}


# ------------------------------------------------------------------------------------------- runs
def shares(length, tile, overlap, scale):
    """Begins of the tiles and what each pixel of their results counts."""
    if length <= tile:
        return [(0, torch.ones(length * scale, dtype=torch.float64))]
    stride, count = tile - overlap, math.ceil((length - overlap) / (tile - overlap))
    begins = [min(i * stride, length - tile) for i in range(count)]
    ramp = torch.arange(1, tile * scale + 1, dtype=torch.float64) / (overlap * scale + 1)
    total, near = torch.zeros(length * scale, dtype=torch.float64), []
    for i, begin in enumerate(begins):
        share = torch.ones(tile * scale, dtype=torch.float64)
        if i > 0:
            share = torch.minimum(share, ramp)
        if i + 1 < count:
            share = torch.minimum(share, ramp.flip(0))
        near.append(share)
        total[begin * scale : (begin + tile) * scale] += share
    return [(b, n / total[b * scale : (b + tile) * scale]) for b, n in zip(begins, near)]


def upscaled(image, model, scale, tile, overlap):
    pixels = torch.tensor(numpy.array(image.convert("RGB"))).permute(2, 0, 1)[None].float() / 255
    height, width = pixels.shape[2:]
    made = torch.zeros(1, 3, height * scale, width * scale, dtype=torch.float64)
    for top, of_row in shares(height, tile, overlap, scale):
        for left, of_column in shares(width, tile, overlap, scale):
            part = pixels[:, :, top : top + tile, left : left + tile]
            result = model(part).double() * of_row[:, None] * of_column[None, :]
            bottom, right = top * scale + result.shape[2], left * scale + result.shape[3]
            made[:, :, top * scale : bottom, left * scale : right] += result
    values = (made[0].clamp(0, 1) * 255).round().permute(1, 2, 0).numpy().astype(numpy.uint8)
    return Image.fromarray(values)


def run_image(network, config):
    model, scale = load(network)
    image = Image.open(RUNS.parent / INPUT.removeprefix("../../")).convert("RGB")
    factor = config.get("upscale", scale)
    wanted = (round(image.width * factor), round(image.height * factor))
    for _ in range(3):
        image = upscaled(image, model, scale, config.get("upscale_tile", 256), config.get("upscale_overlap", 16))
        if image.width >= wanted[0] and image.height >= wanted[1]:
            break
    return image if image.size == wanted else image.resize(wanted, Image.LANCZOS)


def request_of(network, config):
    return {
        "task": "upscale",
        "model": f"../../upscalers/{network}/model.safetensors",
        "inputs": {"image": INPUT},
        "config": config,
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with what is stored, write nothing")
    check = parser.parse_args().check
    for index, name in enumerate(CASES):
        if not check:
            make_network(index, name)
        golden = network_golden(index, name)
        path = NETWORKS / name / "golden.safetensors"
        if check:
            common.report_difference(name, path, golden)
        else:
            common.write_tensors(path, golden)
            print(name, "out", golden["out.image"].min().item(), golden["out.image"].max().item())
    for name, (network, config) in RUN_CASES.items():
        made = run_image(network, config)
        path = RUNS / name / "image.png"
        if check:
            stored = numpy.array(Image.open(path)).astype(int)
            print(f"{name}: {(stored != numpy.array(made)).sum()} values differ")
            continue
        common.write_json(RUNS / name / "request.json", request_of(network, config))
        made.save(path)
        common.check_file(path)


if __name__ == "__main__":
    main()
