#!/usr/bin/env python3
"""The omnirt program, started as its users start it; its own report has the parts' times.

Standard library only, so that this wrapper weighs nothing next to the program: wall time and peak
memory are the program's, taken here and sent with the report.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import protocol

LEVELS = ("compile", "kernel_override", "eager")
STEP_LINE = re.compile(rb"step (\d+)/(\d+)")


def parsed():
    parser = protocol.arguments(__doc__, LEVELS)
    parser.add_argument("--omnirt", default=os.environ.get("BENCH_OMNIRT", ""))
    parser.add_argument("--extra", action="append", default=[], help="a further flag or value")
    return parser.parse_args()


def level_flags(options, known):
    """A program from before --level has one level, eager, and needs no flag for it."""
    if "--level" in known:
        return ["--level", options.mode]
    return [] if options.mode == "eager" else None


def prepare(options):
    if not os.access(options.omnirt, os.X_OK):
        protocol.unavailable(f"{options.omnirt} is no program")
    known = subprocess.run([options.omnirt, "generate", "--help"], capture_output=True, text=True)
    missing = [flag for flag in options.extra if flag.startswith("--") and flag not in known.stdout]
    if level_flags(options, known.stdout) is None:
        missing.append("--level")
    if missing:
        protocol.unavailable(f"this omnirt has no {' and no '.join(missing)}")
    protocol.finish({"level_flags": level_flags(options, known.stdout)})


def command(options, report):
    known = subprocess.run([options.omnirt, "generate", "--help"], capture_output=True, text=True)
    return [
        *(options.omnirt, "generate", "--model", str(options.model), "--prompt", options.prompt),
        *("--width", str(options.size), "--height", str(options.size)),
        *("--steps", str(options.steps), "--seed", str(options.seed)),
        *("--guidance-scale", str(options.guidance_scale)),
        *("-o", str(options.picture), "--report", str(report)),
        *(level_flags(options, known.stdout) or []),
        *options.extra,
    ]


def run(line):
    """{wall_s, peak_rss_mb, step_ends} of the program; its progress lines show when a step ends."""
    begin, step_ends, said = time.monotonic(), [], []
    process = subprocess.Popen(
        line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    for text in process.stderr:
        said.append(text)
        if STEP_LINE.match(text):
            step_ends.append(time.monotonic() - begin)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - begin
    if process.returncode != 0:
        sys.stderr.write(b"".join(said[-20:]).decode(errors="replace"))
        sys.exit(process.returncode)
    return {"wall_s": wall, "peak_rss_mb": usage.ru_maxrss / 1024, "step_ends": step_ends}


def steps_of(report, step_ends, loop_start):
    """The report's own figures where it has them; else the gaps between the progress lines."""
    own = report.get("denoise_steps_ms") or report["timings"].get("denoise_steps_ms")
    if own:
        return own
    edges = [loop_start, *step_ends]
    return [1e3 * (after - before) for before, after in zip(edges, edges[1:])]


def selected_levels(report):
    levels = {}
    for entry in report["backend_timeline"]:
        for attempt in entry["attempts"]:
            if attempt["selected"]:
                levels[entry["component"]] = attempt["level"]
    return levels


def notes(options, levels):
    other = sorted(name for name, level in levels.items() if level != options.mode)
    return [f"{name} ran at {levels[name]}" for name in other]


def main():
    options = parsed()
    if options.prepare:
        return prepare(options)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "report.json"
        measured = run(command(options, path))
        report = json.loads(path.read_text())
    timings, levels = report["timings"], selected_levels(report)
    step_ends = measured.pop("step_ends")
    # Every step's end was seen on standard error, so the loop's start is known on this clock.
    loop_start = step_ends[-1] - timings["denoise_loop_ms"] / 1e3
    protocol.finish(
        {
            **measured,
            "first_step_s": loop_start,
            "steps_ms": steps_of(report, step_ends, loop_start),
            "text_ms": timings["prepare_conditions_ms"],
            "decode_ms": timings["decode_ms"],
            "levels": levels,
            "report": {
                key: report.get(key) for key in ("load_ms", "timings", "memory", "latent_stats")
            },
            "notes": notes(options, levels),
        }
    )


if __name__ == "__main__":
    main()
