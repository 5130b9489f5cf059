"""Writes the model as a folder of diffusers' Flux2KleinPipeline, in half precision.

    python export.py FOLDER OUT     from the checkpoints and parts in FOLDER
"""

import pathlib
import shutil
import sys

import torch
from diffusers import FlowMatchEulerDiscreteScheduler, Flux2KleinPipeline
from transformers import Qwen2TokenizerFast, Qwen3ForCausalLM

import autoencoder
import tokenizer
import transformer


def averaged(model, path):
    stored = torch.load(path)
    for parameter, value in zip(model.parameters(), stored["average"]):
        parameter.data.copy_(value)
    print(f"{path.name}: step {stored['step']}")
    return model


def main():
    folder, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    latents = torch.load(folder / "latents.pt")
    vae = averaged(autoencoder.network(), folder / "autoencoder.pt")
    vae.bn.running_mean.copy_(latents["mean"])
    vae.bn.running_var.copy_(latents["variance"])
    encoder = Qwen3ForCausalLM.from_pretrained(folder / "text_encoder")
    width = encoder.config.hidden_size * 3
    model = transformer.network(latents["tokens"].shape[-1], width)
    scheduler = FlowMatchEulerDiscreteScheduler(
        shift=3.0, use_dynamic_shifting=True, time_shift_type="exponential"
    )
    pipeline = Flux2KleinPipeline(
        scheduler=scheduler,
        vae=vae,
        text_encoder=encoder,
        tokenizer=Qwen2TokenizerFast.from_pretrained(folder / "tokenizer"),
        transformer=averaged(model, folder / "transformer.pt"),
        is_distilled=True,  # so that no guidance is asked for
    )
    pipeline.to(torch.float16).save_pretrained(out)
    tokenizer.complete(out / "tokenizer")
    shutil.copy(pathlib.Path(__file__).parent / "things.txt", out)
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{out}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
