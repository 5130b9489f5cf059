#!/usr/bin/env python3
"""Goldens of the guiders: their formulas on given predictions, and whole runs.

  tools/goldens/guiders.py [--only formulas,pag,seg_sigma] [--check]

tests/goldens/guiders/formulas holds predictions of a run of several calls and what each guider makes
of them, by diffusers' guiders (diffusers/guiders/*.py). RUN/{request.json,golden.safetensors} are whole
runs: PAG by diffusers' PAG pipelines, the rest by the plain pipelines over a UNet whose every call is
guided. Where diffusers' guiders do not do what their paper says, or do nothing (docs/guiders.md lists
it), the paper's formula is used here instead, marked "paper".
"""

import argparse
import contextlib
import copy
import math
import pathlib

import common
import torch
import torch.nn.functional as F

FOLDER = common.GOLDENS / "guiders"
SD15 = "../../pipelines/sd15/model"
SD2 = "../../pipelines/sd2/model"
SDXL = "../../pipelines/sdxl/model"
OUTDATED_UNET = "../../pipelines/outdated/model/unet"
PROMPT = {"prompt": "a red apple", "negative_prompt": "gray"}


# -------------------------------------------------------------------------------- what is combined
def reference(guider):
    """One of diffusers' guiders for ours."""
    from diffusers import guiders
    from diffusers.hooks import LayerSkipConfig, SmoothedEnergyGuidanceConfig

    guider = dict(guider)
    kind = guider.pop("type")
    common_names = ("guidance_scale", "guidance_rescale", "start", "stop")
    same = {name: guider.pop(name) for name in common_names if name in guider}
    if kind in ("cfg", "cfg_rescaled", "interval"):
        if kind == "cfg_rescaled":
            same.setdefault("guidance_rescale", 0.7)
        made = guiders.ClassifierFreeGuidance(**same)
    elif kind == "cfg_zero_star":
        made = guiders.ClassifierFreeZeroStarGuidance(**same, **guider)
    elif kind == "apg":
        made = guiders.AdaptiveProjectedGuidance(
            **same,
            adaptive_projected_guidance_momentum=guider.get("momentum"),
            adaptive_projected_guidance_rescale=guider.get("norm_threshold", 15.0),
            eta=guider.get("eta", 1.0),
        )
    elif kind == "tcfg":
        made = guiders.TangentialClassifierFreeGuidance(**same)
    elif kind == "autoguidance":
        made = guiders.AutoGuidance(auto_guidance_layers=[0], dropout=1.0, **same)
    elif kind == "slg":
        made = guiders.SkipLayerGuidance(
            **same,
            skip_layer_guidance_scale=guider.get("slg_scale", 2.8),
            skip_layer_guidance_start=guider.get("slg_start", 0.01),
            skip_layer_guidance_stop=guider.get("slg_stop", 0.2),
            skip_layer_config=LayerSkipConfig([0], fqn="none"),
        )
    elif kind == "pag":
        made = guiders.PerturbedAttentionGuidance(
            **same,
            perturbed_guidance_scale=guider.get("pag_scale", 3.0),
            perturbed_guidance_start=guider.get("pag_start", 0.0),
            perturbed_guidance_stop=guider.get("pag_stop", 1.0),
            perturbed_guidance_layers=[0],
        )
    elif kind == "seg":
        made = guiders.SmoothedEnergyGuidance(
            **same,
            seg_guidance_scale=guider.get("seg_scale", 3.0),
            seg_guidance_start=guider.get("seg_start", 0.0),
            seg_guidance_stop=guider.get("seg_stop", 1.0),
            seg_guidance_config=SmoothedEnergyGuidanceConfig([0], fqn="none"),
        )
    made.momentum_buffer = None
    return made


