#!/usr/bin/env python3
"""diffusers' own StableDiffusionPipeline in fp32: as it comes, channels-last, or compiled."""

import importlib.util

import protocol

protocol.quiet_libraries()
MODES = ("eager", "channels_last", "compile")


def loaded(options):
    import torch
    from diffusers import StableDiffusionPipeline

    pipe = StableDiffusionPipeline.from_pretrained(
        options.model, torch_dtype=torch.float32, safety_checker=None
    )
    pipe.set_progress_bar_config(disable=True)
    if options.mode == "channels_last":
        pipe.unet.to(memory_format=torch.channels_last)
        pipe.vae.to(memory_format=torch.channels_last)
    return pipe


def compiled(pipe, options):
    """Inductor with frozen weights, the way that its makers advise for inference on a CPU."""
    import torch
    import torch._inductor.config as inductor

    inductor.freezing = True
    pipe.unet = torch.compile(pipe.unet)
    pipe.vae.decoder = torch.compile(pipe.vae.decoder)
    channels, side = pipe.unet.config.in_channels, options.size // pipe.vae_scale_factor
    width = pipe.unet.config.cross_attention_dim
    with torch.no_grad():
        pipe.unet(
            torch.zeros(2, channels, side, side),
            torch.tensor(1.0),
            encoder_hidden_states=torch.zeros(2, pipe.tokenizer.model_max_length, width),
            return_dict=False,
        )
        pipe.vae.decode(torch.zeros(1, channels, side, side), return_dict=False)


def watched(pipe, recorder):
    """Times the three networks' calls where the pipeline makes them."""
    unet, encode, decode = pipe.unet.forward, pipe.text_encoder.forward, pipe.vae.decode

    def timed_unet(*args, **kwargs):
        recorder.step_begins()
        return unet(*args, **kwargs)

    def timed_encode(*args, **kwargs):
        with recorder.part("text_ms"):
            return encode(*args, **kwargs)

    def timed_decode(*args, **kwargs):
        with recorder.part("decode_ms"):
            return decode(*args, **kwargs)

    pipe.unet.forward, pipe.vae.decode = timed_unet, timed_decode
    pipe.text_encoder.forward = timed_encode


def made(pipe, options, recorder):
    import torch

    def step_end(pipe, step, timestep, tensors):
        recorder.step_ends()
        return tensors

    return pipe(
        options.prompt,
        width=options.size,
        height=options.size,
        num_inference_steps=options.steps,
        guidance_scale=options.guidance_scale,
        generator=torch.Generator().manual_seed(options.seed),
        callback_on_step_end=step_end,
    ).images[0]


def main():
    options = protocol.arguments(__doc__, MODES).parse_args()
    recorder = protocol.Recorder()
    if options.prepare:
        # Found but not imported: that takes seconds, and nothing else is to be prepared.
        found = importlib.util.find_spec("diffusers") and importlib.util.find_spec("torch")
        return protocol.finish({}) if found else protocol.unavailable("diffusers is not installed")
    pipe = loaded(options)
    if options.mode == "compile":
        compiled(pipe, options)
    watched(pipe, recorder)
    made(pipe, options, recorder).save(options.picture)
    recorder.report["versions"] = protocol.versions("diffusers", "torch", "transformers")
    protocol.finish(recorder.report)


if __name__ == "__main__":
    main()
