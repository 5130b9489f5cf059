"""The machine that a bench ran on, in words and in two measured rates. Standard library only."""

import json
import os
import pathlib
import platform
import subprocess

# Largest rate of several tries: what the machine can do, not what it did while disturbed. A machine
# that is so busy that two seconds pass gets no further try.
RATES = """
import json, time, torch
def best(work):
    times = []
    while len(times) < 8 and sum(times) < 2:
        start = time.perf_counter(); work(); times.append(time.perf_counter() - start)
    return min(times)
side = 2048
a, b = torch.randn(side, side), torch.randn(side, side)
out, source = torch.empty(side, side), torch.randn(64 << 20)
copy = torch.empty_like(source)
with torch.no_grad():
    product = best(lambda: torch.mm(a, b, out=out))
    moved = best(lambda: copy.copy_(source))
print(json.dumps({"sgemm_gflops": 2 * side**3 / product / 1e9,
                  "copy_gb_s": 2 * 4 * source.numel() / moved / 1e9,
                  "threads": torch.get_num_threads()}))
"""


def processor():
    names = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        names.setdefault(name.strip(), value.strip())
    return names.get("model name", platform.machine()), names.get("flags", "").split()


def simd(flags):
    known = ("avx2", "avx512f", "avx512_vnni", "avx_vnni", "avx512_bf16", "amx_int8", "amx_bf16")
    return [flag for flag in known if flag in flags]


def described():
    name, flags = processor()
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "system": f"{platform.system()}, {' '.join(platform.libc_ver())}",
        "processor": name,
        "simd": simd(flags),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(pages / 2**30, 1),
    }


def rates(python):
    """Measured again before and after the rounds: a gap between the two means other work."""
    load = os.getloadavg()[0]
    done = subprocess.run([python, "-c", RATES], capture_output=True, text=True)
    measured = json.loads(done.stdout) if done.returncode == 0 else {}
    return {**measured, "load_before": load}
