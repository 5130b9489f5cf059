#!/usr/bin/env python3
"""OpenVINO's CPU plug-in, static shapes: its own files, and a loop in numpy around its networks."""

import json

import protocol

MODES = ("fp32", "int8")


def folders(options):
    """(the fp32 files, the files of this mode)"""
    base = options.work / f"openvino-{options.model.name}"
    return base / "fp32", base / options.mode


def prepare(options):
    with protocol.needs("OpenVINO's converter"):
        import openvino  # noqa: F401

        import openvino_convert
    source, target = folders(options)
    if not openvino_convert.is_made(source, options.model):
        openvino_convert.convert(options.model, source)
    if not openvino_convert.is_made(target, options.model):
        with protocol.needs("NNCF"):
            import nncf  # noqa: F401
        openvino_convert.quantize(source, target, options.model)
    openvino_convert.write_noise(source, target, options)
    protocol.finish({})


class Euler:
    """diffusers' EulerDiscreteScheduler for the two configs of the bench, in numpy."""

    def __init__(self, config, steps):
        import numpy

        linear = config["beta_schedule"] == "linear"
        low, high = config["beta_start"], config["beta_end"]
        train = config["num_train_timesteps"]
        betas = (
            numpy.linspace(low, high, train)
            if linear
            else numpy.linspace(low**0.5, high**0.5, train) ** 2
        )
        alphas = numpy.cumprod(1 - betas)
        if config["timestep_spacing"] == "linspace":
            times = numpy.linspace(0, train - 1, steps)[::-1]
        else:
            times = (numpy.arange(steps) * (train // steps))[::-1] + float(config["steps_offset"])
        known = ((1 - alphas) / alphas) ** 0.5
        self.timesteps = times.astype(numpy.float32)
        self.sigmas = numpy.append(numpy.interp(times, numpy.arange(train), known), 0.0)
        top = self.sigmas.max()
        linspaced = config["timestep_spacing"] == "linspace"
        self.first = top if linspaced else (top**2 + 1) ** 0.5
        self.velocity = config["prediction_type"] == "v_prediction"

    def scaled(self, latents, step):
        return (latents / (self.sigmas[step] ** 2 + 1) ** 0.5).astype("float32")

    def stepped(self, latents, prediction, step):
        sigma, following = self.sigmas[step], self.sigmas[step + 1]
        slope = prediction
        if self.velocity:
            clean = prediction * (-sigma / (sigma**2 + 1) ** 0.5) + latents / (sigma**2 + 1)
            slope = (latents - clean) / sigma
        return (latents + slope * (following - sigma)).astype("float32")


def compiled(core, folder, name, options, shapes):
    model = core.read_model(folder / f"{name}.xml")
    model.reshape({port: shape for port, shape in zip(model.inputs, shapes)})
    # Without the hint a machine with AMX would compute in bf16.
    return core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def save(values, path):
    from PIL import Image

    picture = ((values[0].transpose(1, 2, 0) / 2 + 0.5).clip(0, 1) * 255).round()
    Image.fromarray(picture.astype("uint8")).save(path)


def tokens_of(folder, facts, prompt):
    import numpy
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    length = facts["max_tokens"]
    tokenizer.enable_truncation(length)
    tokenizer.enable_padding(length=length, pad_id=facts["pad_token_id"])
    return numpy.array([line.ids for line in tokenizer.encode_batch(["", prompt])], numpy.int64)


def run(options, recorder):
    import numpy
    import openvino

    folder = folders(options)[1]
    facts = json.loads((folder / "facts.json").read_text())
    tokens = tokens_of(folder, facts, options.prompt)
    latents = numpy.load(folder / f"noise-{options.size}-{options.seed}.npy")
    core, sample = openvino.Core(), [2, *latents.shape[1:]]
    encoder = compiled(core, folder, "text_encoder", options, [list(tokens.shape)])
    with recorder.part("text_ms"):
        text = encoder([tokens])[0].copy()
    unet = compiled(core, folder, "unet", options, [sample, [], list(text.shape)])
    decoder = compiled(core, folder, "vae_decoder", options, [list(latents.shape)])

    schedule = Euler(facts["scheduler"], options.steps)
    latents = latents * numpy.float32(schedule.first)
    for step, timestep in enumerate(schedule.timesteps):
        recorder.step_begins()
        pair = numpy.repeat(schedule.scaled(latents, step), 2, axis=0)
        plain, guided = unet([pair, numpy.array(timestep), text])[0]
        prediction = plain + options.guidance_scale * (guided - plain)
        latents = schedule.stepped(latents, prediction, step)
        recorder.step_ends()
    with recorder.part("decode_ms"):
        values = decoder([latents / numpy.float32(facts["scaling_factor"])])[0]
    save(values, options.picture)


def main():
    options = protocol.arguments(__doc__, MODES).parse_args()
    recorder = protocol.Recorder()
    protocol.quiet_libraries()
    if options.prepare:
        return prepare(options)
    run(options, recorder)
    recorder.report["versions"] = protocol.versions("openvino")
    if options.mode == "int8":
        recorder.report["versions"] |= protocol.versions("nncf")
    protocol.finish(recorder.report)


if __name__ == "__main__":
    main()
