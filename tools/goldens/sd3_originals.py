#!/usr/bin/env python3
"""Stable Diffusion 3's original layout: weights of its transformer, and LoRAs in the layouts that trainers write.

  tools/goldens/sd3_originals.py [--check]

Beside tests/goldens/networks/sd3_transformer_dual (made by sd3.py): original.safetensors, the same weights as the
original code names them; lora_LAYOUT.safetensors, adapters, and lora_LAYOUT_deltas.safetensors, what is added to which
layer's weight. Of names of the original that is what diffusers' converter of checkpoints makes of the products, for
diffusers reads no such LoRAs.
"""

import common
import torch
from diffusers.loaders.single_file_utils import convert_sd3_transformer_checkpoint_to_diffusers
from flux_originals import deltas, factors, matrices
from golden_files import write_or_compare
from safetensors.torch import load_file
from sd3 import SD3

FOLDER = common.GOLDENS / "networks" / "sd3_transformer_dual"
# Of each kind of place, one; of query, key and value all, for they lie in one matrix.
COMPARED = {
    *(f"transformer_blocks.1.attn.{part}" for part in ("to_q", "to_k", "to_v", "add_v_proj")),
    *(f"transformer_blocks.0.attn2.{part}" for part in ("to_q", "to_k", "to_out.0")),
    "transformer_blocks.0.attn.to_out.0",
    "transformer_blocks.0.attn.to_add_out",
    "transformer_blocks.1.norm1.linear",
    "transformer_blocks.1.norm1_context.linear",
    "transformer_blocks.2.norm1_context.linear",
    "transformer_blocks.2.norm1.linear",
    "transformer_blocks.0.ff_context.net.2",
    "transformer_blocks.2.ff.net.0.proj",
    "time_text_embed.text_embedder.linear_1",
    "context_embedder",
    "norm_out.linear",
    "proj_out",
}
EMBEDDERS = {
    "time_text_embed.timestep_embedder": "t_embedder.mlp",
    "time_text_embed.text_embedder": "y_embedder.mlp",
}
ATTENTIONS = {
    "x_block.attn": ("attn", "to_q to_k to_v", "", "to_out.0"),
    "x_block.attn2": ("attn2", "to_q to_k to_v", "", "to_out.0"),
    "context_block.attn": ("attn", "add_q_proj add_k_proj add_v_proj", "added_", "to_add_out"),
}
PLAIN = {
    "norm1.linear": "x_block.adaLN_modulation.1",
    "ff.net.0.proj": "x_block.mlp.fc1",
    "ff.net.2": "x_block.mlp.fc2",
    "ff_context.net.0.proj": "context_block.mlp.fc1",
    "ff_context.net.2": "context_block.mlp.fc2",
}


def swapped(value):
    scale, shift = value.chunk(2)
    return torch.cat([shift, scale])


def block(state, ours, theirs, last):
    made = {}

    def take(name, other, change=lambda value: value):
        for end in ("weight", "bias"):
            if f"{ours}.{name}.{end}" in state:
                made[f"{theirs}.{other}.{end}"] = change(state[f"{ours}.{name}.{end}"])

    for name, other in PLAIN.items():
        take(name, other)
    take("norm1_context.linear", "context_block.adaLN_modulation.1", swapped if last else lambda v: v)
    for other, (attention, projections, added, out) in ATTENTIONS.items():
        names = [f"{ours}.{attention}.{name}" for name in projections.split()]
        if f"{names[0]}.weight" not in state:
            continue
        for end in ("weight", "bias"):
            made[f"{theirs}.{other}.qkv.{end}"] = torch.cat([state[f"{n}.{end}"] for n in names])
        take(f"{attention}.{out}", f"{other}.proj")
        take(f"{attention}.norm_{added}q", f"{other}.ln_q")
        take(f"{attention}.norm_{added}k", f"{other}.ln_k")
    return made


def original(state):
    """The weights under the original's names; checked against the reference's way back."""
    made = {"pos_embed": state["pos_embed.pos_embed"]}
    for end in ("weight", "bias"):
        made[f"x_embedder.proj.{end}"] = state[f"pos_embed.proj.{end}"]
        made[f"context_embedder.{end}"] = state[f"context_embedder.{end}"]
        made[f"final_layer.linear.{end}"] = state[f"proj_out.{end}"]
        made[f"final_layer.adaLN_modulation.1.{end}"] = swapped(state[f"norm_out.linear.{end}"])
        for ours, theirs in EMBEDDERS.items():
            for number, layer in ((1, 0), (2, 2)):
                made[f"{theirs}.{layer}.{end}"] = state[f"{ours}.linear_{number}.{end}"]
    layers = SD3["num_layers"]
    for i in range(layers):
        last = i == layers - 1
        made.update(block(state, f"transformer_blocks.{i}", f"joint_blocks.{i}", last))
    back = converted(made)
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def converted(checkpoint):
    return convert_sd3_transformer_checkpoint_to_diffusers(dict(checkpoint))


def lora_diffusers(state, made):
    file = {}
    for i, layer in enumerate(matrices(state)):
        down, up = factors(state[layer + ".weight"], 3400 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file, deltas(file)


def of_original(made, seed, name_of, alphas):
    file, products = {}, {name: torch.zeros_like(value) for name, value in made.items()}
    first, second = (".lora_down.weight", ".lora_up.weight") if alphas else (".lora_A.weight", ".lora_B.weight")
    for i, layer in enumerate(matrices(made)):
        down, up = factors(made[layer + ".weight"], seed + 2 * i)
        key, scale = name_of(layer), 1.0
        file[key + first], file[key + second] = down, up
        if alphas:
            file[f"{key}.alpha"] = torch.tensor(0.5 + i % 3)
            scale = (0.5 + i % 3) / len(down)
        products[layer + ".weight"] = up @ down * scale
    whole = {k.removesuffix(".weight"): v for k, v in converted(products).items() if k.endswith(".weight")}
    return file, whole


def lora_kohya(state, made):
    """As sd-scripts' sd3_train_network.py names layers."""
    return of_original(made, 3600, lambda layer: "lora_unet_" + layer.replace(".", "_"), True)


def lora_original(state, made):
    """As ComfyUI and ai-toolkit name layers of the original."""
    return of_original(made, 3800, lambda layer: "diffusion_model." + layer, False)


def lora_kohya_diffusers(state, made):
    """Diffusers' names by kohya's endings."""
    file, whole = {}, {}
    for i, layer in enumerate(matrices(state)):
        down, up = factors(state[layer + ".weight"], 4000 + 2 * i)
        key = "lora_transformer_" + layer.replace(".", "_")
        file[f"{key}.lora_down.weight"], file[f"{key}.lora_up.weight"] = down, up
        file[f"{key}.alpha"] = torch.tensor(1.0 + i % 2)
        whole[layer] = up @ down * (1.0 + i % 2) / len(down)
    return file, whole


def paths():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    made = original(state)
    kept = {"original": made}
    for make in (lora_diffusers, lora_kohya, lora_original, lora_kohya_diffusers):
        file, whole = make(state, made)
        compared = {k: v.float().contiguous() for k, v in whole.items() if k in COMPARED}
        kept[make.__name__] = {k: v.float() for k, v in file.items()}
        kept[make.__name__ + "_deltas"] = compared
    return {FOLDER / f"{name}.safetensors": tensors for name, tensors in kept.items()}


if __name__ == "__main__":
    write_or_compare(paths, __doc__)
