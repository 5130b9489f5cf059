#!/usr/bin/env python3
"""What comes from outside is parsed in few places, which bound depth, keys and sizes: calls of the parsing libraries'
own functions elsewhere are errors."""
import pathlib
import re
import sys

# A call, and the files that may hold it.
RULES = [
    (re.compile(r"\bjson::parse\(|\bJson::parse\(|\bJson::accept\("), {"src/base/json.cpp"}, "parse_json (base/json.hpp)"),
    (re.compile(r"::sax_parse\("), {"src/text/tokenizer_json.cpp", "src/text/unigram_json.cpp"},
     "parse_json, or one of the tokenizers' readers"),
    (re.compile(r"\bYAML::(Load|LoadFile|LoadAll|Parser)\b"), {"src/request/request_yaml.cpp"}, "parse_yaml"),
    # Parsed numbers are unsigned and those of code are signed: asking for one refuses the other.
    (re.compile(r"\bis_number_unsigned\("), {"src/base/whole_number.cpp", "src/serve/broker/shared_job_text.cpp"},
     "whole_number (base/whole_number.hpp)"),
    (re.compile(r"\bfrom_(cbor|msgpack|ubjson|bson|bjdata)\("), set(), "parse_json"),
]


def main() -> int:
    wrong = 0
    sources = sorted(pathlib.Path("src").rglob("*.cpp")) + sorted(pathlib.Path("src").rglob("*.hpp"))
    for path in sources:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            for pattern, allowed, instead in RULES:
                if pattern.search(code) and path.as_posix() not in allowed:
                    print(f"{path}:{number}: {pattern.search(code).group()}...): use {instead}")
                    wrong += 1
    if wrong == 0:
        print(f"parsing: {len(sources)} files, what comes from outside goes through the bounded readers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
