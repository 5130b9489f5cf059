"""A use of the package as type checkers read it (scripts/wheel_omnirt): of every form of argument, and of results."""

from pathlib import Path
from typing import Any

import torch
from PIL import Image

import omnirt


def generate(pipe: omnirt.Pipeline, picture: Image.Image, noise: torch.Tensor) -> list[str]:
    result = pipe("a red apple", image=picture, strength=0.5, seed=1, num_inference_steps=4, output_type="pil")
    pipe(["a", "b"], latents=noise, generator=torch.Generator(), callback=lambda at: print(at.step, at.steps))
    pipe("a", image=Path("in.png"), guider={"type": "cfg", "guidance_scale": 3.0}, adapters=["style.safetensors:0.8"])
    return [f"{each.path}: {each.seed}" for each in result.report.artifacts]


def refused(pipe: omnirt.Pipeline) -> str:
    try:
        pipe("a red apple")
    except omnirt.InvalidRequest as error:
        return ", ".join(f"{each.field} {each.way_out}" for each in error.findings)
    return pipe.validate("a red apple").workflow


async def awaited(pipe: omnirt.Pipeline) -> float:
    return (await pipe.agenerate("a red apple", cancel=omnirt.CancelToken())).report.total_ms


class Grey(omnirt.Block):
    amount = omnirt.Config(float, 1.0, min=0, max=1)
    images = omnirt.InOut("images")


class Note(omnirt.DenoisePart):
    latents = omnirt.Input("tensor")

    def run(self, frame: Any, i: int, t: float) -> None:
        print(i, t, frame.latents.shape)


def edited(pipe: omnirt.Pipeline) -> list[str]:
    pipe.blocks.insert_after("decode_latents", Grey())
    pipe.blocks.insert_after("denoise.step", Note())
    pipe.blocks.insert_after("denoise", omnirt.ChunkLoop("chunks", omnirt.Config(int, 1), ["denoise", Grey()]))
    return pipe.blocks.names() + [each.name for each in omnirt.describe("emoji").task().keys]
