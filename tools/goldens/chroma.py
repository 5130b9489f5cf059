#!/usr/bin/env python3
"""Tiny random Chroma folders: what diffusers makes of their transformer, of its layouts, and of requests to them.

  tools/goldens/chroma.py [--only networks,originals,chroma] [--runs inpaint] [--keep-models] [--check]

tests/goldens/networks/chroma_transformer* as networks.py makes them, with original.safetensors, the same weights as the
original code names them, and lora_LAYOUT.safetensors with lora_LAYOUT_deltas.safetensors next to the first, as
flux_originals.py makes them; tests/goldens/pipelines/chroma/model is a folder and RUN/{request.json,golden.safetensors}
next to it a run, as pipelines.py makes them.
"""

import shutil

import common
import flux
import flux_originals
import networks
import pixart
import torch
from diffusers.loaders import single_file_utils as files
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from safetensors.torch import load_file

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
CHROMA = dict(
    in_channels=16,
    num_layers=2,
    num_single_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    axes_dims_rope=(2, 4, 6),
    approximator_num_channels=16,
    approximator_hidden_dim=10,
    approximator_layers=2,
)


def chroma_golden(model, seed, rows, height, width, text, timesteps, tokens=()):
    """tokens: how many of each row's text are no padding; empty: no mask."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels // 4, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    mask = None
    if tokens:
        of_text = (torch.arange(text)[None] < torch.tensor(tokens)[:, None]).to(torch.float32)
        inputs["in.encoder_attention_mask"] = of_text
        mask = torch.cat([of_text, torch.ones(rows, height * width // 4)], 1)
    out = model(
        flux.packed(sample),
        encoder_hidden_states=embeds,
        timestep=times / 1000,
        img_ids=flux.ids_of(height, width),
        txt_ids=torch.zeros(text, 3),
        attention_mask=mask,
        return_dict=False,
    )[0]
    return {**inputs, "out.sample": flux.unpacked(out, height, width)}


def chroma_case(seed, dtype=torch.float32, **config):
    from diffusers import ChromaTransformer2DModel

    def make(folder):
        model = ChromaTransformer2DModel(**{**CHROMA, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = ChromaTransformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", chroma_golden(model, 1250, 3, 8, 6, 7, [999.0, 1.0, 570.857], (7, 2, 4))
        yield "golden_wide", chroma_golden(model, 1260, 1, 6, 22, 13, [499.5])
        yield "golden_smallest", chroma_golden(model, 1280, 1, 2, 2, 2, [250.0], (1,))

    return make, goldens


def network_cases():
    yield "chroma_transformer", chroma_case(300, HALF)
    yield "chroma_transformer_rare_options", chroma_case(
        301,
        patch_size=2,
        in_channels=20,
        out_channels=3,
        axes_dims_rope=(4, 6, 2),
        num_single_layers=1,
        num_layers=1,
        approximator_layers=1,
    )


# ------------------------------------------------------------------------------------ the original
FOLDER = common.GOLDENS / "networks" / "chroma_transformer"
APPROXIMATOR = "distilled_guidance_layer"


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {}
    for ours, theirs in (("x_embedder", "img_in"), ("context_embedder", "txt_in"), ("proj_out", "final_layer.linear")):
        made.update({f"{theirs}.{end}": state[f"{ours}.{end}"] for end in ("weight", "bias")})
    for name, value in state.items():
        if name.startswith(APPROXIMATOR):
            other = name.replace("linear_1", "in_layer").replace("linear_2", "out_layer")
            made[other.replace(".weight", ".scale") if ".norms." in name else other] = value
    kinds = (
        ("transformer_blocks", "double_blocks", CHROMA["num_layers"], flux_originals.DOUBLE, flux_originals.DOUBLE_STACKED),
        ("single_transformer_blocks", "single_blocks", CHROMA["num_single_layers"], flux_originals.SINGLE, flux_originals.SINGLE_STACKED),
    )
    for ours, theirs, count, plain, stacked in kinds:
        for i in range(count):
            for name, other in plain.items():
                for end in ("",) if name.endswith(".weight") else (".weight", ".bias"):
                    if f"{ours}.{i}.{name}{end}" in state:  # not the modulations
                        made[f"{theirs}.{i}.{other}{end}"] = state[f"{ours}.{i}.{name}{end}"]
            for other, names in stacked.items():
                for end in ("weight", "bias"):
                    made[f"{theirs}.{i}.{other}.{end}"] = torch.cat([state[f"{ours}.{i}.{name}.{end}"] for name in names])
    back = flux_originals.at_our_size(files.convert_chroma_transformer_checkpoint_to_diffusers)(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def originals():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    made = original(state)
    yield "original", made
    # The reference's converters know no layers of the network that makes modulations.
    made = {k: v for k, v in made.items() if not k.startswith(APPROXIMATOR)}
    for make in (flux_originals.lora_diffusers, flux_originals.lora_kohya, flux_originals.lora_comfy):
        file, converted = make(state, made)
        compared = {k: v for k, v in flux_originals.deltas(converted).items() if k in flux_originals.COMPARED}
        print(make.__name__, len(file), "tensors,", len(compared), "compared")
        yield make.__name__, {k: v.to(torch.float32) for k, v in file.items()}
        yield make.__name__ + "_deltas", {k: v.to(torch.float32) for k, v in compared.items()}


# --------------------------------------------------------------------------------------- folders
def write_model(folder):
    from diffusers import AutoencoderKL, ChromaTransformer2DModel
    from transformers import T5Config, T5EncoderModel

    if folder.exists():
        shutil.rmtree(folder)
    pieces = pixart.write_tokenizer(folder / "tokenizer")
    t5 = T5EncoderModel(T5Config(**{**pixart.T5, "num_layers": 2, "vocab_size": pieces}))
    parts = {
        "text_encoder": (t5, 302),
        "transformer": (ChromaTransformer2DModel(**CHROMA), 303),
        "vae": (AutoencoderKL(**flux.KL), 304),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            **flux.SHIFTS,
            "num_train_timesteps": 1000,
            "shift": 3.0,
            "use_dynamic_shifting": True,
        },
    )
    common.write_json(
        folder / "model_index.json",
        {
            "_class_name": "ChromaPipeline",
            "_diffusers_version": "0.42.1",
            "feature_extractor": [None, None],
            "image_encoder": [None, None],
            "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
            "text_encoder": ["transformers", "T5EncoderModel"],
            "tokenizer": ["transformers", "T5TokenizerFast"],
            "transformer": ["diffusers", "ChromaTransformer2DModel"],
            "vae": ["diffusers", "AutoencoderKL"],
        },
    )


# ------------------------------------------------------------------------------------------ runs
def runs():
    prompt, two, image, mask, run = flux.PROMPT, flux.TWO, flux.IMAGE, flux.MASK, flux.run
    negative = {"negative_prompt": "for all people"}
    yield "text2image", run(prompt, 80, width=64, height=48, max_sequence_length=64)
    yield "negative", run({**prompt, **negative}, 81, width=48, height=32, guidance_scale=3.0)
    yield "prompts", run(
        {**two, "negative_prompt": ["people", "time"]}, 82, width=24, height=40, num_images_per_prompt=2
    )
    # Neither a mask's end nor guidance: every token is the prompt's.
    yield "cut_prompt", run(prompt, 83, width=32, height=32, guidance_scale=1.0, max_sequence_length=6)
    yield "image2image", run(
        {**two, **image}, 84, "image2image", strength=0.45, num_inference_steps=7, width=48, height=32
    )
    yield "inpaint", run(
        {**prompt, **negative, **image, **mask},
        85,
        "inpaint",
        strength=0.7,
        guidance_scale=2.5,
        num_images_per_prompt=2,
        width=64,
        height=64,
    )


TASKS = {"image2image": "ChromaImg2ImgPipeline", "inpaint": "ChromaInpaintPipeline"}


def generate(pipe, request, folder):
    """prompt_embeds, negative_prompt_embeds [prompts, T, D] and their masks [prompts, T]; latents_after_step_K
    [n, C, H, W] for the first, middle and last step; timesteps; image [n, 3, H, W] in 0..1."""
    import diffusers

    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    if request["task"] in TASKS:
        pipe = getattr(diffusers, TASKS[request["task"]])(
            **{k: v for k, v in pipe.components.items() if v is not None}
        )
        # The inpainting pipeline asks for a key of FLUX.1's config that Chroma's does not have.
        pipe.transformer.register_to_config(guidance_embeds=False)
    pipe.set_progress_bar_config(disable=True)
    given = flux.given_images(request, folder, len(seeds))
    given.update({name: inputs[name] for name in ("prompt", "negative_prompt") if name in inputs})
    count = len(inputs["prompt"]) if isinstance(inputs["prompt"], list) else 1
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length", "strength"]
    given.update({name: config[name] for name in names if name in config})

    embeds, out = common.follow(pipe, config, seeds, flux.unpacked, **given)
    states, _, mask, negative, _, negative_mask = embeds[0]
    made = {"prompt_embeds": states, "prompt_embeds_mask": mask}
    if negative is not None:
        made.update({"negative_prompt_embeds": negative, "negative_prompt_embeds_mask": negative_mask})
    for name, rows in made.items():
        out[name] = rows[:: max(1, len(rows) // count)].to(torch.float32)
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals", "chroma"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "originals" in wanted:
        for name, tensors in originals():
            check_or_write(FOLDER / f"{name}.safetensors", tensors, options.check)
    if "chroma" in wanted:
        make_pipeline("chroma", write_model, runs(), generate, options)


if __name__ == "__main__":
    main()
