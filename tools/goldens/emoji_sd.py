#!/usr/bin/env python3
"""Goldens of the embedded model, and the reference's image for any request.

  tools/goldens/emoji_sd.py                      writes every case to tests/goldens/emoji-sd
  tools/goldens/emoji_sd.py --only karras,sde    writes those
  tools/goldens/emoji_sd.py --check              compares with what is there instead of writing
  tools/goldens/emoji_sd.py --prompt "a red apple" --steps 20 --seed 1 --out apple.png
                                              one image; .npy: [n,3,H,W] in 0..1; .safetensors: all stages

--model takes any Stable Diffusion folder, --request an OmniRT request file.
"""

import argparse
import json
import pathlib

import common
import numpy

MODEL = common.ROOT / "models" / "emoji-sd"
FOLDER = common.GOLDENS / "emoji-sd"

# Which tensors a case keeps: the least that it needs, for the folder is part of the repository.
FULL = (
    "prompt_embeds",
    "negative_prompt_embeds",
    "noise",
    "timesteps",
    "first",
    "middle",
    "last",
    "image",
)
STEPS = ("timesteps", "first", "middle", "last", "image")
PICTURE = ("timesteps", "last", "image")
WORDS = ("prompt_embeds", "negative_prompt_embeds", "timesteps", "last")
LATENTS = ("timesteps", "last")

SCHEDULERS = [  # (class, seed of its ten-step case)
    ("EulerDiscreteScheduler", 11),
    ("EulerAncestralDiscreteScheduler", 12),
    ("DDIMScheduler", 13),
    ("DDPMScheduler", 14),
    ("DPMSolverMultistepScheduler", 15),
    ("DPMSolverSinglestepScheduler", 16),
    ("HeunDiscreteScheduler", 17),
    ("LMSDiscreteScheduler", 18),
    ("PNDMScheduler", 19),
    ("UniPCMultistepScheduler", 20),
    ("DEISMultistepScheduler", 21),
    ("KDPM2DiscreteScheduler", 22),
    ("KDPM2AncestralDiscreteScheduler", 23),
    ("LCMScheduler", 24),
]
LONG_PROMPT = " ".join(["a very small bright yellow star with a face"] * 8)
DPM, DDIM = "DPMSolverMultistepScheduler", "DDIMScheduler"
ANCESTRAL = "EulerAncestralDiscreteScheduler"
APPLE = {
    "task": "image2image",
    "prompt": "a green apple",
    "image": "../img2img/image.png",
    "steps": 10,
}


