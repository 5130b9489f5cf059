#!/usr/bin/env python3
"""Tiny random FLUX.3 folders: what diffusers and transformers make of their networks, and of requests to them.

  tools/goldens/flux3.py [--only networks,originals,flux3_klein,flux3_klein_base] [--runs edit] [--keep-models] [--check]

tests/goldens/networks/flux3_transformer* as networks.py makes them, with original.safetensors, the same weights as the
original code names them, and lora_LAYOUT.safetensors with lora_LAYOUT_deltas.safetensors next to the first, as
flux2_originals.py makes them; tests/goldens/pipelines/flux3_*/model is a folder of a modular pipeline and
RUN/{request.json,golden.safetensors} next to it a run, as pipelines.py makes them.
"""

import json
import shutil

import common
import flux2
import flux2_autoencoders
import flux2_originals
import networks
import torch
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders.single_file_utils import convert_flux3_transformer_checkpoint_to_diffusers
from diffusers.modular_pipelines.flux3 import before_denoise
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from safetensors.torch import load_file

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
FLUX3 = dict(
    in_channels=12,
    cond_in_channels=12,
    num_layers=2,
    num_single_layers=3,
    attention_head_dim=12,
    num_attention_heads=3,
    joint_attention_dim=20,
    timestep_channels=16,
    mlp_ratio=3.0,
    axes_dims_rope=(2, 4, 4, 2),
)
ROPE_SCALE = before_denoise.Flux3PrepareLatentsStep().image_rope_scale


def tokens_of(latents):
    return latents.flatten(2).transpose(1, 2)


