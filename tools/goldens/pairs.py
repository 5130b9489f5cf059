#!/usr/bin/env python3
"""All pairs of workflow, scheduler, guider, adapter and control: which combinations, and what diffusers
makes of each.

  tools/goldens/pairs.py [--list] [--check] [--only 0,17]

tests/goldens/pairs/cases.json holds the requests and the exclusions, each with its reason;
pictures_K.safetensors the images, 8 bits per value, [cases, 3, 32, 32]. Every pair of values of two
factors is in at least one case, except for those that the exclusions name.
"""

import argparse
import copy
import functools
import itertools
import json
import pathlib
import random

import common
import guiders
import numpy
import torch
from PIL import Image

FOLDER = common.GOLDENS / "pairs"
SIDE, STEPS, LEAST, A_FILE = 32, 3, 320, 160
PLACES = ["down_blocks.0", "up_blocks.3.attentions.0"]
XL_PLACES = ["down_blocks.1", "mid"]

PIPELINES = "../pipelines"
PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}
PICTURE = {**PROMPT, "image": "inputs/image.png"}
MASKED = {**PICTURE, "mask": "inputs/mask.png"}


def workflow(task, model, inputs, **config):
    return {"task": task, "model": f"{PIPELINES}/{model}/model", "inputs": inputs, "config": config}


# ------------------------------------------------------------------------------------------ factors
WORKFLOWS = {
    "sd15_text2image": workflow("text2image", "sd15", PROMPT),
    "sd15_image2image": workflow("image2image", "sd15", PICTURE, strength=0.7),
    "sd15_inpaint": workflow("inpaint", "sd15", MASKED, strength=1.0),
    "inpaint9": workflow("inpaint", "inpaint9", MASKED, strength=0.7),
    "sd2_text2image": workflow("text2image", "sd2", PROMPT),
    "sd2_image2image": workflow("image2image", "sd2", PICTURE, strength=0.7),
    "sdxl_text2image": workflow("text2image", "sdxl", PROMPT),
    "sdxl_image2image": workflow("image2image", "sdxl", PICTURE, strength=0.7),
    "sdxl_inpaint": workflow("inpaint", "sdxl", MASKED, strength=0.7),
}
WORKFLOWS = {
    name: value
    for name, value in WORKFLOWS.items()
    if (FOLDER / value["model"] / "model_index.json").exists()
}
SCHEDULERS = [
    "DDIMScheduler",
    "DDPMScheduler",
    "DEISMultistepScheduler",
    "DPMSolverMultistepScheduler",
    "DPMSolverSinglestepScheduler",
    "EulerAncestralDiscreteScheduler",
    "EulerDiscreteScheduler",
    "HeunDiscreteScheduler",
    "KDPM2AncestralDiscreteScheduler",
    "KDPM2DiscreteScheduler",
    "LCMScheduler",
    "LMSDiscreteScheduler",
    "PNDMScheduler",
    "UniPCMultistepScheduler",
]
GUIDERS = {
    "none": {"type": "none"},
    "cfg": {"type": "cfg", "guidance_scale": 5.0},
    "cfg_rescaled": {"type": "cfg_rescaled", "guidance_scale": 5.0},
    "interval": {"type": "interval", "guidance_scale": 5.0, "start": 0.3, "stop": 0.9},
    "cfg_zero_star": {"type": "cfg_zero_star", "guidance_scale": 4.0},
    "apg": {"type": "apg", "guidance_scale": 5.0, "momentum": -0.5, "eta": 0.5},
    "tcfg": {"type": "tcfg", "guidance_scale": 4.0},
    "pag": {"type": "pag", "guidance_scale": 4.0, "pag_scale": 2.0, "pag_applied_layers": PLACES},
    "slg": {"type": "slg", "guidance_scale": 4.0, "slg_stop": 1.0, "slg_layers": PLACES},
    "seg": {
        "type": "seg",
        "guidance_scale": 4.0,
        "seg_blur_sigma": 0.7,
        "seg_applied_layers": PLACES,
    },
    "autoguidance": {"type": "autoguidance", "guidance_scale": 2.0},
}
FILES = "../adapters/files"
ADAPTERS = {
    "none": [],
    "lora_kohya": [{"path": f"{FILES}/kohya.safetensors"}],
    "lora_diffusers": [{"path": f"{FILES}/diffusers_new.safetensors"}],
    "loha": [{"path": f"{FILES}/loha.safetensors"}],
    "lokr": [{"path": f"{FILES}/lokr.safetensors"}],
    "dora": [{"path": f"{FILES}/dora_peft.safetensors", "scale": 0.7}],
    "token": [{"path": f"{FILES}/token.safetensors"}],
}
PARTS = "../control/parts"
ENCODER = {"image_encoder": "../networks/vision_projected"}
EDGES, LOOK = "../control/inputs/edges.png", "../pipelines/inputs/image_88x72.png"
CONTROLS = {
    "none": {},
    "controlnet": {
        "components": {"controlnet": f"{PARTS}/controlnet_a"},
        "inputs": {"control_image": EDGES},
        "config": {"controlnet_conditioning_scale": 0.8},
    },
    "t2i_adapter": {
        "components": {"t2i_adapter": f"{PARTS}/t2i_full"},
        "inputs": {"adapter_image": EDGES},
    },
    "ip_adapter": {
        "components": {"ip_adapter": f"{PARTS}/ip_base.safetensors", **ENCODER},
        "inputs": {"ip_adapter_image": LOOK},
        "config": {"ip_adapter_scale": 0.7},
    },
}
if not (FOLDER / FILES).exists():
    ADAPTERS = {"none": []}
