"""A call's keywords as a request: inputs and config as the declarations name them, values in memory beside them."""

import json
import os
import sys
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


# PIL's modes of an image, and those that hold the same as an image's file is read.
_READ_AS = {
    **{each: each for each in ("L", "RGB", "RGBA")},
    **{each: "L" for each in ("1",)},
    **{each: "RGB" for each in ("P", "CMYK", "YCbCr", "HSV", "RGBX")},
    **{each: "RGBA" for each in ("LA", "PA", "La", "RGBa")},
}
_SIXTEEN_BITS = ("I", "I;16", "I;16L", "I;16B", "I;16N")


def _bytes_of_pil(image: Any, field: str) -> Any:
    """Rows of the image as its file would be read: upright, in one of the modes that images are read as."""
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image) or image
    shape = (upright.height, upright.width)
    if upright.mode in _SIXTEEN_BITS:
        return memoryview(_high_bytes(upright, field)).cast("B", (*shape, 1))
    mode = _READ_AS.get(upright.mode)
    if mode is None:
        message = f"PIL's mode {upright.mode} has no fixed range of values"
        raise _refuse(field, image, message, "convert it to L, RGB or RGBA, or give an array of floats from 0 to 1")
    if "transparency" in upright.info:
        mode = "RGBA"
    if upright.mode == "La":
        upright = upright.convert("LA")
    if upright.mode != mode:
        upright = upright.convert(mode)
    return memoryview(upright.tobytes()).cast("B", (*shape, len(mode)))


def _high_bytes(image: Any, field: str) -> bytes:
    """Of 16-bit grey, which a file is read from in the same way."""
    if "transparency" in image.info:
        raise _refuse(field, image, "16-bit grey with a transparent value", "give the path of its file")
    raw: bytes = image.tobytes()
    if image.mode != "I":
        big = image.mode == "I;16B" or (image.mode == "I;16N" and sys.byteorder == "big")
        return raw[0::2] if big else raw[1::2]
    low, high = image.getextrema()
    if low < 0 or high > 0xFFFF:
        raise _refuse(field, image, f"values of {low} to {high}; mode I is read as 16 bits, 0 to 65535", "scale them first")
    return raw[1::4] if sys.byteorder == "little" else raw[2::4]


# Half a level: what lies that far outside of 0 to 1 rounds to the same byte.
_SLACK = 0.5 / 255


def _refuse_outside(field: str, array: Any, low: float, high: float) -> None:
    if -_SLACK <= low and high <= 1 + _SLACK:
        return
    way_out = "clip it: x.clip(0, 1)"
    if -1 - _SLACK <= low < 0 and high <= 1 + _SLACK:
        way_out = "give (x + 1) / 2 for values of -1 to 1, or clip them"
    elif 0 <= low and 2 < high <= 255:
        way_out = "give x / 255 for values of 0 to 255"
    message = f"values of {low:.4g} to {high:.4g}; an image in floating point has 0 to 1"
    raise _refuse(field, array, message, way_out)


def _refuse_type(field: str, array: Any) -> InvalidRequest:
    sixteen = "16" in str(array.dtype)
    way_out = "for values of 16 bits give (array >> 8) as uint8" if sixteen else "convert it to uint8"
    message = f"numbers of type {array.dtype}; an image has uint8, bool, or floating point from 0 to 1"
    return _refuse(field, array, message, way_out)


def _bytes_of_tensor(tensor: Any, field: str) -> Any:
    """Rows of bytes {h, w, c} of a torch tensor {c, h, w} or {h, w}."""
    import torch

    _on_cpu(tensor)
    given = tensor.detach()
    array = given[0] if given.dim() == 4 and given.shape[0] == 1 else given
    array = array[None] if array.dim() == 2 else array
    if array.dim() != 3 or array.shape[0] not in (1, 3, 4) or array.numel() == 0:
        last = array.dim() == 3 and array.shape[2] in (1, 3, 4)
        way_out = "give tensor.permute(2, 0, 1)" if last else "give one image"
        raise _refuse(field, given, f"of shape {tuple(given.shape)}; a tensor is {{c, h, w}}, c 1, 3 or 4", way_out)
    array = array.movedim(0, -1)
    if array.dtype == torch.bool:
        return array.to(torch.uint8) * 255
    if array.is_floating_point():
        array = array.float()
        _refuse_outside(field, given, *(each.item() for each in array.aminmax()))
        return (array.clamp(0, 1) * 255).round().to(torch.uint8)
    if array.dtype != torch.uint8:
        raise _refuse_type(field, given)
    return array


def _bytes_of_array(given: Any, field: str) -> Any:
    """Rows of bytes {h, w, c} of an array {h, w, c} or {h, w}, or of a torch tensor."""
    if type(given).__module__.split(".")[0] == "torch":
        return _bytes_of_tensor(given, field)
    import numpy

    given = numpy.asarray(given)
    array = given[0] if given.ndim == 4 and given.shape[0] == 1 else given
    array = array[..., None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4) or array.size == 0:
        first = array.ndim == 3 and array.shape[0] in (1, 3, 4)
        way_out = "give array.transpose(1, 2, 0)" if first else "give one image"
        raise _refuse(field, given, f"of shape {given.shape}; an array is {{h, w, c}}, c 1, 3 or 4", way_out)
    if array.dtype.kind == "b":
        return array.astype(numpy.uint8) * 255
    if array.dtype.kind == "f":
        _refuse_outside(field, given, float(array.min()), float(array.max()))
        return (numpy.clip(array, 0, 1) * 255).round().astype(numpy.uint8)
    if array.dtype != numpy.uint8:
        raise _refuse_type(field, given)
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
        for name, value in self.json.items():
            _refuse_half_characters(name, value)
        try:
            return json.dumps(self.json, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise _refuse("request", self.json, f"is not what JSON can hold: {error}", "give texts, numbers and lists")

    def generators_back(self) -> None:
        """Generators are where the run left them, as after diffusers' call."""
        if not self._generators:
            return
        states = self.values.generators()
        for generator, state in zip(self._generators, states):
            generator.set_state(state.clone())

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
            return {"in_memory": self.values.add_image(_bytes_of_pil(value, field), field)}
        if _is_array(value):
            return {"in_memory": self.values.add_image(_bytes_of_array(value, field), field)}
        if input_types()[name][0].startswith("ImageInput") and (isinstance(value, (bytes, bytearray)) or hasattr(value, "read")):
            way_out = "give PIL.Image.open(file), or the path; for bytes PIL.Image.open(io.BytesIO(data))"
            raise _refuse(field, value, f"a {type(value).__name__} is not taken here", way_out)
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


def _refuse_half_characters(field: str, value: Any) -> None:
    """Python's texts may hold lone surrogates, of a character that was cut in two, or of a name that is not UTF-8."""
    if isinstance(value, (list, tuple)):
        for each in value:
            _refuse_half_characters(field, each)
    elif isinstance(value, Mapping):
        for name, each in value.items():
            _refuse_half_characters(field, name)
            _refuse_half_characters(f"{field}.{name}", each)
    elif isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value):
        shown = ascii(value)
        finding = Finding(
            ascii(field)[1:-1],
            shown if len(shown) < 80 else "str",
            "holds half of a surrogate pair, which is no character",
            "remove it; a file whose name is not UTF-8 is to be renamed",
        )
        raise InvalidRequest(findings=(finding,))


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
