#!/usr/bin/env python3
"""Tiny random Qwen-Image-Edit folders, and what diffusers makes of requests to them, stage by stage.

  tools/goldens/qwen_image_edit.py [--only qwen_image_edit] [--runs edit] [--keep-models] [--check]

tests/goldens/pipelines/qwen_image_edit*/model is a folder and RUN/{request.json,golden.safetensors} with it a run, as
pipelines.py makes them. The processor is put together here from its parts, of which transformers wants torchvision.
"""

import contextlib
import json
import shutil
from unittest import mock

import common
import flux2
import networks
import qwen_image
import torch
from diffusers import QwenImageEditPipeline, QwenImageEditPlusPipeline
from golden_files import arguments, make_pipeline
from PIL import Image

CLASSES = {"qwen_image_edit": QwenImageEditPipeline, "qwen_image_edit_plus": QwenImageEditPlusPipeline}
WORDS = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]
# Images are made so small that what is seen of them is a few tokens.
PIXELS = dict(min_pixels=56 * 56, max_pixels=100 * 130)


def write_tokenizer(folder):
    """flux2.py's with the words around images; the ids of these."""
    from transformers import AutoTokenizer

    flux2.write_tokenizer(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(WORDS, special_tokens=True)
    tokenizer.save_pretrained(folder)
    return tokenizer, tokenizer.convert_tokens_to_ids(WORDS)


def write_model(folder, name):
    from diffusers import AutoencoderKLQwenImage, QwenImageTransformer2DModel
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    if folder.exists():
        shutil.rmtree(folder)
    tokenizer, (start, end, pad) = write_tokenizer(folder / "tokenizer")
    plus = name == "qwen_image_edit_plus"
    text = {**qwen_image.TEXT, "vocab_size": len(tokenizer) + 5, "hidden_size": 24}
    text["num_attention_heads"] = 3
    vision = {**qwen_image.VISION, "out_hidden_size": 24, "patch_size": 14, "window_size": 56}
    tokens = {
        "image_token_id": pad,
        "video_token_id": len(tokenizer),
        "vision_start_token_id": start,
        "vision_end_token_id": end,
    }
    config = {**qwen_image.QWEN_IMAGE, "joint_attention_dim": 24, "zero_cond_t": plus}
    parts = {
        "text_encoder": (qwen_image.qwen_vl(text, vision, tokens), 112),
        "transformer": (QwenImageTransformer2DModel(**config), 113),
        "vae": (AutoencoderKLQwenImage(**qwen_image.KL), 114),
    }
    for part, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / part, seed, 1.0, torch.float16)
    common.write_json(folder / "scheduler" / "scheduler_config.json", qwen_image.SCHEDULER)
    # As published: the processor's folder holds the tokenizer, too.
    shutil.copytree(folder / "tokenizer", folder / "processor")
    processor = Qwen2VLImageProcessorPil(**PIXELS)
    processor.save_pretrained(folder / "processor")
    written = folder / "processor" / "preprocessor_config.json"
    values = json.loads(written.read_text())
    values |= {"image_processor_type": "Qwen2VLImageProcessorFast", **PIXELS}
    common.write_json(written, {**values, "processor_class": "Qwen2_5_VLProcessor"})
    index = {
        "_class_name": CLASSES[name].__name__,
        "_diffusers_version": "0.42.1",
        "processor": ["transformers", "Qwen2VLProcessor"],
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", "Qwen2_5_VLForConditionalGeneration"],
        "tokenizer": ["transformers", "Qwen2Tokenizer"],
        "transformer": ["diffusers", "QwenImageTransformer2DModel"],
        "vae": ["diffusers", "AutoencoderKLQwenImage"],
    }
    common.write_json(folder / "model_index.json", index)


