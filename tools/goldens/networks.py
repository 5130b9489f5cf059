#!/usr/bin/env python3
"""Tiny random checkpoints in the layout of diffusers and transformers, and what the reference makes of them.

  tools/goldens/networks.py [--only unet_sd1,kl_sd] [--check]

One folder a case under tests/goldens/networks: config.json, the weights, and one golden*.safetensors
for each set of inputs. Everything is fp32 on the CPU, with weights as they are after loading the file.
"""

import argparse
import json
import pathlib
import shutil

import common
import torch
from safetensors.torch import load_file, save_file

FOLDER = common.GOLDENS / "networks"


# ----------------------------------------------------------------------------------- checkpoints
def save_checkpoint(model, folder, seed, gain=1.0, dtype=torch.float32, rename=lambda state: state):
    """Weights from the seed, stored in dtype under the names that rename returns."""
    if folder.exists():
        shutil.rmtree(folder)
    common.reseed_parameters(model, seed, gain)
    model.to(dtype).save_pretrained(folder)
    weights = next(folder.glob("*.safetensors"))
    state = rename(load_file(weights))
    save_file(
        {name: value.contiguous() for name, value in state.items()},
        weights,
        metadata={"format": "pt"},
    )
    common.check_file(weights)
    generation = folder / "generation_config.json"
    generation.unlink(missing_ok=True)


def prefixed(state):
    """The names before transformers 5, and the buffer of positions that files of that time hold."""
    positions = next(v for k, v in state.items() if "position_embedding" in k).shape[0]
    named = {f"text_model.{name}": value for name, value in state.items()}
    return {**named, "text_model.embeddings.position_ids": torch.arange(positions)[None]}


def old_attention_names(state):
    """The names of autoencoders saved before diffusers 0.15, as Stable Diffusion 1.x's."""
    names = {"to_q": "query", "to_k": "key", "to_v": "value", "to_out.0": "proj_attn"}

    def old(name):
        for new, former in names.items():
            name = name.replace(f"attentions.0.{new}.", f"attentions.0.{former}.")
        return name

    return {old(name): value for name, value in state.items()}


def watched(model, names, run):
    """Runs and returns (result, {"mid.NAME": output of that module})."""
    seen, hooks = {}, []
    for name in names:

        def hook(module, inputs, output, name=name):
            output = output[0] if isinstance(output, tuple) else output
            seen[f"mid.{name}"] = output.clone()

        hooks.append(model.get_submodule(name).register_forward_hook(hook))
    try:
        return run(), seen
    finally:
        for hook in hooks:
            hook.remove()


# ------------------------------------------------------------------------------------------ CLIP
CLIP = dict(
    vocab_size=300,
    hidden_size=32,
    intermediate_size=80,
    num_hidden_layers=3,
    num_attention_heads=4,
    max_position_embeddings=16,
    hidden_act="quick_gelu",
    projection_dim=32,
    layer_norm_eps=1e-5,
    bos_token_id=298,
    eos_token_id=299,
    pad_token_id=299,
)


def clip_golden(model, ids):
    out = model(ids, output_hidden_states=True)
    tensors = {
        "in.input_ids": ids,
        "out.last_hidden_state": out.last_hidden_state,
        "out.pooler_output": out.pooler_output,
    }
    for index, state in enumerate(out.hidden_states):
        tensors[f"out.hidden_states.{index}"] = state
    for skip in range(len(out.hidden_states)):
        tensors[f"out.clip_skip_{skip}"] = model.final_layer_norm(out.hidden_states[-(skip + 1)])
    return tensors


def clip_ids(seed, rows, length):
    ids = torch.randint(3, 298, (rows, length), generator=torch.Generator().manual_seed(seed))
    ids[:, 0] = 298
    for row in range(rows):
        ids[row, min(length - 1, 3 + 4 * row) :] = 299
    return ids


def clip_case(seed=1, dtype=torch.float32, rename=lambda state: state, **config):
    from transformers import CLIPTextConfig, CLIPTextModel

    def make(folder):
        save_checkpoint(
            CLIPTextModel(CLIPTextConfig(**{**CLIP, **config})), folder, seed, 1.5, dtype, rename
        )

    def goldens(folder):
        model = CLIPTextModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", clip_golden(model, clip_ids(100, 3, 16))
        yield "golden_short", clip_golden(model, clip_ids(101, 1, 7))

    return make, goldens


