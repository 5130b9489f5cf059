"""Blocks, guiders and schedulers written in Python, and what they declare.

    class Desaturate(omnirt.Block):
        stage = "decode"
        amount = omnirt.Config(float, 0.5, min=0, max=1, help="0 leaves the image, 1 is grey")
        images = omnirt.InOut("images", help="the images")

        def run(self, frame):
            frame.images = [fade(image, frame.amount) for image in frame.images]

    pipe.blocks.insert_after("decode_latents", Desaturate())
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Type, Union

from omnirt._load import native

_KEY_TYPES: Dict[type, str] = {bool: "bool", int: "int", float: "float", str: "str"}


class Port:
    """A declared value of a block; its name is the attribute's, unless `name` says another."""

    kind = ""

    def __init__(self, type: str, name: str = "", *, help: str = "", shape: Sequence[Union[str, int]] = ()) -> None:
        self.type, self.name, self.help = type, name, help
        self.shape = tuple(str(each) for each in shape)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def _spec(self) -> Dict[str, Any]:
        return {
            "kind": self.kind,
            "type": self.type,
            "name": self.name,
            "help": self.help,
            "shape": list(self.shape),
        }


class Input(Port):
    """A value that the block reads: one that a block before it makes, or that the request brings."""

    kind = "input"


class OptionalInput(Port):
    """The same; None where it is absent."""

    kind = "optional_input"


class Output(Port):
    """A value that the block makes."""

    kind = "output"


class InOut(Port):
    """A value that the block reads and replaces."""

    kind = "inout"


class Config:
    """A config key: a keyword of the pipeline's call, checked before anything runs."""

    def __init__(
        self,
        type: type,
        default: Any = None,
        *,
        name: str = "",
        min: Optional[float] = None,
        max: Optional[float] = None,
        choices: Sequence[str] = (),
        help: str = "",
    ) -> None:
        if type not in _KEY_TYPES:
            raise TypeError(f"Config: bool, int, float or str is expected, not {type!r}")
        if default is not None:
            if type in (int, float) and isinstance(default, bool):
                raise TypeError(f"Config: the default {default!r} is no {type.__name__}")
            default = type(default)
        self.type, self.default, self.name = type, default, name
        self.min, self.max, self.choices, self.help = min, max, tuple(choices), help

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    def _spec(self) -> Dict[str, Any]:
        spec: Dict[str, Any] = {
            "kind": "config",
            "type": _KEY_TYPES[self.type],
            "name": self.name,
            "default": self.default,
            "help": self.help,
        }
        if self.min is not None:
            spec["min"] = self.min
        if self.max is not None:
            spec["max"] = self.max
        if self.choices:
            spec["choices"] = list(self.choices)
        return spec


def _declared(owner: type, kinds: Tuple[type, ...]) -> List[Any]:
    found: Dict[str, Any] = {}
    for each in reversed(owner.__mro__):
        found.update({name: value for name, value in vars(each).items() if isinstance(value, kinds)})
    return list(found.values())


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


class Trigger:
    """When a block takes part: an expression over what a request has, combined by &, | and ~."""

    def __init__(self, made: Any) -> None:
        self._native = made

    def __and__(self, other: "Trigger") -> "Trigger":
        return Trigger(self._native & other._native)

    def __or__(self, other: "Trigger") -> "Trigger":
        return Trigger(self._native | other._native)

    def __invert__(self) -> "Trigger":
        return Trigger(~self._native)

    def __str__(self) -> str:
        return str(self._native)


def has(input: str) -> Trigger:
    """The request has this input."""
    return Trigger(native().has(input))


def has_config(key: str) -> Trigger:
    """Someone sets this config key, to more than false."""
    return Trigger(native().has_config(key))


def has_component(component: str) -> Trigger:
    """The pipeline has this component, of its own or given by the request."""
    return Trigger(native().has_component(component))


def is_task(task: str) -> Trigger:
    """The request's task, named or inferred, is this one."""
    return Trigger(native().is_task(task))


class Frame:
    """What a run has, as one block sees it: its ports as attributes, during its turn. Tensors are torch's, over the
    run's own memory; images arrays {h, w, c} of bytes; noise is a function that draws a shape {n, ...}."""

    def __init__(self, frame: Any) -> None:
        object.__setattr__(self, "_native", frame)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._native.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._native.set(name, value)

    @property
    def unconditional(self) -> bool:
        """Whether a per_condition block runs for what stands in the request's place (the negative prompt)."""
        return bool(self._native.condition == "uncond")


