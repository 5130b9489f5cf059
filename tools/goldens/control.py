#!/usr/bin/env python3
"""What diffusers makes of control images, adapters and image prompts, over tiny random checkpoints.

  tools/goldens/control.py [--only processor,...] [--check]

tests/goldens/control holds it: images as CLIP's image processor prepares them (processor/), the
networks that read images (parts/), and whole runs, {request.json, golden.safetensors}, over the
models of tests/goldens/pipelines.
"""

import argparse
import inspect
import json

import common
import control_parts
import torch
from PIL import Image
from safetensors.torch import load_file

FOLDER = common.GOLDENS / "control"
INPUTS = common.GOLDENS / "pipelines" / "inputs"

# Images that are wide and square, scaled up and down, cut and filled up.
PROCESSORS = {
    "usual": ("image_88x72.png", {"size": 32, "crop_size": 32}),
    "objects": (
        "image_88x72.png",
        {"size": {"shortest_edge": 40}, "crop_size": {"height": 21, "width": 34}, "resample": 2},
    ),
    "larger": ("image.png", {"size": {"height": 75, "width": 40}, "do_center_crop": False}),
    "filled_up": (
        "image_88x72.png",
        {"do_resize": False, "crop_size": {"height": 75, "width": 31}, "do_normalize": False},
    ),
    "other_mean": (
        "image.png",
        {
            "size": 16,
            "crop_size": 16,
            "resample": 1,
            "rescale_factor": 0.01,
            "image_mean": [0.5, 0.4, 0.3],
            "image_std": [0.5, 0.25, 2.0],
        },
    ),
}


def processor_goldens(folder):
    from transformers import CLIPImageProcessor

    tensors, cases = {}, {}
    for name, (picture, config) in PROCESSORS.items():
        image = Image.open(INPUTS / picture)
        tensors[name] = CLIPImageProcessor(**config)(image, return_tensors="pt").pixel_values
        cases[name] = {"picture": picture, "config": config}
    common.write_json(folder / "cases.json", cases)
    return {"golden": tensors}


# ------------------------------------------------------------------------------------------ runs
PARTS, INPUT = "../../parts", "../../inputs"
PICTURES = "../../../pipelines/inputs"
ENCODER = {"image_encoder": "../../../networks/vision_projected"}
PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}
EDGES, DEPTH = f"{INPUT}/edges.png", f"{INPUT}/depth_48x40.png"
PICTURE, WIDE, MASK = (f"{PICTURES}/{name}" for name in ("image.png", "image_88x72.png", "mask.png"))
EULER, DDIM = "EulerDiscreteScheduler", "DDIMScheduler"


def run(seed, inputs, components, task="text2image", model="sd15", **config):
    config = {"num_inference_steps": 4, "guidance_scale": 7.5, "seed": seed, **config}
    if "scheduler" not in config:
        config["scheduler"] = DDIM
    return {
        "task": task,
        "model": f"../../../pipelines/{model}/model",
        "inputs": {**PROMPT, **inputs},
        "components": components,
        "config": config,
    }


def controlnet(*names):
    folders = [f"{PARTS}/controlnet_{name}" for name in names]
    return {"controlnet": folders[0] if len(folders) == 1 else folders}


def t2i(*names):
    folders = [f"{PARTS}/t2i_{name}" for name in names]
    return {"t2i_adapter": folders[0] if len(folders) == 1 else folders}


def ip(*names):
    files = [f"{PARTS}/ip_{name}.safetensors" for name in names]
    return {"ip_adapter": files[0] if len(files) == 1 else files, **ENCODER}


