#!/usr/bin/env python3
"""Tiny random Sana folders: what diffusers makes of their networks, of their original layouts, and of requests to them.

  tools/goldens/sana.py [--only networks,originals,sana,sprint] [--runs text2image] [--keep-models] [--check]

tests/goldens/networks/{sana_transformer,autoencoder_dc}* as networks.py makes them; next to the first transformer,
Sana-Sprint's and the first autoencoder original.safetensors, the same weights as the original code names them, and next
to the first transformer lora_LAYOUT.safetensors with lora_LAYOUT_deltas.safetensors, as z_image_originals.py makes them; tests/goldens/pipelines/{sana,sana_sprint}/model are folders and
RUN/{request.json, golden.safetensors} next to them runs, as pipelines.py makes them.
"""

import shutil
import sys

import common
import gemma
import networks
import torch
from diffusers.loaders import single_file_utils as files
from diffusers.pipelines.pixart_alpha.pipeline_pixart_alpha import ASPECT_RATIO_512_BIN
from flux2_originals import deltas, factors
from golden_files import arguments, check_or_write, make_networks, make_pipeline
from PIL import Image
from safetensors.torch import load_file

HALF = torch.float16

# ------------------------------------------------------------------------------------ transformer
SANA = dict(
    sample_size=16,
    in_channels=8,
    out_channels=8,
    num_attention_heads=4,
    attention_head_dim=8,
    num_layers=2,
    num_cross_attention_heads=2,
    cross_attention_head_dim=16,
    cross_attention_dim=32,
    caption_channels=20,
)


