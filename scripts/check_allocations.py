#!/usr/bin/env python3
"""Networks compute with ops alone, which kernels serve, dry forwards plan and traces name: no ATen call that makes a
tensor is in nn/ and networks/ (views and casts do no harm). Where one must be, `allocates: <why>` is in a comment on
the line before it.

Tensors that ATen makes from sizes or numbers name their dtype, everywhere: the default is the process's, and a host
program may set another (torch.set_default_dtype)."""
import pathlib
import re
import sys

MAKES = re.compile(r"\bat::(?!IntArrayRef|aminmax)[a-z]\w*\(|\.(clone|flip|repeat|repeat_interleave|index_select|roll)\(")
# at::tensor has the type of its numbers.
FACTORY = re.compile(
    r"\bat::(arange|empty|empty_strided|eye|from_blob|full|hann_window|linspace|logspace|normal|ones|rand|randint|randn"
    r"|randperm|range|scalar_tensor|zeros)\("
)
NAMES_DTYPE = re.compile(r"at::k[A-Z]\w+|options|dtype|scalar_type")


def findings(path):
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines, 1):
        found = MAKES.search(line.split("//")[0])
        before = lines[number - 2] if number > 1 else ""
        if found and "allocates:" not in before:
            yield f"{path}:{number}: '{found.group()}' makes a tensor: use or add an op (src/ops)"


def arguments(text, begin):
    depth, end = 1, begin
    while depth and end < len(text):
        depth += text[end] in "([{"
        depth -= text[end] in ")]}"
        end += 1
    return text[begin : end - 1]


def without_dtype(path):
    text = re.sub(r"//.*", "", path.read_text())
    for found in FACTORY.finditer(text):
        if not NAMES_DTYPE.search(arguments(text, found.end())):
            number = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: '{found.group()}' has the process's default dtype: name one"


def main():
    sources = sorted(pathlib.Path("src").rglob("*.[ch]pp"))
    networks = [path for path in sources if path.parts[1] in ("nn", "networks")]
    all_findings = [finding for path in networks for finding in findings(path)]
    all_findings += [finding for path in sources for finding in without_dtype(path)]
    print("\n".join(all_findings) or f"allocations: {len(networks)} files of networks, ops alone")
    return bool(all_findings)


sys.exit(main())
