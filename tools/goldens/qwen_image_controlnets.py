#!/usr/bin/env python3
"""Tiny random ControlNets of Qwen-Image: what diffusers makes of them, and of requests with them.

  tools/goldens/qwen_image_controlnets.py [--only networks,runs] [--runs one] [--check]

tests/goldens/networks/qwen_image_controlnet* as networks.py makes them; tests/goldens/control/qwen_image/RUN/
{request.json,golden.safetensors} a run over the model qwen_image.
"""

import common
import networks
import qwen_image
import torch
from golden_files import arguments, check_or_write, make_networks

HALF = torch.float16
FOLDER = common.GOLDENS / "control"

# -------------------------------------------------------------------------------------- networks
CONTROLNETS = {
    "qwen_image_controlnet": (330, dict(num_layers=2)),
    "qwen_image_controlnet_one_block": (331, dict(num_layers=1)),
}


def control_golden(model, seed, rows, height, width, text, timesteps, spans=None):
    """height and width in tokens."""
    config = model.config
    channels = config.in_channels // 4
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.timestep": times, "in.encoder_hidden_states": embeds}
    tokens = {}
    for i, name in enumerate(("sample", "controlnet_cond")):
        latents = common.normal(seed + 2 * i, rows, channels, 2 * height, 2 * width)
        inputs[f"in.{name}"] = latents
        tokens[name] = qwen_image.Pipeline._pack_latents(
            latents.unsqueeze(1), rows, channels, 2 * height, 2 * width
        )
    mask = None
    if spans:
        mask = (torch.arange(text)[None] < torch.tensor(spans)[:, None]).long()
        inputs["in.encoder_attention_mask"] = mask.float()
    residuals = model(
        tokens["sample"],
        controlnet_cond=tokens["controlnet_cond"],
        encoder_hidden_states=embeds,
        encoder_hidden_states_mask=mask,
        timestep=times / 1000,
        img_shapes=[[(1, height, width)]] * rows,
        return_dict=False,
    )
    for i, residual in enumerate(residuals):
        inputs[f"out.controlnet_block_samples.{i}"] = residual
    return inputs


def control_case(seed, config):
    from diffusers import QwenImageControlNetModel

    def make(folder):
        values = {**qwen_image.QWEN_IMAGE, "joint_attention_dim": 24, **config}
        networks.save_checkpoint(QwenImageControlNetModel(**values), folder, seed, 1.0, HALF)

    def goldens(folder):
        model = QwenImageControlNetModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", control_golden(model, 940, 2, 2, 3, 5, [999.0, 20.5])
        yield "golden_padding", control_golden(model, 950, 2, 1, 7, 9, [433.25], [3, 9])

    return make, goldens


def network_cases():
    for name, (seed, config) in CONTROLNETS.items():
        yield name, control_case(seed, config)


# ------------------------------------------------------------------------------------------ runs
EDGES, DEPTH = "../../inputs/edges.png", "../../inputs/depth_48x40.png"


def run(seed, inputs, names, **config):
    folders = [f"../../../networks/qwen_image_controlnet{name}" for name in names]
    return {
        "task": "text2image",
        "model": "../../../pipelines/qwen_image/model",
        "inputs": inputs,
        "components": {"controlnet": folders[0] if len(folders) == 1 else folders},
        "config": {"num_inference_steps": 4, "seed": seed, "width": 48, "height": 32, **config},
    }


def runs():
    prompt, two, negative = qwen_image.PROMPT, qwen_image.TWO, qwen_image.NEGATIVE
    yield "one", run(
        340,
        {**two, **negative, "control_image": EDGES},
        [""],
        guidance_scale=3.0,
        num_images_per_prompt=2,
        controlnet_conditioning_scale=0.8,
    )
    yield "part", run(
        341,
        {**prompt, "control_image": DEPTH},
        ["_one_block"],
        guidance_scale=1.0,
        num_inference_steps=5,
        control_guidance_start=0.2,
        control_guidance_end=0.8,
    )
    yield "two", run(
        342,
        {**prompt, **negative, "control_image": [EDGES, DEPTH]},
        ["", ""],
        guidance_scale=2.0,
        controlnet_conditioning_scale=[0.9, 0.4],
        # Else the reference takes the first image alone.
        control_guidance_start=[0.0, 0.0],
        control_guidance_end=[1.0, 1.0],
    )


def generate(folder, request):
    """As qwen_image.generate."""
    import diffusers

    paths = request["components"]["controlnet"]
    several = isinstance(paths, list)
    net = diffusers.QwenImageControlNetModel.from_pretrained(
        folder / (paths[0] if several else paths), torch_dtype=torch.float32, low_cpu_mem_usage=False
    ).eval()
    if several:  # the reference takes one for several images
        net = diffusers.QwenImageMultiControlNetModel([net])
    pipe = common.load_any(folder / request["model"])
    made = diffusers.QwenImageControlNetPipeline(**pipe.components, controlnet=net)
    return qwen_image.generate(made, request, folder)


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "runs"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "runs" not in wanted:
        return
    for title, request in runs():
        if options.runs and title not in options.runs:
            continue
        folder = FOLDER / "qwen_image" / title
        folder.mkdir(parents=True, exist_ok=True)
        tensors = generate(folder, request)
        if not options.check:
            common.write_json(folder / "request.json", request)
        check_or_write(folder / "golden.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