def sana_golden(model, seed, rows, height, width, text, timesteps, residuals=0):
    """As SanaPipeline asks the transformer of texts without padding; with so many residuals of a ControlNet."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels, height, width)
    embeds = common.normal(seed + 1, rows, text, config.caption_channels)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    more = {}
    if config.guidance_embeds:
        more["guidance"] = torch.linspace(1.0, 6.0, rows)
    tokens, dim = height * width // config.patch_size**2, config.num_attention_heads * config.attention_head_dim
    control = [common.normal(seed + 10 + i, rows, tokens, dim) for i in range(residuals)]
    # The pipelines of models that are given the guidance scale do not scale timesteps.
    out = model(
        hidden_states=sample,
        timestep=times * (1.0 if more else config.timestep_scale),
        **{name: value * config.guidance_embeds_scale for name, value in more.items()},
        encoder_hidden_states=embeds,
        encoder_attention_mask=torch.ones(rows, text),
        controlnet_block_samples=tuple(control) or None,
        return_dict=False,
    )[0]
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": embeds}
    inputs |= {f"in.controlnet_block_samples.{i}": each for i, each in enumerate(control)}
    return {**inputs, **{f"in.{name}": value for name, value in more.items()}, "out.sample": out}


def sana_case(seed, dtype=torch.float32, residuals=0, **config):
    from diffusers import SanaTransformer2DModel

    def make(folder):
        model = SanaTransformer2DModel(**{**SANA, **config})
        networks.save_checkpoint(model, folder, seed, 1.0, dtype)

    def goldens(folder):
        model = SanaTransformer2DModel.from_pretrained(folder, torch_dtype=torch.float32).eval()
        patch = model.config.patch_size
        yield "golden", sana_golden(model, 980, 3, 4 * patch, 6 * patch, 7, [999.0, 1.0, 570.0])
        yield "golden_wide", sana_golden(model, 984, 1, 3 * patch, 21 * patch, 40, [499.0])
        yield "golden_smallest", sana_golden(model, 988, 1, patch, patch, 1, [250.0])
        if residuals:
            yield "golden_control", sana_golden(model, 998, 2, 3 * patch, 2 * patch, 5, [720.0], residuals)

    return make, goldens


# ------------------------------------------------------------------------------------ autoencoder
DC = dict(
    latent_channels=8,
    attention_head_dim=8,
    encoder_block_types=("ResBlock", "ResBlock", "ResBlock", *["EfficientViTBlock"] * 3),
    decoder_block_types=("ResBlock", "ResBlock", "ResBlock", *["EfficientViTBlock"] * 3),
    encoder_block_out_channels=(4, 4, 8, 8, 16, 16),
    decoder_block_out_channels=(4, 4, 8, 8, 16, 16),
    encoder_layers_per_block=(1, 1, 1, 1, 1, 2),
    decoder_layers_per_block=(2, 1, 1, 1, 1, 1),
    encoder_qkv_multiscales=((), (), (), (5,), (5,), (5,)),
    decoder_qkv_multiscales=((), (), (), (5,), (5,), (5,)),
    upsample_block_type="interpolate",
    downsample_block_type="conv",
    scaling_factor=0.41407,
)


def dc_golden(model, seed, rows, height, width):
    side = model.spatial_compression_ratio
    latents = common.normal(seed, rows, model.config.latent_channels, height, width)
    image = common.normal(seed + 1, rows, model.config.in_channels, height * side, width * side)
    return {
        "in.latents": latents,
        "in.image": image,
        "out.image": model.decode(latents, return_dict=False)[0],
        "out.latents": model.encode(image, return_dict=False)[0],
    }


def dc_case(seed, dtype=torch.float32, tiled=False, **config):
    from diffusers import AutoencoderDC

    def make(folder):
        networks.save_checkpoint(AutoencoderDC(**{**DC, **config}), folder, seed, 1.0, dtype)

    def goldens(folder):
        model = AutoencoderDC.from_pretrained(folder, torch_dtype=torch.float32).eval()
        yield "golden", dc_golden(model, 990, 2, 3, 2)
        yield "golden_wide", dc_golden(model, 994, 1, 1, 6)

    return make, goldens


def network_cases():
    yield "sana_transformer", sana_case(221, torch.bfloat16)
    # Of Sana 1.5, of the model of 4096 pixels, and what no published model has.
    yield "sana_transformer_rare_options", sana_case(
        222,
        HALF,
        num_layers=1,
        patch_size=2,
        interpolation_scale=2,
        attention_bias=True,
        qk_norm="rms_norm_across_heads",
        norm_elementwise_affine=True,
        norm_eps=1e-3,
        mlp_ratio=3.0,
        out_channels=16,
        timestep_scale=0.5,
    )
    yield "sana_transformer_sprint", sana_case(
        228,
        HALF,
        num_layers=1,
        guidance_embeds=True,
        guidance_embeds_scale=0.3,
        qk_norm="rms_norm_across_heads",
        timestep_scale=0.5,
    )
    # The first block takes none of a ControlNet's residuals, nor does the last.
    yield "sana_transformer_controlled", sana_case(
        229, HALF, num_layers=4, residuals=2, num_attention_heads=2, num_cross_attention_heads=1, cross_attention_dim=16
    )
    yield "autoencoder_dc", dc_case(223, torch.bfloat16)
    yield "autoencoder_dc_rare_options", dc_case(
        224,
        HALF,
        latent_channels=4,
        encoder_block_types=("ResBlock", "EfficientViTBlock", "ResBlock"),
        decoder_block_types="ResBlock",
        encoder_block_out_channels=(8, 16, 16),
        decoder_block_out_channels=(8, 8, 32),
        encoder_layers_per_block=(1, 1, 1),
        decoder_layers_per_block=(1, 2, 1),
        encoder_qkv_multiscales=((), (3, 5), ()),
        decoder_qkv_multiscales=((), (), ()),
        upsample_block_type="pixel_shuffle",
        downsample_block_type="pixel_unshuffle",
        decoder_act_fns=("relu", "silu", "relu"),
        encoder_out_shortcut=False,
        decoder_in_shortcut=False,
        decoder_conv_act_fn="silu",
    )


# -------------------------------------------------------------------------------------- originals
NETWORKS = common.GOLDENS / "networks"
RENAMED = {
    "patch_embed.proj.": "x_embedder.proj.",
    "time_embed.emb.timestep_embedder.linear_1.": "t_embedder.mlp.0.",
    "time_embed.emb.timestep_embedder.linear_2.": "t_embedder.mlp.2.",
    "time_embed.timestep_embedder.linear_1.": "t_embedder.mlp.0.",
    "time_embed.timestep_embedder.linear_2.": "t_embedder.mlp.2.",
    "time_embed.guidance_embedder.linear_1.": "cfg_embedder.mlp.0.",
    "time_embed.guidance_embedder.linear_2.": "cfg_embedder.mlp.2.",
    "time_embed.linear.": "t_block.1.",
    "caption_projection.linear_1.": "y_embedder.y_proj.fc1.",
    "caption_projection.linear_2.": "y_embedder.y_proj.fc2.",
    "caption_norm.": "attention_y_norm.",
    "transformer_blocks.": "blocks.",
    ".attn1.to_out.0.": ".attn.proj.",
    ".attn1.": ".attn.",
    ".attn2.to_q.": ".cross_attn.q_linear.",
    ".attn2.to_out.0.": ".cross_attn.proj.",
    ".attn2.": ".cross_attn.",
    "attn.norm_q.": "attn.q_norm.",
    "attn.norm_k.": "attn.k_norm.",
    ".ff.conv_inverted.": ".mlp.inverted_conv.conv.",
    ".ff.conv_depth.": ".mlp.depth_conv.conv.",
    ".ff.conv_point.": ".mlp.point_conv.conv.",
    "proj_out.": "final_layer.linear.",
}
COMPARED = {
    *(f"transformer_blocks.{i}.attn1.{part}" for i in (0, 1) for part in ("to_q", "to_k", "to_v", "to_out.0")),
    *(f"transformer_blocks.1.attn2.{part}" for part in ("to_q", "to_k", "to_v", "to_out.0")),
}


def original_names(state):
    """The weights under the original's names."""
    made = {}
    for name, weight in state.items():
        for ours, theirs in RENAMED.items():
            name = name.replace(ours, theirs)
        made["final_layer.scale_shift_table" if name == "scale_shift_table" else name] = weight
    for query in [name for name in made if name.endswith(".attn.to_q.weight")]:
        names = [query.replace("to_q", f"to_{part}") for part in "qkv"]
        made[query.replace("to_q", "qkv")] = torch.cat([made.pop(name) for name in names])
    for key in [name for name in made if ".cross_attn.to_k." in name]:
        names = [key.replace("to_k", f"to_{part}") for part in "kv"]
        made[key.replace("to_k", "kv_linear")] = torch.cat([made.pop(name) for name in names])
    dtype = next(iter(state.values())).dtype
    made["pos_embed"] = torch.zeros(1, 4, 32, dtype=dtype)
    made["y_embedder.y_embedding"] = torch.zeros(5, 20, dtype=dtype)
    return made


