#!/usr/bin/env python3
"""The texts that people read (docs, README, string literals of src/) have none of the words that docs/style.md replaces.

  scripts/check_words.py      exit status 1 and one line per finding
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
UNITS = "image|picture|prompt|step|second|condition|component|channel|call|row|line|run|file|key|block|model"
COUNTED = "images?|pictures?|passes|calls?|steps?|rows?|lines?|draws?|once|forwards?|values?"
WORDS = [
    (re.compile(r"\bpictures?\b", re.I), "image"),
    (re.compile(rf"\b(?:{COUNTED}) an? (?:{UNITS})\b(?! (?:of|that|which|to|in|with)\b)", re.I), "per ..."),
    (re.compile(r"\bways? out\b", re.I), "the fix"),
    (re.compile(r"\bstands? over\b", re.I), "override"),
    (re.compile(r"\b(?:leave|left) (?:away|aside)\b", re.I), "omit, ignored"),
    (re.compile(r"\b(?:carry|carries) on\b", re.I), "continue"),
    (re.compile(r"\bmade anew\b", re.I), "repainted, made again"),
    (re.compile(r"\bis told\b|\btold from\b|\bare told\b", re.I), "inferred, recorded, given"),
    (re.compile(r"\bnobody\b", re.I), "no block, no one"),
    (re.compile(r"\bsoon and small\b", re.I), "fast and small"),
]
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r"(?<![:\"])//.*")
CODE = re.compile(r"`[^`]*`")


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split()]


def texts(path):
    """(line number, text): a document's lines without code, a source's string literals that are sentences."""
    document, fenced = path.suffix == ".md", False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not document:
            yield from ((number, text) for text in LITERAL.findall(COMMENT.sub("", line)) if " " in text)
            continue
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith("```"):
            yield number, CODE.sub("", line)


def main():
    findings = []
    style = ROOT / "docs" / "style.md"
    for path in tracked("README.md", "docs/*.md", "src/*.cpp", "src/*.hpp"):
        if path == style:
            continue
        for number, text in texts(path):
            for pattern, better in WORDS:
                for found in pattern.findall(text):
                    findings.append(f"{path.relative_to(ROOT)}:{number}: '{found}': write {better}")
    print("\n".join(findings) or "words: none that docs/style.md replaces")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