# ------------------------------------------------------------------------------------------ UNet
UNET = dict(
    sample_size=16,
    in_channels=4,
    out_channels=4,
    layers_per_block=1,
    norm_num_groups=4,
    cross_attention_dim=24,
    block_out_channels=(8, 16, 16, 16),
    attention_head_dim=4,
)
TWO_LEVELS = dict(
    block_out_channels=(8, 16),
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
)


def unet_golden(model, seed, rows, height, width, timesteps, condition=None, watch=False):
    inputs = {
        "in.sample": common.normal(seed, rows, model.config.in_channels, height, width),
        "in.timestep": torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone(),
        "in.encoder_hidden_states": common.normal(
            seed + 1, rows, 7, model.config.cross_attention_dim
        ),
    }
    extra = {}
    if condition is not None:
        inputs["in.timestep_cond"] = extra["timestep_cond"] = common.normal(
            seed + 2, rows, condition
        )
    names = ["conv_in", "time_embedding", "conv_norm_out"]
    names += [f"down_blocks.{i}" for i in range(len(model.down_blocks))]
    names += ["mid_block"] if model.mid_block is not None else []
    names += [f"up_blocks.{i}" for i in range(len(model.up_blocks))]
    names += [n for n, m in model.named_modules() if type(m).__name__ == "Transformer2DModel"][:1]
    names = names if watch else []
    out, seen = watched(
        model,
        names,
        lambda: model(
            inputs["in.sample"], inputs["in.timestep"], inputs["in.encoder_hidden_states"], **extra
        ).sample,
    )
    return {**inputs, **seen, "out.sample": out}


def unet_controlled(model, seed, rows, height, width):
    """With what ControlNets and T2I-Adapters add, of the shapes that the down path makes."""
    tensors = unet_golden(model, seed, rows, height, width, [570.857])
    given = [tensors[f"in.{name}"] for name in ("sample", "timestep", "encoder_hidden_states")]
    skips, hooks = [[model.conv_in(given[0])]], []
    for block in model.down_blocks:
        hook = block.register_forward_hook(lambda module, _, out: skips.append(out[1]))
        hooks.append(hook)
    model(*given)
    for hook in hooks:
        hook.remove()
    number = iter(range(1, 100))

    def like(value):
        return 0.3 * common.normal(seed + next(number), *value.shape)

    down = [like(value) for block in skips for value in block]
    within = [
        like(made[len(block.resnets) - 1] if hasattr(block, "attentions") else made[-1])
        for block, made in zip(model.down_blocks, skips[1:])
    ]
    within.append(like(skips[-1][-1]))  # for the mid block
    extra = {"mid_block_additional_residual": like(skips[-1][-1])}
    lists = {
        "down_block_additional_residuals": down,
        "down_intrablock_additional_residuals": within,
    }
    for name, values in lists.items():
        tensors.update({f"in.{name}.{i}": value.clone() for i, value in enumerate(values)})
    tensors.update({f"in.{name}": value for name, value in extra.items()})
    tensors["out.sample"] = model(*given, **extra, **lists).sample
    return tensors


def unet_case(seed=2, dtype=torch.float32, **config):
    from diffusers import UNet2DConditionModel

    config = {**UNET, **config}

    def make(folder):
        save_checkpoint(UNet2DConditionModel(**config), folder, seed, 1.0, dtype)

    def goldens(folder):
        model = UNet2DConditionModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        condition = config.get("time_cond_proj_dim")
        yield "golden", unet_golden(
            model, 200, 3, 8, 8, [999.0, 0.0, 570.857], condition, watch=True
        )
        yield "golden_odd", unet_golden(model, 210, 1, 10, 14, [499.5], condition)
        yield "golden_wide", unet_golden(model, 220, 2, 12, 20, [1.0], condition)
        if seed == 2:
            yield "golden_controlled", unet_controlled(model, 240, 2, 9, 8)
        if (
            config.get("downsample_padding") != 0
        ):  # Without padding, the convolution is larger than this image.
            yield "golden_smallest", unet_golden(model, 230, 1, 1, 3, [250.0], condition)

    return make, goldens


# ------------------------------------------------------------------------------------------- VAE
KL = dict(
    block_out_channels=(8, 16, 16, 16),
    layers_per_block=1,
    latent_channels=4,
    norm_num_groups=4,
    sample_size=32,
    down_block_types=("DownEncoderBlock2D",) * 4,
    up_block_types=("UpDecoderBlock2D",) * 4,
)


