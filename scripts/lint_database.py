#!/usr/bin/env python3
"""compile_commands.json as clang-tidy can use it: without precompiled headers and GCC's own flags."""
import json
import re
import sys

source, target = sys.argv[1:]
commands = json.load(open(source))
for entry in commands:
    command = re.sub(r"-include \S*cmake_pch\.hxx", "", entry["command"])
    for flag in ("-Winvalid-pch", "-fpch-preprocess", "-Wno-restrict"):
        command = command.replace(flag, "")
    # The compiler itself follows the launchers.
    entry["command"] = re.sub(r"^.*?(\S*(?:c\+\+|g\+\+|clang\+\+)\S*) ", "clang++ ", command, count=1)
json.dump([c for c in commands if "cmake_pch" not in c["file"]], open(target, "w"), indent=1)
