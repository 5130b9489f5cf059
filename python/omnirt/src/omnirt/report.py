"""What a run did, as typed objects: the fields of docs/report.md by their names. `to_dict()` gives the JSON again."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Type, TypeVar

T = TypeVar("T", bound="Record")


@dataclass(frozen=True)
class Record:
    """A part of the report. Fields of a newer runtime that it does not know are in `to_dict()` alone."""

    @classmethod
    def from_dict(cls: Type[T], given: Mapping[str, Any]) -> T:
        parts = _PARTS.get(cls, {})
        known: Dict[str, Any] = {}
        for each in dataclasses.fields(cls):
            if each.name in given:
                known[each.name] = _made(parts.get(each.name), given[each.name])
        made = cls(**known)
        object.__setattr__(made, "_given", dict(given))
        return made

    def to_dict(self) -> Dict[str, Any]:
        given = getattr(self, "_given", None)
        return dict(given) if given is not None else dataclasses.asdict(self)


def _made(part: Any, value: Any) -> Any:
    if part is None or value is None:
        return value
    if isinstance(value, list):
        return [part.from_dict(each) for each in value]
    if part is ConfigValue:
        return {name: ConfigValue.from_dict(each) for name, each in value.items()}
    return part.from_dict(value)


@dataclass(frozen=True)
class Finding(Record):
    """One thing found wrong, or doubtful: what, where, and the fix."""

    field: str = ""
    value: str = ""
    message: str = ""
    way_out: str = ""

    def __str__(self) -> str:
        value = f" = {self.value}" if self.value else ""
        way_out = f" ({self.way_out})" if self.way_out else ""
        return f"{self.field}{value}: {self.message}{way_out}"


@dataclass(frozen=True)
class ConfigValue(Record):
    """A config key's value, and where it came from: default, model, preset, user, drawn or derived."""

    value: Any = None
    origin: str = "default"


@dataclass(frozen=True)
class Timings(Record):
    prepare_conditions_ms: float = 0.0
    prepare_latents_ms: float = 0.0
    denoise_loop_ms: float = 0.0
    decode_ms: float = 0.0
    export_ms: float = 0.0


@dataclass(frozen=True)
class DeviceMemory(Record):
    """Memory of one device that the run used."""

    device: str = ""
    available_memory_gb: float = 0.0
    tensor_peak_bytes: Optional[int] = None
    tensor_current_bytes: Optional[int] = None
    process_tensor_peak_bytes: Optional[int] = None


@dataclass(frozen=True)
class Memory(Record):
    peak_rss_bytes: int = 0
    available_memory_gb: float = 0.0
    devices: List[DeviceMemory] = field(default_factory=list)
    tensor_peak_bytes: Optional[int] = None
    tensor_current_bytes: Optional[int] = None
    process_tensor_peak_bytes: Optional[int] = None
    weights_stored_bytes: int = 0
    weights_converted_bytes: int = 0
    weights_packed_bytes: int = 0
    predicted_tensor_peak_bytes: int = 0
    kernel_scratch_bytes: int = 0
    kept_between_steps_bytes: int = 0
    weights_moved_bytes: int = 0
    weights_waited_ms: float = 0.0
    plan: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class Attempt(Record):
    level: str = ""
    ok: bool = False
    reason: str = ""
    selected: bool = False
    ms: float = 0.0


@dataclass(frozen=True)
class Timeline(Record):
    component: str = ""
    attempts: List[Attempt] = field(default_factory=list)


@dataclass(frozen=True)
class Fallback(Record):
    component: str = ""
    level: str = ""
    kind: str = ""
    count: int = 0
    total: int = 0


@dataclass(frozen=True)
class PassedOver(Record):
    name: str = ""
    reason: str = ""


@dataclass(frozen=True)
class Artifact(Record):
    path: str = ""
    kind: str = ""
    mime: str = ""
    width: int = 0
    height: int = 0
    seed: int = 0
    prompt: str = ""
    frames: int = 0
    fps: float = 0.0


