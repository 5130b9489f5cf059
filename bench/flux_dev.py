#!/usr/bin/env python3
"""Writes FLUX.1-dev's size with random weights straight as q4_k: nothing is rounded.

  bench/flux_dev.py FOLDER

The transformer (FOLDER/transformer.gguf, the original's names) and T5 (FOLDER/text_encoder_2.gguf) are
in q4_k, for --component and for what else reads such files; CLIP in fp16, the autoencoder in fp32:
10 GB. Images are noise; memory and times per step are what it is for. Needs what quantized.py needs.
"""

import argparse
import json
import pathlib
import shutil

import diffusers
import klein
import torch
import transformers
from quantized import write_gguf

TINY = klein.ROOT / "build" / "goldens" / "pipelines" / "flux_dev" / "model"


def stream(name, width, head):
    """The half of a double block that is an image's or a text's."""
    return {
        f"{name}_mod.lin": (6 * width, width), f"{name}_attn.qkv": (3 * width, width),
        f"{name}_attn.norm.query_norm.scale": (head,), f"{name}_attn.norm.key_norm.scale": (head,),
        f"{name}_attn.proj": (width, width), f"{name}_mlp.0": (4 * width, width), f"{name}_mlp.2": (width, 4 * width),
    }


def parameters(layers):
    """Layers by name and shape of their weight; those of rank 2 have a bias."""
    shapes = {}
    for name, shape in layers.items():
        if len(shape) == 1:
            shapes[name] = shape
        else:
            shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def flux(c):
    head = c["attention_head_dim"]
    width = c["num_attention_heads"] * head
    layers = {"img_in": (width, c["in_channels"]), "txt_in": (width, c["joint_attention_dim"])}
    for name, inputs in (("time_in", 256), ("guidance_in", 256), ("vector_in", c["pooled_projection_dim"])):
        layers |= {f"{name}.in_layer": (width, inputs), f"{name}.out_layer": (width, width)}
    for i in range(c["num_layers"]):
        block = stream("img", width, head) | stream("txt", width, head)
        layers |= {f"double_blocks.{i}.{name}": shape for name, shape in block.items()}
    single = {
        "modulation.lin": (3 * width, width), "linear1": (7 * width, width), "linear2": (width, 5 * width),
        "norm.query_norm.scale": (head,), "norm.key_norm.scale": (head,),
    }
    for i in range(c["num_single_layers"]):
        layers |= {f"single_blocks.{i}.{name}": shape for name, shape in single.items()}
    last = {"final_layer.adaLN_modulation.1": (2 * width, width), "final_layer.linear": (c["in_channels"], width)}
    return parameters(layers | last)


def t5(c):
    width, inner, hidden = c["d_model"], c["num_heads"] * c["d_kv"], c["d_ff"]
    shapes = {
        "token_embd.weight": (c["vocab_size"], width), "enc.output_norm.weight": (width,),
        "enc.blk.0.attn_rel_b.weight": (c["relative_attention_num_buckets"], c["num_heads"]),
    }
    block = {
        "attn_norm": (width,), "ffn_norm": (width,), "attn_q": (inner, width), "attn_k": (inner, width),
        "attn_v": (inner, width), "attn_o": (width, inner), "ffn_gate": (hidden, width),
        "ffn_up": (hidden, width), "ffn_down": (width, hidden),
    }
    for i in range(c["num_layers"]):
        shapes |= {f"enc.blk.{i}.{name}.weight": shape for name, shape in block.items()}
    return shapes


def clip_text(name, shape, draw):
    return {name if name.startswith("text_model.") else f"text_model.{name}": klein.values(name, shape, draw).half()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for same in ("scheduler", "tokenizer", "tokenizer_2"):
        shutil.copytree(TINY / same, folder / same)
    shutil.copy(TINY / "model_index.json", folder)
    transformer, encoder = klein.config("flux1-dev", "transformer"), klein.config("flux1-schnell", "text_encoder_2")
    clip, vae = (klein.config("flux1-schnell", part) for part in ("text_encoder", "vae"))
    with torch.device("meta"):
        networks = {
            "text_encoder": (transformers.CLIPTextModel(transformers.CLIPTextConfig(**clip)), clip, clip_text),
            "vae": (diffusers.AutoencoderKL.from_config(vae), vae,
                    lambda name, shape, draw: {name: klein.values(name, shape, draw).float()}),
        }
    for name, (network, settings, made) in networks.items():
        klein.write(network, settings, folder / name, "model" if name == "text_encoder" else "diffusion_pytorch_model", made)
    files = {"transformer": ("flux", flux(transformer), transformer), "text_encoder_2": ("t5encoder", t5(encoder), encoder)}
    for name, (architecture, shapes, settings) in files.items():
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(settings))
        write_gguf(folder / f"{name}.gguf", architecture, shapes)


if __name__ == "__main__":
    main()
