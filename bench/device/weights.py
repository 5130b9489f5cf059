#!/usr/bin/env python3
"""Writes a model of full size with random weights, as the folder that diffusers and omnirt load.

  bench/device/weights.py MODEL FOLDER     MODEL: sdxl, flux2-klein-4b, flux1-dev, sd15

Needs torch alone, and imports it only to write. Numbers are drawn on the GPU where there is one, so that 34 GB take seconds. Weights keep the size of what
goes through them; norms scale by one and biases are zero. Images are noise: times and memory are what the models are for.
"""

import argparse
import concurrent.futures
import dataclasses
import json
import math
import pathlib
import shutil
import struct

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = ROOT / "tests" / "data" / "configs"
TOKENIZERS = ROOT / "tests" / "data" / "tokenizers"
SHARD_BYTES = 4 << 30
POOL = (1 << 26) + 37  # normal numbers, of which each tensor takes a stretch
SEED = 4


@dataclasses.dataclass(frozen=True)
class Component:
    kind: tuple  # as model_index.json names it
    config: str  # below CONFIGS
    parameters: str  # below CONFIGS/parameters, without .json
    prefix: str = ""  # that files have and the list has not


CLIP_L = Component(("transformers", "CLIPTextModel"), "sdxl-base/text_encoder", "text_encoder_sd-v1-5", "text_model.")
KL = ("diffusers", "AutoencoderKL")
CLIP_TOKENIZER = (("transformers", "CLIPTokenizer"), "clip-l")
FLOW = {"_class_name": "FlowMatchEulerDiscreteScheduler", "_diffusers_version": "0.42.1", "shift": 3.0, "use_dynamic_shifting": True}
SCALED = {
    "_class_name": "EulerDiscreteScheduler", "_diffusers_version": "0.42.1", "beta_start": 0.00085, "beta_end": 0.012,
    "beta_schedule": "scaled_linear", "num_train_timesteps": 1000, "prediction_type": "epsilon", "steps_offset": 1,
    "timestep_spacing": "leading",
}

MODELS = {
    "sd15": {
        "pipeline": "StableDiffusionPipeline",
        "scheduler": SCALED,
        "tokenizers": {"tokenizer": CLIP_TOKENIZER},
        "components": {
            "text_encoder": dataclasses.replace(CLIP_L, config="sd-v1-5/text_encoder"),
            "unet": Component(("diffusers", "UNet2DConditionModel"), "sd-v1-5/unet", "unet_sd-v1-5"),
            "vae": Component(KL, "sd-v1-5/vae", "vae_sd-v1-5"),
        },
        "more": {"requires_safety_checker": False, "safety_checker": [None, None], "feature_extractor": [None, None]},
    },
    "sdxl": {
        "pipeline": "StableDiffusionXLPipeline",
        "scheduler": SCALED,
        "tokenizers": {"tokenizer": CLIP_TOKENIZER, "tokenizer_2": CLIP_TOKENIZER},
        "components": {
            "text_encoder": CLIP_L,
            "text_encoder_2": Component(
                ("transformers", "CLIPTextModelWithProjection"), "sdxl-base/text_encoder_2", "text_encoder_2_sdxl-base"
            ),
            "unet": Component(("diffusers", "UNet2DConditionModel"), "sdxl-base/unet", "unet_sdxl-base"),
            "vae": Component(KL, "sdxl-base/vae", "vae_sd-v1-5"),
        },
        "more": {"force_zeros_for_empty_prompt": True, "add_watermarker": False},
    },
    "flux2-klein-4b": {
        "pipeline": "Flux2KleinPipeline",
        "scheduler": {**FLOW, "time_shift_type": "exponential"},
        "tokenizers": {"tokenizer": (("transformers", "Qwen2TokenizerFast"), "qwen3")},
        "components": {
            "text_encoder": Component(
                ("transformers", "Qwen3ForCausalLM"), "flux2-klein-4b/text_encoder", "text_encoder_flux2-klein-4b"
            ),
            "transformer": Component(
                ("diffusers", "Flux2Transformer2DModel"), "flux2-klein-4b/transformer", "transformer_flux2-klein-4b"
            ),
            "vae": Component(("diffusers", "AutoencoderKLFlux2"), "flux2-dev/vae", "vae_flux2-dev"),
        },
        "more": {"is_distilled": True},
    },
    "flux1-dev": {
        "pipeline": "FluxPipeline",
        "scheduler": {**FLOW, "base_image_seq_len": 256, "base_shift": 0.5, "max_image_seq_len": 4096, "max_shift": 1.15,
                      "num_train_timesteps": 1000},
        "tokenizers": {"tokenizer": CLIP_TOKENIZER, "tokenizer_2": (("transformers", "T5TokenizerFast"), "t5")},
        "components": {
            "text_encoder": dataclasses.replace(CLIP_L, config="flux1-schnell/text_encoder"),
            "text_encoder_2": Component(
                ("transformers", "T5EncoderModel"), "flux1-schnell/text_encoder_2", "text_encoder_pixart-sigma"
            ),
            "transformer": Component(("diffusers", "FluxTransformer2DModel"), "flux1-dev/transformer", "transformer_flux1-dev"),
            "vae": Component(KL, "flux1-schnell/vae", "vae_flux1-schnell"),
        },
        "more": {},
    },
}


