#!/usr/bin/env python3
"""Stable Video Diffusion over tiny random checkpoints: its two networks, and whole runs stage by stage.

  tools/goldens/svd.py [--only models,networks,resize,runs] [--check]

Under tests/goldens/videos/MODEL are the folder of the model, networks/*.safetensors (inputs and outputs of its UNet and
autoencoder), and runs: CASE/request.json and golden.safetensors with

  image_embeds        what the image encoder makes of each video's first image, [n, 1, D]
  image_latents       the mode of the noised image's latents, [n, 4, h, w]
  initial_latents     as they enter the loop, [n, F, 4, h, w]
  timesteps           fp64
  latents_after_step_K for the first and last step of each chunk
  image               frames of all videos after each other, [n F chunks, 3, H, W] in 0..1, fp16

Everything is fp32 on the CPU. n videos are the reference run over a list of n images with a list of n generators, so
that each video is what its seed makes alone. Chunks are the reference run again with the same generators, from the last
frame of the run before as an 8-bit image.
"""

import argparse
import json
import pathlib
import shutil

import common
import numpy
import torch
from PIL import Image

FOLDER = common.GOLDENS / "videos"
half = torch.float16


# ------------------------------------------------------------------------------------------ networks
UNET = dict(
    sample_size=8,
    in_channels=8,
    out_channels=4,
    block_out_channels=(32, 32),
    down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
    up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
    addition_time_embed_dim=8,
    projection_class_embeddings_input_dim=24,
    layers_per_block=1,
    cross_attention_dim=16,
    num_attention_heads=(2, 4),
    num_frames=3,
)
KL = dict(
    block_out_channels=(32, 32),
    down_block_types=("DownEncoderBlock2D",) * 2,
    layers_per_block=1,
    latent_channels=4,
    sample_size=32,
)


def spread_mixes(model):
    """Mixing factors away from 1/2, each another, so that a share taken the wrong way round shows."""
    for index, (name, parameter) in enumerate(sorted(model.named_parameters())):
        if name.endswith("mix_factor"):
            parameter.data.copy_(torch.tensor([(-1.5, 0.4, 1.7, -0.6)[index % 4]]))


def unet_golden(model, seed, videos, frames, height, width, timesteps, tokens=1):
    inputs = {
        "in.sample": common.normal(seed, videos, frames, model.config.in_channels, height, width),
        "in.timestep": torch.tensor(timesteps, dtype=torch.float32).expand(videos).clone(),
        "in.encoder_hidden_states": common.normal(
            seed + 1, videos, tokens, model.config.cross_attention_dim
        ),
        "in.added_time_ids": torch.tensor([[6.0, 127.0, 0.02], [12.0, 30.0, 0.1]])[:videos],
    }
    out = model(*inputs.values()).sample
    return {**inputs, "out.sample": out}


def unet_goldens(folder):
    from diffusers import UNetSpatioTemporalConditionModel

    model = UNetSpatioTemporalConditionModel.from_pretrained(
        folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
    ).eval()
    yield "unet", unet_golden(model, 600, 2, 3, 8, 8, [1.6, -0.9])
    yield "unet_odd", unet_golden(model, 610, 1, 2, 5, 7, [-1.5], tokens=3)
    yield "unet_one_frame", unet_golden(model, 620, 1, 1, 4, 4, [0.25])


def vae_goldens(folder):
    from diffusers import AutoencoderKLTemporalDecoder

    model = AutoencoderKLTemporalDecoder.from_pretrained(
        folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
    ).eval()
    image = common.normal(700, 1, 3, 16, 24).clamp(-1, 1)
    latents = model.encode(image).latent_dist
    yield "vae_encode", {
        "in.image": image,
        "out.mean": latents.mean,
        "out.logvar": latents.logvar,
    }
    for name, frames, height, width in (("", 3, 4, 6), ("_odd", 2, 3, 5), ("_one_frame", 1, 2, 2)):
        z = common.normal(710 + frames, frames, 4, height, width)
        yield f"vae_decode{name}", {
            "in.latents": z,
            "out.image": model.decode(z, num_frames=frames).sample,
        }


def make_networks(check):
    for model in ("svd", "svd_flat"):
        parts = FOLDER / model / "model"
        for file, tensors in (*unet_goldens(parts / "unet"), *vae_goldens(parts / "vae")):
            path = FOLDER / model / "networks" / f"{file}.safetensors"
            if not all(bool(value.isfinite().all()) for value in tensors.values()):
                raise SystemExit(f"{path}: not finite")
            if check:
                common.report_difference(f"{model}/{file}", path, tensors)
            else:
                common.write_tensors(path, tensors)