def sd15_runs():
    one, two = {"control_image": EDGES}, {"control_image": [EDGES, DEPTH]}
    image, inpaint = {"image": PICTURE}, {"image": PICTURE, "mask": MASK}
    size = dict(width=64, height=64)
    yield "controlnet", run(100, one, controlnet("a"))
    yield "controlnet_scale", run(
        101, one, controlnet("b"), controlnet_conditioning_scale=0.4, num_images_per_prompt=2
    )
    yield "controlnet_part", run(
        102, one, controlnet("a"), control_guidance_start=0.25, control_guidance_end=0.75
    )
    yield "controlnet_guess", run(103, one, controlnet("a"), guess_mode=True)
    yield "controlnet_guess_alone", run(
        104, one, controlnet("a"), guess_mode=True, guidance_scale=1.0
    )
    yield "controlnet_resized", run(
        105, {"control_image": DEPTH}, controlnet("a"), scheduler=EULER, **size
    )
    yield "controlnet_size", run(106, {"control_image": WIDE}, controlnet("a"))
    yield "controlnet_pooled", run(107, one, controlnet("pooled"))
    yield "controlnet_two", run(
        108,
        two,
        controlnet("a", "b"),
        controlnet_conditioning_scale=[0.7, 0.4],
        control_guidance_start=[0.0, 0.3],
        control_guidance_end=[0.6, 1.0],
        **size,
    )
    yield "controlnet_two_guess", run(109, two, controlnet("a", "b"), guess_mode=True, **size)
    yield "controlnet_image2image", run(
        110, {**one, **image}, controlnet("a"), "image2image", strength=0.6, scheduler=EULER
    )
    yield "controlnet_image2image_two", run(
        111, {**two, **image}, controlnet("a", "b"), "image2image", strength=0.8, **size
    )
    yield "controlnet_inpaint", run(
        112, {**one, **inpaint}, controlnet("a"), "inpaint", strength=1.0, **size
    )
    yield "controlnet_inpaint_part", run(
        113,
        {**one, **inpaint},
        controlnet("b"),
        "inpaint",
        strength=0.7,
        control_guidance_end=0.5,
        **size,
    )
    yield "controlnet_inpaint9", run(
        114, {**one, **inpaint}, controlnet("a"), "inpaint", "inpaint9", strength=1.0, **size
    )

    yield "t2i_full", run(120, {"adapter_image": DEPTH}, t2i("full"), **size)
    yield "t2i_light", run(
        121,
        {"adapter_image": EDGES},
        t2i("light"),
        adapter_conditioning_scale=0.6,
        num_images_per_prompt=2,
    )
    yield "t2i_two", run(
        122,
        {"adapter_image": [EDGES, DEPTH]},
        t2i("full", "full"),
        adapter_conditioning_scale=[0.7, 0.5],
        **size,
    )

    picture = {"ip_adapter_image": WIDE}
    yield "ip_base", run(130, picture, ip("base"))
    yield "ip_scale", run(
        131, picture, ip("base"), ip_adapter_scale=0.4, num_images_per_prompt=2, scheduler=EULER
    )
    yield "ip_alone", run(132, picture, ip("base"), guidance_scale=1.0)
    yield "ip_blocks", run(
        133,
        picture,
        ip("base"),
        ip_adapter_scale={"down": {"block_1": 0.5}, "mid": 0.3, "up": {"block_1": [0.0, 1.0]}},
    )
    yield "ip_plus", run(134, picture, ip("plus"))
    yield "ip_full", run(135, picture, ip("full"))
    both = {"ip_adapter_image": [WIDE, PICTURE]}
    yield "ip_pictures", run(136, both, ip("base"))
    yield "ip_masks", run(
        137,
        {**both, "ip_adapter_masks": [f"{INPUT}/left.png", f"{INPUT}/below.png"]},
        ip("plus"),
        ip_adapter_scale=[[0.9, 0.6]],
    )
    yield "ip_two", run(138, both, ip("base", "plus"), ip_adapter_scale=[0.7, 0.4])
    yield "ip_image2image", run(
        139, {**picture, **image}, ip("plus"), "image2image", strength=0.6
    )
    yield "ip_inpaint", run(
        140, {**picture, **inpaint}, ip("base"), "inpaint", strength=1.0, **size
    )
    yield "controlnet_ip", run(141, {**one, **picture}, {**controlnet("a"), **ip("base")})


