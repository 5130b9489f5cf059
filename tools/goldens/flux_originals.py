#!/usr/bin/env python3
"""FLUX.1's original layout: weights of its transformer, and adapters in the layouts that trainers write.

  tools/goldens/flux_originals.py [--check]

In tests/goldens/networks/flux_transformer_guidance (made by flux.py): original.safetensors, the same weights as the
original code names them; lora_LAYOUT.safetensors, adapters, and lora_LAYOUT_deltas.safetensors, what diffusers makes of
them: {a layer's name: what is added to its weight}. Where its converters count on the published sizes (3072 wide, 19 and
38 blocks), they are given these.
"""

import inspect
import re

import common
import torch
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders import single_file_utils as files
from flux import FLUX
from safetensors.torch import load_file
from golden_files import write_or_compare

FOLDER = common.GOLDENS / "networks" / "flux_transformer_guidance"
RANK = 2
WIDE = FLUX["attention_head_dim"] * FLUX["num_attention_heads"]
# Of each kind of place, one; of query, key and value all, for they are in one matrix.
COMPARED = {
    *(f"transformer_blocks.1.attn.{part}" for part in ("to_q", "to_k", "to_v", "add_v_proj")),
    "transformer_blocks.0.attn.to_out.0",
    "transformer_blocks.0.attn.to_add_out",
    "transformer_blocks.1.norm1_context.linear",
    "transformer_blocks.0.ff_context.net.2",
    *(f"single_transformer_blocks.2.{part}" for part in ("attn.to_q", "attn.to_v", "proj_mlp")),
    "single_transformer_blocks.1.proj_out",
    "single_transformer_blocks.0.norm.linear",
    "x_embedder",
    "norm_out.linear",
    "proj_out",
}

# ours: theirs, within a first block and within one of the others
DOUBLE = {
    "norm1.linear": "img_mod.lin",
    "norm1_context.linear": "txt_mod.lin",
    "attn.norm_q.weight": "img_attn.norm.query_norm.scale",
    "attn.norm_k.weight": "img_attn.norm.key_norm.scale",
    "attn.to_out.0": "img_attn.proj",
    "ff.net.0.proj": "img_mlp.0",
    "ff.net.2": "img_mlp.2",
    "attn.norm_added_q.weight": "txt_attn.norm.query_norm.scale",
    "attn.norm_added_k.weight": "txt_attn.norm.key_norm.scale",
    "attn.to_add_out": "txt_attn.proj",
    "ff_context.net.0.proj": "txt_mlp.0",
    "ff_context.net.2": "txt_mlp.2",
}
DOUBLE_STACKED = {
    "img_attn.qkv": ["attn.to_q", "attn.to_k", "attn.to_v"],
    "txt_attn.qkv": ["attn.add_q_proj", "attn.add_k_proj", "attn.add_v_proj"],
}
SINGLE = {
    "norm.linear": "modulation.lin",
    "proj_out": "linear2",
    "attn.norm_q.weight": "norm.query_norm.scale",
    "attn.norm_k.weight": "norm.key_norm.scale",
}
SINGLE_STACKED = {"linear1": ["attn.to_q", "attn.to_k", "attn.to_v", "proj_mlp"]}
OTHERS = {
    "x_embedder": "img_in",
    "context_embedder": "txt_in",
    "time_text_embed.timestep_embedder.linear_1": "time_in.in_layer",
    "time_text_embed.timestep_embedder.linear_2": "time_in.out_layer",
    "time_text_embed.guidance_embedder.linear_1": "guidance_in.in_layer",
    "time_text_embed.guidance_embedder.linear_2": "guidance_in.out_layer",
    "time_text_embed.text_embedder.linear_1": "vector_in.in_layer",
    "time_text_embed.text_embedder.linear_2": "vector_in.out_layer",
    "proj_out": "final_layer.linear",
}


