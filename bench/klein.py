#!/usr/bin/env python3
"""Writes FLUX.2 klein 4B's size with random weights in bf16, as the folder that diffusers loads.

  bench/klein.py FOLDER

16 GB, written piece by piece: no network is ever whole in memory. Images are noise; memory and
times per step are what it is for.
"""

import argparse
import json
import pathlib
import shutil

import diffusers
import safetensors.torch
import torch
import transformers

ROOT = pathlib.Path(__file__).resolve().parents[1]
CONFIGS = ROOT / "tests" / "data" / "configs"
TINY = ROOT / "build" / "goldens" / "pipelines" / "flux2_klein" / "model"
SHARD_BYTES = 2 << 30
SEED = 4


def config(model, component):
    return json.loads((CONFIGS / model / component / "config.json").read_text())


def values(name, shape, draw):
    """Norms are one; the rest keeps the variance of what goes through."""
    if len(shape) == 1:
        return torch.full(shape, 1.0 if "norm" in name or "var" in name else 0.0)
    numbers = torch.empty(shape, dtype=torch.bfloat16)
    fan_in = numbers[0].numel()
    for row in range(0, shape[0], 4096):
        part = numbers[row : row + 4096]
        part.copy_(torch.randn(part.shape, generator=draw) / fan_in**0.5)
    return numbers


def plain(name, shape, draw):
    integer = name.endswith("num_batches_tracked")
    return {name: torch.zeros((), dtype=torch.long) if integer else values(name, shape, draw).bfloat16()}


def write(network, settings, folder, stem, made=plain):
    """The network's shapes filled with what `made` makes of each, in shards and their index."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(settings, indent=1))
    draw, files, held, size = torch.Generator().manual_seed(SEED), [], {}, 0
    places = {}

    def flush():
        nonlocal held, size
        name = f"part{len(files)}.safetensors"
        safetensors.torch.save_file(held, folder / name, {"format": "pt"})
        places.update({key: len(files) for key in held})
        files.append(name)
        held, size = {}, 0

    shapes = {name: tuple(value.shape) for name, value in network.state_dict().items()}
    for name, shape in shapes.items():
        tensors = made(name, shape, draw)
        held |= tensors
        size += sum(tensor.nbytes for tensor in tensors.values())
        if size > SHARD_BYTES:
            flush()
    flush()
    if len(files) == 1:
        (folder / files[0]).rename(folder / f"{stem}.safetensors")
        return
    final = [f"{stem}-{i + 1:05d}-of-{len(files):05d}.safetensors" for i in range(len(files))]
    for old, new in zip(files, final):
        (folder / old).rename(folder / new)
    index = {"metadata": {}, "weight_map": {name: final[i] for name, i in places.items()}}
    (folder / f"{stem}.safetensors.index.json").write_text(json.dumps(index))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for same in ("scheduler", "tokenizer"):
        shutil.copytree(TINY / same, folder / same)
    shutil.copy(TINY / "model_index.json", folder)
    encoder = config("flux2-klein-4b", "text_encoder")
    transformer = config("flux2-klein-4b", "transformer")
    vae = config("flux2-dev", "vae")
    with torch.device("meta"):
        networks = {
            "text_encoder": (transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**encoder)), encoder),
            "transformer": (diffusers.Flux2Transformer2DModel.from_config(transformer), transformer),
            "vae": (diffusers.AutoencoderKLFlux2.from_config(vae), vae),
        }
    for name, (network, settings) in networks.items():
        stem = "model" if name == "text_encoder" else "diffusion_pytorch_model"
        write(network, settings, folder / name, stem)


if __name__ == "__main__":
    main()
