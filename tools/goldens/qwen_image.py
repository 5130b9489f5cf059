#!/usr/bin/env python3
"""Tiny random Qwen-Image folders: what transformers and diffusers make of their networks, and of requests to them.

  tools/goldens/qwen_image.py [--only networks,qwen_image] [--runs text2image] [--keep-models] [--check]

tests/goldens/networks/qwen2_5_vl* and qwen_image_* as networks.py makes them; tests/goldens/pipelines/qwen_image/model is
a folder and RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import shutil

import common
import flux
import flux2
import networks
import torch
from diffusers import QwenImagePipeline as Pipeline
from golden_files import arguments, make_networks, make_pipeline

HALF = torch.float16

# ------------------------------------------------------------------------------------ autoencoder
KL = dict(
    base_dim=8,
    z_dim=4,
    dim_mult=[1, 2, 2, 3],
    num_res_blocks=1,
    temperal_downsample=[False, True, True],
    latents_mean=[-0.75, 0.4, 0.05, -1.1],
    latents_std=[2.8, 1.4, 0.7, 1.9],
)


def of_channels(model, name):
    return torch.tensor(getattr(model.config, name)).view(1, -1, 1, 1, 1)


def kl_encode(model, seed, rows, height, width):
    image = common.normal(seed, rows, model.config.input_channels, height, width).clamp(-1, 1)
    distribution = model.encode(image.unsqueeze(2)).latent_dist
    mode = distribution.mode() - of_channels(model, "latents_mean")
    return {
        "in.image": image,
        "out.mean": distribution.mean[:, :, 0],
        "out.logvar": distribution.logvar[:, :, 0],
        "out.latents": (mode / of_channels(model, "latents_std"))[:, :, 0],
    }


def kl_decode(model, seed, rows, height, width):
    """The image as the reference clamps it."""
    latents = common.normal(seed, rows, model.config.z_dim, height, width)
    z = latents.unsqueeze(2) * of_channels(model, "latents_std") + of_channels(model, "latents_mean")
    return {"in.latents": latents, "out.image": model.decode(z).sample[:, :, 0]}


def rows_of(video):
    """{1, C, F, H, W} as frames below each other, {F, C, H, W}."""
    return video[0].transpose(0, 1).contiguous()


def kl_encode_video(model, seed, frames, height, width):
    video = common.normal(seed, 1, model.config.input_channels, frames, height, width).clamp(-1, 1)
    return {"in.frames": rows_of(video), "out.moments": rows_of(model._encode(video))}


def kl_decode_video(model, seed, frames, height, width):
    latents = common.normal(seed, 1, model.config.z_dim, frames, height, width)
    z = latents * of_channels(model, "latents_std") + of_channels(model, "latents_mean")
    return {"in.latents": rows_of(latents), "out.frames": rows_of(model.decode(z).sample)}


def kl_case(seed, dtype=torch.float32, **config):
    from diffusers import AutoencoderKLQwenImage

    def make(folder):
        model = AutoencoderKLQwenImage(**{**KL, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = AutoencoderKLQwenImage.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        scale = model.spatial_compression_ratio
        yield "golden_encode", kl_encode(model, 700, 2, 3 * scale, 5 * scale)
        yield "golden_encode_smallest", kl_encode(model, 710, 1, scale, scale)
        yield "golden_decode", kl_decode(model, 720, 2, 3, 5)
        yield "golden_decode_smallest", kl_decode(model, 730, 1, 1, 1)
        # Frames in the reference's chunks: one, then four at a time.
        yield "video_encode", kl_encode_video(model, 740, 9, 2 * scale, 3 * scale)
        yield "video_decode", kl_decode_video(model, 750, 4, 2, 3)

    return make, goldens


# ----------------------------------------------------------------------------------- text encoder
TEXT = dict(
    vocab_size=300,
    hidden_size=48,
    intermediate_size=76,
    num_hidden_layers=3,
    num_attention_heads=6,
    num_key_value_heads=3,
    rms_norm_eps=1e-6,
    rope_scaling={"type": "mrope", "mrope_section": [1, 1, 2]},
    tie_word_embeddings=False,
)
VISION = dict(
    depth=3,
    hidden_size=24,
    intermediate_size=28,
    num_heads=2,
    out_hidden_size=48,
    patch_size=4,
    window_size=16,
    fullatt_block_indexes=[1],
)
TOKENS = dict(
    image_token_id=290, video_token_id=291, vision_start_token_id=292, vision_end_token_id=293
)


def qwen_vl(text, vision, tokens):
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    config = Qwen2_5_VLConfig(text_config=text, vision_config=vision, **tokens)
    return Qwen2_5_VLForConditionalGeneration(config).eval()


def text_golden(model, seed, rows, length, spans=None):
    vocab = model.config.text_config.vocab_size
    ids = torch.randint(0, 280, (rows, length), generator=torch.Generator().manual_seed(seed))
    assert vocab >= 280
    mask = torch.ones_like(ids)
    tensors = {"in.input_ids": ids}
    if spans:
        places = torch.arange(length)[None]
        mask = (places < torch.tensor(spans)[:, None]).long()
        tensors["in.mask"] = mask.float()
    out = model(input_ids=ids, attention_mask=mask, output_hidden_states=True, use_cache=False)
    # What is in a row's padding is not used.
    return {**tensors, "out.last_state": out.hidden_states[-1] * mask.unsqueeze(2)}


def patches_of(pixels, patch, merge, frames):
    """pixels {1, 3, H, W} -> {patches, channels * frames * patch * patch}, as transformers' processors have them."""
    rows, columns = pixels.shape[2] // patch, pixels.shape[3] // patch
    squares = pixels.reshape(3, rows // merge, merge, patch, columns // merge, merge, patch)
    squares = squares.permute(1, 4, 2, 5, 0, 3, 6).unsqueeze(5)
    return squares.expand(-1, -1, -1, -1, -1, frames, -1, -1).reshape(rows * columns, -1)


def image_golden(model, seed, height, width):
    """A prompt that looks at an image: called as diffusers 0.42.1 calls it, which does not say which tokens are the
    image's, so that positions are counted through."""
    vision = model.config.vision_config
    pixels = common.normal(seed, 1, 3, height, width)
    grid = torch.tensor([[1, height // vision.patch_size, width // vision.patch_size]])
    patches = patches_of(
        pixels, vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size
    )
    count = int(grid.prod()) // vision.spatial_merge_size**2
    ids = torch.tensor([[3, 4, *[model.config.image_token_id] * count, 7, 8, 9]])
    out = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=patches,
        image_grid_thw=grid,
        output_hidden_states=True,
        use_cache=False,
    )
    return {
        "in.pixels": pixels,
        "in.input_ids": ids,
        "out.image_tokens": model.model.visual(patches, grid_thw=grid).pooler_output[None],
        "out.last_state": out.hidden_states[-1],
    }


def text_case(seed, dtype=torch.float32, **config):
    def make(folder):
        model = qwen_vl({**TEXT, **config}, VISION, TOKENS)
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        from transformers import Qwen2_5_VLForConditionalGeneration

        model = Qwen2_5_VLForConditionalGeneration.from_pretrained(
            folder, dtype=torch.float32
        ).eval()
        yield "golden", text_golden(model, 740, 3, 24, [24, 5, 1])
        yield "golden_long", text_golden(model, 745, 1, 150)
        yield "image", image_golden(model, 750, 40, 56)
        yield "image_smallest", image_golden(model, 755, 8, 8)

    return make, goldens


# ------------------------------------------------------------------------------------ transformer
QWEN_IMAGE = dict(
    in_channels=16,
    out_channels=4,
    num_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    axes_dims_rope=(2, 6, 4),
)


def unpacked(tokens, height, width):
    """Tokens of whole images {n, L, 4 C} -> {n, C, 2 height, 2 width}."""
    return Pipeline._unpack_latents(tokens, 16 * height, 16 * width, 8)[:, :, 0]


def transformer_golden(model, seed, rows, height, width, text, timesteps, spans=None, images=(), residuals=0):
    """height, width, and those of each of the reference images: in tokens; residuals: how many a ControlNet gives."""
    config = model.config
    channels = config.in_channels // 4
    sample = common.normal(seed, rows, channels, 2 * height, 2 * width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    mask = None
    if spans:
        mask = (torch.arange(text)[None] < torch.tensor(spans)[:, None]).long()
        inputs["in.encoder_attention_mask"] = mask.float()
    tokens = Pipeline._pack_latents(sample.unsqueeze(1), rows, channels, 2 * height, 2 * width)
    if images:
        count = sum(h * w for h, w in images)
        inputs["in.reference_latents"] = common.normal(seed + 2, rows, count, config.in_channels)
        tokens = torch.cat([tokens, inputs["in.reference_latents"]], 1)
        inputs["in.reference_ids"] = reference_ids(images)
        most = max(max(h // 2, w // 2) for h, w in [(height, width), *images])
        inputs["in.text_start"] = torch.tensor([[float(most)]])
    control = {}
    if residuals:
        shape = (*tokens.shape[:2], config.num_attention_heads * config.attention_head_dim)
        given = [common.normal(seed + 3 + i, *shape) for i in range(residuals)]
        control["controlnet_block_samples"] = given
        for block, residual in enumerate(flux.of_blocks(given, config.num_layers)):
            inputs[f"in.controlnet_block_samples.{block}"] = residual
    out = model(
        tokens,
        **control,
        encoder_hidden_states=embeds,
        encoder_hidden_states_mask=mask,
        timestep=times / 1000,
        img_shapes=[[(1, height, width), *((1, h, w) for h, w in images)]] * rows,
        return_dict=False,
    )[0][:, : height * width]
    return {**inputs, "out.sample": unpacked(out, height, width)}


def reference_ids(images):
    """{1, N, 3}: number, row and column of each token, the latter counted from the middle."""
    return torch.cat([ids_of_image(number, *size) for number, size in enumerate(images, 1)], 1)


def ids_of_image(number, height, width):
    rows = torch.arange(height) - (height - height // 2)
    columns = torch.arange(width) - (width - width // 2)
    grid = torch.meshgrid(torch.tensor([number]), rows, columns, indexing="ij")
    return torch.stack(grid, -1).reshape(1, -1, 3).float()


def layered_golden(model, seed, rows, height, width, layers, text, timesteps, kinds):
    """As transformer_golden, of `layers` images below each other and one to go by, each {height, width} in tokens."""
    config = model.config
    channels = config.in_channels // 4
    sample = common.normal(seed, rows, channels, 2 * layers * height, 2 * width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    whole = common.normal(seed + 2, rows, height * width, config.in_channels)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    tokens = Pipeline._pack_latents(sample.unsqueeze(1), rows, channels, 2 * layers * height, 2 * width)
    out = model(
        torch.cat([tokens, whole], 1),
        encoder_hidden_states=embeds,
        timestep=times / 1000,
        img_shapes=[[(1, height, width)] * (layers + 1)] * rows,
        additional_t_cond=torch.tensor(kinds),
        return_dict=False,
    )[0][:, : layers * height * width]
    return {
        "in.sample": sample,
        "in.timestep": times,
        "in.encoder_hidden_states": embeds,
        "in.reference_latents": whole,
        "in.reference_ids": ids_of_image(-1, height, width),
        "in.text_start": torch.tensor([[float(max(height // 2, width // 2, layers))]]),
        "in.sample_ids": torch.cat([ids_of_image(i, height, width) for i in range(layers)], 1),
        "in.additional_t_cond": torch.tensor(kinds),
        "out.sample": unpacked(out, layers * height, width),
    }


def transformer_case(seed, dtype=torch.float32, **config):
    from diffusers import QwenImageTransformer2DModel

    def make(folder):
        model = QwenImageTransformer2DModel(**{**QWEN_IMAGE, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = QwenImageTransformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        if config.get("use_layer3d_rope"):
            yield "golden", layered_golden(model, 860, 2, 2, 3, 3, 7, [999.0, 1.0], [0, 1])
            yield "golden_wide", layered_golden(model, 870, 1, 1, 9, 2, 4, [570.857], [0])
            return
        yield "golden", transformer_golden(model, 800, 3, 4, 4, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", transformer_golden(model, 810, 1, 3, 11, 13, [499.5])
        yield "golden_padding", transformer_golden(model, 820, 2, 5, 2, 9, [875.0], [9, 4])
        if not config.get("num_layers"):
            yield "golden_residuals", transformer_golden(model, 850, 2, 3, 4, 5, [640.0, 10.0], [5, 2], residuals=2)
        yield "golden_smallest", transformer_golden(model, 830, 1, 1, 1, 1, [250.0])
        yield "golden_references", transformer_golden(
            model, 840, 2, 5, 3, 6, [875.0, 20.0], [6, 2], images=((3, 9), (2, 1))
        )

    return make, goldens


def network_cases():
    yield "qwen2_5_vl", text_case(101)
    yield "qwen2_5_vl_bf16", text_case(
        102,
        torch.bfloat16,
        num_hidden_layers=2,
        num_key_value_heads=6,
        rms_norm_eps=1e-4,
        rope_scaling={"type": "mrope", "mrope_section": [2, 1, 1], "rope_theta": 5000.0},
    )
    yield "qwen_image_vae", kl_case(103, HALF)
    yield "qwen_image_vae_two_levels", kl_case(
        104, dim_mult=[1, 2], temperal_downsample=[True], num_res_blocks=2
    )
    # As many blocks as the released one has, narrow.
    yield "qwen_image_vae_wan", kl_case(110, HALF, base_dim=2, dim_mult=[1, 2, 4, 4], num_res_blocks=2)
    yield "qwen_image_vae_alpha", kl_case(
        115, input_channels=4, dim_mult=[1, 2], temperal_downsample=[True]
    )
    yield "qwen_image_transformer", transformer_case(105, torch.bfloat16)
    yield "qwen_image_transformer_one_block", transformer_case(
        106, HALF, num_layers=1, in_channels=12, out_channels=3, axes_dims_rope=(4, 2, 6)
    )
    yield "qwen_image_transformer_zero_t", transformer_case(111, num_layers=2, zero_cond_t=True)
    yield "qwen_image_transformer_layered", transformer_case(
        116, num_layers=2, use_layer3d_rope=True, use_additional_t_cond=True
    )


# --------------------------------------------------------------------------------------- folders
SCHEDULER = {
    "_class_name": "FlowMatchEulerDiscreteScheduler",
    "_diffusers_version": "0.42.1",
    "base_image_seq_len": 256,
    "base_shift": 0.5,
    "invert_sigmas": False,
    "max_image_seq_len": 8192,
    "max_shift": 0.9,
    "num_train_timesteps": 1000,
    "shift": 1.0,
    "shift_terminal": 0.02,
    "stochastic_sampling": False,
    "time_shift_type": "exponential",
    "use_beta_sigmas": False,
    "use_dynamic_shifting": True,
    "use_exponential_sigmas": False,
    "use_karras_sigmas": False,
}


def write_model(folder):
    from diffusers import AutoencoderKLQwenImage, QwenImageTransformer2DModel

    if folder.exists():
        shutil.rmtree(folder)
    entries = flux2.write_tokenizer(folder / "tokenizer")
    text = {**TEXT, "vocab_size": entries + 7, "hidden_size": 24, "num_attention_heads": 3}
    transformer = QwenImageTransformer2DModel(**{**QWEN_IMAGE, "joint_attention_dim": 24})
    parts = {
        "text_encoder": (qwen_vl(text, {**VISION, "out_hidden_size": 24}, TOKENS), 107),
        "transformer": (transformer, 108),
        "vae": (AutoencoderKLQwenImage(**KL), 109),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(folder / "scheduler" / "scheduler_config.json", SCHEDULER)
    index = {
        "_class_name": "QwenImagePipeline",
        "_diffusers_version": "0.42.1",
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", "Qwen2_5_VLForConditionalGeneration"],
        "tokenizer": ["transformers", "Qwen2Tokenizer"],
        "transformer": ["diffusers", "QwenImageTransformer2DModel"],
        "vae": ["diffusers", "AutoencoderKLQwenImage"],
    }
    common.write_json(folder / "model_index.json", index)


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
TWO = {"prompt": ["a small red apple, for all people", "The sea at night"]}
IMAGE = {"image": "../../inputs/image.png"}
MASK = {"mask": "../../inputs/mask.png"}
NEGATIVE = {"negative_prompt": "people at night"}


def run(inputs, seed, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs():
    size = {"width": 48, "height": 32}
    yield "text2image", run({**PROMPT, **NEGATIVE}, 50, guidance_scale=4.0, width=64, height=48)
    yield "prompts", run(
        {**TWO, **NEGATIVE}, 51, guidance_scale=2.5, num_images_per_prompt=2, **size
    )
    yield "no_guidance", run(PROMPT, 52, guidance_scale=1.0, num_inference_steps=2, **size)
    yield "cut_prompt", run(
        PROMPT, 53, guidance_scale=3.0, num_inference_steps=8, max_sequence_length=9, **size
    )
    yield "image2image", run(
        {**PROMPT, **IMAGE, **NEGATIVE}, 54, "image2image", num_images_per_prompt=2,
        strength=0.7, num_inference_steps=6, width=64, height=64,
    )
    yield "image2image_resized", run(
        {**PROMPT, **IMAGE}, 55, "image2image", guidance_scale=1.0, strength=1.0, **size
    )
    yield "inpaint", run(
        {**TWO, **IMAGE, **MASK, **NEGATIVE}, 56, "inpaint", strength=0.85,
        num_inference_steps=6, width=64, height=64,
    )


def pipeline_of(pipe, task):
    import diffusers

    classes = {
        "text2image": Pipeline,
        "image2image": diffusers.QwenImageImg2ImgPipeline,
        "inpaint": diffusers.QwenImageInpaintPipeline,
    }
    made = pipe if hasattr(pipe, "controlnet") else classes[task](**pipe.components)
    made.set_progress_bar_config(disable=True)
    return made


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D]; latents_after_step_K [n, C, H, W] for
    the first, middle and last step; timesteps; image [n, 3, H, W] in 0..1."""
    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    pipe = pipeline_of(pipe, request["task"])
    out, latents, timesteps, embeds = {}, [], [], []
    common._set_scheduler(pipe, config)
    names = ["num_inference_steps", "width", "height"]
    names += ["max_sequence_length", "strength"]
    given = {name: config[name] for name in names if name in config}
    scale = config.get("guidance_scale", 4.0)
    given["true_cfg_scale"] = scale
    prompts = inputs["prompt"] if isinstance(inputs["prompt"], list) else [inputs["prompt"]]
    repeats = config.get("num_images_per_prompt", 1)
    # Given once for each image: with several prompts and several images of each, the reference
    # (0.42.1) gives images the padding of other prompts.
    given["prompt"] = [prompt for prompt in prompts for _ in range(repeats)]
    # Without a negative prompt ours is the empty one; the reference leaves guidance out.
    if scale > 1:
        given["negative_prompt"] = [inputs.get("negative_prompt", "")] * len(seeds)
    # So are images, so that each draws for itself (tests/goldens/pipelines/README.md).
    # A ControlNet for inpainting alone looks at mask and image.
    by_control = hasattr(pipe, "controlnet") and "mask" in inputs
    if "control_image" in inputs:
        images = flux2.pictures(inputs, "control_image", folder)
        given["control_image"] = images if isinstance(inputs["control_image"], list) else images[0]
    names = ["controlnet_conditioning_scale", "control_guidance_start", "control_guidance_end"]
    given.update({name: config[name] for name in names if name in config})
    if "image" in inputs:
        given["control_image" if by_control else "image"] = flux2.pictures(inputs, "image", folder) * len(seeds)
    if "mask" in inputs:
        given["control_mask" if by_control else "mask_image"] = flux2.pictures(inputs, "mask", folder) * len(seeds)

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", lambda result: embeds.append(result))
    out["image"] = pipe(
        generator=[torch.Generator().manual_seed(seed) for seed in seeds],
        output_type="pt",
        callback_on_step_end=on_step,
        **given,
    ).images
    for name, (states, mask) in zip(["prompt_embeds", "negative_prompt_embeds"], embeds):
        # Zeros follow a shorter prompt.
        out[name] = (states if mask is None else states * mask.unsqueeze(2))[::repeats]
    size = [side // 16 for side in out["image"].shape[2:]]
    for index in sorted({0, len(latents) // 2, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = unpacked(latents[index], *size)
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__)
    cases = {name for name, _ in network_cases()}
    wanted = options.only or {"networks", "qwen_image"}
    if wanted & {"networks", *cases}:
        make_networks(network_cases(), options.check, wanted & cases)
    if "qwen_image" in wanted:
        make_pipeline("qwen_image", write_model, runs(), generate, options)


if __name__ == "__main__":
    main()
