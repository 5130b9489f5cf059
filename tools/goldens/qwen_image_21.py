#!/usr/bin/env python3
"""Tiny random Qwen-Image 2.1 folders: what diffusers makes of their networks, of LoRAs, and of requests to them.

  tools/goldens/qwen_image_21.py [--only networks,originals,qwen_image_21,qwen_image_21_turbo,modular] [--runs negative] \
[--keep-models] [--check]

tests/goldens/networks/qwen_image_21_* as networks.py makes them; in qwen_image_21_transformer original.safetensors holds
the same weights as ComfyUI's files name them, and lora_LAYOUT.safetensors and lora_LAYOUT_deltas.safetensors are as
flux2_originals.py makes them. tests/goldens/pipelines/qwen_image_21*/model are folders and
RUN/{request.json,golden.safetensors} next to them runs, as pipelines.py makes them. The processor is put together here
from its parts, of which transformers wants torchvision. qwen_image_21_modular and qwen_image_21_turbo_modular are folders
of the modular pipelines, which make their runs.
"""

import json
import shutil

import common
import flux2
import networks
import qwen3_vl
import qwen_image
import qwen_image_edit
import torch
from diffusers import QwenImage21Pipeline as Pipeline
from diffusers.loaders import lora_conversion_utils as loras
from diffusers.loaders.single_file_utils import convert_qwen_image21_transformer_checkpoint_to_diffusers
from diffusers.modular_pipelines.modular_pipeline import ComponentSpec, ModularPipeline
from flux2_originals import deltas, factors
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from PIL import Image
from safetensors.torch import load_file

HALF = torch.float16

# ------------------------------------------------------------------------------------ autoencoder
KL = dict(
    base_dim=4,
    decoder_base_dim=6,
    z_dim=4,
    dim_mult=[1, 2, 4, 4, 4],
    num_res_blocks=1,
    temperal_downsample=[False, True, True, True],
    latents_mean=[-0.75, 0.4, 0.05, -1.1],
    latents_std=[2.8, 1.4, 0.7, 1.9],
)


def load_vae(folder):
    from diffusers import AutoencoderKLQwenImage21

    return AutoencoderKLQwenImage21.from_pretrained(folder, torch_dtype=torch.float32, low_cpu_mem_usage=False).eval()


def kl_encode(model, seed, rows, height, width):
    image = common.normal(seed, rows, model.config.in_channels, height, width).clamp(-1, 1)
    distribution = model.encode(image.unsqueeze(2)).latent_dist
    mode = distribution.mode() - qwen_image.of_channels(model, "latents_mean")
    return {
        "in.image": image,
        "out.mean": distribution.mean[:, :, 0],
        "out.logvar": distribution.logvar[:, :, 0],
        "out.latents": (mode / qwen_image.of_channels(model, "latents_std"))[:, :, 0],
    }


def kl_case(seed, dtype=torch.float32, **config):
    from diffusers import AutoencoderKLQwenImage21

    def make(folder):
        networks.save_checkpoint(AutoencoderKLQwenImage21(**{**KL, **config}), folder, seed, 1.0, dtype)

    def goldens(folder):
        model = load_vae(folder)
        scale = 2 ** (len(model.config.dim_mult) - 1)
        yield "golden_encode", kl_encode(model, 2400, 2, 3 * scale, 5 * scale)
        yield "golden_encode_smallest", kl_encode(model, 2410, 1, scale, scale)
        yield "golden_decode", qwen_image.kl_decode(model, 2420, 2, 3, 5)
        yield "golden_decode_smallest", qwen_image.kl_decode(model, 2430, 1, 1, 1)

    return make, goldens


# ------------------------------------------------------------------------------------ transformer
TRANSFORMER = dict(
    in_channels=4,
    out_channels=4,
    num_layers=3,
    attention_head_dim=12,
    num_attention_heads=4,
    context_in_dim=24,
    mlp_ratio=2,
    axes_dims_rope=(2, 6, 4),
)


def from_one(state):
    """The weight of the text's norm is counted from one."""
    return {name: value - 1 if "text_norm" in name else value for name, value in state.items()}


def unpacked(latents, height, width):
    return latents.transpose(1, 2).unflatten(2, (height, width))


def load_transformer(folder):
    from diffusers import QwenImage21Transformer2DModel

    return QwenImage21Transformer2DModel.from_pretrained(
        folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
    ).eval()


