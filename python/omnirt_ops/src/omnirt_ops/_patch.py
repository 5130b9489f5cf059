"""patch and unpatch: a diffusers pipeline on these kernels, and back."""

import collections
import contextlib
import dataclasses

import torch
from torch import nn

from . import _modules
from .ops import PRECISIONS


@dataclasses.dataclass(frozen=True)
class Entry:
    """One module: its path in the pipeline, its class, and the kernel it got or why it got none."""

    path: str
    kind: str
    what: str
    dtype: str = ""  # the one that is not taken, where this is the reason


@dataclasses.dataclass
class Report:
    """What patch did. str() of it counts; the lists name each module."""

    patched: list[Entry] = dataclasses.field(default_factory=list)
    left: list[Entry] = dataclasses.field(default_factory=list)

    def __str__(self):
        lines = [f"patched {len(self.patched)} modules, left {len(self.left)}"]
        for title, entries in (("patched", self.patched), ("left", self.left)):
            counts = collections.Counter((entry.kind, entry.what) for entry in entries)
            lines += [f"  {title}: {n} {kind}: {what}" for (kind, what), n in counts.most_common()]
        return "\n".join(lines)


def _components(pipe):
    """(name, module) of a pipeline, or of one module."""
    if isinstance(pipe, nn.Module):
        return [("", pipe)]
    components = getattr(pipe, "components", None)
    if not isinstance(components, dict):
        raise TypeError(
            f"omnirt_ops: {type(pipe).__name__} is neither a pipeline of diffusers nor a torch module"
        )
    return [(name, part) for name, part in components.items() if isinstance(part, nn.Module)]


def _modules_of(pipe):
    for name, component in _components(pipe):
        for path, module in component.named_modules(prefix=name):
            yield path, module


def _kind(module):
    return type(module).__name__


def _check(module):
    if "forward" in module.__dict__:
        raise _modules.Left("its forward is replaced already (a hook of accelerate or diffusers)")
    _modules.check_parameters(module)


def _patch_one(entry, report, precision, make, kernel):
    path, module = entry
    try:
        if make is not _modules.of_gguf_linear:
            _check(module)
        _modules.swap(module, make(module), precision)
    except _modules.Left as reason:
        report.left.append(Entry(path, _kind(module), str(reason), reason.dtype))
    else:
        report.patched.append(Entry(path, _kind(module), kernel))


# Kernels there are none for, of modules that take much of a network's time.
_HEAVY = (nn.Conv1d, nn.Conv3d, nn.ConvTranspose2d, nn.MultiheadAttention, nn.Bilinear)


def _report_left(entries, report):
    for path, module in entries:
        if isinstance(module, _HEAVY):
            report.left.append(Entry(path, _kind(module), "no kernel for it"))
        elif _kind(module).endswith("Attention") and not _modules.calls_attention(module):
            report.left.append(Entry(path, _kind(module), "no scaled_dot_product_attention in it"))
        elif isinstance(module, (nn.Linear, nn.Conv2d, nn.GroupNorm)) and type(module) not in (
            nn.Linear,
            nn.Conv2d,
            nn.GroupNorm,
        ):
            report.left.append(Entry(path, _kind(module), "a class of its own"))


def _check_dtypes(pipe, report):
    """A pipeline whose every weight is of another dtype would compute as before: that is refused."""
    by_dtype = [entry for entry in report.left if entry.dtype]
    if not by_dtype or any(entry.what != "attention" for entry in report.patched):
        return
    unpatch(pipe)
    dtypes = ", ".join(sorted({entry.dtype for entry in by_dtype}))
    raise ValueError(
        f"omnirt_ops: the pipeline's weights are {dtypes} ({by_dtype[0].path}, ...): patch takes "
        "float32, which these kernels compute in; give pipe.to(torch.float32)"
    )


def patch(pipe, *, precision=None):
    """Makes a diffusers pipeline (or a torch module) compute by these kernels, in place.

    Convolutions, group norms, linear layers, GEGLU and attention of every network, and whole
    residual blocks (norm, SiLU, convolution, residual in one). What the kernels do not take (other
    dtypes and devices, grouped convolutions, modules with hooks) is left as it is and reported; a
    pipeline none of whose weights is float32 raises ValueError.
    precision: torch's float32_matmul_precision if omitted. Returns a Report; `unpatch` undoes it.
    """
    precision = precision or torch.get_float32_matmul_precision()
    if precision not in PRECISIONS:
        raise ValueError(
            f"omnirt_ops: precision = {precision!r}: one of {', '.join(PRECISIONS)} is taken"
        )
    entries = list(_modules_of(pipe))
    if any(_modules.is_swapped(module) for _, module in entries):
        raise ValueError("omnirt_ops: this pipeline is patched already; unpatch it first")
    report = Report()
    for cls, make, kernel in _modules.replacements():
        for entry in entries:
            if type(entry[1]) is cls:
                _patch_one(entry, report, precision, make, kernel)
    for path, module in entries:
        if _modules.calls_attention(module) and not _modules.is_swapped(module):
            _patch_one((path, module), report, precision, _modules.of_attention, "attention")
    _report_left([entry for entry in entries if not _modules.is_swapped(entry[1])], report)
    _check_dtypes(pipe, report)
    return report


def unpatch(pipe):
    """Makes every module what it was before patch; the number of modules that were changed."""
    changed = [module for _, module in _modules_of(pipe) if _modules.is_swapped(module)]
    for module in changed:
        _modules.swap_back(module)
    return len(changed)


@contextlib.contextmanager
def patched(pipe, *, precision=None):
    """patch for the length of a with statement, which gets its report."""
    report = patch(pipe, precision=precision)
    try:
        yield report
    finally:
        unpatch(pipe)
