#!/usr/bin/env python3
"""Tiny random Lumina 2 folders: what diffusers makes of their transformer, of its layouts, and of requests to them.

  tools/goldens/lumina2.py [--only networks,originals,lumina2] [--runs text2image] [--keep-models] [--check]

tests/goldens/networks/lumina2_transformer* as networks.py makes them, with original.safetensors, the same weights as the
original code names them, and lora_LAYOUT.safetensors with lora_LAYOUT_deltas.safetensors next to the first, as
z_image_originals.py makes them; tests/goldens/pipelines/lumina2/model is a folder and RUN/{request.json,
golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import shutil
from unittest import mock

import common
import gemma
import networks
import torch
import z_image
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders import single_file_utils as files
from flux2_originals import deltas, factors
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from safetensors.torch import load_file

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
LUMINA2 = dict(
    sample_size=8,
    in_channels=4,
    hidden_size=48,
    num_layers=3,
    num_refiner_layers=2,
    num_attention_heads=4,
    num_kv_heads=2,
    multiple_of=20,
    axes_dim_rope=(2, 6, 4),
    axes_lens=(80, 40, 48),
    cap_feat_dim=20,
)


def lumina2_golden(model, seed, rows, height, width, text, timesteps):
    """As Lumina2Pipeline asks the transformer, and passes its answer to the scheduler."""
    sample = common.normal(seed, rows, model.config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, model.config.cap_feat_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    out = model(
        hidden_states=sample,
        timestep=1 - times / 1000,
        encoder_hidden_states=embeds,
        encoder_attention_mask=torch.ones(rows, text, dtype=torch.long),
        return_dict=False,
    )[0]
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    return {**inputs, "out.sample": -out}


def lumina2_case(seed, dtype=torch.float32, **config):
    from diffusers import Lumina2Transformer2DModel

    def make(folder):
        model = Lumina2Transformer2DModel(**{**LUMINA2, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = Lumina2Transformer2DModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", lumina2_golden(model, 940, 3, 6, 10, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", lumina2_golden(model, 960, 1, 6, 38, 40, [499.5])
        yield "golden_smallest", lumina2_golden(model, 970, 1, 2, 2, 1, [250.0])

    return make, goldens


def network_cases():
    yield "lumina2_transformer", lumina2_case(211, torch.bfloat16)
    yield "lumina2_transformer_rare_options", lumina2_case(
        212,
        HALF,
        num_layers=1,
        num_refiner_layers=1,
        num_kv_heads=None,
        norm_eps=1e-3,
        ffn_dim_multiplier=0.7,
        axes_dim_rope=(4, 4, 4),
    )


# -------------------------------------------------------------------------------------- originals
ORIGINAL = common.GOLDENS / "networks" / "lumina2_transformer"
RENAMED = {
    "norm_out.linear_1.": "final_layer.adaLN_modulation.1.",
    "norm_out.linear_2.": "final_layer.linear.",
    "time_caption_embed.caption_embedder.": "cap_embedder.",
    "time_caption_embed.timestep_embedder.linear_1.": "t_embedder.mlp.0.",
    "time_caption_embed.timestep_embedder.linear_2.": "t_embedder.mlp.2.",
    ".norm1.linear.": ".adaLN_modulation.1.",
    ".norm1.norm.": ".attention_norm1.",
    ".norm1.": ".attention_norm1.",
    ".norm2.": ".attention_norm2.",
    ".feed_forward.linear_1.": ".feed_forward.w1.",
    ".feed_forward.linear_2.": ".feed_forward.w2.",
    ".feed_forward.linear_3.": ".feed_forward.w3.",
    ".attn.to_out.0.": ".attention.out.",
    ".attn.norm_q.": ".attention.q_norm.",
    ".attn.norm_k.": ".attention.k_norm.",
    ".attn.": ".attention.",
}
# Query, key and value of the tiny network; the reference knows the published one's alone.
PARTS = [48, 24, 24]
COMPARED = {
    *(f"layers.1.attn.{part}" for part in ("to_q", "to_k", "to_v", "to_out.0")),
    "layers.2.feed_forward.linear_1",
    "layers.0.norm1.linear",
    "context_refiner.1.attn.to_v",
    "context_refiner.0.feed_forward.linear_2",
    "noise_refiner.0.attn.to_q",
    "noise_refiner.1.feed_forward.linear_3",
}


def in_tiny_parts(call):
    """What `call` gives, where the reference splits by the tiny network's sizes."""
    split = torch.split

    def tiny(tensor, sizes, dim=0):
        return split(tensor, PARTS if sizes == [2304, 768, 768] else sizes, dim=dim)

    with mock.patch("torch.split", tiny):
        return call()


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {}
    for name, weight in state.items():
        for ours, theirs in RENAMED.items():
            name = name.replace(ours, theirs)
        made[name] = weight
    for query in [name for name in made if name.endswith(".attention.to_q.weight")]:
        names = [query.replace("to_q", f"to_{part}") for part in "qkv"]
        made[query.replace("to_q", "qkv")] = torch.cat([made.pop(name) for name in names])
    back = in_tiny_parts(lambda: files.convert_lumina2_to_diffusers(dict(made)))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def adapted(weights):
    """Names (without .weight) of the blocks' matrices, original or diffusers'."""
    blocks = ("layers.", "noise_refiner.", "context_refiner.")
    return [
        name.removesuffix(".weight")
        for name in sorted(weights)
        if weights[name].ndim == 2 and name.startswith(blocks)
    ]


