#!/usr/bin/env python3
"""A tiny random Qwen-Image-Layered folder, and what diffusers makes of requests to it, stage by stage.

  tools/goldens/qwen_image_layered.py [--runs edit] [--keep-models] [--check]

tests/goldens/pipelines/qwen_image_layered/model is the folder and RUN/{request.json,golden.safetensors} with it a run, as
pipelines.py makes them. The pipeline takes resolutions of 640 and 1024 alone; here it is given smaller ones.
"""

import inspect
import shutil

import common
import flux2
import networks
import qwen_image
import torch
from diffusers.pipelines.qwenimage import pipeline_qwenimage_layered as reference
from golden_files import arguments, make_pipeline

NAME = "qwen_image_layered"


def at_any_resolution():
    """The pipeline's call without its limit."""
    lines = inspect.getsource(reference.QwenImageLayeredPipeline.__call__).splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().startswith("def "))
    kept = [line[4:] for line in lines[start:] if "assert resolution in" not in line]
    scope = dict(vars(reference))
    exec("\n".join(kept), scope)
    return torch.no_grad()(scope["__call__"])


class Pipeline(reference.QwenImageLayeredPipeline):
    __call__ = at_any_resolution()


def write_image(path):
    """An image whose alpha falls from left to right, and is 0 in a corner."""
    from PIL import Image

    image = Image.open(path.parent / "image_88x72.png").convert("RGB").crop((8, 4, 72, 68))
    alpha = torch.linspace(255, 40, image.width).round().to(torch.uint8).repeat(image.height, 1)
    alpha[:20, :12] = 0
    image.putalpha(Image.fromarray(alpha.numpy()))
    image.save(path)


def write_model(folder):
    from diffusers import AutoencoderKLQwenImage, QwenImageTransformer2DModel

    write_image(folder.parents[1] / "inputs" / "image_alpha.png")
    if folder.exists():
        shutil.rmtree(folder)
    entries = flux2.write_tokenizer(folder / "tokenizer")
    text = {**qwen_image.TEXT, "vocab_size": entries + 7, "hidden_size": 24, "num_attention_heads": 3}
    vision = {**qwen_image.VISION, "out_hidden_size": 24}
    config = {**qwen_image.QWEN_IMAGE, "joint_attention_dim": 24, "num_layers": 2}
    config |= {"use_layer3d_rope": True, "use_additional_t_cond": True, "in_channels": 24, "out_channels": 6}
    # An image of as many channels as the latents have would be taken for these.
    kl = {**qwen_image.KL, "input_channels": 4, "z_dim": 6}
    kl |= {"latents_mean": [-0.75, 0.4, 0.05, -1.1, 0.3, -0.2], "latents_std": [2.8, 1.4, 0.7, 1.9, 1.1, 0.9]}
    parts = {
        "text_encoder": (qwen_image.qwen_vl(text, vision, qwen_image.TOKENS), 117),
        "transformer": (QwenImageTransformer2DModel(**config), 118),
        "vae": (AutoencoderKLQwenImage(**kl), 119),
    }
    for part, (model, seed) in parts.items():
        networks.save_checkpoint(model, folder / part, seed, 1.0, torch.float16)
    common.write_json(folder / "scheduler" / "scheduler_config.json", qwen_image.SCHEDULER)
    index = {
        "_class_name": "QwenImageLayeredPipeline",
        "_diffusers_version": "0.42.1",
        "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"],
        "text_encoder": ["transformers", "Qwen2_5_VLForConditionalGeneration"],
        "tokenizer": ["transformers", "Qwen2Tokenizer"],
        "transformer": ["diffusers", "QwenImageTransformer2DModel"],
        "vae": ["diffusers", "AutoencoderKLQwenImage"],
    }
    common.write_json(folder / "model_index.json", index)


def load(folder):
    from diffusers import AutoencoderKLQwenImage, FlowMatchEulerDiscreteScheduler, QwenImageTransformer2DModel
    from transformers import AutoTokenizer, Qwen2_5_VLForConditionalGeneration

    single = dict(torch_dtype=torch.float32, low_cpu_mem_usage=False)
    pipe = Pipeline(
        scheduler=FlowMatchEulerDiscreteScheduler.from_pretrained(folder / "scheduler"),
        vae=AutoencoderKLQwenImage.from_pretrained(folder / "vae", **single).eval(),
        text_encoder=Qwen2_5_VLForConditionalGeneration.from_pretrained(
            folder / "text_encoder", dtype=torch.float32
        ).eval(),
        tokenizer=AutoTokenizer.from_pretrained(folder / "tokenizer"),
        processor=None,  # for captions that the model writes itself
        transformer=QwenImageTransformer2DModel.from_pretrained(folder / "transformer", **single).eval(),
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


# ------------------------------------------------------------------------------------------ runs
PROMPT = {"prompt": "a small red apple, and the sea", "negative_prompt": "people at night"}


def runs():
    run = qwen_image.run
    alpha, opaque = {"image": "../../inputs/image_alpha.png"}, {"image": "../../inputs/image_88x72.png"}
    yield "edit", run({**PROMPT, **alpha}, 90, "edit", resolution=64, layers=3, num_inference_steps=3)
    yield "two", run(
        {**PROMPT, **opaque}, 91, "edit", resolution=40, layers=2, guidance_scale=2.5,
        num_images_per_prompt=2, num_inference_steps=2,
    )
    yield "no_guidance", run(
        {"prompt": "The sea", **alpha}, 92, "edit", resolution=32, layers=1, guidance_scale=1.0, num_inference_steps=2,
    )


def generate(pipe, request, folder):
    """prompt_embeds, negative_prompt_embeds [prompts, T, D]; latents_after_step_K [n, C, (layers + 1) H, W]; timesteps;
    image [n layers, 4, H, W] in 0..1."""
    from PIL import Image

    config, inputs, seeds = request["config"], request["inputs"], common.seeds_of(request)
    out, latents, timesteps, embeds = {}, [], [], []
    scale = config.get("guidance_scale", 4.0)
    given = {"negative_prompt": inputs["negative_prompt"]} if scale > 1 else {}

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    common._record(pipe, "encode_prompt", lambda result: embeds.append(result[0]))
    try:
        images = pipe(
            image=Image.open(folder / inputs["image"]).convert("RGBA"),
            prompt=inputs["prompt"],
            true_cfg_scale=scale,
            num_images_per_prompt=len(seeds),
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="pt",
            callback_on_step_end=on_step,
            **{name: config[name] for name in ("num_inference_steps", "layers", "resolution")},
            **given,
        ).images
    finally:
        pipe.__dict__.pop("encode_prompt", None)
    # The reference cuts its list of layers as if the image as a whole were one of them.
    count = config["layers"]
    everything = images[0] if len(seeds) == 1 else torch.cat(images)
    starts = range(0, len(seeds) * count, count)
    assert len(everything) == len(seeds) * count, (len(everything), list(starts))
    out["image"] = everything
    for name, states in zip(["prompt_embeds", "negative_prompt_embeds"], embeds):
        out[name] = states[:1]
    height, width = (side // 16 for side in everything.shape[2:])
    for index in sorted({0, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = qwen_image.unpacked(latents[index], (count + 1) * height, width)
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def main():
    options = arguments(__doc__)
    make_pipeline(NAME, write_model, runs(), generate, options, load=load)


if __name__ == "__main__":
    main()
