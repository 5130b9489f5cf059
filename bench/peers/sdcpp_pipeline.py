#!/usr/bin/env python3
"""stable-diffusion.cpp through its Python binding, on all cores, from the diffusers folder or, in
the modes q8_0 and q4_k, from the GGUF file that it makes of it.

It reads the networks' files where diffusers puts them, but knows the text encoder's parameters only
by the names that they had before transformers 5, and the model's tokens are its own.
"""

import os
import re

import protocol

DONE = re.compile(r"(get_learned_condition|decode_first_stage) completed, taking ([0-9.]+)s")
FIELDS = {"get_learned_condition": "text_ms", "decode_first_stage": "decode_ms"}


def folder(options):
    return options.work / f"stable-diffusion.cpp-{options.model.name}"


def gguf(options):
    """The file that omnirt's rows of the same type read, too (contestants.folder)."""
    return options.work / f"{options.model.name}-{options.mode}.gguf"


def convert(options):
    import stable_diffusion_cpp as library

    if gguf(options).is_file():
        return
    kind = {"q8_0": "q8_0", "q4_k": "q4_K"}[options.mode]
    part = gguf(options).with_suffix(".part.gguf")
    library.StableDiffusion(verbose=False).convert(
        input_path=str(folder(options)), output_path=str(part), output_type=kind
    )
    part.rename(gguf(options))


def linked(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.symlink_to(source.resolve())


def prepare(options):
    with protocol.needs("stable-diffusion.cpp"):
        import stable_diffusion_cpp  # noqa: F401
        from safetensors.torch import load_file, save_file
    target = folder(options)
    for name in ("unet", "vae"):
        file = f"{name}/diffusion_pytorch_model.safetensors"
        linked(options.model / file, target / file)
    weights = load_file(options.model / "text_encoder" / "model.safetensors")
    renamed = {
        name if name.startswith("text_model.") else f"text_model.{name}": value
        for name, value in weights.items()
    }
    (target / "text_encoder").mkdir(parents=True, exist_ok=True)
    save_file(renamed, target / "text_encoder" / "model.safetensors")
    if options.mode != "fp32":
        convert(options)
    protocol.finish({})


def sigmas(options):
    """The reference's noise levels, so that both take the same path."""
    import json

    from openvino_pipeline import Euler

    config = json.loads((options.model / "scheduler" / "scheduler_config.json").read_text())
    return ",".join(f"{value:.6f}" for value in Euler(config, options.steps).sigmas)


def listen(library, recorder):
    """Its log says how long text and decode took; the returned object must be kept alive."""

    @library.sd_log_callback
    def heard(level, text, data):
        if found := DONE.search(text.decode("utf-8", errors="replace")):
            recorder.report[FIELDS[found[1]]] = 1e3 * float(found[2])

    library.sd_set_log_callback(heard, None)
    return heard


def run(options, recorder):
    import stable_diffusion_cpp as library

    kept = listen(library, recorder)
    model = library.StableDiffusion(
        model_path=str(folder(options) if options.mode == "fp32" else gguf(options)),
        n_threads=len(os.sched_getaffinity(0)),
        rng_type="cpu",
        sampler_rng_type="cpu",
        verbose=True,
    )

    def progress(step, steps, seconds):
        if steps != options.steps:
            return
        if step > 0:
            recorder.step_ends()
        if step < steps:
            recorder.step_begins()

    pictures = model.generate_image(
        prompt=options.prompt,
        width=options.size,
        height=options.size,
        cfg_scale=options.guidance_scale,
        sample_method="euler",
        sigmas=sigmas(options),
        sample_steps=options.steps,
        seed=options.seed,
        progress_callback=progress,
    )
    pictures[0].save(options.picture)
    del kept


def main():
    options = protocol.arguments(__doc__, ("fp32", "q8_0", "q4_k")).parse_args()
    recorder = protocol.Recorder()
    if options.prepare:
        return prepare(options)
    run(options, recorder)
    recorder.report["versions"] = protocol.versions("stable-diffusion-cpp-python")
    protocol.finish(recorder.report)


if __name__ == "__main__":
    main()
