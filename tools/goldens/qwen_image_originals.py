#!/usr/bin/env python3
"""Qwen-Image's original layouts: weights of its autoencoder, and adapters in the layouts that trainers write.

  tools/goldens/qwen_image_originals.py [--check]

In tests/goldens/networks/qwen_image_transformer (made by qwen_image.py): lora_LAYOUT.safetensors, adapters, and
lora_LAYOUT_deltas.safetensors, what diffusers makes of them: {a layer's name: what is added to its weight}. In
tests/goldens/networks/qwen_image_vae_wan: original.safetensors, the same weights as the original code names them.
"""

import re

import common
import torch
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders.single_file_utils import convert_wan_vae_to_diffusers
from safetensors.torch import load_file
from golden_files import write_or_compare

FOLDER = common.GOLDENS / "networks" / "qwen_image_transformer"
VAE = common.GOLDENS / "networks" / "qwen_image_vae_wan"
RANK = 2
MORE = (
    "img_in",
    "txt_in",
    "proj_out",
    "norm_out.linear",
    "time_text_embed.timestep_embedder.linear_1",
)
# Of each kind of place, one.
COMPARED = {
    *(f"transformer_blocks.1.attn.{part}" for part in ("to_q", "add_k_proj", "to_out.0", "to_add_out")),
    "transformer_blocks.1.img_mlp.net.2",
    "transformer_blocks.1.txt_mod.1",
    *MORE,
}


def adapted(state):
    """Names (without .weight) of the matrices that the LoRAs change."""
    return [
        name.removesuffix(".weight")
        for name in sorted(state)
        if state[name].ndim == 2 and name.startswith(("transformer_blocks.1.", *MORE))
    ]


def factors(weight, seed):
    down = common.normal(seed, RANK, weight.shape[1])
    return down, common.normal(seed + 1, weight.shape[0], RANK)


def lora(state, seed, prefix, names, with_alpha=False, flat=False):
    """names: how the file calls the two factors."""
    file = {}
    for i, layer in enumerate(adapted(state)):
        key = prefix + (layer.replace(".", "_") if flat else layer)
        down, up = factors(state[layer + ".weight"], seed + 2 * i)
        file[f"{key}.{names[0]}.weight"], file[f"{key}.{names[1]}.weight"] = down, up
        if with_alpha:
            file[f"{key}.alpha"] = torch.tensor(0.5 + i % 3)
    return file


AB, DOWN_UP = ("lora_A", "lora_B"), ("lora_down", "lora_up")


def lora_files(state):
    yield "lora_diffusers", lora(state, 900, "transformer.", AB)
    yield "lora_ai_toolkit", lora(state, 1000, "diffusion_model.", AB)
    # As Qwen-Image-Lightning's files: no prefix.
    yield "lora_lightning", lora(state, 1100, "", DOWN_UP, with_alpha=True)
    yield "lora_kohya", lora(state, 1200, "lora_unet_", DOWN_UP, with_alpha=True, flat=True)
    # As DiffSynth writes peft's names.
    yield "lora_default", lora(state, 1300, "", ("lora_A.default", "lora_B.default"))


def deltas(file):
    """By diffusers' own reading, which takes names below "transformer." as they are."""
    if not all(name.startswith("transformer.") for name in file):
        file = loras._convert_non_diffusers_qwen_lora_to_diffusers(
            {name: value.clone() for name, value in file.items()}
        )
    made = {}
    for name, up in file.items():
        if ".lora_B." in name:
            layer = name.removeprefix("transformer.").removesuffix(".lora_B.weight")
            if layer in COMPARED:
                made[layer] = up @ file[name.replace("lora_B", "lora_A")]
    return made


# ------------------------------------------------------------------------------------ autoencoder
def wan_name(name, resnets):
    """The original's name of a parameter (github Wan-Video/Wan2.1, wan/modules/vae.py)."""
    for ours, theirs in (
        (r"^quant_conv", "conv1"),
        (r"^post_quant_conv", "conv2"),
        (r"conv_in", "conv1"),
        (r"norm_out", "head.0"),
        (r"conv_out", "head.2"),
        (r"mid_block\.resnets\.0", "middle.0"),
        (r"mid_block\.attentions\.0", "middle.1"),
        (r"mid_block\.resnets\.1", "middle.2"),
        (r"down_blocks", "downsamples"),
        (r"norm1\.", "residual.0."),
        (r"(middle\.\d|downsamples\.\d+|resnets\.\d)\.conv1\.", r"\1.residual.2."),
        (r"norm2\.", "residual.3."),
        (r"(middle\.\d|downsamples\.\d+|resnets\.\d)\.conv2\.", r"\1.residual.6."),
        (r"conv_shortcut", "shortcut"),
    ):
        name = re.sub(ours, theirs, name)

    def place(found):
        level, kind, index = int(found[1]), found[2], int(found[3])
        return f"upsamples.{level * (resnets + 1) + (index if kind == 'resnets' else resnets)}"

    return re.sub(r"up_blocks\.(\d)\.(resnets|upsamplers)\.(\d)", place, name)


def original_vae(state):
    made = {wan_name(name, 3): weight for name, weight in state.items()}
    back = convert_wan_vae_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def paths():
    made = {}
    for name, file in lora_files(load_file(FOLDER / "diffusion_pytorch_model.safetensors")):
        made[FOLDER / f"{name}.safetensors"] = file
        made[FOLDER / f"{name}_deltas.safetensors"] = deltas(file)
    vae = load_file(VAE / "diffusion_pytorch_model.safetensors")
    return {**made, VAE / "original.safetensors": original_vae(vae)}


if __name__ == "__main__":
    write_or_compare(paths, __doc__)