def original(state):
    """Checked against the reference's conversion back."""
    made = original_names(state)
    back = files.convert_sana_transformer_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def sprint_original(state):
    """The reference's package has no conversion of Sana-Sprint's. Names of its guidance scale and norms are those of
    github huggingface/diffusers, scripts/convert_sana_to_diffusers.py, and NVlabs/Sana, SanaMS with cfg_embed."""
    made = original_names(state)
    dtype = made["pos_embed"].dtype
    return made | {"logvar_linear.weight": torch.zeros(1, 32, dtype=dtype), "logvar_linear.bias": torch.zeros(1, dtype=dtype)}


DC_LAYERS = {
    "conv1.": "main.conv1.conv.",
    "conv2.": "main.conv2.conv.",
    "norm.": "main.conv2.norm.",
    "attn.to_qkv_multiscale.0.proj_in.": "context_module.main.aggreg.0.0.",
    "attn.to_qkv_multiscale.0.proj_out.": "context_module.main.aggreg.0.1.",
    "attn.to_out.": "context_module.main.proj.conv.",
    "attn.norm_out.": "context_module.main.proj.norm.",
    "attn.": "context_module.main.",
    "conv_out.conv_inverted.": "local_module.main.inverted_conv.conv.",
    "conv_out.conv_depth.": "local_module.main.depth_conv.conv.",
    "conv_out.conv_point.": "local_module.main.point_conv.conv.",
    "conv_out.norm.": "local_module.main.point_conv.norm.",
}
DC_ENDS = {
    "encoder.conv_in.": "encoder.project_in.conv.",
    "encoder.conv_out.": "encoder.project_out.main.op_list.0.conv.",
    "decoder.conv_in.": "decoder.project_in.main.conv.",
    "decoder.norm_out.": "decoder.project_out.op_list.0.",
    "decoder.conv_out.": "decoder.project_out.op_list.2.conv.",
}