def shapes_of(component, root=ROOT):
    """{name: shape} of the component's file. `root`: the tree that holds the configs."""
    path = root / CONFIGS.relative_to(ROOT) / "parameters" / f"{component.parameters}.json"
    listed = json.loads(path.read_text())
    shapes = {component.prefix + name: shape for name, shape in listed.items()}
    return {**({"bn.num_batches_tracked": []} if "bn.running_var" in listed else {}), **shapes}


def needed_files(model):
    """What this script reads for a model, relative to the tree: scripts/gpu_bundle copies it."""
    spec = MODELS[model]
    files = [path for _, name in spec["tokenizers"].values() for path in sorted((TOKENIZERS / name).iterdir())]
    for component in spec["components"].values():
        files += [CONFIGS / component.config / "config.json", CONFIGS / "parameters" / f"{component.parameters}.json"]
    return sorted({path.relative_to(ROOT) for path in files})


def bytes_of(model, root=ROOT):
    spec = MODELS[model]["components"].values()
    return sum(2 * math.prod(shape) for component in spec for shape in shapes_of(component, root).values())


def scale_of(name, shape):
    """What normal numbers are multiplied by: a float, or the constant that the tensor is filled with, as a str."""
    if len(shape) < 2:
        return "1" if name.endswith(("weight", "scale", "running_var")) else "0"
    if "embed" in name and "patch" not in name and len(shape) == 2 and name.endswith(("embedding.weight", "embed_tokens.weight")):
        return 0.02
    return 1 / math.sqrt(math.prod(shape[1:]))


def header_of(shapes):
    """The header of a safetensors file, and (name, shape, begin, end) of its tensors, all in bf16 but for counters."""
    header, places, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, shape in shapes.items():
        counter = name.endswith("num_batches_tracked")
        size = 8 if counter else 2 * math.prod(shape)
        header[name] = {"dtype": "I64" if counter else "BF16", "shape": shape, "data_offsets": [at, at + size]}
        places.append((name, shape, at, at + size))
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text, places, at


class Numbers:
    """Normal numbers of which tensors are cut."""

    def __init__(self):
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
        draw = torch.Generator(device).manual_seed(SEED)
        self.pool = torch.randn(POOL, generator=draw, device=device, dtype=torch.float32).bfloat16()

    def fill(self, flat, scale, start):
        """`flat`: bf16 numbers of a file. Neighbouring tensors begin at other places of the pool."""
        if isinstance(scale, str):
            flat.fill_(float(scale))
            return
        done = 0
        while done < flat.numel():
            begin = (start + done) % POOL
            size = min(flat.numel() - done, POOL - begin)
            flat[done : done + size].copy_(self.pool[begin : begin + size] * scale)
            done += size


def write_file(path, shapes, numbers):
    import torch

    head, places, size = header_of(shapes)
    data = torch.from_file(str(path), shared=True, size=len(head) + size, dtype=torch.uint8)
    data[: len(head)].copy_(torch.frombuffer(bytearray(head), dtype=torch.uint8))
    for number, (name, shape, begin, end) in enumerate(places):
        part = data[len(head) + begin : len(head) + end]
        if name.endswith("num_batches_tracked"):
            part.zero_()
        else:
            numbers.fill(part.view(torch.bfloat16), scale_of(name, shape), number * 7919 * 101 % POOL)


def shards_of(shapes):
    shards, size = [{}], 0
    for name, shape in shapes.items():
        if size > SHARD_BYTES:
            shards.append({})
            size = 0
        shards[-1][name] = shape
        size += 2 * math.prod(shape)
    return shards


def component_jobs(folder, component):
    """The component's config, and (path, shapes) of its files."""
    folder.mkdir(parents=True)
    shutil.copy(CONFIGS / component.config / "config.json", folder)
    stem = "model" if component.kind[0] == "transformers" else "diffusion_pytorch_model"
    shards = shards_of(shapes_of(component))
    if len(shards) == 1:
        return [(folder / f"{stem}.safetensors", shards[0])]
    names = [f"{stem}-{i + 1:05d}-of-{len(shards):05d}.safetensors" for i in range(len(shards))]
    places = {tensor: name for name, shard in zip(names, shards) for tensor in shard}
    (folder / f"{stem}.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return [(folder / name, shard) for name, shard in zip(names, shards)]


def write(model, folder):
    spec = MODELS[model]
    shutil.rmtree(folder, ignore_errors=True)
    partial = folder.with_name(folder.name + ".part")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    index = {"_class_name": spec["pipeline"], "_diffusers_version": "0.42.1", **spec["more"]}
    index["scheduler"] = ["diffusers", spec["scheduler"]["_class_name"]]
    (partial / "scheduler").mkdir()
    (partial / "scheduler" / "scheduler_config.json").write_text(json.dumps(spec["scheduler"], indent=1))
    for name, (kind, source) in spec["tokenizers"].items():
        index[name] = kind
        shutil.copytree(TOKENIZERS / source, partial / name)
    jobs = []
    for name, component in spec["components"].items():
        index[name] = component.kind
        jobs += component_jobs(partial / name, component)
    (partial / "model_index.json").write_text(json.dumps(index, indent=1))
    numbers = Numbers()
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for job in [threads.submit(write_file, *each, numbers) for each in jobs]:
            job.result()
    partial.rename(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    write(options.model, options.folder)


if __name__ == "__main__":
    main()