class _Declared:
    """What blocks have in common: their ports are class attributes, read and written through the frame."""

    name = ""
    stage = "decode"
    guidance = "shared"
    trigger: Optional[Trigger] = None
    _kind = ""

    def _spec(self) -> str:
        ports = [each._spec() for each in _declared(type(self), (Port, Config))]
        name = self.name or _snake(type(self).__name__)
        return json.dumps(
            {"name": name, "kind": self._kind, "stage": self.stage, "guidance": self.guidance, "ports": ports}
        )

    def _run(self, frame: Any, *at: Any) -> None:
        getattr(self, "run")(Frame(frame), *at)

    def _make(self, catalogue: Any, family: str) -> Any:
        return native().make_block(self._spec(), _native_trigger(self.trigger), self._run)


class Block(_Declared):
    """One step of a pipeline. Ports are class attributes; `run` reads and writes them through the frame."""

    _kind = "block"

    def run(self, frame: Any) -> None:
        raise NotImplementedError(f"{type(self).__name__}.run(frame)")


class DenoisePart(_Declared):
    """A block of a denoise loop: `run` is called at each step with its number `i`, from 0, and the timestep `t` that
    the network receives. In a loop over windows it runs once per window and step. Values that it makes stay in the
    loop and reach the next step; `latents`, `schedule`, `model_input` and `prediction` are the loop's."""

    stage = "denoise_loop"
    _kind = "denoise_part"

    def run(self, frame: Any, i: int, t: float) -> None:
        raise NotImplementedError(f"{type(self).__name__}.run(frame, i, t)")


class ChunkPart(_Declared):
    """A block of a loop over chunks: `run` is called with the chunk's number `k`, from 0."""

    _kind = "chunk_part"

    def run(self, frame: Any, k: int) -> None:
        raise NotImplementedError(f"{type(self).__name__}.run(frame, k)")


AnyBlock = Union[Block, DenoisePart, ChunkPart, "ChunkLoop"]


class ChunkLoop:
    """Runs a list of blocks once per chunk. `blocks` are names of the pipeline's blocks, blocks of yours, and one loop:
    a denoise loop, or another ChunkLoop. `count` is the config key that says how many chunks there are."""

    def __init__(
        self,
        name: str,
        count: Config,
        blocks: Sequence[Union[str, AnyBlock]],
        trigger: Optional[Trigger] = None,
    ) -> None:
        self.name, self.count, self.blocks, self.trigger = name, count, list(blocks), trigger

    def _make(self, catalogue: Any, family: str) -> Any:
        blocks = [
            catalogue.block(family, each) if isinstance(each, str) else _block(each)._make(catalogue, family)
            for each in self.blocks
        ]
        spec = json.dumps({"name": self.name, "count": self.count._spec()})
        return native().make_chunk_loop(spec, _native_trigger(self.trigger), blocks)


def _native_trigger(trigger: Optional[Trigger]) -> Any:
    return trigger._native if trigger is not None else native().Trigger()


def _block(given: Any) -> AnyBlock:
    if not isinstance(given, (_Declared, ChunkLoop)):
        raise TypeError(f"a block is expected (an object of a class over omnirt.Block), not {given!r}")
    return given  # type: ignore[return-value]


@dataclass(frozen=True)
class Condition:
    """Something that the network is evaluated under. `renames`: input -> the one that takes its place here."""

    name: str
    renames: Dict[str, str] = field(default_factory=dict)


def negative(name: str = "uncond") -> Condition:
    """The condition of the negative prompt."""
    return Condition(name, {f"prompt{each}": f"negative_prompt{each}" for each in ("", "_2", "_3")})


class GuidanceStep:
    """The call of the network that is guided: `index` of `steps`, its timestep, `sigma` (noise over signal) and the
    sample. `get` and `set` keep tensors until later steps of the same run."""

    _get: Callable[[str], Any]
    _set: Callable[[str, Any], None]

    def __init__(self, index: int, steps: int, timestep: float, sigma: float, sample: Any) -> None:
        self.index, self.steps, self.timestep, self.sigma, self.sample = index, steps, timestep, sigma, sample

    def get(self, name: str) -> Any:
        return self._get(name)

    def set(self, name: str, value: Any) -> None:
        self._set(name, value)


