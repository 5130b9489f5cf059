#!/usr/bin/env python3
"""A tiny random Z-Image folder: what transformers and diffusers make of its networks, and of requests to it.

  tools/goldens/z_image.py [--only networks,pipelines] [--runs inpaint] [--keep-models] [--check]

tests/goldens/networks/z_image_* as networks.py makes them; tests/goldens/pipelines/z_image/model is the folder and
RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import shutil

import common
import flux2
import networks
import torch
from torch.nn.utils.rnn import pad_sequence
from golden_files import arguments, make_networks, make_pipeline

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
Z_IMAGE = dict(
    in_channels=4,
    dim=36,
    n_layers=3,
    n_refiner_layers=2,
    n_heads=3,
    n_kv_heads=3,
    cap_feat_dim=20,
    axes_dims=[2, 6, 4],
    axes_lens=[160, 80, 96],
)


def z_image_golden(model, seed, rows, height, width, text, timesteps):
    """As ZImagePipeline asks the transformer, and passes its answer to the scheduler."""
    sample = common.normal(seed, rows, model.config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, model.config.cap_feat_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    out = model(list(sample.unsqueeze(2).unbind(0)), (1000 - times) / 1000, list(embeds.unbind(0)))
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    return {**inputs, "out.sample": -torch.stack(out.sample).squeeze(2)}


def z_image_case(seed, dtype=torch.float32, **config):
    from diffusers import ZImageTransformer2DModel

    def make(folder):
        model = ZImageTransformer2DModel(**{**Z_IMAGE, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = ZImageTransformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        # 15 tokens of the image and 7 of the text; 32 of each; more of both.
        yield "golden", z_image_golden(model, 840, 3, 6, 10, 7, [999.0, 1.0, 570.857])
        yield "golden_whole", z_image_golden(model, 850, 2, 8, 16, 32, [875.0])
        yield "golden_wide", z_image_golden(model, 860, 1, 6, 38, 40, [499.5])
        yield "golden_smallest", z_image_golden(model, 870, 1, 2, 2, 1, [250.0])

    return make, goldens


def network_cases():
    yield "z_image_transformer", z_image_case(111, torch.bfloat16)
    yield "z_image_transformer_rare_options", z_image_case(
        112,
        HALF,
        qk_norm=False,
        n_layers=1,
        n_refiner_layers=1,
        n_kv_heads=1,  # which the reference does not read
        norm_eps=1e-3,
        rope_theta=100.0,
        t_scale=750.0,
        axes_dims=[4, 4, 4],
    )


# ---------------------------------------------------------------------------------------- folder
KL = dict(
    block_out_channels=(4, 8, 8, 12),
    down_block_types=("DownEncoderBlock2D",) * 4,
    up_block_types=("UpDecoderBlock2D",) * 4,
    layers_per_block=1,
    latent_channels=4,
    norm_num_groups=4,
    scaling_factor=0.3611,
    shift_factor=0.1159,
    use_quant_conv=False,
    use_post_quant_conv=False,
    force_upcast=True,
)


INDEX = {
    "_class_name": "ZImagePipeline",
    "_diffusers_version": "0.42.1",
    "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
    "text_encoder": ["transformers", "Qwen3ForCausalLM"],
    "tokenizer": ["transformers", "Qwen2TokenizerFast"],
    "transformer": ["diffusers", "ZImageTransformer2DModel"],
    "vae": ["diffusers", "AutoencoderKL"],
}


def write_scheduler(folder):
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            "num_train_timesteps": 1000,
            "use_dynamic_shifting": False,
            "shift": 6.0,
        },
    )


def write_model(folder):
    from diffusers import AutoencoderKL, ZImageTransformer2DModel
    from transformers import Qwen3Config, Qwen3ForCausalLM

    if folder.exists():
        shutil.rmtree(folder)
    entries = flux2.write_tokenizer(folder / "tokenizer")
    qwen = {**flux2.QWEN3, "hidden_size": 20, "num_hidden_layers": 3}
    parts = {
        "text_encoder": (Qwen3ForCausalLM(Qwen3Config(**qwen, vocab_size=entries)), 113),
        "transformer": (ZImageTransformer2DModel(**Z_IMAGE), 114),
        "vae": (AutoencoderKL(**KL), 115),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    write_scheduler(folder)
    common.write_json(folder / "model_index.json", INDEX)


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
# Of other lengths: one has more than 32 tokens, which is where the reference fills up.
TWO = {"prompt": ["a small red apple", "The sea at night, for all people and the small apple"]}
NEGATIVE = {"negative_prompt": "for all people"}
IMAGE = {"image": "../../inputs/image.png"}
LARGER = {"image": "../../inputs/image_88x72.png"}
MASK = {"mask": "../../inputs/mask.png"}


def run(inputs, seed, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 64, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs():
    size = {"width": 64, "height": 48}
    guided = {"guidance_scale": 3.0, **size}
    yield "text2image", run(PROMPT, 40, guidance_scale=5.0, max_sequence_length=128, **size)
    yield "no_guidance", run(PROMPT, 41, guidance_scale=0.0, **size)
    yield "weak_guidance", run(PROMPT, 42, guidance_scale=0.5, **size)
    yield "negative", run({**PROMPT, **NEGATIVE}, 43, num_images_per_prompt=2, **guided)
    yield "prompts", run(TWO, 44, guidance_scale=2.5, width=32, height=80, num_images_per_prompt=2)
    limited = {"cfg_normalization": 0.9, "cfg_truncation": 0.4, "num_inference_steps": 8}
    yield "limited", run(PROMPT, 45, **limited, **guided)
    yield "cut", run(PROMPT, 46, **{**guided, "max_sequence_length": 9})
    dynamic = {"use_dynamic_shifting": True, "base_shift": 0.4, "shift_terminal": 0.02}
    yield "dynamic_shift", run(PROMPT, 47, scheduler_config=dynamic, **guided)
    yield "image2image", run({**PROMPT, **IMAGE}, 48, "image2image", strength=0.6, guidance_scale=4.0)
    yield "image2image_two", run(
        {**PROMPT, **LARGER},
        49,
        "image2image",
        strength=0.75,
        guidance_scale=0.0,
        num_images_per_prompt=2,
    )
    masked = {**PROMPT, **IMAGE, **MASK}
    yield "inpaint", run(masked, 50, "inpaint", strength=1.0, guidance_scale=5.0)
    yield "inpaint_weak", run(
        {**masked, **NEGATIVE},
        51,
        "inpaint",
        strength=0.45,
        guidance_scale=2.0,
        num_images_per_prompt=2,
        num_inference_steps=6,
    )


def given_images(request, folder, count):
    """One image and mask for each result, so that each generator draws for its own."""
    from PIL import Image

    inputs, given = request["inputs"], {}
    if "image" in inputs:
        given["image"] = [Image.open(folder / inputs["image"]).convert("RGB")] * count
    if "mask" in inputs:
        given["mask_image"] = [Image.open(folder / inputs["mask"]).convert("L")] * count
    return given


def pipeline_of(pipe, task):
    from diffusers import ZImageImg2ImgPipeline, ZImageInpaintPipeline

    kinds = {"image2image": ZImageImg2ImgPipeline, "inpaint": ZImageInpaintPipeline}
    if task not in kinds:
        return pipe
    made = kinds[task](**pipe.components)
    made.set_progress_bar_config(disable=True)
    return made


def padded(embeds):
    return pad_sequence(embeds, batch_first=True)


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D], zeros after shorter prompts; prompt_attention_mask;
    latents_after_step_K for the first, middle and last step; timesteps; image [n, 3, H, W] in 0..1."""
    images = given_images(request, folder, len(common.seeds_of(request)))
    return made_by(pipeline_of(pipe, request["task"]), request, images)


