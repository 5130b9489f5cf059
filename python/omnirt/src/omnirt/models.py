"""What this build can run, and how a model is asked: the registry's declarations."""

import functools
import json
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional

from omnirt._load import native
from omnirt.report import Record


@functools.cache
def shared_session() -> Any:
    """A session that describes; pipelines have sessions of their own."""
    return native().make_session()


@dataclass(frozen=True)
class ResourceHint(Record):
    min_vram_gb: float = 0.0
    min_ram_gb: float = 0.0


@dataclass(frozen=True)
class KeyInfo(Record):
    """A config key: a keyword of the pipeline's call."""

    name: str = ""
    default: Any = None
    flag: str = ""
    help: str = ""
    min: Optional[float] = None
    max: Optional[float] = None
    choices: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Capabilities(Record):
    """A registry entry, keyed (id, task)."""

    id: str = ""
    task: str = ""
    family: str = ""
    summary: str = ""
    maturity: str = ""
    default_backend: str = ""
    resource_hint: ResourceHint = field(default_factory=ResourceHint)
    required_inputs: List[str] = field(default_factory=list)
    optional_inputs: List[str] = field(default_factory=list)
    supported_config: List[str] = field(default_factory=list)
    default_config: Dict[str, Any] = field(default_factory=dict)
    default_config_with: Dict[str, Any] = field(default_factory=dict)
    supported_schedulers: List[str] = field(default_factory=list)
    adapter_kinds: List[str] = field(default_factory=list)
    artifact_kind: str = ""
    example: str = ""
    hub_ids: List[str] = field(default_factory=list)
    found_at: str = ""
    alias_of: str = ""
    keys: List[KeyInfo] = field(default_factory=list)
    workflow: List[Dict[str, Any]] = field(default_factory=list)

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> "Capabilities":
        parts = dict(given)
        parts["resource_hint"] = ResourceHint.from_dict(given.get("resource_hint", {}))
        parts["keys"] = [KeyInfo.from_dict(each) for each in given.get("keys", [])]
        known = {name: value for name, value in parts.items() if name in cls.__dataclass_fields__}
        made = cls(**known)
        object.__setattr__(made, "_given", dict(given))
        return made


@dataclass(frozen=True)
class Model(Record):
    """A model with its tasks. `things`: what a small model's folder says it was made to draw."""

    id: str = ""
    tasks: List[Capabilities] = field(default_factory=list)
    things: Any = None

    def task(self, name: str = "") -> Capabilities:
        """The entry of a task; "" takes the first. Raises KeyError."""
        for each in self.tasks:
            if name in ("", each.task):
                return each
        raise KeyError(f"{self.id} has no task {name}; it has {', '.join(each.task for each in self.tasks)}")


def models() -> List[Capabilities]:
    """All registry entries of this build."""
    return [Capabilities.from_dict(each) for each in json.loads(shared_session().models())]


def describe(model: str = "") -> Model:
    """One model: an id, a folder, a file of weights, or "" the embedded one. Raises UnknownModel, Unsupported,
    InvalidFile."""
    told = json.loads(shared_session().model(_text(model)))
    return Model(told["id"], [Capabilities.from_dict(each) for each in told["tasks"]], told.get("things"))


def backends() -> List[Dict[str, Any]]:
    """Each backend of this build: whether it can be used here, why not, and what it can do."""
    made: List[Dict[str, Any]] = json.loads(shared_session().backends())
    return made


def inspect(path: Any) -> Dict[str, Any]:
    """What a file or folder holds: of weights, images of this program, states. Raises InvalidRequest."""
    made: Dict[str, Any] = json.loads(native().inspect(_text(path)))
    return made


def limit_threads(count: int) -> None:
    """The cpu backend computes on `count` threads; before the first run."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"limit_threads: a count from 1 is expected, not {count!r}")
    native().limit_threads(count)


def _text(path: Any) -> str:
    import os

    return os.fspath(path) if not isinstance(path, str) else path
