#!/usr/bin/env python3
"""Tiny random FLUX.1 folders: what diffusers makes of their transformer, and of requests to them.

  tools/goldens/flux.py [--only networks,flux_schnell,flux_dev,flux_fill] [--runs inpaint] [--keep-models] [--check]

tests/goldens/networks/flux_transformer* as networks.py makes them; tests/goldens/pipelines/flux_*/model is a folder and
RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import shutil

import common
import networks
import pipelines
import pixart
import torch
from diffusers import FluxPipeline as Flux
from golden_files import arguments, make_networks, make_pipeline

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
FLUX = dict(
    in_channels=12,
    num_layers=2,
    num_single_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    pooled_projection_dim=14,
    guidance_embeds=False,
    axes_dims_rope=(2, 4, 6),
)


def packed(latents):
    """{B, C, 2h, 2w} -> tokens {B, h w, 4 C}."""
    return Flux._pack_latents(latents, *latents.shape)


def unpacked(tokens, height, width):
    """The inverse; height and width of latents."""
    return Flux._unpack_latents(tokens, height, width, 1)


def ids_of(height, width):
    return Flux._prepare_latent_image_ids(1, height // 2, width // 2, "cpu", torch.float32)


def of_blocks(residuals, blocks):
    """One residual for each block, as FluxTransformer2DModel takes a few."""
    interval = -(-blocks // len(residuals))
    return [residuals[block // interval] for block in range(blocks)]


def residuals_golden(inputs, config, seed, tokens, counts):
    """What is given to the reference, and to inputs of ours: {controlnet_block_samples, ...}."""
    given = {}
    places = (("controlnet_block_samples", config.num_layers), ("controlnet_single_block_samples", config.num_single_layers))
    for (name, blocks), count in zip(places, counts):
        shape = (*tokens.shape[:2], config.num_attention_heads * config.attention_head_dim)
        given[name] = [common.normal(seed + 10 * blocks + i, *shape) for i in range(count)]
        for block, residual in enumerate(of_blocks(given[name], blocks)):
            inputs[f"in.{name}.{block}"] = residual
    return given


def flux_golden(model, seed, rows, height, width, text, timesteps, references=(), residuals=()):
    """references: {height, width} in latents of each image next to the one that is made; residuals: how many of
    ControlNets there are for the first blocks and for the others."""
    config = model.config
    channels = config.in_channels // 4
    sample = common.normal(seed, rows, channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    pooled = common.normal(seed + 2, rows, config.pooled_projection_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {
        "in.sample": sample,
        "in.timestep": times,
        "in.encoder_hidden_states": embeds,
        "in.pooled_projections": pooled,
    }
    tokens, ids = packed(sample), ids_of(height, width)
    if references:
        images = [
            common.normal(seed + 3 + i, 1, channels, *size) for i, size in enumerate(references)
        ]
        theirs = torch.cat([ids_of(*size) for size in references])
        theirs[:, 0] = 1  # as FluxKontextPipeline.prepare_latents marks them
        inputs["in.reference_latents"] = torch.cat([packed(image) for image in images], 1).repeat(
            rows, 1, 1
        )
        inputs["in.reference_ids"] = torch.nn.functional.pad(theirs, (0, 1))[None]
        tokens = torch.cat([tokens, inputs["in.reference_latents"]], 1)
        ids = torch.cat([ids, theirs])
    guidance = None
    if config.guidance_embeds:
        guidance = torch.linspace(1.5, 4.0, rows)
        inputs["in.guidance"] = guidance
    control = residuals_golden(inputs, config, seed, tokens, residuals) if residuals else {}
    out = model(
        tokens,
        **control,
        encoder_hidden_states=embeds,
        pooled_projections=pooled,
        timestep=times / 1000,
        img_ids=ids,
        txt_ids=torch.zeros(text, 3),
        guidance=guidance,
        return_dict=False,
    )[0][:, : height * width // 4]
    return {**inputs, "out.sample": unpacked(out, height, width)}


def flux_case(seed, dtype=torch.float32, **config):
    from diffusers import FluxTransformer2DModel

    def make(folder):
        model = FluxTransformer2DModel(**{**FLUX, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = FluxTransformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", flux_golden(model, 850, 3, 8, 8, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", flux_golden(model, 860, 1, 6, 22, 13, [499.5])
        yield "golden_references", flux_golden(
            model, 870, 2, 10, 6, 6, [875.0], references=((6, 10), (4, 2))
        )
        if config.get("num_layers", 2) > 1:
            yield "golden_residuals", flux_golden(model, 890, 2, 4, 6, 3, [640.0, 10.0], residuals=(1, 2))
        yield "golden_smallest", flux_golden(model, 880, 1, 2, 2, 1, [250.0])

    return make, goldens


def network_cases():
    yield "flux_transformer", flux_case(100, torch.bfloat16)
    yield "flux_transformer_guidance", flux_case(101, HALF, guidance_embeds=True)
    yield "flux_transformer_rare_options", flux_case(
        102,
        patch_size=2,
        in_channels=20,
        out_channels=3,
        axes_dims_rope=(4, 6, 2),
        num_single_layers=1,
        num_layers=1,
    )


# --------------------------------------------------------------------------------------- folders
KL = dict(
    block_out_channels=(8, 12, 16),
    down_block_types=("DownEncoderBlock2D",) * 3,
    up_block_types=("UpDecoderBlock2D",) * 3,
    layers_per_block=1,
    latent_channels=4,  # those of an image would be taken for latents
    norm_num_groups=4,
    scaling_factor=0.3611,
    shift_factor=0.1159,
    use_quant_conv=False,
    use_post_quant_conv=False,
)
CLIP = dict(
    hidden_size=14,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=2,
    projection_dim=14,
    max_position_embeddings=77,
    hidden_act="quick_gelu",
    bos_token_id=0,
    eos_token_id=2,
)
SHIFTS = dict(base_image_seq_len=256, base_shift=0.5, max_image_seq_len=4096, max_shift=1.15)


def write_model(folder, shift=3.0, dynamic=True, pipeline="FluxPipeline", **values):
    from diffusers import AutoencoderKL, FluxTransformer2DModel
    from transformers import CLIPTextConfig, CLIPTextModel, T5Config, T5EncoderModel

    if folder.exists():
        shutil.rmtree(folder)
    words = pipelines.write_tokenizer(folder / "tokenizer", "<|endoftext|>")
    pieces = pixart.write_tokenizer(folder / "tokenizer_2")
    clip = CLIPTextModel(CLIPTextConfig(**CLIP, vocab_size=words))
    networks.save_checkpoint(clip, folder / "text_encoder", 105, 1.5, HALF, networks.prefixed)
    t5 = T5EncoderModel(T5Config(**{**pixart.T5, "num_layers": 2, "vocab_size": pieces}))
    parts = {
        "text_encoder_2": (t5, 106),
        "transformer": (FluxTransformer2DModel(**{**FLUX, "in_channels": 16, **values}), 107),
        "vae": (AutoencoderKL(**KL), 108),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            **SHIFTS,
            "num_train_timesteps": 1000,
            "shift": shift,
            "use_dynamic_shifting": dynamic,
        },
    )
    index = {
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", "CLIPTextModel"],
        "text_encoder_2": ["transformers", "T5EncoderModel"],
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "tokenizer_2": ["transformers", "T5TokenizerFast"],
        "transformer": ["diffusers", "FluxTransformer2DModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    common.write_json(
        folder / "model_index.json",
        {"_class_name": pipeline, "_diffusers_version": "0.42.1", **index},
    )


MODELS = {
    "flux_schnell": dict(shift=1.0, dynamic=False),
    "flux_dev": dict(guidance_embeds=True),
    # Latents, the masked image's, and a channel for each of a latent's 4 x 4 pixels.
    "flux_fill": dict(
        pipeline="FluxFillPipeline", in_channels=96, out_channels=16, guidance_embeds=True
    ),
    "flux_control": dict(
        pipeline="FluxControlPipeline", in_channels=32, out_channels=16, guidance_embeds=True
    ),
    "flux_kontext": dict(pipeline="FluxKontextPipeline", guidance_embeds=True),
}

# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
TWO = {"prompt": ["a small red apple", "The sea at night"]}
SECONDS = {"prompt_2": ["the sea", "a tree"], "negative_prompt_2": ["a cloud", "a red stone"]}
IMAGE = {"image": "../../inputs/image.png"}
MASK = {"mask": "../../inputs/mask.png"}


def run(inputs, seed, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 24, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs(model):
    negative = {"negative_prompt": "for all people"}
    if model == "flux_schnell":
        yield "text2image", run(PROMPT, 40, width=64, height=48, max_sequence_length=256)
        yield "prompts", run(TWO, 41, width=24, height=40, num_images_per_prompt=2)
        yield "one_step", run(PROMPT, 42, width=32, height=32, num_inference_steps=1)
        yield "negative", run({**PROMPT, **negative}, 43, width=48, height=32, true_cfg_scale=3.0)
        yield "image2image", run({**PROMPT, **IMAGE}, 44, "image2image", width=64, height=64)
        return
    size = {"width": 48, "height": 32}
    if model == "flux_fill":
        masked = {**PROMPT, **IMAGE, **MASK}
        yield "inpaint", run(masked, 60, "inpaint", guidance_scale=30.0, width=64, height=64)
        yield "inpaint_weak", run(
            {**masked, **TWO}, 61, "inpaint", strength=0.6, width=40, height=56
        )
        return
    if model == "flux_kontext":
        # At the sizes that the model was trained on these files would be large.
        small = {"max_area": 48 * 32, "auto_resize": False}
        yield "edit", run({**PROMPT, **IMAGE}, 64, "edit", guidance_scale=2.5, **small)
        other = {**TWO, "image": "../../inputs/image_88x72.png", **negative}
        yield "edit_wide", run(
            {**other, "negative_prompt": ["people", "time"]},
            65,
            "edit",
            true_cfg_scale=1.5,
            num_images_per_prompt=2,
            width=90,
            height=40,
            **small,
        )
        yield "text2image", run(PROMPT, 66, max_area=40 * 40)
        masked = {**PROMPT, **IMAGE, **MASK}
        whole = {"auto_resize": False}
        yield "inpaint", run(masked, 67, "inpaint", strength=0.7, guidance_scale=2.5, **whole)
        two = {**masked, **TWO, "negative_prompt": ["people", "time"]}
        other = {**masked, "image_reference": ["../../inputs/image_88x72.png"]}
        yield "inpaint_reference", run(other, 71, "inpaint", strength=0.8, **whole)
        yield "inpaint_two", run(two, 68, "inpaint", true_cfg_scale=1.5, num_images_per_prompt=2, **whole)
        return
    if model == "flux_control":
        control = {"control_image": "../../inputs/image_88x72.png"}
        yield "text2image", run({**PROMPT, **control}, 62, guidance_scale=10.0, **size)
        yield "prompts", run(
            {**TWO, **control}, 63, num_images_per_prompt=2, width=24, height=40
        )
        yield "image2image", run(
            {**TWO, **control, **IMAGE}, 69, "image2image", strength=0.55, guidance_scale=7.0, num_inference_steps=6, **size
        )
        yield "inpaint", run(
            {**PROMPT, **control, **IMAGE, **MASK}, 70, "inpaint", strength=0.7, num_images_per_prompt=2, width=64, height=64
        )
        return
    yield "text2image", run(PROMPT, 50, num_inference_steps=8, guidance_scale=2.5, **size)
    seconds = {**TWO, **SECONDS, "negative_prompt": ["people", "time"]}
    yield "negative", run(
        seconds, 51, guidance_scale=3.5, true_cfg_scale=2.0, num_images_per_prompt=2, **size
    )
    shifts = {"base_shift": 0.3, "max_shift": 2.0, "max_image_seq_len": 64, "base_image_seq_len": 4}
    terminal = {**shifts, "shift_terminal": 0.1, "time_shift_type": "linear"}
    yield "other_shift", run(PROMPT, 52, guidance_scale=3.0, scheduler_config=terminal, **size)
    yield "image2image", run(
        {**TWO, **IMAGE}, 53, "image2image", strength=0.45, guidance_scale=7.0, num_inference_steps=7, **size
    )
    masked = {**PROMPT, **negative, **IMAGE, **MASK}
    yield "inpaint", run(
        masked, 54, "inpaint", strength=0.7, true_cfg_scale=1.5, num_images_per_prompt=2, width=64, height=64
    )


# By the folder's class and the task, what runs other tasks than the folder's own.
TASKS = {
    ("FluxPipeline", "image2image"): "FluxImg2ImgPipeline",
    ("FluxPipeline", "inpaint"): "FluxInpaintPipeline",
    ("FluxControlPipeline", "image2image"): "FluxControlImg2ImgPipeline",
    ("FluxControlPipeline", "inpaint"): "FluxControlInpaintPipeline",
    ("FluxKontextPipeline", "inpaint"): "FluxKontextInpaintPipeline",
}


def given_images(request, folder, count):
    """One image and mask for each result, so that each generator draws for its own image."""
    from PIL import Image

    inputs, taken = request["inputs"], {}
    for name, argument, mode in (("image", "image", "RGB"), ("mask", "mask_image", "L")):
        if name in inputs:
            taken[argument] = [Image.open(folder / inputs[name]).convert(mode)] * count
    if request["task"] == "edit":  # which draws nothing for its image
        taken["image"] = taken["image"][0]
    if "image_reference" in inputs:
        taken["image_reference"] = Image.open(folder / inputs["image_reference"][0]).convert("RGB")
    if "control_image" in inputs:
        paths = inputs["control_image"]
        images = [Image.open(folder / path).convert("RGB") for path in ([paths] if isinstance(paths, str) else paths)]
        taken["control_image"] = images[0] if isinstance(paths, str) else images
    return taken


def generate(pipe, request, folder):
    """prompt_embeds, negative_prompt_embeds [prompts, T, D] and pooled_prompt_embeds,
    negative_pooled_prompt_embeds [prompts, P]; latents_after_step_K [n, C, H, W] for the first, middle and last step;
    timesteps; image [n, 3, H, W] in 0..1."""
    import diffusers

    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    other = TASKS.get((type(pipe).__name__, request["task"]))
    if other:
        pipe = getattr(diffusers, other)(**pipe.components)
    pipe.set_progress_bar_config(disable=True)
    plain, out, latents, timesteps, embeds = pipe.scheduler, {}, [], [], []
    common._set_scheduler(pipe, config)
    given = given_images(request, folder, len(seeds))
    for name in ("prompt", "prompt_2", "negative_prompt", "negative_prompt_2"):
        if name in inputs:
            given[name] = inputs[name]
    if "given" in request:  # embeddings in place of the prompt, or an IP-Adapter's images
        if "prompt_embeds" in request["given"]:
            del given["prompt"]
        given.update(request["given"])
    count = len(inputs["prompt"]) if isinstance(inputs["prompt"], list) else 1
    names = ["num_inference_steps", "guidance_scale", "true_cfg_scale", "num_images_per_prompt"]
    names += ["width", "height", "max_sequence_length", "strength"]
    names += ["max_area", "controlnet_conditioning_scale", "control_guidance_start", "control_guidance_end", "control_mode"]
    given.update({name: config[name] for name in names if name in config})
    if "auto_resize" in config:
        given["_auto_resize"] = config["auto_resize"]

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", lambda result: embeds.append(result[:2]))
    try:
        out["image"] = pipe(
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="pt",
            callback_on_step_end=on_step,
            **given,
        ).images
    finally:
        pipe.__dict__.pop("encode_prompt", None)
        pipe.scheduler = plain
    for prefix, (states, pooled) in zip(("", "negative_"), embeds):
        for name, rows in (("prompt_embeds", states), ("pooled_prompt_embeds", pooled)):
            out[prefix + name] = rows[:: max(1, len(rows) // count)]
    size = [side // pipe.vae_scale_factor for side in out["image"].shape[2:]]
    for index in sorted({0, len(latents) // 2, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = unpacked(latents[index], *size)
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", *MODELS}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    for name in sorted(wanted & set(MODELS)):
        make_pipeline(name, lambda folder: write_model(folder, **MODELS[name]), runs(name), generate, options)


if __name__ == "__main__":
    main()
