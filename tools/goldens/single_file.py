#!/usr/bin/env python3
"""What the reference makes of checkpoints in the original layouts: tests/goldens/single_file/*.json.

Each case is a tiny checkpoint of one file, described by names and shapes; its numbers follow from the names, so that
the test makes the same file. Stored is what diffusers' own conversion makes of it: each parameter's shape and a sum
over its numbers in which each place has a weight of its own. The names are written here from the original authors'
code (CompVis latent-diffusion, Stability generative-models and sd3.5, mlfoundations open_clip), not from the conversion.
"""
import json
import tempfile
from pathlib import Path

import numpy as np
import torch
from diffusers import AutoencoderKL, SD3Transformer2DModel, UNet2DConditionModel
from diffusers.loaders.single_file_utils import create_diffusers_clip_model_from_ldm
from safetensors.torch import load_file, save_file
from transformers import CLIPTextModel, CLIPTextModelWithProjection

OUT = Path(__file__).resolve().parents[2] / "tests/goldens/single_file"


def numbers(name, shape):
    """Numbers that both sides can make: seeded by the name (FNV-1a), exact in every float type."""
    seed = 2166136261
    for byte in name.encode():
        seed = (seed ^ byte) * 16777619 % 2**32
    count = int(np.prod(shape, dtype=np.int64))
    mixed = (np.arange(count, dtype=np.uint64) * 2654435761 + seed) % 2**32
    return torch.from_numpy(((mixed >> 22).astype(np.float32) / 16 - 32).reshape(shape))


def weighted_sum(tensor):
    """Sum of bits times odd weights, modulo 2^64: depends on values and their places."""
    bits = tensor.to(torch.float32).contiguous().numpy().reshape(-1).view(np.uint32).astype(np.uint64)
    weights = np.arange(bits.size, dtype=np.uint64) * 2 + 1
    with np.errstate(over="ignore"):
        return f"{int((bits * weights).sum(dtype=np.uint64)):016x}"


def linear(shapes, name, out, into, bias=True):
    shapes[name + ".weight"] = [out, into]
    if bias:
        shapes[name + ".bias"] = [out]


def conv(shapes, name, out, into, kernel=3):
    shapes[name + ".weight"] = [out, into, kernel, kernel]
    shapes[name + ".bias"] = [out]


def norm(shapes, name, width):
    shapes[name + ".weight"] = [width]
    shapes[name + ".bias"] = [width]


def res_block(shapes, name, into, out, emb):
    norm(shapes, f"{name}.in_layers.0", into)
    conv(shapes, f"{name}.in_layers.2", out, into)
    linear(shapes, f"{name}.emb_layers.1", out, emb)
    norm(shapes, f"{name}.out_layers.0", out)
    conv(shapes, f"{name}.out_layers.3", out, out)
    if into != out:
        conv(shapes, f"{name}.skip_connection", out, into, 1)


def spatial_transformer(shapes, name, width, context, depth, use_linear):
    norm(shapes, f"{name}.norm", width)
    for proj in ("proj_in", "proj_out"):
        if use_linear:
            linear(shapes, f"{name}.{proj}", width, width)
        else:
            conv(shapes, f"{name}.{proj}", width, width, 1)
    for i in range(depth):
        block = f"{name}.transformer_blocks.{i}"
        for attention, into in (("attn1", width), ("attn2", context)):
            linear(shapes, f"{block}.{attention}.to_q", width, width, False)
            linear(shapes, f"{block}.{attention}.to_k", width, into, False)
            linear(shapes, f"{block}.{attention}.to_v", width, into, False)
            linear(shapes, f"{block}.{attention}.to_out.0", width, width)
        linear(shapes, f"{block}.ff.net.0.proj", 8 * width, width)
        linear(shapes, f"{block}.ff.net.2", width, 4 * width)
        for i in (1, 2, 3):
            norm(shapes, f"{block}.norm{i}", width)


