#!/usr/bin/env python3
"""Checks the wording of documents, messages, comments, identifiers and commit subjects against docs/style.md.

  scripts/check_words.py            exit status 1 and one line per finding
  scripts/check_words.py --update   lowers the counts in scripts/words_baseline.json to those of the tree
  scripts/check_words.py --list X   lists where the phrase or identifier X occurs, in every area

A phrase may occur in an area as often as the baseline records, and not at all if it is not recorded. Commit subjects are checked
from the merge base with the main branch on; without a main branch to compare with, in the newest commits.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BASELINE = ROOT / "scripts" / "words_baseline.json"
NEWEST = 10
UNITS = "image|picture|prompt|step|second|condition|component|channel|call|row|line|run|file|key|block|model"
COUNTED = "images?|pictures?|passes|calls?|steps?|rows?|lines?|draws?|once|forwards?|values?"
# phrase: (pattern, better)
PHRASES = {
    "picture": (r"\bpictures?\b", "image"),
    "one a unit": (rf"\b(?:{COUNTED}) an? (?:{UNITS})\b(?! (?:of|that|which|to|in|with)\b)", "per ..."),
    "way out": (r"\bways? out\b", "fix"),
    "stand over": (r"\bstands? over\b", "override"),
    "leave away": (r"\b(?:leave|left) (?:away|aside)\b", "omit, ignored"),
    "carry on": (r"\b(?:carry|carries) on\b", "continue"),
    "anew": (r"\banew\b", "again"),
    "told": (r"\btold\b", "inferred, recorded, given, reported"),
    "nobody": (r"\b(?:nobody|somebody)\b", "no block, another process"),
    "soon and small": (r"\bsoon and small\b", "fast and small"),
    "go by": (r"\b(?:go|goes|going|went) by\b", "use, follow, depend on"),
    "beside": (r"\bbeside\b", "with, next to, in addition to"),
    "take part": (r"\btakes? part\b", "run, be used"),
    "of its own": (r"\bof (?:its|their) own\b", "its own ..., separate"),
    "so many": (r"\bso many\b", "the number of, this many"),
    "by turns": (r"\bby turns\b", "alternately, in turn"),
    "held against": (r"\bheld against\b", "compared with"),
    "makes of": (r"\bwhat\b[^.;:]{1,60}\bmakes? of\b", "the result, the output of"),
    "look at": (r"\blook(?:s|ed|ing)? at\b", "check, read, use, attend to"),
    "says of": (r"\bsays? of\b", "specify for, record about"),
    "come with": (r"\bcomes? with\b", "include, bring"),
    "mend": (r"\bmend(?:ed|s)?\b", "fix"),
    "at the least": (r"\bat the least\b", "at least"),
}
NAMES = {
    "way_out": "fix", "beside": "unmerged", "side_term": "low_rank_term", "told": "given, inferred, reported",
    "stand_in": "override", "came_apart": "batch_failed", "let_go": "release", "turned_heads": "apply_rope",
    "perceptron": "mlp", "goes_by": "uses",
}
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/*.md", ":!docs/style.md", ":!docs/reference/*")
CPP = ("src/*.cpp", "src/*.hpp", "src/*.h", "tests/*.cpp", "tests/*.hpp", "python/*.cpp", "python/*.hpp", "bench/*.cpp")
PYTHON = ("tests/*.py", "tools/*.py", "python/*.py", "bench/*.py", "scripts/*.py", ":!scripts/check_words.py")
CPP_TOKEN = re.compile(r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<text>R"\w*\(.*?\)\w*"|"(?:[^"\\\n]|\\.)*")|\'(?:[^\'\\\n]|\\.)+\'', re.S)
PYTHON_TOKEN = re.compile(r'(?P<comment>#[^\n]*|""".*?""")|(?P<text>"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\')', re.S)
CODE = re.compile(r"`[^`]*`")


def git(*words):
    ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return ran.stdout.strip() if ran.returncode == 0 else None


def tracked(*patterns):
    return [name for name in (git("ls-files", "--", *patterns) or "").splitlines() if (ROOT / name).exists()]


def camel_case(name):
    return "".join(part.capitalize() for part in name.split("_"))


def name_pattern(name):
    """Finds a name and its CamelCase form as whole parts of identifiers."""
    return rf"(?<![a-z]){name}(?![a-z])|{camel_case(name)}(?![a-z])"


def any_of(patterns):
    return "|".join(f"(?P<g{n}>{pattern})" for n, pattern in enumerate(patterns))


PHRASE = re.compile(any_of(pattern for pattern, _ in PHRASES.values()), re.I)
NAME = re.compile(any_of(name_pattern(name) for name in NAMES))
SPELLINGS = [spelling for name in NAMES for spelling in (name, camel_case(name))]


def documents(text):
    """A document's lines without code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.startswith("```")
        fenced ^= fence
        if not fenced and not fence:
            yield number, "docs", CODE.sub("", line)


