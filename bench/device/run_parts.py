#!/usr/bin/env python3
"""Runs a bundle's parts, in order of value, and keeps what each found.

  part       at most  what
  backends      15 s  what `omnirt backends` says
  contract      75 s  the backend contract and every kernel's samples, on cuda
  goldens      110 s  every family's goldens on cuda, at each level and dtype; fp32 needs 50 dB, bf16 and fp16 35 dB
  memory        40 s  budgets of the device's memory, offload, and an SD 1.5 checkpoint against the cpu backend
  bench        190 s  SDXL, FLUX.2 klein and FLUX.1-dev with random weights: omnirt, diffusers, torch.compile
  profile       40 s  the kernels of one step of each, as torch's profiler records them
  threads       60 s  the cpu backend and diffusers with 1, 2, 4, 8 and 16 threads

Time that a part leaves goes to the next ones; the whole run takes at most --seconds. Each part writes its results to
OUTPUT/results.json and OUTPUT/results.txt when it ends, whatever becomes of the others; scripts/gpu_report reads the former.
Standard library only: torch is used by the processes that this one starts.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import sys
import time

import bench_part
import golden_part
import place
import processes
import results


@dataclasses.dataclass
class Part:
    name: str
    seconds: int
    run: object


class Session:
    """What the parts share."""

    def __init__(self, options, bundle):
        self.options = options
        self.root, self.python = bundle.root, bundle.python
        self.environment = bundle.environment
        self.bundle = bundle
        self.logs = bundle.work / "logs"
        self.results = results.Results(options.output, bundle.about, bundle.torch)
        self.end = time.monotonic() + options.seconds
        shutil.rmtree(self.logs, ignore_errors=True)

    def run(self, name, line, deadline, environment=None):
        return processes.run(line, self.logs / f"{name}.log", {**self.environment, **(environment or {})}, deadline, self.root)

    def has_device(self):
        """By the program's own word, which names the reason where there is none."""
        for backend in self.results.content["parts"].get("backends", {}).get("backends", []):
            if backend["name"] == self.options.backend:
                return backend["available"], backend["reason"]
        return False, "the program did not say"


def backends(session, deadline):
    ended = session.run("backends", [session.bundle.omnirt, "backends", "--json"], deadline)
    if ended.status != 0:
        return {"status": "failed", "text": ended.text[-4000:]}
    said = json.loads(ended.text[ended.text.index("[") :])
    for backend in said:
        session.results.say(f"  {backend['name']}: {'available' if backend['available'] else 'not available'}: {backend['reason']}")
    return {"status": "passed", "backends": said}


