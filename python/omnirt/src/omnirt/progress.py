"""What a callback is told, and progress bars."""

import sys
from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional

from omnirt.result import portable, restored


@dataclass(frozen=True)
class Step:
    """A step of the denoise loop that is done. `latents` is a torch.Tensor over the run's own memory, valid as long as
    it is kept, and not to be written to."""

    step: int
    steps: int
    timestep: float
    latents: Any


@dataclass(frozen=True)
class Preview:
    """An image of the latents after a step, where `preview_every` asks for them; an array of bytes {h, w, 3}."""

    step: int
    steps: int
    place: int
    image: Any

    def __getstate__(self) -> Dict[str, Any]:
        return {**self.__dict__, "image": portable(self.image)}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update({**state, "image": restored(*state["image"])})


# Standard error that is closed, full or a broken pipe: a run goes on without its bar.
_LOST = (OSError, ValueError, AttributeError)


def in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    if shell is None:
        return False
    running = shell.get_ipython()
    return running is not None and "IPKernelApp" in running.config


class Bar:
    """tqdm's bar over the steps; nothing where none is asked for."""

    def __init__(self, asked: Optional[bool]) -> None:
        self._make: Optional[Callable[..., Any]] = None
        self._bar: Any = None
        if asked or (asked is None and in_notebook()):
            self._make = _tqdm(required=bool(asked))

    def __bool__(self) -> bool:
        return self._make is not None

    def __call__(self, stage: str, step: int, steps: int) -> None:
        if self._make is None or steps == 0:
            return
        try:
            if self._bar is None:
                self._bar = self._make(total=steps)
            self._bar.update(step - self._bar.n)
        except _LOST:
            self._make = self._bar = None

    def close(self) -> None:
        try:
            if self._bar is not None:
                self._bar.close()
        except _LOST:
            pass


def _tqdm(required: bool) -> Optional[Callable[..., Any]]:
    try:
        import tqdm.auto
    except ImportError:
        if required:
            raise ImportError("progress=True shows tqdm's bar; install it: pip install tqdm") from None
        return None
    made: Callable[..., Any] = tqdm.auto.tqdm
    return made
