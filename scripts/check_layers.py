#!/usr/bin/env python3
"""Refuses an include that points up a layer, as src/layers.txt draws them; and a family, network or backend that
includes a sibling. Exit status 1 with one line a finding."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
SIBLINGS = ("networks", "families", "backends")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def read_layers():
    layers = {}
    for line in (SRC / "layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            folder, _, allowed = line.partition(":")
            layers[folder.strip()] = set(allowed.split())
    return layers


def check(path, layers):
    parts = path.relative_to(SRC).parts
    folder = parts[0]
    if folder not in layers:
        yield f"{path.relative_to(ROOT)}: the folder is not in src/layers.txt"
        return
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        where, target = f"{path.relative_to(ROOT)}:{number}", found.group(1)
        to = target.split("/")
        if not (SRC / target).is_file():
            yield f"{where}: {target} is not below src/"
        elif to[0] != folder and not layers[folder] & {to[0], target}:
            yield f"{where}: {folder} may not include {to[0]} ({target})"
        elif to[0] == folder and folder in SIBLINGS and len(to) > 2 and len(parts) > 2 and to[1] != parts[1]:
            yield f"{where}: {folder}/{parts[1]} may not include its sibling {folder}/{to[1]}"


def cycles(layers):
    order, seen = [], set()

    def visit(folder, above):
        if folder in above:
            yield "a cycle in src/layers.txt: " + " -> ".join((*above, folder))
        elif folder not in seen:
            seen.add(folder)
            for below in layers.get(folder, ()):
                yield from visit(below.split("/")[0], (*above, folder))
            order.append(folder)

    for folder in layers:
        yield from visit(folder, ())


def main():
    layers = read_layers()
    findings = list(cycles(layers))
    for path in sorted(SRC.rglob("*")):
        if path.suffix in (".cpp", ".hpp"):
            findings += check(path, layers)
    print("\n".join(findings) if findings else f"layers: {len(layers)} folders, no include points up")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
