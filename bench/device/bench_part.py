"""Times of whole models: omnirt's program and diffusers, each in processes of their own, from the same random weights."""

import json
import os
import pathlib
import shutil
import statistics
import sys
import time

import weights

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "peers"))
from protocol import report_in  # noqa: E402

# What each model is asked for; `small` in its place tries the script out on a machine without a GPU.
REQUESTS = {
    "sdxl": {"size": 1024, "steps": 30, "guidance_scale": 5.0, "small": "build/goldens/pipelines/sdxl/model"},
    "flux2-klein-4b": {"size": 1024, "steps": 4, "guidance_scale": 1.0, "small": "build/goldens/pipelines/flux2_klein/model"},
    "flux1-dev": {"size": 1024, "steps": 28, "guidance_scale": 3.5, "small": "build/goldens/pipelines/flux_dev/model"},
    "sd15": {"size": 256, "steps": 2, "guidance_scale": 7.5, "small": "build/goldens/pipelines/sd15/model"},
}
SMALL = {"size": 64, "steps": 4}
STEPS_OF_BUDGET = 4
# omnirt's own settings, in order of value: what it is for, flags, the models it runs on (all).
OURS = (
    ("compile", ["--dtype", "bf16"], None),
    ("kernel_override", ["--dtype", "bf16"], ("sdxl",)),
    ("compile, 8 GB of the device", ["--dtype", "bf16", "--device-memory-budget", "8GB"], ("flux1-dev",)),
)


def request_of(session, model):
    request = {key: value for key, value in REQUESTS[model].items() if key != "small"}
    return {**request, **SMALL} if session.options.small else request


def folder_of(session, model, deadline):
    """The model's folder, written if it is not there; those written before it make room if they must."""
    if session.options.small:
        return session.root / REQUESTS[model]["small"]
    known = session.__dict__.setdefault("weights", {})
    if model in known:
        return known[model]
    size = weights.bytes_of(model, session.root)
    place = session.bundle.weights_folder(size)
    while known and place.parent != place and shutil.disk_usage(nearest(place)).free < size + (2 << 30):
        shutil.rmtree(known.pop(next(iter(known))), ignore_errors=True)
        place = session.bundle.weights_folder(size)
    place.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    script = session.root / "bench" / "device" / "weights.py"
    ended = session.run(f"weights-{model}", [session.python, script, model, place / model], deadline)
    if ended.status != 0:
        raise RuntimeError(f"the weights of {model} could not be written: {ended.text[-1000:]}")
    session.results.say(f"  {model}: {size / 1e9:.1f} GB written in {time.monotonic() - begin:.0f} s to {place}")
    known[model] = place / model
    return known[model]


def nearest(path):
    while not path.exists():
        path = path.parent
    return path


def kept_steps(steps):
    """Without those that set things up: the first runs op by op, the second is captured."""
    return steps[2:] or steps[1:] or steps


def ours(session, model, folder, mode, flags, deadline, level="compile", environment=None):
    """A run of the program, as a user starts it."""
    request = request_of(session, model)
    if "budget" in " ".join(flags):
        request["steps"] = STEPS_OF_BUDGET
    backend = "cpu" if session.options.small else session.options.backend
    extra = [f"--extra={word}" for word in ["--backend", backend, *flags]]
    line = [
        session.python, session.root / "bench" / "peers" / "omnirt_program.py", "--omnirt", session.bundle.omnirt, "--mode", level,
        "--model", folder, "--work", session.bundle.work, "--size", str(request["size"]), "--steps", str(request["steps"]),
        "--guidance-scale", str(request["guidance_scale"]), "--picture", session.bundle.work / "picture.png", *extra,
    ]
    ended = session.run(f"omnirt-{model}-{mode.replace(' ', '-')}", line, deadline, environment)
    entry = {"model": model, "program": "omnirt", "mode": mode, "backend": backend, **request}
    said = report_in(ended.text)
    if ended.status != 0 or "steps_ms" not in said:
        return {**entry, "failed": "the time was over" if ended.timed_out else ended.text[-2000:]}
    memory = said["report"]["memory"]
    return {
        **entry, "first_image_s": said["wall_s"], "steps_ms": said["steps_ms"],
        "step_median_ms": statistics.median(kept_steps(said["steps_ms"])), "decode_ms": said["decode_ms"],
        "text_ms": said["text_ms"], "load_ms": said["report"]["load_ms"], "peak_bytes": memory.get("tensor_peak_bytes"),
        "weights_moved_bytes": memory.get("weights_moved_bytes"), "weights_waited_ms": memory.get("weights_waited_ms"),
        "peak_rss_mb": said["peak_rss_mb"], "levels": said["levels"], "notes": said["notes"],
    }


