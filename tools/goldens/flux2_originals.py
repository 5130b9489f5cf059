#!/usr/bin/env python3
"""FLUX.2's original layouts: weights of its networks, and adapters in the layouts that trainers write.

  tools/goldens/flux2_originals.py [--check]

In tests/goldens/networks/flux2_transformer_guidance (made by flux2.py): original.safetensors, the same weights
as the original code names them; lora_LAYOUT.safetensors and lokr_LAYOUT.safetensors, adapters, and
..._LAYOUT_deltas.safetensors, what diffusers makes of them: {a layer's name: what is added to its weight}. In
tests/goldens/networks/flux2_vae: original.safetensors, likewise.
"""

import re

import common
import torch
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders.single_file_utils import (
    convert_flux2_transformer_checkpoint_to_diffusers,
    convert_ldm_vae_checkpoint,
)
from safetensors.torch import load_file
from golden_files import write_or_compare

FOLDER = common.GOLDENS / "networks" / "flux2_transformer_guidance"
RANK = 2
# Of each kind of place, one; of query, key and value all, for they are in one matrix.
COMPARED = {
    *(f"transformer_blocks.1.attn.{part}" for part in ("to_q", "to_k", "to_v", "add_v_proj")),
    "transformer_blocks.0.attn.to_out.0",
    "transformer_blocks.0.ff_context.linear_out",
    "single_transformer_blocks.2.attn.to_qkv_mlp_proj",
    "x_embedder",
    "proj_out",
}

# ours: theirs, within a first block and within one of the others
DOUBLE = {
    "attn.norm_q.weight": "img_attn.norm.query_norm.scale",
    "attn.norm_k.weight": "img_attn.norm.key_norm.scale",
    "attn.to_out.0.weight": "img_attn.proj.weight",
    "ff.linear_in.weight": "img_mlp.0.weight",
    "ff.linear_out.weight": "img_mlp.2.weight",
    "attn.norm_added_q.weight": "txt_attn.norm.query_norm.scale",
    "attn.norm_added_k.weight": "txt_attn.norm.key_norm.scale",
    "attn.to_add_out.weight": "txt_attn.proj.weight",
    "ff_context.linear_in.weight": "txt_mlp.0.weight",
    "ff_context.linear_out.weight": "txt_mlp.2.weight",
}
STACKED = {
    "img_attn.qkv.weight": ["attn.to_q", "attn.to_k", "attn.to_v"],
    "txt_attn.qkv.weight": ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"],
}
SINGLE = {
    "attn.to_qkv_mlp_proj.weight": "linear1.weight",
    "attn.to_out.weight": "linear2.weight",
    "attn.norm_q.weight": "norm.query_norm.scale",
    "attn.norm_k.weight": "norm.key_norm.scale",
}
OTHERS = {
    "x_embedder": "img_in",
    "context_embedder": "txt_in",
    "time_guidance_embed.timestep_embedder.linear_1": "time_in.in_layer",
    "time_guidance_embed.timestep_embedder.linear_2": "time_in.out_layer",
    "time_guidance_embed.guidance_embedder.linear_1": "guidance_in.in_layer",
    "time_guidance_embed.guidance_embedder.linear_2": "guidance_in.out_layer",
    "double_stream_modulation_img.linear": "double_stream_modulation_img.lin",
    "double_stream_modulation_txt.linear": "double_stream_modulation_txt.lin",
    "single_stream_modulation.linear": "single_stream_modulation.lin",
    "proj_out": "final_layer.linear",
}


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {theirs + ".weight": state[ours + ".weight"] for ours, theirs in OTHERS.items()}
    scale, shift = state["norm_out.linear.weight"].chunk(2)
    made["final_layer.adaLN_modulation.1.weight"] = torch.cat([shift, scale])
    for name in state:
        parts = name.split(".", 2)
        if parts[0] == "transformer_blocks" and parts[2] in DOUBLE:
            made[f"double_blocks.{parts[1]}.{DOUBLE[parts[2]]}"] = state[name]
        elif parts[0] == "transformer_blocks":
            for theirs, ours in STACKED.items():
                each = [state[f"transformer_blocks.{parts[1]}.{layer}.weight"] for layer in ours]
                made[f"double_blocks.{parts[1]}.{theirs}"] = torch.cat(each)
        elif parts[0] == "single_transformer_blocks":
            made[f"single_blocks.{parts[1]}.{SINGLE[parts[2]]}"] = state[name]
    back = convert_flux2_transformer_checkpoint_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def factors(weight, seed):
    """{lora_A, lora_B} for a matrix."""
    return common.normal(seed, RANK, weight.shape[1]), common.normal(
        seed + 1, weight.shape[0], RANK
    )