def flux3_golden(model, seed, rows, height, width, text, timesteps, targets, references=()):
    """references: {height, width} of each image next to the one that is made."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    more = {}
    if config.flow_map:
        inputs["in.target_timestep"] = torch.tensor(targets, dtype=torch.float32).expand(rows).clone()
        more["target_timestep"] = inputs["in.target_timestep"] / 1000
    if references:
        images = [
            common.normal(seed + 2 + i, 1, config.cond_in_channels, *size)
            for i, size in enumerate(references)
        ]
        ids = [
            before_denoise._prepare_image_ids(*size, ROPE_SCALE, l_coord=-(1 + i))
            for i, size in enumerate(references)
        ]
        packed = torch.cat([tokens_of(image) for image in images], 1).repeat(rows, 1, 1)
        theirs = torch.cat(ids)
        inputs["in.reference_latents"] = packed
        inputs["in.reference_ids"] = theirs[None].repeat(rows, 1, 1)
        more.update(image_cond_hidden_states=packed, image_cond_ids=theirs)
    out = model(
        tokens_of(sample),
        encoder_hidden_states=embeds,
        timestep=times / 1000,
        img_ids=before_denoise._prepare_image_ids(height, width, ROPE_SCALE),
        txt_ids=before_denoise.Flux3TextRoPEInputsStep._prepare_text_ids(embeds),
        return_dict=False,
        **more,
    )[0]
    return {**inputs, "out.sample": out.unflatten(1, (height, width)).permute(0, 3, 1, 2)}


def load_transformer(folder):
    """All in fp32, without the package that the reference loads parts in other types by."""
    from diffusers import Flux3Transformer2DModel

    model = Flux3Transformer2DModel.from_config(Flux3Transformer2DModel.load_config(folder))
    state = load_file(folder / "diffusion_pytorch_model.safetensors")
    model.load_state_dict({name: weight.float() for name, weight in state.items()})
    return model.eval()


def flux3_case(seed, dtype=torch.float32, **config):
    from diffusers import Flux3Transformer2DModel

    def make(folder):
        model = Flux3Transformer2DModel(**{**FLUX3, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = load_transformer(folder)
        yield "golden", flux3_golden(model, 1800, 3, 4, 4, 7, [999.0, 1.0, 570.857], [910.0, 0.0, 500.0])
        yield "golden_wide", flux3_golden(model, 1810, 1, 3, 11, 13, [499.5], [250.25])
        yield "golden_references", flux3_golden(
            model, 1820, 2, 5, 3, 6, [875.0], [0.0], references=((3, 5), (2, 1))
        )
        yield "golden_smallest", flux3_golden(model, 1830, 1, 1, 1, 1, [250.0], [125.0])

    return make, goldens


def network_cases():
    yield "flux3_transformer", flux3_case(320, torch.bfloat16)
    yield "flux3_transformer_flow_map", flux3_case(321, HALF, flow_map=True)
    yield "flux3_transformer_rare_options", flux3_case(
        322,
        cond_in_channels=8,
        rope_theta=100,
        mlp_ratio=2.4,
        eps=1e-3,
        axes_dims_rope=(2, 6, 2, 2),
        num_single_layers=1,
        num_layers=1,
    )


# ------------------------------------------------------------------------------------ the original
FOLDER = common.GOLDENS / "networks" / "flux3_transformer_flow_map"
# Of each kind of place, one.
COMPARED = {
    "mode_blocks.image.1.attn.to_q",
    "mode_blocks.image_cond.0.attn.to_out.0",
    "txt_mode_blocks.1.ff.linear_in",
    "single_transformer_blocks.2.attn.to_v",
    "single_transformer_blocks.0.ff.linear_out",
}
LAYERS = {
    "attn.to_q": "q_proj",
    "attn.to_k": "k_proj",
    "attn.to_v": "v_proj",
    "attn.to_out.0": "attn_out",
    "ff.linear_in": "mlp_in",
    "ff.linear_out": "mlp_out",
    "attn.norm_q.weight": "norm.query_norm.scale",
    "attn.norm_k.weight": "norm.key_norm.scale",
}
STARTS = {
    "x_embedders.": "emb_in.",
    "context_embedder.": "txt_in.",
    "mode_blocks.": "content_mode_blocks.",
    "single_transformer_blocks.": "single_blocks.",
    "timestep_embedder.linear_1": "time_in.in_layer",
    "timestep_embedder.linear_2": "time_in.out_layer",
    "target_timestep_embedder.linear_1": "ref_time_in.in_layer",
    "target_timestep_embedder.linear_2": "ref_time_in.out_layer",
    "proj_out": "final_layer.image.linear",
    "norm_out.linear": "final_layer.image.adaLN_modulation.1",
}


def original_name(name):
    for ours, theirs in STARTS.items():
        if name.startswith(ours):
            name = theirs + name[len(ours) :]
            break
    if "stream_modulations" in name:
        name = name.replace(".linear", ".lin")
    for ours, theirs in LAYERS.items():
        name = name.replace(ours, theirs)
    return name


def original(state):
    """The weights under the original's names; checked against the reference's conversion back."""
    made = {original_name(name): value for name, value in state.items()}
    scale, shift = state["norm_out.linear.weight"].chunk(2)
    made["final_layer.image.adaLN_modulation.1.weight"] = torch.cat([shift, scale])
    # With what training alone needs, which the reference drops.
    training = {"repa_projectors.0.weight": torch.zeros(2, 2, dtype=HALF)}
    back = convert_flux3_transformer_checkpoint_to_diffusers({**made, **training})
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def lora_diffusers(layers):
    file = {}
    for i, (layer, weight) in enumerate(layers.items()):
        down, up = flux2_originals.factors(weight, 1900 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file, file


def lora_original(layers):
    """As BFL's trainers and ai-toolkit name them."""
    file = {}
    for i, (layer, weight) in enumerate(layers.items()):
        down, up = flux2_originals.factors(weight, 1960 + 2 * i)
        file[f"diffusion_model.{original_name(layer)}.lora_A.weight"] = down
        file[f"diffusion_model.{original_name(layer)}.lora_B.weight"] = up
    return file, loras._convert_non_diffusers_flux3_lora_to_diffusers(dict(file))


def originals():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    yield "original", original(state)
    matrices = {
        name.removesuffix(".weight"): weight
        for name, weight in sorted(state.items())
        if weight.ndim == 2 and "_blocks." in "_" + name
    }
    for make in (lora_diffusers, lora_original):
        file, converted = make(matrices)
        compared = {k: v for k, v in flux2_originals.deltas(converted).items() if k in COMPARED}
        assert compared.keys() == COMPARED
        yield make.__name__, {k: v.to(torch.float32) for k, v in file.items()}
        yield make.__name__ + "_deltas", {k: v.to(torch.float32) for k, v in compared.items()}


# --------------------------------------------------------------------------------------- folders
KL = dict(
    block_out_channels=(4, 8, 8, 12),
    down_block_types=("DownEncoderBlock2D",) * 4,
    up_block_types=("UpDecoderBlock2D",) * 4,
    layers_per_block=1,
    latent_channels=3,
    norm_num_groups=4,
)
TEXT = dict(
    hidden_size=8,
    intermediate_size=12,
    num_hidden_layers=33,  # the pipeline takes the states before layers 4, 8, ... 32
    num_attention_heads=2,
    num_key_value_heads=1,
    head_dim=6,
    max_position_embeddings=1024,
    rope_parameters={"rope_theta": 5000000.0, "rope_type": "default", "mrope_section": [1, 1, 1], "mrope_interleaved": True},
)
VISION = dict(
    depth=1,
    hidden_size=8,
    intermediate_size=8,
    num_heads=1,
    patch_size=2,
    spatial_merge_size=2,
    out_hidden_size=8,
    num_position_embeddings=4,
    deepstack_visual_indexes=[0],
)
# What Qwen3-VL's template makes of one message of a user.
TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}"
    "{{- '<|im_start|>assistant\\n' }}"
    "{%- endif %}"
)
MODELS = {
    "flux3_klein": ("Flux3DistilledModularPipeline", "Flux3DistilledAutoBlocks", True),
    "flux3_klein_base": ("Flux3ModularPipeline", "Flux3AutoBlocks", False),
}
REPOSITORY = "black-forest-labs/flux-3-image-klein"