class Combination:
    """A guider of ours over a run: which predictions a call needs, and what becomes of them."""

    def __init__(self, guider, steps):
        self.guider, self.kind, self.steps, self.made = guider, guider["type"], steps, None
        if self.kind != "none":
            self.made = reference(
                {k: v for k, v in guider.items() if k not in ("sigma_min", "sigma_max")}
            )

    def holds(self, prefix, index, first=0.0):
        start = int(self.guider.get(prefix + "start", first) * self.steps)
        stop = int(self.guider.get(prefix + "stop", 1.0) * self.steps)
        return start <= index < stop

    def __call__(self, index, timestep, sigma, ask):
        """ask(name) is a prediction: cond, uncond, perturbed or guide."""
        guider, cond = self.guider, ask("cond")
        if self.kind == "none":
            return cond
        self.made.set_state(index, self.steps, timestep)
        if self.kind in ("pag", "seg"):
            return self.pushed(index, timestep, ask)
        if self.kind == "interval" and not (
            guider.get("sigma_min", -1) < sigma <= guider.get("sigma_max", math.inf)
        ):
            return cond
        if self.kind == "cfg_zero_star" and index < guider.get("zero_init_steps", 1):
            # paper: diffusers rescales these zeros to not-a-numbers.
            return torch.zeros_like(cond)
        if self.kind == "apg" and index == 0 and "momentum" in guider:
            from diffusers.guiders.adaptive_projected_guidance import MomentumBuffer

            self.made.momentum_buffer = MomentumBuffer(guider["momentum"])
        named = {"pred_cond": cond}
        if self.kind == "slg":
            cfg, skips = self.made._is_cfg_enabled(), self.made._is_slg_enabled()
            if skips and not cfg:
                # paper: diffusers leaves one of the scale's parts out.
                return cond + guider.get("slg_scale", 2.8) * (cond - ask("perturbed"))
            if cfg:
                named["pred_uncond"] = ask("uncond")
            if skips:
                named["pred_cond_skip"] = ask("perturbed")
        elif self.made.num_conditions > 1:
            named["pred_uncond"] = ask("guide" if self.kind == "autoguidance" else "uncond")
        return self.made.forward(**named).pred

    def pushed(self, index, timestep, ask):
        """PAG and SEG. paper: diffusers' guiders leave their first call out whatever start is, and
        one of the scale's parts without classifier-free guidance; its PAG pipelines do neither."""
        guider, cond = self.guider, ask("cond")
        scale = guider.get(self.kind + "_scale", 3.0)
        scale = max(0.0, scale - guider.get("pag_adaptive_scale", 0.0) * (1000 - timestep))
        cfg = self.made._is_cfg_enabled() and guider.get("guidance_scale", 7.5) > 1
        result = cond
        if cfg:
            result = ask("uncond") + guider.get("guidance_scale", 7.5) * (cond - ask("uncond"))
        if self.holds(self.kind + "_", index) and scale > 0:
            result = result + scale * (cond - ask("perturbed"))
        if cfg and guider.get("guidance_rescale", 0.0) > 0:
            from diffusers.guiders.guider_utils import rescale_noise_cfg

            result = rescale_noise_cfg(result, cond, guider["guidance_rescale"])
        return result


# ----------------------------------------------------------------------------------------- formulas
FORMULA_STEPS = 4


def formulas():
    yield "cfg", {"type": "cfg", "guidance_scale": 7.5}
    yield "cfg_rescaled", {"type": "cfg_rescaled", "guidance_scale": 5.0}
    yield "cfg_rescaled_some", {"type": "cfg", "guidance_scale": 5.0, "guidance_rescale": 0.3}
    yield "interval", {"type": "interval", "guidance_scale": 4.0, "start": 0.3, "stop": 0.8}
    yield "zero_star", {"type": "cfg_zero_star", "guidance_scale": 4.0}
    yield "zero_star_two", {"type": "cfg_zero_star", "guidance_scale": 0.5, "zero_init_steps": 2}
    zero = {"type": "cfg_zero_star", "guidance_scale": 4.0, "zero_init_steps": 0}
    yield "zero_star_rescaled", {**zero, "guidance_rescale": 0.5}
    yield "apg", {"type": "apg", "guidance_scale": 7.5}
    apg = {"type": "apg", "guidance_scale": 10.0, "momentum": -0.75, "norm_threshold": 2.5}
    yield "apg_momentum", {**apg, "eta": 0.0}
    apg = {"type": "apg", "guidance_scale": 3.0, "momentum": 0.5, "norm_threshold": 0}
    yield "apg_rescaled", {**apg, "eta": 0.25, "guidance_rescale": 0.4, "start": 0.3}
    yield "tcfg", {"type": "tcfg", "guidance_scale": 6.0}
    yield "tcfg_rescaled", {"type": "tcfg", "guidance_scale": 6.0, "guidance_rescale": 0.7}
    yield "pag", {"type": "pag", "guidance_scale": 5.0, "pag_scale": 2.0}
    yield "pag_alone", {"type": "pag", "guidance_scale": 1.0, "pag_scale": 2.0}
    yield "pag_late", {
        "type": "pag",
        "guidance_scale": 5.0,
        "guidance_rescale": 0.3,
        "pag_start": 0.5,
    }
    yield "pag_adaptive", {"type": "pag", "guidance_scale": 5.0, "pag_adaptive_scale": 0.008}
    yield "slg", {"type": "slg", "guidance_scale": 5.0, "slg_start": 0.01, "slg_stop": 0.8}
    yield "slg_first", {"type": "slg", "guidance_scale": 5.0, "slg_start": 0.0, "slg_stop": 0.5}
    yield "slg_alone", {
        "type": "slg",
        "guidance_scale": 1.0,
        "slg_scale": 1.5,
        "slg_start": 0.0,
        "slg_stop": 1.0,
    }
    yield "seg", {"type": "seg", "guidance_scale": 3.0, "seg_stop": 0.75}
    yield "autoguidance", {"type": "autoguidance", "guidance_scale": 2.0, "guidance_rescale": 0.2}


