#!/usr/bin/env python3
"""Refuses files of src/ over 450 lines, other sources over 600, and committed files over 1 MB outside models/ and
vocabularies."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = {".cpp", ".hpp", ".py", ".cmake"}
MAX_LINES = {"src": 450}
MAX_OTHER_LINES, MAX_BYTES = 600, 1_000_000


def findings():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    for name in filter(None, names):
        path = ROOT / name
        if not path.is_file():
            continue
        most = MAX_LINES.get(name.split("/")[0], MAX_OTHER_LINES)
        if path.suffix in SOURCE and (lines := len(path.read_text().splitlines())) > most:
            yield f"{name}: {lines} lines, more than {most}"
        if not name.startswith(("models/", "tests/data/tokenizers/")) and path.stat().st_size > MAX_BYTES:
            yield f"{name}: {path.stat().st_size} bytes, more than {MAX_BYTES}"


found = list(findings())
print("\n".join(found) if found else "sizes: all within their limits")
sys.exit(1 if found else 0)