def theirs(session, model, folder, modes, deadline, profiled, again=True):
    """diffusers' modes, one after the other in one process; what it has said counts even where the time is over."""
    request = request_of(session, model)
    on_cpu = session.options.small
    line = [
        session.python, session.root / "bench" / "device" / "diffusers_cuda.py", "--model", folder, "--size", str(request["size"]),
        "--steps", str(request["steps"]), "--guidance-scale", str(request["guidance_scale"]), "--modes", ",".join(modes),
        "--device", "cpu" if on_cpu else "cuda", "--dtype", "fp32" if on_cpu else "bf16", *(["--profile"] if profiled else []),
    ]
    environment = {"TORCHINDUCTOR_CACHE_DIR": str(session.bundle.work / "inductor" / f"{time.monotonic_ns()}")}
    ended = session.run(f"diffusers-{model}-{modes[0]}", line, deadline, environment)
    said = [json.loads(text) for text in ended.text.splitlines() if text.startswith('{"mode"')]
    if not said and again and "ImportError" in ended.text and session.bundle.use_all_packages():
        return theirs(session, model, folder, modes, deadline, profiled, again=False)
    entry = {"model": model, "program": "diffusers", "backend": "cpu" if on_cpu else "cuda", **request}
    done = {one["mode"] for one in said}
    reason = "the time was over" if ended.timed_out else ended.text[-2000:]
    missing = [{"mode": mode, "failed": reason} for mode in modes if mode not in done]
    return [{**entry, **one} for one in said + missing]


def told(run):
    if "failed" in run:
        return f"failed: {str(run['failed']).strip().splitlines()[-1][:160] if str(run['failed']).strip() else 'no word'}"
    peak = f", {run['peak_bytes'] / 2**30:.1f} GiB" if run.get("peak_bytes") else ""
    return f"{run['step_median_ms'] / 1e3:.4f} s a step, first image at {run['first_image_s']:.1f} s{peak}"


def take(session, into, runs):
    for run in runs:
        if run.get("mode") == "profile":
            session.__dict__.setdefault("profiles", {})[run["model"]] = run
            continue
        into["runs"].append(run)
        session.results.say(f"  {run['model']}, {run['program']}, {run['mode']}: {told(run)}")
    session.results.write()


def attempts(session, models):
    """(model, function of its folder and the deadline), in order of value: each model by both programs, compiled regions of
    the network, then whole networks, then omnirt's other settings."""
    for model in models:
        yield model, lambda folder, end, model=model: [ours(session, model, folder, *OURS[0][:2], end)]
        modes = ["eager"] if session.options.small else ["eager", "regional"]
        yield model, lambda folder, end, model=model, modes=modes: theirs(session, model, folder, modes, end, True)
    if session.options.small:
        return
    for model in models:
        for mode, flags, only in OURS[1:]:
            if only is None or model in only:
                level = mode.split(",")[0]
                yield model, lambda folder, end, m=model, a=(mode, flags), level=level: [ours(session, m, folder, *a, end, level)]
    for model in models:
        yield model, lambda folder, end, model=model: theirs(session, model, folder, ["compile"], end, False)


def bench(session, deadline):
    found, reason = session.has_device()
    if not found and not session.options.small:
        return {"status": "no device", "reason": reason}
    content = session.results.content["parts"]["bench"] = {"status": "cut short", "runs": []}
    lost = set()
    for model, attempt in attempts(session, session.options.models.split(",")):
        left = deadline - time.monotonic()
        if left < 10 or model in lost:
            continue
        try:
            # No attempt takes so much of the time that none is left for the other models.
            take(session, content, attempt(folder_of(session, model, deadline), min(deadline, time.monotonic() + max(30, left / 2))))
        except RuntimeError as error:
            lost.add(model)
            session.results.say(f"  {model}: {error}")
    failed = any("failed" in run for run in content["runs"]) or lost
    return {**content, "status": "failed" if failed else "passed", "not_written": sorted(lost)}


