#!/usr/bin/env python3
"""Measures omnirt and its peers side by side: one checkpoint, one request, every peer a process.

  bench/run build/release/omnirt              a first answer in minutes
  bench/run build/release/omnirt --full       every peer, both sizes, several rounds

Rounds go through all peers and then start over, each round from another peer, so that a disturbance
falls on all alike. Files are read once before each run, so that all start from the page cache.
Results are written after every run; the table and the plot are made from them (--results FILE).
Standard library only: a small parent, since a child's peak memory is never reported below its parent's.
"""

import argparse
import contextlib
import datetime
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import contestants
import machine
import table

ROOT = pathlib.Path(__file__).resolve().parents[1]
PEERS = ROOT / "bench" / "peers"
sys.path.insert(0, str(PEERS))
from protocol import report_in  # noqa: E402

LONG_STEPS = 20  # of a whole run, as the table shows it
EMOJI_ROUNDS = 3  # emoji-sd's runs are short, so a quick bench repeats them too
# A round has its own prompt and seed: an image's agreement is that of the worst of them.
PROMPTS = (
    "a red apple",
    "a lemon on a blue background",
    "smiling face with sunglasses",
    "a rocket on a blue background",
)


def stop(message):
    sys.exit(f"bench: {message}")


def tell(text):
    print(text, file=sys.stderr, flush=True)


def read_files(folder):
    """Into the page cache; what the system does not keep is read by the peer itself."""
    for path in [folder] if folder.is_file() else sorted(folder.rglob("*")):
        if path.is_file() and path.stat().st_size > 1 << 16:
            with open(path, "rb", buffering=0) as file:
                block = bytearray(1 << 22)
                while file.readinto(block):
                    pass


@contextlib.contextmanager
def ended_in_time(child, seconds):
    """Kills a child that is not done after so long, or with the bench; its own children too."""
    watch = threading.Timer(seconds, os.killpg, (child.pid, signal.SIGKILL))
    watch.start()
    try:
        yield
    except BaseException:
        os.killpg(child.pid, signal.SIGKILL)
        raise
    finally:
        watch.cancel()


class Bench:
    def __init__(self, options):
        self.options = options
        self.work = options.work
        self.python = options.python
        self.environment = {
            **os.environ,
            "BENCH_OMNIRT": options.omnirt,
            "HF_HUB_OFFLINE": "1",
            "TORCHINDUCTOR_CACHE_DIR": str(self.work / "inductor"),
        }

    def command(self, peer, model, size):
        folder = contestants.folder(peer, model, ROOT, self.work)
        line = [self.python, str(PEERS / peer.script), *peer.arguments()]
        line += ["--model", str(folder), "--work", str(self.work / "converted")]
        return [*line, "--size", str(size)]

    def request(self, turn, steps, picture):
        line = ["--steps", str(steps), "--guidance-scale", "7.5", "--picture", str(picture)]
        line += ["--seed", str(self.options.seed + turn)]
        return [*line, "--prompt", PROMPTS[turn % len(PROMPTS)]]

    def process(self, line):
        """Runs one peer: its report, with wall time and peak memory unless it measured its own."""
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as log:
            begin = time.monotonic()
            child = subprocess.Popen(
                line,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=log,
                env={**self.environment, "BENCH_STARTED": repr(begin)},
                start_new_session=True,
            )
            with ended_in_time(child, self.options.timeout):
                _, status, usage = os.wait4(child.pid, 0)
            wall = time.monotonic() - begin
            child.returncode = os.waitstatus_to_exitcode(status)
            for file in (said, log):
                file.seek(0)
            report = report_in(said.read().decode(errors="replace"))
            if child.returncode != 0:
                tail = log.read().decode(errors="replace").strip()[-600:]
                return {"failed": f"ended with {child.returncode}: {tail}"}
        return {"wall_s": wall, "peak_rss_mb": usage.ru_maxrss / 1024, **report}


def cells(options):
    """(peer, model, size) of all that is asked for."""
    for model in options.models:
        sizes = contestants.MODELS[model]["sizes"]
        wanted = [size for size in options.sizes or sizes] if model == "sd15" else sizes
        for size in wanted:
            for peer in options.peers:
                if model in peer.models:
                    yield peer, model, size


def one_round(options, turn, model, taking_part):
    """Each round starts at another peer, so that none is always first."""
    rounds = options.repeats if model == "sd15" else options.emoji_repeats
    here = [cell for cell in taking_part if cell[1] == model]
    if turn >= rounds or not here:
        return
    shift = turn % len(here)
    for cell in here[shift:] + here[:shift]:
        if not (cell[0].once and turn > 0):
            yield turn, options.steps if model == "sd15" else options.emoji_steps, cell