def cases():
    """(name, what it keeps, the flat request)."""
    yield "steps20_negative", FULL, dict(
        prompt="a rocket on a blue background",
        negative_prompt="gray",
        steps=20,
        seed=1,
        guidance_scale=6.0,
    )
    yield "no_guidance", STEPS, dict(prompt="an octopus", steps=12, seed=2, guidance_scale=1.0)
    yield "rescale", PICTURE, dict(
        prompt="a guitar", steps=12, seed=3, guidance_scale=9.0, guidance_rescale=0.7
    )
    yield "batch4", ("noise", *WORDS), dict(prompt="a castle", steps=8, seed=4, n=4)
    yield "wide", PICTURE, dict(prompt="a sunflower", steps=8, seed=5, width=256, height=128)
    yield "one_step", PICTURE, dict(prompt="a dog face", steps=1, seed=6)
    yield "clip_skip", WORDS, dict(prompt="a dog face", steps=6, seed=7, clip_skip=1)
    yield "ddim_eta", PICTURE, dict(prompt="a dog face", steps=8, seed=8, scheduler=DDIM, eta=0.5)
    yield "karras", PICTURE, dict(
        prompt="a rocket",
        steps=10,
        seed=9,
        scheduler=DPM,
        scheduler_config={"use_karras_sigmas": True},
    )
    yield "sde", PICTURE, dict(
        prompt="a rocket",
        steps=10,
        seed=9,
        scheduler=DPM,
        scheduler_config={"algorithm_type": "sde-dpmsolver++"},
    )
    yield "trailing_zsnr", PICTURE, dict(
        prompt="a heart on a black background",
        steps=12,
        seed=10,
        scheduler=DDIM,
        scheduler_config={"timestep_spacing": "trailing", "rescale_betas_zero_snr": True},
    )
    yield "long_prompt", WORDS, dict(prompt=LONG_PROMPT, steps=6, seed=12)
    yield "unicode_prompt", WORDS, dict(
        prompt="café ☕ 漢字 naïve &amp; “quotes” 🍎", steps=6, seed=13
    )
    yield "img2img", (*WORDS, "first", "middle", "image"), dict(
        task="image2image",
        prompt="a green apple",
        image="image.png",
        strength=0.6,
        steps=15,
        seed=14,
    )
    for kind, seed in SCHEDULERS:
        short = kind.removesuffix("Scheduler").lower()
        yield f"sched_{short}", PICTURE, dict(
            prompt="a red apple", scheduler=kind, steps=10, seed=seed
        )
    for kind, seed in SCHEDULERS[1:]:
        short = kind.removesuffix("Scheduler").lower()
        # Runge-Kutta warm-up needs four steps: the reference raises an error with fewer.
        extra = {"scheduler_config": {"skip_prk_steps": True}} if kind == "PNDMScheduler" else {}
        yield f"one_step_{short}", LATENTS, dict(
            prompt="a rocket", scheduler=kind, steps=1, seed=seed, **extra
        )

    yield "two_prompts", WORDS, dict(
        prompt=["a red apple", "a castle on a teal background"],
        negative_prompt=["gray", "a tree"],
        steps=6,
        seed=30,
        n=2,
    )
    yield "two_prompts_ancestral", LATENTS, dict(
        prompt=["a red apple", "a castle on a teal background"],
        steps=6,
        seed=31,
        n=2,
        scheduler=ANCESTRAL,
    )
    yield "two_prompts_sde", LATENTS, dict(
        prompt=["a guitar", "an octopus"],
        steps=6,
        seed=32,
        scheduler=DPM,
        scheduler_config={"algorithm_type": "sde-dpmsolver++"},
    )
    yield "clip_skip_negative", WORDS, dict(
        prompt="a castle", negative_prompt="a dog face", steps=4, seed=33, clip_skip=2
    )
    yield "guidance_below_one", LATENTS, dict(
        prompt="a castle", steps=4, seed=34, guidance_scale=0.5
    )
    yield "rescale_full", LATENTS, dict(
        prompt="a castle", steps=6, seed=35, guidance_scale=7.5, guidance_rescale=1.0, n=2
    )
    yield "odd_latents", LATENTS, dict(prompt="a sunflower", steps=4, seed=36, width=40, height=24)
    yield "smallest", LATENTS, dict(prompt="a sunflower", steps=4, seed=37, width=8, height=8)
    yield "tall", LATENTS, dict(prompt="a rocket", steps=4, seed=38, width=64, height=200)
    yield "img2img_strength_03", LATENTS, {**APPLE, "strength": 0.3, "seed": 40}
    yield "img2img_strength_1", LATENTS, {**APPLE, "strength": 1.0, "seed": 41}
    yield "img2img_batch", LATENTS, {**APPLE, "strength": 0.7, "seed": 42, "n": 2}
    yield "img2img_two_prompts", LATENTS, {
        **APPLE,
        "prompt": ["a red apple", "a castle"],
        "strength": 0.7,
        "seed": 42,
    }
    for index, (kind, _) in enumerate(SCHEDULERS[1:]):
        short = kind.removesuffix("Scheduler").lower()
        yield f"img2img_{short}", LATENTS, {
            **APPLE,
            "strength": 0.6,
            "seed": 43 + index,
            "scheduler": kind,
        }


FLAT_NAMES = {"steps": "num_inference_steps", "n": "num_images_per_prompt"}
INPUTS = ("prompt", "negative_prompt", "image", "mask")


def request_of(flat):
    """The OmniRT request that a flat one means; guidance_scale is 5.0 unless said."""
    task = flat.get("task") or (
        "inpaint" if "mask" in flat else "image2image" if "image" in flat else "text2image"
    )
    config = {
        FLAT_NAMES.get(k, k): v for k, v in flat.items() if k not in (*INPUTS, "task", "name")
    }
    return {
        "task": task,
        "inputs": {k: flat[k] for k in INPUTS if k in flat},
        "config": {"guidance_scale": 5.0, **config},
    }


