#!/usr/bin/env python3
"""Tiny random ControlNets of Z-Image: what diffusers makes of them, and of requests with them.

  tools/goldens/z_image_controlnets.py [--only networks,runs] [--runs one] [--check]

tests/goldens/networks/z_image_controlnet* as networks.py makes them, over the transformer z_image_transformer, whose
parts they compute with; tests/goldens/control/z_image/RUN/{request.json,golden.safetensors} a run over the model
z_image.
"""

import common
import networks
import torch
import z_image
from golden_files import make_controls
from PIL import Image

HALF = torch.float16

# -------------------------------------------------------------------------------------- networks
BLOCKS = {name: z_image.Z_IMAGE[name] for name in ("dim", "n_refiner_layers", "n_heads", "n_kv_heads")}
# Of a mask and the image under it, too.
WITH_MASK = 2 * z_image.Z_IMAGE["in_channels"] + 1
CONTROLNETS = {
    # As Z-Image-Turbo-Fun-Controlnet-Union 1.0, 2.0 and 2.1 are.
    "z_image_controlnet": (350, dict(control_layers_places=[0, 2], control_in_dim=4)),
    "z_image_controlnet_shared_refiner": (
        351,
        dict(
            control_layers_places=[0, 1],
            control_refiner_layers_places=[0, 1],
            control_in_dim=WITH_MASK,
            add_control_noise_refiner="control_layers",
        ),
    ),
    "z_image_controlnet_own_refiner": (
        352,
        dict(
            control_layers_places=[0, 2],
            control_refiner_layers_places=[0],
            control_in_dim=WITH_MASK,
            add_control_noise_refiner="control_noise_refiner",
        ),
    ),
}


def load(kind, folder):
    return kind.from_pretrained(folder, torch_dtype=torch.float32, low_cpu_mem_usage=False).eval()


def control_golden(model, transformer, seed, rows, height, width, text, timesteps, scale):
    """out.K: what is added after block K of the transformer, and out.sample what that predicts with it."""
    sample = common.normal(seed, rows, transformer.config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, transformer.config.cap_feat_dim)
    cond = common.normal(seed + 2, rows, model.config.control_in_dim, height, width)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    asked = [list(sample.unsqueeze(2).unbind(0)), (1000 - times) / 1000, list(embeds.unbind(0))]
    hints = model(*asked, list(cond.unsqueeze(2).unbind(0)), conditioning_scale=scale)
    out = transformer(*asked, controlnet_block_samples=hints)
    return {
        "in.sample": sample,
        "in.timestep": times,
        "in.encoder_hidden_states": embeds,
        "in.controlnet_cond": cond,
        "in.conditioning_scale": torch.tensor([scale]),
        **{f"out.{place}": hint for place, hint in hints.items()},
        "out.sample": -torch.stack(out.sample).squeeze(2),
    }


def control_case(seed, config):
    from diffusers import ZImageControlNetModel, ZImageTransformer2DModel

    def make(folder):
        model = ZImageControlNetModel(**BLOCKS, **config)
        networks.save_checkpoint(model, folder, seed, 1.0, HALF)

    def goldens(folder):
        transformer = load(ZImageTransformer2DModel, folder.parent / "z_image_transformer")
        model = load(ZImageControlNetModel, folder)
        model = ZImageControlNetModel.from_transformer(model, transformer)
        yield "golden", control_golden(model, transformer, 960, 2, 6, 10, 7, [999.0, 20.5], 1.0)
        yield "golden_whole", control_golden(model, transformer, 970, 1, 8, 16, 32, [433.25], 0.75)

    return make, goldens


def network_cases():
    for name, (seed, config) in CONTROLNETS.items():
        yield name, control_case(seed, config)


# ------------------------------------------------------------------------------------------ runs
EDGES, DEPTH = "../../inputs/edges.png", "../../inputs/depth_48x40.png"
IMAGE = {
    "image": "../../../pipelines/inputs/image.png",
    "mask": "../../../pipelines/inputs/mask.png",
}


def run(seed, inputs, name, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 64}
    return {
        "task": task,
        "model": "../../../pipelines/z_image/model",
        "inputs": inputs,
        "components": {"controlnet": f"../../../networks/z_image_controlnet{name}"},
        "config": {**values, "width": 48, "height": 32, **config},
    }


def runs():
    prompt, two, negative = z_image.PROMPT, z_image.TWO, z_image.NEGATIVE
    yield "one", run(
        360,
        {**two, **negative, "control_image": EDGES},
        "",
        guidance_scale=3.0,
        num_images_per_prompt=2,
    )
    yield "shared_refiner", run(
        361,
        {**prompt, "control_image": DEPTH},
        "_shared_refiner",
        guidance_scale=0.0,
        controlnet_conditioning_scale=0.9,
    )
    yield "own_refiner", run(
        362,
        {**prompt, "control_image": EDGES},
        "_own_refiner",
        guidance_scale=2.0,
        controlnet_conditioning_scale=0.6,
    )
    for seed, name in ((363, "_shared_refiner"), (364, "_own_refiner")):
        yield "inpaint" + name, run(
            seed,
            {**prompt, **negative, **IMAGE, "control_image": DEPTH},
            name,
            "inpaint",
            guidance_scale=3.0,
            num_images_per_prompt=2,
        )


def generate(folder, request):
    """As z_image.generate; the reference has defaults of its own for the scale."""
    import diffusers

    net = load(diffusers.ZImageControlNetModel, folder / request["components"]["controlnet"])
    pipe = common.load_any(folder / request["model"])
    kinds = {
        "text2image": diffusers.ZImageControlNetPipeline,
        "inpaint": diffusers.ZImageControlNetInpaintPipeline,
    }
    made = kinds[request["task"]](**pipe.components, controlnet=net)
    made.set_progress_bar_config(disable=True)
    # One image for all, which the reference repeats.
    given = {
        "control_image": Image.open(folder / request["inputs"]["control_image"]).convert("RGB")
    }
    scale = request["config"].get("controlnet_conditioning_scale")
    if scale is not None:
        given["controlnet_conditioning_scale"] = scale
    if "mask" in request["inputs"]:
        given["image"] = Image.open(folder / request["inputs"]["image"]).convert("RGB")
        # It repeats the image, and no mask.
        mask = Image.open(folder / request["inputs"]["mask"]).convert("L")
        given["mask_image"] = [mask] * len(common.seeds_of(request))
    return z_image.made_by(made, request, given)


if __name__ == "__main__":
    make_controls(__doc__, "z_image", network_cases, runs, generate)
