"""A call's keywords as a request: inputs and config as the declarations name them, values in memory beside them."""

import json
import os
from typing import Any, Dict, List, Mapping, Optional

from omnirt._load import native
from omnirt.declarations import input_types
from omnirt.errors import InvalidRequest
from omnirt.report import Finding

_EMBEDS = ("prompt_embeds", "negative_prompt_embeds", "pooled_prompt_embeds", "negative_pooled_prompt_embeds")
# Fields of a request beside inputs and config.
_FIELDS = ("task", "backend", "guider", "components", "adapters")


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__")


def _is_pil(value: Any) -> bool:
    return hasattr(value, "convert") and hasattr(value, "tobytes") and hasattr(value, "mode")


def _refuse(field: str, value: Any, message: str, way_out: str) -> InvalidRequest:
    shown = repr(value)
    return InvalidRequest(findings=(Finding(field, shown if len(shown) < 80 else type(value).__name__, message, way_out),))


def _bytes_of_pil(image: Any) -> Any:
    """Rows of the image as its file would be read: upright, in one of the modes that images are read as."""
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image) or image
    if upright.mode in ("LA", "PA") or "transparency" in upright.info:
        upright = upright.convert("RGBA")
    elif upright.mode == "1":
        upright = upright.convert("L")
    elif upright.mode not in ("L", "RGB", "RGBA"):
        upright = upright.convert("RGB")
    channels = len(upright.getbands())
    return memoryview(upright.tobytes()).cast("B", (upright.height, upright.width, channels))


def _bytes_of_array(array: Any, field: str) -> Any:
    """Rows of bytes of numpy's {h, w, c} (or {h, w}) or torch's {c, h, w}, in bytes or in fp in 0..1."""
    if type(array).__module__.split(".")[0] == "torch":
        _on_cpu(array)
        array = array.detach()
        if array.dim() == 4 and array.shape[0] == 1:
            array = array[0]
        if array.dim() == 3:
            array = array.movedim(0, -1)
        elif array.dim() == 2:
            array = array[..., None]
        if array.is_floating_point():
            import torch

            array = (array.float().clamp(0, 1) * 255).round().to(torch.uint8)
        return array
    import numpy

    array = numpy.asarray(array)
    if array.ndim == 4 and array.shape[0] == 1:
        array = array[0]
    if array.ndim == 2:
        array = array[..., None]
    if array.dtype.kind == "f":
        array = (numpy.clip(array, 0, 1) * 255).round().astype(numpy.uint8)
    return array


def _on_cpu(tensor: Any) -> None:
    if tensor.device.type != "cpu":
        raise TypeError(f"a tensor on the device {tensor.device} is not taken; give tensor.cpu()")


def _fp32(array: Any) -> Any:
    """The array itself where it is fp32 on the CPU; of another type a copy that is."""
    if type(array).__module__.split(".")[0] == "torch":
        _on_cpu(array)
        return array.detach().float() if array.is_floating_point() else array.detach()
    dtype = getattr(array, "dtype", None)
    return array.astype("float32") if str(dtype) in ("float64", "float16") else array


class Request:
    """The JSON form of a call, and the values that are in memory."""

    def __init__(self, model: str) -> None:
        self.json: Dict[str, Any] = {"model": model, "inputs": {}, "config": {}}
        self.values: Any = native().Values()
        self._generators: List[Any] = []
        self._embeds: Dict[str, Any] = {}

    def take(self, given: Mapping[str, Any]) -> None:
        for name, value in given.items():
            if value is None:
                continue
            if name in _FIELDS:
                self.json[name] = self._field(name, value)
            elif name == "generator":
                self._take_generators(value)
            elif name in _EMBEDS:
                self._embeds[name] = _fp32(value)
            elif name in input_types():
                self.json["inputs"][name] = self._input(name, value)
            else:
                self.json["config"][name] = _plain(f"config.{name}", value)
        if self._embeds:
            place = self.values.add_embeds(self._embeds, "encoded_prompt")
            self.json["inputs"]["encoded_prompt"] = {"in_memory": place}

    def text(self) -> str:
        try:
            return json.dumps(self.json, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise _refuse("request", self.json, f"is not what JSON can hold: {error}", "give texts, numbers and lists")

    def generators_back(self) -> None:
        """Generators are where the run left them, as after diffusers' call."""
        if not self._generators:
            return
        import torch

        states = self.values.generators()
        for generator, state in zip(self._generators, states):
            generator.set_state(torch.as_tensor(state).clone())

    @staticmethod
    def _field(name: str, value: Any) -> Any:
        if name == "guider" and isinstance(value, str):
            return {"type": value}
        if name == "adapters" and _is_path(value):
            return [os.fspath(value)]
        return _plain(name, value)

    def _input(self, name: str, value: Any) -> Any:
        field = f"inputs.{name}"
        if isinstance(value, (list, tuple)):
            return [self._input(name, each) for each in value]
        if _is_path(value):
            return os.fspath(value)
        if name == "latents" and _is_array(value):
            return {"in_memory": self.values.add_latents(_fp32(value), field)}
        if _is_pil(value):
            return {"in_memory": self.values.add_image(_bytes_of_pil(value), field)}
        if _is_array(value):
            return {"in_memory": self.values.add_image(_bytes_of_array(value, field), field)}
        return _plain(field, value)

    def _take_generators(self, value: Any) -> None:
        all_given = list(value) if isinstance(value, (list, tuple)) else [value]
        if not all_given or not all(hasattr(each, "get_state") and hasattr(each, "set_state") for each in all_given):
            raise _refuse("inputs.generator", value, "torch generators are expected", "give torch.Generator(), or a list")
        if any(str(getattr(each, "device", "cpu")) != "cpu" for each in all_given):
            raise _refuse("inputs.generator", value, "noise is drawn on the CPU", 'give torch.Generator("cpu")')
        import torch

        self._generators = all_given
        self.values.set_generators(torch.stack([each.get_state() for each in all_given]))
        if "seed" not in self.json["config"]:
            # What images are named by; the draws are the generators'.
            self.json["config"]["seed"] = all_given[0].initial_seed() % (1 << 53)


def _plain(field: str, value: Any) -> Any:
    """A value as JSON has it: paths as texts, numbers of numpy and torch as numbers."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return [_plain(field, each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(f"{field}.{name}", each) for name, each in value.items()}
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "size", None) in (1,) or getattr(value, "ndim", None) == 0:
        return value.item()
    raise _refuse(field, value, f"a {type(value).__name__} is not taken here", "give a text, a number or a list")


def output_type_of(given: Optional[str]) -> str:
    """Pillow's images unless another form is asked for. Raises InvalidRequest."""
    chosen = {None: "pil", "image": "pil"}.get(given, given)
    if chosen not in ("pil", "np", "pt", "latent"):
        raise _refuse("config.output_type", given, "is no form of output", 'give "pil", "np", "pt" or "latent"')
    return str(chosen)