def kl_encode(model, seed, rows, height, width):
    image = common.normal(seed, rows, 3, height, width).clamp(-1, 1)
    distribution, seen = watched(
        model,
        ["encoder.mid_block", "encoder", *(["quant_conv"] if model.quant_conv else [])],
        lambda: model.encode(image).latent_dist,
    )
    samples = [
        type(distribution)(distribution.parameters[row : row + 1]).sample(
            torch.Generator().manual_seed(seed + row)
        )
        for row in range(rows)
    ]
    return {
        "in.image": image,
        **seen,
        "in.seeds": torch.arange(seed, seed + rows),
        "out.mean": distribution.mean,
        "out.logvar": distribution.logvar,
        "out.std": distribution.std,
        "out.mode": distribution.mode(),
        "out.sample": torch.cat(samples),
    }


def kl_decode(model, seed, rows, height, width):
    latents = common.normal(seed, rows, model.config.latent_channels, height, width)
    out, seen = watched(
        model,
        [
            "decoder.conv_in",
            "decoder.mid_block",
            *(["post_quant_conv"] if model.post_quant_conv else []),
        ],
        lambda: model.decode(latents).sample,
    )
    return {"in.latents": latents, **seen, "out.image": out}


def kl_case(seed=3, dtype=torch.float32, rename=lambda state: state, wild_variance=False, **config):
    from diffusers import AutoencoderKL

    def make(folder):
        model = AutoencoderKL(**{**KL, **config})

        def renamed(state):
            if (
                wild_variance
            ):  # Beyond the limits (-30, 20) that the reference clamps log-variances to.
                state["quant_conv.bias"][5], state["quant_conv.bias"][6] = 25.0, -35.0
            return rename(state)

        save_checkpoint(model, folder, seed, 1.0, dtype, renamed)

    def goldens(folder):
        model = AutoencoderKL.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden_encode", kl_encode(model, 300, 2, 32, 48)
        yield "golden_encode_odd", kl_encode(model, 310, 1, 35, 21)
        yield "golden_decode", kl_decode(model, 320, 2, 4, 6)
        yield "golden_decode_smallest", kl_decode(model, 330, 1, 1, 1)

    return make, goldens


TINY = dict(encoder_block_out_channels=(8,) * 4, decoder_block_out_channels=(8,) * 4)


def tiny_case(seed=4, dtype=torch.float32, **config):
    from diffusers import AutoencoderTiny

    def make(folder):
        save_checkpoint(AutoencoderTiny(**{**TINY, **config}), folder, seed, 1.0, dtype)

    def goldens(folder):
        model = AutoencoderTiny.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        for name, rows, height, width in (("", 2, 32, 48), ("_odd", 1, 35, 21)):
            image = common.normal(400 + height, rows, 3, height, width).clamp(-1, 1)
            latents = model.encode(image).latents
            yield f"golden_encode{name}", {"in.image": image, "out.latents": latents}
        for name, rows, height, width in (("", 2, 4, 6), ("_smallest", 1, 1, 1)):
            # Three times wider than usual, so that the tanh at the decoder's start bends.
            latents = 3 * common.normal(
                410 + height, rows, model.config.latent_channels, height, width
            )
            yield f"golden_decode{name}", {
                "in.latents": latents,
                "out.image": model.decode(latents).sample,
            }

    return make, goldens


