#!/usr/bin/env python3
"""Tiny random FLUX.2 folders: what transformers and diffusers make of their networks, and of requests to them.

  tools/goldens/flux2.py [--only networks,flux2_klein,flux2_klein_kv] [--runs edit] [--keep-models] [--check]

tests/goldens/networks/flux2_* and tiny_taef2 as networks.py makes them; tests/goldens/pipelines/flux2_*/model is a folder and
RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import json
import shutil
from types import SimpleNamespace

import common
import mistral
import mistral_tokenizer
import networks
import torch
from diffusers import Flux2KleinPipeline as Klein
from flux2_autoencoders import KL, kl_case, set_statistics, taef2_case
from golden_files import arguments, make_networks, make_pipeline

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
FLUX2 = dict(
    in_channels=12,
    num_layers=2,
    num_single_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    timestep_guidance_channels=16,
    mlp_ratio=3.0,
    axes_dims_rope=(2, 4, 4, 2),
    guidance_embeds=False,
)


def flux2_golden(model, seed, rows, height, width, text, timesteps, references=()):
    """references: {height, width} of each image next to the one that is made."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    tokens, ids = Klein._pack_latents(sample), Klein._prepare_latent_ids(sample)
    if references:
        images = [
            common.normal(seed + 2 + i, 1, config.in_channels, *size)
            for i, size in enumerate(references)
        ]
        packed = torch.cat([Klein._pack_latents(image) for image in images], 1)
        theirs = Klein._prepare_image_ids(images)
        inputs["in.reference_latents"] = packed.repeat(rows, 1, 1)
        inputs["in.reference_ids"] = theirs.float()
        tokens = torch.cat([tokens, inputs["in.reference_latents"]], 1)
        ids = torch.cat([ids, theirs.repeat(rows, 1, 1)], 1)
    guidance = None
    if config.guidance_embeds:
        guidance = torch.linspace(1.5, 4.0, rows)
        inputs["in.guidance"] = guidance
    out = model(
        tokens,
        encoder_hidden_states=embeds,
        timestep=times / 1000,
        img_ids=ids,
        txt_ids=Klein._prepare_text_ids(embeds),
        guidance=guidance,
        return_dict=False,
    )[0][:, : height * width]
    return {**inputs, "out.sample": out.unflatten(1, (height, width)).permute(0, 3, 1, 2)}