class Processor:
    """What transformers' Qwen2VLProcessor makes of texts and images, without its videos."""

    def __init__(self, folder, tokenizer):
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

        values = json.loads((folder / "preprocessor_config.json").read_text())
        names = ("min_pixels", "max_pixels", "patch_size", "merge_size", "temporal_patch_size")
        self.images = Qwen2VLImageProcessorPil(**{n: values[n] for n in names if n in values})
        self.tokenizer = tokenizer

    def __call__(self, text, images, padding, return_tensors):
        from transformers import BatchFeature

        seen = self.images(images=images, return_tensors="pt")
        counts = (seen["image_grid_thw"].prod(1) // self.images.merge_size**2).tolist()
        texts = []
        for each in text:
            for count in counts:
                each = each.replace("<|image_pad|>", "<|placeholder|>" * count, 1)
            texts.append(each.replace("<|placeholder|>", "<|image_pad|>"))
        ids = self.tokenizer(texts, padding=padding, return_tensors=return_tensors)
        return BatchFeature(data={**ids, **seen})


def load(folder, name):
    from diffusers import (
        AutoencoderKLQwenImage,
        FlowMatchEulerDiscreteScheduler,
        QwenImageTransformer2DModel,
    )
    from transformers import AutoTokenizer, Qwen2_5_VLForConditionalGeneration

    def network(kind, part, **dtype):
        return kind.from_pretrained(folder / part, **dtype).eval()

    tokenizer = AutoTokenizer.from_pretrained(folder / "tokenizer")
    single = dict(torch_dtype=torch.float32, low_cpu_mem_usage=False)
    pipe = CLASSES[name](
        scheduler=FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler"),
        vae=network(AutoencoderKLQwenImage, "vae", **single),
        text_encoder=network(
            Qwen2_5_VLForConditionalGeneration, "text_encoder", dtype=torch.float32
        ),
        tokenizer=tokenizer,
        processor=Processor(folder / "processor", tokenizer),
        transformer=network(QwenImageTransformer2DModel, "transformer", **single),
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": "a small red apple, and the sea", "negative_prompt": "people at night"}
IMAGE = {"image": "../../inputs/image_88x72.png"}
PART = {"mask": "../../inputs/part_88x72.png"}
MORE = {"image_reference": ["../../inputs/image.png"]}


def runs(name):
    run = qwen_image.run
    size = {"width": 48, "height": 32}
    if name == "qwen_image_edit":
        yield "edit", run({**PROMPT, **IMAGE}, 60, "edit", num_inference_steps=3, **size)
        yield "no_guidance", run(
            {"prompt": "The sea", **IMAGE}, 61, "edit", guidance_scale=1.0,
            num_images_per_prompt=2, num_inference_steps=2, **size,
        )
        masked = {**PROMPT, **IMAGE, **PART}
        yield "inpaint", run(masked, 64, "inpaint", strength=0.7, **size)
        yield "inpaint_no_guidance", run(
            {**masked, "prompt": "The sea"}, 65, "inpaint", guidance_scale=1.0, strength=1.0,
            num_inference_steps=3, width=64, height=64,
        )
        return
    yield "edit", run({**PROMPT, **IMAGE}, 62, "edit", num_inference_steps=2, **size)
    yield "edit_of_two", run(
        {**PROMPT, **IMAGE, **MORE}, 63, "edit", guidance_scale=2.5, num_inference_steps=2, **size
    )


def pipeline_of(pipe, task):
    """`pipe`, or what inpaints with its parts."""
    import diffusers

    if task != "inpaint":
        return pipe
    made = diffusers.QwenImageEditInpaintPipeline(**pipe.components)
    made.set_progress_bar_config(disable=True)
    return made


@contextlib.contextmanager
def sizes_of(config):
    """The size that QwenImageEditInpaintPipeline makes: it takes none, and makes images of a million pixels."""
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit_inpaint as module

    size = lambda area, ratio: (config["width"], config["height"], None)
    with mock.patch.object(module, "calculate_dimensions", size):
        yield


def generate(pipe, request, folder):
    """As qwen_image.generate."""
    pipe = pipeline_of(pipe, request["task"])
    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    out, latents, timesteps, embeds = {}, [], [], []
    given = {n: config[n] for n in ("num_inference_steps", "width", "height") if n in config}
    scale = config.get("guidance_scale", 4.0)
    if scale > 1:
        given["negative_prompt"] = inputs.get("negative_prompt", "")
    images = flux2.pictures(inputs, "image", folder)
    images += flux2.pictures(inputs, "image_reference", folder)
    if request["task"] == "inpaint":
        given["mask_image"] = Image.open(folder / inputs["mask"]).convert("L")
        given["strength"] = config["strength"]

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", lambda result: embeds.append(result[0]))
    try:
        with sizes_of(config):
            out["image"] = pipe(
                image=images if isinstance(pipe, QwenImageEditPlusPipeline) else images[0],
                prompt=inputs["prompt"],
                true_cfg_scale=scale,
                num_images_per_prompt=len(seeds),
                generator=[torch.Generator().manual_seed(seed) for seed in seeds],
                output_type="pt",
                callback_on_step_end=on_step,
                **given,
            ).images
    finally:
        pipe.__dict__.pop("encode_prompt", None)
    for name, states in zip(["prompt_embeds", "negative_prompt_embeds"], embeds):
        out[name] = states[:1]
    size = [side // 16 for side in out["image"].shape[2:]]
    for index in sorted({0, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = qwen_image.unpacked(latents[index], *size)
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__, default=set(CLASSES))
    for name in sorted(options.only & set(CLASSES)):
        make_pipeline(
            name,
            lambda folder: write_model(folder, name),
            runs(name),
            generate,
            options,
            load=lambda folder: load(folder, name),
        )


if __name__ == "__main__":
    main()
