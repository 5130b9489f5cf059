"""The declarations of this build as Python's own: signatures, docstrings, and the stub that type checkers read."""

import functools
import inspect
import json
from typing import Any, Dict, List, Tuple

from omnirt.models import Model, shared_session

_INPUT_TYPES = {
    "image": "ImageInput | Sequence[ImageInput]",
    "images": "ImageInput | Sequence[ImageInput]",
    "texts": "str | Sequence[str]",
    "given latents": "PathLike | Array",
    "given embeddings": "PathLike",
}
_KEY_TYPES = {
    "boolean": "bool",
    "integer": "int",
    "number": "float",
    "text": "str",
    "list": "Sequence[float]",
    "object": "Any",
}
_EMBEDS = ("negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds", "prompt_embeds")
# Keywords of the package itself, in the order of the signature.
_OWN: Tuple[Tuple[str, str, str], ...] = (
    ("output_type", 'Literal["pil", "np", "pt", "latent"]', "the form of the images"),
    ("generator", "Generator | Sequence[Generator]", "torch generators to draw from, one for each image"),
    *((name, "Array", "what a prompt means, as diffusers' encode_prompt gives it") for name in _EMBEDS),
    ("guider", "str | Mapping[str, Any]", "a guider's type, or it with its settings"),
    ("components", "Mapping[str, Any]", "components by path or id, in place of or beside the model's own"),
    ("adapters", "PathLike | Sequence[Any]", "LoRA and other adapters: PATH, PATH:SCALE, or {path, scale, ...}"),
    ("task", "str", "inferred from the inputs where it is not given"),
    ("backend", "str", "the first that is available where none is given"),
)


@functools.cache
def input_types() -> Dict[str, Tuple[str, str]]:
    """Of every input of this build its type and what it is; what stands for a prompt under guidance among them."""
    found: Dict[str, Tuple[str, str]] = {}
    for name, told in json.loads(shared_session().inputs()).items():
        found[name] = (_INPUT_TYPES[told["type"]], told["help"])
        if name.startswith("prompt") and told["type"] == "texts":
            found["negative_" + name] = (_INPUT_TYPES["texts"], "what it does not show, under guidance")
    return found


@functools.cache
def keys() -> Dict[str, Dict[str, Any]]:
    """Every config key of this build."""
    return {each["name"]: each for each in json.loads(shared_session().keys()) if each["name"] != "output_type"}


def _key_type(key: Dict[str, Any]) -> str:
    if key["type"] == "text" and key["choices"]:
        return "Literal[" + ", ".join(json.dumps(each) for each in key["choices"]) + "]"
    if key["name"] in ("output", "output_dir", "state", "resume", "preview_dir"):
        return "PathLike"
    return _KEY_TYPES[key["type"]]


def _key_line(key: Dict[str, Any]) -> str:
    told = key["help"]
    if "min" in key or "max" in key:
        told += f" ({key.get('min', '-inf'):g} to {key.get('max', float('inf')):g})"
    return f"{told}; default {key['default']}" if key.get("default") is not None else told


def signature_of(model: Model) -> inspect.Signature:
    """The call of one model: the inputs and config keys of its tasks."""
    kinds = inspect.Parameter
    made: Dict[str, inspect.Parameter] = {}
    for task in model.tasks:
        for name in task.required_inputs + task.optional_inputs:
            kind = kinds.POSITIONAL_OR_KEYWORD if name == "prompt" else kinds.KEYWORD_ONLY
            made.setdefault(name, kinds(name, kind, default=None))
    for task in model.tasks:
        for key in task.keys:
            made.setdefault(key.name, kinds(key.name, kinds.KEYWORD_ONLY, default=key.default))
    for name, _, _ in _OWN:
        made[name] = kinds(name, kinds.KEYWORD_ONLY, default=None)
    for name in ("callback", "preview_callback", "progress", "cancel"):
        made[name] = kinds(name, kinds.KEYWORD_ONLY, default=None)
    ordered = sorted(made.values(), key=lambda each: each.kind)
    return inspect.Signature(ordered)


def doc_of(model: Model) -> str:
    """What one model takes, in words."""
    lines: List[str] = []
    for task in model.tasks:
        lines += [f"{model.id}, {task.task}: {task.summary}", ""]
        for name in task.required_inputs:
            lines.append(f"    {name}: {input_types().get(name, ('', ''))[1]} (required)")
        for name in task.optional_inputs:
            lines.append(f"    {name}: {input_types().get(name, ('', ''))[1]}")
        for key in task.keys:
            lines.append(f"    {key.name}: {_key_line(key.to_dict())}")
        lines.append("")
    return "\n".join(lines).rstrip()


def _parameters() -> List[str]:
    lines = []
    for name, (type_, told) in sorted(input_types().items()):
        if name not in ("prompt", "encoded_prompt"):
            lines.append(_parameter(name, type_, told))
    for name, type_, told in _OWN:
        lines.append(_parameter(name, type_, told))
    for name, key in sorted(keys().items()):
        lines.append(_parameter(name, _key_type(key), _key_line(key)))
    return lines


def _parameter(name: str, type_: str, told: str) -> str:
    # One line: a default may be a text of several.
    line = " ".join(told.split())
    return f"        {name}: {type_} | None = ...,  # {line}".rstrip(" #")


_HEAD = '''\
# Written by omnirt.declarations.stub() from the declarations of this build: every input and config key of any model.
from collections.abc import Callable, Mapping, Sequence
from os import PathLike as _OsPathLike
from typing import Any, Literal, Protocol

from omnirt.cancel import CancelToken
from omnirt.progress import Preview, Step
from omnirt.report import Checked
from omnirt.result import Result

PathLike = str | _OsPathLike[str]

class Array(Protocol):
    """What has __dlpack__: a torch.Tensor, a numpy array."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

class Picture(Protocol):
    """A PIL image."""

    @property
    def mode(self) -> str: ...
    def tobytes(self, *args: Any, **kwargs: Any) -> bytes: ...

class Generator(Protocol):
    """A torch.Generator."""

    def get_state(self) -> Any: ...
    def set_state(self, state: Any, /) -> Any: ...

ImageInput = PathLike | Array | Picture
'''


def stub() -> str:
    """_call.pyi."""
    given = "\n".join(_parameters())
    own = """\
        callback: Callable[[Step], Any] | None = ...,
        preview_callback: Callable[[Preview], Any] | None = ...,
        progress: bool | None = ...,
        cancel: CancelToken | None = ...,
"""
    prompt = "        prompt: str | Sequence[str] | None = ...,\n        *,\n"
    calls = ""
    for name, before, result, more in (
        ("__call__", "def", "Result", own),
        ("agenerate", "async def", "Result", own),
        ("validate", "def", "Checked", ""),
    ):
        calls += f"    {before} {name}(\n        self,\n{prompt}{more}{given}\n    ) -> {result}: ...\n"
    return f"{_HEAD}\nclass Call:\n{calls}"
