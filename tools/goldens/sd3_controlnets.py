#!/usr/bin/env python3
"""Tiny random ControlNets of Stable Diffusion 3: what diffusers makes of them, and of requests with them.

  tools/goldens/sd3_controlnets.py [--only networks,runs] [--runs one] [--check]

tests/goldens/networks/sd3_controlnet* as networks.py makes them; tests/goldens/control/sd3/RUN/{request.json,
golden.safetensors} a run over the model sd3. The reference draws for the control image from torch's own generator,
which is given the request's seed first.
"""

import common
import networks
import sd3
import torch
from golden_files import make_controls

HALF = torch.float16
# The model's transformer reads what its CLIPs and T5 make.
MODEL = dict(sd3.SD3)

# -------------------------------------------------------------------------------------- networks
# As InstantX's, of 3 medium; as Stability's, of 3.5 large; as others, of 3.5 medium.
CONTROLNETS = {
    "sd3_controlnet": (350, dict(num_layers=2)),
    "sd3_controlnet_single": (
        351,
        dict(
            num_layers=2,
            joint_attention_dim=None,
            use_pos_embed=False,
            pos_embed_type=None,
            qk_norm="rms_norm",
            force_zeros_for_pooled_projection=False,
        ),
    ),
    "sd3_controlnet_dual": (
        352,
        dict(num_layers=3, force_zeros_for_pooled_projection=False, **sd3.DUAL),
    ),
    # As Alimama's, for inpainting, and one whose config asks for pooled texts, which the pipeline does not give.
    "sd3_controlnet_inpaint": (353, dict(num_layers=2, extra_conditioning_channels=1)),
    "sd3_controlnet_inpaint_pooled": (
        354,
        dict(num_layers=1, extra_conditioning_channels=1, force_zeros_for_pooled_projection=False),
    ),
}


def control_golden(model, seed, rows, height, width, text, timesteps):
    """height and width in tokens."""
    config, side = model.config, model.config.patch_size
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    pooled = common.normal(seed + 2, rows, config.pooled_projection_dim)
    sizes = rows, config.in_channels, side * height, side * width
    channels = config.in_channels + config.extra_conditioning_channels
    cond = common.normal(seed + 3, rows, channels, *sizes[2:])
    inputs = {"in.timestep": times, "in.pooled_projections": pooled, "in.controlnet_cond": cond}
    embeds = None
    if config.joint_attention_dim:
        embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
        inputs["in.encoder_hidden_states"] = embeds
    if config.use_pos_embed:
        sample = inputs["in.sample"] = common.normal(seed, *sizes)
    else:
        width_of_tokens = config.num_attention_heads * config.attention_head_dim
        sample = inputs["in.image_tokens"] = common.normal(seed, rows, height * width, width_of_tokens)
    # The pipelines have these zeros.
    no_pooled = config.force_zeros_for_pooled_projection or config.extra_conditioning_channels
    residuals = model(
        sample,
        controlnet_cond=cond,
        encoder_hidden_states=embeds,
        pooled_projections=pooled * 0 if no_pooled else pooled,
        timestep=times,
        return_dict=False,
    )[0]
    for i, residual in enumerate(residuals):
        inputs[f"out.block_controlnet_hidden_states.{i}"] = residual
    return inputs


def control_case(seed, config):
    from diffusers import SD3ControlNetModel

    def make(folder):
        networks.save_checkpoint(SD3ControlNetModel(**{**MODEL, **config}), folder, seed, 1.0, HALF)

    def goldens(folder):
        model = SD3ControlNetModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", control_golden(model, 960, 2, 2, 3, 5, [999.0, 20.5])
        yield "golden_wide", control_golden(model, 970, 1, 1, 9, 3, [433.25])

    return make, goldens


def network_cases():
    for name, (seed, config) in CONTROLNETS.items():
        yield name, control_case(seed, config)


# ------------------------------------------------------------------------------------------ runs
IMAGE = {"image": "../../../pipelines/inputs/image.png", "mask": "../../../pipelines/inputs/mask.png"}
LARGER = {key: f"../../../pipelines/inputs/{key.replace('mask', 'part')}_88x72.png" for key in IMAGE}
EDGES, DEPTH = "../../inputs/edges.png", "../../inputs/depth_48x40.png"


def run(seed, inputs, names, task="text2image", **config):
    folders = [f"../../../networks/sd3_controlnet{name}" for name in names]
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 24, "width": 48, "height": 40}
    return {
        "task": task,
        "model": "../../../pipelines/sd3/model",
        "inputs": inputs,
        "components": {"controlnet": folders[0] if len(folders) == 1 else folders},
        "config": {**values, **config},
    }


def runs():
    prompt, negative = sd3.PROMPT, sd3.NEGATIVE
    edges, depth = {"control_image": EDGES}, {"control_image": DEPTH}
    yield "one", run(
        360, {**prompt, **negative, **edges}, [""], guidance_scale=3.0, controlnet_conditioning_scale=0.8
    )
    yield "single", run(361, {**prompt, **depth}, ["_single"], guidance_scale=4.0)
    yield "part", run(
        362,
        {**prompt, **depth},
        ["_dual"],
        guidance_scale=1.0,
        num_inference_steps=5,
        control_guidance_start=0.2,
        control_guidance_end=0.8,
    )
    yield "two", run(
        363,
        {**prompt, **negative, "control_image": [EDGES, DEPTH]},
        ["", ""],
        guidance_scale=2.0,
        controlnet_conditioning_scale=[0.9, 0.4],
    )
    yield "inpaint", run(
        364,
        {**prompt, **negative, **IMAGE},
        ["_inpaint"],
        "inpaint",
        guidance_scale=3.0,
        controlnet_conditioning_scale=0.95,
    )
    yield "inpaint_no_guidance", run(
        365, {**prompt, **LARGER}, ["_inpaint_pooled"], "inpaint", guidance_scale=1.0, control_guidance_end=0.8
    )
    yield "inpaint_two", run(
        366,
        {**prompt, **negative, **IMAGE},
        ["_inpaint", "_inpaint_pooled"],
        "inpaint",
        guidance_scale=2.0,
        controlnet_conditioning_scale=[0.9, 0.4],
    )


def generate(folder, request):
    """As sd3.generate."""
    import diffusers

    paths = request["components"]["controlnet"]
    several = isinstance(paths, list)
    nets = [
        diffusers.SD3ControlNetModel.from_pretrained(
            folder / path, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        for path in (paths if several else [paths])
    ]
    net = diffusers.SD3MultiControlNetModel(nets) if several else nets[0]
    pipe = sd3.load(folder / request["model"])
    inpaint = request["task"] == "inpaint"
    name = f"StableDiffusion3ControlNet{'Inpainting' if inpaint else ''}Pipeline"
    made = getattr(diffusers, name)(**pipe.components, controlnet=net)
    torch.manual_seed(request["config"]["seed"])
    return sd3.generate(made, request, folder)


if __name__ == "__main__":
    make_controls(__doc__, "sd3", network_cases, runs, torch.no_grad()(generate))