# ------------------------------------------------------------------------------------------- resize
def make_resize(check):
    """The antialiased resize to the image encoder's size, down, up and uneven."""
    from diffusers.pipelines.stable_video_diffusion import pipeline_stable_video_diffusion as svd

    tensors = {}
    for name, height, width in (("down", 40, 60), ("up", 9, 7), ("mixed", 50, 12)):
        tensors[f"in.{name}"] = common.normal(height, 1, 3, height, width).clamp(-1, 1)
        tensors[f"out.{name}"] = svd._resize_with_antialiasing(tensors[f"in.{name}"], (16, 16))
    path = FOLDER / "resize.safetensors"
    if check:
        common.report_difference("resize", path, tensors)
    else:
        common.write_tensors(path, tensors)


# ---------------------------------------------------------------------------------------- pipelines
SCHEDULER = dict(
    beta_end=0.012,
    beta_schedule="scaled_linear",
    beta_start=0.00085,
    interpolation_type="linear",
    num_train_timesteps=1000,
    prediction_type="v_prediction",
    sigma_max=700.0,
    sigma_min=0.002,
    steps_offset=1,
    timestep_spacing="leading",
    timestep_type="continuous",
    use_karras_sigmas=True,
)


def save_model(folder, seed, unet=None, kl=None, vision=None):
    import diffusers
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        CLIPVisionModelWithProjection,
    )

    vision = CLIPVisionConfig(
        **{
            **dict(
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=1,
                num_attention_heads=2,
                image_size=224,
                patch_size=28,
                projection_dim=16,
                hidden_act="gelu",
            ),
            **(vision or {}),
        }
    )
    parts = dict(
        vae=diffusers.AutoencoderKLTemporalDecoder(**{**KL, **(kl or {})}),
        image_encoder=CLIPVisionModelWithProjection(vision),
        unet=diffusers.UNetSpatioTemporalConditionModel(**{**UNET, **(unet or {})}),
    )
    for index, (name, model) in enumerate(sorted(parts.items())):
        common.reseed_parameters(model, seed + index, gain=0.7 if name == "unet" else 1.0)
        spread_mixes(model)
        # fp16 files, read as fp32 by both sides.
        parts[name] = model.to(half)
    if folder.exists():
        shutil.rmtree(folder)
    diffusers.StableVideoDiffusionPipeline(
        scheduler=diffusers.EulerDiscreteScheduler(**SCHEDULER),
        feature_extractor=CLIPImageProcessor(),
        **parts,
    ).save_pretrained(folder, max_shard_size="900KB")
    for weights in folder.glob("*/*.safetensors"):
        common.check_file(weights)


def load_model(folder):
    import diffusers

    diffusers.utils.logging.disable_progress_bar()
    pipe = diffusers.StableVideoDiffusionPipeline.from_pretrained(
        folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def picture(path):
    """A smooth coloured image with an edge, of a size that is no video's."""
    y, x = numpy.mgrid[0:45, 0:70]
    pixels = numpy.stack(
        [40 + 3 * x, 200 - 4 * y, 128 + 90 * numpy.sin((x + 2 * y) / 9)], axis=-1
    ).clip(0, 255)
    pixels[10:30, 35:60] = (230, 60, 20)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(numpy.uint8)).save(path)


def one_chunk(pipe, images, config, generators, out, first):
    """One run of the reference; fills `out` with what is recorded, and returns frames [n, F, 3, H, W]."""
    latents, timesteps = [], []

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    if first:
        common._record(pipe, "_encode_image", lambda r: out.update(image_embeds=r[-len(images) :]))
        common._record(
            pipe, "_encode_vae_image", lambda r: out.update(image_latents=r[-len(images) :])
        )
        common._record(pipe, "prepare_latents", lambda r: out.update(initial_latents=r))
    names = (
        "width height num_frames num_inference_steps min_guidance_scale max_guidance_scale fps "
        "motion_bucket_id noise_aug_strength decode_chunk_size latents"
    ).split()
    call = {name: config[name] for name in names if name in config}
    guider = config.get("guider", {})
    call.update({k: v for k, v in guider.items() if k != "type"})
    try:
        frames = pipe(
            images, generator=generators, output_type="pt", callback_on_step_end=on_step, **call
        ).frames
    finally:
        for name in ("_encode_image", "_encode_vae_image", "prepare_latents"):
            pipe.__dict__.pop(name, None)
    return frames, latents, timesteps


