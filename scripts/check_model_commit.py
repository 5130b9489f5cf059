#!/usr/bin/env python3
"""Shows that a model is added by new files and an edit of the catalogue alone.

  scripts/check_model_commit.py [COMMIT...]

Without arguments: every commit of this history with the trailer "Adds-Model: <family>". Under src/ such a commit may
add files, and edit src/catalogue/catalogue.cpp; it must add a family, and a network class of its own. Outside src/ it
may edit the lists and texts of tests, goldens and docs, and what installs and finds a new Debian package. Each folder of
src/families must have such a commit, except those that are older than the rule (BEFORE_THE_RULE). For all families,
those included, no shared folder (SHARED) may name a network's class in its code: what a model says of itself is in its
folder (nn::NetworkInfo). Exit status 1 with one line per finding. If the history is cut off or rewritten, so that there is nothing to look at, it says so.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CATALOGUE = "src/catalogue/catalogue.cpp"
TEXTS = ("tests/", "tools/goldens/", "docs/", "README.md")
PACKAGES = ("scripts/setup", "cmake/OmniDependencies.cmake", "src/CMakeLists.txt")
TRAILER = "Adds-Model"
# Families whose commits also edited shared files, or that came before the trailer.
BEFORE_THE_RULE = {
    "aura_flow", "flux3", "krea2", "lumina2", "qwen_image_edit", "sana", "sd", "sdxl", "svd", "upscale"
}
SHARED = ("base", "io", "hub", "tensor", "ops", "runtime", "backends", "weights", "text", "pipeline", "request", "engine", "serve")
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
COMMENT = re.compile(r'(?<![:"])//.*')
NEEDED = {"a family (src/families/<family>/)": r"src/families/[^/]+/", "a network class (src/networks/<class>/)": r"src/networks/[^/]+/"}


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def commits_with_trailer():
    """{commit: family}, oldest first."""
    out = git("log", "--reverse", f"--grep=^{TRAILER}: ", f"--format=%H %(trailers:key={TRAILER},valueonly,separator=%x2C)")
    lines = [line.split(" ", 1) for line in out.stdout.splitlines()]
    return {line[0]: line[1] for line in lines if len(line) == 2 and line[1]}


def changes(commit):
    """[(status, path)] against the first parent; a move is a removal and an addition."""
    out = git("diff-tree", "-r", "--no-renames", "--root", "--name-status", "--no-commit-id", "-m", "--first-parent", commit)
    return [tuple(line.split("\t", 1)) for line in out.stdout.splitlines()]


def findings(commit):
    name = git("log", "-1", "--format=%h %s", commit).stdout.strip()
    changed = changes(commit)
    added = [path for status, path in changed if status == "A"]
    for status, path in changed:
        if status == "A" or path == CATALOGUE or path.startswith(TEXTS) or path in PACKAGES:
            continue
        yield f"{name}: {'removes' if status == 'D' else 'edits'} {path}"
    for what, pattern in NEEDED.items():
        if not any(re.match(pattern, path) for path in added):
            yield f"{name}: lacks {what}, newly added"
    if ("M", CATALOGUE) not in changed:
        yield f"{name}: does not enter anything into {CATALOGUE}"


def unnamed_families(named):
    """The families of this tree that no commit says it adds."""
    families = {path.name for path in (ROOT / "src/families").iterdir() if path.is_dir()}
    for family in sorted(families - BEFORE_THE_RULE - named):
        yield f"src/families/{family}: no commit says {TRAILER}: {family}"
    for family in sorted(BEFORE_THE_RULE - families):
        yield f"BEFORE_THE_RULE: there is no src/families/{family}"


def class_names():
    """The network classes of this tree, as checkpoints name them."""
    names = set()
    for path in (ROOT / "src/networks").rglob("*.cpp"):
        names.update(re.findall(r'(?:\.class_name = |info_of\(\s*)"(\w+)"', path.read_text()))
    return names


def shared_names():
    """The places in shared folders whose code depends on the class of one network."""
    names = class_names()
    for folder in SHARED:
        for path in sorted((ROOT / "src" / folder).rglob("*.?pp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for name in set(LITERAL.findall(COMMENT.sub("", line))) & names:
                    yield f"{path.relative_to(ROOT)}:{number}: names {name}: say it in its NetworkInfo"


def unchecked():
    """Why there is nothing to check; empty where there should be something."""
    if git("rev-parse", "--git-dir").returncode != 0:
        return "this is no git checkout"
    if git("rev-parse", "--is-shallow-repository").stdout.strip() == "true":
        return f"this clone is shallow, and holds no commit with the trailer {TRAILER} (git fetch --unshallow gets them)"
    return f"no commit of this history has the trailer {TRAILER}"


def main():
    given = sys.argv[1:]
    missing = [commit for commit in given if git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}").returncode != 0]
    if missing:
        sys.exit(f"models: there is no commit {', '.join(missing)} here")
    named = {} if given else commits_with_trailer()
    commits = given or list(named)
    if not commits:
        print(f"models: commits NOT CHECKED: {unchecked()}")
    # At the edge of a shallow clone a commit looks as if it added everything.
    edge = {c for c in commits if git("rev-parse", "--verify", "--quiet", f"{c}^1").returncode != 0}
    if edge:
        print(f"models: NOT CHECKED: the parents of {len(edge)} commits are not in this clone")
    found = [finding for commit in commits if commit not in edge for finding in findings(commit)]
    if named and not edge:
        found += unnamed_families({family for families in named.values() for family in families.split(",")})
    shared = list(shared_names())
    found += shared
    for finding in found:
        print(finding)
    if not shared:
        print(f"models: {len(class_names())} network classes, none named by shared code")
    if not found and len(commits) > len(edge):
        print(f"models: {len(commits) - len(edge)} added by new files and {CATALOGUE} alone")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
