#!/usr/bin/env python3
"""Tiny random ControlNets of Qwen-Image: what diffusers makes of them, and of requests with them.

  tools/goldens/qwen_image_controlnets.py [--only networks,runs] [--runs one] [--check]

tests/goldens/networks/qwen_image_controlnet* as networks.py makes them; tests/goldens/control/qwen_image/RUN/
{request.json,golden.safetensors} a run over the model qwen_image.
"""

import json

import common
import networks
import qwen_image
import torch
from golden_files import make_controls
from PIL import Image
from safetensors.torch import load_file, save_file

HALF = torch.float16

# -------------------------------------------------------------------------------------- networks
CONTROLNETS = {
    "qwen_image_controlnet": (330, dict(num_layers=2)),
    "qwen_image_controlnet_one_block": (331, dict(num_layers=1)),
    # For inpainting: a mask's channel for each of a token's latents.
    "qwen_image_controlnet_inpaint": (332, dict(num_layers=1, extra_condition_channels=4)),
}


def control_golden(model, seed, rows, height, width, text, timesteps, spans=None):
    """height and width in tokens."""
    config = model.config
    channels = config.in_channels // 4
    embeds = common.normal(seed + 1, rows, text, config.joint_attention_dim)
    times = torch.tensor(timesteps, dtype=torch.float32).expand(rows).clone()
    inputs = {"in.timestep": times, "in.encoder_hidden_states": embeds}
    tokens = {}
    more = config.extra_condition_channels // 4
    for i, (name, count) in enumerate((("sample", channels), ("controlnet_cond", channels + more))):
        latents = common.normal(seed + 2 * i, rows, count, 2 * height, 2 * width)
        inputs[f"in.{name}"] = latents
        tokens[name] = qwen_image.Pipeline._pack_latents(
            latents.unsqueeze(1), rows, count, 2 * height, 2 * width
        )
    mask = None
    if spans:
        mask = (torch.arange(text)[None] < torch.tensor(spans)[:, None]).long()
        inputs["in.encoder_attention_mask"] = mask.float()
    residuals = model(
        tokens["sample"],
        controlnet_cond=tokens["controlnet_cond"],
        encoder_hidden_states=embeds,
        encoder_hidden_states_mask=mask,
        timestep=times / 1000,
        img_shapes=[[(1, height, width)]] * rows,
        return_dict=False,
    )
    for i, residual in enumerate(residuals):
        inputs[f"out.controlnet_block_samples.{i}"] = residual
    return inputs


def control_case(seed, config):
    from diffusers import QwenImageControlNetModel

    def make(folder):
        values = {**qwen_image.QWEN_IMAGE, "joint_attention_dim": 24, **config}
        networks.save_checkpoint(QwenImageControlNetModel(**values), folder, seed, 1.0, HALF)

    def goldens(folder):
        model = QwenImageControlNetModel.from_pretrained(
            folder, torch_dtype=torch.float32, low_cpu_mem_usage=False
        ).eval()
        yield "golden", control_golden(model, 940, 2, 2, 3, 5, [999.0, 20.5])
        yield "golden_padding", control_golden(model, 950, 2, 1, 7, 9, [433.25], [3, 9])

    return make, goldens


class BlockwiseBlock(torch.nn.Module):
    """DiffSynth-Studio's BlockWiseControlBlock, whose norms are torch's."""

    def __init__(self, dim):
        super().__init__()
        self.x_rms = torch.nn.RMSNorm(dim, eps=1e-6)
        self.y_rms = torch.nn.RMSNorm(dim, eps=1e-6)
        self.input_proj = torch.nn.Linear(dim, dim)
        self.output_proj = torch.nn.Linear(dim, dim)

    def forward(self, tokens, control):
        both = self.x_rms(tokens) + self.y_rms(control)
        return self.output_proj(torch.nn.functional.gelu(self.input_proj(both)))


