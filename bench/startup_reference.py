#!/usr/bin/env python3
"""What `omnirt generate --model models/emoji-sd` does, written with diffusers: load, one prompt, one PNG.

The peer of bench/run. fp32 on the CPU, and nothing that the job does not need.
"""

import argparse
import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="models/emoji-sd")
    parser.add_argument("--prompt", default="a red apple")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--guidance-scale", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", default="out.png")
    options = parser.parse_args()

    import torch
    from diffusers import StableDiffusionPipeline

    pipe = StableDiffusionPipeline.from_pretrained(
        options.model, torch_dtype=torch.float32, safety_checker=None
    )
    picture = pipe(
        options.prompt,
        num_inference_steps=options.steps,
        guidance_scale=options.guidance_scale,
        generator=torch.Generator().manual_seed(options.seed),
    ).images[0]
    picture.save(options.output)


if __name__ == "__main__":
    main()
