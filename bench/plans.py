#!/usr/bin/env python3
"""Holds memory plans against the kernel's measure: random budgets, sizes, offloads and formats.

  bench/plans.py build/release/omnirt MODEL... [--plans 200] [--seed 1]

Each run is a process of its own; its largest resident set (VmHWM) must be at most its budget and
within 10% of what the plan predicts, and its image the same, byte for byte, as that of the same
request without a budget.
"""

import argparse
import hashlib
import json
import pathlib
import random
import subprocess
import sys
import tempfile

SIZES = {"small": [(64, 64), (96, 64), (128, 128)], "large": [(256, 256), (384, 256), (512, 512)]}
OPTIONS = [[], ["--num-images", "2"], ["--quantize", "int8"], ["--guidance-scale", "1"]]


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
        sys.exit(f"{' '.join(command)}: {told['errors']}")
    return plan["predicted_peak_bytes"], sum(each["bytes"] for each in plan["components"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--plans", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    flags = parser.parse_args()
    draw = random.Random(flags.seed)
    wholes, over, far, other, ratios = {}, [], [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number in range(flags.plans):
            model = draw.choice(flags.models)
            large = sum(f.stat().st_size for f in pathlib.Path(model).rglob("*.safetensors")) > 1e9
            width, height = draw.choice(SIZES["large" if large else "small"])
            request = ["-m", model, "-p", "red apple", "--seed", "1", "-W", str(width)]
            request += ["-H", str(height), "--steps", str(draw.randint(1, 3)), "--pack", "never"]
            request += draw.choice(OPTIONS)
            least, weights = least_budget(flags.program, request)
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
            line = f"{number} {pathlib.Path(model).name} {' '.join(request[8:])}: budget {budget / 1e6:.0f}"
            line += f" predicted {predicted / 1e6:.0f} peak {peak / 1e6:.0f} MB ({ratios[-1]:.3f}) {kinds}"
            if peak > budget:
                over.append(line)
            if abs(ratios[-1] - 1) > 0.1:
                far.append(line)
            if digest != wholes[key]:
                other.append(line)
            print(line, flush=True)
    ratios.sort()
    print(f"{flags.plans} plans: {len(over)} over their budget, {len(far)} further than 10% from the")
    print(f"prediction, {len(other)} of another image; peak / predicted {ratios[0]:.3f} to {ratios[-1]:.3f},")
    print(f"median {ratios[len(ratios) // 2]:.3f}")
    for title, lines in (("over", over), ("far", far), ("another image", other)):
        for line in lines:
            print(f"{title}: {line}")
    return 1 if over or far or other else 0


if __name__ == "__main__":
    sys.exit(main())
