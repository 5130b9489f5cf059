#!/usr/bin/env python3
"""Tiny random ControlNets of FLUX.1: what diffusers makes of them, and of requests with them.

  tools/goldens/flux_controlnets.py [--only networks,runs] [--runs union] [--check]

tests/goldens/networks/flux_controlnet* as networks.py makes them; tests/goldens/control/flux/RUN/{request.json,
golden.safetensors} a run over the model flux_dev with the deeper transformer of control/parts_flux.
"""

import inspect

import common
import flux
import networks
import torch
from golden_files import arguments, check_or_write, make_networks

HALF = torch.float16
FOLDER = common.GOLDENS / "control"
CHANNELS = 16  # of a token of flux_dev

# -------------------------------------------------------------------------------------- networks
CONTROL = dict(
    in_channels=CHANNELS,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    pooled_projection_dim=14,
    axes_dims_rope=[2, 4, 6],
)
# By name: those of intervals that do not come out even, without single blocks, of both kinds for a union, of pixels.
CONTROLNETS = {
    "flux_controlnet": (300, dict(num_layers=2, num_single_layers=3, guidance_embeds=True)),
    "flux_controlnet_first": (301, dict(num_layers=3, num_single_layers=0)),
    "flux_controlnet_union": (302, dict(num_layers=1, num_single_layers=2, num_mode=5)),
    "flux_controlnet_pixels": (
        303,
        dict(
            num_layers=2,
            num_single_layers=0,
            guidance_embeds=True,
            conditioning_embedding_channels=CHANNELS,
        ),
    ),
}


def tamed(state):
    """reseed_parameters takes a hint's filters for tables: they are 3 times too wide."""
    return {
        name: value / 3 if "input_hint_block" in name and value.ndim == 4 else value
        for name, value in state.items()
    }