class Blockwise(torch.nn.Module):
    """DiffSynth-Studio's QwenImageBlockWiseControlNet; diffusers has none. Its files have no config: the one that is
    written is what the class was made with."""

    def __init__(self, num_layers, dim, in_dim, additional_in_dim=0):
        super().__init__()
        self.img_in = torch.nn.Linear(in_dim + additional_in_dim, dim)
        self.controlnet_blocks = torch.nn.ModuleList([BlockwiseBlock(dim) for _ in range(num_layers)])

    def tokens(self, latents):
        """latents {1, C, H, W} -> {1, L, D}."""
        patches = torch.nn.functional.pixel_unshuffle(latents, 2)
        return self.img_in(patches.flatten(2).transpose(1, 2))


BLOCKWISE = {
    "qwen_image_blockwise": (350, dict()),
    "qwen_image_blockwise_inpaint": (351, dict(additional_in_dim=4)),
}


def blockwise_values(more):
    base = qwen_image.QWEN_IMAGE
    dim = base["num_attention_heads"] * base["attention_head_dim"]
    return dict(num_layers=base["num_layers"], dim=dim, in_dim=base["in_channels"], **more)


def load_blockwise(folder):
    config = json.loads((folder / "config.json").read_text())
    config.pop("_class_name")
    model = Blockwise(**config).eval()
    state = load_file(folder / "model.safetensors")
    model.load_state_dict({name: value.float() for name, value in state.items()})
    return model


def blockwise_case(seed, more):
    def make(folder):
        folder.mkdir(parents=True, exist_ok=True)
        model = Blockwise(**blockwise_values(more))
        common.reseed_parameters(model, seed, 1.0)
        state = {name: value.half().contiguous() for name, value in model.state_dict().items()}
        save_file(state, folder / "model.safetensors", metadata={"format": "pt"})
        config = {"_class_name": "QwenImageBlockWiseControlNet", **blockwise_values(more)}
        common.write_json(folder / "config.json", config)

    def goldens(folder):
        model = load_blockwise(folder)
        channels = model.img_in.in_features // 4
        latents = common.normal(seed, 1, channels, 4, 6)
        tokens = common.normal(seed + 1, 2, 6, model.img_in.out_features)
        made = {"in.controlnet_cond": latents, "in.image_tokens": tokens}
        for i, block in enumerate(model.controlnet_blocks):
            made[f"out.hint.{i}"] = block(tokens, model.tokens(latents))
        yield "golden", made

    return make, goldens


def network_cases():
    for name, (seed, more) in BLOCKWISE.items():
        yield name, blockwise_case(seed, more)
    for name, (seed, config) in CONTROLNETS.items():
        yield name, control_case(seed, config)


# ------------------------------------------------------------------------------------------ runs
IMAGE = {
    "image": "../../../pipelines/inputs/image.png",
    "mask": "../../../pipelines/inputs/mask.png",
}
EDGES, DEPTH = "../../inputs/edges.png", "../../inputs/depth_48x40.png"


def run(seed, inputs, names, task="text2image", **config):
    folders = [f"../../../networks/qwen_image_controlnet{name}" for name in names]
    return {
        "task": task,
        "model": "../../../pipelines/qwen_image/model",
        "inputs": inputs,
        "components": {"controlnet": folders[0] if len(folders) == 1 else folders},
        "config": {"num_inference_steps": 4, "seed": seed, "width": 48, "height": 32, **config},
    }


def blockwise(request, names):
    """With ControlNets by their files, as they are published."""
    files = [f"../../../networks/qwen_image_blockwise{name}/model.safetensors" for name in names]
    request["components"] = {"controlnet": files[0] if len(files) == 1 else files}
    return request


