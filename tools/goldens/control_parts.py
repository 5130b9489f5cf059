"""The networks that read images, tiny and random, as control.py's runs take them."""

import json
import shutil

import common
import image_networks
import networks
import numpy
import torch
from PIL import Image

# ----------------------------------------------------------------------------------------- parts
def write_inputs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    y, x = numpy.mgrid[0:64, 0:64]
    edges = ((x + y) % 16 < 3) | (numpy.abs(numpy.hypot(x - 32, y - 30) - 20) < 2)
    Image.fromarray((edges * 255).astype(numpy.uint8)).save(folder / "edges.png")
    y, x = numpy.mgrid[0:40, 0:48]
    depth = numpy.stack([x * 5, 255 - x * 5, y * 6], axis=2).astype(numpy.uint8)
    Image.fromarray(depth).save(folder / "depth_48x40.png")
    y, x = numpy.mgrid[0:64, 0:64]
    Image.fromarray(((x < 30) * 255).astype(numpy.uint8)).save(folder / "left.png")
    Image.fromarray(((y > 20) * 200).astype(numpy.uint8)).save(folder / "below.png")


CONTROLNET = dict(
    block_out_channels=(8, 16, 16, 16),
    layers_per_block=1,
    norm_num_groups=4,
    cross_attention_dim=32,
    attention_head_dim=8,
)
ADAPTER = dict(num_res_blocks=1, downscale_factor=8)


def write_controlnets(folder, **shape):
    from diffusers import ControlNetModel

    half, tamed = torch.float16, image_networks.tamed
    for name, seed, channels in (("a", 70, (4, 4, 8, 8)), ("b", 71, (4, 8, 4, 4))):
        model = ControlNetModel(
            **{**CONTROLNET, **shape}, conditioning_embedding_out_channels=channels
        )
        networks.save_checkpoint(model, folder / f"controlnet_{name}", seed, 1.0, half, tamed)


def write_pooled_controlnet(folder):
    """controlnet_a, whose residuals hold for the whole image."""
    pooled = folder / "controlnet_pooled"
    shutil.rmtree(pooled, ignore_errors=True)
    pooled.mkdir()
    config = json.loads((folder / "controlnet_a" / "config.json").read_text())
    common.write_json(pooled / "config.json", {**config, "global_pool_conditions": True})
    weights = "diffusion_pytorch_model.safetensors"
    shutil.copyfile(pooled.parent / "controlnet_a" / weights, pooled / weights)


def write_t2i_adapters(folder):
    from diffusers import T2IAdapter

    for name, seed, config in (
        ("full", 72, dict(channels=(8, 16, 16, 16))),
        ("light", 73, dict(channels=(8, 16, 16), adapter_type="light_adapter", in_channels=1)),
    ):
        model = T2IAdapter(**{**ADAPTER, **config})
        networks.save_checkpoint(model, folder / f"t2i_{name}", seed, 1.0, torch.float16)


def random_tensors(seed, shapes):
    """Weights by sorted name; scales near 1, so that what is made of them stays near 1."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, shape in sorted(shapes.items()):
        noise = torch.randn(shape, generator=generator)
        if len(shape) >= 2:
            tensors[name] = noise / shape[-1] ** 0.5
        else:
            tensors[name] = noise * 0.1 + (0 if name.endswith("bias") else 1)
    return {name: value.half() for name, value in tensors.items()}


def layer_shapes(unet):
    """Published IP-Adapters number the UNet's attentions; those to the text are the odd ones."""
    context = unet.config.cross_attention_dim
    shapes = {}
    for number, name in enumerate(n for n in unet.attn_processors if "attn2" in n):
        width = unet.get_submodule(name.removesuffix(".processor")).to_k.weight.shape[0]
        for what in ("to_k_ip", "to_v_ip"):
            shapes[f"ip_adapter.{2 * number + 1}.{what}.weight"] = (width, context)
    return shapes


def norm(name, width):
    return {f"{name}.weight": (width,), f"{name}.bias": (width,)}


def linear(name, out, width, bias=True):
    return {f"{name}.weight": (out, width), **({f"{name}.bias": (out,)} if bias else {})}


def plus_shapes(width, context, hidden=64, tokens=6, depth=4):
    shapes = {"latents": (1, tokens, hidden)}
    shapes |= linear("proj_in", hidden, width) | linear("proj_out", context, hidden)
    shapes |= norm("norm_out", context)
    for i in range(depth):
        shapes |= norm(f"layers.{i}.0.norm1", hidden) | norm(f"layers.{i}.0.norm2", hidden)
        for name, out in (("to_q", 64), ("to_kv", 128), ("to_out", hidden)):
            shapes |= linear(f"layers.{i}.0.{name}", out, hidden if name != "to_out" else 64, False)
        shapes |= norm(f"layers.{i}.1.0", hidden)
        shapes |= linear(f"layers.{i}.1.1", 4 * hidden, hidden, False)
        shapes |= linear(f"layers.{i}.1.3", hidden, 4 * hidden, False)
    return shapes


def write_ip_adapters(folder, unet, kinds, encoder=image_networks.VISION):
    context = unet.config.cross_attention_dim
    embeds, width = encoder["projection_dim"], encoder["hidden_size"]
    projections = {
        "base": linear("proj", 4 * context, embeds) | norm("norm", context),
        "plus": plus_shapes(width, context),
        "full": linear("proj.0", width, width)
        | linear("proj.2", context, width)
        | norm("proj.3", context),
    }
    for seed, kind in enumerate(kinds):
        shapes = {f"image_proj.{name}": shape for name, shape in projections[kind].items()}
        tensors = random_tensors(80 + seed, shapes | layer_shapes(unet))
        common.write_tensors(folder / f"ip_{kind}.safetensors", tensors)


def write_sd15_parts(folder, base):
    parts = folder / "parts"
    write_inputs(folder / "inputs")
    write_controlnets(parts)
    write_pooled_controlnet(parts)
    write_t2i_adapters(parts)
    write_ip_adapters(parts, base.unet, ("base", "plus", "full"))


XL_CONTROLNET = dict(
    block_out_channels=(8, 16, 16),
    down_block_types=("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
    cross_attention_dim=56,
    attention_head_dim=[1, 2, 4],
    transformer_layers_per_block=[1, 2, 3],
    use_linear_projection=True,
    addition_embed_type="text_time",
    addition_time_embed_dim=8,
    projection_class_embeddings_input_dim=68,
)


def write_xl_parts(folder, base):
    from diffusers import T2IAdapter

    parts = folder / "parts_xl"
    write_controlnets(parts, **XL_CONTROLNET)
    model = T2IAdapter(
        num_res_blocks=1,
        downscale_factor=16,
        channels=(8, 16, 16, 16),
        adapter_type="full_adapter_xl",
    )
    networks.save_checkpoint(model, parts / "t2i_xl", 74, 1.0, torch.float16)
    write_ip_adapters(parts, base.unet, ("base",))
