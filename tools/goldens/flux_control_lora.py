#!/usr/bin/env python3
"""A control LoRA of FLUX.1 of tiny random weights, as BFL's of depth and edges are: what diffusers makes of requests.

  tools/goldens/flux_control_lora.py [--runs lora_text2image] [--keep-models] [--check]

tests/goldens/control/parts_flux/control_lora.safetensors, in diffusers' names;
tests/goldens/control/flux/lora_*/{request.json,golden.safetensors} a run over the model flux_dev.
"""

import common
import diffusers
import flux
import torch
from golden_files import arguments, check_or_write
from safetensors.torch import save_file

FOLDER = common.GOLDENS / "control"
FILE = FOLDER / "parts_flux" / "control_lora.safetensors"
IMAGES = "../../../pipelines/inputs"
RANK = 3


def write_lora():
    """Of all layers, with biases; the first reads twice as many channels, and norms are replaced."""
    folder = common.GOLDENS / "pipelines/flux_dev/model/transformer"
    model = diffusers.FluxTransformer2DModel.from_pretrained(folder)
    tensors, seed = {}, 4500
    for name, module in model.named_modules():
        if name.endswith(("norm_q", "norm_k", "norm_added_q", "norm_added_k")):
            tensors[f"{name}.weight"] = 1 + 0.3 * common.normal(seed, *module.weight.shape)
        elif isinstance(module, torch.nn.Linear) and name != "proj_out":
            wide = module.in_features * (2 if name == "x_embedder" else 1)
            tensors[f"{name}.lora_A.weight"] = common.normal(seed, RANK, wide) * wide**-0.5
            tensors[f"{name}.lora_B.weight"] = 0.2 * common.normal(seed + 1, module.out_features, RANK)
            tensors[f"{name}.lora_B.bias"] = 0.1 * common.normal(seed + 2, module.out_features)
        seed += 3
    tensors = {f"transformer.{name}": value.half() for name, value in tensors.items()}
    save_file(tensors, FILE, metadata={"format": "pt"})


def run(seed, inputs, task="text2image", scale=1.0, **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 24}
    return {
        "task": task,
        "model": "../../../pipelines/flux_dev/model",
        "inputs": {"prompt": "A small red apple", "control_image": "../../inputs/depth_48x40.png", **inputs},
        "adapters": [{"path": "../../parts_flux/control_lora.safetensors", "scale": scale}],
        "config": {**values, "width": 48, "height": 32, "guidance_scale": 5.0, **config},
    }


def runs():
    yield "lora_text2image", run(395, {})
    yield "lora_scaled", run(396, {}, scale=0.6, num_images_per_prompt=2)
    image = {"image": f"{IMAGES}/image.png"}
    yield "lora_image2image", run(397, image, "image2image", strength=0.7)


def generate(folder, request):
    """As flux.generate."""
    pipe = common.load_any(folder / request["model"])
    made = diffusers.FluxControlPipeline(
        **{name: part for name, part in pipe.components.items() if name not in ("image_encoder", "feature_extractor")}
    )
    made.load_lora_weights(str(FILE.parent), weight_name=FILE.name, adapter_name="control")
    made.set_adapters(["control"], [request["adapters"][0]["scale"]])
    return flux.generate(made, request, folder)


def main():
    options = arguments(__doc__)
    if not (options.check or options.keep_models):
        write_lora()
    for title, request in runs():
        if options.runs and title not in options.runs:
            continue
        folder = FOLDER / "flux" / title
        folder.mkdir(parents=True, exist_ok=True)
        tensors = torch.no_grad()(generate)(folder, request)
        if not options.check:
            common.write_json(folder / "request.json", request)
        check_or_write(folder / "golden.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
