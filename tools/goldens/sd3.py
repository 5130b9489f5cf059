#!/usr/bin/env python3
"""Tiny random Stable Diffusion 3 folders: what diffusers makes of their transformer, and of requests to them.

  tools/goldens/sd3.py [--only networks,sd3,sd35] [--runs inpaint] [--keep-models] [--check]

tests/goldens/networks/sd3_transformer* as networks.py makes them; tests/goldens/pipelines/sd3 and sd35 have a folder
model, and RUN/{request.json,golden.safetensors} beside it for a run, as pipelines.py makes them. sd3 is built as
3 medium; sd35 as 3.5 medium, and has no T5.
"""

import shutil

import common
import networks
import pipelines
import pixart
import torch
from golden_files import arguments, make_networks, make_pipeline

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
SD3 = dict(
    sample_size=16,
    patch_size=2,
    in_channels=16,
    num_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    caption_projection_dim=36,
    pooled_projection_dim=14,
    out_channels=16,
    pos_embed_max_size=12,
)
# What 3.5 medium adds.
DUAL = dict(dual_attention_layers=(0, 1), qk_norm="rms_norm")


def residuals_golden(inputs, config, seed, height, width, count):
    """What is given to the reference, and one for each block to inputs of ours."""
    rows, tokens = inputs["in.sample"].shape[0], height * width // config.patch_size**2
    shape = (rows, tokens, config.num_attention_heads * config.attention_head_dim)
    given = [common.normal(seed + 3 + i, *shape) for i in range(count)]
    for block in range(config.num_layers):
        place = int(block / (config.num_layers / count))
        inputs[f"in.block_controlnet_hidden_states.{block}"] = given[place]
    return given


def sd3_golden(model, seed, rows, height, width, text, timesteps, residuals=0, **asked):
    """residuals: how many a ControlNet gives."""
    config = model.config
    inputs = {
        "in.sample": common.normal(seed, rows, config.in_channels, height, width),
        "in.timestep": torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone(),
        "in.encoder_hidden_states": common.normal(
            seed + 1, rows, text, config.joint_attention_dim
        ),
        "in.pooled_projections": common.normal(seed + 2, rows, config.pooled_projection_dim),
    }
    if residuals:
        plain = dict(inputs)
        asked["block_controlnet_hidden_states"] = residuals_golden(inputs, config, seed, height, width, residuals)
    names = {"sample": "hidden_states"}
    given = {}
    for name, value in (plain if residuals else inputs).items():
        name = name.removeprefix("in.")
        given[names.get(name, name)] = value
    return {**inputs, "out.sample": model(**given, **asked, return_dict=False)[0]}


