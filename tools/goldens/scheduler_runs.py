#!/usr/bin/env python3
"""Whole runs with each scheduler that a family supports and that no other golden uses (tests/goldens/scheduler_runs).

  tools/goldens/scheduler_runs.py [--check]

One file per model, MODEL.safetensors: by a scheduler's class, the latents after the last of 4 steps [n, C, H, W], of
tests/goldens/pipelines/MODEL/text2image/request.json with that scheduler. The flow-matching pipelines pass no generator
to their scheduler, so FlowMatchLCMScheduler, which draws noise, has no run that can be repeated, and is in none.
"""

import importlib
import json

import common
import golden_files

OF_DIFFUSION = [
    *(f"{name}Scheduler" for name in ("DDIM", "DDPM", "PNDM", "SASolver")),
    *(f"{name}MultistepScheduler" for name in ("DEIS", "DPMSolver", "UniPC")),
    "DPMSolverSinglestepScheduler",
    *(f"{name}DiscreteScheduler" for name in ("Euler", "EulerAncestral", "Heun", "KDPM2", "KDPM2Ancestral", "LMS")),
]
HEUN = ["FlowMatchHeunDiscreteScheduler"]
# The model, the script that runs it, and the schedulers.
MODELS = {
    "sd15": ("common", ["SASolverScheduler"]),
    "sdxl": ("sdxl", OF_DIFFUSION),
    # The reference does not make SASolverScheduler from PixArt's config.
    "pixart_sigma": ("pixart", [name for name in OF_DIFFUSION if name != "SASolverScheduler"]),
    "sd3": ("sd3", HEUN),
    "aura_flow": ("aura_flow", HEUN),
    "sana": ("sana", ["DEISMultistepScheduler", "DPMSolverSinglestepScheduler", "UniPCMultistepScheduler", *HEUN]),
}
STEPS = 4


def load(model, module):
    folder = common.GOLDENS / "pipelines"
    if model == "sdxl":
        return module.load(folder, model, "text2image")
    if model == "sd15":
        return common.load_pipeline(folder / model / "model")
    return common.load_any(folder / model / "model")


def last_latents(module, pipe, request, folder):
    more = () if module.__name__ == "pixart" else (folder,)
    made = module.generate(pipe, request, *more)
    last = max((name for name in made if name.startswith("latents_after_step_")), key=lambda name: int(name.split("_")[-1]))
    return made[last]


def runs(model):
    script, schedulers = MODELS[model]
    module = importlib.import_module(script)
    folder = common.GOLDENS / "pipelines" / model / "text2image"
    request = json.loads((folder / "request.json").read_text())
    pipe = load(model, module)
    own = pipe.scheduler
    for scheduler in schedulers:
        pipe.scheduler = own
        config = {**request["config"], "num_inference_steps": STEPS, "scheduler": scheduler}
        yield scheduler, last_latents(module, pipe, {**request, "config": config}, folder)


def files():
    folder = common.GOLDENS / "scheduler_runs"
    folder.mkdir(exist_ok=True)
    return {folder / f"{model}.safetensors": dict(runs(model)) for model in MODELS}


if __name__ == "__main__":
    golden_files.write_or_compare(files, __doc__)