def kept(tensors, keep):
    steps = sorted(
        (k for k in tensors if k.startswith("latents_after_step_")),
        key=lambda k: int(k.rsplit("_", 1)[1]),
    )
    names = {"first": steps[0], "middle": steps[len(steps) // 2], "last": steps[-1]}
    wanted = {names.get(name, name) for name in keep}
    return {name: value for name, value in tensors.items() if name in wanted}


class Pipelines:
    """One loaded pipeline a task."""

    def __init__(self, model):
        self.model, self.loaded = model, {}

    def __getitem__(self, task):
        if task not in self.loaded:
            self.loaded[task] = common.load_pipeline(self.model, task)
        return self.loaded[task]


def write_goldens(folder, only, check):
    pipelines = Pipelines(MODEL)
    for name, keep, flat in cases():
        if only and name not in only:
            continue
        request, case = request_of(flat), folder / name
        case.mkdir(parents=True, exist_ok=True)
        made = kept(common.generate(pipelines[request["task"]], request, case), keep)
        bad = [k for k, v in made.items() if not bool(v.isfinite().all())]
        if bad:
            print(f"{name}: the reference itself is not finite in {', '.join(bad)}: not written")
        elif check:
            common.report_difference(name, case / "golden.safetensors", made)
        else:
            common.write_json(case / "request.json", {"name": name, **flat})
            common.write_tensors(case / "golden.safetensors", made)
            print(name)


def one_picture(options):
    if options.request:
        request = json.loads(options.request.read_text())
        folder = options.request.parent
    else:
        folder = pathlib.Path(".")
        flat = {
            name: getattr(options, name)
            for name in (
                *INPUTS,
                "scheduler",
                "scheduler_config",
                "steps",
                "seed",
                "guidance_scale",
                "guidance_rescale",
                "strength",
                "width",
                "height",
                "n",
                "eta",
                "clip_skip",
            )
        }
        flat = {name: value for name, value in flat.items() if value is not None}
        for name in ("prompt", "negative_prompt"):
            if name in flat and len(flat[name]) == 1:
                flat[name] = flat[name][0]
        request = request_of(flat)
    if request.get("components"):
        raise SystemExit(
            f"{options.request}: components: pipelines.py makes the goldens of requests that replace parts"
        )
    named = request.get("model", "emoji-sd")
    model = options.model or (MODEL if named == "emoji-sd" else folder / named)
    tensors = common.generate(common.load_pipeline(model, request["task"]), request, folder)
    save = {
        ".npy": lambda: numpy.save(options.out, tensors["image"].numpy()),
        ".safetensors": lambda: common.save_file(
            {k: v.contiguous() for k, v in tensors.items()}, options.out
        ),
    }
    save.get(options.out.suffix, lambda: common.save_pictures(tensors["image"], options.out))()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help="where the goldens are")
    parser.add_argument(
        "--only", type=lambda text: set(text.split(",")), help="names of cases, with commas"
    )
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, help="one picture: .png, .npy or .safetensors")
    parser.add_argument(
        "--model", type=pathlib.Path, help="a Stable Diffusion folder; the embedded one unless said"
    )
    parser.add_argument("--request", type=pathlib.Path, help="an OmniRT request in JSON")
    parser.add_argument("--prompt", action="append")
    parser.add_argument("--negative-prompt", action="append")
    for name in ("image", "mask", "scheduler"):
        parser.add_argument(f"--{name}")
    parser.add_argument("--scheduler-config", type=json.loads)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    for name in ("width", "height", "clip-skip"):
        parser.add_argument(f"--{name}", type=int)
    parser.add_argument("-n", type=int)
    for name in ("guidance-scale", "guidance-rescale", "strength", "eta"):
        parser.add_argument(f"--{name}", type=float)
    options = parser.parse_args()
    if options.out:
        one_picture(options)
    else:
        write_goldens(options.folder, options.only, options.check)


if __name__ == "__main__":
    main()
