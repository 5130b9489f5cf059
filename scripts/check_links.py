#!/usr/bin/env python3
"""Checks links in Markdown files without a network: files and anchors exist, and every page of docs/ can be reached.

  scripts/check_links.py      exit status 1 and one line per finding

A page is reachable if links lead to it from README.md. mkdocs.yml is checked too: the pages in its navigation must exist.
"""

import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^()<>\s]+(?:\([^()\s]*\))?)>?(?:\s+\"[^\"]*\")?\)")
HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*$")
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"([^\"]+)\"")
CODE = re.compile(r"(`+)(?:(?!\1).)*\1")
NAVIGATION = re.compile(r"^\s+- (?:[^:#]+: )?([\w./-]+\.md)\s*$", re.M)


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns], cwd=ROOT,
                            capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).exists()]


def lines(path):
    """(number, line) outside of fenced and indented code."""
    fence = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or line.strip().startswith(fence)):
            fence = None if fence else mark[1]
        elif fence is None and not line.startswith("    "):
            yield number, line


def slug(heading):
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path, known={}):
    if path not in known:
        found = set()
        for _, line in lines(path):
            found.update(ANCHOR.findall(line))
            heading = HEADING.match(line)
            if heading:
                base = name = slug(heading[1])
                count = 0
                while name in found:
                    count += 1
                    name = f"{base}-{count}"
                found.add(name)
        known[path] = found
    return known[path]


def links(path):
    for number, line in lines(path):
        for target in LINK.findall(CODE.sub("", line)):
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                yield number, urllib.parse.unquote(target)


def main():
    findings, leads_to = [], {}
    pages = tracked("*.md", ":!tests/scripts/*")
    count = 0
    for path in pages:
        name = path.relative_to(ROOT)
        for number, target in links(path):
            count += 1
            file, _, anchor = target.partition("#")
            aim = (path.parent / file).resolve() if file else path
            leads_to.setdefault(path, set()).add(aim)
            if not aim.exists():
                findings.append(f"{name}:{number}: {target}: no such file")
            elif anchor and aim.suffix == ".md" and anchor not in anchors(aim):
                findings.append(f"{name}:{number}: {target}: no such heading")

    reached, left = set(), [ROOT / "README.md"]
    while left:
        path = left.pop()
        if path not in reached:
            reached.add(path)
            left += leads_to.get(path, ())
    for path in pages:
        if ROOT / "docs" in path.parents and path not in reached:
            findings.append(f"{path.relative_to(ROOT)}: no link leads here from README.md; add one to docs/README.md")
    navigation = ROOT / "mkdocs.yml"
    if navigation.exists():
        for page in NAVIGATION.findall(navigation.read_text()):
            if not (ROOT / "docs" / page).exists():
                findings.append(f"mkdocs.yml: {page}: no such page in docs/")
    print("\n".join(findings) or f"links: {count} in {len(pages)} pages lead somewhere")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
