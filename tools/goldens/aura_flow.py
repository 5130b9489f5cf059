#!/usr/bin/env python3
"""Tiny random AuraFlow folders: what transformers and diffusers make of their networks, and of requests to them.

  tools/goldens/aura_flow.py [--only tokenizer,networks,originals,aura_flow] [--runs text2image] [--keep-models] [--check]

tests/data/tokenizers/llama is a small vocabulary over characters laid out as the published one is; tests/goldens/
tokenizer/llama.json holds texts and their ids, by settings of the folder. tests/goldens/networks/{umt5_encoder,
aura_flow_transformer}* as networks.py makes them, with original.safetensors, the same weights as the original code names
them, and lora_diffusers.safetensors with its deltas next to the first transformer; tests/goldens/pipelines/aura_flow/
model is a folder and RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import json
import pathlib
import shutil
import tempfile

import common
import gemma
import lumina2
import networks
import qwen
import torch
from diffusers.loaders import single_file_utils as files
from flux2_originals import deltas
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from safetensors.torch import load_file

HALF = torch.float16

# -------------------------------------------------------------------------------------- tokenizer
FOLDER = common.ROOT / "tests" / "data" / "tokenizers" / "llama"
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]


def write_tokenizer(folder, **settings):
    """Its entries. As the published one, texts end in eos."""
    from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, trainers
    from transformers import LlamaTokenizer

    trained = Tokenizer(models.BPE(fuse_unk=True, byte_fallback=True))
    trained.normalizer = normalizers.Replace(" ", "\u2581")
    trained.pre_tokenizer = pre_tokenizers.Split("\u2581", "merged_with_next")
    first = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=first, show_progress=False)
    trained.train_from_iterator([gemma.WORDS, "a  b", " the sea", "of the"] * 9, trainer)
    model = json.loads(trained.to_str())["model"]
    tokenizer = LlamaTokenizer(
        vocab=model["vocab"],
        merges=[tuple(pair) for pair in model["merges"]],
        pad_token="<pad>",
        add_bos_token=False,
        add_eos_token=True,
        model_max_length=int(1e30),
        **settings,
    )
    tokenizer.add_tokens([AddedToken("<extra_id_0>", special=False, normalized=False)])
    if folder.exists():
        shutil.rmtree(folder)
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


TEXTS = ["", " ", "a", " a", "  the sea", "the sea ", "x<extra_id_0>y", "<extra_id_0> the", "<s>a</s> b", "\u2581a"]


def with_settings(settings):
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "llama"
        shutil.copytree(FOLDER, copy)
        path = copy / "tokenizer_config.json"
        config = json.loads(path.read_text())
        for name, value in settings.items():
            config.pop(name, None)
            if value is not None:
                config[name] = value
        common.write_json(path, config)
        return AutoTokenizer.from_pretrained(copy)


def tokenizer_golden():
    made = []
    for settings in (
        {"legacy": False, "padding_side": "right"},
        {"legacy": True, "padding_side": "left"},
        {"legacy": None, "padding_side": None},
        {"legacy": False, "add_prefix_space": False, "padding_side": "right"},
    ):
        tokenizer = with_settings(settings)
        assert type(tokenizer).__name__ == "LlamaTokenizer"
        texts = [{"text": text, "ids": tokenizer(text).input_ids} for text in TEXTS + gemma.TEXTS]
        padded = []
        for text, length in [("the small cat", 12), ("the small cat", 3), ("", 4)]:
            given = tokenizer(text, padding="max_length", max_length=length, truncation=True)
            padded.append({"text": text, "ids": given.input_ids, "used": sum(given.attention_mask)})
        made.append({"settings": settings, "texts": texts, "padded": padded})
    return made


# --------------------------------------------------------------------------------------- networks
UMT5 = dict(
    vocab_size=300,
    d_model=20,
    d_kv=6,
    d_ff=28,
    num_layers=3,
    num_heads=4,
    relative_attention_num_buckets=12,
    relative_attention_max_distance=20,
    feed_forward_proj="gated-gelu",
)
AURA_FLOW = dict(
    sample_size=8,
    in_channels=4,
    num_mmdit_layers=2,
    num_single_dit_layers=2,
    attention_head_dim=8,
    num_attention_heads=3,
    joint_attention_dim=20,
    caption_projection_dim=24,
    out_channels=4,
    pos_embed_max_size=64,
)


def umt5_case(seed, dtype=torch.float32, **config):
    from transformers import UMT5Config, UMT5EncoderModel

    def make(folder):
        model = UMT5EncoderModel(UMT5Config(**{**UMT5, **config}))
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = UMT5EncoderModel.from_pretrained(folder, dtype=torch.float32).eval()
        for name, spans in {"golden": [(0, 30), (0, 4), (0, 1)], "golden_padded_in_front": [(9, 30)]}.items():
            generator = torch.Generator().manual_seed(980)
            ids = torch.randint(0, model.config.vocab_size, (len(spans), 30), generator=generator)
            mask = qwen.mask_of(spans, 30)
            states = model(input_ids=ids, attention_mask=mask)[0]
            # What stands where there is no token is nothing to anyone.
            yield name, {
                "in.input_ids": ids,
                "in.mask": mask.float(),
                "out.hidden_states": states * mask[:, :, None],
            }

    return make, goldens


def aura_flow_golden(model, seed, rows, height, width, text, timesteps):
    sample = common.normal(seed, rows, model.config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, model.config.joint_attention_dim)
    embeds[:, text // 2 + 1 :] = 0
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    out = model(sample, encoder_hidden_states=embeds, timestep=times / 1000, return_dict=False)[0]
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    return {**inputs, "out.sample": out}


def aura_flow_case(seed, dtype=torch.float32, **config):
    from diffusers import AuraFlowTransformer2DModel

    def make(folder):
        model = AuraFlowTransformer2DModel(**{**AURA_FLOW, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = AuraFlowTransformer2DModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", aura_flow_golden(model, 990, 3, 6, 10, 7, [999.0, 1.0, 570.857])
        yield "golden_whole", aura_flow_golden(model, 995, 1, 16, 14, 12, [499.5])
        yield "golden_smallest", aura_flow_golden(model, 998, 1, 2, 2, 1, [250.0])

    return make, goldens


def network_cases():
    yield "umt5_encoder", umt5_case(220, torch.bfloat16)
    yield "aura_flow_transformer", aura_flow_case(221, HALF)
    yield "aura_flow_transformer_rare_options", aura_flow_case(
        222, HALF, num_mmdit_layers=1, num_single_dit_layers=0, pos_embed_max_size=81
    )


# -------------------------------------------------------------------------------------- originals
ORIGINAL = common.GOLDENS / "networks" / "aura_flow_transformer"
RENAMED = {
    "time_step_proj.linear_1.": "t_embedder.mlp.0.",
    "time_step_proj.linear_2.": "t_embedder.mlp.2.",
    "context_embedder.": "cond_seq_linear.",
    "proj_out.": "final_linear.",
    "norm_out.linear.": "modF.1.",
    "pos_embed.pos_embed": "positional_encoding",
    "pos_embed.proj.": "init_x_linear.",
    ".linear_1.": ".c_fc1.",
    ".linear_2.": ".c_fc2.",
    ".out_projection.": ".c_proj.",
    ".norm1_context.linear.": ".modC.1.",
    ".ff_context.": ".mlpC.",
    ".attn.add_q_proj.": ".attn.w1q.",
    ".attn.add_k_proj.": ".attn.w1k.",
    ".attn.add_v_proj.": ".attn.w1v.",
    ".attn.to_add_out.": ".attn.w1o.",
}
JOINT = {".norm1.linear.": ".modX.1.", ".ff.": ".mlpX."}
JOINT |= {f".attn.to_{part}.": f".attn.w2{part[0]}." for part in ("q", "k", "v", "out.0")}
SINGLE = {".norm1.linear.": ".modCX.1.", ".ff.": ".mlp."}
SINGLE |= {f".attn.to_{part}.": f".attn.w1{part[0]}." for part in ("q", "k", "v", "out.0")}
COMPARED = {
    "joint_transformer_blocks.0.attn.to_q",
    "joint_transformer_blocks.1.attn.add_v_proj",
    "joint_transformer_blocks.1.ff_context.linear_1",
    "single_transformer_blocks.0.attn.to_out.0",
    "single_transformer_blocks.1.norm1.linear",
}


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {}
    for name, weight in state.items():
        of_block = JOINT if name.startswith("joint_") else SINGLE
        for ours, theirs in {**RENAMED, **of_block}.items():
            name = name.replace(ours, theirs)
        name = name.replace("joint_transformer_blocks.", "double_layers.")
        made[name.replace("single_transformer_blocks.", "single_layers.")] = weight
    scale, shift = made["modF.1.weight"].chunk(2)
    made["modF.1.weight"] = torch.cat([shift, scale])
    back = files.convert_auraflow_transformer_checkpoint_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def originals(options):
    state = load_file(ORIGINAL / "diffusion_pytorch_model.safetensors")
    check_or_write(ORIGINAL / "original.safetensors", original(state), options.check)
    blocks = {name: value for name, value in state.items() if "_transformer_blocks." in name}
    renamed = {name.replace("joint_transformer_blocks.", "layers.j"): v for name, v in blocks.items()}
    renamed = {name.replace("single_transformer_blocks.", "layers.s"): v for name, v in renamed.items()}
    file = {}
    for name, value in lumina2.lora(renamed, "transformer.", 2300).items():
        name = name.replace("layers.j", "joint_transformer_blocks.")
        file[name.replace("layers.s", "single_transformer_blocks.")] = value.contiguous().float()
    kept = {k: v.contiguous().float() for k, v in deltas(file).items() if k in COMPARED}
    assert kept.keys() == COMPARED, COMPARED - kept.keys()
    check_or_write(ORIGINAL / "lora_diffusers.safetensors", file, options.check)
    check_or_write(ORIGINAL / "lora_diffusers_deltas.safetensors", kept, options.check)


# ---------------------------------------------------------------------------------------- folder
KL = dict(
    block_out_channels=(4, 8, 8, 12),
    down_block_types=("DownEncoderBlock2D",) * 4,
    up_block_types=("UpDecoderBlock2D",) * 4,
    layers_per_block=1,
    latent_channels=4,
    norm_num_groups=4,
    scaling_factor=0.13025,
    force_upcast=True,
)


def write_model(folder):
    from diffusers import AuraFlowTransformer2DModel, AutoencoderKL
    from transformers import UMT5Config, UMT5EncoderModel

    if folder.exists():
        shutil.rmtree(folder)
    entries = write_tokenizer(folder / "tokenizer", padding_side="right", legacy=True)
    parts = {
        "text_encoder": (UMT5EncoderModel(UMT5Config(**{**UMT5, "vocab_size": entries})), 223),
        # Positions for 1024 pixels, which is what the pipeline makes by default.
        "transformer": (AuraFlowTransformer2DModel(**{**AURA_FLOW, "pos_embed_max_size": 4096}), 224),
        "vae": (AutoencoderKL(**KL), 225),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {
            "_class_name": "FlowMatchEulerDiscreteScheduler",
            "_diffusers_version": "0.42.1",
            "num_train_timesteps": 1000,
            "shift": 1.73,
        },
    )
    common.write_json(
        folder / "model_index.json",
        {
            "_class_name": "AuraFlowPipeline",
            "_diffusers_version": "0.42.1",
            "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
            "text_encoder": ["transformers", "UMT5EncoderModel"],
            "tokenizer": ["transformers", "LlamaTokenizerFast"],
            "transformer": ["diffusers", "AuraFlowTransformer2DModel"],
            "vae": ["diffusers", "AutoencoderKL"],
        },
    )


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
TWO = {"prompt": ["a small red apple", "The sea at night, for all people and the small apple"]}
NEGATIVE = {"negative_prompt": "for all people"}


def run(inputs, seed, **config):
    size = {"width": 64, "height": 48, "max_sequence_length": 40}
    values = {"num_inference_steps": 4, "seed": seed, **size, **config}
    return {"task": "text2image", "model": "../model", "inputs": inputs, "config": values}


def runs():
    yield "text2image", run(PROMPT, 70, guidance_scale=3.5)
    yield "no_guidance", run(PROMPT, 71, guidance_scale=1.0, max_sequence_length=64)
    yield "negative", run({**PROMPT, **NEGATIVE}, 72, num_images_per_prompt=2)
    yield "prompts", run(TWO, 73, guidance_scale=2.5, width=80, height=112)
    yield "cut", run(PROMPT, 74, max_sequence_length=7)


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D]; latents_after_step_K for the first, middle and last
    step; timesteps; image [n, 3, H, W] in 0..1."""
    config, seeds = request["config"], common.seeds_of(request)
    prompt = request["inputs"]["prompt"]
    count = len(prompt) if isinstance(prompt, list) else 1
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length"]
    given = {name: config[name] for name in names if name in config}
    if "negative_prompt" in request["inputs"]:
        given["negative_prompt"] = [request["inputs"]["negative_prompt"]] * count
    embeds, out = common.follow(pipe, config, seeds, prompt=list(prompt) if isinstance(prompt, list) else [prompt], **given)
    each = config.get("num_images_per_prompt", 1)
    positive, _, negative, _ = embeds[0]
    out["prompt_embeds"] = positive[::each]
    if negative is not None:
        out["negative_prompt_embeds"] = negative[:1]
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"tokenizer", "networks", "originals", "aura_flow"}
    if "tokenizer" in wanted:
        if not options.check:
            write_tokenizer(FOLDER)
        made, path = tokenizer_golden(), common.GOLDENS / "tokenizer" / "llama.json"
        if options.check:
            assert json.loads(path.read_text()) == made, path
        else:
            path.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n")
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "originals" in wanted:
        originals(options)
    if "aura_flow" in wanted:
        make_pipeline("aura_flow", write_model, runs(), generate, options)


if __name__ == "__main__":
    with torch.no_grad():
        main()