def unet(widths, depths, middle, layers, context, use_linear, channels=4, added=None):
    """openaimodel.py UNetModel; depths: transformer blocks a level, 0 for none."""
    shapes, emb = {}, 4 * widths[0]
    linear(shapes, "time_embed.0", emb, widths[0])
    linear(shapes, "time_embed.2", emb, emb)
    if added:
        linear(shapes, "label_emb.0.0", emb, added)
        linear(shapes, "label_emb.0.2", emb, emb)
    conv(shapes, "input_blocks.0.0", widths[0], channels)
    skips, into, number = [widths[0]], widths[0], 1
    for level, width in enumerate(widths):
        for _ in range(layers):
            res_block(shapes, f"input_blocks.{number}.0", into, width, emb)
            if depths[level]:
                spatial_transformer(shapes, f"input_blocks.{number}.1", width, context, depths[level], use_linear)
            skips, into, number = skips + [width], width, number + 1
        if level + 1 < len(widths):
            conv(shapes, f"input_blocks.{number}.0.op", width, width)
            skips, number = skips + [width], number + 1
    res_block(shapes, "middle_block.0", into, into, emb)
    spatial_transformer(shapes, "middle_block.1", into, context, middle, use_linear)
    res_block(shapes, "middle_block.2", into, into, emb)
    number = 0
    for level in reversed(range(len(widths))):
        for layer in range(layers + 1):
            res_block(shapes, f"output_blocks.{number}.0", into + skips.pop(), widths[level], emb)
            into, place = widths[level], 1
            if depths[level]:
                spatial_transformer(shapes, f"output_blocks.{number}.1", into, context, depths[level], use_linear)
                place = 2
            if level and layer == layers:
                conv(shapes, f"output_blocks.{number}.{place}.conv", into, into)
            number += 1
    norm(shapes, "out.0", widths[0])
    conv(shapes, "out.2", 4, widths[0])
    return shapes


def vae_resnet(shapes, name, into, out):
    norm(shapes, f"{name}.norm1", into)
    conv(shapes, f"{name}.conv1", out, into)
    norm(shapes, f"{name}.norm2", out)
    conv(shapes, f"{name}.conv2", out, out)
    if into != out:
        conv(shapes, f"{name}.nin_shortcut", out, into, 1)


def vae_middle(shapes, name, width):
    vae_resnet(shapes, f"{name}.block_1", width, width)
    norm(shapes, f"{name}.attn_1.norm", width)
    for proj in ("q", "k", "v", "proj_out"):
        conv(shapes, f"{name}.attn_1.{proj}", width, width, 1)
    vae_resnet(shapes, f"{name}.block_2", width, width)


def vae(widths, layers, channels=4, quant=True):
    """diffusionmodules/model.py Encoder and Decoder, and the two convolutions of AutoencoderKL."""
    shapes, into = {}, widths[0]
    conv(shapes, "encoder.conv_in", widths[0], 3)
    for level, width in enumerate(widths):
        for layer in range(layers):
            vae_resnet(shapes, f"encoder.down.{level}.block.{layer}", into, width)
            into = width
        if level + 1 < len(widths):
            conv(shapes, f"encoder.down.{level}.downsample.conv", width, width)
    vae_middle(shapes, "encoder.mid", into)
    norm(shapes, "encoder.norm_out", into)
    conv(shapes, "encoder.conv_out", 2 * channels, into)
    conv(shapes, "decoder.conv_in", into, channels)
    vae_middle(shapes, "decoder.mid", into)
    for level in reversed(range(len(widths))):
        for layer in range(layers + 1):
            vae_resnet(shapes, f"decoder.up.{level}.block.{layer}", into, widths[level])
            into = widths[level]
        if level:
            conv(shapes, f"decoder.up.{level}.upsample.conv", into, into)
    norm(shapes, "decoder.norm_out", into)
    conv(shapes, "decoder.conv_out", 3, into)
    if quant:
        conv(shapes, "quant_conv", 2 * channels, 2 * channels, 1)
        conv(shapes, "post_quant_conv", channels, channels, 1)
    return shapes


def clip(width, inner, layers, words=60):
    shapes, body = {}, "text_model."
    shapes[body + "embeddings.token_embedding.weight"] = [words, width]
    shapes[body + "embeddings.position_embedding.weight"] = [77, width]
    for i in range(layers):
        layer = f"{body}encoder.layers.{i}"
        for proj in ("k_proj", "v_proj", "q_proj", "out_proj"):
            linear(shapes, f"{layer}.self_attn.{proj}", width, width)
        norm(shapes, f"{layer}.layer_norm1", width)
        norm(shapes, f"{layer}.layer_norm2", width)
        linear(shapes, f"{layer}.mlp.fc1", inner, width)
        linear(shapes, f"{layer}.mlp.fc2", width, inner)
    norm(shapes, body + "final_layer_norm", width)
    return shapes


