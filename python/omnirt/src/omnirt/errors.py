"""What this package raises: a class for each kind of error of the runtime, with the findings and the report."""

import json
from typing import Dict, Optional, Tuple, Type

from omnirt.report import Finding, Report


class Error(Exception):
    """The base of all. `kind` is the runtime's name of it, `report` what the run did until then."""

    exit_code = 3

    def __init__(self, message: str = "", *, report: Optional[Report] = None) -> None:
        super().__init__(message)
        self.report = report

    @property
    def kind(self) -> str:
        return type(self).__name__


class InvalidRequest(Error, ValueError):
    """A request or file that cannot be served as given, with every finding."""

    exit_code = 2

    def __init__(
        self, message: str = "", findings: Tuple[Finding, ...] = (), *, report: Optional[Report] = None
    ) -> None:
        super().__init__(message or "; ".join(str(each) for each in findings), report=report)
        self.findings = tuple(findings)


class UnknownModel(InvalidRequest):
    """No model of this name is known or found."""


class Unsupported(InvalidRequest):
    """Something well-formed that this build does not do."""


class InvalidFile(InvalidRequest):
    """A file that is broken or is not what its place says."""


class WeightMismatch(InvalidRequest):
    """A checkpoint whose tensors do not match the network."""


class OutOfMemory(Error, MemoryError):
    """The machine or device has no more memory for the request."""


class Cancelled(Error):
    """The run was ended by its token."""

    exit_code = 130


class RunFailed(Error, RuntimeError):
    """A write or a device that failed while the run was under way."""


class InternalError(Error, RuntimeError):
    """A fault of the runtime itself."""


class Closed(Error, RuntimeError):
    """The pipeline was closed."""


_CLASSES: Dict[str, Type[Error]] = {
    each.__name__: each
    for each in (
        InvalidRequest,
        UnknownModel,
        Unsupported,
        InvalidFile,
        WeightMismatch,
        OutOfMemory,
        Cancelled,
        RunFailed,
        InternalError,
    )
}


def error_of(kind: str, message: str, findings: str, report: Optional[str]) -> Error:
    """The exception of a native error; called by the extension module."""
    made = _CLASSES.get(kind, InternalError)
    told = Report.from_dict(json.loads(report)) if report else None
    if issubclass(made, InvalidRequest):
        return made(message, tuple(Finding.from_dict(each) for each in json.loads(findings)), report=told)
    return made(message, report=told)
