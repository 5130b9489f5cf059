#!/usr/bin/env python3
"""Speed against likeness of a step cache: deep on emoji-sd, or taylorseer on emoji.

  bench/step_cache.py build/release/omnirt [--cache deep] [--intervals 2,3,4,5] [--branches 0,1,2] [--orders 0,1]
                      [--repeat 3]
  bench/step_cache.py build/release/omnirt --cache taylorseer [--intervals 2,3,4,5] [--modes attention,lite]
                      [--orders 0,1,2]

Each setting makes the same images as a run without a cache; PSNR is between the two. Times are
those of single steps, as the report shows them: the median of full ones and of cached ones, the
first step of a process (which reads the weights) excluded; a run's time follows from how many there are
of each. Settings take turns, so that a machine that slows down slows all. Writes step_cache.json,
.md and, where matplotlib is there, .svg and .png below --out. Needs numpy and Pillow.
"""

import argparse
import json
import math
import pathlib
import platform
import statistics
import subprocess
import tempfile

import numpy
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROMPTS = [
    "a red apple",
    "a rocket on a blue background",
    "an octopus",
    "a castle on a teal background",
    "a sunflower",
    "a dog face",
]
AIM_SPEED, AIM_PSNR = 2.0, 30.0
FIRST_STEPS = 3  # of taylorseer, that are always computed
MODES = {"attention": [], "lite": ["--use-lite-mode"]}


def psnr(a, b):
    error = float(((a - b) ** 2).mean())
    return 10 * math.log10(255.0**2 / error) if error else math.inf