def write_formulas(folder, check):
    shape = (FORMULA_STEPS, 2, 3, 5, 4)
    names = ("cond", "uncond", "perturbed", "guide")
    base = common.normal(80, *shape)
    inputs = {name: base + 0.5 * common.normal(81 + i, *shape) for i, name in enumerate(names)}
    tensors, cases = dict(inputs), {}
    timesteps = [901.0, 701.0, 401.0, 1.0]
    for name, guider in formulas():
        combination, asked, out = Combination(guider, FORMULA_STEPS), [], []
        for index in range(FORMULA_STEPS):
            now = []

            def ask(which):
                if which not in now:
                    now.append(which)
                return inputs[which][index]

            out.append(combination(index, timesteps[index], 1.0, ask))
            asked.append(sorted(now))
        tensors["out." + name] = torch.stack(out)
        cases[name] = {"guider": guider, "asked": asked}
    save(folder / "formulas", {"timesteps": timesteps, "cases": cases}, tensors, check, "cases")


# --------------------------------------------------------------------------------------- whole runs
def blurred(query, height, width, sigma):
    """paper (github SusungHong/SEG-SDXL, pipeline_seg.py): {B, T, C} smoothed over height x width."""
    if sigma >= 9999:
        return query.mean(dim=1, keepdim=True).expand_as(query)
    size = math.ceil(6 * sigma) + 1 - math.ceil(6 * sigma) % 2

    def line(side):
        length = min(size, side - (side % 2 - 1))
        half = (length - 1) / 2
        weight = torch.exp(-0.5 * (torch.linspace(-half, half, length) / sigma) ** 2)
        return weight / weight.sum()

    down, across = line(height), line(width)
    channels = query.shape[2]
    picture = query.transpose(1, 2).reshape(-1, channels, height, width)
    edge = [len(across) // 2] * 2 + [len(down) // 2] * 2
    kernel = (down[:, None] * across[None, :]).expand(channels, 1, -1, -1)
    picture = F.conv2d(F.pad(picture, edge, mode="reflect"), kernel, groups=channels)
    return picture.flatten(2).transpose(1, 2)


def chosen(unet, layers, kinds):
    for name, module in unet.named_modules():
        if type(module).__name__ not in kinds or getattr(module, "is_cross_attention", False):
            continue
        if any(layer in name for layer in layers):
            yield name, module


@contextlib.contextmanager
def disturbed(unet, guider):
    """The UNet with the layers of a guider's site plan changed."""
    kind, patched, hooks = guider["type"], [], []
    layers = guider.get(
        {"pag": "pag_applied_layers", "slg": "slg_layers", "seg": "seg_applied_layers"}[kind], "mid"
    )
    layers = [layers] if isinstance(layers, str) else layers

    def patch(module, forward):
        patched.append(module)
        module.forward = forward

    if kind == "slg":
        skip = guider.get("slg_skip", "block")
        kinds = {
            "block": ["BasicTransformerBlock"],
            "attention": ["Attention"],
            "feed_forward": ["FeedForward"],
        }[skip]
        for _, module in chosen(unet, layers, kinds):
            # paper: what is left out adds nothing; diffusers' hooks put the normalised input in.
            if skip == "block":
                patch(module, lambda hidden_states, *_, **__: hidden_states)
            else:
                patch(module, lambda hidden_states, *_, **__: torch.zeros_like(hidden_states))
    else:
        for name, module in chosen(unet, layers, ["Attention"]):
            owner = unet.get_submodule(name.split(".transformer_blocks")[0])
            if kind == "pag":
                patch(
                    module,
                    lambda hidden_states, *_, module=module, **__: module.to_out[0](
                        module.to_v(hidden_states)
                    ),
                )
            else:
                grid = {}
                plain = module.to_q.forward
                hooks.append(
                    owner.register_forward_pre_hook(
                        lambda _, args, kwargs, grid=grid: grid.update(
                            size=(args[0] if args else kwargs["hidden_states"]).shape[-2:]
                        ),
                        with_kwargs=True,
                    )
                )
                patch(
                    module.to_q,
                    lambda x, plain=plain, grid=grid: blurred(
                        plain(x), *grid["size"], guider.get("seg_blur_sigma", 9999999.0)
                    ),
                )
    assert patched, guider
    try:
        yield
    finally:
        for module in patched:
            del module.forward
        for hook in hooks:
            hook.remove()


@contextlib.contextmanager
def guided(pipe, guider, negative, weaker=None, config=None):
    """Every call of the pipeline's UNet, which is asked under cond alone, is guided. `negative` makes
    the text and the named inputs of the unconditional call from those of the conditional one. A
    request's `config` says where the pipeline begins in the schedule."""
    unet, state = pipe.unet, {"index": 0, "combination": None}
    plain = unet.forward

    def forward(sample, timestep, encoder_hidden_states=None, **named):
        skipped = steps_before(config or {}) * pipe.scheduler.order
        steps = len(pipe.scheduler.timesteps) - skipped
        if state["combination"] is None:
            state["combination"] = Combination(guider, steps)
        named["return_dict"] = False
        position = state["index"] + skipped

        def ask(name):
            # UNets take the residuals of T2I-Adapters off their list.
            text = encoder_hidden_states
            more = {k: list(v) if isinstance(v, list) else v for k, v in named.items()}
            if name == "uncond":
                text, changes = negative(text, more)
                more.update(changes)
            arguments = (sample, timestep, text)
            if name == "guide":
                return weaker(*arguments, **more)[0]
            if name == "perturbed":
                with disturbed(unet, guider):
                    return plain(*arguments, **more)[0]
            return plain(*arguments, **more)[0]

        known = {}

        def once(name):
            if name not in known:
                known[name] = ask(name)
            return known[name]

        sigma = noise_to_signal(pipe.scheduler, position, float(timestep))
        result = state["combination"](state["index"], float(timestep), sigma, once)
        state["index"] += 1
        return (result,)

    unet.forward = forward
    try:
        yield
    finally:
        del unet.forward


def steps_before(config):
    """Those that image2image and inpaint leave out at the start."""
    steps = config.get("num_inference_steps", 0)
    return steps - min(int(steps * config.get("strength", 1.0)), steps)


def noise_to_signal(scheduler, position, timestep):
    if hasattr(scheduler, "sigmas") and type(scheduler).__name__.startswith(("Euler", "Heun")):
        return float(scheduler.sigmas[position])
    signal = float(scheduler.alphas_cumprod[int(timestep)])
    return ((1 - signal) / signal) ** 0.5


def run(guider, inputs=PROMPT, model=SD15, task="text2image", seed=30, steps=4, components=None, **config):
    request = {
        "task": task,
        "model": model,
        "inputs": inputs,
        "config": {"num_inference_steps": steps, "seed": seed, **config},
        "guider": guider,
    }
    if components:
        request["components"] = components
    return request


# The UNets' middle has one token at these sizes, where no attention can be disturbed.
PLACES = ["mid", "down_blocks.1", "up_blocks.3.attentions.0"]


def runs():
    picture = {**PROMPT, "image": "../../pipelines/inputs/image.png"}
    masked = {**picture, "mask": "../../pipelines/inputs/mask.png"}
    two = {"prompt": ["a red apple", "two men"], "negative_prompt": ["gray", "gray"]}
    pag = {"type": "pag", "guidance_scale": 5.0, "pag_scale": 3.0, "pag_applied_layers": PLACES}
    euler = dict(scheduler="EulerDiscreteScheduler")
    yield "cfg_rescaled", run({"type": "cfg_rescaled", "guidance_scale": 7.5})
    yield "interval", run({"type": "interval", "guidance_scale": 7.5, "start": 0.25, "stop": 0.75})
    yield "interval_sigma", run(
        {"type": "interval", "guidance_scale": 7.5, "sigma_min": 0.5, "sigma_max": 8.0}, **euler
    )
    yield "interval_sigma_ddim", run(
        {"type": "interval", "guidance_scale": 7.5, "sigma_min": 0.5, "sigma_max": 8.0},
        scheduler="DDIMScheduler",
    )
    yield "cfg_zero_star", run({"type": "cfg_zero_star", "guidance_scale": 5.0})
    yield "cfg_zero_star_no_zero", run(
        {"type": "cfg_zero_star", "zero_init_steps": 0, "guidance_rescale": 0.5}, model=SD2
    )
    yield "apg", run(
        {
            "type": "apg",
            "guidance_scale": 8.0,
            "momentum": -0.75,
            "norm_threshold": 2.5,
            "eta": 0.0,
        }
    )
    yield "apg_two", run(
        {"type": "apg", "momentum": 0.5}, inputs=two, task="text2image", **euler
    )
    yield "tcfg", run({"type": "tcfg", "guidance_scale": 7.5})
    yield "autoguidance", run(
        {"type": "autoguidance", "guidance_scale": 2.0},
        components={"guide_network": OUTDATED_UNET},
    )
    yield "pag", run(pag)
    yield "pag_alone", run({**pag, "guidance_scale": 1.0})
    yield "pag_adaptive", run({**pag, "pag_adaptive_scale": 0.004, "guidance_rescale": 0.3})
    yield "pag_two", run(pag, inputs=two, num_images_per_prompt=2, max_batch_rows=5)
    yield "pag_image2image", run(pag, inputs=picture, task="image2image", strength=0.6, steps=5)
    yield "pag_inpaint", run(pag, inputs=masked, task="inpaint", strength=1.0)
    yield "pag_heun", run(pag, scheduler="HeunDiscreteScheduler", steps=3)
    yield "pag_sd2", run({**pag, "pag_applied_layers": ["down"]}, model=SD2)
    slg = {"type": "slg", "guidance_scale": 5.0, "slg_stop": 1.0, "slg_layers": PLACES}
    yield "slg_block", run(slg)
    yield "slg_attention", run({**slg, "slg_skip": "attention", "slg_stop": 0.5})
    yield "slg_feed_forward", run({**slg, "slg_skip": "feed_forward", "guidance_scale": 1.0})
    seg = {"type": "seg", "guidance_scale": 3.0, "seg_applied_layers": PLACES}
    yield "seg", run(seg)
    yield "seg_sigma", run({**seg, "seg_blur_sigma": 1.0}, width=96, height=64)
    xl = {"pag_applied_layers": ["mid", "down_blocks.1"]}
    yield "pag_sdxl", run({**pag, **xl}, model=SDXL)
    yield "pag_sdxl_alone", run({**pag, **xl, "guidance_scale": 1.0}, model=SDXL)
    yield "seg_sdxl", run(
        {**seg, "seg_applied_layers": ["mid", "down_blocks.1"], "seg_blur_sigma": 0.8}, model=SDXL
    )
    yield "seg_alone", run({**seg, "guidance_scale": 1.0, "seg_blur_sigma": 0.4, "seg_start": 0.3})


def by_pag_pipeline(pipe, request, case):
    import diffusers

    guider = request["guider"]
    classes = {
        "text2image": diffusers.StableDiffusionPAGPipeline,
        "image2image": diffusers.StableDiffusionPAGImg2ImgPipeline,
        "inpaint": diffusers.StableDiffusionPAGInpaintPipeline,
    }
    kind = classes[request["task"]]
    parts = {name: part for name, part in pipe.components.items()}
    more = {
        "pag_scale": guider.get("pag_scale", 3.0),
        "pag_adaptive_scale": guider.get("pag_adaptive_scale", 0.0),
    }
    if request["task"] == "text2image":
        more["guidance_rescale"] = guider.get("guidance_rescale", 0.0)

    class Asked(kind):
        def __call__(self, **named):
            return super().__call__(**named, **more)

    asked = kind(
        **parts, requires_safety_checker=False, pag_applied_layers=guider["pag_applied_layers"]
    )
    asked.__class__ = Asked
    asked.set_progress_bar_config(disable=True)
    return asked


def make_sdxl(case, request):
    import diffusers
    import sdxl

    guider = request.pop("guider")
    base = sdxl.load(common.GOLDENS / "pipelines", "sdxl", request["task"])
    arguments = sdxl.arguments_of(request, case, 1)
    latents = []

    def on_step(_, index, timestep, values):
        latents.append(values["latents"].clone())
        return {}

    arguments.update(
        generator=[torch.Generator().manual_seed(request["config"]["seed"])],
        callback_on_step_end=on_step,
    )
    if guider["type"] == "pag":
        pipe = diffusers.StableDiffusionXLPAGPipeline(
            **base.components,
            force_zeros_for_empty_prompt=True,
            add_watermarker=False,
            pag_applied_layers=guider["pag_applied_layers"],
        )
        pipe.set_progress_bar_config(disable=True)
        arguments.update(guidance_scale=guider["guidance_scale"], pag_scale=guider["pag_scale"])
        image = pipe(**arguments).images
    else:
        encoded = base.encode_prompt(
            request["inputs"]["negative_prompt"], device="cpu", do_classifier_free_guidance=False
        )

        def negative(_, named):
            conditions = {**named["added_cond_kwargs"], "text_embeds": encoded[2]}
            return encoded[0], {"added_cond_kwargs": conditions}

        arguments["guidance_scale"] = 1.0
        with guided(base, guider, negative):
            image = base(**arguments).images
    return {f"latents_after_step_{len(latents) - 1}": latents[-1], "image": image}


def make(case, request):
    request = copy.deepcopy(request)
    if request["model"] == SDXL:
        return make_sdxl(case, request)
    guider, config = request["guider"], request["config"]
    pipe = common.load_pipeline(case / request["model"], request["task"])
    if guider["type"] == "pag":
        config["guidance_scale"] = guider.get("guidance_scale", 7.5)
        return common.generate(by_pag_pipeline(pipe, request, case), request, case)
    config["guidance_scale"] = 1.0
    weaker = None
    if "components" in request:
        from diffusers import UNet2DConditionModel

        path = (case / request["components"]["guide_network"]).resolve()
        weaker = UNet2DConditionModel.from_pretrained(path).float().eval()
    prompts = request["inputs"]["negative_prompt"]
    count = config.get("num_images_per_prompt", 1)
    embeds = pipe.encode_prompt(prompts, "cpu", count, False)[0]
    with guided(pipe, guider, lambda text, named: (embeds, {}), weaker, config):
        return common.generate(pipe, request, case)


def kept(tensors):
    """The last latents and the image, whose fp16 is 20 dB finer than what it must meet."""
    steps = [name for name in tensors if name.startswith("latents_after_step_")]
    last = max(steps, key=lambda name: int(name.rsplit("_", 1)[1]))
    return {last: tensors[last], "image": tensors["image"].half()}


def save(folder, request, tensors, check, name="request"):
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise SystemExit(f"{folder.name}: not finite")
    if check:
        common.report_difference(folder.name, folder / "golden.safetensors", tensors)
        return
    common.write_json(folder / f"{name}.json", request)
    common.write_tensors(folder / "golden.safetensors", tensors)
    print(folder.name)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER)
    parser.add_argument("--only", type=lambda text: set(text.split(",")), help="with commas")
    parser.add_argument(
        "--check", action="store_true", help="compare with what is there instead of writing"
    )
    options = parser.parse_args()
    if not options.only or "formulas" in options.only:
        write_formulas(options.folder, options.check)
    for name, request in runs():
        if options.only and name not in options.only:
            continue
        case = options.folder / name
        case.mkdir(parents=True, exist_ok=True)
        save(case, request, kept(make(case, request)), options.check)


if __name__ == "__main__":
    main()