PIPELINES = {
    "": {
        "text2image": "StableDiffusionPipeline",
        "image2image": "StableDiffusionImg2ImgPipeline",
        "inpaint": "StableDiffusionInpaintPipeline",
    },
    "controlnet": {
        "text2image": "StableDiffusionControlNetPipeline",
        "image2image": "StableDiffusionControlNetImg2ImgPipeline",
        "inpaint": "StableDiffusionControlNetInpaintPipeline",
    },
    "t2i_adapter": {"text2image": "StableDiffusionAdapterPipeline"},
}


XL_RUNS = {"text2image": "Pipeline", "image2image": "Img2ImgPipeline", "inpaint": "InpaintPipeline"}


def pipeline_class(kind, task, xl):
    """The reference's class for the parts of a request."""
    if not xl:
        return PIPELINES[kind][task]
    parts = {"": "", "controlnet": "ControlNet", "t2i_adapter": "Adapter"}
    return "StableDiffusionXL" + parts[kind] + XL_RUNS[task]


def as_list(value):
    return value if isinstance(value, list) else [value]


def load_part(kind, path):
    import diffusers

    cls = {"controlnet": diffusers.ControlNetModel, "t2i_adapter": diffusers.T2IAdapter}[kind]
    path = path.resolve()
    # A link to weights elsewhere is followed by name, not by the folder.
    return cls.from_pretrained(path, torch_dtype=torch.float32, low_cpu_mem_usage=False).eval()


def pipeline_of(base, request, folder):
    """The reference's pipeline with the request's parts."""
    import diffusers

    components = request["components"]
    kind = next((name for name in ("controlnet", "t2i_adapter") if name in components), "")
    extra = {}
    if kind:
        parts = [load_part(kind, folder / path) for path in as_list(components[kind])]
        several = diffusers.MultiAdapter if kind == "t2i_adapter" else list
        name = "adapter" if kind == "t2i_adapter" else kind
        extra[name] = parts[0] if len(parts) == 1 else several(parts)
    xl = "text_encoder_2" in base.components
    made = getattr(diffusers, pipeline_class(kind, request["task"], xl))
    taken = inspect.signature(made.__init__).parameters
    shared = {name: part for name, part in base.components.items() if name in taken}
    off = {name: False for name in ("add_watermarker", "requires_safety_checker") if name in taken}
    pipe = made(**shared, **extra, **off)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def load_image_prompt(pipe, request, folder):
    from transformers import CLIPImageProcessor, CLIPVisionModelWithProjection

    components, config = request["components"], request["config"]
    encoder = CLIPVisionModelWithProjection.from_pretrained(
        (folder / components["image_encoder"]).resolve(), torch_dtype=torch.float32
    ).eval()
    side = encoder.config.image_size
    pipe.register_modules(
        image_encoder=encoder, feature_extractor=CLIPImageProcessor(size=side, crop_size=side)
    )
    states = []
    for path in as_list(components["ip_adapter"]):
        state = {"image_proj": {}, "ip_adapter": {}}
        for name, value in load_file(folder / path).items():
            group, rest = name.split(".", 1)
            state[group][rest] = value.float()
        states.append(state)
    pipe.load_ip_adapter(states, subfolder="", weight_name=[""] * len(states))
    pipe.set_ip_adapter_scale(config.get("ip_adapter_scale", 1.0))


def image_prompt_arguments(request, folder, size):
    inputs, several = request["inputs"], isinstance(request["components"]["ip_adapter"], list)
    pictures = [Image.open(folder / path) for path in as_list(inputs["ip_adapter_image"])]
    arguments = {"ip_adapter_image": pictures if several else [pictures]}
    if "ip_adapter_masks" in inputs:
        from diffusers.image_processor import IPAdapterMaskProcessor

        masks = [Image.open(folder / path) for path in inputs["ip_adapter_masks"]]
        width, height = size
        masks = IPAdapterMaskProcessor().preprocess(masks, height=height, width=width)
        masks = [masks.reshape(1, masks.shape[0], masks.shape[2], masks.shape[3])]
        arguments["cross_attention_kwargs"] = {"ip_adapter_masks": masks}
    return arguments


