#!/usr/bin/env python3
"""Tiny random Krea 2 folders: what diffusers makes of their transformer, of its LoRAs, and of requests to them.

  tools/goldens/krea2.py [--only networks,originals,loras,krea2,krea2_turbo,modular] [--runs negative] [--keep-models]
                         [--check]

tests/goldens/networks/krea2_transformer* as networks.py makes them; next to the first original.safetensors, the same
weights as the original code names them (github krea-ai/krea-2, SingleStreamDiT), and lora_LAYOUT.safetensors and
lora_LAYOUT_deltas.safetensors, as flux_originals.py makes them; tests/goldens/pipelines/krea2/model and
krea2_turbo/model are folders and RUN/{request.json,golden.safetensors} next to them runs, as pipelines.py makes them;
so are krea2_modular and krea2_turbo_modular, as folders of the modular pipelines.
"""

import json
import shutil
import sys

import common
import diffusers
import flux
import flux2
import networks
import qwen3_vl
import qwen_image
import torch
import transformers
from diffusers import Krea2Pipeline
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders import single_file_utils as files
from flux2_originals import deltas, factors
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from safetensors.torch import load_file
from torch.nn.utils.rnn import pad_sequence

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
KREA2 = dict(
    in_channels=16,
    num_layers=3,
    attention_head_dim=12,
    num_attention_heads=4,
    num_key_value_heads=2,
    intermediate_size=40,
    timestep_embed_dim=16,
    text_hidden_dim=24,
    num_text_layers=3,
    text_num_attention_heads=3,
    text_num_key_value_heads=3,
    text_intermediate_size=28,
    num_layerwise_text_blocks=1,
    num_refiner_text_blocks=2,
    axes_dims_rope=(2, 6, 4),
)


def from_one(state):
    """Weights of norms are counted from one."""
    return {name: value - 1 if ".norm" in name and value.ndim == 1 else value for name, value in state.items()}


