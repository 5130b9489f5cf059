#!/usr/bin/env python3
"""IP-Adapters of FLUX.1 over tiny random weights in XLabs' layout: what diffusers makes of requests with them.

  tools/goldens/flux_ip_adapter.py [--runs ip_adapter] [--keep-models] [--check]

tests/goldens/control/parts_flux/ip_adapter*.safetensors; tests/goldens/control/flux/ip_*/{request.json,golden.safetensors}
a run over the model flux_dev.
"""

import common
import flux
import torch
from flux2 import pictures
from golden_files import arguments, check_or_write
from safetensors.torch import save_file

FOLDER = common.GOLDENS / "control"
PARTS = FOLDER / "parts_flux"
ENCODER = "../../../networks/vision_projected"
IMAGES = "../../../pipelines/inputs"


def write_adapter(path, seed):
    """As XLabs' files are: of four tokens."""
    import diffusers
    from transformers import CLIPVisionModelWithProjection

    folder = common.GOLDENS / "pipelines/flux_dev/model/transformer"
    config = diffusers.FluxTransformer2DModel.load_config(folder)
    encoder = CLIPVisionModelWithProjection.from_pretrained((FOLDER / "flux" / "x" / ENCODER).resolve())
    tokens, context = 4, config["joint_attention_dim"]
    inner = config["attention_head_dim"] * config["num_attention_heads"]
    shapes = {
        "ip_adapter_proj_model.proj.weight": (tokens * context, encoder.config.projection_dim),
        "ip_adapter_proj_model.proj.bias": (tokens * context,),
        "ip_adapter_proj_model.norm.weight": (context,),
        "ip_adapter_proj_model.norm.bias": (context,),
    }
    for i in range(config["num_layers"]):
        for kind in "kv":
            name = f"double_blocks.{i}.processor.ip_adapter_double_stream_{kind}_proj"
            shapes[f"{name}.weight"] = (inner, context)
            shapes[f"{name}.bias"] = (inner,)
    tensors = {}
    for i, (name, shape) in enumerate(shapes.items()):
        values = common.normal(seed + i, *shape) * (shape[-1] ** -0.5 if len(shape) > 1 else 0.3)
        tensors[name] = (values + (1 if name.endswith("norm.weight") else 0)).half()
    save_file(tensors, path, metadata={"format": "pt"})


def run(seed, inputs, names, task="text2image", **config):
    files = [f"../../parts_flux/ip_adapter{name}.safetensors" for name in names]
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 24}
    return {
        "task": task,
        "model": "../../../pipelines/flux_dev/model",
        "inputs": inputs,
        "components": {
            "ip_adapter": files[0] if len(files) == 1 else files,
            "image_encoder": ENCODER,
        },
        "config": {**values, "width": 48, "height": 32, **config},
    }


def runs():
    one, two = f"{IMAGES}/image.png", f"{IMAGES}/image_88x72.png"
    prompt = {"prompt": "A small red apple"}
    yield "ip_one", run(390, {**prompt, "ip_adapter_image": one}, [""], ip_adapter_scale=0.7)
    yield "ip_negative", run(
        391,
        {**prompt, "negative_prompt": "people", "ip_adapter_image": [one, two]},
        [""],
        true_cfg_scale=2.0,
        num_images_per_prompt=2,
        ip_adapter_scale=[[0.9, 0.4]],
    )
    yield "ip_negative_image", run(
        392,
        {
            **prompt,
            "negative_prompt": "",
            "ip_adapter_image": one,
            "negative_ip_adapter_image": two,
        },
        [""],
        true_cfg_scale=1.7,
    )
    yield "ip_two", run(
        393, {**prompt, "ip_adapter_image": [one, two]}, ["", "_other"], ip_adapter_scale=[0.6, 0.5]
    )


def generate(folder, request):
    """As flux.generate."""
    import diffusers
    from transformers import CLIPVisionModelWithProjection
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    paths, inputs = request["components"], request["inputs"]
    encoder = CLIPVisionModelWithProjection.from_pretrained(
        (folder / paths["image_encoder"]).resolve(), dtype=torch.float32
    ).eval()
    side = encoder.config.image_size
    parts = common.load_any(folder / request["model"]).components
    pipe = diffusers.FluxPipeline(
        **{
            **parts,
            "image_encoder": encoder,
            "feature_extractor": CLIPImageProcessorPil(size=side, crop_size=side),
        }
    )
    files = paths["ip_adapter"] if isinstance(paths["ip_adapter"], list) else [paths["ip_adapter"]]
    names = [(folder / path).resolve() for path in files]
    pipe.load_ip_adapter(
        [str(name.parent) for name in names], weight_name=[name.name for name in names], subfolder=""
    )
    pipe.set_ip_adapter_scale(request["config"].get("ip_adapter_scale", 1.0))
    images = pictures(inputs, "ip_adapter_image", folder)
    given = {"ip_adapter_image": images if len(files) > 1 else [images]}
    if "negative_ip_adapter_image" in inputs:
        given["negative_ip_adapter_image"] = pictures(inputs, "negative_ip_adapter_image", folder)
    return flux.generate(pipe, {**request, "given": given}, folder)


def main():
    options = arguments(__doc__)
    if not (options.check or options.keep_models):
        for i, name in enumerate(("", "_other")):
            write_adapter(PARTS / f"ip_adapter{name}.safetensors", 4000 + 100 * i)
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
