#!/usr/bin/env python3
"""Writes FLUX.2 klein 4B's size with random weights straight as quantised files: nothing is rounded.

  bench/quantized.py FOLDER

The transformer is in int8_convrot, Qwen3 in q4_k (FOLDER/text_encoder.gguf, for --component): 7 GB.
Images are noise; memory and times per step are what it is for. Needs gguf==0.19.0 and what klein.py
needs.
"""

import argparse
import json
import math
import pathlib
import shutil

import diffusers
import gguf
import klein
import numpy
import torch

DRAW = numpy.random.default_rng(4)
Q4_K = gguf.GGMLQuantizationType.Q4_K
F32 = gguf.GGMLQuantizationType.F32
BLOCK, BLOCK_BYTES = 256, 144


def q4_k(shape):
    """Blocks of scales 32 and minimums 32, in units of d and 7.5 d: numbers d * 32 * (q - 7.5)."""
    blocks = numpy.frombuffer(DRAW.bytes(math.prod(shape) // BLOCK * BLOCK_BYTES), numpy.uint8)
    blocks = blocks.reshape(-1, BLOCK_BYTES).copy()
    d = 1 / (32 * 4.61 * shape[-1] ** 0.5)
    blocks[:, :4] = numpy.array([d, 7.5 * d], numpy.float16).view(numpy.uint8)
    blocks[:, 4:12], blocks[:, 12:16] = 160, 0
    return blocks.reshape(shape[0], -1)


def write_gguf(path, architecture, shapes):
    """Matrices in q4_k, and in fp16 where omnirt's convert keeps them; vectors of norms one, others zero."""
    writer = gguf.GGUFWriter(path, architecture)

    def form(name, shape):
        if len(shape) == 1:
            return numpy.float32, F32, 4 * math.prod(shape)
        if "embd" in name or shape[-1] % BLOCK:
            return numpy.float16, gguf.GGMLQuantizationType.F16, 2 * math.prod(shape)
        return numpy.uint8, Q4_K, math.prod(shape) // BLOCK * BLOCK_BYTES

    for name, shape in shapes.items():
        dtype, kind, size = form(name, shape)
        stored = (shape[0], shape[1] // BLOCK * BLOCK_BYTES) if kind == Q4_K else shape
        writer.add_tensor_info(name, stored, numpy.dtype(dtype), size, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for name, shape in shapes.items():
        dtype, kind, _ = form(name, shape)
        if kind == Q4_K:
            writer.write_tensor_data(q4_k(shape))
        elif len(shape) == 1:
            writer.write_tensor_data(numpy.full(shape, "norm" in name, dtype))
        else:
            writer.write_tensor_data((DRAW.standard_normal(shape, numpy.float32) / shape[-1] ** 0.5).astype(dtype))
    writer.close()


def qwen3(c):
    width, heads, kv, head = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
    shapes = {"token_embd.weight": (c["vocab_size"], width), "output_norm.weight": (width,)}
    for i in range(c["num_hidden_layers"]):
        block = {
            "attn_norm": (width,), "ffn_norm": (width,), "attn_q_norm": (head,), "attn_k_norm": (head,),
            "attn_q": (heads * head, width), "attn_k": (kv * head, width), "attn_v": (kv * head, width),
            "attn_output": (width, heads * head), "ffn_gate": (c["intermediate_size"], width),
            "ffn_up": (c["intermediate_size"], width), "ffn_down": (width, c["intermediate_size"]),
        }
        shapes |= {f"blk.{i}.{name}.weight": shape for name, shape in block.items()}
    return shapes


def convrot(name, shape, draw):
    """A layer of the transformer's blocks as ComfyUI stores it; others as klein.py has them."""
    if len(shape) != 2 or "transformer_blocks" not in name:
        return {name: klein.values(name, shape, draw).bfloat16()}
    layer = name.removesuffix("weight")
    settings = json.dumps({"format": "int8_tensorwise", "convrot": True, "convrot_groupsize": 256})
    return {
        name: torch.from_numpy(numpy.frombuffer(DRAW.bytes(math.prod(shape)), numpy.int8).reshape(shape).copy()),
        layer + "weight_scale": torch.full((shape[0], 1), 1 / (74 * shape[1] ** 0.5)),
        layer + "comfy_quant": torch.tensor(list(settings.encode()), dtype=torch.uint8),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for same in ("scheduler", "tokenizer"):
        shutil.copytree(klein.TINY / same, folder / same)
    shutil.copy(klein.TINY / "model_index.json", folder)
    encoder, transformer = (klein.config("flux2-klein-4b", part) for part in ("text_encoder", "transformer"))
    vae = klein.config("flux2-dev", "vae")
    with torch.device("meta"):
        networks = {
            "transformer": (diffusers.Flux2Transformer2DModel.from_config(transformer), transformer, convrot),
            "vae": (diffusers.AutoencoderKLFlux2.from_config(vae), vae, klein.plain),
        }
    for name, (network, settings, made) in networks.items():
        klein.write(network, settings, folder / name, "diffusion_pytorch_model", made)
    (folder / "text_encoder").mkdir()
    (folder / "text_encoder" / "config.json").write_text(json.dumps(encoder))
    write_gguf(folder / "text_encoder.gguf", "qwen3", qwen3(encoder))


if __name__ == "__main__":
    main()
