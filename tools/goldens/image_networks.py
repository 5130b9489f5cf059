"""The cases of networks.py that read images: CLIP's image encoder, ControlNet and T2I-Adapter."""

import common
import networks
import torch

# ------------------------------------------------------------------------------------ CLIP vision
VISION = dict(
    hidden_size=32,
    intermediate_size=64,
    projection_dim=24,
    num_hidden_layers=3,
    num_attention_heads=4,
    image_size=32,
    patch_size=8,
)


def vision_golden(model, seed, rows):
    pixels = common.normal(seed, rows, 3, model.config.image_size, model.config.image_size)
    out = model(pixels, output_hidden_states=True)
    tensors = {"in.pixel_values": pixels, "out.last_hidden_state": out.last_hidden_state}
    for name in ("image_embeds", "pooler_output"):
        if getattr(out, name, None) is not None:
            tensors[f"out.{name}"] = getattr(out, name)
    for index, state in enumerate(out.hidden_states):
        tensors[f"out.hidden_states.{index}"] = state
    return tensors


def vision_case(seed=5, projected=True, dtype=torch.float32, **config):
    from transformers import CLIPVisionConfig, CLIPVisionModel, CLIPVisionModelWithProjection

    kind = CLIPVisionModelWithProjection if projected else CLIPVisionModel

    def make(folder):
        model = kind(CLIPVisionConfig(**{**VISION, **config}))
        networks.save_checkpoint(model, folder, seed, 1.5, dtype)

    def goldens(folder):
        model = kind.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", vision_golden(model, 500, 2)

    return make, goldens


# ----------------------------------------------------------------------- ControlNet, T2I-Adapter
CONTROLNET = dict(
    norm_num_groups=4,
    cross_attention_dim=24,
    block_out_channels=(8, 16),
    layers_per_block=1,
    attention_head_dim=4,
    down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
    conditioning_embedding_out_channels=(4, 4, 8, 8),
)


def controlnet_golden(model, seed, rows, height, width):
    scale = 2 ** (len(model.config.conditioning_embedding_out_channels) - 1)
    image = common.normal(
        seed, rows, model.config.conditioning_channels, height * scale, width * scale
    )
    inputs = {
        "in.sample": common.normal(seed + 1, rows, model.config.in_channels, height, width),
        "in.timestep": torch.tensor([570.857], dtype=torch.float32).expand(rows).clone(),
        "in.encoder_hidden_states": common.normal(
            seed + 2, rows, 7, model.config.cross_attention_dim
        ),
        "in.controlnet_cond": image.abs().clamp(0, 1),
    }
    out = model(**{name.split(".")[1]: value for name, value in inputs.items()})
    names = [f"out.down.{i}" for i in range(len(out.down_block_res_samples))]
    return {
        **inputs,
        **dict(zip(names, out.down_block_res_samples)),
        "out.mid": out.mid_block_res_sample,
    }


def tamed(state):
    """reseed_parameters takes the image's embedding for a table: its 3x3 filters are 3 times too wide."""
    prefix = "controlnet_cond_embedding."
    return {
        name: value / 3 if name.startswith(prefix) and value.ndim == 4 else value
        for name, value in state.items()
    }


def controlnet_case(seed=6, dtype=torch.float32, **config):
    from diffusers import ControlNetModel

    def make(folder):
        model = ControlNetModel(**{**CONTROLNET, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype, tamed)

    def goldens(folder):
        model = ControlNetModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", controlnet_golden(model, 600, 2, 8, 8)
        yield "golden_odd", controlnet_golden(model, 610, 1, 5, 7)

    return make, goldens


T2I = dict(channels=(8, 16, 16), num_res_blocks=2, downscale_factor=8)


def t2i_case(seed=7, dtype=torch.float32, **config):
    from diffusers import T2IAdapter

    config = {**T2I, **config}

    def make(folder):
        networks.save_checkpoint(T2IAdapter(**config), folder, seed, 1.0, dtype)

    def goldens(folder):
        model = T2IAdapter.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        for name, height, width in (("golden", 8, 8), ("golden_odd", 5, 7)):
            factor = config["downscale_factor"]
            image = common.normal(
                700 + height, 1, model.config.in_channels, height * factor, width * factor
            )
            features = {f"out.{i}": value for i, value in enumerate(model(image))}
            yield name, {"in.image": image, **features}

    return make, goldens


# ----------------------------------------------------------------------------------------- cases
def cases():
    half = torch.float16
    yield "vision_projected", vision_case()
    yield "vision_plain", vision_case(seed=60, projected=False, dtype=half)
    yield "vision_uneven", vision_case(
        seed=61, dtype=half, hidden_act="gelu", image_size=22, patch_size=7, num_hidden_layers=1
    )
    yield "controlnet_sd1", controlnet_case()
    yield "controlnet_options", controlnet_case(
        seed=62,
        dtype=half,
        num_attention_heads=(2, 4),
        block_out_channels=(8, 8),
        layers_per_block=2,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        mid_block_type="UNetMidBlock2D",
        downsample_padding=0,
        controlnet_conditioning_channel_order="bgr",
        conditioning_embedding_out_channels=(4, 8),
        use_linear_projection=True,
    )
    yield "t2i_full", t2i_case()
    yield "t2i_full_xl", t2i_case(
        seed=63, dtype=half, channels=(8, 16, 16, 16), adapter_type="full_adapter_xl"
    )
    yield "t2i_light", t2i_case(
        seed=64, dtype=half, in_channels=1, num_res_blocks=1, adapter_type="light_adapter"
    )