def renamed(name, names):
    for ours, theirs in names.items():
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return name


def dc_name(name):
    """Of github mit-han-lab/efficientvit, dc_ae.py: `main` is what has a shortcut around it."""
    half, blocks, *rest = name.split(".", 4)
    if not blocks.endswith("_blocks"):
        return renamed(name, DC_ENDS)
    stage, layer, inner = rest
    resampling = {"conv.": "main.conv." if half == "encoder" else "main.conv.conv."}
    return f"{half}.stages.{stage}.op_list.{layer}.{renamed(inner, resampling | DC_LAYERS)}"


def dc_original(state):
    """The autoencoder's weights under the original's names; checked against the reference's conversion back."""
    made = {dc_name(name): weight for name, weight in state.items()}
    for query in [name for name in made if name.endswith(".to_q.weight")]:
        names = [query.replace("to_q", f"to_{part}") for part in "qkv"]
        made[query.replace("to_q", "qkv.conv")] = torch.cat([made.pop(name) for name in names])[..., None, None]
    for name in [name for name in made if name.endswith(".proj.conv.weight")]:
        made[name] = made[name][..., None, None]
    back = files.convert_autoencoder_dc_checkpoint_to_diffusers(dict(made))
    assert back.keys() == state.keys() and all(back[k].equal(state[k]) for k in state)
    return made


def lora_diffusers(state):
    """As SanaLoraLoaderMixin and the training scripts of diffusers write it."""
    file = {}
    layers = [name.removesuffix(".weight") for name in sorted(state) if ".attn" in name and state[name].ndim == 2]
    for i, layer in enumerate(layers):
        down, up = factors(state[layer + ".weight"], 2300 + 2 * i)
        file[f"transformer.{layer}.lora_A.weight"] = down
        file[f"transformer.{layer}.lora_B.weight"] = up
    return file


def originals(options):
    folder = NETWORKS / "sana_transformer"
    state = load_file(folder / "diffusion_pytorch_model.safetensors")
    check_or_write(folder / "original.safetensors", original(state), options.check)
    for name, make in {"sana_transformer_sprint": sprint_original, "autoencoder_dc": dc_original}.items():
        made = make(load_file(NETWORKS / name / "diffusion_pytorch_model.safetensors"))
        made = {key: value.contiguous() for key, value in made.items()}
        check_or_write(NETWORKS / name / "original.safetensors", made, options.check)
    file = {key: value.contiguous().float() for key, value in lora_diffusers(state).items()}
    kept = {k: v.contiguous().float() for k, v in deltas(file).items() if k in COMPARED}
    assert kept.keys() == COMPARED, COMPARED - kept.keys()
    check_or_write(folder / "lora_diffusers.safetensors", file, options.check)
    check_or_write(folder / "lora_diffusers_deltas.safetensors", kept, options.check)


# ---------------------------------------------------------------------------------------- folder
SOLVER = dict(
    algorithm_type="dpmsolver++",
    beta_end=0.02,
    beta_schedule="linear",
    beta_start=0.0001,
    dynamic_thresholding_ratio=0.995,
    euler_at_final=False,
    final_sigmas_type="zero",
    flow_shift=3.0,
    lambda_min_clipped=-float("inf"),
    lower_order_final=True,
    num_train_timesteps=1000,
    prediction_type="flow_prediction",
    sample_max_value=1.0,
    solver_order=2,
    solver_type="midpoint",
    steps_offset=0,
    thresholding=False,
    timestep_spacing="linspace",
    trained_betas=None,
    use_beta_sigmas=False,
    use_exponential_sigmas=False,
    use_flow_sigmas=True,
    use_karras_sigmas=False,
    use_lu_lambdas=False,
    variance_type=None,
)


SCM = {"num_train_timesteps": 1000, "prediction_type": "trigflow", "sigma_data": 0.5}