@dataclass(frozen=True)
class LatentStats(Record):
    mean: float = 0.0
    std: float = 0.0
    p50: float = 0.0
    p95: float = 0.0


@dataclass(frozen=True)
class StepCache(Record):
    kind: str = ""
    interval: int = 0
    branch: int = 0
    order: int = 0
    threshold: float = 0.0
    full_steps: int = 0
    cached_steps: int = 0


@dataclass(frozen=True)
class Placement(Record):
    component: str = ""
    device: str = ""
    dtype: str = ""
    stored_dtype: str = ""
    storage_dtype: Optional[str] = None


@dataclass(frozen=True)
class Adapter(Record):
    path: str = ""
    kind: str = ""
    layout: str = ""
    mode: str = ""
    scale: float = 1.0
    scales: Dict[str, Any] = field(default_factory=dict)
    ranks: List[int] = field(default_factory=list)
    alphas: List[float] = field(default_factory=list)
    layers: Dict[str, int] = field(default_factory=dict)
    tokens: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReportedError(Record):
    kind: str = ""
    message: str = ""
    findings: List[Finding] = field(default_factory=list)


@dataclass(frozen=True)
class Report(Record):
    schema_version: str = ""
    run_id: str = ""
    task: str = ""
    model: str = ""
    model_path: str = ""
    single_file: Optional[Dict[str, Any]] = None
    backend: str = ""
    device: str = ""
    backends_passed_over: List[PassedOver] = field(default_factory=list)
    workflow: str = ""
    components_loaded: List[str] = field(default_factory=list)
    resumed_from: Optional[str] = None
    state: Optional[str] = None
    timings: Timings = field(default_factory=Timings)
    denoise_steps_ms: List[float] = field(default_factory=list)
    denoise_steps_runs: List[int] = field(default_factory=list)
    first_step_ms: Optional[float] = None
    load_ms: float = 0.0
    adapters_ms: float = 0.0
    other_ms: float = 0.0
    total_ms: float = 0.0
    memory: Memory = field(default_factory=Memory)
    backend_timeline: List[Timeline] = field(default_factory=list)
    fallbacks: List[Fallback] = field(default_factory=list)
    remembered_calls: int = 0
    inputs_resolved: Dict[str, Any] = field(default_factory=dict)
    config_resolved: Dict[str, ConfigValue] = field(default_factory=dict)
    artifacts: List[Artifact] = field(default_factory=list)
    previews: List[str] = field(default_factory=list)
    latent_stats: Optional[LatentStats] = None
    step_cache: Optional[StepCache] = None
    device_placement: List[Placement] = field(default_factory=list)
    adapters: List[Adapter] = field(default_factory=list)
    warnings: List[Finding] = field(default_factory=list)
    error: Optional[ReportedError] = None
    profile: List[Dict[str, Any]] = field(default_factory=list)
    block_profile: List[Dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Checked(Record):
    """What validation says of a request: what it would run, and all findings."""

    ok: bool = False
    task: str = ""
    model: str = ""
    model_path: str = ""
    backend: str = ""
    device: str = ""
    workflow: str = ""
    inputs: Dict[str, Any] = field(default_factory=dict)
    config: Dict[str, ConfigValue] = field(default_factory=dict)
    memory_plan: Optional[Dict[str, Any]] = None
    errors: List[Finding] = field(default_factory=list)
    warnings: List[Finding] = field(default_factory=list)


_PARTS: Dict[type, Dict[str, Type[Record]]] = {
    Memory: {"devices": DeviceMemory},
    Timeline: {"attempts": Attempt},
    ReportedError: {"findings": Finding},
    Checked: {"config": ConfigValue, "errors": Finding, "warnings": Finding},
    Report: {
        "backends_passed_over": PassedOver,
        "timings": Timings,
        "memory": Memory,
        "backend_timeline": Timeline,
        "fallbacks": Fallback,
        "config_resolved": ConfigValue,
        "artifacts": Artifact,
        "latent_stats": LatentStats,
        "step_cache": StepCache,
        "device_placement": Placement,
        "adapters": Adapter,
        "warnings": Finding,
        "error": ReportedError,
    },
}