def kept_golden(model, seed):
    """Two steps of a model that keeps keys and values of its references: in.timestep, out.sample are of the first,
    later.timestep, later.sample of the second, of the same latents. Leaves the model's attention as it was."""
    from diffusers import Flux2KleinKVPipeline

    rows, height, width, text = 2, 5, 3, 6
    config, first, later = model.config, torch.tensor([875.0] * rows), torch.tensor([250.0] * rows)
    sample = common.normal(seed, rows, config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    images = [common.normal(seed + 2 + i, 1, config.in_channels, *size) for i, size in enumerate([(3, 5), (2, 1)])]
    latents, ids = torch.cat([Klein._pack_latents(image) for image in images], 1), Klein._prepare_image_ids(images)
    inputs = {"in.sample": sample, "in.timestep": first, "in.encoder_hidden_states": embeds}
    inputs.update({"in.kept_reference_latents": latents.repeat(rows, 1, 1), "in.kept_reference_ids": ids.float()})
    same = {"encoder_hidden_states": embeds, "txt_ids": Klein._prepare_text_ids(embeds), "guidance": None}
    if config.guidance_embeds:
        inputs["in.guidance"] = same["guidance"] = torch.linspace(1.5, 1.5, rows)
    tokens, places = Klein._pack_latents(sample), Klein._prepare_latent_ids(sample)
    plain = model.attn_processors
    Flux2KleinKVPipeline._set_kv_attn_processors(SimpleNamespace(transformer=model))
    made = model(
        torch.cat([latents.repeat(rows, 1, 1), tokens], 1),
        timestep=first / 1000,
        img_ids=torch.cat([ids.repeat(rows, 1, 1), places], 1),
        kv_cache_mode="extract",
        num_ref_tokens=latents.shape[1],
        **same,
    )
    cached = model(tokens, timestep=later / 1000, img_ids=places, kv_cache=made.kv_cache, kv_cache_mode="cached", **same)
    model.set_attn_processor(plain)
    image = lambda out: out.sample.unflatten(1, (height, width)).permute(0, 3, 1, 2)
    return {**inputs, "out.sample": image(made), "later.timestep": later, "later.sample": image(cached)}


def flux2_case(seed, dtype=torch.float32, **config):
    from diffusers import Flux2Transformer2DModel

    def make(folder):
        model = Flux2Transformer2DModel(**{**FLUX2, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = Flux2Transformer2DModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", flux2_golden(model, 800, 3, 4, 4, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", flux2_golden(model, 810, 1, 3, 11, 13, [499.5])
        yield "golden_references", flux2_golden(
            model, 820, 2, 5, 3, 6, [875.0], references=((3, 5), (2, 1))
        )
        yield "golden_smallest", flux2_golden(model, 830, 1, 1, 1, 1, [250.0])
        yield "kept_references", kept_golden(model, 840)

    return make, goldens


def network_cases():
    yield "flux2_vae", kl_case(90, HALF)
    yield "flux2_vae_small_decoder", kl_case(
        91,
        torch.bfloat16,
        decoder_block_out_channels=(4, 8, 12),
        use_quant_conv=False,
        use_post_quant_conv=False,
        mid_block_add_attention=False,
        batch_norm_eps=1e-2,
    )
    yield "tiny_taef2", taef2_case(89, HALF)
    yield "flux2_transformer", flux2_case(92, torch.bfloat16)
    yield "flux2_transformer_guidance", flux2_case(93, HALF, guidance_embeds=True)
    yield "flux2_transformer_rare_options", flux2_case(
        94,
        patch_size=2,
        out_channels=3,
        rope_theta=100,
        mlp_ratio=2.4,
        eps=1e-3,
        axes_dims_rope=(2, 6, 2, 2),
        num_single_layers=1,
        num_layers=1,
    )


# --------------------------------------------------------------------------------------- folders
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
PLAIN = ["<think>", "</think>"]  # added to the vocabulary, but not "special"
# What Qwen3's template makes of one message of a user.
TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}"
    "{{- '<|im_start|>assistant\\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}"
    "{{- '<think>\\n\\n</think>\\n\\n' }}"
    "{%- endif %}"
    "{%- endif %}"
)
WORDS = "user assistant a small red apple and the sea at night for all people"


def write_tokenizer(folder, special=()):
    """Qwen2's byte-level BPE with the bytes and what makes a few words; its entries. `special`: further tokens."""
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from tokenizers.normalizers import NFC
    from transformers import Qwen2TokenizerFast

    trained = Tokenizer(models.BPE())
    trained.normalizer = NFC()
    trained.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    trained.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    trained.train_from_iterator([WORDS, "\n\n"] * 9, trainer)
    model = json.loads(trained.to_str())["model"]
    tokenizer = Qwen2TokenizerFast(
        vocab=model["vocab"],
        merges=[tuple(pair) for pair in model["merges"]],
        unk_token=None,
        bos_token=None,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=512,
        clean_up_tokenization_spaces=False,
        chat_template=TEMPLATE,
    )
    added = [AddedToken(text, special=True, normalized=False) for text in [*SPECIAL, *special]]
    tokenizer.add_special_tokens({"additional_special_tokens": added})
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in PLAIN])
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


QWEN3 = dict(
    hidden_size=8,
    intermediate_size=12,
    num_hidden_layers=28,  # the pipeline takes the states before layers 9, 18 and 27
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=4,
    max_position_embeddings=1024,
    tie_word_embeddings=True,
)


# Of the dev model's text encoder, whose states after layers 10, 20 and 30 the pipeline takes.
MISTRAL = dict(
    hidden_size=8,
    intermediate_size=12,
    num_hidden_layers=32,
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=6,
)


def write_mistral_tokenizer(folder):
    """A folder of Pixtral's processor, as the dev model has one; its entries."""
    from diffusers.pipelines.flux2.pipeline_flux2 import SYSTEM_MESSAGE

    vocab, merges = mistral_tokenizer.trained([WORDS] * 9 + [SYSTEM_MESSAGE] * 3, 330)
    mistral_tokenizer.write_folder(folder, vocab, merges)
    size = {"patch_size": 14, "spatial_merge_size": 2}
    named = {"image_token": "[IMG]", "image_break_token": "[IMG_BREAK]", "image_end_token": "[IMG_END]"}
    common.write_json(folder / "processor_config.json", {**size, **named, "processor_class": "PixtralProcessor"})
    image = {"image_processor_type": "PixtralImageProcessorFast", "patch_size": {"height": 14, "width": 14}}
    common.write_json(folder / "preprocessor_config.json", image)
    return len(vocab)