def at_our_size(function):
    """A converter of diffusers that takes 3072 for the width, 19 and 38 for the numbers of blocks, with ours."""
    source = inspect.getsource(function)
    for theirs, ours in (
        ("inner_dim = 3072", f"inner_dim = {WIDE}"),
        ("dims=[3072, 3072, 3072, 12288]", f"dims={[WIDE, WIDE, WIDE, 4 * WIDE]}"),
        ("num_layers = 19", f"num_layers = {FLUX['num_layers']}"),
        ("num_single_layers = 38", f"num_single_layers = {FLUX['num_single_layers']}"),
    ):
        source = source.replace(theirs, ours)
    scope = dict(vars(inspect.getmodule(function)))
    exec(source, scope)
    return scope[function.__name__]


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {}
    for ours, theirs in OTHERS.items():
        made.update({f"{theirs}.{end}": state[f"{ours}.{end}"] for end in ("weight", "bias")})
    for end in ("weight", "bias"):
        scale, shift = state[f"norm_out.linear.{end}"].chunk(2)
        made[f"final_layer.adaLN_modulation.1.{end}"] = torch.cat([shift, scale])
    kinds = (
        ("transformer_blocks", "double_blocks", FLUX["num_layers"], DOUBLE, DOUBLE_STACKED),
        ("single_transformer_blocks", "single_blocks", FLUX["num_single_layers"], SINGLE, SINGLE_STACKED),
    )
    for ours, theirs, count, plain, stacked in kinds:
        for i in range(count):
            for name, other in plain.items():
                whole = name.endswith(".weight")
                for end in ("",) if whole else (".weight", ".bias"):
                    made[f"{theirs}.{i}.{other}{end}"] = state[f"{ours}.{i}.{name}{end}"]
            for other, names in stacked.items():
                for end in ("weight", "bias"):
                    each = [state[f"{ours}.{i}.{name}.{end}"] for name in names]
                    made[f"{theirs}.{i}.{other}.{end}"] = torch.cat(each)
    back = at_our_size(files.convert_flux_transformer_checkpoint_to_diffusers)(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def factors(weight, seed):
    """{down, up} for a matrix."""
    return common.normal(seed, RANK, weight.shape[1]), common.normal(
        seed + 1, weight.shape[0], RANK
    )


def matrices(weights):
    """Names (without .weight) of the matrices that the LoRAs change, original or diffusers'."""
    names = (name for name in sorted(weights) if weights[name].ndim == 2)
    return [name.removesuffix(".weight") for name in names]


def lora_diffusers(state, made):
    file = {}
    for i, layer in enumerate(matrices(state)):
        down, up = factors(state[layer + ".weight"], 2000 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file, file


def kohya(made, seed, prefix, dots, alphas=True):
    """The original's layers by kohya's endings. The reference leaves the last layers' alphas out: no alpha there."""
    file = {}
    for i, layer in enumerate(matrices(made)):
        down, up = factors(made[layer + ".weight"], seed + 2 * i)
        key = prefix + (layer if dots else layer.replace(".", "_"))
        file[f"{key}.lora_down.weight"], file[f"{key}.lora_up.weight"] = down, up
        if alphas and not layer.startswith("final_layer"):
            file[f"{key}.alpha"] = torch.tensor(0.5 + i % 3)
    return file


def converted_kohya(file):
    convert = at_our_size(loras._convert_kohya_flux_lora_to_diffusers)
    return convert({name: value.clone() for name, value in file.items()})


def lora_kohya(state, made):
    file = kohya(made, 2200, "lora_unet_", dots=False)
    return file, converted_kohya(file)


def lora_mixture(state, made):
    """Diffusers' names with underscores, of attention and what is outside blocks."""
    file = {}
    layers = [name for name in matrices(state) if ".attn." in name or "blocks" not in name]
    for i, layer in enumerate(layers):
        down, up = factors(state[layer + ".weight"], 2400 + 2 * i)
        key = "lora_transformer_" + layer.replace(".", "_")
        file[f"{key}.lora_down.weight"], file[f"{key}.lora_up.weight"] = down, up
        file[f"{key}.alpha"] = torch.tensor(1.0 + i % 2)
    return file, converted_kohya(file)


def lora_comfy(state, made):
    """The original's names below diffusion_model, without alphas."""
    file = kohya(made, 2600, "diffusion_model.", dots=True, alphas=False)
    renamed = {"lora_unet_" + re.sub(r"\.(?!lora_)", "_", k.removeprefix("diffusion_model.").rsplit(".lora_", 1)[0]) + ".lora_" + k.rsplit(".lora_", 1)[1]: v for k, v in file.items()}
    return file, converted_kohya(renamed)


def lora_xlabs(state, made):
    file = {}
    places = [
        (f"double_blocks.{i}.processor.{kind}_lora{n}", f"double_blocks.{i}.{stream}_attn.{layer}")
        for i in range(FLUX["num_layers"])
        for n, stream in ((1, "img"), (2, "txt"))
        for kind, layer in (("qkv", "qkv"), ("proj", "proj"))
    ]
    for i, (key, layer) in enumerate(places):
        down, up = factors(made[layer + ".weight"], 2800 + 2 * i)
        file[f"{key}.down.weight"], file[f"{key}.up.weight"] = down, up
    for i in range(FLUX["num_single_layers"]):
        key = f"single_blocks.{i}.processor"
        down, up = factors(made[f"single_blocks.{i}.linear1.weight"][: 3 * WIDE], 2900 + 4 * i)
        file[f"{key}.qkv_lora.down.weight"], file[f"{key}.qkv_lora.up.weight"] = down, up
        down, up = factors(made[f"single_blocks.{i}.linear2.weight"], 2902 + 4 * i)
        file[f"{key}.proj_lora.down.weight"], file[f"{key}.proj_lora.up.weight"] = down, up
    return file, loras._convert_xlabs_flux_lora_to_diffusers(dict(file))


def peft_of_original(made, seed, prefix):
    file = {}
    for i, layer in enumerate(matrices(made)):
        down, up = factors(made[layer + ".weight"], seed + 2 * i)
        file[f"{prefix}{layer}.lora_A.weight"] = down
        file[f"{prefix}{layer}.lora_B.weight"] = up
    return file


def lora_bfl(state, made):
    """The original's own names, as its Depth and Canny LoRAs; those hold biases and norms in addition."""
    file = peft_of_original(made, 3000, "")
    given = dict(file)
    for name, value in made.items():
        if name.endswith(".scale"):
            given[name] = value  # the converter wants the norms
    converted = at_our_size(loras._convert_bfl_flux_control_lora_to_diffusers)(given)
    # It swaps the halves of the last norm's lora_A as well, which mixes up ranks: not compared.
    return file, {k: v for k, v in converted.items() if "norm_out" not in k}


def lora_kontext(state, made):
    """The original's names below base_model.model, as fal's trainer writes them, of blocks alone."""
    file = peft_of_original(made, 3200, "base_model.model.")
    blocks = {k: v for k, v in file.items() if "_blocks." in k or "final_layer.linear" in k}
    convert = at_our_size(loras._convert_fal_kontext_lora_to_diffusers)
    return blocks, convert(dict(blocks))


def deltas(converted):
    made = {}
    for name, up in converted.items():
        if not name.endswith(".lora_B.weight"):
            continue
        layer = name.removeprefix("transformer.").removesuffix(".lora_B.weight")
        made[layer] = up @ converted[name.replace("lora_B", "lora_A")]
    return made


def paths():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    made = original(state)
    kept = {"original": made}
    makers = (lora_diffusers, lora_kohya, lora_mixture, lora_comfy, lora_xlabs, lora_bfl, lora_kontext)
    for make in makers:
        file, converted = make(state, made)
        compared = {k: v for k, v in deltas(converted).items() if k in COMPARED}
        print(make.__name__, len(file), "tensors,", len(compared), "compared")
        kept[make.__name__] = {k: v.to(torch.float32) for k, v in file.items()}
        kept[make.__name__ + "_deltas"] = {k: v.to(torch.float32) for k, v in compared.items()}
    return {FOLDER / f"{name}.safetensors": tensors for name, tensors in kept.items()}


if __name__ == "__main__":
    write_or_compare(paths, __doc__)