def sources(text, token):
    """A source's comments, its string literals that are sentences, and its code."""
    start, line = 0, 1
    for found in token.finditer(text):
        yield line, "identifiers", text[start:found.start()]
        line += text.count("\n", start, found.start())
        if found["comment"]:
            yield line, "comments", found["comment"]
        elif found["text"] and " " in found["text"]:
            yield line, "messages", found["text"]
        line += text.count("\n", found.start(), found.end())
        start = found.end()
    yield line, "identifiers", text[start:]


def occurrences():
    """(area, phrase, file, line, what was found) in the whole tree. Only the program's own messages count, not those of tests."""
    for files, split in ((DOCUMENTS, documents), (CPP, lambda text: sources(text, CPP_TOKEN)),
                         (PYTHON, lambda text: sources(text, PYTHON_TOKEN))):
        for file in tracked(*files):
            for line, area, text in split((ROOT / file).read_text(errors="replace")):
                if area == "messages" and not file.startswith("src/"):
                    continue
                if area == "identifiers" and not any(spelling in text for spelling in SPELLINGS):
                    continue
                pattern, names = (NAME, list(NAMES)) if area == "identifiers" else (PHRASE, list(PHRASES))
                for found in pattern.finditer(text):
                    at = line + text.count("\n", 0, found.start())
                    yield area, names[int(found.lastgroup[1:])], file, at, found[0].replace("\n", " ")


def better(area, phrase):
    return NAMES[phrase] if area == "identifiers" else PHRASES[phrase][1]


def base_commit():
    """The merge base with the main branch; None without a main branch other than HEAD's own."""
    refs = [os.environ.get("OMNIRT_BASE")]
    if os.environ.get("GITHUB_BASE_REF"):
        refs.append("origin/" + os.environ["GITHUB_BASE_REF"])
    refs.append("origin/main")
    if git("symbolic-ref", "--short", "-q", "HEAD") != "main":
        refs.append("main")
    return next((base for base in (ref and git("merge-base", ref, "HEAD") for ref in refs) if base), None)


def subject_findings(base):
    listed = git("log", "--no-merges", "--format=%h %s", *([f"{base}..HEAD"] if base else [f"-{NEWEST}"])) or ""
    for commit, subject in (line.split(" ", 1) for line in listed.splitlines() if " " in line):
        first = subject.split()[0]
        if len(subject) > 72:
            yield f"commit {commit}: the subject has {len(subject)} characters; shorten it to 72"
        if subject.endswith("."):
            yield f"commit {commit}: the subject ends with a period; remove it"
        if first in ("The", "A", "An") or re.search(r"[a-z](?<!e)ed$|[a-z]{3}ing$", first):
            yield f"commit {commit}: the subject starts with '{first}'; start with an imperative, as in 'Add ...'"


def updated(places, allowed):
    """The baseline with counts lowered to those of the tree; an area that is not recorded yet gets its present counts."""
    lowered = collections.defaultdict(dict)
    for (area, phrase), listed in sorted(places.items()):
        count = min(len(listed), allowed[area].get(phrase, 0)) if area in allowed else len(listed)
        if count:
            lowered[area][phrase] = count
    return lowered


def phrase_findings(places, allowed, changed):
    for (area, phrase), listed in sorted(places.items()):
        limit = allowed.get(area, {}).get(phrase, 0)
        if len(listed) <= limit:
            continue
        if limit:
            yield (f"{area}: '{phrase}' occurs {len(listed)} times, and the baseline allows {limit}; "
                   f"scripts/check_words.py --list '{phrase}' lists them. In changed files:")
            listed = [place for place in listed if place[0] in changed]
        for file, line, found in listed[:20]:
            yield f"{file}:{line}: {area}: '{found}': write {better(area, phrase)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true", help="lower the baseline's counts to those of the tree")
    parser.add_argument("--list", metavar="PHRASE", help="list where this phrase or identifier occurs")
    options = parser.parse_args()
    places = collections.defaultdict(list)
    for area, phrase, *place in occurrences():
        places[area, phrase].append(place)
    if options.list:
        for (area, phrase), listed in sorted(places.items()):
            for file, line, found in listed if phrase == options.list else []:
                print(f"{file}:{line}: {area}: '{found}': write {better(area, phrase)}")
        return 0
    allowed = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if options.update:
        allowed = updated(places, allowed)
        BASELINE.write_text(json.dumps(allowed, indent=2) + "\n")
    base = base_commit()
    changed = set((git("diff", "--name-only", base or "HEAD") or "").splitlines())
    findings = [*phrase_findings(places, allowed, changed), *subject_findings(base)]
    left = sum(map(len, places.values()))
    print("\n".join(findings) or f"words: {left} phrases of the baseline left, no others; commit subjects are in form")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
