#!/usr/bin/env python3
"""Groups sources into units that are compiled as one.

  cmake/join_sources.py LINES FILE...     prints one unit per line: its files, separated by ';'

Reading torch's headers and instantiating their templates takes several seconds per unit, which joined sources share. Sources
that define the same name (each in its unnamed namespace) go to different units, and a unit ends at about LINES lines. Names
are found by their form; a name that this misses is an error of the compiler, "redefinition of", and is fixed by renaming.
"""
import re
import sys

TYPE = r"(?:template ?<[^>]*> ?)?(?:class|struct|union|enum(?: class)?)\s+(\w+)"
ALIAS = r"using\s+(\w+)\s*="
# A function or variable at the start of a line: a type, a name, and what follows a name in its definition.
VALUE = r"(?:\[\[\w+\]\] )?(?:static |inline |constexpr |consteval |const )*[A-Za-z_][\w:<>,&*\s]*?[&*\s](\w+)\s*[(={\[;]"
MACRO = r"#define\s+(\w+)"
DEFINED = re.compile(rf"^(?:{TYPE}|{ALIAS}|{VALUE}|{MACRO})", re.M)
NO_DEFINITION = re.compile(r"//.*|^\s*(?:using\s+[\w:]+;|using namespace.*|namespace\b.*|return\b.*|#include.*)$", re.M)


def defined_names(text):
    return {next(filter(None, found.groups())) for found in DEFINED.finditer(NO_DEFINITION.sub("", text))}


def join(files, most_lines):
    units = []
    for file in files:
        text = open(file, encoding="utf-8").read()
        names, lines = defined_names(text), text.count("\n")
        for unit in units:
            if unit["lines"] + lines <= most_lines and not unit["names"] & names:
                break
        else:
            unit = {"files": [], "names": set(), "lines": 0}
            units.append(unit)
        unit["files"].append(file)
        unit["names"] |= names
        unit["lines"] += lines
    return [unit["files"] for unit in units]


if __name__ == "__main__":
    for unit in join(sys.argv[2:], int(sys.argv[1])):
        print(";".join(unit))
