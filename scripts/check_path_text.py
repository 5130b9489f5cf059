#!/usr/bin/env python3
"""Findings, errors and reports show paths by path_text, so that a server can name its folders.

  scripts/check_path_text.py      exit status 1 and one line per finding

In the folders below a path becomes a string by path_text(path), if a person may read it, or by path.native(), if code
uses it again. path.string() says neither, and is allowed only for parts of a name: filename(), stem(), extension().
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("io", "text", "weights", "pipeline", "request", "blocks", "families", "engine")
WHOLE = re.compile(r"(?<!filename\(\))(?<!stem\(\))(?<!extension\(\))\.string\(\)")


def main():
    listed = subprocess.run(["git", "ls-files", "src/*.cpp", "src/*.hpp"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.split() if name.split("/")[1] in FOLDERS and (ROOT / name).exists()]
    findings = []
    for name in files:
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1):
            if WHOLE.search(line):
                findings.append(f"{name}:{number}: path.string(): path_text(path) in texts, path.native() elsewhere")
    print("\n".join(findings) or f"paths: {len(files)} files, texts show them by path_text")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
