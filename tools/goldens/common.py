"""What the golden scripts share: files on disk, and one run of a Stable Diffusion pipeline, recorded.

A request has the shape of OmniRT's own: {"task", "inputs": {...}, "config": {...}}; paths in it are
relative to the folder of its request.json. Runs are fp32 on the CPU.
"""

import contextlib
import json
import os
import pathlib
import types
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")

import numpy  # noqa: E402
import torch  # noqa: E402
from PIL import Image  # noqa: E402
from safetensors.torch import load_file, save_file  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Where the build expands tests/goldens; pack.py packs what scripts write there.
GOLDENS = ROOT / "build" / "goldens"
LARGEST_FILE = 1_000_000  # bytes; what the repository accepts of one golden file

warnings.filterwarnings("ignore")
torch.set_grad_enabled(False)
if not GOLDENS.exists():
    raise SystemExit(f"{GOLDENS} is missing: run scripts/expand_goldens")


# ------------------------------------------------------------------------------------------- files
def write_json(path, value):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1) + "\n")


def write_tensors(path, tensors, metadata=None):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    copies = {
        name: torch.as_tensor(value).detach().contiguous().clone()
        for name, value in tensors.items()
    }
    save_file(copies, path, metadata=metadata)
    check_file(path)


def check_file(path):
    """Readable by all (safetensors makes files that only their owner may read), and small."""
    os.chmod(path, 0o644)
    size = pathlib.Path(path).stat().st_size
    if size >= LARGEST_FILE:
        raise SystemExit(f"{path}: {size} bytes; a golden file stays below {LARGEST_FILE}")


def largest_difference(path, tensors):
    """Compares with a stored file: {name: (largest absolute difference, largest stored value)}."""
    stored = load_file(path)
    missing = set(stored) - set(tensors)
    if missing:
        raise SystemExit(f"{path}: not made any more: {', '.join(sorted(missing))}")
    return {
        name: (
            (torch.as_tensor(tensors[name]).double() - value.double()).abs().max().item(),
            value.double().abs().max().item(),
        )
        for name, value in stored.items()
    }


def worst_difference(path, tensors):
    """The largest of these, of the tensor's largest value or of 1 where that is less."""
    return max(d / max(1.0, s) for d, s in largest_difference(path, tensors).values())


def report_difference(name, path, tensors):
    print(f"{name}: differs by {worst_difference(path, tensors):.1e}")