def made_by(pipe, request, images, own=lambda embeds: embeds):
    """The same by a pipeline with the images that it is given. `own`: the prompts' own of what it encodes."""
    config, seeds = request["config"], common.seeds_of(request)
    prompt = request["inputs"]["prompt"]
    count = len(prompt) if isinstance(prompt, list) else 1
    plain = pipe.scheduler
    common._set_scheduler(pipe, config)
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length", "strength", "cfg_normalization", "cfg_truncation"]
    given = {name: config[name] for name in names if name in config}
    if "negative_prompt" in request["inputs"]:
        given["negative_prompt"] = [request["inputs"]["negative_prompt"]] * count
    given.update(images)

    try:
        embeds, out = common.follow(pipe, config, seeds, prompt=list(prompt) if isinstance(prompt, list) else prompt, **given)
    finally:
        pipe.scheduler = plain
    positive, negative = map(own, embeds[0])
    out["prompt_embeds"] = padded(positive)
    if negative:
        # One negative prompt for all.
        out["negative_prompt_embeds"] = padded(negative)[:1]
    out["prompt_attention_mask"] = padded([torch.ones(len(row)) for row in positive])
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "pipelines"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "pipelines" in wanted:
        make_pipeline("z_image", write_model, runs(), generate, options)


if __name__ == "__main__":
    main()