def text_parts(folder, guided):
    """The text encoder, with its class and its tokenizer's."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    if guided:
        entries = write_mistral_tokenizer(folder / "tokenizer")
        return mistral.mistral3({**MISTRAL, "vocab_size": entries}), "PixtralProcessor"
    entries = write_tokenizer(folder / "tokenizer")
    return Qwen3ForCausalLM(Qwen3Config(**QWEN3, vocab_size=entries)), "Qwen2TokenizerFast"


def load(folder):
    """The reference's class for a processor's folder needs torchvision; its tokenizer does the same for texts."""
    if json.loads((folder / "model_index.json").read_text())["_class_name"] != "Flux2Pipeline":
        return common.load_any(folder)
    from diffusers import AutoencoderKLFlux2, FlowMatchEulerDiscreteScheduler, Flux2Pipeline, Flux2Transformer2DModel
    from transformers import AutoTokenizer

    pipe = Flux2Pipeline(
        scheduler=FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler"),
        vae=AutoencoderKLFlux2.from_pretrained(folder / "vae", torch_dtype=torch.float32, low_cpu_mem_usage=False),
        text_encoder=mistral.load(folder / "text_encoder"),
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        transformer=Flux2Transformer2DModel.from_pretrained(folder / "transformer", torch_dtype=torch.float32, low_cpu_mem_usage=False),
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def write_model(folder, pipeline, **values):
    from diffusers import AutoencoderKLFlux2, Flux2Transformer2DModel

    if folder.exists():
        shutil.rmtree(folder)
    vae = AutoencoderKLFlux2(**KL)
    set_statistics(vae, 95)
    guided = pipeline == "Flux2Pipeline"
    text_encoder, tokenizer = text_parts(folder, guided)
    config = {**FLUX2, "joint_attention_dim": 24, "guidance_embeds": guided}
    transformer = Flux2Transformer2DModel(**config)
    parts = {
        "text_encoder": (text_encoder, 96),
        "transformer": (transformer, 97),
        "vae": (vae, 98),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            "shift": 3.0,
            "use_dynamic_shifting": True,
            "time_shift_type": "exponential",
        },
    )
    index = {
        **values,
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", type(text_encoder).__name__],
        "tokenizer": ["transformers", tokenizer],
        "transformer": ["diffusers", "Flux2Transformer2DModel"],
        "vae": ["diffusers", "AutoencoderKLFlux2"],
    }
    common.write_json(
        folder / "model_index.json",
        {"_class_name": pipeline, "_diffusers_version": "0.42.1", **index},
    )


MODELS = {
    "flux2_klein": dict(pipeline="Flux2KleinPipeline", is_distilled=True),
    "flux2_klein_base": dict(pipeline="Flux2KleinPipeline", is_distilled=False),
    "flux2_klein_kv": dict(pipeline="Flux2KleinKVPipeline", is_distilled=True),
    "flux2_dev": dict(pipeline="Flux2Pipeline"),
}

# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
TWO = {"prompt": ["a small red apple", "The sea at night"]}
IMAGE = {"image": "../../inputs/image.png"}
MASK = {"mask": "../../inputs/mask.png"}
FURTHER = {"image_reference": ["../../inputs/image_88x72.png"]}


def run(inputs, seed, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, "max_sequence_length": 48, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs(model):
    if model == "flux2_klein":
        yield "text2image", run(PROMPT, 20, width=64, height=48, max_sequence_length=512)
        yield "prompts", run(TWO, 21, width=24, height=40, num_images_per_prompt=2)
        yield "one_step", run(PROMPT, 22, width=32, height=32, num_inference_steps=1)
        yield "edit", run({**PROMPT, **IMAGE}, 23, "edit")
        yield "edit_of_two", run(
            {**PROMPT, **IMAGE, **FURTHER}, 24, "edit", width=32, height=56, num_images_per_prompt=2
        )
        yield "inpaint", run({**PROMPT, **IMAGE, **MASK}, 25, "inpaint", num_inference_steps=6)
        return
    size = {"width": 48, "height": 32}
    if model == "flux2_klein_kv":
        yield "text2image", run(PROMPT, 50, max_sequence_length=512, num_images_per_prompt=2, **size)
        yield "one_step", run({**PROMPT, **IMAGE}, 51, "edit", num_inference_steps=1)
        yield "edit", run({**PROMPT, **IMAGE}, 52, "edit")
        yield "edit_of_two", run(
            {**TWO, **IMAGE, **FURTHER}, 53, "edit", width=32, height=56, num_images_per_prompt=2
        )
        return
    if model == "flux2_dev":
        yield "text2image", run(PROMPT, 35, guidance_scale=2.5, max_sequence_length=512, **size)
        length = {"max_sequence_length": 128}
        yield "edit", run({**PROMPT, **IMAGE}, 36, "edit", num_images_per_prompt=2, **length)
        yield "prompts", run(TWO, 37, width=24, height=40, num_images_per_prompt=2, **length)
        yield "edit_of_two", run({**PROMPT, **IMAGE, **FURTHER}, 38, "edit", width=32, height=56, **length)
        layers = {"text_encoder_out_layers": [0, 7, -1], "max_sequence_length": 100}
        yield "other_layers", run({"prompt": "a [IMG]small red apple " * 9}, 39, **layers, **size)
        return
    yield "text2image", run(PROMPT, 30, num_inference_steps=8, guidance_scale=4.0, **size)
    negative = {**PROMPT, "negative_prompt": "for all people"}
    yield "negative", run(negative, 31, guidance_scale=2.5, num_images_per_prompt=2, **size)
    yield "no_guidance", run(PROMPT, 32, guidance_scale=1.0, **size)
    linear = {"time_shift_type": "linear", "shift_terminal": 0.02}
    yield "linear_shift", run(PROMPT, 33, guidance_scale=3.0, scheduler_config=linear, **size)
    everything = {**TWO, **IMAGE, **MASK, **FURTHER}
    yield "inpaint", run(everything, 34, "inpaint", guidance_scale=8.0, strength=0.45)


def pictures(inputs, name, folder):
    from PIL import Image

    paths = inputs.get(name, [])
    paths = [paths] if isinstance(paths, str) else paths
    return [Image.open(folder / path).convert("RGB") for path in paths]


def given_images(request, folder):
    """What the pipeline of a task takes of a request's images."""
    inputs = request["inputs"]
    images = pictures(inputs, "image", folder)
    further = pictures(inputs, "image_reference", folder)
    if request["task"] == "edit":
        return {"image": images + further}
    if request["task"] == "text2image":
        return {}
    taken = {"image": images[0], "mask_image": pictures(inputs, "mask", folder)[0]}
    return {**taken, "image_reference": further[0]} if further else taken