def plan(options, taking_part):
    """The runs in order: (round, steps, cell); the 20-step runs of the large model come last."""
    for turn in range(max(options.repeats, options.emoji_repeats)):
        for model in options.models:
            yield from one_round(options, turn, model, taking_part)
    for cell in taking_part:
        peer, model, size = cell
        if model == "sd15" and peer.name in options.whole and options.steps < LONG_STEPS:
            if size in options.whole_sizes:
                yield options.repeats, LONG_STEPS, cell


def entry_of(cell, reason):
    peer, model, size = cell
    return {"peer": peer.name, "model": model, "size": size, "reason": reason.strip()}


def prepare(bench, results):
    """Makes what each peer needs; one that cannot take part is reported and left out."""
    taking_part = []
    for peer, model, size in cells(bench.options):
        begin = time.monotonic()
        answer = bench.process([*bench.command(peer, model, size), "--prepare"])
        reason = answer.get("unavailable") or answer.get("failed")
        if reason:
            tell(f"left out: {peer.name}, {model}, {size}: {reason}")
            results["left_out"].append(entry_of((peer, model, size), reason))
        else:
            taking_part.append((peer, model, size))
        if time.monotonic() - begin > 20:
            tell(f"prepared {peer.name} for {model} in {time.monotonic() - begin:.0f} s")
    return taking_part


def told(run):
    if "failed" in run:
        return f"failed: {run['failed']}"
    steps = [value / 1e3 for value in run["steps_ms"]]
    return (
        f"first step at {run['first_step_s']:.2f} s, steps {min(steps):.3f} "
        f"({statistics.median(steps):.3f}) s, decode {run['decode_ms'] / 1e3:.2f} s, "
        f"whole {run['wall_s']:.1f} s, {run['peak_rss_mb']:.0f} MB"
    )


def picture_pairs(results):
    """(request and peer, the reference's image, the peer's) of every run that has both."""
    pictures = {
        (run["model"], run["size"], run["steps"], run["round"], run["peer"]): run["picture"]
        for run in results["runs"]
        if "failed" not in run
    }
    for (*request, peer), picture in pictures.items():
        reference = pictures.get((*request, contestants.REFERENCE))
        if reference and peer != contestants.REFERENCE:
            yield (*request, peer), reference, picture


def compared(bench, results):
    pairs = list(picture_pairs(results))
    line = [bench.python, str(ROOT / "bench" / "psnr.py")]
    line += [str(bench.work / name) for pair in pairs for name in pair[1:]]
    done = subprocess.run(line, capture_output=True, text=True)
    values = json.loads(done.stdout) if done.returncode == 0 else [None] * len(pairs)
    fields = ("model", "size", "steps", "round", "peer")
    return [
        {**dict(zip(fields, key)), "psnr_db": value} for (key, *_), value in zip(pairs, values)
    ]


def write(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(results, indent=1) + "\n")
    partial.rename(path)