def write_model(folder, sprint=False):
    from diffusers import AutoencoderDC, SanaTransformer2DModel
    from transformers import Gemma2Config, Gemma2Model

    if folder.exists():
        shutil.rmtree(folder)
    entries = gemma.write_tokenizer(folder / "tokenizer")
    text = {**gemma.GEMMA2, "hidden_size": 20, "num_hidden_layers": 2, "sliding_window": 9}
    guided = {"guidance_embeds": True, "qk_norm": "rms_norm_across_heads"} if sprint else {}
    parts = {
        "text_encoder": (Gemma2Model(Gemma2Config(**{**text, "vocab_size": entries})), 225),
        "transformer": (SanaTransformer2DModel(**SANA, **guided), 226),
        "vae": (AutoencoderDC(**DC), 227),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    scheduler, values = "DPMSolverMultistepScheduler", SOLVER
    if sprint:
        scheduler, values = "SCMScheduler", SCM
    common.write_json(
        folder / "scheduler" / "scheduler_config.json",
        {"_class_name": scheduler, "_diffusers_version": "0.42.1", **values},
    )
    common.write_json(
        folder / "model_index.json",
        {
            "_class_name": "SanaSprintPipeline" if sprint else "SanaPipeline",
            "_diffusers_version": "0.42.1",
            "scheduler": ["diffusers", scheduler],
            "text_encoder": ["transformers", "Gemma2Model"],
            "tokenizer": ["transformers", "GemmaTokenizerFast"],
            "transformer": ["diffusers", "SanaTransformer2DModel"],
            "vae": ["diffusers", "AutoencoderDC"],
        },
    )


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": " A small red apple, and the sea "}
NEGATIVE = {"negative_prompt": "for All people"}
# Of other lengths, and the negative one of a third.
TWO = {"prompt": ["a small red apple", "The sea at night, for all people and the small apple"]}
SHORT = "Given a prompt, make it long:\nUser Prompt: "


def run(inputs, seed, task="text2image", **config):
    size = {"width": 96, "height": 64, "use_resolution_binning": False, "complex_human_instruction": SHORT}
    values = {"num_inference_steps": 4, "guidance_scale": 4.5, "seed": seed, "max_sequence_length": 40, **size, **config}
    values = {name: value for name, value in values.items() if value is not None}
    return {"task": task, "model": "../model", "inputs": inputs, "config": values}


def runs():
    # The instruction and the length of the reference.
    yield "text2image", run({**PROMPT, **NEGATIVE}, 70, complex_human_instruction=None, max_sequence_length=None)
    yield "no_guidance", run(PROMPT, 71, guidance_scale=1.0)
    yield "no_instruction", run({**PROMPT, **NEGATIVE}, 72, num_images_per_prompt=2, complex_human_instruction="")
    yield "prompts", run(TWO, 73, guidance_scale=2.5, width=64, height=96, num_inference_steps=6)
    yield "binning", run({**PROMPT, **NEGATIVE}, 74, width=80, height=48, use_resolution_binning=None)
    yield "cut", run(TWO | NEGATIVE, 75, max_sequence_length=6)
    yield "euler", run(PROMPT, 76, scheduler="FlowMatchEulerDiscreteScheduler", scheduler_config={"shift": 3.0})
    pag = run({**PROMPT, **NEGATIVE}, 77, guidance_scale=None)
    guider = {"type": "pag", "guidance_scale": 4.5, "pag_scale": 2.0, "pag_applied_layers": "1"}
    yield "pag", {**pag, "guider": guider}


def sprint_runs():
    yield "text2image", run(PROMPT, 80, num_inference_steps=None)
    yield "one_step", run(PROMPT, 81, num_inference_steps=1, guidance_scale=3.0)
    yield "prompts", run(TWO, 82, num_inference_steps=4, num_images_per_prompt=1, width=64)


    image = {"image": "../../inputs/image.png"}
    yield "image2image", run(PROMPT | image, 83, "image2image", num_inference_steps=None)
    strong = {"strength": 0.55, "num_inference_steps": 4, "num_images_per_prompt": 2, "guidance_scale": 3.0}
    yield "image2image_two", run(PROMPT | image, 84, "image2image", **strong)
    weak = {"strength": 0.3, "num_inference_steps": 2, "width": 64, "height": 96}
    yield "image2image_prompts", run(TWO | image, 85, "image2image", **weak)
    binned = {"strength": 0.4, "num_inference_steps": 2, "use_resolution_binning": None, "width": 80, "height": 48}
    yield "image2image_binning", run(PROMPT | image, 86, "image2image", **binned)


def sprint_latents(pipe, config, out):
    """The reference's latents and times are sigma_data times, and angles of, what a flow's are."""
    spread = pipe.scheduler.config.sigma_data
    made = {name: value / spread if name.startswith("latents") else value for name, value in out.items()}
    times = out["timesteps"].float()
    made["timesteps"] = (torch.sin(times) / (torch.cos(times) + torch.sin(times))).double()
    return made


def perturbed(pipe, guider):
    """The pipeline that asks a third time with some self-attention left out, and what it takes for it."""
    from diffusers import SanaPAGPipeline

    layers = [f"transformer_blocks.{guider['pag_applied_layers']}"]
    made = SanaPAGPipeline(**pipe.components, pag_applied_layers=layers)
    made.set_progress_bar_config(disable=True)
    return made, {"guidance_scale": guider["guidance_scale"], "pag_scale": guider["pag_scale"]}


def from_image(pipe, request, folder):
    """The pipeline that starts from an image, and what it takes for that."""
    from diffusers import SanaSprintImg2ImgPipeline

    made = SanaSprintImg2ImgPipeline(**pipe.components)
    made.set_progress_bar_config(disable=True)
    # Its check of sizes knows models of 1024 pixels alone: the sizes of 512 stand in for theirs.
    module = sys.modules[SanaSprintImg2ImgPipeline.__module__]
    module.ASPECT_RATIO_1024_BIN = ASPECT_RATIO_512_BIN
    made.transformer.register_to_config(sample_size=32)
    config, given = request["config"], {"image": Image.open(folder / request["inputs"]["image"]).convert("RGB")}
    return made, given | {name: config[name] for name in ("strength",) if name in config}


def generate(pipe, request, folder, more=None):
    """`more`: what else the pipeline is given.

    prompt_embeds and negative_prompt_embeds [prompts, T, D] and prompt_attention_mask, cut to the longest prompt's
    tokens and zeros after shorter ones'; latents_after_step_K for the first, middle and last step; timesteps; image
    [n, 3, H, W] in 0..1."""
    config, seeds = request["config"], common.seeds_of(request)
    prompt = request["inputs"]["prompt"]
    further = dict(more or {})
    if "guider" in request:
        pipe, further = perturbed(pipe, request["guider"])
    plain = pipe.scheduler
    common._set_scheduler(pipe, config)
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["max_sequence_length", "use_resolution_binning"]
    given = {name: config[name] for name in names if name in config}
    if "complex_human_instruction" in config:
        lines = config["complex_human_instruction"].split("\n")
        given["complex_human_instruction"] = lines if lines != [""] else None
    sprint = type(pipe).__name__ == "SanaSprintPipeline"
    if request["task"] == "image2image":
        pipe, further = from_image(pipe, request, folder)
    if not sprint:
        further["negative_prompt"] = request["inputs"].get("negative_prompt", "")
    elif config.get("num_inference_steps", 2) != 2:
        further["intermediate_timesteps"] = None
    try:
        embeds, out = common.follow(pipe, config, seeds, prompt=prompt, **given, **further)
    finally:
        pipe.scheduler = plain
    if sprint:
        out = sprint_latents(pipe, config, out)
    each = config.get("num_images_per_prompt", 1)
    # The reference has masks and states of several prompts' images in different orders; the first run has one.
    return out | common.masked_embeds(embeds[0], each)


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "originals", "sana", "sprint"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "originals" in wanted:
        originals(options)
    if "sana" in wanted:
        make_pipeline("sana", write_model, runs(), generate, options)
    if "sprint" in wanted:
        make_pipeline("sana_sprint", lambda folder: write_model(folder, sprint=True), sprint_runs(), generate, options)


if __name__ == "__main__":
    with torch.no_grad():
        main()