def profile(session, deadline):
    found, reason = session.has_device()
    if not found and not session.options.small:
        return {"status": "no device", "reason": reason}
    content = {"status": "passed", "steps": []}
    for model, run in session.__dict__.get("profiles", {}).items():
        content["steps"].append({"model": model, "program": "diffusers", "step_ms": run["step_ms"], "ops": run["ops"]})
    for model in session.options.models.split(","):
        if deadline - time.monotonic() < 5:
            content["status"] = "cut short"
            break
        content["steps"].append(our_profile(session, model, folder_of(session, model, deadline), deadline))
    for step in content["steps"]:
        shown = step.get("failed") or f"{step['step_ms']:.1f} ms, most of it " + "; ".join(
            f"{row['ms']:.2f} ms {row['name'][:60]}" for row in step["ops"][:3])
        session.results.say(f"  {step['model']}, {step['program']}: {shown}")
    if any("failed" in step for step in content["steps"]):
        content["status"] = "failed"
    return content


def our_profile(session, model, folder, deadline):
    request = request_of(session, model)
    config = {
        "width": request["size"], "height": request["size"], "num_inference_steps": 4, "seed": 1,
        "guidance_scale": request["guidance_scale"], "dtype": "fp32" if session.options.small else "bf16", "level": "compile",
    }
    path = session.bundle.work / f"profile-{model}.json"
    path.write_text(json.dumps({
        "task": "text2image", "model": str(folder), "backend": "cpu" if session.options.small else session.options.backend,
        "inputs": {"prompt": "a red apple"}, "config": config,
    }))
    ended = session.run(f"profile-{model}", [session.bundle.device_tests, "profile", "--request", path], deadline)
    entry = {"model": model, "program": "omnirt"}
    said = report_in(ended.text)
    if ended.status != 0 or "ops" not in said:
        return {**entry, "failed": "the time was over" if ended.timed_out else ended.text[-1000:]}
    return {**entry, "step_ms": said["step_ms"], "ops": said["ops"]}


def threads(session, deadline):
    """The cpu backend and diffusers in fp32, from all cores to one."""
    cores = len(os.sched_getaffinity(0))
    folder = folder_of(session, "sd15", deadline)
    content = session.results.content["parts"]["threads"] = {"status": "cut short", "cores": cores, "runs": []}
    for count in [count for count in (16, 8, 4, 2, 1) if count <= max(2, cores)]:
        environment = {"OMP_NUM_THREADS": str(count), "MKL_NUM_THREADS": str(count)}
        for program in ("omnirt", "diffusers"):
            if deadline - time.monotonic() < 5:
                return content
            run = on_cpu(session, program, folder, environment, deadline)
            content["runs"].append({**run, "threads": count})
            session.results.say(f"  {program}, {count} threads: {told(run)}")
            session.results.write()
    content["status"] = "failed" if any("failed" in run for run in content["runs"]) else "passed"
    return content


def on_cpu(session, program, folder, environment, deadline):
    request = request_of(session, "sd15")
    peers = session.root / "bench" / "peers"
    line = [session.python]
    if program == "omnirt":
        line += [peers / "omnirt_program.py", "--omnirt", session.bundle.omnirt, "--mode", "compile", "--extra=--backend", "--extra=cpu"]
    else:
        line += [peers / "diffusers_pipeline.py", "--mode", "eager"]
    line += [
        "--model", folder, "--work", session.bundle.work, "--size", str(request["size"]), "--steps", str(request["steps"]),
        "--picture", session.bundle.work / "picture.png",
    ]
    name = f"threads-{program}-{environment['OMP_NUM_THREADS']}"
    ended = session.run(name, line, deadline, environment)
    said = report_in(ended.text)
    entry = {"model": "sd15", "program": program, "backend": "cpu", **request}
    if ended.status != 0 or not said.get("steps_ms"):
        return {**entry, "failed": "the time was over" if ended.timed_out else said.get("unavailable", ended.text[-2000:])}
    return {**entry, "steps_ms": said["steps_ms"], "step_median_ms": min(said["steps_ms"]), "decode_ms": said["decode_ms"],
            "first_image_s": ended.seconds}