def call_arguments(request, folder):
    inputs, config, task = request["inputs"], request["config"], request["task"]
    opened = lambda name: [Image.open(folder / path) for path in as_list(inputs[name])]
    single = lambda pictures: pictures[0] if len(pictures) == 1 else pictures
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "width", "height"]
    names += ["strength", "controlnet_conditioning_scale", "control_guidance_start"]
    names += ["control_guidance_end", "guess_mode", "adapter_conditioning_scale"]
    names += ["adapter_conditioning_factor"]
    arguments = {name: config[name] for name in names if name in config}
    arguments.update(prompt=inputs["prompt"], negative_prompt=inputs["negative_prompt"])
    if task != "text2image":
        arguments["image"] = opened("image")[0].convert("RGB")
    if task == "inpaint":
        arguments["mask_image"] = opened("mask")[0]
    if "control_image" in inputs:
        arguments["image" if task == "text2image" else "control_image"] = single(
            opened("control_image")
        )
    if "adapter_image" in inputs:
        pictures = opened("adapter_image")
        grey = "light" in str(request["components"]["t2i_adapter"])
        arguments["image"] = single([p.convert("L" if grey else "RGB") for p in pictures])
    return arguments


def run_golden(base, request, folder):
    import diffusers

    pipe = pipeline_of(base, request, folder)
    config = request["config"]
    pipe.scheduler = getattr(diffusers, config["scheduler"]).from_config(pipe.scheduler.config)
    arguments = call_arguments(request, folder)
    if "ip_adapter" in request["components"]:
        load_image_prompt(pipe, request, folder)
        size = (config.get("width", 64), config.get("height", 64))
        arguments.update(image_prompt_arguments(request, folder, size))
    latents = []

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        return {}

    hooks = {} if "t2i_adapter" in request["components"] else {"callback_on_step_end": on_step}
    seeds = common.seeds_of(request)
    image = pipe(
        **arguments,
        **hooks,
        generator=[torch.Generator().manual_seed(seed) for seed in seeds],
        output_type="np",
    ).images
    if "ip_adapter" in request["components"]:
        pipe.unload_ip_adapter()
    out = {"image": torch.from_numpy(image).permute(0, 3, 1, 2)}
    if latents:
        last = len(latents) - 1
        out[f"latents_after_step_{last}"] = latents[last]
    return out


def load_base(folder):
    import diffusers

    if "sdxl" not in folder.parts:
        return common.load_pipeline(folder)
    return diffusers.StableDiffusionXLPipeline.from_pretrained(
        folder, torch_dtype=torch.float32, add_watermarker=False
    )


def pipeline_runs(folder, check, runs, write_parts):
    """The parts are written once for all runs; goldens are compared or written one by one."""
    bases = {}
    for name, request in runs:
        at = folder / name
        at.mkdir(parents=True, exist_ok=True)
        model = request["model"]
        if model not in bases:
            bases[model] = load_base((at / model).resolve())
            if not check and len(bases) == 1:
                write_parts(FOLDER, bases[model])
        tensors = run_golden(bases[model], request, at)
        if not all(bool(value.isfinite().all()) for value in tensors.values()):
            raise SystemExit(f"{name}: not finite")
        if not check:
            common.write_json(at / "request.json", request)
            clipped = ((tensors["image"] == 0) | (tensors["image"] == 1)).float().mean()
            print(f"{name}: image {tensors['image'].std():.2f}, {clipped:.0%} at the limits")
        yield name, tensors


def processor_group(check):
    for file, tensors in processor_goldens(FOLDER / "processor").items():
        yield f"processor/{file}", tensors