def lora(weights, prefix, seed):
    file = {}
    for i, layer in enumerate(adapted(weights)):
        down, up = factors(weights[layer + ".weight"], seed + 2 * i)
        file[f"{prefix}{layer}.lora_A.weight"] = down
        file[f"{prefix}{layer}.lora_B.weight"] = up
    return file


def lora_diffusers(state, made):
    file = lora(state, "transformer.", 2100)
    return file, file


def lora_comfy(state, made):
    """The original's names, as ComfyUI and ai-toolkit have them."""
    file = lora(made, "diffusion_model.", 2200)
    convert = loras._convert_non_diffusers_lumina2_lora_to_diffusers
    return file, in_tiny_parts(lambda: convert(dict(file)))


def originals(options):
    state = load_file(ORIGINAL / "diffusion_pytorch_model.safetensors")
    made = original(state)
    check_or_write(ORIGINAL / "original.safetensors", made, options.check)
    for make in (lora_diffusers, lora_comfy):
        file, theirs = make(state, made)
        kept = {k: v.contiguous().float() for k, v in deltas(theirs).items() if k in COMPARED}
        assert kept.keys() == COMPARED, COMPARED - kept.keys()
        name = make.__name__
        file = {key: value.contiguous().float() for key, value in file.items()}
        check_or_write(ORIGINAL / f"{name}.safetensors", file, options.check)
        check_or_write(ORIGINAL / f"{name}_deltas.safetensors", kept, options.check)


# ---------------------------------------------------------------------------------------- folder
def write_model(folder):
    from diffusers import AutoencoderKL, Lumina2Transformer2DModel
    from transformers import Gemma2Config, Gemma2Model

    if folder.exists():
        shutil.rmtree(folder)
    entries = gemma.write_tokenizer(folder / "tokenizer")
    text = {**gemma.GEMMA2, "hidden_size": 20, "num_hidden_layers": 3, "sliding_window": 9}
    parts = {
        "text_encoder": (Gemma2Model(Gemma2Config(**{**text, "vocab_size": entries})), 213),
        "transformer": (Lumina2Transformer2DModel(**LUMINA2), 214),
        "vae": (AutoencoderKL(**z_image.KL), 215),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            "base_image_seq_len": 256,
            "base_shift": 0.5,
            "max_image_seq_len": 4096,
            "max_shift": 1.15,
            "num_train_timesteps": 1000,
            "shift": 6.0,
            "use_dynamic_shifting": False,
        },
    )
    common.write_json(
        folder / "model_index.json",
        {
            "_class_name": "Lumina2Pipeline",
            "_diffusers_version": "0.42.1",
            "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
            "text_encoder": ["transformers", "Gemma2Model"],
            "tokenizer": ["transformers", "GemmaTokenizerFast"],
            "transformer": ["diffusers", "Lumina2Transformer2DModel"],
            "vae": ["diffusers", "AutoencoderKL"],
        },
    )


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
# Of other lengths, and the negative one of a third.
TWO = {"prompt": ["a small red apple", "The sea at night, for all people and the small apple"]}
NEGATIVE = {"negative_prompt": "for all people"}
SHORT = {"system_prompt": "You are"}


def run(inputs, seed, **config):
    size = {"width": 64, "height": 48}
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 64, **size, **config}
    return {"task": "text2image", "model": "../model", "inputs": inputs, "config": values}


def runs():
    yield "text2image", run(PROMPT, 60, guidance_scale=4.0)
    yield "no_guidance", run(PROMPT, 61, guidance_scale=1.0)
    yield "negative", run({**PROMPT, **NEGATIVE}, 62, num_images_per_prompt=2, **SHORT)
    yield "prompts", run(TWO, 63, guidance_scale=2.5, width=32, height=80, **SHORT)
    truncated = {"cfg_trunc_ratio": 0.4, "cfg_normalization": 0, "num_inference_steps": 6}
    yield "truncated", run(PROMPT, 64, **truncated, **SHORT)
    yield "cut", run(PROMPT, 65, **{**SHORT, "max_sequence_length": 13})
    yield "dynamic_shift", run(PROMPT, 66, scheduler_config={"use_dynamic_shifting": True}, **SHORT)


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D] and prompt_attention_mask, cut to the longest prompt's
    tokens and zeros after shorter ones'; latents_after_step_K for the first, middle and last step; timesteps; image
    [n, 3, H, W] in 0..1."""
    config, seeds = request["config"], common.seeds_of(request)
    prompt = request["inputs"]["prompt"]
    count = len(prompt) if isinstance(prompt, list) else 1
    plain = pipe.scheduler
    common._set_scheduler(pipe, config)
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length", "cfg_trunc_ratio", "cfg_normalization", "system_prompt"]
    given = {name: config[name] for name in names if name in config}
    if "negative_prompt" in request["inputs"]:
        given["negative_prompt"] = [request["inputs"]["negative_prompt"]] * count

    try:
        embeds, out = common.follow(pipe, config, seeds, prompt=list(prompt) if isinstance(prompt, list) else [prompt], **given)
    finally:
        pipe.scheduler = plain
    each = config.get("num_images_per_prompt", 1)
    return out | common.masked_embeds(embeds[0], each)


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals", "lumina2"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "originals" in wanted:
        originals(options)
    if "lumina2" in wanted:
        make_pipeline("lumina2", write_model, runs(), generate, options)


if __name__ == "__main__":
    with torch.no_grad():
        main()