def blockwise_runs():
    prompt, two, negative = qwen_image.PROMPT, qwen_image.TWO, qwen_image.NEGATIVE
    each = run(
        352,
        {**two, **negative, "control_image": EDGES},
        [""],
        guidance_scale=3.0,
        num_images_per_prompt=2,
        controlnet_conditioning_scale=0.8,
    )
    yield "blockwise", blockwise(each, [""])
    part = run(
        353,
        {**prompt, "control_image": [DEPTH, EDGES]},
        ["", ""],
        guidance_scale=1.0,
        num_inference_steps=5,
        controlnet_conditioning_scale=[0.7, 0.5],
        control_guidance_start=[0.2, 0.0],
        control_guidance_end=[0.8, 1.0],
    )
    yield "blockwise_two", blockwise(part, ["", ""])
    inpaint = run(354, {**prompt, **negative, **IMAGE}, [""], "inpaint", guidance_scale=3.0)
    yield "blockwise_inpaint", blockwise(inpaint, ["_inpaint"])


def runs():
    prompt, two, negative = qwen_image.PROMPT, qwen_image.TWO, qwen_image.NEGATIVE
    yield "one", run(
        340,
        {**two, **negative, "control_image": EDGES},
        [""],
        guidance_scale=3.0,
        num_images_per_prompt=2,
        controlnet_conditioning_scale=0.8,
    )
    yield "part", run(
        341,
        {**prompt, "control_image": DEPTH},
        ["_one_block"],
        guidance_scale=1.0,
        num_inference_steps=5,
        control_guidance_start=0.2,
        control_guidance_end=0.8,
    )
    yield "two", run(
        342,
        {**prompt, **negative, "control_image": [EDGES, DEPTH]},
        ["", ""],
        guidance_scale=2.0,
        controlnet_conditioning_scale=[0.9, 0.4],
        # Else the reference takes the first image alone.
        control_guidance_start=[0.0, 0.0],
        control_guidance_end=[1.0, 1.0],
    )
    yield "inpaint", run(
        343,
        {**prompt, **negative, **IMAGE},
        ["_inpaint"],
        "inpaint",
        guidance_scale=3.0,
        controlnet_conditioning_scale=0.9,
    )
    yield from blockwise_runs()
    context = run(
        344,
        {**two, **negative, "context_image": DEPTH},
        [""],
        guidance_scale=3.0,
        num_images_per_prompt=2,
    )
    del context["components"]
    yield "context", context
    parts = {
        "entity_prompts": ["the sea", "all people and the small apple"],
        "entity_masks": ["../../inputs/left.png", "../../inputs/below.png"],
    }
    for seed, title, more in ((345, "entities", {}), (346, "entities_on_negative", {"entities_on_negative": True})):
        of_parts = run(
            seed,
            {**prompt, **negative, **parts},
            [""],
            guidance_scale=3.0,
            num_images_per_prompt=1 if more else 2,
            **more,
        )
        del of_parts["components"]
        yield title, of_parts


class InContext(torch.nn.Module):
    """The transformer with a control image's tokens after those of the image, as DiffSynth-Studio's
    model_fn_qwen_image gives it context_latents; diffusers has no such pipeline."""

    def __init__(self, transformer, context):
        super().__init__()
        self.transformer, self.context = transformer, context  # {1, L, C}: as large as the image
        self.config, self.dtype, self.device = transformer.config, transformer.dtype, transformer.device

    def cache_context(self, name):
        return self.transformer.cache_context(name)

    def forward(self, hidden_states, img_shapes, **given):
        made = hidden_states.shape[1]
        context = self.context.expand(hidden_states.shape[0], -1, -1)
        tokens = torch.cat([hidden_states, context], 1)
        shapes = [[each[0] if isinstance(each, list) else each] * 2 for each in img_shapes]
        out = self.transformer(hidden_states=tokens, img_shapes=shapes, **given)
        return (out[0][:, :made],)