if not (FOLDER / PARTS).exists():
    CONTROLS = {"none": {}}
FACTORS = {
    "workflow": list(WORKFLOWS),
    "scheduler": SCHEDULERS,
    "guider": list(GUIDERS),
    "adapter": list(ADAPTERS),
    "control": list(CONTROLS),
}

FIRST = [name for name in WORKFLOWS if name.startswith(("sd15", "inpaint9"))]
OTHERS = [name for name in WORKFLOWS if name not in FIRST]
EXCLUSIONS = [
    {
        "when": {"workflow": ["inpaint9", *OTHERS], "guider": ["autoguidance"]},
        "reason": "the weaker network at hand is a four-channel UNet of Stable Diffusion 1.x's width",
    },
    {
        "when": {"workflow": OTHERS, "adapter": [name for name in ADAPTERS if name != "none"]},
        "reason": "the adapters at hand are of Stable Diffusion 1.x: another family's are refused",
    },
    {
        "when": {"workflow": OTHERS, "control": [name for name in CONTROLS if name != "none"]},
        "reason": "the control networks at hand are made for the UNet of Stable Diffusion 1.x",
    },
    {
        "when": {
            "workflow": [name for name in FIRST if name != "sd15_text2image"],
            "control": ["t2i_adapter"],
        },
        "reason": "diffusers has T2I-Adapters for text2image alone",
    },
    {
        "when": {
            "guider": ["autoguidance"],
            "control": [name for name in CONTROLS if name != "none"],
        },
        "reason": "the weaker network at hand is narrower than the residuals, and has no image prompt",
    },
]
EXCLUSIONS = [rule for rule in EXCLUSIONS if all(rule["when"].values())]


def excluded(case):
    return any(
        all(case[factor] in values for factor, values in rule["when"].items())
        for rule in EXCLUSIONS
    )


# ------------------------------------------------------------------------------------- the covering
def pairs_of(case):
    return {
        ((a, case[a]), (b, case[b])) for a, b in itertools.combinations(FACTORS, 2)
    }


def allowed_pairs():
    """Those that some case that is not excluded holds."""
    found = set()
    for a, b in itertools.combinations(FACTORS, 2):
        for x, y in itertools.product(FACTORS[a], FACTORS[b]):
            choices = {**FACTORS, a: [x], b: [y]}
            cases = (dict(zip(choices, values)) for values in itertools.product(*choices.values()))
            if any(not excluded(case) for case in cases):
                found.add(((a, x), (b, y)))
    return found


def covering():
    """Greedy: each case takes the pairs left that most are in, among draws from a fixed seed; then
    more, that none is twice, until there are LEAST."""
    left, cases, seen = allowed_pairs(), [], set()
    draw = random.Random(11)

    def key(case):
        return tuple(case[name] for name in FACTORS)

    while left or len(cases) < LEAST:
        best = None
        for _ in range(60):
            fixed = dict(draw.choice(sorted(left))) if left else {}
            case = {name: fixed.get(name, draw.choice(values)) for name, values in FACTORS.items()}
            if excluded(case) or key(case) in seen:
                continue
            new = len(pairs_of(case) & left)
            if best is None or new > best[0]:
                best = (new, case)
            if not left:
                break
        if best is None:
            continue
        cases.append(best[1])
        seen.add(key(best[1]))
        left -= pairs_of(best[1])
    return cases


