"""Loads the kernels into torch: torch.ops.omnirt_ops."""

import pathlib
import re

import torch

OLDEST = (2, 11)
PATH = pathlib.Path(__file__).with_name("_kernels.abi3.so")


def load():
    """Once per process; raises ImportError where this torch is too old for the stable ABI used."""
    found = re.match(r"(\d+)\.(\d+)", torch.__version__)
    if found and tuple(map(int, found.groups())) < OLDEST:
        raise ImportError(
            f"omnirt_ops needs torch {OLDEST[0]}.{OLDEST[1]} or later, and this is {torch.__version__}; "
            "install a newer torch"
        )
    if not PATH.is_file():
        raise ImportError(
            f"{PATH.name} is not next to {__file__}: this is the source of omnirt_ops, not a build of it; "
            "install its wheel (make wheels)"
        )
    torch.ops.load_library(str(PATH))
    return torch.ops.omnirt_ops.cpu_target()


# The instructions that the kernels use, by the names of OMNIRT_CPU_TARGET.
CPU_TARGET = load()