def open_clip(width, inner, layers, projection, words=60):
    shapes = {"positional_embedding": [77, width], "text_projection": [width, projection], "logit_scale": []}
    shapes["token_embedding.weight"] = [words, width]
    for i in range(layers):
        block = f"transformer.resblocks.{i}"
        norm(shapes, f"{block}.ln_1", width)
        norm(shapes, f"{block}.ln_2", width)
        shapes[f"{block}.attn.in_proj_weight"] = [3 * width, width]
        shapes[f"{block}.attn.in_proj_bias"] = [3 * width]
        linear(shapes, f"{block}.attn.out_proj", width, width)
        linear(shapes, f"{block}.mlp.c_fc", inner, width)
        linear(shapes, f"{block}.mlp.c_proj", width, inner)
    norm(shapes, "ln_final", width)
    return shapes


def mmdit(width, layers, dual, context, pooled, side, channels=16):
    """mmditx.py MMDiTX, heads of 64 with norms of queries and keys; dual: blocks that attend twice."""
    shapes = {"pos_embed": [1, side * side, width]}
    conv(shapes, "x_embedder.proj", width, channels, 2)
    for name, into in (("t_embedder", 256), ("y_embedder", pooled)):
        linear(shapes, f"{name}.mlp.0", width, into)
        linear(shapes, f"{name}.mlp.2", width, width)
    linear(shapes, "context_embedder", width, context)
    for i in range(layers):
        last = i == layers - 1
        for stream in ("context_block", "x_block"):
            block, text = f"joint_blocks.{i}.{stream}", stream == "context_block"
            parts = 2 if text and last else 9 if not text and i in dual else 6
            linear(shapes, f"{block}.adaLN_modulation.1", parts * width, width)
            for attention in ("attn",) if text or i not in dual else ("attn", "attn2"):
                linear(shapes, f"{block}.{attention}.qkv", 3 * width, width)
                for norm_name in ("ln_q", "ln_k"):
                    shapes[f"{block}.{attention}.{norm_name}.weight"] = [64]
                if not (text and last):
                    linear(shapes, f"{block}.{attention}.proj", width, width)
            if not (text and last):
                linear(shapes, f"{block}.mlp.fc1", 4 * width, width)
                linear(shapes, f"{block}.mlp.fc2", width, 4 * width)
    linear(shapes, "final_layer.adaLN_modulation.1", 2 * width, width)
    linear(shapes, "final_layer.linear", 4 * channels, width)
    return shapes


def below(prefix, shapes):
    return {prefix + name: shape for name, shape in shapes.items()}


def text_config(width, inner, layers, act, projection):
    return {"architectures": ["CLIPTextModel"], "hidden_act": act, "hidden_size": width, "intermediate_size": inner,
            "num_attention_heads": width // 64, "num_hidden_layers": layers, "projection_dim": projection,
            "vocab_size": 60, "max_position_embeddings": 77, "eos_token_id": 2}


