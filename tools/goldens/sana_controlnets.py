#!/usr/bin/env python3
"""Tiny random ControlNets of Sana: what diffusers makes of them, and of requests with them.

  tools/goldens/sana_controlnets.py [--only networks,runs] [--runs one] [--check]

tests/goldens/networks/sana_controlnet* as networks.py makes them; tests/goldens/control/sana/RUN/{request.json,
golden.safetensors} a run over the model sana.
"""

import common
import networks
import sana
import torch
from golden_files import make_controls
from PIL import Image

HALF = torch.float16
MODEL = {name: value for name, value in sana.SANA.items() if name != "num_layers"}

# -------------------------------------------------------------------------------------- networks
# One for each block that takes any of the model sana, and more than those with what no published one has.
CONTROLNETS = {
    "sana_controlnet": (370, dict(num_layers=1)),
    "sana_controlnet_rare_options": (
        371,
        dict(
            num_layers=2,
            patch_size=2,
            interpolation_scale=2,
            attention_bias=True,
            norm_elementwise_affine=True,
            norm_eps=1e-3,
            mlp_ratio=3.0,
        ),
    ),
    "sana_controlnet_deep": (372, dict(num_layers=3)),
}


def control_golden(model, seed, rows, height, width, text, timesteps):
    """height and width in tokens."""
    config, side = model.config, model.config.patch_size
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    sample = common.normal(seed, rows, config.in_channels, side * height, side * width)
    embeds = common.normal(seed + 1, rows, text, config.caption_channels)
    cond = common.normal(seed + 2, *sample.shape)
    residuals = model(
        sample,
        encoder_hidden_states=embeds,
        encoder_attention_mask=torch.ones(rows, text),
        timestep=times,
        controlnet_cond=cond,
        return_dict=False,
    )[0]
    inputs = {
        "in.sample": sample,
        "in.timestep": times,
        "in.encoder_hidden_states": embeds,
        "in.controlnet_cond": cond,
    }
    return inputs | {f"out.controlnet_block_samples.{i}": residual for i, residual in enumerate(residuals)}


def control_case(seed, config):
    from diffusers import SanaControlNetModel

    def make(folder):
        networks.save_checkpoint(SanaControlNetModel(**{**MODEL, **config}), folder, seed, 1.0, HALF)

    def goldens(folder):
        model = SanaControlNetModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", control_golden(model, 960, 2, 4, 3, 5, [999.0, 20.5])
        yield "golden_wide", control_golden(model, 970, 1, 1, 9, 3, [433.25])

    return make, goldens


def network_cases():
    for name, (seed, config) in CONTROLNETS.items():
        yield name, control_case(seed, config)


# ------------------------------------------------------------------------------------------ runs
EDGES, DEPTH = "../../inputs/edges.png", "../../inputs/depth_48x40.png"


def run(seed, inputs, name="", **config):
    request = sana.run(inputs, seed, **config)
    request["model"] = "../../../pipelines/sana/model"
    request["components"] = {"controlnet": f"../../../networks/sana_controlnet{name}"}
    return request


def runs():
    prompt, negative = sana.PROMPT, sana.NEGATIVE
    edges, depth = {"control_image": EDGES}, {"control_image": DEPTH}
    yield "one", run(380, prompt | negative | edges, controlnet_conditioning_scale=0.8)
    yield "deep", run(381, prompt | depth, "_deep", guidance_scale=1.0, num_images_per_prompt=2)
    yield "prompts", run(382, sana.TWO | depth, "_deep", width=64, height=96)
    yield "binning", run(383, prompt | negative | edges, width=80, height=48, use_resolution_binning=None)


def generate(folder, request):
    """As sana.generate."""
    import diffusers

    net = diffusers.SanaControlNetModel.from_pretrained(
        folder / request["components"]["controlnet"], torch_dtype=torch.float32
    ).eval()
    pipe = common.load_any(folder / request["model"])
    made = diffusers.SanaControlNetPipeline(**pipe.components, controlnet=net)
    made.set_progress_bar_config(disable=True)
    given = {"control_image": Image.open(folder / request["inputs"]["control_image"]).convert("RGB")}
    if "controlnet_conditioning_scale" in request["config"]:
        given["controlnet_conditioning_scale"] = request["config"]["controlnet_conditioning_scale"]
    return sana.generate(made, request, folder, given)


if __name__ == "__main__":
    with torch.no_grad():
        make_controls(__doc__, "sana", network_cases, runs, generate)
