#!/usr/bin/env python3
"""Runs omnirt and the reference side by side and prints wall seconds and peak memory of each.

Every run is a process of its own, from start to the image's file; the two take turns, after one
warm-up each (files in the page cache). Peak memory is the largest resident set of the process, as
the kernel counts it. Standard library only; the reference has its own interpreter.
"""

import argparse
import json
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
JOB = [
    "--model",
    "models/emoji-sd",
    "--prompt",
    "a red apple",
    "--steps",
    "20",
    "--seed",
    "1",
    "--guidance-scale",
    "5",
]
FASTER, SMALLER = 5.0, 3.0  # the aims: so many times sooner, so many times less memory

VERSIONS = "import importlib.metadata as m, json; print(json.dumps({n: m.version(n) for n in ('torch', 'diffusers', 'transformers')}))"
PSNR = """
import sys, numpy
from PIL import Image
a, b = (numpy.asarray(Image.open(p).convert('RGB'), dtype=float) for p in sys.argv[1:])
error = ((a - b) ** 2).mean() if a.shape == b.shape else 255.0 ** 2
print(10 * numpy.log10(255.0 ** 2 / error) if error else 'inf')
"""


def stop(message):
    sys.exit(f"bench: {message}")


def timed(command):
    """{seconds, peak_mb} of one process; stops when it fails."""
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            log.seek(0)
            tail = log.read().decode(errors="replace")[-2000:]
            stop(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{tail}")
    to_mb = 1024 * 1024 if sys.platform == "darwin" else 1024
    return {
        "seconds": seconds,
        "peak_mb": usage.ru_maxrss / to_mb,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
    }


def machine():
    info = {
        "system": platform.platform(),
        "processor": platform.machine(),
        "threads": len(os.sched_getaffinity(0)),
    }
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            info["processor"] = line.split(":", 1)[1].strip()
            break
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {**info, "memory_gb": round(pages / 2**30, 1), "load_before": os.getloadavg()[0]}


def output_of(command):
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def summary(runs):
    seconds, peaks = [run["seconds"] for run in runs], [run["peak_mb"] for run in runs]
    return {
        "seconds_min": min(seconds),
        "seconds_median": statistics.median(seconds),
        "seconds_max": max(seconds),
        "peak_mb_median": statistics.median(peaks),
        "peak_mb_max": max(peaks),
    }


def print_table(report):
    facts = report["machine"]
    print(
        f"\n{facts['processor']}, {facts['threads']} threads, {facts['memory_gb']} GB, load {facts['load_before']:.1f}; {facts['system']}"
    )
    print(f"{report['runs']} runs each, taking turns, whole process: {' '.join(JOB)}\n")
    print(f"{'':<12}{'seconds: min':>14}{'median':>10}{'max':>10}{'peak memory':>15}")
    for name in ("omnirt", "reference"):
        row = report[name]
        print(
            f"{name:<12}{row['seconds_min']:>14.2f}{row['seconds_median']:>10.2f}{row['seconds_max']:>10.2f}{row['peak_mb_median']:>12.0f} MB"
        )
    print(
        f"\nomnirt is {report['times_sooner']:.1f} times sooner (median; aim {FASTER:g}) and needs {report['times_less_memory']:.1f} times less memory (aim {SMALLER:g})."
    )
    print(f"The two pictures agree to {report['psnr_db']} dB.")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("omnirt", help="the binary, for instance build/release/omnirt")
    parser.add_argument("-n", "--runs", type=int, default=5)
    parser.add_argument(
        "--json", type=pathlib.Path, default=ROOT / "build" / "bench" / "startup.json"
    )
    parser.add_argument("--check", action="store_true", help="end with 1 when an aim is missed")
    options = parser.parse_args()

    python = os.environ.get(
        "OMNIRT_PYTHON", str(ROOT / "build" / "bench-venv" / "bin" / "python")
    )
    omnirt = str((ROOT / options.omnirt).resolve())
    if not os.access(omnirt, os.X_OK):
        stop(f"{options.omnirt} is no program; make build makes it")
    versions = output_of([python, "-c", VERSIONS]) if os.access(python, os.X_OK) else ""
    if not versions:
        stop(f"{python} has no diffusers; scripts/setup bench makes it, or set OMNIRT_PYTHON")

    with tempfile.TemporaryDirectory() as folder:
        pictures = {name: os.path.join(folder, f"{name}.png") for name in ("omnirt", "reference")}
        commands = {
            "omnirt": [omnirt, "generate", *JOB, "-o", pictures["omnirt"]],
            "reference": [python, "bench/startup_reference.py", *JOB, "-o", pictures["reference"]],
        }
        facts, runs = machine(), {name: [] for name in commands}
        for turn in range(options.runs + 1):
            for name, command in commands.items():
                run = timed(command)
                print(
                    f"{'warm-up' if turn == 0 else f'run {turn}':<8}{name:<10}{run['seconds']:>8.2f} s{run['peak_mb']:>8.0f} MB",
                    flush=True,
                )
                if turn > 0:
                    runs[name].append(run)
        agreement = output_of([python, "-c", PSNR, *pictures.values()]) or "nan"

    report = {
        "job": JOB,
        "runs": options.runs,
        "machine": facts,
        "reference_versions": json.loads(versions),
    }
    report["omnirt_version"] = output_of([omnirt, "--version"])
    report["commit"] = output_of(["git", "rev-parse", "--short", "HEAD"])
    report.update({name: {**summary(done), "each": done} for name, done in runs.items()})
    report["times_sooner"] = (
        report["reference"]["seconds_median"] / report["omnirt"]["seconds_median"]
    )
    report["times_less_memory"] = (
        report["reference"]["peak_mb_median"] / report["omnirt"]["peak_mb_median"]
    )
    report["psnr_db"] = "inf" if agreement == "inf" else round(float(agreement), 1)
    print_table(report)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    print(f"Written to {options.json}")
    missed = (
        report["times_sooner"] < FASTER
        or report["times_less_memory"] < SMALLER
        or math.isnan(float(agreement))
        or float(agreement) < 40
    )
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
