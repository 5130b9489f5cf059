#!/usr/bin/env python3
"""What a format of weights costs an image: a table for docs/formats.md.

  bench/fidelity.py build/release/omnirt [--write-docs]

Converts the denoiser of each embedded model to each format, makes images with it, and compares them
with those of the weights as they are published: PSNR of the images (8 bits), the bytes of the
denoiser's weights as they are in memory, and the CPU time of a step on one thread, which other
programs of the machine disturb least. Needs numpy and Pillow.
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
FORMATS = ["fp32", "q8_0", "q5_k", "q4_k", "q4_0"]
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


def held_bytes(program, model, component, file):
    """As they are in memory on the cpu: those of the file."""
    path = file or ROOT / "models" / model / component
    lines = subprocess.run(
        [program, "inspect", str(path), "--json"], check=True, capture_output=True, text=True
    )
    return json.loads(lines.stdout)["weights"]["bytes"]


def rows(program, model, component, work):
    reference = None
    for name in ["published", *FORMATS]:
        file = None
        if name != "published":
            file = work / f"{model}-{name}.gguf"
            run(program, "convert", ROOT / "models" / model / component, file, "--quantize", name)
        folder = work / f"{model}-{name}"
        folder.mkdir()
        extra = ["--component", f"{component}={file}"] if file else []
        made, step = images(program, model, extra, folder), step_ms(program, model, extra, folder)
        reference = reference or made
        decibels = statistics.mean(psnr(*pair) for pair in zip(made, reference))
        yield name, decibels, held_bytes(program, model, component, file), step


def table(program):
    lines = ["| model | format | PSNR, dB | weights in memory, MB | step, ms |"]
    lines.append("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for model, component in MODELS.items():
            for name, decibels, held, step in rows(program, model, component, pathlib.Path(folder)):
                same = "the same" if decibels >= 99 else f"{decibels:.1f}"
                lines.append(f"| {model} | {name} | {same} | {held / 1e6:.1f} | {step:.1f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    made = table(options.program)
    print(made)
    if options.write_docs:
        begin, end = "<!-- bench:fidelity -->", "<!-- /bench:fidelity -->"
        page = re.sub(f"{begin}.*{end}", f"{begin}\n{made}\n{end}", PAGE.read_text(), flags=re.S)
        PAGE.write_text(page)


main()
