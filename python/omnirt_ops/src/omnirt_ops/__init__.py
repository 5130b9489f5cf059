"""OmniRT's processor kernels for PyTorch, and pipelines of diffusers that compute by them."""

from ._patch import Entry, Report, patch, patched, unpatch
from ._library import CPU_TARGET
from .ops import (
    ACTIVATIONS,
    PRECISIONS,
    attention,
    conv2d,
    fp8_linear,
    geglu_linear,
    gguf_linear,
    group_norm,
    int8_conv2d,
    int8_linear,
    int8_pack,
    linear,
)

__version__ = "0.1.0"
__all__ = [
    "ACTIVATIONS",
    "CPU_TARGET",
    "Entry",
    "PRECISIONS",
    "Report",
    "attention",
    "conv2d",
    "fp8_linear",
    "geglu_linear",
    "gguf_linear",
    "group_norm",
    "int8_conv2d",
    "int8_linear",
    "int8_pack",
    "linear",
    "patch",
    "patched",
    "unpatch",
]