def sd15_group(check):
    runs = pipeline_runs(FOLDER / "sd15", check, sd15_runs(), control_parts.write_sd15_parts)
    for name, tensors in runs:
        yield f"sd15/{name}/golden", tensors


def xl_run(seed, inputs, components, task="text2image", **config):
    made = run(seed, inputs, components, task, "sdxl", **{"guidance_scale": 5.0, **config})
    text = json.dumps(made["components"]).replace(PARTS, "../../parts_xl")
    return {**made, "components": json.loads(text)}


def sdxl_runs():
    one = {"control_image": EDGES}
    image, inpaint = {"image": PICTURE}, {"image": PICTURE, "mask": MASK}
    size = dict(width=64, height=64)
    yield "controlnet", xl_run(200, one, controlnet("a"))
    yield "controlnet_guess", xl_run(201, one, controlnet("b"), guess_mode=True, scheduler=EULER)
    yield "controlnet_two", xl_run(
        202,
        {"control_image": [EDGES, DEPTH]},
        controlnet("a", "b"),
        controlnet_conditioning_scale=[0.8, 0.5],
        control_guidance_end=[0.5, 1.0],
        **size,
    )
    yield "controlnet_image2image", xl_run(
        203, {**one, **image}, controlnet("a"), "image2image", strength=0.6
    )
    yield "controlnet_inpaint", xl_run(
        204, {**one, **inpaint}, controlnet("a"), "inpaint", strength=1.0, **size
    )
    yield "t2i_part", xl_run(
        205,
        {"adapter_image": DEPTH},
        t2i("xl"),
        adapter_conditioning_scale=0.8,
        adapter_conditioning_factor=0.5,
        **size,
    )
    yield "ip_base", xl_run(206, {"ip_adapter_image": WIDE}, ip("base"), ip_adapter_scale=0.6)
    yield "ip_blocks", xl_run(
        207,
        {"ip_adapter_image": WIDE},
        ip("base"),
        ip_adapter_scale={"down": {"block_2": 0.5}, "up": {"block_0": [0.0, 1.0]}},
    )
    yield "controlnet_ip", xl_run(
        208, {**one, "ip_adapter_image": WIDE}, {**controlnet("a"), **ip("base")}
    )


def sdxl_group(check):
    for name, tensors in pipeline_runs(FOLDER / "sdxl", check, sdxl_runs(), control_parts.write_xl_parts):
        yield f"sdxl/{name}/golden", tensors


def tokens_group(check):
    """What the reference's projections make of what an image encoder returns."""
    base = common.load_pipeline((FOLDER / "../pipelines/sd15/model").resolve())
    tensors = {}
    for kind, shape in (("base", (2, 24)), ("plus", (2, 17, 32)), ("full", (2, 17, 32))):
        weights = load_file(FOLDER / "parts" / f"ip_{kind}.safetensors")
        prefix = "image_proj."
        state = {n[len(prefix) :]: v.float() for n, v in weights.items() if n.startswith(prefix)}
        projection = base.unet._convert_ip_adapter_image_proj_to_diffusers(state)
        tensors[f"in.{kind}"] = common.normal(len(kind), *shape)
        tensors[f"out.{kind}"] = projection(tensors[f"in.{kind}"])
    yield "parts/ip_tokens", tensors


GROUPS = {"processor": processor_group, "sd15": sd15_group, "sdxl": sdxl_group, "tokens": tokens_group}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: set(text.split(",")))
    parser.add_argument(
        "--check", action="store_true", help="compare with what is there instead of writing"
    )
    options = parser.parse_args()
    for name, make in GROUPS.items():
        if options.only and name not in options.only:
            continue
        for file, tensors in make(options.check):
            path = FOLDER / f"{file}.safetensors"
            if not options.check:
                common.write_tensors(path, tensors)
                continue
            for tensor, (worst, largest) in common.largest_difference(path, tensors).items():
                print(f"{file}/{tensor}: differs by {worst / max(1.0, largest):.1e}")


if __name__ == "__main__":
    main()