class Settings:
    """The declared keys of a guider as attributes."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class Guider:
    """Names the conditions that the network is evaluated under, and combines what it predicts for each. Keys are class
    attributes (Config) and read from `self.settings`. One instance may serve several runs at once: what a run keeps is
    in the step."""

    type = ""
    summary = ""

    def __init__(self, settings: Settings) -> None:
        self.settings: Any = settings

    def conditions(self) -> List[Condition]:
        return [Condition("cond"), negative()]

    def active(self, step: GuidanceStep) -> List[str]:
        """The names of the conditions that this step asks for."""
        return [each.name for each in self.conditions()]

    def combine(self, predictions: Dict[str, Any], step: GuidanceStep) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.combine(predictions, step)")

    @classmethod
    def _type(cls) -> str:
        return cls.type or _snake(cls.__name__)

    @classmethod
    def _spec(cls) -> str:
        keys = [each._spec() for each in _declared(cls, (Config,))]
        return json.dumps({"type": cls._type(), "summary": cls.summary or (cls.__doc__ or ""), "keys": keys})

    @classmethod
    def _make(cls, settings: str) -> "Guider":
        return cls(Settings(json.loads(settings)))


class Scheduler:
    """Steps through a noise schedule, for one run. `config` is the model's own with the request's over it."""

    name = ""
    short_names: Sequence[str] = ()
    config_keys: Sequence[str] = ()
    summary = ""
    made_for = "diffusion"

    def __init__(self, config: Dict[str, Any]) -> None:
        self.config = config

    def set_timesteps(self, num_inference_steps: int) -> Sequence[float]:
        """Plans a run; the timesteps that the network receives, one per call of `step`."""
        raise NotImplementedError(f"{type(self).__name__}.set_timesteps(num_inference_steps)")

    def init_noise_sigma(self) -> float:
        return 1.0

    def scale_model_input(self, sample: Any, index: int) -> Any:
        return sample

    def step(self, model_output: Any, index: int, sample: Any, noise: Callable[[Sequence[int]], Any]) -> Any:
        """The next sample, or a pair of it and the image as predicted."""
        raise NotImplementedError(f"{type(self).__name__}.step(model_output, index, sample, noise)")

    def add_noise(self, original: Any, noise: Any, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__}.add_noise(original, noise, index)")

    def plan(self, num_inference_steps: int) -> List[float]:
        return [float(each) for each in self.set_timesteps(num_inference_steps)]

    @classmethod
    def _name(cls) -> str:
        return cls.name or cls.__name__

    @classmethod
    def _spec(cls) -> str:
        return json.dumps(
            {
                "class_name": cls._name(),
                "short_names": list(cls.short_names),
                "config_keys": list(cls.config_keys),
                "summary": cls.summary or (cls.__doc__ or ""),
                "made_for": cls.made_for,
            }
        )

    @classmethod
    def _make(cls, config: str) -> "Scheduler":
        return cls(json.loads(config))


class Edits:
    """The parts of one pipeline, as they will be at its next call."""

    def __init__(self, family: str, changed: Callable[[], None]) -> None:
        self._family = family
        self._changed = changed
        self._catalogue: Any = None

    @property
    def catalogue(self) -> Any:
        if self._catalogue is None:
            self._catalogue = native().catalogue()
        return self._catalogue


class Blocks:
    """The pipeline's blocks, in order; "denoise.step" is the block `step` of the loop `denoise`. Edits hold from the
    next call on; what does not fit raises InvalidRequest and changes nothing."""

    def __init__(self, edits: Edits) -> None:
        self._edits = edits

    def names(self, inside: str = "") -> List[str]:
        """The blocks' names; with `inside`, those of the blocks that this loop runs."""
        return list(self._edits.catalogue.block_names(self._edits._family, inside))

    def __iter__(self) -> Any:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        inside, _, last = str(name).rpartition(".")
        return (not inside or inside in self) and last in self.names(inside)

    def _place(self, where: str, name: str, block: AnyBlock) -> None:
        catalogue, family = self._edits.catalogue, self._edits._family
        catalogue.place_block(family, where, name, _block(block)._make(catalogue, family))
        self._edits._changed()

    def insert_before(self, name: str, block: AnyBlock) -> None:
        self._place("before", name, block)

    def insert_after(self, name: str, block: AnyBlock) -> None:
        self._place("after", name, block)

    def replace(self, name: str, block: AnyBlock) -> None:
        self._place("in place of", name, block)

    def remove(self, name: str) -> None:
        self._edits.catalogue.remove_block(self._edits._family, name)
        self._edits._changed()


def add_guider(edits: Edits, guider: Type[Guider]) -> None:
    edits.catalogue.add_guider(guider._spec(), guider._make)
    edits._changed()


def add_scheduler(edits: Edits, scheduler: Type[Scheduler]) -> None:
    edits.catalogue.add_scheduler(scheduler._spec(), scheduler._make)
    edits._changed()


def replace_network(edits: Edits, class_name: str, module: Any) -> None:
    edits.catalogue.replace_network(class_name, module)
    edits._changed()
