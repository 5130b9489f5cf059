#!/usr/bin/env python3
"""What a format of weights costs an image: the tables of docs/formats.md.

  bench/fidelity.py build/release/omnirt [--write-docs]

Converts the denoiser of each embedded model to each format, or has the program round it, makes
images with it, and compares them with those of the same numbers in fp32: PSNR of the images
(8 bits), the bytes of the denoiser's weights in memory as a plan counts them, and the CPU time of a
step on one thread, which other programs of the machine disturb least. Then the PSNR alone, for one
small random checkpoint of each family (tests/goldens/pipelines), of what such narrow layers take.
Needs numpy and Pillow.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile

from psnr import psnr

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "formats.md"
MODELS = {"emoji": "transformer", "emoji-sd": "unet"}
GGUF = ["q8_0", "q5_k", "q4_k", "q4_0"]
SAFETENSORS = ["fp8", "int8_convrot"]
# What the program does with the file's weights, by the name of the table's row.
FLAGS = {
    "kept as float8_e4m3fn": ["--storage-dtype", "float8_e4m3fn"],
    "kept as float8_e5m2": ["--storage-dtype", "float8_e5m2"],
    "rounded by --quantize int8": ["--quantize", "int8"],
    "computed by --dtype bf16": ["--dtype", "bf16"],
}
FAMILIES = {
    "sd15": "Stable Diffusion 1.5",
    "sdxl": "SDXL",
    "pixart_sigma": "PixArt Sigma",
    "sd35": "Stable Diffusion 3.5",
    "flux_dev": "FLUX.1 dev",
    "flux2_klein": "FLUX.2 klein",
    "qwen_image": "Qwen-Image",
    "z_image": "Z-Image",
}
PROMPTS = ["a red apple", "a yellow sun", "a blue fish", "a brown bear"]
SEED = 7


FEW, MANY = 4, 24  # steps; times are differences, so that start and decoding do not count
ROUNDS = 2


def run(program, *arguments):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [program, *map(str, arguments)]
    subprocess.run(line, check=True, capture_output=True, env=environment)


def cpu_seconds(program, *arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run(program, *arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


def request(model, prompt, extra, image):
    common = ["--model", ROOT / "models" / model, "--prompt", prompt, "--seed", SEED]
    return ["generate", *common, *extra, "-o", image, "--quiet"]


def images(program, model, extra, folder):
    made = [folder / f"{index}.png" for index in range(len(PROMPTS))]
    for prompt, image in zip(PROMPTS, made):
        run(program, *request(model, prompt, extra, image))
    return made


def step_ms(program, model, extra, folder):
    """The least of some rounds: other programs of the machine can only add to it."""
    line = request(model, PROMPTS[0], extra, folder / "step.png")
    differences = []
    for _ in range(ROUNDS):
        few = cpu_seconds(program, *line, "--steps", FEW)
        many = cpu_seconds(program, *line, "--steps", MANY)
        differences.append((many - few) / (MANY - FEW))
    return 1e3 * min(differences)


def held_bytes(program, model, component, extra):
    """Of the component's weights in memory, all of them at a time."""
    line = [program, "validate", "--json", "--model", str(ROOT / "models" / model)]
    line += ["--prompt", PROMPTS[0], "--offload", "component", *map(str, extra)]
    told = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
    (held,) = [part["bytes"] for part in told["memory_plan"]["components"] if part["name"] == component]
    return held


def ways(program, model, component, work):
    """(name, flags) of each row, the first of them what the others are compared with."""

    def converted(name, suffix):
        file = work / f"{model}-{name}.{suffix}"
        run(program, "convert", ROOT / "models" / model / component, file, "--quantize", name)
        return name, ["--component", f"{component}={file}"]

    yield converted("fp32", "gguf")
    yield "fp16, as published", []
    for name in GGUF:
        yield converted(name, "gguf")
    for name in SAFETENSORS:
        yield converted(name, "safetensors")
    name, extra = converted("int8_convrot", "safetensors")
    yield f"{name}, widened by --quantize none", [*extra, "--quantize", "none"]
    yield from FLAGS.items()


def rows(program, model, component, work):
    reference = None
    for name, extra in ways(program, model, component, work):
        folder = work / f"{model}-{name}-images"
        folder.mkdir()
        made, step = images(program, model, extra, folder), step_ms(program, model, extra, folder)
        reference = reference or made
        decibels = statistics.mean(psnr(*pair) for pair in zip(made, reference))
        yield name, decibels, held_bytes(program, model, component, extra), step


def shown(decibels):
    return "the same" if decibels >= 99 else f"{decibels:.1f}"


def table(program, work):
    lines = ["| model | format | PSNR, dB | weights in memory, MB | step, ms |"]
    lines.append("|---|---|---|---|---|")
    for model, component in MODELS.items():
        for name, decibels, held, step in rows(program, model, component, work):
            lines.append(f"| {model} | {name} | {shown(decibels)} | {held / 1e6:.1f} | {step:.1f} |")
    return "\n".join(lines)


def family_line(program, model, work):
    """The text of each way's PSNR; of a network that is refused, a dash."""
    folder = ROOT / "build" / "goldens" / "pipelines" / model
    wanted = json.loads((folder / "text2image" / "request.json").read_text())
    wanted["model"] = str(folder / "model")
    request = work / f"{model}.json"
    request.write_text(json.dumps(wanted))

    def image(name, extra):
        made = work / f"{model}-{name}"
        run(program, "generate", "-f", request, *extra, "-o", made / "image.png", "--quiet")
        return sorted(made.glob("*.png"))[0]

    reference, cells = image("fp32", []), []
    for name, extra in FLAGS.items():
        try:
            cells.append(shown(psnr(image(name, extra), reference)))
        except subprocess.CalledProcessError:
            cells.append("-")
    return cells


def families(program, work):
    lines = ["| family | " + " | ".join(FLAGS) + " |", "|---" * (len(FLAGS) + 1) + "|"]
    for model, name in FAMILIES.items():
        lines.append(f"| {name} | " + " | ".join(family_line(program, model, work)) + " |")
    return "\n".join(lines)


def write(mark, made):
    begin, end = f"<!-- bench:{mark} -->", f"<!-- /bench:{mark} -->"
    page = re.sub(f"{begin}.*{end}", f"{begin}\n{made}\n{end}", PAGE.read_text(), flags=re.S)
    PAGE.write_text(page)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    program = str(pathlib.Path(options.program).resolve())
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for mark, make in (("fidelity", table), ("families", families)):
            made = make(program, work)
            print(made, flush=True)
            if options.write_docs:
                write(mark, made)


main()