def sd3_case(seed, dtype=torch.float32, **config):
    from diffusers import SD3Transformer2DModel

    def make(folder):
        model = SD3Transformer2DModel(**{**SD3, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = SD3Transformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        side = model.config.patch_size
        yield "golden", sd3_golden(model, 900, 3, 4 * side, 5 * side, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", sd3_golden(model, 910, 1, 3 * side, 11 * side, 13, [499.5])
        yield "golden_whole", sd3_golden(model, 920, 2, 12 * side, 12 * side, 5, [875.0])
        if not config.get("num_layers"):
            yield "golden_residuals", sd3_golden(model, 940, 2, 2 * side, 3 * side, 4, [640.0, 10.0], residuals=2)
        yield "golden_smallest", sd3_golden(model, 930, 1, side, side, 1, [250.0])

    return make, goldens


def network_cases():
    yield "sd3_transformer", sd3_case(120, HALF)
    yield "sd3_transformer_dual", sd3_case(121, torch.bfloat16, **DUAL)
    yield "sd3_transformer_rare_options", sd3_case(
        122,
        patch_size=3,
        in_channels=5,
        out_channels=None,
        num_layers=1,
        dual_attention_layers=(0,),
        qk_norm="rms_norm",
        sample_size=9,
        pos_embed_max_size=13,
    )


# --------------------------------------------------------------------------------------- folders
KL = dict(
    block_out_channels=(8, 12, 16),
    down_block_types=("DownEncoderBlock2D",) * 3,
    up_block_types=("UpDecoderBlock2D",) * 3,
    layers_per_block=1,
    latent_channels=16,  # as the reference's inpainting wants it
    norm_num_groups=4,
    scaling_factor=1.5305,
    shift_factor=0.0609,
    use_quant_conv=False,
    use_post_quant_conv=False,
)
CLIP = dict(
    hidden_size=8,
    intermediate_size=20,
    num_hidden_layers=3,
    num_attention_heads=2,
    projection_dim=8,
    max_position_embeddings=77,
    hidden_act="quick_gelu",
    bos_token_id=0,
    eos_token_id=2,
)
CLIP_G = {**CLIP, "hidden_size": 10, "projection_dim": 6, "hidden_act": "gelu"}


def write_model(folder, t5=True, **values):
    from diffusers import AutoencoderKL, SD3Transformer2DModel
    from transformers import CLIPTextConfig, CLIPTextModelWithProjection, T5Config, T5EncoderModel

    if folder.exists():
        shutil.rmtree(folder)
    words = pipelines.write_tokenizer(folder / "tokenizer", "<|endoftext|>")
    pipelines.write_tokenizer(folder / "tokenizer_2", "!")
    first = CLIPTextModelWithProjection(CLIPTextConfig(**CLIP, vocab_size=words))
    second = CLIPTextModelWithProjection(CLIPTextConfig(**CLIP_G, vocab_size=words))
    networks.save_checkpoint(first, folder / "text_encoder", 125, 1.5, HALF)
    networks.save_checkpoint(second, folder / "text_encoder_2", 126, 1.5, HALF)
    parts = {
        "transformer": (SD3Transformer2DModel(**{**SD3, **values}), 127),
        "vae": (AutoencoderKL(**KL), 128),
    }
    if t5:
        pieces = pixart.write_tokenizer(folder / "tokenizer_3")
        encoder = T5EncoderModel(T5Config(**{**pixart.T5, "num_layers": 2, "vocab_size": pieces}))
        parts["text_encoder_3"] = (encoder, 129)
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            "num_train_timesteps": 1000,
            "shift": 3.0,
        },
    )
    none = [None, None]
    index = {
        "feature_extractor": none,
        "image_encoder": none,
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", "CLIPTextModelWithProjection"],
        "text_encoder_2": ["transformers", "CLIPTextModelWithProjection"],
        "text_encoder_3": ["transformers", "T5EncoderModel"] if t5 else none,
        "tokenizer": ["transformers", "CLIPTokenizer"],
        "tokenizer_2": ["transformers", "CLIPTokenizer"],
        "tokenizer_3": ["transformers", "T5TokenizerFast"] if t5 else none,
        "transformer": ["diffusers", "SD3Transformer2DModel"],
        "vae": ["diffusers", "AutoencoderKL"],
    }
    common.write_json(
        folder / "model_index.json",
        {"_class_name": "StableDiffusion3Pipeline", "_diffusers_version": "0.42.1", **index},
    )


MODELS = {"sd3": {}, "sd35": dict(t5=False, **DUAL)}

# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
TWO = {"prompt": ["a small red apple", "The sea at night"]}
OTHERS = {
    "prompt_2": ["the sea", "a tree"],
    "prompt_3": ["a small tree, and all people", "time"],
    "negative_prompt": ["people", "time"],
    "negative_prompt_2": ["a cloud", "a red stone"],
    "negative_prompt_3": ["a red cloud", "a stone"],
}
NEGATIVE = {"negative_prompt": "for all people"}
IMAGE = {"image": "../../inputs/image.png"}
LARGER = {"image": "../../inputs/image_88x72.png"}
MASK = {"mask": "../../inputs/mask.png"}


def run(inputs, seed, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 24, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs(model):
    size = {"width": 48, "height": 40}
    masked = {**PROMPT, **IMAGE, **MASK}
    if model == "sd3":
        yield "text2image", run(PROMPT, 40, max_sequence_length=256, width=64, height=48)
        yield "no_guidance", run(PROMPT, 41, guidance_scale=1.0, **size)
        yield "prompts", run(
            {**TWO, **OTHERS}, 42, guidance_scale=4.5, num_images_per_prompt=2, width=24, height=40
        )
        yield "clip_skip", run({**PROMPT, **NEGATIVE}, 43, clip_skip=1, guidance_scale=3.0, **size)
        dynamic = {"use_dynamic_shifting": True, "base_shift": 0.4, "max_shift": 1.3}
        yield "dynamic_shift", run(PROMPT, 44, scheduler_config=dynamic, guidance_scale=2.0, **size)
        yield "image2image", run({**PROMPT, **IMAGE}, 45, "image2image", strength=0.6)
        yield "inpaint", run(masked, 46, "inpaint", strength=1.0, guidance_scale=5.0)
        pag = {"type": "pag", "pag_scale": 2.0, "pag_applied_layers": "1"}
        yield "pag", {**run({**PROMPT, **NEGATIVE}, 47, **size), "guider": {**pag, "guidance_scale": 4.5}}
        alone = {**pag, "guidance_scale": 1.0, "pag_adaptive_scale": 0.002, "pag_applied_layers": ["0", "2"]}
        yield "pag_alone", {**run(TWO, 48, num_images_per_prompt=2, **size), "guider": alone}
        yield "pag_image2image", {
            **run({**PROMPT, **IMAGE}, 49, "image2image", strength=0.6),
            "guider": {**pag, "guidance_scale": 3.0},
        }
        return
    yield "text2image", run(PROMPT, 50, guidance_scale=4.5, num_inference_steps=7, **size)
    skipped = {"skip_guidance_layers": [1, 2], "skip_layer_guidance_scale": 1.5}
    # 1.5 and 4.5 of 10 steps: steps 2, 3 and 4.
    part = {"skip_layer_guidance_start": 0.15, "skip_layer_guidance_stop": 0.45}
    yield "skip_layers", run(
        PROMPT, 51, guidance_scale=3.0, num_inference_steps=10, **skipped, **part, **size
    )
    yield "skip_one_layer", run(
        {**PROMPT, **NEGATIVE}, 52, skip_guidance_layers=[0], num_images_per_prompt=2, **size
    )
    yield "image2image", run(
        {**TWO, **LARGER},
        53,
        "image2image",
        strength=0.45,
        guidance_scale=0.0,
        num_inference_steps=7,
        **size,
    )
    yield "inpaint", run(
        {**masked, **NEGATIVE},
        54,
        "inpaint",
        strength=0.7,
        guidance_scale=1.5,
        num_images_per_prompt=2,
    )


TASKS = {
    "text2image": "StableDiffusion3Pipeline",
    "image2image": "StableDiffusion3Img2ImgPipeline",
    "inpaint": "StableDiffusion3InpaintPipeline",
}
TEXTS = [
    f"{negative}prompt{which}" for negative in ("", "negative_") for which in ("", "_2", "_3")
]


def load(folder):
    import diffusers

    absent = {} if (folder / "text_encoder_3").exists() else {"text_encoder_3": None, "tokenizer_3": None}
    pipe = diffusers.StableDiffusion3Pipeline.from_pretrained(
        folder.resolve(), torch_dtype=torch.float32, **absent
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def given_images(request, folder, count):
    """One image and mask for each result, so that each generator draws for its own image."""
    from PIL import Image

    inputs, taken = request["inputs"], {}
    for name, argument, mode in (("image", "image", "RGB"), ("mask", "mask_image", "L")):
        if name in inputs:
            taken[argument] = [Image.open(folder / inputs[name]).convert(mode)] * count
    return taken


def control_images(paths, folder):
    from PIL import Image

    images = [Image.open(folder / path).convert("RGB") for path in ([paths] if isinstance(paths, str) else paths)]
    return images[0] if isinstance(paths, str) else images


def decoded(pipe, latents):
    """As the other two pipelines decode: the one for inpainting forgets shift_factor."""
    config = pipe.vae.config
    image = pipe.vae.decode(latents / config.scaling_factor + config.shift_factor)[0]
    return pipe.image_processor.postprocess(image, output_type="pt")


def perturbed(pipe, request):
    """The pipeline that asks a third time with attention of some layers perturbed, and what it takes for it."""
    import diffusers

    guider = dict(request["guider"])
    layers = guider.pop("pag_applied_layers")
    kind = getattr(diffusers, TASKS[request["task"]].replace("Diffusion3", "Diffusion3PAG"))
    parts = {name: part for name, part in pipe.components.items() if name not in ("image_encoder", "feature_extractor")}
    made = kind(
        **parts,
        pag_applied_layers=[f"transformer_blocks.{layer}" for layer in ([layers] if isinstance(layers, str) else layers)],
    )
    return made, {name: value for name, value in guider.items() if name != "type"}


def generate(pipe, request, folder):
    """prompt_embeds, negative_prompt_embeds [prompts, T, D] and pooled_prompt_embeds,
    negative_pooled_prompt_embeds [prompts, P]; latents_after_step_K for the first, middle and last step; timesteps;
    image [n, 3, H, W] in 0..1."""
    import diffusers

    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    guidance = {}
    if "guider" in request:
        pipe, guidance = perturbed(pipe, request)
    elif not hasattr(pipe, "controlnet"):
        pipe = getattr(diffusers, TASKS[request["task"]])(**pipe.components)
    pipe.set_progress_bar_config(disable=True)
    plain, out, latents, timesteps, embeds = pipe.scheduler, {}, [], [], []
    common._set_scheduler(pipe, config)
    given = {**given_images(request, folder, len(seeds)), **guidance}
    controlled = hasattr(pipe, "controlnet")
    if controlled and request["task"] == "inpaint":
        nets = len(getattr(pipe.controlnet, "nets", [None]))
        given = {"control_image": given["image"] * nets, "control_mask": given["mask_image"]}
    elif controlled:
        given["control_image"] = control_images(inputs["control_image"], folder)
    if controlled:
        names = ["controlnet_conditioning_scale", "control_guidance_start", "control_guidance_end"]
        given.update({name: config[name] for name in names if name in config})
    given.update({name: inputs[name] for name in TEXTS if name in inputs})
    count = len(inputs["prompt"]) if isinstance(inputs["prompt"], list) else 1
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length", "strength", "clip_skip", "skip_guidance_layers"]
    names += [f"skip_layer_guidance_{name}" for name in ("scale", "start", "stop")]
    given.update({name: config[name] for name in names if name in config})

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", lambda result: embeds.extend(result))
    try:
        made = pipe(
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="latent",
            callback_on_step_end=on_step,
            **given,
        ).images
        out["image"] = decoded(pipe, made)
    finally:
        pipe.__dict__.pop("encode_prompt", None)
        pipe.scheduler = plain
    stages = [f"{negative}{name}" for name in ("prompt_embeds", "pooled_prompt_embeds") for negative in ("", "negative_")]
    for name, rows in zip(stages, embeds):
        if rows is not None:
            out[name] = rows[:: max(1, len(rows) // count)]
    for index in sorted({0, len(latents) // 2, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = latents[index]
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", *MODELS}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    for name in sorted(wanted & set(MODELS)):
        make_pipeline(
            name,
            lambda folder: write_model(folder, **MODELS[name]),
            runs(name),
            torch.no_grad()(generate),
            options,
            load,
        )


if __name__ == "__main__":
    main()