def negative_embeds(pipe, request):
    prompt, config = request["inputs"]["prompt"], request["config"]
    negative = request["inputs"].get("negative_prompt")
    if negative is None:
        return None
    count = len(prompt) if isinstance(prompt, list) else 1
    return pipe.encode_prompt(
        prompt=[negative] * count, max_sequence_length=config["max_sequence_length"]
    )[0]


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D]; latents_after_step_K [n, C, H, W] for
    the first, middle and last step; timesteps; image [n, 3, H, W] in 0..1."""
    from diffusers import Flux2KleinInpaintPipeline

    config, seeds = request["config"], common.seeds_of(request)
    repeats = config.get("num_images_per_prompt", 1)
    if request["task"] == "inpaint":
        pipe = Flux2KleinInpaintPipeline(**pipe.components, is_distilled=pipe.config.is_distilled)
        pipe.set_progress_bar_config(disable=True)
    plain, out, latents, timesteps, embeds = pipe.scheduler, {}, [], [], []
    common._set_scheduler(pipe, config)
    negative = type(pipe).__name__ not in ("Flux2Pipeline", "Flux2KleinKVPipeline")
    given = {"negative_prompt_embeds": negative_embeds(pipe, request)} if negative else {}
    given.update(given_images(request, folder))
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length", "strength", "text_encoder_out_layers"]
    given.update({name: config[name] for name in names if name in config})

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", lambda result: embeds.append(result[0]))
    try:
        out["image"] = pipe(
            prompt=request["inputs"]["prompt"],
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="pt",
            callback_on_step_end=on_step,
            **given,
        ).images
    finally:
        pipe.__dict__.pop("encode_prompt", None)
        pipe.scheduler = plain
    count = len(seeds) // repeats
    rows = [each[:: len(each) // count] for each in embeds]
    out.update(zip(["prompt_embeds", "negative_prompt_embeds"], rows))
    grid = 2 * pipe.vae_scale_factor
    size = [side // grid for side in out["image"].shape[2:]]
    for index in sorted({0, len(latents) // 2, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = latents[index].unflatten(1, size).permute(0, 3, 1, 2)
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", *MODELS}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    for name in sorted(wanted & set(MODELS)):
        make_pipeline(name, lambda folder: write_model(folder, **MODELS[name]), runs(name), generate, options, load)


if __name__ == "__main__":
    main()