# -------------------------------------------------------------------------------------- randomness
def reseed_parameters(module, seed, gain=1.0):
    """Fills every parameter from one seed, by sorted name, so that a checkpoint does not depend on
    the order in which a library initialises its layers. Scales keep activations near 1; norms and
    biases are away from their neutral values, so that leaving one out shows."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in sorted(module.named_parameters()):
        if parameter.ndim >= 2:
            fan_in = parameter[0].numel() if "embedding" not in name else parameter.shape[1]
            noise = torch.randn(parameter.shape, generator=generator) * gain / fan_in**0.5
        elif name.endswith("bias"):
            noise = torch.randn(parameter.shape, generator=generator) * 0.1
        else:
            noise = 1 + torch.randn(parameter.shape, generator=generator) * 0.1
        parameter.data.copy_(noise)
    return module.eval()


def normal(seed, *shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# --------------------------------------------------------------------------------------- pipelines
def load_pipeline(folder, task="text2image"):
    import diffusers

    classes = {
        "text2image": diffusers.StableDiffusionPipeline,
        "image2image": diffusers.StableDiffusionImg2ImgPipeline,
        "inpaint": diffusers.StableDiffusionInpaintPipeline,
    }
    diffusers.utils.logging.disable_progress_bar()
    pipe = classes[task].from_pretrained(
        folder, torch_dtype=torch.float32, safety_checker=None, requires_safety_checker=False
    )
    pipe.set_progress_bar_config(disable=True)
    # With clip_skip, diffusers 0.42.1 calls text_encoder.text_model.final_layer_norm; transformers 5
    # moved that layer up one level. A plain attribute (not a submodule) restores the name.
    encoder = pipe.text_encoder
    if not hasattr(encoder, "text_model"):
        object.__setattr__(
            encoder, "text_model", types.SimpleNamespace(final_layer_norm=encoder.final_layer_norm)
        )
    return pipe


@contextlib.contextmanager
def recorded_steps(scheduler):
    """What a modular pipeline, which calls nobody back, makes of its latents at each step, and the timesteps."""
    steps, times, step = [], [], scheduler.step

    def recorded(prediction, time, *arguments, **named):
        made = step(prediction, time, *arguments, **named)
        steps.append(made[0].clone())
        times.append(float(time))
        return made

    scheduler.step = recorded
    try:
        yield steps, times
    finally:
        del scheduler.step


def load_any(folder, **parts):
    """Of the class that the folder's model_index.json names; `parts`: in place of the folder's."""
    import diffusers

    diffusers.utils.logging.disable_progress_bar()
    pipe = diffusers.DiffusionPipeline.from_pretrained(folder.resolve(), torch_dtype=torch.float32, **parts)
    pipe.set_progress_bar_config(disable=True)
    return pipe


def seeds_of(request):
    config, prompt = request["config"], request["inputs"]["prompt"]
    prompts = len(prompt) if isinstance(prompt, list) else 1
    count = prompts * config.get("num_images_per_prompt", 1)
    return [config["seed"] + i for i in range(count)]


def _set_scheduler(pipe, config):
    import diffusers

    if "scheduler" in config or "scheduler_config" in config:
        kind = getattr(diffusers, config.get("scheduler", type(pipe.scheduler).__name__))
        pipe.scheduler = kind.from_config(
            pipe.scheduler.config, **config.get("scheduler_config", {})
        )


def _picture(path, config, mode, count):
    """The input image, scaled to width and height (Lanczos, as diffusers does it itself)."""
    picture = Image.open(path).convert(mode)
    size = (config.get("width", picture.width), config.get("height", picture.height))
    return [picture.resize(size, Image.LANCZOS)] * count


def _call_arguments(request, folder, count):
    inputs, config, task = request["inputs"], request["config"], request["task"]
    arguments = {"prompt": inputs["prompt"], "negative_prompt": inputs.get("negative_prompt")}
    names = ["num_inference_steps", "guidance_scale", "num_images_per_prompt", "eta", "clip_skip"]
    if task == "text2image":
        names += ["width", "height", "guidance_rescale"]
    else:
        names += ["strength"]
        arguments["image"] = _picture(folder / inputs["image"], config, "RGB", 1)[0]
    if task == "inpaint":
        # One image and mask for each result, so that each generator draws for its own image.
        arguments["image"] = _picture(folder / inputs["image"], config, "RGB", count)
        arguments["mask_image"] = _picture(folder / inputs["mask"], config, "L", count)
        arguments["width"], arguments["height"] = arguments["image"][0].size
    arguments.update({name: config[name] for name in names if name in config})
    return arguments


def _record(pipe, method, store):
    original = getattr(pipe, method)

    def recorded(*arguments, **named):
        result = original(*arguments, **named)
        store(result)
        return result

    setattr(pipe, method, recorded)


def follow(pipe, config, seeds, unpacked=None, **given):
    """Calls a pipeline with the config's scheduler and returns what its encode_prompt returned, call by call, with {image [n, 3, H, W] in 0..1,
    latents_after_step_K for the first, middle and last step, timesteps}. `unpacked(latents, height, width)` is for a
    pipeline whose latents are packed, by their height and width."""
    _set_scheduler(pipe, config)
    embeds, latents, timesteps = [], [], []

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    _record(pipe, "encode_prompt", embeds.append)
    try:
        image = pipe(
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="pt",
            callback_on_step_end=on_step,
            **given,
        ).images
    finally:
        pipe.__dict__.pop("encode_prompt", None)
    if unpacked:
        size = [side // pipe.vae_scale_factor for side in image.shape[2:]]
        latents = [unpacked(each, *size) for each in latents]
    steps = sorted({0, len(latents) // 2, len(latents) - 1})
    out = {"image": image, "timesteps": torch.tensor(timesteps, dtype=torch.float64)}
    return embeds, out | {f"latents_after_step_{index}": latents[index] for index in steps}


def generate(pipe, request, folder="."):
    """Runs the request and returns what a runtime must reproduce, by stage.

    prompt_embeds, negative_prompt_embeds [prompts, T, D]; noise (text2image: each seed's first draw);
    initial_latents as they enter the loop; for inpaint mask [n, 1, h, w] and masked_image_latents;
    timesteps (fp64); latents_after_step_K for the first, middle and last step; image [n, 3, H, W] in 0..1.
    """
    folder = pathlib.Path(folder)
    seeds, config = seeds_of(request), request["config"]
    plain_scheduler = pipe.scheduler
    _set_scheduler(pipe, config)
    out, latents, timesteps = {}, [], []
    per_prompt = config.get("num_images_per_prompt", 1)

    def on_embeds(result):
        for name, value in zip(("prompt_embeds", "negative_prompt_embeds"), result):
            if value is not None:
                out[name] = value[::per_prompt]

    def on_latents(result):
        result = result if isinstance(result, tuple) else (result,)
        names = (
            ["initial_latents", "noise", "image_latents"]
            if request["task"] == "inpaint"
            else ["initial_latents"]
        )
        out.update(zip(names, result))

    def on_mask(result):
        out["mask"], out["masked_image_latents"] = (value[: len(seeds)] for value in result)

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        timesteps.append(float(timestep))
        return {}

    _record(pipe, "encode_prompt", on_embeds)
    _record(pipe, "prepare_latents", on_latents)
    if request["task"] == "inpaint":
        _record(pipe, "prepare_mask_latents", on_mask)
    try:
        out["image"] = pipe(
            **_call_arguments(request, folder, len(seeds)),
            generator=[torch.Generator().manual_seed(seed) for seed in seeds],
            output_type="pt",
            callback_on_step_end=on_step,
        ).images
    finally:
        for name in ("encode_prompt", "prepare_latents", "prepare_mask_latents"):
            pipe.__dict__.pop(name, None)
        pipe.scheduler = plain_scheduler
    if request["task"] == "text2image":
        shape = (1, *latents[0].shape[1:])
        out["noise"] = torch.cat([normal(seed, *shape) for seed in seeds])
    for index in sorted({0, len(latents) // 2, len(latents) - 1}):
        out[f"latents_after_step_{index}"] = latents[index]
    out["timesteps"] = torch.tensor(timesteps, dtype=torch.float64)
    return out


def save_pictures(image, path):
    """[n, 3, H, W] in 0..1 as PNG; n images as path_0.png and on."""
    path = pathlib.Path(path)
    for index, picture in enumerate(image):
        name = path if len(image) == 1 else path.with_name(f"{path.stem}_{index}{path.suffix}")
        pixels = (picture.permute(1, 2, 0).numpy() * 255).round().astype(numpy.uint8)
        Image.fromarray(pixels).save(name)


def masked_embeds(embeds, each):
    """prompt_embeds and, where there are some, negative_prompt_embeds [prompts, T, D] and prompt_attention_mask of what
    an encode_prompt returned (states, mask, and the negative prompt's), with `each` images of a prompt: cut to the
    longest prompt's tokens, and zeros after shorter ones'."""
    out = {}
    for name, pair in (("", embeds[:2]), ("negative_", embeds[2:])):
        if not pair or pair[0] is None:
            continue
        states, mask = (tensor[::each] for tensor in pair)
        if name:
            states, mask = states[:1], mask[:1]  # one negative prompt for all
        longest = int(mask.sum(1).max())
        out[f"{name}prompt_embeds"] = states[:, :longest] * mask[:, :longest, None].to(states.dtype)
        if not name:
            out["prompt_attention_mask"] = mask[:, :longest].float()
    return out
