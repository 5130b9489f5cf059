#!/usr/bin/env python3
"""Tiny random FLUX.3 folders: what diffusers and transformers make of their networks, and of requests to them.

  tools/goldens/flux3.py [--only networks,originals] [--check]

tests/goldens/networks/flux3_transformer* as networks.py makes them, with original.safetensors, the same weights as the
original code names them, and lora_LAYOUT.safetensors with lora_LAYOUT_deltas.safetensors next to the first, as
flux2_originals.py makes them.
"""

import common
import flux2_originals
import networks
import torch
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders.single_file_utils import convert_flux3_transformer_checkpoint_to_diffusers
from diffusers.modular_pipelines.flux3 import before_denoise
from golden_files import arguments, check_or_write, make_networks
from safetensors.torch import load_file

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
FLUX3 = dict(
    in_channels=12,
    cond_in_channels=12,
    num_layers=2,
    num_single_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    timestep_channels=16,
    mlp_ratio=3.0,
    axes_dims_rope=(2, 4, 4, 2),
)
ROPE_SCALE = before_denoise.Flux3PrepareLatentsStep().image_rope_scale


def tokens_of(latents):
    return latents.flatten(2).transpose(1, 2)


def flux3_golden(model, seed, rows, height, width, text, timesteps, targets, references=()):
    """references: {height, width} of each image next to the one that is made."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    more = {}
    if config.flow_map:
        inputs["in.target_timestep"] = torch.tensor(targets, dtype=torch.float32).expand(rows).clone()
        more["target_timestep"] = inputs["in.target_timestep"] / 1000
    if references:
        images = [
            common.normal(seed + 2 + i, 1, config.cond_in_channels, *size)
            for i, size in enumerate(references)
        ]
        ids = [
            before_denoise._prepare_image_ids(*size, ROPE_SCALE, l_coord=-(1 + i))
            for i, size in enumerate(references)
        ]
        packed = torch.cat([tokens_of(image) for image in images], 1).repeat(rows, 1, 1)
        theirs = torch.cat(ids)
        inputs["in.reference_latents"] = packed
        inputs["in.reference_ids"] = theirs[None].repeat(rows, 1, 1)
        more.update(image_cond_hidden_states=packed, image_cond_ids=theirs)
    out = model(
        tokens_of(sample),
        encoder_hidden_states=embeds,
        timestep=times / 1000,
        img_ids=before_denoise._prepare_image_ids(height, width, ROPE_SCALE),
        txt_ids=before_denoise.Flux3TextRoPEInputsStep._prepare_text_ids(embeds),
        return_dict=False,
        **more,
    )[0]
    return {**inputs, "out.sample": out.unflatten(1, (height, width)).permute(0, 3, 1, 2)}


def load_transformer(folder):
    """All in fp32, without the package that the reference loads parts in other types by."""
    from diffusers import Flux3Transformer2DModel

    model = Flux3Transformer2DModel.from_config(Flux3Transformer2DModel.load_config(folder))
    state = load_file(folder / "diffusion_pytorch_model.safetensors")
    model.load_state_dict({name: weight.float() for name, weight in state.items()})
    return model.eval()


def flux3_case(seed, dtype=torch.float32, **config):
    from diffusers import Flux3Transformer2DModel

    def make(folder):
        model = Flux3Transformer2DModel(**{**FLUX3, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = load_transformer(folder)
        yield "golden", flux3_golden(model, 1800, 3, 4, 4, 7, [999.0, 1.0, 570.857], [910.0, 0.0, 500.0])
        yield "golden_wide", flux3_golden(model, 1810, 1, 3, 11, 13, [499.5], [250.25])
        yield "golden_references", flux3_golden(
            model, 1820, 2, 5, 3, 6, [875.0], [0.0], references=((3, 5), (2, 1))
        )
        yield "golden_smallest", flux3_golden(model, 1830, 1, 1, 1, 1, [250.0], [125.0])

    return make, goldens


def network_cases():
    yield "flux3_transformer", flux3_case(320, torch.bfloat16)
    yield "flux3_transformer_flow_map", flux3_case(321, HALF, flow_map=True)
    yield "flux3_transformer_rare_options", flux3_case(
        322,
        cond_in_channels=8,
        rope_theta=100,
        mlp_ratio=2.4,
        eps=1e-3,
        axes_dims_rope=(2, 6, 2, 2),
        num_single_layers=1,
        num_layers=1,
    )


# ------------------------------------------------------------------------------------ the original
FOLDER = common.GOLDENS / "networks" / "flux3_transformer_flow_map"
# Of each kind of place, one.
COMPARED = {
    "mode_blocks.image.1.attn.to_q",
    "mode_blocks.image_cond.0.attn.to_out.0",
    "txt_mode_blocks.1.ff.linear_in",
    "single_transformer_blocks.2.attn.to_v",
    "single_transformer_blocks.0.ff.linear_out",
}
LAYERS = {
    "attn.to_q": "q_proj",
    "attn.to_k": "k_proj",
    "attn.to_v": "v_proj",
    "attn.to_out.0": "attn_out",
    "ff.linear_in": "mlp_in",
    "ff.linear_out": "mlp_out",
    "attn.norm_q.weight": "norm.query_norm.scale",
    "attn.norm_k.weight": "norm.key_norm.scale",
}
STARTS = {
    "x_embedders.": "emb_in.",
    "context_embedder.": "txt_in.",
    "mode_blocks.": "content_mode_blocks.",
    "single_transformer_blocks.": "single_blocks.",
    "timestep_embedder.linear_1": "time_in.in_layer",
    "timestep_embedder.linear_2": "time_in.out_layer",
    "target_timestep_embedder.linear_1": "ref_time_in.in_layer",
    "target_timestep_embedder.linear_2": "ref_time_in.out_layer",
    "proj_out": "final_layer.image.linear",
    "norm_out.linear": "final_layer.image.adaLN_modulation.1",
}


def original_name(name):
    for ours, theirs in STARTS.items():
        if name.startswith(ours):
            name = theirs + name[len(ours) :]
            break
    if "stream_modulations" in name:
        name = name.replace(".linear", ".lin")
    for ours, theirs in LAYERS.items():
        name = name.replace(ours, theirs)
    return name


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {original_name(name): value for name, value in state.items()}
    scale, shift = state["norm_out.linear.weight"].chunk(2)
    made["final_layer.image.adaLN_modulation.1.weight"] = torch.cat([shift, scale])
    # With what training alone needs, which the reference drops.
    training = {"repa_projectors.0.weight": torch.zeros(2, 2, dtype=HALF)}
    back = convert_flux3_transformer_checkpoint_to_diffusers({**made, **training})
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def lora_diffusers(layers):
    file = {}
    for i, (layer, weight) in enumerate(layers.items()):
        down, up = flux2_originals.factors(weight, 1900 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file, file


def lora_original(layers):
    """As BFL's trainers and ai-toolkit name them."""
    file = {}
    for i, (layer, weight) in enumerate(layers.items()):
        down, up = flux2_originals.factors(weight, 1960 + 2 * i)
        file[f"diffusion_model.{original_name(layer)}.lora_A.weight"] = down
        file[f"diffusion_model.{original_name(layer)}.lora_B.weight"] = up
    return file, loras._convert_non_diffusers_flux3_lora_to_diffusers(dict(file))


def originals():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    yield "original", original(state)
    matrices = {
        name.removesuffix(".weight"): weight
        for name, weight in sorted(state.items())
        if weight.ndim == 2 and "_blocks." in "_" + name
    }
    for make in (lora_diffusers, lora_original):
        file, converted = make(matrices)
        compared = {k: v for k, v in flux2_originals.deltas(converted).items() if k in COMPARED}
        assert compared.keys() == COMPARED
        yield make.__name__, {k: v.to(torch.float32) for k, v in file.items()}
        yield make.__name__ + "_deltas", {k: v.to(torch.float32) for k, v in compared.items()}


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals"}
    with torch.no_grad():
        if "networks" in wanted:
            make_networks(network_cases(), options.check)
        if "originals" in wanted:
            for name, tensors in originals():
                check_or_write(FOLDER / f"{name}.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
