"""How runs are ended from outside."""

from typing import Any

from omnirt._load import native


class CancelToken:
    """Ends the runs that it is given to, within a step: `cancel()` from any thread."""

    def __init__(self) -> None:
        self._native: Any = native().CancelToken()

    def __reduce__(self) -> Any:
        raise TypeError("a CancelToken ends runs of its own process; make one in each process")

    def cancel(self) -> None:
        self._native.cancel()

    @property
    def cancelled(self) -> bool:
        return bool(self._native.cancelled)