def unet_config(widths, depths, middle, layers, context, use_linear, channels=4, added=None):
    types = ["CrossAttnDownBlock2D" if depth else "DownBlock2D" for depth in depths]
    per_level = [depth or 1 for depth in depths]
    if not depths[-1]:
        per_level[-1] = middle
    config = {"block_out_channels": widths, "down_block_types": types, "layers_per_block": layers,
              "up_block_types": [t.replace("Down", "Up") for t in reversed(types)],
              "transformer_layers_per_block": per_level[0] if len(set(per_level)) == 1 else per_level,
              "attention_head_dim": [w // 64 for w in widths] if use_linear else 8, "cross_attention_dim": context,
              "use_linear_projection": use_linear, "in_channels": channels, "out_channels": 4}
    if added:
        config |= {"addition_embed_type": "text_time", "addition_time_embed_dim": 256,
                   "projection_class_embeddings_input_dim": added}
    return config


def vae_config(widths, layers):
    return {"block_out_channels": widths, "layers_per_block": layers, "latent_channels": 4,
            "down_block_types": ["DownEncoderBlock2D"] * len(widths),
            "up_block_types": ["UpDecoderBlock2D"] * len(widths)}


SCHEDULE = {"betas": [10], "alphas_cumprod": [10]}
V1, V2, CLIP, OPEN = ([32, 64], [1, 0], 1, 1, 64, False), ([64, 128], [1, 0], 1, 1, 64, True), \
    "cond_stage_model.transformer.", "cond_stage_model.model."
XL, REFINER = ([64, 128], [0, 2], 2, 1, 128, True, 4, 64 + 1536), ([64, 128, 128], [0, 1, 0], 1, 1, 64, True, 4, 1344)


def stable(unet_args, text, prefix, text_configs):
    return {"shapes": below("model.diffusion_model.", unet(*unet_args)) | below("first_stage_model.", vae([32, 64], 1))
            | text | SCHEDULE,
            "configs": {"unet": unet_config(*unet_args), "vae": vae_config([32, 64], 1)} | text_configs}


SD3 = {"sample_size": 128, "patch_size": 2, "in_channels": 16, "out_channels": 16, "num_layers": 2,
       "attention_head_dim": 64, "num_attention_heads": 1, "joint_attention_dim": 200, "caption_projection_dim": 64,
       "pooled_projection_dim": 128, "pos_embed_max_size": 6, "dual_attention_layers": [0], "qk_norm": "rms_norm"}
SD3_VAE = vae_config([32, 64], 1) | {"latent_channels": 16, "use_quant_conv": False, "use_post_quant_conv": False,
                                     "scaling_factor": 1.5305, "shift_factor": 0.0609}
# CLIP-L without a projection, which is the identity then; CLIP-G with one.
SD3_TEXTS = below("text_encoders.clip_l.transformer.", clip(64, 96, 2)) | below(
    "text_encoders.clip_g.transformer.", clip(128, 96, 3) | {"text_projection.weight": [64, 128]})

CASES = {
    "sd1": stable(V1, below(CLIP, clip(64, 96, 2)), CLIP, {"text_encoder": text_config(64, 96, 2, "quick_gelu", 64)}),
    "sd1_inpaint": stable((*V1, 9), below(CLIP, clip(64, 96, 2)), CLIP,
                          {"text_encoder": text_config(64, 96, 2, "quick_gelu", 64)}),
    "sd2": stable(V2, below(OPEN, open_clip(64, 64, 24, 64)), OPEN,
                  {"text_encoder": text_config(64, 64, 23, "gelu", 64)}),
    "sdxl": stable(XL, below("conditioner.embedders.0.transformer.", clip(64, 96, 2))
                   | below("conditioner.embedders.1.model.", open_clip(128, 96, 3, 64)), OPEN,
                   {"text_encoder": text_config(64, 96, 2, "quick_gelu", 64),
                    "text_encoder_2": text_config(128, 96, 3, "gelu", 64)}),
    "sdxl_refiner": stable(REFINER, below("conditioner.embedders.0.model.", open_clip(128, 96, 3, 64)), OPEN,
                           {"text_encoder_2": text_config(128, 96, 3, "gelu", 64)}),
    "sd3": {"shapes": below("model.diffusion_model.", mmdit(64, 2, (0,), 200, 128, 6)) | SD3_TEXTS
            | below("first_stage_model.", vae([32, 64], 1, channels=16, quant=False)),
            "configs": {"transformer": SD3, "vae": SD3_VAE,
                        "text_encoder": text_config(64, 96, 2, "quick_gelu", 64),
                        "text_encoder_2": text_config(128, 96, 3, "gelu", 64)}},
}


CLASSES = {"unet": UNet2DConditionModel, "vae": AutoencoderKL, "transformer": SD3Transformer2DModel}


def reference(case, folder):
    """{component: {name: [shape, sum]}} of diffusers' conversion."""
    file = folder / "model.safetensors"
    save_file({name: numbers(name, shape) for name, shape in case["shapes"].items()}, file)
    for component, config in case["configs"].items():
        (folder / component).mkdir()
        classes = {name: kind.__name__ for name, kind in CLASSES.items()}
        named = {"_class_name": classes[component]} if component in classes else {"model_type": "clip_text_model"}
        (folder / component / "config.json").write_text(json.dumps(config | named))
    checkpoint, made = load_file(file), {}
    for component in case["configs"]:
        if component in CLASSES:
            cls = CLASSES[component]
            model = cls.from_single_file(str(file), config=str(folder), subfolder=component, local_files_only=True)
        else:
            cls = CLIPTextModelWithProjection if component == "text_encoder_2" else CLIPTextModel
            model = create_diffusers_clip_model_from_ldm(cls, dict(checkpoint), subfolder=component,
                                                         config=str(folder), local_files_only=True)
        made[component] = {name: [list(tensor.shape), weighted_sum(tensor)]
                           for name, tensor in model.state_dict().items() if not name.endswith("position_ids")}
    return made


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for name, case in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            result = case | {"reference": reference(case, Path(folder))}
        lines = [f'"{part}":{{\n' + ",\n".join(f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}"
                                              for k, v in result["shapes"].items()) + "}" for part in ("shapes",)]
        lines.append(f'"configs":{json.dumps(result["configs"])}')
        for component, tensors in result["reference"].items():
            lines.append(f'"{component}":{{\n' + ",\n".join(
                f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'))}" for k, v in tensors.items()) + "}")
        (OUT / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(name, sum(len(t) for t in result["reference"].values()))


if __name__ == "__main__":
    main()
