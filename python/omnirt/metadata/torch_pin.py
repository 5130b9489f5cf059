"""What the wheel depends on: Pillow, and the minor of torch that it is linked to."""
import os
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[3]


def torch_folder():
    given = os.environ.get("OMNIRT_TORCH")
    if given:
        return pathlib.Path(given)
    found = sorted(TREE.glob("build/venv/lib/python3*/site-packages/torch"))
    if not found:
        raise RuntimeError("no libtorch: run scripts/setup, or set OMNIRT_TORCH=<prefix>")
    return found[0]


def torch_minor():
    for line in (torch_folder() / "version.py").read_text().splitlines():
        if line.startswith("__version__"):
            return ".".join(line.split("'")[1].split("+")[0].split(".")[:2])
    raise RuntimeError(f"{torch_folder()}/version.py names no version")


def dynamic_metadata(field, settings=None):
    if field != "dependencies":
        raise ValueError(f"no provider of {field}")
    return [f"torch=={torch_minor()}.*", "pillow"]
