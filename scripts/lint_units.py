#!/usr/bin/env python3
"""Prints the translation units that clang-tidy reads, one per line.

  scripts/lint_units.py DATABASE               all units of src/
  scripts/lint_units.py DATABASE --since REV   the units that a change touches

A change touches a unit that compiles a changed source. For each changed header that no such unit includes, one unit that
includes it is added: clang-tidy reports a header's findings wherever it is included.
"""
import argparse
import functools
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
JOINED = "build/lint/joined/src/"


@functools.cache
def direct_includes(path):
    """The project's own files that a file includes, relative to src/."""
    try:
        text = path.read_text()
    except OSError:
        return frozenset()
    found = set()
    for name in INCLUDE.findall(text):
        for base in (ROOT / "src", path.parent):
            if (base / name).is_file():
                found.add((base / name).resolve())
                break
    return frozenset(found)


def all_includes(unit):
    seen, waiting = set(), [unit]
    while waiting:
        for path in direct_includes(waiting.pop()):
            if path not in seen:
                seen.add(path)
                waiting.append(path)
    return seen


def changed_files(rev):
    listed = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", rev, "--", "src", "python"], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    return {(ROOT / name).resolve() for name in listed.stdout.split("\n") if name}


def touched_units(units, changed):
    includes = {unit: all_includes(ROOT / unit) | {(ROOT / unit).resolve()} for unit in units}
    # A joined unit includes its sources directly, and no source includes another one.
    sources = {path for path in changed if path.suffix == ".cpp"}
    touched = {unit for unit in units if includes[unit] & sources}
    covered = set().union(*(includes[unit] for unit in touched))
    left = {path for path in changed - sources - covered if path.suffix in {".hpp", ".h", ".inc"}}
    while left:
        unit = max(sorted(units), key=lambda each: len(includes[each] & left))
        if not includes[unit] & left:
            break  # headers for programs outside this tree
        touched.add(unit)
        left -= includes[unit]
    return touched


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database")
    parser.add_argument("--since", metavar="REV")
    options = parser.parse_args()
    files = {os.path.relpath(entry["file"], ROOT) for entry in json.load(open(options.database))}
    # A build leaves out backends whose device libraries are missing.
    units = {name for name in files if name.startswith(("src/", JOINED))}
    if options.since:
        units = touched_units(units, changed_files(options.since))
    print("\n".join(sorted(units)))


if __name__ == "__main__":
    main()
