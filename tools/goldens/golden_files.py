"""What the scripts of a family's goldens have in common: their arguments, and how files are written or compared."""

import argparse

import common


def arguments(doc, **only):
    """`only`: of --only."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", type=lambda text: set(text.split(",")), **only)
    parser.add_argument("--runs", type=lambda text: set(text.split(",")), help="these alone")
    parser.add_argument("--keep-models", action="store_true", help="use the folders that are there")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    return parser.parse_args()


def check_or_write(path, tensors, check):
    if not all(bool(value.isfinite().all()) for value in tensors.values()):
        raise SystemExit(f"{path}: not finite")
    if not check:
        common.write_tensors(path, tensors)
        return
    for name, (difference, largest) in common.largest_difference(path, tensors).items():
        print(f"{path.parent.name}/{path.stem} {name}: {difference:.2g} of {largest:.2g}")


def make_networks(cases, check, only=()):
    """`cases`: name, what writes its folder, what yields its files' names and tensors. `only`: these; empty: all."""
    for name, (make, goldens) in cases:
        if only and name not in only:
            continue
        folder = common.GOLDENS / "networks" / name
        if not check:
            make(folder)
        for file, tensors in goldens(folder):
            check_or_write(folder / f"{file}.safetensors", tensors, check)


def make_pipeline(name, write_model, runs, generate, options, load=common.load_any):
    """A folder of tests/goldens/pipelines by write_model(folder), and its `runs` (titles and requests)."""
    folder = common.GOLDENS / "pipelines" / name
    if not (options.check or options.keep_models):
        write_model(folder / "model")
    pipe = load(folder / "model")
    for title, request in runs:
        if options.runs and title not in options.runs:
            continue
        (folder / title).mkdir(parents=True, exist_ok=True)
        tensors = generate(pipe, request, folder / title)
        if not options.check:
            common.write_json(folder / title / "request.json", request)
        check_or_write(folder / title / "golden.safetensors", tensors, options.check)


def make_controls(doc, family, network_cases, runs, generate):
    """The main of a family's ControlNets: their networks, and the runs below tests/goldens/control/FAMILY.
    `generate`: the tensors of a run, of its folder and request."""
    options = arguments(doc)
    wanted = options.only or {"networks", "runs"}
    if "networks" in wanted:
        make_networks(network_cases(), options.check)
    if "runs" not in wanted:
        return
    for title, request in runs():
        if options.runs and title not in options.runs:
            continue
        folder = common.GOLDENS / "control" / family / title
        folder.mkdir(parents=True, exist_ok=True)
        tensors = generate(folder, request)
        if not options.check:
            common.write_json(folder / "request.json", request)
        check_or_write(folder / "golden.safetensors", tensors, options.check)


def write_or_compare(paths, doc):
    """Files of one script that has --check alone: {path: tensors}."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    for path, tensors in paths().items():
        if check:
            print(path.stem, max(d for d, _ in common.largest_difference(path, tensors).values()))
        else:
            common.write_tensors(path, tensors)