def control_golden(model, seed, rows, height, width, text, timesteps):
    """The control image of all rows alike where it is pixels."""
    config = model.config
    channels = config.in_channels // 4
    sample = common.normal(seed, rows, channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    pooled = common.normal(seed + 2, rows, config.pooled_projection_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    if model.input_hint_block is None:
        cond = common.normal(seed + 3, rows, channels, height, width)
        given = flux.packed(cond)
    else:
        token = 8 * config.patch_size
        cond = common.normal(seed + 3, 1, 3, height // 2 * token, width // 2 * token)
        given = cond
    inputs = {
        "in.sample": sample,
        "in.timestep": times,
        "in.encoder_hidden_states": embeds,
        "in.pooled_projections": pooled,
        "in.controlnet_cond": cond,
    }
    more = {}
    if config.guidance_embeds:
        more["guidance"] = inputs["in.guidance"] = torch.linspace(1.5, 4.0, rows)
    if model.union:
        inputs["in.control_mode"] = torch.tensor([seed % config.num_mode])
        more["controlnet_mode"] = inputs["in.control_mode"].expand(rows)[:, None]
    first, single = model(
        flux.packed(sample),
        controlnet_cond=given,
        encoder_hidden_states=embeds,
        pooled_projections=pooled,
        timestep=times / 1000,
        img_ids=flux.ids_of(height, width),
        txt_ids=torch.zeros(text, 3),
        return_dict=False,
        **more,
    )
    for name, residuals in (("block", first), ("single_block", single)):
        for i, residual in enumerate(residuals or ()):
            inputs[f"out.controlnet_{name}_samples.{i}"] = residual
    return inputs


def control_case(seed, config):
    from diffusers import FluxControlNetModel

    def make(folder):
        networks.save_checkpoint(FluxControlNetModel(**CONTROL, **config), folder, seed, 1.0, HALF, tamed)

    def goldens(folder):
        model = FluxControlNetModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", control_golden(model, 910, 2, 4, 6, 5, [999.0, 20.5])
        yield "golden_wide", control_golden(model, 921, 1, 2, 14, 9, [433.25])

    return make, goldens


def network_cases():
    for name, (seed, config) in CONTROLNETS.items():
        yield name, control_case(seed, config)


# ------------------------------------------------------------------------------------------ runs
EDGES, DEPTH = "../../inputs/edges.png", "../../inputs/depth_48x40.png"
PICTURES = "../../../pipelines/inputs"
PROMPT = {"prompt": " A small red apple, and the sea "}
TWO = {"prompt": ["a small red apple", "The sea at night"]}


def write_transformer(folder):
    """As that of flux_dev, with more blocks."""
    from diffusers import FluxTransformer2DModel

    config = {**flux.FLUX, "in_channels": CHANNELS, "num_layers": 5, "num_single_layers": 4}
    model = FluxTransformer2DModel(**{**config, "guidance_embeds": True})
    networks.save_checkpoint(model, folder, 310, 1.0, HALF)


def run(seed, inputs, names, task="text2image", **config):
    folders = [f"../../../networks/flux_controlnet{name}" for name in names]
    values = {"num_inference_steps": 4, "seed": seed, "guidance_scale": 2.5, "max_sequence_length": 24}
    return {
        "task": task,
        "model": "../../../pipelines/flux_dev/model",
        "inputs": inputs,
        "components": {
            "transformer": "../../parts_flux/transformer",
            "controlnet": folders[0] if len(folders) == 1 else folders,
        },
        "config": {**values, "width": 48, "height": 32, **config},
    }


# The reference takes one for several images for the first image alone, unless these are lists.
EACH = dict(control_guidance_start=[0.0, 0.0], control_guidance_end=[1.0, 1.0])


def runs():
    edges, depth = {"control_image": EDGES}, {"control_image": DEPTH}
    both = {"control_image": [EDGES, DEPTH]}
    image = {"image": f"{PICTURES}/image.png"}
    masked = {**image, "mask": f"{PICTURES}/mask.png"}
    yield "one", run(320, {**PROMPT, **edges}, [""], num_images_per_prompt=2, controlnet_conditioning_scale=0.7)
    yield "negative", run(
        321,
        {**TWO, **depth, "negative_prompt": ["people", "time"]},
        ["_first"],
        true_cfg_scale=2.0,
        control_guidance_start=0.2,
        control_guidance_end=0.8,
        num_inference_steps=5,
    )
    yield "two", run(
        322,
        {**TWO, **both},
        ["", ""],
        controlnet_conditioning_scale=[0.8, 0.4],
        control_guidance_start=[0.0, 0.3],
        control_guidance_end=[0.6, 1.0],
    )
    yield "union", run(323, {**PROMPT, **depth}, ["_union"], control_mode=3, controlnet_conditioning_scale=0.9)
    yield "union_two", run(
        324,
        {**PROMPT, **both, "negative_prompt": "people"},
        ["_union", "_union"],
        control_mode=[0, 4],
        true_cfg_scale=1.5,
        controlnet_conditioning_scale=[0.5, 0.7],
        **EACH,
    )
    yield "pixels", run(325, {**TWO, **depth}, ["_pixels"], num_images_per_prompt=2)
    yield "image2image", run(
        326, {**TWO, **edges, **image}, [""], "image2image", strength=0.6, num_inference_steps=5
    )
    yield "inpaint", run(
        327, {**PROMPT, **edges, **masked}, ["_union"], "inpaint", control_mode=1, strength=0.8
    )


PIPELINES = {
    "text2image": "FluxControlNetPipeline",
    "image2image": "FluxControlNetImg2ImgPipeline",
    "inpaint": "FluxControlNetInpaintPipeline",
}


def generate(folder, request):
    """As flux.generate."""
    import diffusers

    def part(name, path):
        return getattr(diffusers, name).from_pretrained(
            folder / path, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()

    paths = request["components"]["controlnet"]
    several = isinstance(paths, list)
    # A union for several images is one.
    nets = [part("FluxControlNetModel", path) for path in dict.fromkeys(paths if several else [paths])]
    if several and len(nets) == 1 and not nets[0].union:
        nets = nets * len(paths)
    pipe = common.load_any(folder / request["model"])
    components = {**pipe.components, "transformer": part("FluxTransformer2DModel", request["components"]["transformer"])}
    made = getattr(diffusers, PIPELINES[request["task"]])
    taken = inspect.signature(made.__init__).parameters
    components = {name: value for name, value in components.items() if name in taken}
    controlnet = diffusers.FluxMultiControlNetModel(nets) if several else nets[0]
    return flux.generate(made(**components, controlnet=controlnet), request, folder)


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "runs"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "runs" not in wanted:
        return
    if not (options.check or options.keep_models):
        write_transformer(FOLDER / "parts_flux" / "transformer")
    for title, request in runs():
        if options.runs and title not in options.runs:
            continue
        folder = FOLDER / "flux" / title
        folder.mkdir(parents=True, exist_ok=True)
        tensors = generate(folder, request)
        if not options.check:
            common.write_json(folder / "request.json", request)
        check_or_write(folder / "golden.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
