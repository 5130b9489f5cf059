"""The results of a run on a device machine: JSON and text, written after every part."""

import datetime
import io
import json
import lzma
import os
import pathlib
import platform
import subprocess
import tarfile
import threading


def said(line, seconds=20):
    """What a command says on standard output; "" where it cannot be run."""
    try:
        return subprocess.run(line, capture_output=True, text=True, timeout=seconds).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def device():
    """Name, driver, memory and compute capability of the first NVIDIA device, or nothing."""
    fields = ("name", "driver_version", "memory.total", "compute_cap")
    line = said(["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader"]).splitlines()
    values = [value.strip() for value in line[0].split(",")] if line else []
    return dict(zip(("name", "driver", "memory", "capability"), values)) if len(values) == len(fields) else {}


def machine():
    names = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        names.setdefault(name.strip(), value.strip())
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    release = pathlib.Path("/etc/os-release")
    system = dict(line.split("=", 1) for line in release.read_text().splitlines() if "=" in line) if release.is_file() else {}
    return {
        "processor": names.get("model name", platform.machine()),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(pages / 2**30, 1),
        "system": system.get("PRETTY_NAME", platform.system()).strip('"'),
        "device": device(),
    }


class Results:
    """Parts by name, as they end. `folder` then holds results.json, results.txt and logs.tar.xz."""

    def __init__(self, folder, bundle, torch):
        self.folder = folder
        self.text = []
        self.lock = threading.RLock()
        self.content = {
            "schema": 1,
            "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "bundle": bundle,
            "torch": torch,
            "machine": machine(),
            "parts": {},
        }
        folder.mkdir(parents=True, exist_ok=True)

    def say(self, line=""):
        print(line, flush=True)
        with self.lock:
            self.text.append(line)

    def write(self):
        with self.lock:
            for name, text in (("results.json", json.dumps(self.content, indent=1) + "\n"), ("results.txt", "\n".join(self.text) + "\n")):
                partial = self.folder / f"{name}.part"
                partial.write_text(text)
                partial.rename(self.folder / name)

    def write_logs(self, logs, most=12 << 20):
        """The end of each log, so that the archive stays small."""
        each = most * 8 // max(1, sum(1 for path in logs.rglob("*") if path.is_file()))
        with lzma.open(self.folder / "logs.tar.xz", "w", preset=1) as packed, tarfile.open(fileobj=packed, mode="w|") as archive:
            for path in sorted(logs.rglob("*")):
                if not path.is_file():
                    continue
                data = path.read_bytes()[-min(each, 4 << 20) :]
                entry = tarfile.TarInfo(str(path.relative_to(logs)))
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