def run_gtest(session, pattern, deadline, at_once):
    name = f"gtest-{abs(hash(pattern))}"
    names = processes.listed(
        session.bundle.device_tests, pattern, session.environment, session.root, session.logs / f"{name}.log", deadline
    )
    if not names:
        return {"status": "failed", "reason": "the test program lists no tests", "tests": []}
    environment = {**session.environment, "OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // at_once))}
    tests = processes.run_tests(session.bundle.device_tests, names, session.logs, environment, deadline, session.root, at_once)
    counts = {}
    for test in tests:
        counts[test["result"]] = counts.get(test["result"], 0) + 1
        if test["result"] not in ("ok", "skipped"):
            session.results.say(f"  {test['result']}: {test['name']}")
    session.results.say("  " + ", ".join(f"{count} {result}" for result, count in sorted(counts.items())))
    bad = {"failed", "crashed", "timed out"} & counts.keys()
    status = "failed" if bad else "cut short" if "not run" in counts else "passed"
    return {"status": status, "counts": counts, "tests": tests}


def contract(session, deadline):
    found, reason = session.has_device()
    if not found:
        return {"status": "no device", "reason": reason}
    return run_gtest(session, f"*/{session.options.backend}", deadline, session.options.at_once)


def memory(session, deadline):
    """The scripted device's tests need none, so they run everywhere."""
    found, reason = session.has_device()
    scripted = "CaptureRunner.*:WeightStream.*:DeviceStream.*:Ahead/*:StubDevice.*:DeviceBudget.*:DeviceNeighbour.*"
    if not (session.root / "models" / "emoji").is_dir():
        scripted += "-DeviceBudget.SettlesOnTiles*"  # which runs that model
    if not found:
        found = run_gtest(session, scripted, deadline, 2)
        status = "no device" if found["status"] == "passed" else found["status"]
        return {**found, "status": status, "reason": f"{reason}; the tests on a scripted device ran"}
    return run_gtest(session, f"Cuda.*:{scripted}", deadline, 2)


PARTS = (
    Part("backends", 15, backends),
    Part("contract", 75, contract),
    Part("goldens", 110, golden_part.run),
    Part("memory", 40, memory),
    Part("bench", 190, bench_part.bench),
    Part("profile", 40, bench_part.profile),
    Part("threads", 60, bench_part.threads),
)


def run_part(session, part, later):
    begin = time.monotonic()
    left = session.end - begin
    allowed = min(left, max(part.seconds, left - later))
    session.results.say(f"{part.name}: {allowed:.0f} s at most")
    session.results.content["parts"][part.name] = {"status": "cut short"}
    try:
        content = part.run(session, begin + allowed) if allowed > 2 else {"status": "not run", "reason": "no time is left"}
    except Exception as error:  # a part that fails does not stop the next
        content = {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
    content["seconds"] = round(time.monotonic() - begin, 1)
    session.results.content["parts"][part.name] = content
    reason = f" ({content['reason']})" if content.get("reason") else ""
    session.results.say(f"{part.name}: {content['status']}{reason}, {content['seconds']} s\n")
    session.results.write()


def parsed():
    parser = argparse.ArgumentParser(prog="run.sh", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [part.name for part in PARTS]
    parser.add_argument("--part", action="append", choices=names, help="run this part; may be repeated (all)")
    parser.add_argument("--seconds", type=float, default=540, help="the whole run's limit (540)")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT", "results")), help="folder ($OUT or results)")
    parser.add_argument("--backend", default="cuda", help="of contract and goldens (cuda)")
    parser.add_argument("--levels", default="eager,kernel_override,compile", help="of goldens")
    parser.add_argument("--dtypes", default="fp32,bf16,fp16", help="of goldens")
    parser.add_argument("--goldens", default="", help="those whose names hold this text")
    parser.add_argument("--first", action="store_true", help="one golden of each model")
    parser.add_argument("--models", default="sdxl,flux2-klein-4b,flux1-dev", help="of bench and profile")
    parser.add_argument("--at-once", type=int, default=min(8, max(1, (os.cpu_count() or 2) // 2)), help="test processes side by side")
    parser.add_argument("--small", action="store_true", help="tiny models and the cpu in place of full size and a GPU, to try the script")
    parser.add_argument("--work", type=pathlib.Path, help="folder for unpacked files and weights")
    parser.add_argument("--bundle", type=pathlib.Path, required=True, help=argparse.SUPPRESS)
    return parser.parse_args()


def stop(signal_number, frame):
    raise SystemExit(128 + signal_number)


def main():
    options = parsed()
    options.output = options.output.resolve()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    bundle = place.Bundle(options)
    session = Session(options, bundle)
    session.results.say(f"{bundle.about.get('commit', '')}, {bundle.torch['version']} at {bundle.torch['folder']}")
    session.results.say(f"{json.dumps(session.results.content['machine'])}\n")
    chosen = [part for part in PARTS if not options.part or part.name in options.part or part.name == "backends"]
    try:
        for number, part in enumerate(chosen):
            run_part(session, part, sum(each.seconds for each in chosen[number + 1 :]))
    finally:
        session.results.write()
        if session.logs.is_dir():
            session.results.write_logs(session.logs)
    session.results.say(f"written: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
