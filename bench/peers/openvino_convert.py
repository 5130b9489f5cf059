"""Makes OpenVINO's files from a diffusers folder: three networks, the tokenizer and some noise.

Done once and never timed, which favours OpenVINO: its process starts from its own format, and needs
neither torch nor diffusers. Shapes stay open here; the peer fixes them before it compiles.
"""

import json

import numpy

SEEDS = 10  # as many rounds as a bench may have
CALIBRATION_PROMPTS = ("a green apple", "a house on a blue background")
VERSION = "2"  # raised when what is written changes, so that older files are made again


def stamp(folder):
    """Of the model that files were made from: another checkpoint in its place is converted again."""
    weights = (folder / "unet" / "diffusion_pytorch_model.safetensors").stat()
    return f"{VERSION} {weights.st_size} {weights.st_mtime_ns}"


def is_made(target, folder):
    made = target / "made"
    return made.is_file() and made.read_text() == stamp(folder)


def networks(folder):
    """{name: (module, example inputs)}; decode is the second half of the autoencoder."""
    import torch
    from diffusers import StableDiffusionPipeline

    pipe = StableDiffusionPipeline.from_pretrained(
        folder, torch_dtype=torch.float32, safety_checker=None
    )

    class Text(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = pipe.text_encoder

        def forward(self, ids):
            return self.network(input_ids=ids, return_dict=False)[0]

    class Noise(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = pipe.unet

        def forward(self, sample, timestep, text):
            return self.network(sample, timestep, text, return_dict=False)[0]

    class Picture(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = pipe.vae

        def forward(self, latents):
            return self.network.decode(latents, return_dict=False)[0]

    channels = pipe.unet.config.in_channels
    length, width = pipe.tokenizer.model_max_length, pipe.unet.config.cross_attention_dim
    sample = torch.zeros(2, channels, 16, 16)
    return pipe, {
        "text_encoder": (Text(), (torch.zeros(2, length, dtype=torch.int64),)),
        "unet": (Noise(), (sample, torch.tensor(1.0), torch.zeros(2, length, width))),
        "vae_decoder": (Picture(), (sample[:1],)),
    }


def write_facts(pipe, target):
    """What the peer's own loop needs to know of the pipeline."""
    facts = {
        "scheduler": dict(pipe.scheduler.config),
        "channels": pipe.unet.config.in_channels,
        "scale": pipe.vae_scale_factor,
        "scaling_factor": pipe.vae.config.scaling_factor,
        "max_tokens": pipe.tokenizer.model_max_length,
        "pad_token_id": pipe.tokenizer.pad_token_id,
    }
    (target / "facts.json").write_text(json.dumps(facts, default=str, indent=1) + "\n")


def convert(folder, target):
    import openvino
    import torch

    target.mkdir(parents=True, exist_ok=True)
    pipe, found = networks(folder)
    write_facts(pipe, target)
    pipe.tokenizer.backend_tokenizer.save(str(target / "tokenizer.json"))
    for name, (module, example) in found.items():
        with torch.no_grad():
            model = openvino.convert_model(module.eval(), example_input=example)
        openvino.save_model(model, target / f"{name}.xml", compress_to_fp16=False)
        del model
    (target / "made").write_text(stamp(folder))


def calibration(core, source, facts):
    """What the networks meet in short runs at fp32, on small maps: {network: its inputs}."""
    from openvino_pipeline import Euler, tokens_of

    encoder, unet = (
        core.compile_model(source / f"{name}.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        for name in ("text_encoder", "unet")
    )
    schedule, draw = Euler(facts["scheduler"], 4), numpy.random.default_rng(1)
    met = {"unet": [], "vae_decoder": []}
    for prompt in CALIBRATION_PROMPTS:
        text = encoder([tokens_of(source, facts, prompt)])[0].copy()
        latents = draw.standard_normal((1, facts["channels"], 16, 16), numpy.float32)
        latents = latents * numpy.float32(schedule.first)
        for step, timestep in enumerate(schedule.timesteps):
            pair = numpy.repeat(schedule.scaled(latents, step), 2, axis=0)
            met["unet"].append([pair, numpy.array(timestep), text])
            plain, guided = unet(met["unet"][-1])[0]
            latents = schedule.stepped(latents, plain + 7.5 * (guided - plain), step)
        met["vae_decoder"].append([latents / numpy.float32(facts["scaling_factor"])])
    return met


def quantize(source, target, folder):
    """int8 weights and activations where convolutions are; weights alone in the text encoder."""
    import nncf
    import openvino

    core, facts = openvino.Core(), json.loads((source / "facts.json").read_text())
    met = calibration(core, source, facts)
    target.mkdir(parents=True, exist_ok=True)
    for name in ("text_encoder", "unet", "vae_decoder"):
        model = core.read_model(source / f"{name}.xml")
        if name == "text_encoder":
            model = nncf.compress_weights(model)
        else:
            model = nncf.quantize(
                model,
                nncf.Dataset(met[name]),
                subset_size=len(met[name]),
                model_type=nncf.ModelType.TRANSFORMER,
                advanced_parameters=nncf.AdvancedQuantizationParameters(
                    disable_bias_correction=True
                ),
            )
        openvino.save_model(model, target / f"{name}.xml", compress_to_fp16=False)
        del model
    for name in ("facts.json", "tokenizer.json"):
        (target / name).write_text((source / name).read_text())
    (target / "made").write_text(stamp(folder))


def write_noise(source, target, options):
    """The noise of some seeds as diffusers would draw it; numpy has not torch's normal numbers."""
    import torch

    facts = json.loads((source / "facts.json").read_text())
    side = options.size // facts["scale"]
    for seed in range(options.seed, options.seed + SEEDS):
        path = target / f"noise-{options.size}-{seed}.npy"
        if not path.is_file():
            draw = torch.Generator().manual_seed(seed)
            noise = torch.randn((1, facts["channels"], side, side), generator=draw)
            numpy.save(path, noise.numpy())
