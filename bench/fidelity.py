#!/usr/bin/env python3
"""What a format of weights costs an image: a table for docs/formats.md.

  bench/fidelity.py build/release/omnirt [--write-docs]

Converts the denoiser of each embedded model to each format, makes images with it, and compares them with those of the
weights as they are published: PSNR of the images (8 bits), the bytes of the denoiser's weights as they lie in memory,
and the least time of a step. Needs numpy and Pillow.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

from psnr import psnr

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "formats.md"
MODELS = {"emoji": "transformer", "emoji-sd": "unet"}
FORMATS = ["fp32", "fp16", "bf16", "q8_0", "q5_k", "q5_1", "q5_0", "q4_k", "q4_1", "q4_0"]
PROMPTS = ["a red apple", "a yellow sun", "a blue fish", "a brown bear"]
SEED = 7


def run(program, *arguments):
    subprocess.run([program, *map(str, arguments)], check=True, capture_output=True)


def images(program, model, extra, folder):
    """The images of all prompts, the least of all steps, and the last report."""
    made, steps, report = [], [], {}
    for index, prompt in enumerate(PROMPTS):
        image, path = folder / f"{index}.png", folder / f"{index}.json"
        common = ["--model", ROOT / "models" / model, "--prompt", prompt, "--seed", SEED]
        run(program, "generate", *common, *extra, "-o", image, "--report", path)
        report = json.loads(path.read_text())
        steps += report["denoise_steps_ms"]
        made.append(image)
    return made, min(steps), report


def held_bytes(program, model, component, file):
    """As they lie in memory on the cpu: those of the file."""
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
        made, step, _ = images(program, model, extra, folder)
        reference = reference or made
        decibels = statistics.mean(psnr(*pair) for pair in zip(made, reference))
        yield name, decibels, held_bytes(program, model, component, file), step


def table(program):
    lines = ["| model | format | PSNR, dB | weights in memory, MB | step, ms |", "|---|---|---|---|---|"]
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