def generate(pipe, request, folder):
    config = {**request["config"], "guider": request.get("guider", {})}
    count = config.get("num_videos_per_prompt", 1)
    given = Image.open(folder / request["inputs"]["image"]).convert("RGB")
    # A CLIP encoding of the given image sees its own size; the chunks after it see the video's.
    images = [given] * count
    generators = [torch.Generator().manual_seed(config["seed"] + i) for i in range(count)]
    if "scheduler" in config or "scheduler_config" in config:
        common._set_scheduler(pipe, config)
    out, videos, step, timesteps = {}, [], 0, []
    for chunk in range(config.get("num_chunks", 1)):
        frames, latents, walked = one_chunk(pipe, images, config, generators, out, chunk == 0)
        for index in sorted({0, len(latents) - 1}):
            out[f"latents_after_step_{step + index}"] = latents[index]
        step += len(latents)
        timesteps += walked
        videos.append(frames)
        last = (frames[:, -1].permute(0, 2, 3, 1).numpy() * 255).round().astype(numpy.uint8)
        images = [Image.fromarray(one) for one in last]
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    out["image"] = torch.cat(videos, dim=1).flatten(0, 1).to(half)
    return out


def pipelines():
    """(model, case, request)."""
    base = dict(width=32, height=32, num_frames=3, num_inference_steps=3, seed=7, decode_chunk_size=3)

    def case(model, name, **config):
        guider = config.pop("guider", None)
        request = {
            "task": "image2video",
            "model": "../model",
            "inputs": {"image": "../../in.png"},
            "config": {k: v for k, v in {**base, **config}.items() if v is not None},
        }
        if guider:
            request["guider"] = guider
        return model, name, request

    # The defaults of guidance, frames and decoding; a size that is no multiple of the UNet's.
    yield case("svd", "stock", num_frames=None, decode_chunk_size=None, width=48, height=40)
    yield case("svd", "two_videos", num_videos_per_prompt=2, num_frames=2, decode_chunk_size=2)
    yield case(
        "svd", "told", fps=12, motion_bucket_id=30, noise_aug_strength=0.3, num_inference_steps=2
    )
    yield case(
        "svd",
        "frame_cfg",
        num_frames=4,
        decode_chunk_size=3,
        guider=dict(type="frame_cfg", min_guidance_scale=1.5, max_guidance_scale=4.0),
    )
    yield case("svd", "unguided", max_guidance_scale=1.0, num_frames=2, decode_chunk_size=1)
    yield case("svd", "two_chunks", num_chunks=2, num_frames=2, decode_chunk_size=2)
    yield case("svd_flat", "stock", num_frames=None, decode_chunk_size=None, width=16, height=24, seed=11)
    yield case(
        "svd_flat",
        "discrete",
        width=16,
        height=16,
        num_frames=2,
        decode_chunk_size=2,
        scheduler_config=dict(timestep_type="discrete", use_karras_sigmas=False),
    )


def make_models(check):
    if not check:
        save_model(FOLDER / "svd" / "model", 80)
        save_model(
            FOLDER / "svd_flat" / "model",
            90,
            # One level, where the reference's decoder leaves the attention of its middle out.
            unet=dict(
                block_out_channels=(32,),
                down_block_types=("DownBlockSpatioTemporal",),
                up_block_types=("UpBlockSpatioTemporal",),
                layers_per_block=2,
                transformer_layers_per_block=2,
                num_attention_heads=8,
                cross_attention_dim=24,
                num_frames=2,
            ),
            kl=dict(block_out_channels=(32,), down_block_types=("DownEncoderBlock2D",)),
            vision=dict(num_hidden_layers=2, projection_dim=24, hidden_act="quick_gelu"),
        )
        picture(FOLDER / "in.png")


def make_runs(check):
    for model, name, request in pipelines():
        folder = FOLDER / model / name
        if not check:
            common.write_json(folder / "request.json", request)
        # Loaded again, since a case may change the scheduler.
        pipe = load_model(FOLDER / model / "model")
        out = generate(pipe, request, folder)
        if not all(bool(value.isfinite().all()) for value in out.values()):
            raise SystemExit(f"{folder}: not finite")
        path = folder / "golden.safetensors"
        if check:
            common.report_difference(f"{model}/{name}", path, out)
        else:
            common.write_tensors(path, out)
            print(model, name, {k: (list(v.shape), round(v.float().std().item(), 3)) for k, v in out.items()})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    makers = {
        "models": make_models,
        "networks": make_networks,
        "resize": make_resize,
        "runs": make_runs,
    }
    for name, make in makers.items():
        if not options.only or name in options.only:
            make(options.check)


if __name__ == "__main__":
    main()
