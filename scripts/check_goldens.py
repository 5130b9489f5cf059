#!/usr/bin/env python3
"""Keeps tests/goldens small: its total size, the size of each file, and that weights come from their seeds.

Exit status 1 with a line for each file that breaks a rule. tools/goldens/pack.py packs what a script wrote.
"""

import json
import pathlib
import struct
import sys
import zlib

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "tests" / "goldens"
LARGEST_TOTAL = 50_000_000
LARGEST_FILE = 1_000_000
LARGEST_UNPACKED = 16_000  # of a kind that pack.py packs
# Bytes of a checkpoint that no seed makes: small tensors and buffers.
LARGEST_REST = 100_000
WEIGHTS = ("model", "diffusion_pytorch_model", "pytorch_lora_weights")
MAGIC = b"OMNIGLD1"


def bytes_not_from_seeds(path):
    inner = zlib.decompress(path.read_bytes()[len(MAGIC) + 8 :])
    (size,) = struct.unpack("<I", inner[:4])
    parts = json.loads(inner[4 : 4 + size])["parts"]
    return sum(part[1] for part in parts[1:] if part[0] == "bytes")


def faults_of(path):
    size = path.stat().st_size
    if size >= LARGEST_FILE:
        yield f"{size} bytes; the limit is {LARGEST_FILE}"
    if path.suffix in (".safetensors", ".gguf") and size > LARGEST_UNPACKED:
        yield f"{size} bytes and not packed: run tools/goldens/pack.py"
    if path.suffix == ".packed" and size > LARGEST_REST and path.name.startswith(WEIGHTS):
        rest = bytes_not_from_seeds(path)
        if rest > LARGEST_REST:
            yield (
                f"{rest} bytes of weights come from no seed; the limit is {LARGEST_REST}: "
                "fill them by common.reseed_parameters and pack again"
            )


def main():
    files = sorted(path for path in FOLDER.rglob("*") if path.is_file())
    faults = [f"{path.relative_to(FOLDER)}: {fault}" for path in files for fault in faults_of(path)]
    total = sum(path.stat().st_size for path in files)
    if total >= LARGEST_TOTAL:
        faults.append(f"tests/goldens: {total} bytes; the limit is {LARGEST_TOTAL}")
    print("\n".join(faults) or f"goldens: {total / 1e6:.1f} of {LARGEST_TOTAL / 1e6:.0f} MB in {len(files)} files")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
