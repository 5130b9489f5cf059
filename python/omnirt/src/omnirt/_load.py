"""Finds the torch that the extension module is linked to, and loads the module when it is needed first."""

import ctypes
import functools
import importlib
import importlib.metadata
import importlib.util
import os
import pathlib
import sys
from typing import Any

from omnirt import _build

HERE = pathlib.Path(__file__).resolve().parent
_LIBRARIES = ("libc10.so", "libtorch_cpu.so", "libtorch.so")


def _minor(version: str) -> str:
    return ".".join(version.split("+")[0].split(".")[:2])


def _torch_version() -> str:
    loaded = sys.modules.get("torch")
    if loaded is not None and hasattr(loaded, "__version__"):
        return str(loaded.__version__)
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise ImportError(
            f"omnirt {_build.VERSION} computes with torch {_minor(_build.TORCH)}, and torch is not installed; "
            f"install it: pip install 'torch=={_minor(_build.TORCH)}.*'"
        ) from None


def check_torch() -> None:
    """Raises ImportError where the installed torch is of another minor than the one that omnirt was built for."""
    found, wanted = _torch_version(), _minor(_build.TORCH)
    if _minor(found) != wanted:
        raise ImportError(
            f"this omnirt {_build.VERSION} was built for torch {wanted}, and torch {found} is installed; install that "
            f"one (pip install 'torch=={wanted}.*'), or an omnirt that was built for torch {_minor(found)} "
            "(OMNIRT_TORCH=<folder of that torch> make wheels)"
        )


def torch_libraries() -> pathlib.Path:
    """The folder of libtorch: that of the torch package, which need not lie beside this one."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise ImportError("torch is named by its metadata, but is not to be found; install it again")
    return pathlib.Path(found.origin).resolve().parent / "lib"


def _beside() -> bool:
    return torch_libraries() == HERE.parent / "torch" / "lib"


@functools.cache
def native() -> Any:
    """The extension module. Loading it does not import torch, whose libraries it shares."""
    if "torch" not in sys.modules:
        # libtorch's threads wait awake between two operations, by default for milliseconds; read as it is loaded.
        if "OMP_WAIT_POLICY" not in os.environ:
            os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    if not _beside():
        for name in _LIBRARIES:
            ctypes.CDLL(str(torch_libraries() / name), mode=ctypes.RTLD_GLOBAL)
    return importlib.import_module("omnirt._native")


def program() -> "tuple[pathlib.Path, dict[str, str]]":
    """The `omnirt` program of this package, and the environment that it is to be run in."""
    environment = dict(os.environ)
    if not _beside():
        folders = [str(torch_libraries()), environment.get("LD_LIBRARY_PATH", "")]
        environment["LD_LIBRARY_PATH"] = ":".join(each for each in folders if each)
    return HERE / "bin" / "omnirt", environment