def commit():
    """Of the tree that is next to the bench, with + where files differ from it."""
    line = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(line, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def started(bench):
    options = bench.options
    return {
        "schema": 1,
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine.described(),
        "rates": [],
        "settings": {"steps": options.steps, "repeats": options.repeats, "seed": options.seed},
        "versions": {"omnirt": commit()},
        "left_out": [],
        "runs": [],
        "pictures": [],
    }


def measure_one(bench, results, turn, steps, cell):
    peer, model, size = cell
    name = f"pictures/{model}-{size}-{steps}-{turn}-{peer.name}.png"
    read_files(contestants.folder(peer, model, ROOT, bench.work))
    request = bench.request(turn, steps, bench.work / name)
    run = bench.process([*bench.command(peer, model, size), *request])
    if "failed" not in run and not run.get("steps_ms"):
        run = {"failed": run.get("unavailable") or "it told of no step"}
    tell(f"{peer.name:<24}{model:<6}{size:>4} round {turn + 1}, {steps} steps: {told(run)}")
    results["versions"].update(run.pop("versions", {}))
    identity = {"peer": peer.name, "model": model, "size": size, "steps": steps, "round": turn}
    results["runs"].append({**identity, "picture": name, **run})


def measure(bench):
    results, failed = started(bench), set()
    path = bench.options.results
    if "sd15" in bench.options.models:
        tell("making the checkpoint, unless it is there")
        line = [bench.python, str(ROOT / "bench" / "checkpoint.py"), str(bench.work)]
        subprocess.run(line, check=True)
    (bench.work / "pictures").mkdir(parents=True, exist_ok=True)
    taking_part = prepare(bench, results)
    if bench.options.prepare:
        sys.exit(0)
    results["rates"].append(machine.rates(bench.python))
    for turn, steps, cell in plan(bench.options, taking_part):
        if cell in failed:
            continue
        measure_one(bench, results, turn, steps, cell)
        if reason := results["runs"][-1].get("failed"):
            failed.add(cell)
            results["left_out"].append(entry_of(cell, reason))
        write(path, results)
    results["rates"].append(machine.rates(bench.python))
    results["pictures"] = compared(bench, results)
    write(path, results)
    return results


def listed(text):
    return [name for name in text.split(",") if name]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("omnirt", nargs="?", default="build/release/omnirt", help="the program")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="four peers, 512, 2 steps (the default)")
    kind.add_argument("--full", action="store_true", help="all peers, both sizes, 3 rounds")
    parser.add_argument("--peers", type=listed, help=", ".join(contestants.BY_NAME))
    parser.add_argument("--models", type=listed, help=", ".join(contestants.MODELS))
    parser.add_argument("--sizes", type=listed, help="of sd15, in pixels: 512,768")
    parser.add_argument("--steps", type=int, help="of a sd15 run: 2, with --full 3")
    parser.add_argument("--emoji-steps", type=int, default=LONG_STEPS, help="of emoji-sd")
    parser.add_argument("--repeats", type=int, help="rounds")
    parser.add_argument("--whole", type=listed, help="peers that also make one 20-step sd15 run")
    parser.add_argument("--whole-sizes", type=listed, help="at these sizes (512)")
    parser.add_argument("--prepare", action="store_true", help="checkpoint and conversions alone")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds of one run at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "bench")
    parser.add_argument("--results", type=pathlib.Path, help="the JSON to write, or to read")
    parser.add_argument("--again", action="store_true", help="table and plot of --results alone")
    parser.add_argument("--write-docs", action="store_true", help="into docs/performance.md")
    return parser, parser.parse_args()


def known_names(parser, names, known, what):
    for name in names:
        if name not in known:
            parser.error(f"no {what} is called {name}; there are: {', '.join(map(str, known))}")
    return names


def whole_numbers(parser, texts):
    for text in texts:
        if not text.isdigit() or int(text) % 8 or int(text) == 0:
            parser.error(f"a size is a multiple of 8 pixels, not {text}")
    return [int(text) for text in texts]


def settle(parser, options):
    """The defaults of a quick and of a full bench, under what was asked for."""
    full = options.full
    names = options.peers or (list(contestants.BY_NAME) if full else contestants.QUICK)
    known_names(parser, names, contestants.BY_NAME, "peer")
    options.peers = [peer for peer in contestants.PEERS if peer.name in names]
    options.models = known_names(
        parser, options.models or list(contestants.MODELS), contestants.MODELS, "model"
    )
    options.sizes = whole_numbers(parser, options.sizes or (["512", "768"] if full else ["512"]))
    options.steps = options.steps or (3 if full else 2)
    options.emoji_repeats = options.repeats or EMOJI_ROUNDS
    options.repeats = options.repeats or (3 if full else 1)
    usual = ["omnirt-compile", "omnirt-eager", "omnirt-fp16-file", "diffusers"] if full else []
    options.whole = known_names(
        parser, usual if options.whole is None else options.whole, contestants.BY_NAME, "peer"
    )
    options.whole_sizes = whole_numbers(parser, options.whole_sizes or ["512"])
    options.omnirt = str((ROOT / options.omnirt).resolve())
    options.python = os.environ.get("OMNIRT_PYTHON", str(ROOT / "build/bench-venv/bin/python"))
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    options.results = options.results or options.work / f"results-{stamp}.json"


def newest(options):
    found = sorted(options.work.glob("results-*.json"), key=lambda path: path.stat().st_mtime)
    return found[-1] if found else stop(f"no results in {options.work}")


def main():
    parser, options = parse()
    again = options.again or (options.write_docs and not options.full and not options.quick)
    named = options.results is not None
    settle(parser, options)
    if again:
        path = options.results if named else newest(options)
        results = json.loads(path.read_text())
    else:
        results, path = measure(Bench(options)), options.results
    text = table.markdown(results)
    path.with_suffix(".md").write_text(text + "\n")
    print(text)
    plot = path.with_suffix(".svg")
    line = [options.python, str(ROOT / "bench" / "plot.py"), str(path), str(plot)]
    if subprocess.run(line).returncode != 0:
        tell("no plot: matplotlib could not draw it")
    if options.write_docs:
        table.write_docs(results, ROOT / "docs" / "performance.md", plot)
    tell(f"written: {path}")


if __name__ == "__main__":
    main()