def write_processor(folder):
    """A folder of Qwen3-VL's processor; its tokenizer's entries."""
    from transformers import AutoTokenizer

    entries = flux2.write_tokenizer(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    common.write_json(folder / "preprocessor_config.json", {"image_processor_type": "Qwen2VLImageProcessorFast", "patch_size": 2})
    return entries


def text_encoder(entries):
    import transformers

    tokens = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    config = transformers.Qwen3VLConfig(
        text_config={**TEXT, "vocab_size": entries},
        vision_config=VISION,
        **{name: entries - 1 - i for i, name in enumerate(tokens)},
    )
    return transformers.Qwen3VLForConditionalGeneration(config)


def index_entry(name, kind, named):
    """As ModularPipeline.save_config writes it; `named`: with library and class, as loading leaves it."""
    from diffusers import ModularPipeline
    from diffusers.modular_pipelines.modular_pipeline_utils import ComponentSpec

    other = name.startswith("prompt_upsampler")
    spec = ComponentSpec(
        name,
        kind,
        pretrained_model_name_or_path=REPOSITORY + "-pup" if other else REPOSITORY,
        subfolder="" if other else name,
    )
    fields = ModularPipeline._component_spec_to_dict(spec)
    return [*(fields["type_hint"] if named else (None, None)), fields]


def write_model(folder, pipeline, blocks, distilled):
    import transformers
    from diffusers import AutoencoderKLFlux2, Flux3Transformer2DModel

    if folder.exists():
        shutil.rmtree(folder)
    vae = AutoencoderKLFlux2(**KL)
    flux2_autoencoders.set_statistics(vae, 330)
    encoder = text_encoder(write_processor(folder / "tokenizer"))
    transformer = Flux3Transformer2DModel(**{**FLUX3, "joint_attention_dim": 64, "flow_map": distilled})
    parts = {"text_encoder": (encoder, 331), "transformer": (transformer, 332), "vae": (vae, 333)}
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    kinds = {name: type(model) for name, (model, _) in parts.items()}
    kinds["tokenizer"] = transformers.AutoProcessor
    if distilled:  # what a published index names, but this folder has not
        kinds["prompt_upsampler"] = transformers.Qwen3_5ForConditionalGeneration
        kinds["prompt_upsampler_processor"] = transformers.AutoProcessor
    index = {name: index_entry(name, kind, not distilled) for name, kind in sorted(kinds.items())}
    common.write_json(
        folder / "modular_model_index.json",
        {"_blocks_class_name": blocks, "_class_name": pipeline, "_diffusers_version": "0.42.1", **index},
    )


class Processor:
    """The reference's class for a processor's folder needs torchvision; its tokenizer does the same for texts."""

    def __init__(self, folder):
        from transformers import AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def apply_chat_template(self, *arguments, **named):
        return self.tokenizer.apply_chat_template(*arguments, **named)


def load(folder):
    """The folder's modular pipeline without its prompt upsampler."""
    import diffusers
    import transformers

    index = json.loads((folder / "modular_model_index.json").read_text())
    blocks = getattr(diffusers, index["_blocks_class_name"])()
    blocks.sub_blocks.pop("prompt_upsampler")
    pipe = blocks.init_pipeline(str(folder.resolve()))
    assert type(pipe).__name__ == index["_class_name"]
    pipe.update_components(
        text_encoder=transformers.Qwen3VLForConditionalGeneration.from_pretrained(folder / "text_encoder", dtype=torch.float32).eval(),
        transformer=load_transformer(folder / "transformer"),
        vae=diffusers.AutoencoderKLFlux2.from_pretrained(folder / "vae", torch_dtype=torch.float32, low_cpu_mem_usage=False).eval(),
    )
    pipe.tokenizer = Processor(folder / "tokenizer")
    return pipe


# ------------------------------------------------------------------------------------------ runs
LONG = {"prompt": "a small red apple and the sea at night for all people " * 6}
WIDE = {"image": "../../inputs/image_88x72.png"}
TWO = {"prompt": ["a small red apple", LONG["prompt"]]}


def run(inputs, seed, task="text2image", **config):
    values = {"num_inference_steps": 4, "seed": seed, **config}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs(model):
    prompt, image = flux2.PROMPT, flux2.IMAGE
    further = {"image_reference": ["../../inputs/image.png"]}
    size = {"width": 64, "height": 48}
    negative = {**prompt, "negative_prompt": LONG["prompt"]}
    yield "text2image", run(prompt, 40, **size)
    yield "prompts", run(TWO, 41, width=32, height=64, num_images_per_prompt=2)
    yield "edit", run({**prompt, **WIDE}, 42, "edit")
    yield "edit_of_two", run({**prompt, **WIDE, **further}, 43, "edit", num_images_per_prompt=2)
    if model == "flux3_klein":
        yield "one_step", run(prompt, 44, num_inference_steps=1, **size)
        yield "edit_at_a_size", run({**prompt, **image}, 45, "edit", width=48)
        yield "cut_prompt", run(LONG, 46, max_sequence_length=50, **size)
        return
    yield "negative", run(negative, 47, guidance_scale=2.5, num_images_per_prompt=2, **size)
    yield "no_guidance", run(prompt, 48, guidance_scale=1.0, **size)
    layers = {"text_encoder_out_layers": [0, 3, 7, 12, 20, 21, 32, 33]}
    yield "other_layers", run(prompt, 49, **layers, **size)


def one_prompt(pipe, request, folder, prompt, seeds):
    """The reference takes one prompt a call. Its state, and what its steps made: latents and timesteps."""
    config, inputs = request["config"], request["inputs"]
    given = {"prompt": prompt}
    if "negative_prompt" in inputs:
        given["negative_prompt"] = inputs["negative_prompt"]
    images = flux2.pictures(inputs, "image", folder) + flux2.pictures(inputs, "image_reference", folder)
    if images:
        given["image"] = images
    names = ["num_inference_steps", "num_images_per_prompt", "width", "height", "max_sequence_length"]
    given.update({name: config[name] for name in names if name in config})
    if "text_encoder_out_layers" in config:
        given["text_encoder_out_layers"] = tuple(config["text_encoder_out_layers"])
    with common.recorded_steps(pipe.scheduler) as (steps, times):
        state = pipe(
            generator=[torch.Generator().manual_seed(seed) for seed in seeds], output_type="pt", **given
        )
    size = state.get("latents").shape[-2:]
    return state, [latents.unflatten(1, size).permute(0, 3, 1, 2) for latents in steps], times


def padded(tensors):
    """{1, T, D} of several lengths, with zeros behind the shorter ones."""
    longest = max(tensor.shape[1] for tensor in tensors)
    return torch.cat([torch.nn.functional.pad(t, (0, 0, 0, longest - t.shape[1])) for t in tensors])


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D]; latents_after_step_K [n, C, H, W] for
    the first, middle and last step; timesteps; image [n, 3, H, W] in 0..1."""
    from diffusers import ClassifierFreeGuidance

    config, seeds = request["config"], common.seeds_of(request)
    if hasattr(pipe, "guider"):
        pipe.update_components(guider=ClassifierFreeGuidance(guidance_scale=config.get("guidance_scale", 3.5)))
    prompts = request["inputs"]["prompt"]
    prompts = prompts if isinstance(prompts, list) else [prompts]
    each = len(seeds) // len(prompts)
    made = [
        one_prompt(pipe, request, folder, prompt, seeds[i * each : (i + 1) * each])
        for i, prompt in enumerate(prompts)
    ]
    out = {"image": torch.cat([state.get("images") for state, _, _ in made])}
    for name in ("prompt_embeds", "negative_prompt_embeds"):
        embeds = [state.get(name) for state, _, _ in made]
        # Of a negative prompt that was not given, nothing is compared: one row serves all.
        if embeds[0] is not None and (name == "prompt_embeds" or "negative_prompt" in request["inputs"]):
            out[name] = padded([rows[:1] for rows in embeds]).to(torch.float32)
    count = len(made[0][1])
    for index in sorted({0, count // 2, count - 1}):
        out[f"latents_after_step_{index}"] = torch.cat([steps[index] for _, steps, _ in made])
    out["timesteps"] = torch.tensor(made[0][2], dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals", *MODELS}
    with torch.no_grad():
        if "networks" in wanted:
            make_networks(network_cases(), options.check)
        if "originals" in wanted:
            for name, tensors in originals():
                check_or_write(FOLDER / f"{name}.safetensors", tensors, options.check)
        for name, how in MODELS.items():
            if name in wanted:
                make_pipeline(name, lambda folder, how=how: write_model(folder, *how), runs(name), generate, options, load)


if __name__ == "__main__":
    main()
