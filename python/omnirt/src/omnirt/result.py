"""What a run made."""

import base64
import io
from typing import Any, Dict, List, Optional, Tuple

from omnirt.report import Report

OUTPUT_TYPES = ("pil", "np", "pt", "latent")


def pil_image(array: Any) -> Any:
    """A PIL image of an array {h, w, c} of bytes."""
    from PIL import Image

    view = memoryview(array)
    high, wide, channels = view.shape
    mode = {1: "L", 3: "RGB", 4: "RGBA"}[channels]
    return Image.frombuffer(mode, (wide, high), view, "raw", mode, 0, 1)


def _numpy(arrays: List[Any]) -> Any:
    import numpy

    return numpy.stack([numpy.asarray(memoryview(each)) for each in arrays]).astype(numpy.float32) / 255


def _torch(arrays: List[Any]) -> Any:
    import torch

    made = torch.stack(
        [torch.frombuffer(memoryview(each).cast("B"), dtype=torch.uint8).view(memoryview(each).shape) for each in arrays]
    )
    return made.movedim(-1, -3).to(torch.float32) / 255


def portable(array: Any) -> Tuple[Tuple[int, ...], bytes]:
    """An array of bytes as pickle holds it."""
    view = memoryview(array)
    return tuple(view.shape), view.tobytes()


def restored(shape: Tuple[int, ...], data: bytes) -> Any:
    return memoryview(bytearray(data)).cast("B", shape)


def _converted(arrays: List[Any], output_type: str) -> Any:
    if output_type == "np":
        return _numpy(arrays)
    if output_type == "pt":
        return _torch(arrays)
    return [pil_image(each) for each in arrays]


class Result:
    """The images of a run, and its report.

    `images` is a list of PIL images; with output_type "np" an array {n, h, w, c} of fp32 in 0..1, with "pt" a
    torch.Tensor {n, c, h, w}, as in diffusers. `frames` has a video's in the same form, one entry per video. `latents`
    is a torch.Tensor {n, C, h, w} with output_type "latent", else None.
    """

    def __init__(
        self, artifacts: List[List[Any]], report: Report, output_type: str, latents: Optional[Any] = None
    ) -> None:
        self.report = report
        self.latents = latents
        self._arrays = artifacts
        self._output_type = output_type
        self._images: Any = None
        self._frames: Any = None

    @property
    def images(self) -> Any:
        if self._images is None and self._output_type == "latent":
            self._images = []
        if self._images is None:
            self._images = _converted([frame for each in self._arrays for frame in each], self._output_type)
        return self._images

    @property
    def frames(self) -> Any:
        if self._frames is None and self._output_type == "latent":
            self._frames = []
        if self._frames is None:
            self._frames = [_converted(each, self._output_type) for each in self._arrays]
        return self._frames

    @property
    def image(self) -> Any:
        """The first image."""
        return self.images[0]

    def __getstate__(self) -> Dict[str, Any]:
        arrays = [[portable(frame) for frame in each] for each in self._arrays]
        return {"artifacts": arrays, "report": self.report, "output_type": self._output_type, "latents": self.latents}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        arrays = [[restored(*frame) for frame in each] for each in state["artifacts"]]
        self.__init__(**{**state, "artifacts": arrays})  # type: ignore[misc]

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"<omnirt.Result: {len(self)} of {self.report.model}, {self.report.total_ms:.0f} ms>"

    def _pngs(self) -> List[bytes]:
        made: List[bytes] = []
        for each in self._arrays:
            file = io.BytesIO()
            pil_image(each[0]).save(file, format="png")
            made.append(file.getvalue())
        return made

    def _repr_png_(self) -> Optional[bytes]:
        return self._pngs()[0] if len(self) == 1 and self._output_type != "latent" else None

    def _repr_html_(self) -> Optional[str]:
        if len(self) < 2 or self._output_type == "latent":
            return None
        shown = [base64.b64encode(each).decode() for each in self._pngs()]
        return "".join(f'<img src="data:image/png;base64,{each}" style="margin:2px">' for each in shown)