def krea2_golden(model, seed, rows, height, width, text, timesteps):
    config = model.config
    sample = common.normal(seed, rows, config.in_channels // 4, height, width)
    embeds = common.normal(seed + 1, rows, text, config.num_text_layers, config.text_hidden_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    out = model(
        flux.packed(sample),
        encoder_hidden_states=embeds,
        timestep=times / 1000,
        position_ids=Krea2Pipeline.prepare_position_ids(text, height // 2, width // 2, "cpu"),
        return_dict=False,
    )[0]
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds.flatten(2)}
    return {**inputs, "out.sample": flux.unpacked(out, height, width)}


def krea2_case(seed, dtype=torch.float32, **config):
    from diffusers import Krea2Transformer2DModel

    def make(folder):
        model = Krea2Transformer2DModel(**{**KREA2, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype, from_one)

    def goldens(folder):
        model = Krea2Transformer2DModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", krea2_golden(model, 1350, 3, 8, 6, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", krea2_golden(model, 1360, 1, 6, 22, 13, [499.5])
        yield "golden_smallest", krea2_golden(model, 1370, 1, 2, 2, 1, [250.0])

    return make, goldens


def network_cases():
    yield "krea2_transformer", krea2_case(310, HALF)
    yield "krea2_transformer_rare_options", krea2_case(
        311,
        num_layers=1,
        in_channels=12,
        num_key_value_heads=4,
        text_num_key_value_heads=1,
        num_text_layers=2,
        num_layerwise_text_blocks=2,
        num_refiner_text_blocks=0,
        axes_dims_rope=(4, 2, 6),
        rope_theta=100.0,
        norm_eps=1e-3,
    )


# ------------------------------------------------------------------------------------------ LoRAs
FOLDER = common.GOLDENS / "networks" / "krea2_transformer"
# Of each kind of place, one.
COMPARED = {
    *(f"transformer_blocks.1.attn.{part}" for part in ("to_q", "to_k", "to_v", "to_gate", "to_out.0")),
    *(f"transformer_blocks.2.ff.{part}" for part in ("gate", "up", "down")),
    "text_fusion.layerwise_blocks.0.attn.to_gate",
    "text_fusion.refiner_blocks.1.ff.gate",
    "text_fusion.projector",
    "img_in",
    "final_layer.linear",
    "time_embed.linear_2",
    "time_mod_proj",
    "txt_in.linear_1",
}
ORIGINAL = {
    "transformer_blocks.": "blocks.",
    "text_fusion.": "txtfusion.",
    "img_in": "first",
    "final_layer.": "last.",
    "time_embed.linear_1": "tmlp.0",
    "time_embed.linear_2": "tmlp.2",
    "time_mod_proj": "tproj.1",
    "txt_in.linear_1": "txtmlp.1",
    "txt_in.linear_2": "txtmlp.3",
    ".ff.": ".mlp.",
    ".attn.to_q": ".attn.wq",
    ".attn.to_k": ".attn.wk",
    ".attn.to_v": ".attn.wv",
    ".attn.to_out.0": ".attn.wo",
    ".attn.to_gate": ".attn.gate",
}


def original_name(layer):
    for ours, theirs in ORIGINAL.items():
        layer = layer.replace(ours, theirs)
    return layer


# Parameters that no LoRA changes, whose names end so.
NORMS = {
    ".attn.norm_q.weight": ".attn.qknorm.qnorm.scale",
    ".attn.norm_k.weight": ".attn.qknorm.knorm.scale",
    ".norm1.weight": ".prenorm.scale",
    ".norm2.weight": ".postnorm.scale",
    "txt_in.norm.weight": "txtmlp.0.scale",
    "last.norm.weight": "last.norm.scale",
    "last.scale_shift_table": "last.modulation.lin",
    ".scale_shift_table": ".mod.lin",
}


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {}
    for name, value in state.items():
        name = original_name(name)
        for ours, theirs in NORMS.items():
            if name.endswith(ours):
                name = name.removesuffix(ours) + theirs
        made[name] = value.flatten() if name.endswith(".mod.lin") else value
    back = files.convert_krea2_transformer_checkpoint_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def lora(state, seed, prefix, name_of=lambda layer: layer):
    file = {}
    layers = [name for name in sorted(state) if name.endswith(".weight") and state[name].ndim == 2]
    for i, name in enumerate(layers):
        down, up = factors(state[name], seed + 2 * i)
        layer = prefix + name_of(name.removesuffix(".weight"))
        file[f"{layer}.lora_A.weight"], file[f"{layer}.lora_B.weight"] = down, up
    return file


def lora_files():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    files = {
        "lora_diffusers": lora(state, 3000, "transformer."),
        "lora_comfy": lora(state, 3200, "diffusion_model.", original_name),
        "lora_ai_toolkit": lora(state, 3400, "base_model.model.", original_name),
    }
    for name, file in files.items():
        theirs = file
        if name != "lora_diffusers":
            theirs = loras._convert_non_diffusers_krea2_lora_to_diffusers(dict(file))
            assert len(theirs) == len(file)
        yield name, file
        yield name + "_deltas", {k: v.contiguous() for k, v in deltas(theirs).items() if k in COMPARED}


# --------------------------------------------------------------------------------------- folders
TEXT = dict(
    hidden_size=24,
    intermediate_size=36,
    num_hidden_layers=5,
    num_attention_heads=3,
    num_key_value_heads=1,
    head_dim=12,
)
VISION = dict(depth=1, hidden_size=8, intermediate_size=8, out_hidden_size=24, deepstack_visual_indexes=[0])
SCHEDULER = {**qwen_image.SCHEDULER, "max_image_seq_len": 6400, "max_shift": 1.15, "shift_terminal": None}


def modular_entry(name, library, kind):
    """Of an index as the modular pipeline's save_pretrained writes it, in which nothing is loaded yet."""
    from diffusers.modular_pipelines.modular_pipeline import ComponentSpec, ModularPipeline

    where = {"diffusers": diffusers, "transformers": transformers}[library]
    spec = ComponentSpec(name, getattr(where, kind), pretrained_model_name_or_path="krea/Krea-2-Raw", subfolder=name)
    return [None, None, ModularPipeline._component_spec_to_dict(spec)]


def write_model(distilled, modular=False):
    def write(folder):
        from diffusers import AutoencoderKLQwenImage, Krea2Transformer2DModel

        if folder.exists():
            shutil.rmtree(folder)
        entries = flux2.write_tokenizer(folder / "tokenizer")
        text = qwen3_vl.qwen3_vl({**TEXT, "vocab_size": entries + 7}, VISION, "Qwen3VLModel")
        parts = {
            "text_encoder": (text, 312, lambda state: state),
            "transformer": (Krea2Transformer2DModel(**KREA2), 313, from_one),
            "vae": (AutoencoderKLQwenImage(**qwen_image.KL), 314, lambda state: state),
        }
        for name, (model, seed, rename) in parts.items():
            networks.save_checkpoint(model, folder / name, seed, 1.0, HALF, rename)
        common.write_json(folder / "scheduler" / "scheduler_config.json", SCHEDULER)
        index = {
            "_class_name": "Krea2Pipeline",
            "_diffusers_version": "0.42.1",
            "is_distilled": distilled,
            "patch_size": 2,
            "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
            "text_encoder": ["transformers", "Qwen3VLModel"],
            "text_encoder_select_layers": [1, 3, 4],
            "tokenizer": ["transformers", "Qwen2TokenizerFast"],
            "transformer": ["diffusers", "Krea2Transformer2DModel"],
            "vae": ["diffusers", "AutoencoderKLQwenImage"],
        }
        if not modular:
            common.write_json(folder / "model_index.json", index)
            return
        kinds = {name: each for name, each in index.items() if isinstance(each, list) and each[0] != 1}
        kinds["tokenizer"][1] = "AutoTokenizer"  # as its blocks look for one
        blocks = "Krea2TurboAutoBlocks" if distilled else "Krea2AutoBlocks"
        named = {"_blocks_class_name": blocks, "_class_name": "Krea2ModularPipeline", "_diffusers_version": "0.42.1"}
        entries = {name: modular_entry(name, *each) for name, each in kinds.items()}
        common.write_json(folder / "modular_model_index.json", named | entries)

    return write


def load_modular(folder):
    """The folder's modular pipeline, which reads the layers that it is given: its blocks know those of the published
    text encoder alone."""
    index = json.loads((folder / "modular_model_index.json").read_text())
    blocks = getattr(diffusers, index["_blocks_class_name"])()
    pipe = blocks.init_pipeline(str(folder.resolve()))
    assert type(pipe).__name__ == index["_class_name"]
    kinds = {"transformer": diffusers.Krea2Transformer2DModel, "vae": diffusers.AutoencoderKLQwenImage}
    parts = {
        name: kind.from_pretrained(folder / name, torch_dtype=torch.float32).eval()
        for name, kind in kinds.items()
    }
    text = transformers.Qwen3VLModel.from_pretrained(folder / "text_encoder", dtype=torch.float32).eval()
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / "tokenizer")
    pipe.update_components(text_encoder=text, scheduler=scheduler, tokenizer=tokenizer, **parts)
    return pipe


# ------------------------------------------------------------------------------------------ runs
def runs():
    prompt, two, run = qwen_image.PROMPT, qwen_image.TWO, qwen_image.run
    negative, size = qwen_image.NEGATIVE, {"width": 48, "height": 32}
    yield "text2image", run(prompt, 90, width=64, height=48)
    yield "negative", run({**prompt, **negative}, 91, guidance_scale=3.0, max_sequence_length=256, **size)
    yield "prompts", run({**two, **negative}, 92, guidance_scale=0.6, num_images_per_prompt=2, max_sequence_length=256, **size)
    yield "no_guidance", run(prompt, 93, guidance_scale=0.0, num_inference_steps=2, **size)
    yield "cut_prompt", run(prompt, 94, guidance_scale=2.0, num_inference_steps=8, max_sequence_length=107, **size)


def distilled_runs():
    size = {"width": 64, "height": 32}
    yield "text2image", qwen_image.run(qwen_image.PROMPT, 95, guidance_scale=0.0, num_inference_steps=8, **size)
    yield "guided", qwen_image.run(qwen_image.PROMPT, 96, guidance_scale=1.5, **size)


LAYERS = {"text_encoder_select_layers": [1, 3, 4]}


def modular_runs():
    prompt, run = qwen_image.PROMPT, qwen_image.run
    size = {"width": 48, "height": 32, **LAYERS}
    yield "text2image", run(prompt, 97, num_images_per_prompt=2, **size)
    yield "negative", run({**prompt, **qwen_image.NEGATIVE}, 98, guidance_scale=3.0, **size)


def turbo_modular_runs():
    yield "text2image", qwen_image.run(qwen_image.PROMPT, 99, width=64, height=32, **LAYERS)


def embedded(states, mask, repeats):
    """Of each prompt, its tokens in front and zeros behind them, their layers side by side."""
    rows = [row[of_text].flatten(1) for row, of_text in zip(states[::repeats], mask[::repeats])]
    return pad_sequence(rows, batch_first=True)


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, layers D]; latents_after_step_K [n, C, H, W] for the first,
    middle and last step; timesteps; image [n, 3, H, W] in 0..1."""
    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height", "max_sequence_length"]
    given = {name: config[name] for name in names if name in config}
    given.update({name: inputs[name] for name in ("prompt", "negative_prompt") if name in inputs})

    embeds, out = common.follow(pipe, config, seeds, flux.unpacked, **given)
    repeats = config.get("num_images_per_prompt", 1)
    for name, (states, mask) in zip(["prompt_embeds", "negative_prompt_embeds"], embeds):
        out[name] = embedded(states, mask, repeats)
    if len(embeds) > 1:
        out["negative_prompt_embeds"] = out["negative_prompt_embeds"][:1]  # one for all
    return out


def generate_modular(pipe, request, folder):
    """As generate, of the modular pipeline, whose guider has the scale."""
    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    encoders = sys.modules["diffusers.modular_pipelines.krea2.encoders"]
    encoders.KREA2_TEXT_ENCODER_SELECT_LAYERS = tuple(config["text_encoder_select_layers"])
    if hasattr(pipe, "guider"):
        guider = diffusers.ClassifierFreeGuidance(
            guidance_scale=config.get("guidance_scale", 4.5), use_original_formulation=True
        )
        pipe.update_components(guider=guider)
    names = ["num_inference_steps", "num_images_per_prompt", "width", "height"]
    given = {name: config[name] for name in names if name in config}
    given |= {name: inputs[name] for name in ("prompt", "negative_prompt") if name in inputs}
    with common.recorded_steps(pipe.scheduler) as (steps, times):
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        state = pipe(generator=generators, output_type="pt", **given)
    image = state.get("images")
    size = [side // pipe.vae_scale_factor for side in image.shape[2:]]
    out = {"image": image, "timesteps": torch.tensor(times, dtype=torch.float64)}
    for index in sorted({0, len(steps) // 2, len(steps) - 1}):
        out[f"latents_after_step_{index}"] = flux.unpacked(steps[index], *size)
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals", "loras", "krea2", "krea2_turbo", "modular"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "originals" in wanted:
        state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
        check_or_write(FOLDER / "original.safetensors", original(state), options.check)
    if "loras" in wanted:
        for name, tensors in lora_files():
            check_or_write(FOLDER / f"{name}.safetensors", tensors, options.check)
    if "krea2" in wanted:
        make_pipeline("krea2", write_model(False), runs(), generate, options)
    if "krea2_turbo" in wanted:
        make_pipeline("krea2_turbo", write_model(True), distilled_runs(), generate, options)
    if "modular" in wanted:
        for name, distilled, its_runs in (
            ("krea2_modular", False, modular_runs()),
            ("krea2_turbo_modular", True, turbo_modular_runs()),
        ):
            make_pipeline(name, write_model(distilled, True), its_runs, generate_modular, options, load_modular)


if __name__ == "__main__":
    main()