def places(slots, shapes):
    """Of a prompt whose `slots` [T] are four tokens of an image each, what ours takes of the positions and of what sees
    what: prefix_ids and prefix_mask of the text's tokens and then of the images', sample_ids. The images' shapes, the
    last of the one that is made."""
    kinds = slots.repeat_interleave(torch.where(slots, 4, 1))
    ids, images = [], []
    position, image, at = 0, -1, 0
    while at < len(kinds):
        if not kinds[at]:
            ids.append([position] * 3)
            images.append(-1)
            position, at = position + 1, at + 1
            continue
        image += 1
        _, height, width = shapes[image]
        for row in range(height):
            for column in range(width):
                ids.append([position, row - (height - height // 2), column - (width - width // 2)])
                images.append(image)
        position, at = position + max(height, width), at + height * width
    ids, images = torch.tensor(ids, dtype=torch.float32), torch.tensor(images)
    made = images == len(shapes) - 1
    order = torch.cat([(images < 0).nonzero(), ((images >= 0) & ~made).nonzero()]).flatten()
    index = torch.arange(len(images))
    sees = (index[:, None] >= index) | ((images[:, None] == images) & (images >= 0))
    return {"prefix_ids": ids[order], "prefix_mask": sees[order][:, order].float(), "sample_ids": ids[made]}


def golden(model, seed, rows, height, width, text, timesteps, lengths=None, images=()):
    """lengths: of the rows' texts, behind which there is padding. images: after how many of the text's tokens each is
    that there is to go by, and its height and width."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.context_in_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    slots = torch.zeros(text, dtype=torch.bool)
    for before, rows_of, columns in reversed(images):
        seen = slots.new_ones(rows_of * columns // 4)
        slots = torch.cat([slots[:before], seen, slots[before:]])
    whole = torch.zeros(rows, len(slots), config.context_in_dim)
    whole[:, ~slots] = embeds
    mask = None
    if lengths:
        mask = torch.arange(text)[None] < torch.tensor(lengths)[:, None]
        inputs["in.encoder_attention_mask"] = mask.float()
        inner = torch.ones(rows, len(slots), dtype=torch.bool)
        inner[:, ~slots] = mask
        mask = inner
    shapes = [*((1, rows_of, columns) for _, rows_of, columns in images), (1, height, width)]
    slots = torch.cat([slots, slots.new_ones(height * width // 4)])
    hidden = [sample.flatten(2).transpose(1, 2)]
    if images:
        given = [common.normal(seed + 2 + i, 1, h * w, config.in_channels) for i, (_, h, w) in enumerate(images)]
        references = torch.cat(given, 1).repeat(rows, 1, 1)
        more = {name: value[None].repeat(rows, 1, 1) for name, value in places(slots, shapes).items()}
        if lengths:
            padding = torch.cat([inputs["in.encoder_attention_mask"] == 0, torch.zeros(rows, references.shape[1], dtype=torch.bool)], 1)
            more["prefix_mask"] = more["prefix_mask"].masked_fill(padding[:, None], 0)
        hidden.insert(0, references)
        inputs |= {"in.reference_latents": references, **{"in." + name: value for name, value in more.items()}}
    out = model(
        torch.cat(hidden, 1),
        encoder_hidden_states=whole,
        timestep=times / 1000,
        img_shapes=[shapes] * rows,
        img_mask=slots[None].repeat(rows, 1),
        encoder_hidden_states_mask=mask,
        return_dict=False,
    )[0]
    return {**inputs, "out.sample": unpacked(out[:, -height * width :], height, width)}


def transformer_case(seed, dtype=torch.float32, **config):
    from diffusers import QwenImage21Transformer2DModel

    def make(folder):
        model = QwenImage21Transformer2DModel(**{**TRANSFORMER, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype, from_one)

    def goldens(folder):
        model = load_transformer(folder)
        yield "golden", golden(model, 2450, 3, 4, 6, 7, [999.0, 1.0, 570.857])
        yield "golden_wide", golden(model, 2460, 1, 2, 22, 13, [499.5])
        yield "golden_masked", golden(model, 2470, 3, 4, 2, 9, [750.0], [9, 1, 6])
        yield "golden_smallest", golden(model, 2480, 1, 2, 2, 1, [250.0])
        images = [(2, 4, 2), (3, 2, 6)]
        yield "golden_references", golden(model, 2485, 2, 4, 6, 7, [910.0, 20.0], images=images)
        blocks = model.transformer_blocks
        if len(blocks) > 1 and model.config.causal_condition:  # as a guider skips one
            model.transformer_blocks = torch.nn.ModuleList(block for i, block in enumerate(blocks) if i != 1)
            yield "skipped", golden(model, 2450, 3, 4, 6, 7, [999.0, 1.0, 570.857])
            model.transformer_blocks = blocks
        # One after the other without a token between them; a longer text than the other row's.
        images = [(1, 2, 2), (1, 4, 4)]
        yield "golden_masked_references", golden(model, 2490, 2, 2, 4, 6, [875.0], [3, 6], images)

    return make, goldens


def network_cases():
    yield "qwen_image_21_vae", kl_case(420, HALF)
    yield "qwen_image_21_vae_two_levels", kl_case(
        421, decoder_base_dim=None, dim_mult=[2, 2], temperal_downsample=[True], num_res_blocks=2, in_channels=3, out_channels=3
    )
    yield "qwen_image_21_transformer", transformer_case(422, HALF)
    yield "qwen_image_21_transformer_all_times", transformer_case(423, torch.bfloat16, causal_condition=False)
    yield "qwen_image_21_transformer_rare_options", transformer_case(
        424, num_layers=1, out_channels=None, mlp_ratio=3, eps=1e-3, axes_dims_rope=(4, 2, 6)
    )


# ------------------------------------------------------------------- files of others than diffusers
FOLDER = common.GOLDENS / "networks" / "qwen_image_21_transformer"
# Of each kind of place, one.
COMPARED = {
    *(f"transformer_blocks.1.attn.{part}" for part in ("to_q", "to_k", "to_v", "to_out.0")),
    *(f"transformer_blocks.2.img_mlp.{part}" for part in ("gate_layer", "proj", "out")),
}


def original(state):
    """As ComfyUI names them, which keeps gate and projection in one matrix."""
    made = {}
    for name, value in state.items():
        if name.endswith("img_mlp.gate_layer.weight"):
            made[name.replace("gate_layer", "gate_up")] = torch.cat([value, state[name.replace("gate_layer", "proj")]])
        elif not name.endswith("img_mlp.proj.weight"):
            made[name] = value
    back = convert_qwen_image21_transformer_checkpoint_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def lora(state, seed, name_of, parts=("lora_A.weight", "lora_B.weight"), alpha=None):
    file = {}
    layers = sorted(name for name in state if name.startswith("transformer_blocks") and state[name].ndim == 2)
    for i, name in enumerate(layers):
        layer = name_of(name.removesuffix(".weight"))
        for part, value in zip(parts, factors(state[name], seed + 2 * i)):
            file[f"{layer}.{part}"] = value
        if alpha:
            file[f"{layer}.alpha"] = torch.tensor(alpha)
    return file


def originals():
    state = load_file(FOLDER / "diffusion_pytorch_model.safetensors")
    yield "original", original(state)
    kohya = ("lora_down.weight", "lora_up.weight")
    files = {
        "lora_diffusers": lora(state, 2500, lambda layer: "transformer." + layer),
        "lora_comfy": lora(state, 2600, lambda layer: "diffusion_model." + layer, kohya, 2.0),
        "lora_kohya": lora(state, 2700, lambda layer: "lora_unet_" + layer.replace(".", "_"), kohya, 1.0),
    }
    for name, file in files.items():
        theirs = file
        if name != "lora_diffusers":
            theirs = loras._convert_non_diffusers_qwen_lora_to_diffusers(dict(file))
        yield name, file
        compared = {k: v.contiguous() for k, v in deltas(theirs).items() if k in COMPARED}
        if name != "lora_kohya":  # the reference takes gate_layer's name apart
            assert compared.keys() == COMPARED
        yield name + "_deltas", compared


# --------------------------------------------------------------------------------------- folders
TEXT = dict(hidden_size=24, intermediate_size=36, num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1)
VISION = dict(
    depth=2,
    hidden_size=16,
    intermediate_size=20,
    num_heads=2,
    patch_size=16,
    out_hidden_size=24,
    num_position_embeddings=16,
    deepstack_visual_indexes=[0],
)
# Images may be so small that what is seen of them is a few tokens.
PIXELS = dict(min_pixels=32 * 32, max_pixels=2048 * 2048)
# What Qwen3-VL's template makes of texts alone.
TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}"
    "{%- if message.content is string %}{{- message.content }}"
    "{%- else %}{%- for part in message.content %}{{- part.text }}{%- endfor %}{%- endif %}"
    "{{- '<|im_end|>\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)
SCHEDULER = {**qwen_image.SCHEDULER, "shift_terminal": None, "max_image_seq_len": 4096, "max_shift": 1.15}
SAMPLE_SIGMAS = [1.0, 0.875, 0.6, 0.3]


def processor(folder, tokenizer):
    from transformers import Qwen3VLProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    # Its parts' classes are looked for among those of torchvision.
    Qwen3VLProcessor.check_argument_for_proper_class = lambda *_: None
    [path] = [*folder.glob("preprocessor_config.json"), *folder.glob("processor_config.json")]
    values = json.loads(path.read_text())
    values = values.get("image_processor", values)
    names = ("min_pixels", "max_pixels", "patch_size", "merge_size", "temporal_patch_size", "image_mean", "image_std")
    images = Qwen2VLImageProcessorPil(**{name: values[name] for name in names})
    return Qwen3VLProcessor(images, tokenizer, None, chat_template=tokenizer.chat_template)


def write_processor(folder, whole):
    """As published: the tokenizer is in the processor's folder. Entries, and the ids of the words around images.
    whole: in one file, as version 5 of transformers writes a processor."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    tokenizer, ids = qwen_image_edit.write_tokenizer(folder)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    images = Qwen2VLImageProcessorPil(
        patch_size=16, merge_size=2, image_mean=[0.5] * 3, image_std=[0.5] * 3, **PIXELS
    )
    images.save_pretrained(folder)
    path = folder / "preprocessor_config.json"
    values = json.loads(path.read_text())
    values |= {"image_processor_type": "Qwen2VLImageProcessorFast", **PIXELS}
    named = {"processor_class": "Qwen3VLProcessor"}
    if whole:
        path.unlink()
        common.write_json(folder / "processor_config.json", {"image_processor": values, **named})
    else:
        common.write_json(path, {**values, **named})
    return len(tokenizer), ids


def text_encoder(entries, ids):
    import transformers

    names = ("vision_start_token_id", "vision_end_token_id", "image_token_id")
    config = transformers.Qwen3VLConfig(
        text_config={**qwen3_vl.TEXT, **TEXT, "vocab_size": entries + 7},
        vision_config={**qwen3_vl.VISION, **VISION},
        video_token_id=entries,
        **dict(zip(names, ids)),
    )
    return transformers.Qwen3VLForConditionalGeneration(config)


def modular_index(index, pipeline):
    """The index of the same folder as the modular pipeline's: each component by where it is, as its save_pretrained
    writes it."""
    import diffusers
    import transformers

    made = {"_blocks_class_name": pipeline.replace("ModularPipeline", "AutoBlocks"), "_class_name": pipeline}
    for name, value in index.items():
        if not isinstance(value, list) or not isinstance(value[0], str):
            if not name.startswith("_class"):
                made[name] = value
            continue
        library, kind = value
        where = {"diffusers": diffusers, "transformers": transformers}[library]
        spec = ComponentSpec(
            name, getattr(where, kind), pretrained_model_name_or_path="Qwen/Qwen-Image-2.1", subfolder=name
        )
        made[name] = [library, kind, ModularPipeline._component_spec_to_dict(spec)]
    return made


def write_model(sample_sigmas, pipeline=""):
    """pipeline: of a modular folder."""

    def write(folder):
        from diffusers import AutoencoderKLQwenImage21, QwenImage21Transformer2DModel

        if folder.exists():
            shutil.rmtree(folder)
        parts = {
            "text_encoder": (text_encoder(*write_processor(folder / "processor", bool(sample_sigmas))), 430, lambda state: state),
            "transformer": (QwenImage21Transformer2DModel(**TRANSFORMER), 431, from_one),
            "vae": (AutoencoderKLQwenImage21(**KL), 432, lambda state: state),
        }
        for name, (model, seed, rename) in parts.items():
            networks.save_checkpoint(model, folder / name, seed, 1.0, HALF, rename)
        common.write_json(folder / "scheduler" / "scheduler_config.json", SCHEDULER)
        index = {
            "_class_name": "QwenImage21Pipeline",
            "_diffusers_version": "0.42.1",
            "processor": ["transformers", "Qwen3VLProcessor"],
            "sample_sigmas": sample_sigmas,
            "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
            "text_encoder": ["transformers", "Qwen3VLForConditionalGeneration"],
            "transformer": ["diffusers", "QwenImage21Transformer2DModel"],
            "vae": ["diffusers", "AutoencoderKLQwenImage21"],
        }
        if pipeline:
            common.write_json(folder / "modular_model_index.json", modular_index(index, pipeline))
        else:
            common.write_json(folder / "model_index.json", index)

    return write


def load_modular(folder):
    """The folder's modular pipeline."""
    import diffusers

    index = json.loads((folder / "modular_model_index.json").read_text())
    blocks = getattr(diffusers, index["_blocks_class_name"])()
    pipe = blocks.init_pipeline(str(folder.resolve()))
    parts = parts_of(folder)
    pipe.update_components(**{name: parts[name] for name in ("scheduler", "vae", "text_encoder", "transformer")})
    pipe.processor = parts["processor"]
    assert pipe.config.get("sample_sigmas") == index.get("sample_sigmas")
    return pipe


def parts_of(folder):
    from diffusers import FlowMatchEulerDiscreteScheduler
    from transformers import AutoTokenizer

    return dict(
        scheduler=FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler"),
        vae=load_vae(folder / "vae"),
        text_encoder=qwen3_vl.load(folder / "text_encoder"),
        processor=processor(folder / "processor", AutoTokenizer.from_pretrained(folder / "processor")),
        transformer=load_transformer(folder / "transformer"),
    )


def load(folder):
    sigmas = json.loads((folder / "model_index.json").read_text())["sample_sigmas"]
    pipe = Pipeline(**parts_of(folder), sample_sigmas=sigmas)
    pipe.set_progress_bar_config(disable=True)
    return pipe


# ------------------------------------------------------------------------------------------ runs
def runs():
    prompt, run = qwen_image.PROMPT, qwen_image.run
    negative, size = qwen_image.NEGATIVE, {"width": 64, "height": 96}
    yield "text2image", run(prompt, 190, width=96, height=64)
    yield "negative", run({**prompt, **negative}, 191, guidance_scale=3.0, **size)
    yield "prompts", run({**qwen_image.TWO, **negative}, 192, guidance_scale=2.5, num_images_per_prompt=2, **size)
    yield "empty_negative", run(prompt, 193, guidance_scale=4.0, num_inference_steps=2, width=32, height=32)
    yield "sigmas", run(prompt, 194, sigmas=[1.0, 0.5, 0.25], num_inference_steps=3, **size)
    two, wide = {**qwen_image.TWO, **negative}, {"image": "../../inputs/image_88x72.png"}
    alpha = {"image_reference": ["../../inputs/image_alpha.png", "../../inputs/image_88x72.png"]}
    yield "edit", run({**prompt, **wide}, 197, "edit", output_resolution=96)
    yield "edit_negative", run({**prompt, **negative, **wide}, 198, "edit", guidance_scale=3.0, output_resolution=64, **size)
    yield "edit_of_three", run(
        {**two, **qwen_image.IMAGE, **alpha}, 199, "edit", guidance_scale=2.0, num_inference_steps=2, output_resolution=64
    )


def turbo_runs():
    size = {"width": 64, "height": 32}
    yield "text2image", qwen_image.run(qwen_image.PROMPT, 195, **size)
    yield "sigmas", qwen_image.run(qwen_image.PROMPT, 196, sigmas=[0.9, 0.45], num_inference_steps=2, **size)
    alpha = {"image": "../../inputs/image_alpha.png"}
    yield "edit", qwen_image.run({**qwen_image.PROMPT, **alpha}, 200, "edit", output_resolution=64)


def modular_runs():
    prompt, run = qwen_image.PROMPT, qwen_image.run
    negative, size = qwen_image.NEGATIVE, {"width": 64, "height": 96}
    wide = {"image": "../../inputs/image_88x72.png"}
    yield "text2image", run(prompt, 201, width=96, height=64, num_images_per_prompt=2)
    yield "negative", run({**prompt, **negative}, 202, guidance_scale=3.0, **size)
    yield "edit", run({**prompt, **wide}, 203, "edit", output_resolution=96)
    yield "edit_negative", run({**prompt, **negative, **wide}, 204, "edit", guidance_scale=2.0, output_resolution=64)


def turbo_modular_runs():
    yield "text2image", qwen_image.run(qwen_image.PROMPT, 205, width=64, height=32)
    alpha = {"image": "../../inputs/image_alpha.png"}
    yield "edit", qwen_image.run({**qwen_image.PROMPT, **alpha}, 206, "edit", output_resolution=64)


def pictures(inputs, folder):
    """As they are, with their alpha channels."""
    paths = [inputs["image"], *inputs.get("image_reference", [])] if "image" in inputs else []
    return [Image.open(folder / path) for path in paths] or None


def generate(pipe, request, folder):
    """prompt_embeds and negative_prompt_embeds [prompts, T, D] of the text's tokens; latents_after_step_K [n, C, H, W] for the first, middle
    and last step; timesteps; image [n, 4, H, W] in 0..1."""
    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    names = ["num_inference_steps", "width", "height", "sigmas", "output_resolution"]
    given = {name: config[name] for name in names if name in config}
    scale = config.get("guidance_scale", 1.0)
    repeats = config.get("num_images_per_prompt", 1)
    prompts = inputs["prompt"] if isinstance(inputs["prompt"], list) else [inputs["prompt"]]
    # Given once for each image: with several prompts and several images of each, the reference
    # (0.42.1) gives images the padding of other prompts.
    given["prompt"] = [prompt for prompt in prompts for _ in range(repeats)]
    # Without a negative prompt ours is the empty one; the reference leaves guidance out.
    if scale > 1:
        given["negative_prompt"] = [inputs.get("negative_prompt", "")] * len(seeds)
    given["image"] = pictures(inputs, folder)
    embeds, out = common.follow(pipe, config, seeds, unpacked, true_cfg_scale=scale, **given)
    for name, (states, _, slots) in zip(["prompt_embeds", "negative_prompt_embeds"], embeds):
        # Images' latents take the places of what the text encoder makes of them.
        out[name] = states[::repeats, ~slots[0]]
    if len(embeds) > 1:
        out["negative_prompt_embeds"] = out["negative_prompt_embeds"][:1]  # one for all
    return out


def generate_modular(pipe, request, folder):
    """As generate, of the modular pipeline, whose guider has the scale and which is given one prompt."""
    from diffusers import ClassifierFreeGuidance

    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    if hasattr(pipe, "guider") and "guidance_scale" in config:
        pipe.update_components(guider=ClassifierFreeGuidance(guidance_scale=config["guidance_scale"]))
    elif hasattr(pipe, "guider"):
        pipe.update_components(guider=ClassifierFreeGuidance(guidance_scale=1.0))
    names = ["num_inference_steps", "width", "height", "output_resolution", "num_images_per_prompt"]
    given = {name: config[name] for name in names if name in config}
    given |= {name: inputs[name] for name in ("prompt", "negative_prompt") if name in inputs}
    images = pictures(inputs, folder)
    if images:
        given["image"] = images
    with common.recorded_steps(pipe.scheduler) as (steps, times):
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        state = pipe(generator=generators, output_type="pt", **given)
    image = state.get("images")
    height, width = (side // pipe.vae_scale_factor for side in image.shape[-2:])
    out = {"image": image, "timesteps": torch.tensor(times, dtype=torch.float64)}
    for index in sorted({0, len(steps) // 2, len(steps) - 1}):
        out[f"latents_after_step_{index}"] = unpacked(steps[index], height, width)
    for kind in ("", "negative_"):
        states, slots = state.get(f"{kind}prompt_embeds"), state.get(f"{kind}image_pad_mask")
        if states is not None and (not kind or "negative_prompt" in inputs):
            out[f"{kind}prompt_embeds"] = states[:1, ~slots[0]]
    return out


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals", "qwen_image_21", "qwen_image_21_turbo", "modular"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "originals" in wanted:
        for name, tensors in originals():
            check_or_write(FOLDER / f"{name}.safetensors", tensors, options.check)
    if "qwen_image_21" in wanted:
        make_pipeline("qwen_image_21", write_model(None), runs(), generate, options, load)
    if "qwen_image_21_turbo" in wanted:
        make_pipeline("qwen_image_21_turbo", write_model(SAMPLE_SIGMAS), turbo_runs(), generate, options, load)
    if "modular" in wanted:
        folders = {
            "qwen_image_21_modular": (None, "QwenImage21ModularPipeline", modular_runs()),
            "qwen_image_21_turbo_modular": (SAMPLE_SIGMAS, "QwenImage21TurboModularPipeline", turbo_modular_runs()),
        }
        for name, (sigmas, pipeline, its_runs) in folders.items():
            make_pipeline(name, write_model(sigmas, pipeline), its_runs, generate_modular, options, load_modular)


if __name__ == "__main__":
    main()