def run(program, model, prompt, seed, steps, setting):
    """(pixels, ms of each step) of one image in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder) / "picture.png"
        command = [str(program), "generate", "--model", str(model), "--prompt", prompt]
        command += ["--seed", str(seed), "--steps", str(steps), "--json", "-q", "-o", str(picture)]
        command += flags_of(setting)
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if ended.returncode != 0:
            raise SystemExit(f"{' '.join(command)}:\n{ended.stderr}")
        report = json.loads(ended.stdout)
        pixels = numpy.asarray(Image.open(picture).convert("RGB"), dtype=numpy.float64)
        return pixels, report["denoise_steps_ms"]


def flags_of(setting):
    if not setting:
        return []
    interval, part, order = setting
    flags = ["--cache-interval", str(interval)]
    if part not in MODES:
        return ["--cache", "deep", *flags, "--cache-branch", str(part), "--cache-order", str(order)]
    return ["--cache", "taylorseer", *flags, "--max-order", str(order), *MODES[part]]


def is_full(index, setting):
    if not setting:
        return True
    interval, part, _ = setting
    if part not in MODES:
        return index % interval == 0
    return index < FIRST_STEPS or (index - FIRST_STEPS - 1) % interval == 0


def measure(options, settings):
    """setting -> {psnr: [...], full_ms: [...], cached_ms: [...]}; setting None is the plain run."""
    plain = {}
    seen = {setting: {"psnr": [], "full_ms": [], "cached_ms": []} for setting in settings}
    for turn in range(options.repeat):
        for seed, prompt in enumerate(PROMPTS):
            for setting in settings:
                pixels, steps = run(
                    options.program, options.model, prompt, seed, options.steps, setting
                )
                if setting is None:
                    plain[prompt] = pixels
                if turn == 0:
                    seen[setting]["psnr"].append(psnr(pixels, plain[prompt]))
                for index, ms in list(enumerate(steps))[1:]:
                    kind = "full_ms" if is_full(index, setting) else "cached_ms"
                    seen[setting][kind].append(ms)
    return seen


def summary(seen, steps):
    full_step = statistics.median(seen[None]["full_ms"])
    rows = []
    for setting, values in seen.items():
        full = sum(is_full(index, setting) for index in range(steps))
        cached_ms = statistics.median(values["cached_ms"]) if values["cached_ms"] else None
        # Full steps are the same work with and without a cache: their time is the plain run's.
        loop = full * full_step + (steps - full) * (cached_ms or 0)
        rows.append(
            {
                "interval": setting[0] if setting else None,
                "part": setting[1] if setting else None,
                "order": setting[2] if setting else None,
                "full_steps": full,
                "cached_step_ms": cached_ms,
                "loop_ms": loop,
                "speedup": steps * full_step / loop,
                "psnr_mean": statistics.fmean(values["psnr"]) if setting else None,
                "psnr_least": min(values["psnr"]) if setting else None,
            }
        )
    return {"full_step_ms": full_step, "rows": rows}


def number(value, digits=1):
    if value is None:
        return ""
    return "same" if math.isinf(value) else f"{value:.{digits}f}"


def table(result, part):
    lines = [
        f"| interval | {part} | order | full steps | cached step, ms | steps, ms | times as fast | PSNR, dB (mean) | (least) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in result["rows"]:
        lines.append(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |".format(
                row["interval"] or "no cache",
                "" if row["part"] is None else row["part"],
                "" if row["order"] is None else row["order"],
                row["full_steps"],
                number(row["cached_step_ms"]),
                number(row["loop_ms"]),
                number(row["speedup"], 2),
                number(row["psnr_mean"]),
                number(row["psnr_least"]),
            )
        )
    return "\n".join(lines) + "\n"


def plot(result, out, part):
    try:
        import matplotlib
    except ImportError:
        print("no matplotlib: no plot")
        return
    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    rows = [row for row in result["rows"] if row["interval"] and not math.isinf(row["psnr_mean"])]
    parts = sorted({row["part"] for row in rows})
    for each, order in sorted({(row["part"], row["order"]) for row in rows}):
        line = [row for row in rows if (row["part"], row["order"]) == (each, order)]
        axes.plot(
            [row["speedup"] for row in line],
            [row["psnr_mean"] for row in line],
            marker="o",
            linestyle=(":", "-", "--")[min(order, 2)],
            color=f"C{parts.index(each)}",
            label=f"{part} {each}, order {order}",
        )
        for row in line:
            axes.annotate(
                str(row["interval"]),
                (row["speedup"], row["psnr_mean"]),
                textcoords="offset points",
                xytext=(5, 4),
            )
    axes.axhline(AIM_PSNR, color="gray", linewidth=0.8, linestyle="--")
    axes.axvline(AIM_SPEED, color="gray", linewidth=0.8, linestyle="--")
    axes.set_xlabel("times as fast as every step in full")
    axes.set_ylabel("PSNR against the run without a cache, dB")
    axes.set_title(f"Step cache, {result['model']}, {result['steps']} steps (numbers: the interval)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(out / "step_cache.svg")
    figure.savefig(out / "step_cache.png", dpi=120)


def numbers(text):
    return [int(part) for part in text.split(",")]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--cache", choices=["deep", "taylorseer"], default="deep")
    parser.add_argument("--model", help="emoji-sd for deep, emoji for taylorseer if omitted")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--intervals", type=numbers, default=[2, 3, 4, 5])
    parser.add_argument("--branches", type=numbers, default=[0, 1, 2])
    parser.add_argument("--modes", type=lambda text: text.split(","), default=list(MODES))
    parser.add_argument("--orders", type=numbers, help="0,1 of deep and 0,1,2 of taylorseer if omitted")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "bench")
    options = parser.parse_args()
    options.program = options.program.resolve()
    deep = options.cache == "deep"
    options.model = options.model or ("emoji-sd" if deep else "emoji")
    parts, part = (options.branches, "branch") if deep else (options.modes, "mode")
    settings = [None]
    settings += [
        (interval, each, order)
        for interval in options.intervals
        for each in parts
        for order in options.orders or ([0, 1] if deep else [0, 1, 2])
    ]
    result = summary(measure(options, settings), options.steps)
    result.update(
        model=options.model,
        steps=options.steps,
        pictures=len(PROMPTS),
        processor=platform.processor() or platform.machine(),
    )
    options.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(result, indent=1).replace("Infinity", "null")
    (options.out / "step_cache.json").write_text(text + "\n")
    (options.out / "step_cache.md").write_text(table(result, part))
    print(table(result, part), end="")
    plot(result, options.out, part)
    reached = [
        row
        for row in result["rows"]
        if row["interval"] and row["speedup"] >= AIM_SPEED and row["psnr_mean"] >= AIM_PSNR
    ]
    for row in sorted(reached, key=lambda row: -row["psnr_mean"]):
        print(
            f"interval {row['interval']}, {part} {row['part']}, order {row['order']}: {row['speedup']:.2f} times as fast at {row['psnr_mean']:.1f} dB (least {row['psnr_least']:.1f})"
        )
    if not reached:
        print(f"no setting is {AIM_SPEED} times as fast at {AIM_PSNR} dB")


if __name__ == "__main__":
    main()