class WithEntities(InContext):
    """The transformer with texts for parts of the image, as DiffSynth-Studio's process_entity_masks has it; diffusers
    has no such pipeline. `entities` are their embeddings, `masks` {E, L} says where; the pipeline asks under the
    prompt and, where there is guidance, under the negative prompt by turns."""

    def __init__(self, transformer, entities, masks, guided, on_negative):
        super().__init__(transformer, None)
        self.entities, self.masks, self.calls = entities, masks, 0
        self.guided, self.on_negative = guided, on_negative

    def forward(self, hidden_states, encoder_hidden_states, img_shapes, **given):
        from diffusers.models.transformers import transformer_qwenimage as module

        negative = self.guided and self.calls % 2 == 1
        self.calls += 1
        asked = dict(hidden_states=hidden_states, img_shapes=img_shapes, **given)
        if negative and not self.on_negative:
            return self.transformer(encoder_hidden_states=encoder_hidden_states, **asked)
        rows, prompt = hidden_states.shape[0], encoder_hidden_states
        texts = [prompt if negative else each.expand(rows, -1, -1) for each in self.entities] + [prompt]
        masks = torch.cat([self.masks, torch.ones_like(self.masks[:1])])
        sees = self.attention(texts, masks)
        plain_places, plain_attention = self.transformer.pos_embed.forward, module.dispatch_attention_fn

        def places(shapes, max_txt_seq_len=None, device=None, **more):
            each = [plain_places(shapes, max_txt_seq_len=t.shape[1], device=device) for t in texts]
            return each[0][0], torch.cat([text for _, text in each])

        def attention(*tensors, attn_mask=None, **more):
            return plain_attention(*tensors, attn_mask=sees[None, None], **more)

        self.transformer.pos_embed.forward, module.dispatch_attention_fn = places, attention
        try:
            return self.transformer(encoder_hidden_states=torch.cat(texts, 1), **asked)
        finally:
            self.transformer.pos_embed.forward, module.dispatch_attention_fn = plain_places, plain_attention

    @staticmethod
    def attention(texts, masks):
        """Which token looks at which, the texts' first."""
        lengths = [text.shape[1] for text in texts]
        start, image = sum(lengths), masks.shape[1]
        sees = torch.ones(start + image, start + image, dtype=torch.bool)
        sees[:start, :start] = torch.block_diag(*[torch.ones(n, n) for n in lengths]) > 0
        at = 0
        for length, mask in zip(lengths, masks > 0):
            sees[at : at + length, start:] = mask
            sees[start:, at : at + length] = mask[:, None]
            at += length
        return sees


