#!/usr/bin/env python3
"""diffusers on a GPU: one model, as it comes and then compiled, in one process.

A line of JSON for each mode on standard output, as soon as it is measured:
  mode           eager, regional (compile_repeated_blocks), compile (torch.compile of the denoiser), max-autotune
  first_image_s  from the process's start to the first image; of a compiled mode, its own load, compile and image
  steps_ms       of the second image, without its first step
  decode_ms      from the last step's end to the image on the host
  peak_bytes     of torch's allocator
and with --profile one of {"mode": "profile", "step_ms", "ops"}.
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import time

BEGAN = float(os.environ.get("BENCH_STARTED", time.monotonic()))
os.environ.setdefault("HF_HUB_OFFLINE", "1")
MODES = ("eager", "regional", "compile", "max-autotune")


def finish(report):
    print(json.dumps(report), flush=True)


class Images:
    """Makes images and keeps when their steps ended."""

    def __init__(self, pipe, options, torch):
        self.pipe, self.options, self.torch = pipe, options, torch
        self.ends = []

    def wait(self):
        if self.options.device == "cuda":
            self.torch.cuda.synchronize()

    def step_end(self, pipe, step, timestep, tensors):
        self.wait()
        self.ends.append(time.monotonic())
        return tensors

    def make(self, callback=None, steps=None):
        self.ends = []
        options = self.options
        images = self.pipe(
            prompt=options.prompt, width=options.size, height=options.size, num_inference_steps=steps or options.steps,
            guidance_scale=options.guidance_scale, generator=self.torch.Generator().manual_seed(options.seed),
            callback_on_step_end=callback or self.step_end, output_type="pt",
        ).images
        images.float().cpu()
        return time.monotonic()

    def measured(self, before):
        """The first image, which sets things up, and one more."""
        ended = self.make()
        first_image_s = ended - before
        begin = time.monotonic()
        ended = self.make()
        steps = [1e3 * (b - a) for a, b in zip(self.ends, self.ends[1:])]
        return {
            "first_image_s": first_image_s, "image_s": ended - begin, "steps_ms": steps,
            "decode_ms": 1e3 * (ended - self.ends[-1]),
        }


def peak(torch, device):
    return torch.cuda.max_memory_allocated() if device == "cuda" else None


def denoiser(pipe):
    return "transformer" if getattr(pipe, "transformer", None) is not None else "unet"


def compiled(pipe, mode):
    network = getattr(pipe, denoiser(pipe))
    if mode == "regional":
        network.compile_repeated_blocks(fullgraph=True)
    elif mode == "max-autotune":
        network.compile(mode="max-autotune")
    else:
        network.compile()


def without_compiled(pipe):
    """Undoes what `compiled` did, so that the next mode compiles by itself."""
    for module in getattr(pipe, denoiser(pipe)).modules():
        module._compiled_call_impl = None


def profile(images, torch):
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as record

    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if images.options.device == "cuda" else [])
    profiler = record(activities=activities, acc_events=True)
    times, last = [], 3

    def step_end(pipe, step, timestep, tensors):
        images.wait()
        if step == last - 2:
            profiler.start()
            times.append(time.monotonic())
        elif step == last - 1:
            times.append(time.monotonic())
            profiler.stop()
        return tensors

    images.make(step_end, last)
    device_time = lambda row: getattr(row, "self_device_time_total", 0.0)
    rows = sorted(profiler.key_averages(), key=lambda row: -(device_time(row) or row.self_cpu_time_total))[:120]
    ops = [
        {"name": row.key, "calls": row.count, "ms": (device_time(row) or row.self_cpu_time_total) / 1e3,
         "on": "cuda" if device_time(row) else "cpu"}
        for row in rows
    ]
    return {"mode": "profile", "step_ms": 1e3 * (times[1] - times[0]), "ops": ops}


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=pathlib.Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--guidance-scale", type=float, required=True)
    parser.add_argument("--dtype", default="bf16", choices=("bf16", "fp16", "fp32"))
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--modes", default="eager", type=lambda text: text.split(","), help=f"of {', '.join(MODES)}")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prompt", default="a red apple")
    return parser.parse_args()


def main():
    options = parsed()
    import torch
    from diffusers import DiffusionPipeline

    torch.set_grad_enabled(False)
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[options.dtype]
    pipe = DiffusionPipeline.from_pretrained(options.model, torch_dtype=dtype).to(options.device)
    pipe.set_progress_bar_config(disable=True)
    loaded_s = time.monotonic() - BEGAN
    images = Images(pipe, options, torch)
    versions = {name: importlib.metadata.version(name) for name in ("diffusers", "torch", "transformers")}
    for mode in options.modes:
        begin = BEGAN
        if mode != "eager":
            # As a process of its own would: it loads, and then compiles.
            begin = time.monotonic() - loaded_s
            without_compiled(pipe)
            torch.compiler.reset()
            compiled(pipe, mode)
        if options.device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        try:
            report = images.measured(begin)
        except Exception as error:  # a mode that fails leaves the others their turn
            finish({"mode": mode, "failed": f"{type(error).__name__}: {error}"[:2000]})
            continue
        median = statistics.median(report["steps_ms"]) if report["steps_ms"] else None
        finish({"mode": mode, **report, "step_median_ms": median, "load_s": loaded_s,
                "peak_bytes": peak(torch, options.device), "versions": versions})
        if mode == "eager" and options.profile:
            finish(profile(images, torch))


if __name__ == "__main__":
    sys.exit(main())
