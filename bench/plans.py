#!/usr/bin/env python3
"""Holds memory plans against the kernel's measure: random budgets, sizes, offloads and formats.

  bench/plans.py build/release/omnirt [MODEL...] [--plans 200] [--seed 1]

Each run is a process of its own; its largest resident set (VmHWM) must be at most its budget and
within 10% of what the plan predicts, and its image the same, byte for byte, as that of the same
request without a budget. Without models: the embedded ones and a small random checkpoint of each
family (tests/goldens/pipelines). The denoiser's weights are the folder's, or a file of another
format, or rounded as they are read.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FAMILIES = ["sd15", "sd2", "sdxl", "pixart_sigma", "sd3", "sd35", "flux_dev", "flux2_klein"]
FAMILIES += ["qwen_image", "z_image"]
SIZES = {"small": [(64, 64), (96, 64), (96, 96), (128, 128)], "large": [(256, 256), (384, 256), (512, 512)]}
MOST = {"sd3": 96, "sd35": 96}  # pixels that a small checkpoint has positions for
OPTIONS = [[], ["--num-images", "2"], ["--guidance-scale", "1"]]
FILES = {"gguf": ["q8_0", "q4_k", "fp32"], "safetensors": ["fp8", "int8_convrot"]}
FLAGS = {
    "int8": ["--quantize", "int8"],
    "bf16": ["--dtype", "bf16"],
    "kept as fp8": ["--storage-dtype", "float8_e4m3fn"],
}


def name_of(model):
    path = pathlib.Path(model)
    return path.parent.name if path.name == "model" else path.name


class Formats:
    """The flags of each format of a model's denoiser; what it cannot be written in is left out."""

    def __init__(self, program, folder):
        self.program, self.folder, self.known = program, folder, {}

    def of(self, model):
        if model not in self.known:
            self.known[model] = [("as published", []), *FLAGS.items(), *self.files(model)]
        return self.known[model]

    def files(self, model):
        denoiser = next(p for p in ("transformer", "unet") if (pathlib.Path(model) / p).is_dir())
        for suffix, names in FILES.items():
            for name in names:
                file = self.folder / f"{name_of(model)}-{name}.{suffix}"
                line = [self.program, "convert", pathlib.Path(model) / denoiser, file]
                if not subprocess.run([*line, "--quantize", name], capture_output=True).returncode:
                    yield name, ["--component", f"{denoiser}={file}"]


def run(program, request, folder):
    image, report = folder / "image.png", folder / "report.json"
    for old in (image, report):
        old.unlink(missing_ok=True)
    command = [program, "generate", "-q", *request, "-o", image, "--report", report]
    ended = subprocess.run(command, capture_output=True, text=True)
    made = sorted(folder.glob("image*.png"))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in made)).hexdigest() if made else ""
    for file in made:
        file.unlink()
    told = json.loads(report.read_text()) if report.exists() else {}
    return ended, told, digest


def least_budget(program, request):
    """In bytes: what a run that asks for next to nothing is answered."""
    command = [program, "validate", "--json", *request, "--memory-budget", "1MB"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
    plan = told["memory_plan"]
    if plan is None:
        return None, told["errors"]
    return plan["predicted_peak_bytes"], sum(each["bytes"] for each in plan["components"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    models = flags.models or [str(ROOT / "models" / each) for each in ("emoji", "emoji-sd")] + [
        str(ROOT / "build/goldens/pipelines" / each / "model") for each in FAMILIES
    ]
    draw = random.Random(flags.seed)
    wholes, over, far, other, ratios, drawn = {}, [], [], [], [], collections.Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        formats = Formats(flags.program, folder)
        while len(ratios) < flags.plans:
            model = draw.choice(models)
            large = sum(f.stat().st_size for f in pathlib.Path(model).rglob("*.safetensors")) > 1e9
            sizes = SIZES["large" if large else "small"]
            most = MOST.get(name_of(model), 1 << 30)
            width, height = draw.choice([size for size in sizes if max(size) <= most])
            request = ["-m", model, "-p", "red apple", "--seed", "1", "-W", str(width)]
            request += ["-H", str(height), "--steps", str(draw.randint(1, 3)), "--pack", "never"]
            kind, extra = draw.choice(formats.of(model))
            request += [*draw.choice(OPTIONS), *extra]
            least, weights = least_budget(flags.program, request)
            if least is None:  # the model does not take the option
                print(f"not taken: {name_of(model)}, {kind}: {weights[0]['message']}", flush=True)
                continue
            drawn[kind] += 1
            # What the process has already differs a little from run to run.
            budget = int(1.02 * least + draw.random() ** 2 * weights)
            ended, told, digest = run(
                flags.program, [*request, "--memory-budget", str(budget)], folder
            )
            if ended.returncode:
                sys.exit(f"{request} with {budget}: {ended.stderr}")
            key = tuple(request)
            if key not in wholes:
                wholes[key] = run(flags.program, request, folder)[2]
            memory = told["memory"]
            peak, predicted = memory["peak_rss_bytes"], memory["plan"]["predicted_peak_bytes"]
            ratios.append(peak / predicted)
            kinds = [each["offload"] for each in memory["plan"]["components"]]
            line = f"{len(ratios)} {name_of(model)}, {kind}, {' '.join(request[6:17])}: "
            line += f"budget {budget / 1e6:.0f}"
            line += f" predicted {predicted / 1e6:.0f} peak {peak / 1e6:.0f} MB ({ratios[-1]:.3f}) {kinds}"
            if peak > budget:
                over.append(line)
            if abs(ratios[-1] - 1) > 0.1:
                far.append(line)
            if digest != wholes[key]:
                other.append(line)
            print(line, flush=True)
    ratios.sort()
    print(", ".join(f"{kind} {count}" for kind, count in drawn.items()))
    print(f"{flags.plans} plans: {len(over)} over their budget, {len(far)} further than 10% from the")
    print(f"prediction, {len(other)} of another image; peak / predicted {ratios[0]:.3f} to {ratios[-1]:.3f},")
    print(f"median {ratios[len(ratios) // 2]:.3f}")
    for title, lines in (("over", over), ("far", far), ("another image", other)):
        for line in lines:
            print(f"{title}: {line}")
    return 1 if over or far or other else 0


if __name__ == "__main__":
    sys.exit(main())
