#!/usr/bin/env python3
"""Shows that a thing of each kind is entered at one place: what docs/where-to-put-things.md says to write for a
scheduler, guider, network class, tokenizer, image processor, family, op, backend or config key is all there is.

Each thing that src/ holds is looked for by what it is entered with (the function that makes its info, the header that
declares it, its key's name). It may be in its own files and in the one list of its kind, and must be in that list.
Exit status 1 with one line per finding.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
CATALOGUE = "catalogue/catalogue.cpp"
# Two keys of one name: what a family of videos writes is not what one of images does.
SHARED_KEYS = {"output_format"}
# A guider's own settings are below `guider` in a request, and may be called as a key of `config` is.
APART = "guiders/"


def read_sources():
    paths = sorted(path for path in SRC.rglob("*") if path.suffix in (".cpp", ".hpp"))
    return {str(path.relative_to(SRC)): re.sub(r"//.*", "", path.read_text()) for path in paths}


def users(sources, name):
    """The files that call or declare the function of this name, or enter it in a list."""
    use = re.compile(rf"(?<![\w.>]){name}\(\)|\bentry\({name}\)")
    return {path for path, text in sources.items() if name in text and use.search(text)}


def declared(sources, folder, pattern):
    """{name: the files that it is declared or defined in}"""
    found = {}
    for path, text in sources.items():
        if path.startswith(folder):
            for name in re.findall(pattern, text):
                found.setdefault(name, set()).add(path)
    return found


class Kind:
    """Things that a function makes, and the one list that calls it."""

    def __init__(self, kind, folder, pattern, entered):
        self.kind, self.folder, self.pattern, self.entered = kind, folder, pattern, entered

    def findings(self, sources):
        things = declared(sources, self.folder, self.pattern)
        for name, own in sorted(things.items()):
            elsewhere = users(sources, name) - own - {self.entered}
            for path in sorted(elsewhere):
                yield f"{self.kind} {name} is named in src/{path}, beside src/{self.entered}"
            if self.entered not in users(sources, name):
                yield f"{self.kind} {name} is not in src/{self.entered}"
        return len(things)


class Folders:
    """Folders whose headers only the one list includes."""

    def __init__(self, kind, folder, entered):
        self.kind, self.folder, self.entered = kind, folder, entered

    def findings(self, sources):
        names = sorted({path.split("/")[1] for path in sources if path.startswith(self.folder) and path.count("/") > 1})
        for name in names:
            inside = f"{self.folder}{name}/"
            includes = {path for path, text in sources.items() if f'#include "{inside}' in text and not path.startswith(inside)}
            for path in sorted(includes - {self.entered}):
                yield f"{self.kind} {name} is included by src/{path}, beside src/{self.entered}"
            if self.entered not in includes:
                yield f"{self.kind} {name} is not in src/{self.entered}"
        return len(names)


class Ops:
    """Members of the table, each visited, and each op's samples next to it; no other list of them."""

    table = "ops/op_table.hpp"

    def findings(self, sources):
        text = sources[self.table]
        members, visited = re.findall(r"Op<\w+> (\w+);", text), re.findall(r"v\(table\.(\w+)\)", text)
        if members != visited:
            yield f"src/{self.table}: its members are not what visit visits: {sorted(set(members) ^ set(visited))}"
        for path, other in sources.items():
            named = [name for name in members if re.search(rf"table\.{name}\b", other)]
            if path != self.table and len(named) > len(members) // 2:
                yield f"src/{path} lists the ops ({len(named)} of {len(members)}), beside src/{self.table}"
        return len(members)


class Keys:
    """A key's name is said once."""

    def findings(self, sources):
        things = {}
        for path, text in sources.items():
            if path.startswith(APART):
                continue
            for name in re.findall(r"constexpr Key<[^>]+>\s+\w+\s*\{\s*\"(\w+)\"", text):
                things.setdefault(name, []).append(path)
        for name, paths in sorted(things.items()):
            if len(paths) > 1 and name not in SHARED_KEYS:
                yield f"config key {name} is declared in {' and in '.join('src/' + path for path in paths)}"
        return len(things)


KINDS = {
    "schedulers": Kind("scheduler", "schedulers/", r"(?m)^SchedulerInfo (\w+)\(\)", "schedulers/all.cpp"),
    "guiders": Kind("guider", "guiders/", r"(?m)^GuiderInfo (\w+)\(\)", "guiders/all.cpp"),
    "network classes": Kind("network", "networks/", r"(?m)^const nn::NetworkInfo& (\w+)\(\)", CATALOGUE),
    "tokenizers": Kind("tokenizer", "text/", r"(?m)^TokenizerInfo (\w+)\(\)", CATALOGUE),
    "image processors": Kind("image processor", "blocks/", r"(?m)^ImageProcessorInfo (\w+)\(\)", CATALOGUE),
    "families": Folders("family", "families/", CATALOGUE),
    "backends": Folders("backend", "backends/", CATALOGUE),
    "ops": Ops(),
    "config keys": Keys(),
}


def run(findings):
    """All of a generator's lines, and what it returns."""
    lines = []
    while True:
        try:
            lines.append(next(findings))
        except StopIteration as end:
            return lines, end.value


def main():
    sources, found, counted = read_sources(), [], []
    for name, kind in KINDS.items():
        lines, count = run(kind.findings(sources))
        found += lines
        counted.append(f"{count} {name}")
        if not count:
            found.append(f"there are no {name} where they are looked for")
    print("\n".join(found) if found else "entries: " + ", ".join(counted) + ", each entered at one place")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
