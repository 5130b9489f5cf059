#!/usr/bin/env python3
"""Z-Image Omni over tiny random parts: what transformers and diffusers make of its networks, and of requests to them.

  tools/goldens/z_image_omni.py [--only networks,pipelines] [--runs edit] [--keep-models] [--check]

tests/goldens/networks/siglip2_vision* and z_image_omni_transformer* as networks.py makes them;
tests/goldens/pipelines/z_image_omni/model is the folder and RUN/{request.json,golden.safetensors} next to it a run.
"""

import contextlib
import shutil
from unittest import mock

import common
import flux2
import networks
import torch
import z_image
from flux2 import pictures
from flux_redux import SIGLIP, old_names
from golden_files import arguments, make_networks, make_pipeline

HALF = torch.float16

# -------------------------------------------------------------------------------------- SigLIP2
SIGLIP2 = {name: value for name, value in SIGLIP.items() if name != "image_size"} | {"num_patches": 16}
MOST_PATCHES = 20


def siglip2(**config):
    from transformers import Siglip2VisionConfig, Siglip2VisionModel

    return Siglip2VisionModel(Siglip2VisionConfig(**{**SIGLIP2, **config}))


def processor():
    from transformers.models.siglip2.image_processing_pil_siglip2 import Siglip2ImageProcessorPil

    return Siglip2ImageProcessorPil(patch_size=SIGLIP2["patch_size"], max_num_patches=MOST_PATCHES)


def siglip2_golden(model, seed, rows, columns):
    """in.patches [1, N, P], in.shape [2]: rows and columns of patches; what is behind them is padding in the reference."""
    patches = common.normal(seed, 1, rows * columns, 3 * model.config.patch_size**2)
    more = max(0, 70 - rows * columns)
    given = torch.nn.functional.pad(patches, (0, 0, 0, more))
    mask = torch.ones(1, rows * columns + more, dtype=torch.int32)
    mask[:, rows * columns :] = 0
    shape = torch.tensor([[rows, columns]])
    states = model(pixel_values=given, pixel_attention_mask=mask, spatial_shapes=shape).last_hidden_state
    return {"in.patches": patches, "in.shape": shape[0], "out.states": states[:, : rows * columns].contiguous()}


