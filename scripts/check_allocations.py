#!/usr/bin/env python3
"""Networks compute with ops alone, which kernels serve, dry forwards plan and traces name: no ATen call that makes a
tensor is in nn/ and networks/ (views and casts do no harm). Where one must be, `allocates: <why>` is in a comment on
the line before it."""
import pathlib
import re
import sys

MAKES = re.compile(r"\bat::(?!IntArrayRef|aminmax)[a-z]\w*\(|\.(clone|flip|repeat|repeat_interleave|index_select|roll)\(")


def findings(path):
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        found = MAKES.search(line.split("//")[0])
        before = lines[number - 2] if number > 1 else ""
        if found and "allocates:" not in before:
            yield f"{path}:{number}: '{found.group()}' makes a tensor: use or add an op (src/ops)"


def main():
    files = [p for folder in ("nn", "networks") for p in sorted(pathlib.Path("src", folder).rglob("*.[ch]pp"))]
    all_findings = [finding for path in files for finding in findings(path)]
    print("\n".join(all_findings) or f"allocations: {len(files)} files of networks, ops alone")
    return bool(all_findings)


sys.exit(main())