def with_entities(folder, request):
    pipe = common.load_any(folder / request["model"])
    config, inputs = request["config"], request["inputs"]
    entities = [pipe.encode_prompt(prompt)[0] for prompt in inputs["entity_prompts"]]
    masks = []
    for path in inputs["entity_masks"]:
        # As QwenImageUnit_EntityControl.preprocess_masks.
        mask = Image.open(folder / path).convert("RGB")
        mask = mask.resize((config["width"] // 8, config["height"] // 8), Image.NEAREST)
        white = torch.tensor(list(mask.getdata())).float().mean(1).view(1, 1, mask.height, mask.width)
        masks.append((torch.nn.functional.max_pool2d((white > 127.5).float(), 2)).flatten())
    guided = config.get("guidance_scale", 4.0) > 1
    on_negative = config.get("entities_on_negative", False)
    pipe.transformer = WithEntities(pipe.transformer, entities, torch.stack(masks), guided, on_negative)
    return qwen_image.generate(pipe, request, folder)


def normalised_mode(pipe, pixels):
    """{1, C, h, w} of pixels {1, 3, H, W}."""
    mode = pipe.vae.encode(pixels.unsqueeze(2)).latent_dist.mode()
    mean, std = (qwen_image.of_channels(pipe.vae, f"latents_{name}") for name in ("mean", "std"))
    return ((mode - mean) / std)[:, :, 0]


def blockwise_latents(pipe, request, folder, image):
    """What a ControlNet is given, as DiffSynth-Studio's QwenImageUnit_BlockwiseControlNet has it."""
    config, inputs = request["config"], request["inputs"]
    image = Image.open(folder / image).convert("RGB")
    pixels = pipe.image_processor.preprocess(image, config["height"], config["width"])
    if "mask" not in inputs:
        return normalised_mode(pipe, pixels)
    mask = qwen_image.pipeline_of(pipe, "inpaint").mask_processor.preprocess(
        Image.open(folder / inputs["mask"]), config["height"], config["width"]
    )
    latents = normalised_mode(pipe, torch.where(mask > 0.5, -1.0, pixels))
    kept = 1 - torch.nn.functional.interpolate(mask, size=latents.shape[-2:])
    return torch.cat([latents, kept], 1)


def with_blockwise(folder, request):
    """Hooks add to what each block of diffusers' transformer made, as model_fn_qwen_image does."""
    pipe = common.load_any(folder / request["model"])
    config, inputs = request["config"], request["inputs"]
    as_list = lambda value: value if isinstance(value, list) else [value]
    files = as_list(request["components"]["controlnet"])
    nets = [load_blockwise((folder / file).parent) for file in files]
    images = as_list(inputs.get("control_image", inputs.get("image")))
    controls = [net.tokens(blockwise_latents(pipe, request, folder, image)) for net, image in zip(nets, images)]
    every = lambda key, default: (as_list(config.get(key, default)) * len(nets))[: len(nets)]
    scales, starts, ends = (
        every("controlnet_conditioning_scale", 1.0),
        every("control_guidance_start", 0.0),
        every("control_guidance_end", 1.0),
    )
    steps, per_step = config["num_inference_steps"], 2 if config.get("guidance_scale", 4.0) > 1 else 1
    calls = 0

    def hook(index):
        def add(module, args, output):
            step, (text, image) = (calls - 1) // per_step, output
            hints = [
                net.controlnet_blocks[index](image, control) * scale
                for net, control, scale, start, end in zip(nets, controls, scales, starts, ends)
                if step / steps >= start and (step + 1) / steps <= end
            ]
            return text, image + sum(hints)

        return add

    def count(module, args):
        nonlocal calls
        calls += 1

    pipe.transformer.register_forward_pre_hook(count)
    for index, block in enumerate(pipe.transformer.transformer_blocks):
        block.register_forward_hook(hook(index))
    of_control = ("control_image", "image", "mask", "controlnet_conditioning_scale", "control_guidance_start", "control_guidance_end")
    plain = lambda values: {name: value for name, value in values.items() if name not in of_control}
    asked = {**request, "task": "text2image", "inputs": plain(inputs), "config": plain(config)}
    return qwen_image.generate(pipe, asked, folder)


def in_context(folder, request):
    pipe = common.load_any(folder / request["model"])
    config = request["config"]
    image = Image.open(folder / request["inputs"]["context_image"]).convert("RGB")
    pixels = pipe.image_processor.preprocess(image, config["height"], config["width"])
    latents = normalised_mode(pipe, pixels).unsqueeze(1)
    context = qwen_image.Pipeline._pack_latents(latents, 1, *latents.shape[2:])
    pipe.transformer = InContext(pipe.transformer, context)
    return qwen_image.generate(pipe, request, folder)


def generate(folder, request):
    """As qwen_image.generate."""
    import diffusers

    if "context_image" in request["inputs"]:
        return in_context(folder, request)
    if "entity_prompts" in request["inputs"]:
        return with_entities(folder, request)
    paths = request["components"]["controlnet"]
    if "blockwise" in str(paths):
        return with_blockwise(folder, request)
    several = isinstance(paths, list)
    net = diffusers.QwenImageControlNetModel.from_pretrained(
        folder / (paths[0] if several else paths), torch_dtype=torch.float32, low_cpu_mem_usage=False
    ).eval()
    if several:  # the reference takes one for several images
        net = diffusers.QwenImageMultiControlNetModel([net])
    pipe = common.load_any(folder / request["model"])
    if request["task"] == "inpaint":
        made = diffusers.QwenImageControlNetInpaintPipeline(**pipe.components, controlnet=net)
        torch.manual_seed(request["config"]["seed"])  # It samples the image's latents by that.
        return qwen_image.generate(made, request, folder)
    made = diffusers.QwenImageControlNetPipeline(**pipe.components, controlnet=net)
    return qwen_image.generate(made, request, folder)


if __name__ == "__main__":
    make_controls(__doc__, "qwen_image", network_cases, runs, generate)
