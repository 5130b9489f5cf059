#!/usr/bin/env python3
"""Tiny random PixArt folders: what transformers and diffusers make of their networks, and of requests to them.

  tools/goldens/pixart.py [--only networks,pixart_sigma,pixart_alpha] [--runs pag] [--keep-models] [--check]

tests/goldens/networks/{t5,pixart}_* as networks.py makes them; tests/goldens/pipelines/pixart_*/model is a folder and
RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import argparse
import pathlib
import shutil

import common
import networks
import torch

NETWORKS, PIPELINES = common.GOLDENS / "networks", common.GOLDENS / "pipelines"
HALF = torch.float16

# -------------------------------------------------------------------------------------------- T5
T5 = dict(
    vocab_size=300,
    d_model=20,
    d_kv=6,
    d_ff=36,
    num_layers=3,
    num_heads=3,
    relative_attention_num_buckets=32,
    relative_attention_max_distance=128,
    feed_forward_proj="gated-gelu",
    is_encoder_decoder=False,
    use_cache=False,
)


def t5_golden(model, seed, rows, length, used=None):
    ids = torch.randint(0, 300, (rows, length), generator=torch.Generator().manual_seed(seed))
    tensors, mask = {"in.input_ids": ids}, None
    if used:
        mask = (torch.arange(length)[None] < torch.tensor(used)[:, None]).float()
        tensors["in.mask"] = mask
    tensors["out.last_hidden_state"] = model(ids, attention_mask=mask).last_hidden_state
    return tensors


def t5_case(seed, dtype=torch.float32, **config):
    from transformers import T5Config, T5EncoderModel

    def make(folder):
        model = T5EncoderModel(T5Config(**{**T5, **config}))
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = T5EncoderModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", t5_golden(model, 500, 3, 24, [24, 5, 1])
        # Distances beyond the exact buckets, and beyond the last.
        yield "golden_long", t5_golden(model, 510, 1, 150)

    return make, goldens


# ---------------------------------------------------------------------------------------- PixArt
PIXART = dict(
    num_attention_heads=2,
    attention_head_dim=12,
    num_layers=2,
    cross_attention_dim=24,
    caption_channels=20,
    sample_size=32,
)


def pixart_golden(model, seed, rows, height, width, timesteps, used=None):
    config, length = model.config, 7
    inputs = {
        "in.sample": common.normal(seed, rows, config.in_channels, height, width),
        "in.timestep": torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone(),
        "in.encoder_hidden_states": common.normal(
            seed + 1, rows, length, config.caption_channels or config.cross_attention_dim
        ),
    }
    sizes = None
    if model.use_additional_conditions:
        sides = torch.tensor([[8.0 * height, 8.0 * width]]).repeat(rows, 1)
        sizes = {"resolution": sides, "aspect_ratio": sides[:, :1] / sides[:, 1:]}
        inputs.update({f"in.{name}": value for name, value in sizes.items()})
    if used:
        inputs["in.encoder_attention_mask"] = (
            torch.arange(length)[None] < torch.tensor(used)[:, None]
        ).float()
    out = model(
        inputs["in.sample"],
        encoder_hidden_states=inputs["in.encoder_hidden_states"],
        timestep=inputs["in.timestep"],
        added_cond_kwargs=sizes or {"resolution": None, "aspect_ratio": None},
        encoder_attention_mask=inputs.get("in.encoder_attention_mask"),
    ).sample
    return {**inputs, "out.sample": out}


def pixart_case(seed, dtype=torch.float32, **config):
    from diffusers import PixArtTransformer2DModel

    def make(folder):
        model = PixArtTransformer2DModel(**{**PIXART, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = PixArtTransformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", pixart_golden(model, 600, 3, 8, 8, [999.0, 0.0, 570.857], [7, 3, 1])
        yield "golden_wide", pixart_golden(model, 610, 1, 6, 14, [499.5])

    return make, goldens


def network_cases():
    yield "t5_v11", t5_case(70)
    yield "t5_relu", t5_case(
        71,
        HALF,
        feed_forward_proj="relu",
        num_layers=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=20,
    )
    yield "pixart_sigma", pixart_case(72, HALF)
    yield "pixart_alpha_1024", pixart_case(73, HALF, sample_size=128)
    yield "pixart_rare_options", pixart_case(
        74,
        patch_size=1,
        out_channels=4,
        caption_channels=None,
        interpolation_scale=1.5,
        attention_bias=False,
        norm_elementwise_affine=True,
        norm_eps=1e-3,
        activation_fn="gelu",
        upcast_attention=True,
        num_layers=1,
    )


# --------------------------------------------------------------------------------------- folders
SOLVER = dict(
    beta_start=0.0001,
    beta_end=0.02,
    beta_schedule="linear",
    num_train_timesteps=1000,
    algorithm_type="dpmsolver++",
    solver_order=2,
)
PIECES = 400


def write_tokenizer(folder):
    """The first pieces of T5's vocabulary, without its replacements; its rows."""
    import json

    from transformers import T5Tokenizer

    source = common.ROOT / "tests" / "data" / "tokenizers" / "t5" / "tokenizer.json"
    pieces = json.loads(source.read_text())["model"]["vocab"][:PIECES]
    tokenizer = T5Tokenizer(vocab=[tuple(each) for each in pieces], extra_ids=0)
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


