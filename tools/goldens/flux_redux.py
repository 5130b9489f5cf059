#!/usr/bin/env python3
"""FLUX.1 Redux over tiny random parts: what transformers and diffusers make of them, and of requests with them.

  tools/goldens/flux_redux.py [--only networks,runs] [--runs redux] [--keep-models] [--check]

tests/goldens/networks/siglip_vision* and redux_image_encoder as networks.py makes them;
tests/goldens/control/flux/redux*/{request.json,golden.safetensors}
a run over the model flux_dev.
"""

import common
import flux
import networks
import torch
from flux2 import pictures
from golden_files import arguments, check_or_write, make_networks

HALF = torch.float16
FOLDER = common.GOLDENS / "control"

# -------------------------------------------------------------------------------------- networks
SIGLIP = dict(
    hidden_size=24,
    intermediate_size=40,
    num_hidden_layers=2,
    num_attention_heads=3,
    image_size=34,  # of which the last two pixels make no patch
    patch_size=8,
)


def old_names(state):
    """As in files written before transformers 5."""
    return {f"vision_model.{name}": value for name, value in state.items()}


def siglip_case(seed, rename=lambda state: state, **config):
    from transformers import SiglipVisionConfig, SiglipVisionModel

    def make(folder):
        model = SiglipVisionModel(SiglipVisionConfig(**{**SIGLIP, **config}))
        networks.save_checkpoint(model, folder, seed, 1.0, HALF, rename)

    def goldens(folder):
        model = SiglipVisionModel.from_pretrained(folder, dtype=torch.float32).eval()
        side = model.config.image_size
        pixels = common.normal(980, 2, 3, side, side)
        yield "golden", {"in.pixel_values": pixels, "out.states": model(pixels).last_hidden_state}

    return make, goldens


def redux_case(seed):
    from diffusers.pipelines.flux.modeling_flux import ReduxImageEncoder

    def make(folder):
        width = flux.MODELS["flux_dev"].get("joint_attention_dim", flux.FLUX["joint_attention_dim"])
        model = ReduxImageEncoder(redux_dim=SIGLIP["hidden_size"], txt_in_features=width)
        networks.save_checkpoint(model, folder, seed, 1.0, HALF)

    def goldens(folder):
        model = ReduxImageEncoder.from_pretrained(folder, torch_dtype=torch.float32).eval()
        states = common.normal(981, 2, 5, SIGLIP["hidden_size"])
        yield "golden", {"in.states": states, "out.embeds": model(states).image_embeds}

    return make, goldens


def network_cases():
    yield "siglip_vision", siglip_case(370, old_names)
    yield "siglip_vision_no_head", siglip_case(371, vision_use_head=False, hidden_act="gelu")
    yield "redux_image_encoder", redux_case(372)


# ------------------------------------------------------------------------------------------ runs
IMAGES = "../../../pipelines/inputs"


def run(seed, inputs, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 512}
    return {
        "task": task,
        "model": "../../../pipelines/flux_dev/model",
        "inputs": inputs,
        "components": {
            "image_encoder": "../../../networks/siglip_vision",
            "image_embedder": "../../../networks/redux_image_encoder",
        },
        "config": {**values, "width": 48, "height": 32, **config},
    }


def runs():
    one, two = f"{IMAGES}/image.png", f"{IMAGES}/image_88x72.png"
    # Without a text, as Redux is published.
    yield "redux", run(380, {"prompt": "", "redux_image": [one]})
    yield "redux_prompt", run(
        381,
        {"prompt": "A small red apple", "redux_image": [one, two], "negative_prompt": "people"},
        true_cfg_scale=2.0,
        num_images_per_prompt=2,
        prompt_embeds_scale=[0.7, 0.4],
        pooled_prompt_embeds_scale=[1.0, 0.5],
    )


def embeds(folder, request, pipe):
    import diffusers
    from diffusers.pipelines.flux.modeling_flux import ReduxImageEncoder
    from transformers import SiglipVisionModel
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    paths, config = request["components"], request["config"]
    parts = {
        "image_encoder": SiglipVisionModel.from_pretrained(
            folder / paths["image_encoder"], dtype=torch.float32
        ).eval(),
        "image_embedder": ReduxImageEncoder.from_pretrained(
            folder / paths["image_embedder"], torch_dtype=torch.float32
        ).eval(),
        "feature_extractor": SiglipImageProcessorPil(
            size={"height": SIGLIP["image_size"], "width": SIGLIP["image_size"]}
        ),
    }
    texts = ("text_encoder", "text_encoder_2", "tokenizer", "tokenizer_2")
    prior = diffusers.FluxPriorReduxPipeline(
        **parts, **{name: pipe.components[name] for name in texts}
    )
    prompt = request["inputs"]["prompt"]
    given = {}
    if prompt:
        given["prompt"] = prompt
    else:
        # Zeros, as without text encoders, for which the reference knows one width.
        widths = pipe.text_encoder_2.config.d_model, pipe.text_encoder.config.hidden_size
        count = len(request["inputs"]["redux_image"])
        given["prompt_embeds"] = torch.zeros(count, 512, widths[0])
        given["pooled_prompt_embeds"] = torch.zeros(count, widths[1])
    for name in ("prompt_embeds_scale", "pooled_prompt_embeds_scale"):
        if name in config:
            given[name] = config[name]
    return prior(pictures(request["inputs"], "redux_image", folder), **given)


def generate(folder, request):
    """As flux.generate."""
    pipe = common.load_any(folder / request["model"])
    made = embeds(folder, request, pipe)
    asked = {**request, "inputs": {**request["inputs"]}}
    asked["given"] = {
        "prompt_embeds": made.prompt_embeds,
        "pooled_prompt_embeds": made.pooled_prompt_embeds,
    }
    return flux.generate(pipe, asked, folder)


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
        folder = FOLDER / "flux" / title
        folder.mkdir(parents=True, exist_ok=True)
        tensors = torch.no_grad()(generate)(folder, request)
        if not options.check:
            common.write_json(folder / "request.json", request)
        check_or_write(folder / "golden.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