# ----------------------------------------------------------------------------------------- cases
def cases():
    half, brain = torch.float16, torch.bfloat16
    yield "clip_sd1", clip_case()
    yield "clip_sd1_prefixed", clip_case(rename=prefixed)
    yield "clip_sd2_gelu", clip_case(
        seed=11, hidden_act="gelu", num_hidden_layers=4, num_attention_heads=2, rename=prefixed
    )
    yield "clip_legacy_eos", clip_case(seed=12, bos_token_id=0, eos_token_id=2, pad_token_id=1)
    yield "clip_fp16", clip_case(seed=13, dtype=half)

    yield "unet_sd1", unet_case()
    yield "unet_sd1_two_layers", unet_case(
        seed=20,
        layers_per_block=2,
        block_out_channels=(8, 16),
        **{k: v for k, v in TWO_LEVELS.items() if "types" in k},
    )
    yield "unet_sd2", unet_case(
        seed=21, attention_head_dim=(1, 2, 4, 4), use_linear_projection=True, upcast_attention=True
    )
    yield "unet_inpaint", unet_case(seed=22, in_channels=9, **TWO_LEVELS)
    yield "unet_deep_transformers", unet_case(
        seed=23,
        block_out_channels=(8, 16, 16),
        layers_per_block=(1, 2, 1),
        transformer_layers_per_block=(1, 2, 3),
        attention_head_dim=(2, 4, 8),
        use_linear_projection=True,
        dtype=half,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    )
    # SSD-1B's way: a depth for each resnet, and other depths on the way up.
    yield "unet_nested_depths", unet_case(
        seed=35,
        block_out_channels=(8, 8, 8),
        layers_per_block=2,
        transformer_layers_per_block=[1, [2, 1], [2, 1]],
        reverse_transformer_layers_per_block=[[1, 2, 1], [2, 1, 3], 1],
        attention_head_dim=(1, 2, 4),
        use_linear_projection=True,
        dtype=half,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
    )
    yield "unet_scale_shift", unet_case(
        seed=24, dtype=half, resnet_time_scale_shift="scale_shift", **TWO_LEVELS
    )
    yield "unet_time_options", unet_case(
        seed=25,
        dtype=half,
        flip_sin_to_cos=False,
        freq_shift=1,
        center_input_sample=True,
        time_embedding_dim=48,
        **TWO_LEVELS,
    )
    yield "unet_time_cond", unet_case(seed=26, time_cond_proj_dim=12, **TWO_LEVELS)
    yield "unet_mid_scale", unet_case(
        seed=27, dtype=half, mid_block_scale_factor=1.5, norm_eps=1e-3, **TWO_LEVELS
    )
    yield "unet_asymmetric_padding", unet_case(
        seed=28, dtype=half, downsample_padding=0, **TWO_LEVELS
    )
    yield "unet_kernels", unet_case(
        seed=29, dtype=half, conv_in_kernel=5, conv_out_kernel=1, act_fn="gelu", **TWO_LEVELS
    )
    yield "unet_no_mid", unet_case(seed=30, dtype=half, mid_block_type=None, **TWO_LEVELS)
    yield "unet_groups_32", unet_case(
        seed=31,
        dtype=half,
        norm_num_groups=32,
        block_out_channels=(32,),
        down_block_types=("DownBlock2D",),
        up_block_types=("UpBlock2D",),
    )
    yield "unet_rare_options", unet_case(seed=34, mid_block_type="UNetMidBlock2D", only_cross_attention=True, act_fn="relu", time_embedding_act_fn="silu", timestep_post_act="gelu", **TWO_LEVELS)
    yield "unet_fp16", unet_case(seed=32, dtype=half, **TWO_LEVELS)
    yield "unet_bf16", unet_case(seed=33, dtype=brain, **TWO_LEVELS)

    import image_networks

    yield from image_networks.cases()

    yield "kl_sd", kl_case(wild_variance=True)
    yield "kl_old_names", kl_case(
        seed=40,
        rename=old_attention_names,
        layers_per_block=2,
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    yield "kl_no_quant", kl_case(
        seed=41,
        use_quant_conv=False,
        use_post_quant_conv=False,
        latent_channels=8,
        shift_factor=0.1159,
        scaling_factor=0.3611,
        force_upcast=False,
    )
    yield "kl_no_attention", kl_case(seed=42, mid_block_add_attention=False)
    yield "kl_fp16", kl_case(seed=43, dtype=half)

    yield "tiny_taesd", tiny_case()
    yield "tiny_emoji", tiny_case(seed=50, dtype=half, latent_channels=32, scaling_factor=2.47579)
    yield "tiny_uneven", tiny_case(
        seed=51,
        latent_channels=16,
        num_encoder_blocks=(2, 1, 3),
        num_decoder_blocks=(1, 2),
        act_fn="silu",
        encoder_block_out_channels=(8,) * 3,
        decoder_block_out_channels=(8,) * 2,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument(
        "--check", action="store_true", help="compare with what is there instead of writing"
    )
    options = parser.parse_args()
    for name, (make, goldens) in cases():
        if options.only and name not in options.only:
            continue
        folder = options.folder / name
        if not options.check:
            make(folder)
        for file, tensors in goldens(folder):
            path = folder / f"{file}.safetensors"
            if not all(bool(value.isfinite().all()) for value in tensors.values()):
                raise SystemExit(f"{path}: not finite")
            if options.check:
                common.report_difference(f"{name}/{file}", path, tensors)
            else:
                common.write_tensors(path, tensors)
        if not options.check:
            out = {k: f"{v.float().std():.2f}" for k, v in tensors.items() if k.startswith("out.")}
            config = json.loads((folder / "config.json").read_text())
            parameters = sum(
                v.numel()
                for v in load_file(
                    next(p for p in folder.glob("*.safetensors") if "golden" not in p.name)
                ).values()
            )
            print(name, config.get("_class_name", config.get("architectures")), parameters, out)


if __name__ == "__main__":
    main()
