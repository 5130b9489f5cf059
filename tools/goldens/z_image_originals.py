#!/usr/bin/env python3
"""Z-Image's original layout: weights of its transformer, and adapters in the layouts that trainers write.

  tools/goldens/z_image_originals.py [--check]

In tests/goldens/networks/z_image_transformer (made by z_image.py): original.safetensors, the same weights as the
original code names them; lora_LAYOUT.safetensors and lokr_ai_toolkit.safetensors, adapters, and
..._LAYOUT_deltas.safetensors, what diffusers makes of them: {a layer's name: what is added to its weight}.
"""


import common
import torch
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders.single_file_utils import convert_z_image_transformer_checkpoint_to_diffusers
from flux2_originals import deltas, factors, lokr_file
from safetensors.torch import load_file
from golden_files import write_or_compare

FOLDER = common.GOLDENS / "networks" / "z_image_transformer"
# Of each kind of place, one; of query, key and value all, for they are in one matrix.
COMPARED = {
    *(f"layers.1.attention.{part}" for part in ("to_q", "to_k", "to_v", "to_out.0")),
    "layers.2.feed_forward.w1",
    "layers.0.adaLN_modulation.0",
    "context_refiner.1.attention.to_v",
    "context_refiner.0.feed_forward.w2",
    "noise_refiner.0.attention.to_q",
    "noise_refiner.1.feed_forward.w3",
}
RENAMED = {
    "all_x_embedder.2-1.": "x_embedder.",
    "all_final_layer.2-1.": "final_layer.",
    ".attention.to_out.0.": ".attention.out.",
    ".attention.norm_q.": ".attention.q_norm.",
    ".attention.norm_k.": ".attention.k_norm.",
}


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {}
    for name, weight in state.items():
        for ours, theirs in RENAMED.items():
            name = name.replace(ours, theirs)
        made[name] = weight
    for query in [name for name in made if name.endswith(".attention.to_q.weight")]:
        names = [query.replace("to_q", f"to_{part}") for part in "qkv"]
        made[query.replace("to_q", "qkv")] = torch.cat([made.pop(name) for name in names])
    prefixed = {f"model.diffusion_model.{name}": weight for name, weight in made.items()}
    back = convert_z_image_transformer_checkpoint_to_diffusers(prefixed)
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def adapted(weights):
    """Names (without .weight) of the blocks' matrices, original or diffusers'."""
    blocks = ("layers.", "noise_refiner.", "context_refiner.")
    return [
        name.removesuffix(".weight")
        for name in sorted(weights)
        if weights[name].ndim == 2 and name.startswith(blocks)
    ]


def converted(file):
    return loras._convert_non_diffusers_z_image_lora_to_diffusers(
        {name: value.clone() for name, value in file.items()}
    )


def lora_diffusers(state, made):
    file = {}
    for i, layer in enumerate(adapted(state)):
        down, up = factors(state[layer + ".weight"], 1600 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file, file


def lora_ai_toolkit(state, made):
    """Diffusers' names below the original's prefix."""
    file = {}
    for i, layer in enumerate(adapted(state)):
        down, up = factors(state[layer + ".weight"], 1700 + 2 * i)
        file[f"diffusion_model.{layer}.lora_A.weight"] = down
        file[f"diffusion_model.{layer}.lora_B.weight"] = up
    return file, converted(file)


def kohya(weights, seed):
    file = {}
    for i, layer in enumerate(adapted(weights)):
        down, up = factors(weights[layer + ".weight"], seed + 2 * i)
        key = "lora_unet_" + layer.replace(".", "_")
        file[f"{key}.lora_down.weight"], file[f"{key}.lora_up.weight"] = down, up
        file[f"{key}.alpha"] = torch.tensor(0.5 + i % 3)
    return file


def lora_kohya(state, made):
    """The original's modules, where query, key and value are one."""
    file = kohya(made, 1800)
    return file, converted(file)


def lora_kohya_split(state, made):
    """Diffusers' modules."""
    file = kohya(state, 1900)
    # The reference takes to_out_0 for an unknown name.
    file = {name: value for name, value in file.items() if "to_out" not in name}
    return file, converted(file)


def lokr_ai_toolkit(state, made):
    names = {f"diffusion_model.{layer}": state[layer + ".weight"] for layer in adapted(state)}
    file = lokr_file(names, 2000)
    return file, loras._convert_non_diffusers_lokr_to_diffusers(dict(file))


def lokr_deltas(theirs):
    made = {}
    for name, left in theirs.items():
        if not name.endswith(".lokr_w1"):
            continue
        base = name.removesuffix(".lokr_w1")
        right = theirs.get(base + ".lokr_w2")
        if right is None:
            right = theirs[base + ".lokr_w2_a"] @ theirs[base + ".lokr_w2_b"]
        made[base.removeprefix("transformer.")] = torch.kron(left, right)
    return made


def paths():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    made = original(state)
    files = {"original": made}
    for make in (lora_diffusers, lora_ai_toolkit, lora_kohya, lora_kohya_split, lokr_ai_toolkit):
        file, theirs = make(state, made)
        whole = lokr_deltas(theirs) if make is lokr_ai_toolkit else deltas(theirs)
        kept = {name: value.contiguous() for name, value in whole.items() if name in COMPARED}
        files[make.__name__] = {name: value.float() for name, value in file.items()}
        files[make.__name__ + "_deltas"] = kept
    return {FOLDER / f"{name}.safetensors": tensors for name, tensors in files.items()}


if __name__ == "__main__":
    write_or_compare(paths, __doc__)