def write_model(folder, pipeline, transformer, transformer_class):
    from diffusers import AutoencoderKL, PixArtTransformer2DModel
    from transformers import T5Config, T5EncoderModel

    if folder.exists():
        shutil.rmtree(folder)
    rows = write_tokenizer(folder / "tokenizer")
    t5 = {**T5, "num_layers": 2, "vocab_size": rows}
    parts = {
        "text_encoder": (T5EncoderModel(T5Config(**t5)), 80),
        "transformer": (PixArtTransformer2DModel(**{**PIXART, **transformer}), 81),
        "vae": (AutoencoderKL(**networks.KL), 82),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    # Published folders name the network by its first name.
    config = folder / "transformer" / "config.json"
    config.write_text(config.read_text().replace("PixArtTransformer2DModel", transformer_class))
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {"_class_name": "DPMSolverMultistepScheduler", "_diffusers_version": "0.42.1", **SOLVER},
    )
    index = {
        "scheduler": ["diffusers", "DPMSolverMultistepScheduler"],
        "text_encoder": ["transformers", "T5EncoderModel"],
        "tokenizer": ["transformers", "T5Tokenizer"],
        "transformer": ["diffusers", transformer_class],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    common.write_json(
        folder / "model_index.json",
        {"_class_name": pipeline, "_diffusers_version": "0.42.1", **index},
    )


MODELS = {
    "pixart_sigma": dict(
        pipeline="PixArtSigmaPipeline",
        transformer=dict(),
        transformer_class="PixArtTransformer2DModel",
    ),
    "pixart_alpha": dict(
        pipeline="PixArtAlphaPipeline",
        transformer=dict(sample_size=128),
        transformer_class="Transformer2DModel",
    ),
}

# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea ", "negative_prompt": "for all people"}
TWO = {"prompt": ["a small red apple", "The sea at night"], "negative_prompt": ["people", "time"]}


def run(inputs, seed, steps=4, scale=4.5, **config):
    size = {"width": 64, "height": 64, "use_resolution_binning": False}
    values = {"num_inference_steps": steps, "guidance_scale": scale, "seed": seed, **size}
    values = {k: v for k, v in {**values, **config}.items() if v is not None}
    return {"task": "text2image", "model": "../model", "inputs": inputs, "config": values}


def runs(model):
    if model == "pixart_alpha":
        yield "text2image", run(PROMPT, 1, steps=6)
        yield "wide", run(
            PROMPT, 2, width=96, height=32, num_images_per_prompt=2, scheduler="DDIMScheduler"
        )
        yield "prompts", run(TWO, 3, steps=3, max_sequence_length=16)
        return
    yield "text2image", run(PROMPT, 10, steps=8)
    yield "binning", run(
        PROMPT, 11, width=48, height=64, use_resolution_binning=None, max_sequence_length=24
    )
    yield "prompts", run(
        TWO,
        12,
        width=80,
        height=48,
        num_images_per_prompt=2,
        max_sequence_length=16,
        scheduler="EulerAncestralDiscreteScheduler",
    )
    yield "no_guidance", run(
        {"prompt": "a small red apple"}, 13, scale=1.0, max_sequence_length=16
    )
    yield "long", run(PROMPT, 14, steps=3, max_sequence_length=6)
    yield "pag", {
        **run(PROMPT, 16, steps=3, scale=None, max_sequence_length=16),
        "guider": {
            "type": "pag",
            "guidance_scale": 4.5,
            "pag_scale": 2.0,
            "pag_applied_layers": "1",
        },
    }
    yield "no_negative", run({"prompt": "a small red apple"}, 15, steps=3, max_sequence_length=16)


def perturbed(pipe, guider):
    """The pipeline that asks a third time with some self-attention left out, and what it takes for it."""
    from diffusers import PixArtSigmaPAGPipeline

    layers = [f"blocks.{guider['pag_applied_layers']}"]
    made = PixArtSigmaPAGPipeline(**pipe.components, pag_applied_layers=layers)
    made.set_progress_bar_config(disable=True)
    return made, {"guidance_scale": guider["guidance_scale"], "pag_scale": guider["pag_scale"]}


def generate(pipe, request):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D]; latents_after_step_K for the first, middle and last
    step; timesteps; image [n, 3, H, W] in 0..1."""
    seeds, config, inputs = common.seeds_of(request), request["config"], request["inputs"]
    further = {}
    if "guider" in request:
        pipe, further = perturbed(pipe, request["guider"])
    plain, out, latents, timesteps = pipe.scheduler, {}, [], []
    common._set_scheduler(pipe, config)

    def on_embeds(result):
        for name, value in (("prompt_embeds", result[0]), ("negative_prompt_embeds", result[2])):
            if value is not None:
                out[name] = value[:: config.get("num_images_per_prompt", 1)]

    def on_step(_, timestep, values):
        latents.append(values.clone())
        timesteps.append(float(timestep))

    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["eta", "max_sequence_length", "use_resolution_binning"]
    common._record(pipe, "encode_prompt", on_embeds)
    try:
        out["image"] = pipe(
            prompt=inputs["prompt"],
            negative_prompt=inputs.get("negative_prompt", ""),
            **{name: config[name] for name in names if name in config},
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            clean_caption=False,
            output_type="pt",
            callback=on_step,
            **further,
        ).images
    finally:
        pipe.__dict__.pop("encode_prompt", None)
        pipe.scheduler = plain
    for index in sorted({0, len(latents) // 2, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = latents[index]
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def check_or_write(path, tensors, check):
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise SystemExit(f"{path}: not finite")
    if check:
        common.report_difference(path.parent.name, path, tensors)
    else:
        common.write_tensors(path, tensors)
        print(path.parent, {k: f"{v.float().std():.2f}" for k, v in tensors.items() if "out." in k or k == "image"})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument("--runs", type=lambda text: set(text.split(",")), help="these alone")
    parser.add_argument("--keep-models", action="store_true", help="use the folders that are there")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    wanted = options.only or {"networks", *MODELS}
    for name, (make, goldens) in network_cases() if "networks" in wanted else ():
        if not options.check:
            make(NETWORKS / name)
        for file, tensors in goldens(NETWORKS / name):
            check_or_write(NETWORKS / name / f"{file}.safetensors", tensors, options.check)
    for name in sorted(wanted & set(MODELS)):
        folder = PIPELINES / name
        if not (options.check or options.keep_models):
            write_model(folder / "model", **MODELS[name])
        pipe = common.load_any(folder / "model")
        for title, request in runs(name):
            if options.runs and title not in options.runs:
                continue
            (folder / title).mkdir(parents=True, exist_ok=True)
            tensors = generate(pipe, request)
            if not options.check:
                common.write_json(folder / title / "request.json", request)
            check_or_write(folder / title / "golden.safetensors", tensors, options.check)


if __name__ == "__main__":
    main()