def adapted(weights):
    """Names (without .weight) of the matrices that the LoRAs change, original or diffusers'."""
    blocks = ("double_blocks", "single_blocks", "transformer_blocks", "single_transformer_blocks")
    more = ("img_in", "final_layer.linear", "x_embedder", "proj_out")
    return [
        name.removesuffix(".weight")
        for name in sorted(weights)
        if weights[name].ndim == 2 and name.startswith(blocks + more)
    ]


def lora_diffusers(state, made):
    file = {}
    for i, layer in enumerate(adapted(state)):
        down, up = factors(state[layer + ".weight"], 900 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file, file


def lora_ai_toolkit(state, made):
    file = {}
    for i, layer in enumerate(adapted(made)):
        down, up = factors(made[layer + ".weight"], 1000 + 2 * i)
        file[f"diffusion_model.{layer}.lora_A.weight"] = down
        file[f"diffusion_model.{layer}.lora_B.weight"] = up
    return file, loras._convert_non_diffusers_flux2_lora_to_diffusers(dict(file))


def lora_expanded(state, made):
    """Diffusers' names of blocks below the original's prefix, the first blocks' cut short."""
    file = {}
    for i, layer in enumerate(name for name in adapted(state) if "transformer_blocks" in name):
        down, up = factors(state[layer + ".weight"], 1060 + 2 * i)
        if layer.startswith("transformer_blocks") and i % 2:
            layer = layer.removeprefix("tran")
        file[f"diffusion_model.{layer}.lora_A.weight"] = down
        file[f"diffusion_model.{layer}.lora_B.weight"] = up
    return file, loras._convert_non_diffusers_flux2_lora_to_diffusers(dict(file))


def lora_kohya(state, made):
    file = {}
    for i, layer in enumerate(adapted(made)):
        down, up = factors(made[layer + ".weight"], 1100 + 2 * i)
        key = "lora_unet_" + layer.replace(".", "_")
        file[f"{key}.lora_down.weight"], file[f"{key}.lora_up.weight"] = down, up
        file[f"{key}.alpha"] = torch.tensor(0.5 + i % 3)
    return file, loras._convert_kohya_flux2_lora_to_diffusers(
        {k: v.clone() for k, v in file.items()}
    )


def deltas(converted):
    made = {}
    for name, up in converted.items():
        if ".lora_B." not in name:
            continue
        layer = name.removeprefix("transformer.").removesuffix(".lora_B.weight")
        made[layer] = up @ converted[name.replace("lora_B", "lora_A")]
    return made


# --------------------------------------------------------------------------- Kronecker products
def lokr_factors(weight, seed, whole):
    """A matrix as w1 (x) w2: w1 of its 4 x 2 parts, w2 whole or a product."""
    rows, columns = weight.shape[0] // 4, weight.shape[1] // 2
    file = {"lokr_w1": common.normal(seed, 4, 2)}
    if whole:
        return {**file, "lokr_w2": common.normal(seed + 1, rows, columns)}
    return {
        **file,
        "lokr_w2_a": common.normal(seed + 1, rows, RANK),
        "lokr_w2_b": common.normal(seed + 2, RANK, columns),
        "alpha": torch.tensor(1.5),
    }


def lokr_file(names, seed):
    """{name.part: factor} for {name: a matrix}; each second one whole."""
    file = {}
    for i, (name, weight) in enumerate(names.items()):
        for part, factor in lokr_factors(weight, seed + 3 * i, i % 2 == 0).items():
            file[f"{name}.{part}"] = factor
    return file


def divisible(weights):
    layers = (name for name in adapted(weights))
    matrices = {name: weights[name + ".weight"] for name in layers}
    return {n: w for n, w in matrices.items() if w.shape[0] % 4 == 0 and w.shape[1] % 2 == 0}


def lokr_original(state, made):
    names = {f"diffusion_model.{name}": weight for name, weight in divisible(made).items()}
    file = lokr_file(names, 1200)
    return file, loras._convert_non_diffusers_flux2_lokr_to_diffusers(dict(file))


def lokr_lycoris(state, made):
    inside = {n: w for n, w in divisible(state).items() if "transformer_blocks" in n}
    names = {"lycoris_" + name.replace(".", "_"): weight for name, weight in inside.items()}
    file = lokr_file(names, 1500)
    return file, loras._convert_lycoris_flux2_lokr_to_diffusers(dict(file))


# The reference fuses projections for these; here each has its rows.
FUSED = {
    "attn.to_qkv": ["attn.to_q", "attn.to_k", "attn.to_v"],
    "attn.to_added_qkv": ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"],
}


def lokr_deltas(converted):
    whole = {}
    for name, left in converted.items():
        if not name.endswith(".lokr_w1"):
            continue
        base = name.removesuffix(".lokr_w1")
        right = converted.get(base + ".lokr_w2")
        if right is None:
            right = converted[base + ".lokr_w2_a"] @ converted[base + ".lokr_w2_b"]
        whole[base.removeprefix("transformer.")] = torch.kron(left, right)
    made = {}
    for layer, delta in whole.items():
        parts = next((p for fused, p in FUSED.items() if layer.endswith(fused)), None)
        if parts is None:
            made[layer] = delta
            continue
        block = layer[: layer.index("attn.")]
        made.update(zip((block + part for part in parts), delta.chunk(3)))
    return {layer: delta.contiguous() for layer, delta in made.items() if layer in COMPARED}


# --------------------------------------------------------------------------------- autoencoder
VAE = common.GOLDENS / "networks" / "flux2_vae"


def vae_layer(name):
    """The original's name of a parameter (github black-forest-labs/flux2, autoencoder.py)."""
    for ours, theirs in (
        (r"^quant_conv", "encoder.quant_conv"),
        (r"^post_quant_conv", "decoder.post_quant_conv"),
        (r"conv_norm_out", "norm_out"),
        (r"conv_shortcut", "nin_shortcut"),
        (r"mid_block\.resnets\.0", "mid.block_1"),
        (r"mid_block\.resnets\.1", "mid.block_2"),
        (r"mid_block\.attentions\.0\.group_norm", "mid.attn_1.norm"),
        (r"mid_block\.attentions\.0\.to_([qkv])", r"mid.attn_1.\1"),
        (r"mid_block\.attentions\.0\.to_out\.0", "mid.attn_1.proj_out"),
        (r"down_blocks\.(\d)\.resnets", r"down.\1.block"),
        (r"down_blocks\.(\d)\.downsamplers\.0", r"down.\1.downsample"),
    ):
        name = re.sub(ours, theirs, name)
    up = re.match(r"decoder\.up_blocks\.(\d)\.(resnets|upsamplers\.0)(.*)", name)
    if up:
        kind = "block" if up[2] == "resnets" else "upsample"
        name = f"decoder.up.{2 - int(up[1])}.{kind}{up[3]}"
    return name


def original_vae(state):
    """The weights under the original's names; its halves checked against the reference's conversion back."""
    made = {}
    for name, weight in state.items():
        matrix = ".mid.attn_1." in vae_layer(name) and weight.ndim == 2
        made[vae_layer(name)] = weight[:, :, None, None].contiguous() if matrix else weight
    halves = {k: v for k, v in made.items() if k.startswith(("encoder.", "decoder."))}
    config = {"down_block_types": [0] * 3, "up_block_types": [0] * 3}
    back = convert_ldm_vae_checkpoint(halves, config)
    ours = {k: v for k, v in state.items() if k.startswith(("encoder.", "decoder."))}
    assert back.keys() >= ours.keys() and all(back[k].equal(ours[k]) for k in ours)
    return made


def paths():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    made = original(state)
    files = {"original": made}
    for make in (lora_diffusers, lora_ai_toolkit, lora_expanded, lora_kohya):
        file, converted = make(state, made)
        kept = {k: v for k, v in deltas(converted).items() if k in COMPARED}
        files[make.__name__] = {k: v.to(torch.float32) for k, v in file.items()}
        files[make.__name__ + "_deltas"] = kept
    for make in (lokr_original, lokr_lycoris):
        file, converted = make(state, made)
        files[make.__name__], files[make.__name__ + "_deltas"] = file, lokr_deltas(converted)
    vae = load_file(VAE / "diffusion_pytorch_model.safetensors")
    paths = {FOLDER / f"{name}.safetensors": tensors for name, tensors in files.items()}
    return {**paths, VAE / "original.safetensors": original_vae(vae)}


if __name__ == "__main__":
    write_or_compare(paths, __doc__)