def request_of(case, seed):
    request = copy.deepcopy(WORKFLOWS[case["workflow"]])
    request["config"].update(
        num_inference_steps=STEPS, seed=seed, scheduler=case["scheduler"]
    )
    if request["task"] != "image2image" or case["control"] == "controlnet":
        request["config"].update(width=SIDE, height=SIDE)
    request["guider"] = copy.deepcopy(GUIDERS[case["guider"]])
    for name, value in request["guider"].items():
        if value == PLACES and "sdxl" in case["workflow"]:
            request["guider"][name] = XL_PLACES
    if case["guider"] == "autoguidance":
        request["components"] = {"guide_network": f"{PIPELINES}/outdated/model/unet"}
    if ADAPTERS[case["adapter"]]:
        request["adapters"] = copy.deepcopy(ADAPTERS[case["adapter"]])
    if case["adapter"] == "token":
        request["inputs"]["prompt"] = "a <my-Cat> on an apple"
    for field, more in CONTROLS[case["control"]].items():
        request.setdefault(field, {}).update(copy.deepcopy(more))
    return request


# -------------------------------------------------------------------------------------- the images
def write_inputs(folder):
    folder.mkdir(parents=True, exist_ok=True)
    y, x = numpy.mgrid[0:SIDE, 0:SIDE]
    stripes = numpy.stack([x * 8, y * 8, ((x // 4 + y // 4) % 2) * 200 + 20], axis=2)
    Image.fromarray(stripes.astype(numpy.uint8)).save(folder / "image.png")
    mask = numpy.clip((13 - numpy.hypot(x - 15, y - 17)) * 20, 0, 255)
    Image.fromarray(mask.astype(numpy.uint8)).save(folder / "mask.png")


@functools.cache
def adapter_cases():
    """By the formulas that tools/goldens/adapters.py holds against diffusers' own merging."""
    import adapters

    # They are made from their seeds again; the files stay.
    adapters.write = lambda *_, **__: None
    plain, common.write_json = common.write_json, lambda *_: None
    pipe = common.load_pipeline(adapters.MODEL)
    made = {c.name: c for c in [*adapters.lora_cases(pipe), *adapters.lycoris_cases(pipe)]}
    common.write_json = plain
    return made


def attach(pipe, adapter):
    if adapter == "none":
        return
    import adapters

    if adapter == "token":
        pipe.load_textual_inversion(adapters.FILES / "token.safetensors")
        return
    names = {"lora_kohya": "kohya", "lora_diffusers": "diffusers_new", "dora": "dora_peft"}
    adapter_cases()[names.get(adapter, adapter)].by_formula(pipe)


def write_cases(path, cases):
    """One per line."""
    head = json.dumps({"a_file": A_FILE, "exclusions": EXCLUSIONS, "factors": FACTORS}, indent=1)
    lines = ",\n".join(json.dumps(case) for case in cases)
    path.write_text(f'{head.rstrip("}").rstrip()},\n "cases": [\n{lines}\n ]\n}}\n')


class Reference:
    """Pipelines of diffusers, each loaded once."""

    def __init__(self):
        from diffusers import UNet2DConditionModel

        self.pipes = {}
        path = (FOLDER / PIPELINES / "outdated/model/unet").resolve()
        self.weaker = UNet2DConditionModel.from_pretrained(path).float().eval()

    def pipe(self, request, adapter):
        key = (request["model"], request["task"], adapter)
        if key not in self.pipes:
            folder = (FOLDER / request["model"]).resolve()
            if "sdxl" in request["model"]:
                import sdxl

                self.pipes[key] = sdxl.load(folder.parents[1], folder.parent.name, request["task"])
            else:
                self.pipes[key] = common.load_pipeline(folder, request["task"])
            attach(self.pipes[key], adapter)
        return self.pipes[key]

    def picture(self, case):
        request = copy.deepcopy(case["request"])
        pipe = self.pipe(request, case["of"]["adapter"])
        request["config"]["guidance_scale"] = 1.0
        prepare = {"sdxl": self.sdxl, "none": self.plain}.get(
            "sdxl" if "sdxl" in request["model"] else case["of"]["control"], self.controlled
        )
        pipe, arguments, negative = prepare(pipe, request)
        own, config = pipe.scheduler, request["config"]
        try:
            common._set_scheduler(pipe, config)
            with guiders.guided(pipe, request["guider"], negative, self.weaker, config):
                picture = pipe(
                    **arguments,
                    output_type="np",
                    generator=[torch.Generator().manual_seed(config["seed"])],
                ).images
        finally:
            pipe.scheduler = own
            if case["of"]["control"] == "ip_adapter":
                pipe.unload_ip_adapter()
        return torch.from_numpy(picture[0]).permute(2, 0, 1)

    def plain(self, pipe, request):
        embeds = pipe.encode_prompt(request["inputs"]["negative_prompt"], "cpu", 1, False)[0]
        return pipe, common._call_arguments(request, FOLDER, 1), lambda *_: (embeds, {})

    def sdxl(self, pipe, request):
        import sdxl

        encoded = pipe.encode_prompt(
            request["inputs"]["negative_prompt"], device="cpu", do_classifier_free_guidance=False
        )

        def negative(_, named):
            conditions = {**named["added_cond_kwargs"], "text_embeds": encoded[2]}
            return encoded[0], {"added_cond_kwargs": conditions}

        request = copy.deepcopy(request)
        del request["guider"]
        arguments = sdxl.arguments_of(request, FOLDER, 1)
        arguments.pop("output_type", None)
        return pipe, arguments, negative

    def controlled(self, base, request):
        """A control network is asked under the negative prompt too; an image prompt's negative is of
        zeros; a T2I-Adapter knows no text."""
        import control

        embeds = base.encode_prompt(request["inputs"]["negative_prompt"], "cpu", 1, False)[0]
        pipe = control.pipeline_of(base, request, FOLDER)
        pipe.scheduler = base.scheduler
        arguments = control.call_arguments(request, FOLDER)
        if request["task"] == "inpaint":
            arguments.update(width=SIDE, height=SIDE)
        if "ip_adapter" in request["components"]:
            control.load_image_prompt(pipe, request, FOLDER)
            arguments.update(control.image_prompt_arguments(request, FOLDER, (SIDE, SIDE)))
        asked = {}
        if "controlnet" in request["components"]:
            network = pipe.controlnet.forward

            def recorded(*values, **named):
                asked["values"], asked["named"] = values, named
                return network(*values, **named)

            pipe.controlnet.forward = recorded

        def negative(_, named):
            changes = {}
            if asked:
                down, mid = network(
                    *asked["values"], **{**asked["named"], "encoder_hidden_states": embeds}
                )
                changes["down_block_additional_residuals"] = down
                changes["mid_block_additional_residual"] = mid
            if "ip_adapter" in request["components"]:
                pictures = named["added_cond_kwargs"]["image_embeds"]
                changes["added_cond_kwargs"] = {
                    "image_embeds": [torch.zeros_like(picture) for picture in pictures]
                }
            return embeds, changes

        return pipe, arguments, negative


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="count the cases, make nothing")
    parser.add_argument("--check", action="store_true", help="compare with what is there")
    parser.add_argument("--only", type=lambda text: [int(i) for i in text.split(",")])
    options = parser.parse_args()
    cases = [
        {"of": case, "request": request_of(case, 100 + i)} for i, case in enumerate(covering())
    ]
    print(f"{len(cases)} cases, {len(allowed_pairs())} pairs")
    if options.list:
        return
    write_inputs(FOLDER / "inputs")
    reference, pictures = Reference(), []
    for index, case in enumerate(cases):
        if options.only and index not in options.only:
            continue
        try:
            picture = reference.picture(case)
            if not bool(picture.isfinite().all()):
                raise ValueError("the picture is not finite")
        except Exception as error:  # noqa: BLE001: what diffusers cannot do is reported, not hidden
            case["no_picture"] = f"diffusers: {str(error).splitlines()[0][:200]}"
            print(index, case["of"], case["no_picture"])
            picture = torch.zeros(3, SIDE, SIDE)
        pictures.append((picture * 255).round().to(torch.uint8))
    if options.only:
        return
    for number, start in enumerate(range(0, len(cases), A_FILE)):
        tensors = {"pictures": torch.stack(pictures[start : start + A_FILE])}
        path = FOLDER / f"pictures_{number}.safetensors"
        if options.check:
            print(path.name, common.largest_difference(path, tensors))
        else:
            common.write_tensors(path, tensors)
    if not options.check:
        write_cases(FOLDER / "cases.json", cases)


if __name__ == "__main__":
    main()
