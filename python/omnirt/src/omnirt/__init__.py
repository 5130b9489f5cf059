"""OmniRT: a native runtime for diffusion models.

    import omnirt
    pipe = omnirt.Pipeline.from_pretrained("emoji")
    pipe("a red apple", seed=1).images[0].save("apple.png")
"""

from omnirt import _build, _load

_load.check_torch()

from omnirt.cancel import CancelToken
from omnirt.errors import (
    Cancelled,
    Closed,
    Error,
    InternalError,
    InvalidFile,
    InvalidRequest,
    OutOfMemory,
    RunFailed,
    UnknownModel,
    Unsupported,
    WeightMismatch,
)
from omnirt.models import Capabilities, Model, backends, describe, inspect, limit_threads, models
from omnirt.parts import (
    Block,
    ChunkLoop,
    ChunkPart,
    Condition,
    Config,
    DenoisePart,
    Guider,
    InOut,
    Input,
    OptionalInput,
    Output,
    Scheduler,
    has,
    has_component,
    has_config,
    is_task,
    negative,
)
from omnirt.pipeline import Pipeline
from omnirt.progress import Preview, Step
from omnirt.report import Checked, Finding, Report
from omnirt.result import Result

__version__ = _build.VERSION

__all__ = [
    "Block",
    "CancelToken",
    "Cancelled",
    "Capabilities",
    "Checked",
    "ChunkLoop",
    "ChunkPart",
    "Closed",
    "Condition",
    "Config",
    "DenoisePart",
    "Error",
    "Finding",
    "Guider",
    "InOut",
    "Input",
    "InternalError",
    "InvalidFile",
    "InvalidRequest",
    "Model",
    "OptionalInput",
    "OutOfMemory",
    "Output",
    "Pipeline",
    "Preview",
    "Report",
    "Result",
    "RunFailed",
    "Scheduler",
    "Step",
    "UnknownModel",
    "Unsupported",
    "WeightMismatch",
    "backends",
    "describe",
    "has",
    "has_component",
    "has_config",
    "inspect",
    "is_task",
    "limit_threads",
    "models",
    "negative",
]
