"""What every peer of the bench shares: its arguments, its clock, and the line of JSON it ends with.

A peer is a process that loads one model, makes one image and ends with a line of JSON on its
standard output:

  first_step_s  process start to the first network call of the first step
  steps_ms      each denoising step: both halves of the guidance, and the scheduler's arithmetic
  text_ms       both prompts through the text encoder
  decode_ms     latents to the image's values
  versions      {library: version}
  notes         what a reader of the figures must know
  unavailable   in place of all of these: why this peer cannot run here

Wall time and peak memory are the harness's to measure. With --prepare a peer makes the files that
it needs (never timed), or says why it is unavailable.
"""

import argparse
import contextlib
import importlib.metadata
import json
import os
import pathlib
import sys
import time


def arguments(description, modes):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--mode", choices=modes, default=modes[0])
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a diffusers folder")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="for converted files")
    parser.add_argument("--size", type=int, required=True, help="width and height in pixels")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--guidance-scale", type=float, default=7.5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prompt", default="a red apple")
    parser.add_argument("--picture", type=pathlib.Path, help="the PNG to write")
    parser.add_argument("--prepare", action="store_true")
    return parser


def quiet_libraries():
    """Nothing from the network, nothing on the terminal; before the libraries are imported."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("DIFFUSERS_VERBOSITY", "error")


class Recorder:
    """The moments of one run, on the clock that the harness shares."""

    def __init__(self):
        # Without the harness, this process's own start is not known better than now.
        self.start = float(os.environ.get("BENCH_STARTED", time.monotonic()))
        self.report = {"first_step_s": None, "steps_ms": [], "text_ms": 0.0, "decode_ms": 0.0}
        self.step_start = None

    @contextlib.contextmanager
    def part(self, field):
        begin = time.monotonic()
        yield
        self.report[field] += 1e3 * (time.monotonic() - begin)

    def step_begins(self):
        """At every network call; the first one since the last step's end counts."""
        now = time.monotonic()
        if self.report["first_step_s"] is None:
            self.report["first_step_s"] = now - self.start
        if self.step_start is None:
            self.step_start = now

    def step_ends(self):
        self.report["steps_ms"].append(1e3 * (time.monotonic() - self.step_start))
        self.step_start = None


def versions(*names):
    return {name: importlib.metadata.version(name) for name in names}


def finish(report):
    print("\n" + json.dumps(report), flush=True)


def report_in(text):
    """The report that a peer ended its output with: the last line that is a JSON object; {} where there is none."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    return {}


def unavailable(reason):
    finish({"unavailable": reason})
    sys.exit(0)


@contextlib.contextmanager
def needs(what):
    """Imports inside: one that is missing makes the peer unavailable, not the bench fail."""
    try:
        yield
    except ImportError as error:
        unavailable(f"{what} cannot be imported: {error}")