def processed():
    """in.sizes [n, 2]: height, width; out.patches [n, 2] of patches of 16 pixels, 256 at the most; out.image: the
    patches of inputs/image_88x72.png as the folder's processor makes them, without padding."""
    from PIL import Image
    from transformers.models.siglip2.image_processing_pil_siglip2 import get_image_size_for_max_num_patches

    sizes = [(1024, 1024), (1, 1), (16, 16), (64, 512), (2000, 251), (333, 1777), (7, 4000), (256, 256), (1080, 1920)]
    patches = [[side // 16 for side in get_image_size_for_max_num_patches(*size, 16, 256)] for size in sizes]
    made = processor()(images=[Image.open(common.GOLDENS / "pipelines/inputs/image_88x72.png")], return_tensors="pt")
    count = int(made.pixel_attention_mask.sum())
    return {
        "in.sizes": torch.tensor(sizes),
        "out.patches": torch.tensor(patches),
        "out.image": made.pixel_values[:, :count].float().contiguous(),
    }


def siglip2_case(seed, rename=lambda state: state, **config):
    from transformers import Siglip2VisionModel

    def make(folder):
        networks.save_checkpoint(siglip2(**config), folder, seed, 1.0, HALF, rename)

    def goldens(folder):
        model = Siglip2VisionModel.from_pretrained(folder, dtype=torch.float32).eval()
        # As many as the table has positions; more of them one way and fewer the other; one alone.
        for name, rows, columns in (("", 4, 4), ("_wide", 1, 18), ("_high", 11, 6), ("_smallest", 1, 1)):
            yield f"golden{name}", siglip2_golden(model, 990 + rows, rows, columns)
        yield "processed", processed()

    return make, goldens


# ------------------------------------------------------------------------------------ transformer
OMNI = {**z_image.Z_IMAGE, "siglip_feat_dim": SIGLIP2["hidden_size"]}


def omni_golden(model, seed, rows, size, texts, references, seen, timesteps):
    """As ZImageOmniPipeline asks the transformer. texts: tokens of each caption, the prompt's last but one where there
    are references; references, seen: sides of each in latents and in patches."""
    config = model.config
    sample = common.normal(seed, rows, config.in_channels, *size)
    captions = [common.normal(seed + 1 + i, rows, count, config.cap_feat_dim) for i, count in enumerate(texts)]
    images = [common.normal(seed + 20 + i, 1, config.in_channels, *sides) for i, sides in enumerate(references)]
    states = [common.normal(seed + 40 + i, *sides, config.siglip_feat_dim) for i, sides in enumerate(seen)]
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    out = model(
        [[image[0].unsqueeze(1) for image in images] + [row.unsqueeze(1)] for row in sample],
        (1000 - times) / 1000,
        [[caption[i] for caption in captions] for i in range(rows)],
        siglip_feats=[list(states) + [None] if states else None for _ in range(rows)],
        image_noise_mask=[[0] * len(images) + [1] for _ in range(rows)],
    )
    prompt = len(images)
    inputs = {"in.sample": sample, "in.timestep": times, "in.encoder_hidden_states": captions.pop(prompt)}
    for i, caption in enumerate(captions):
        inputs[f"in.captions.{i}"] = caption
    for i, (image, state) in enumerate(zip(images, states)):
        inputs[f"in.reference_latents.{i}"] = image.repeat(rows, 1, 1, 1)
        high, wide, width = state.shape
        # As the transformer reads them: in the order of another shape.
        read = state.permute(2, 0, 1).reshape(1, high * wide, width)
        inputs[f"in.siglip_features.{i}"] = read.repeat(rows, 1, 1)
        inputs[f"in.siglip_places.{i}"] = places(high, wide, image.shape[2:]).repeat(rows, 1, 1)
    return {**inputs, "out.sample": -torch.stack(out.sample).squeeze(2)}


def places(rows, columns, size):
    """[1, N, 2]: where SigLIP2's patches are among an image's latents (patchify_and_embed_omni)."""
    each = [(torch.arange(n) / max(n - 1, 1) * (side - 1)).to(torch.int32) for n, side in zip((rows, columns), size)]
    return torch.cartesian_prod(*each).float().unsqueeze(0)


def omni_case(seed, dtype=torch.float32, **config):
    from diffusers import ZImageTransformer2DModel

    def make(folder):
        networks.save_checkpoint(ZImageTransformer2DModel(**{**OMNI, **config}), folder, seed, 1.0, dtype)

    def goldens(folder):
        model = ZImageTransformer2DModel.from_pretrained(folder, torch_dtype=torch.float32, low_cpu_mem_usage=False).eval()
        yield "golden", omni_golden(model, 1000, 2, (6, 10), [7], [], [], [570.857, 1.0])
        yield "golden_one", omni_golden(model, 1100, 2, (6, 10), [5, 9, 2], [(8, 6)], [(3, 4)], [999.0, 250.0])
        # 32 tokens and more of them, which need nothing to be filled up, and other sides. At a timestep that the
        # reference's division by 1000 does not round.
        yield "golden_two", omni_golden(
            model, 1200, 1, (8, 16), [5, 32, 34, 2], [(4, 6), (8, 16)], [(2, 5), (4, 8)], [250.0]
        )

    return make, goldens


def network_cases():
    yield "siglip2_vision", siglip2_case(400)
    yield "siglip2_vision_no_head", siglip2_case(401, old_names, vision_use_head=False, hidden_act="gelu", num_patches=9)
    yield "z_image_omni_transformer", omni_case(402, torch.bfloat16)
    yield "z_image_omni_transformer_rare_options", omni_case(
        403, HALF, qk_norm=False, n_layers=1, n_refiner_layers=1, norm_eps=1e-3, t_scale=750.0, axes_dims=[4, 4, 4]
    )


# ---------------------------------------------------------------------------------------- folder
SPECIAL = ["<|vision_start|>", "<|vision_end|>"]


def write_model(folder):
    from diffusers import AutoencoderKL, ZImageTransformer2DModel
    from transformers import Qwen3Config, Qwen3ForCausalLM

    if folder.exists():
        shutil.rmtree(folder)
    entries = flux2.write_tokenizer(folder / "tokenizer", SPECIAL)
    qwen = {**flux2.QWEN3, "hidden_size": 20, "num_hidden_layers": 3}
    parts = {
        "text_encoder": (Qwen3ForCausalLM(Qwen3Config(**qwen, vocab_size=entries)), 404),
        "transformer": (ZImageTransformer2DModel(**OMNI), 405),
        "vae": (AutoencoderKL(**z_image.KL), 406),
        "siglip": (siglip2(), 407),
    }
    for name, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / name, seed, 1.0, HALF)
    settings = {"patch_size": SIGLIP2["patch_size"], "max_num_patches": MOST_PATCHES}
    common.write_json(
        folder / "siglip_processor" / "preprocessor_config.json",
        {
            "do_normalize": True,
            "do_rescale": True,
            "do_resize": True,
            "image_mean": [0.5] * 3,
            "image_processor_type": "Siglip2ImageProcessorFast",
            "image_std": [0.5] * 3,
            "resample": 2,
            "rescale_factor": 1 / 255,
            **settings,
        },
    )
    z_image.write_scheduler(folder)
    common.write_json(
        folder / "model_index.json",
        {
            **z_image.INDEX,
            "_class_name": "ZImageOmniPipeline",
            "siglip": ["transformers", "Siglip2VisionModel"],
            "siglip_processor": ["transformers", "Siglip2ImageProcessorFast"],
        },
    )


def load(folder):
    """The processor's class of the folder needs torchvision; Pillow's does the same."""
    import diffusers
    from transformers import AutoTokenizer, Qwen3ForCausalLM, Siglip2VisionModel

    full = {"torch_dtype": torch.float32, "low_cpu_mem_usage": False}
    pipe = diffusers.ZImageOmniPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler"),
        vae=diffusers.AutoencoderKL.from_pretrained(folder / "vae", **full),
        text_encoder=Qwen3ForCausalLM.from_pretrained(folder / "text_encoder", dtype=torch.float32).eval(),
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        transformer=diffusers.ZImageTransformer2DModel.from_pretrained(folder / "transformer", **full),
        siglip=Siglip2VisionModel.from_pretrained(folder / "siglip", dtype=torch.float32).eval(),
        siglip_processor=processor(),
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


# ------------------------------------------------------------------------------------------ runs
PROMPT, TWO, NEGATIVE = z_image.PROMPT, z_image.TWO, z_image.NEGATIVE
IMAGE, FURTHER = flux2.IMAGE, flux2.FURTHER
LARGE = "image_1232x1008.png"


def write_large():
    from PIL import Image

    inputs = common.GOLDENS / "pipelines" / "inputs"
    small = Image.open(inputs / "image_88x72.png").convert("RGB")
    small.resize((1232, 1008), Image.Resampling.NEAREST).save(inputs / LARGE, optimize=True)


def runs():
    size = {"width": 64, "height": 48}
    run = z_image.run
    yield "text2image", run(PROMPT, 60, guidance_scale=5.0, max_sequence_length=128, **size)
    yield "prompts", run(TWO, 61, guidance_scale=2.5, width=32, height=80, num_images_per_prompt=2)
    yield "no_guidance", run(PROMPT, 62, guidance_scale=0.0, **size)
    yield "edit", run({**PROMPT, **IMAGE}, 63, "edit", guidance_scale=4.0)
    yield "edit_of_two", run(
        {**TWO, **IMAGE, **FURTHER, **NEGATIVE}, 64, "edit", guidance_scale=2.0, num_images_per_prompt=2, width=48, height=32
    )
    limited = {"cfg_normalization": 0.9, "cfg_truncation": 0.4, "num_inference_steps": 8}
    yield "edit_limited", run({**PROMPT, **IMAGE, **FURTHER}, 65, "edit", guidance_scale=3.0, **limited)
    # Of more than 1024 * 1024 pixels, of which it keeps as many as the result has.
    yield "edit_large", run({**PROMPT, "image": f"../../inputs/{LARGE}"}, 67, "edit", guidance_scale=2.0, **size)
    yield "edit_cut", run({**PROMPT, **IMAGE}, 66, "edit", guidance_scale=0.0, max_sequence_length=9, **size)


@contextlib.contextmanager
def images_in_full():
    """The pipeline hands its autoencoder images in bf16 whatever that computes in, which fails in fp32."""
    with mock.patch.object(torch.Tensor, "bfloat16", lambda self: self):
        yield


def generate(pipe, request, folder):
    """As z_image.generate, with what is made of the prompts alone."""
    images = pictures(request["inputs"], "image", folder) + pictures(request["inputs"], "image_reference", folder)
    prompt = len(images)

    def own(embeds):
        return [each[prompt] for each in embeds]

    with images_in_full():
        return z_image.made_by(pipe, request, {"image": images} if images else {}, own)


def main():
    options = arguments(__doc__)
    wanted = options.only or {"networks", "pipelines"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "pipelines" in wanted:
        if not options.check:
            write_large()
        make_pipeline("z_image_omni", write_model, runs(), generate, options, load)


if __name__ == "__main__":
    main()
