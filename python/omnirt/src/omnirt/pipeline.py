"""A model that makes images and videos."""

import asyncio
import functools
import inspect
import json
import os
import signal
import threading
from typing import Any, Callable, Dict, Optional, Type, Union

from omnirt._call import Call
from omnirt._load import native
from omnirt.arguments import Request, output_type_of
from omnirt.cancel import CancelToken
from omnirt.declarations import doc_of, signature_of
from omnirt.errors import Closed, InvalidRequest
from omnirt.models import Model, describe
from omnirt.parts import Blocks, Edits, Guider, Scheduler, add_guider, add_scheduler, replace_network
from omnirt.progress import Bar, Preview, Step
from omnirt.report import Checked, Finding, Report
from omnirt.result import Result

Model_ = Union[str, "os.PathLike[str]"]


def _interruptible() -> bool:
    """Whether Ctrl-C is Python's own here: then it ends a run at once."""
    if threading.current_thread() is not threading.main_thread():
        return False
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Pipeline(Call):
    """A model of the registry, a folder of diffusers' layout, or one file of weights.

    Made by `from_pretrained`. Calls share what is loaded; several threads may call at once. `close()` gives the
    memory back, as does leaving a `with` block.
    """

    def __init__(self, model: str, defaults: Dict[str, Any], strict: bool) -> None:
        self._model = model
        self._defaults = defaults
        self._strict = strict
        self.info: Model = describe(model)
        self._closed = False
        self._lock = threading.Lock()
        self._session: Any = native().make_session()
        self._edits = Edits(self.info.tasks[0].family, self._forget)
        self.blocks = Blocks(self._edits)
        self.__signature__: inspect.Signature = signature_of(self.info)

    def help(self) -> str:
        """What this model takes: its inputs and config keys, by task."""
        return doc_of(self.info)

    @classmethod
    def from_pretrained(cls, model: Model_ = "", *, strict: bool = True, **defaults: Any) -> "Pipeline":
        """The pipeline of an id (`omnirt.models()`), a name in the models' folders, a repository in the Hugging Face
        cache, or a path.

        `defaults` are keywords of the call, for every call. With `strict`, what would only be a warning (an unknown
        keyword, a scheduler that the model was not tested with) is an error. No weight is read before the first call.
        Raises UnknownModel, Unsupported, InvalidFile.
        """
        if not isinstance(model, (str, os.PathLike)):
            finding = Finding("model", repr(model), "an id or a path is expected", "omnirt.models() lists ids")
            raise InvalidRequest(findings=(finding,))
        return cls(os.fspath(model), dict(defaults), strict)

    def close(self) -> None:
        """Gives back what is loaded, once runs in other threads have ended."""
        self._closed = True
        self._session = None

    def add_guider(self, guider: Type[Guider]) -> None:
        """A guider written in Python; a call takes it by `guider={"type": ..., its settings}` or its type's name."""
        if not (isinstance(guider, type) and issubclass(guider, Guider)):
            raise TypeError(f"a class over omnirt.Guider is expected, not {guider!r}")
        add_guider(self._edits, guider)

    def add_scheduler(self, scheduler: Type[Scheduler]) -> None:
        """A scheduler written in Python; a call takes it by `scheduler=` its name."""
        if not (isinstance(scheduler, type) and issubclass(scheduler, Scheduler)):
            raise TypeError(f"a class over omnirt.Scheduler is expected, not {scheduler!r}")
        add_scheduler(self._edits, scheduler)

    def set_component(self, name: str, module: Any) -> None:
        """A torch module in the place of a denoiser (unet, transformer): called with the inputs that the native network
        takes by name, as diffusers' models are; it returns the prediction, or an output that holds it as `sample`."""
        if not callable(module):
            raise TypeError(f"a torch module is expected, not {module!r}")
        place = self.info.tasks[0].found_at
        networks = json.loads(self._open().describe_networks(place)) if place else []
        for each in networks:
            if each["component"] == name:
                return replace_network(self._edits, each["class"], module)
        names = ", ".join(each["component"] for each in networks) or "none, since its folder is not here"
        raise InvalidRequest(findings=(Finding(f"components.{name}", "", f"{self.info.id}'s are {names}", ""),))

    def _forget(self) -> None:
        """Another session is made for the next call, with the parts as they are then."""
        self._session = None

    def __enter__(self) -> "Pipeline":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            f"a pipeline cannot be pickled; call omnirt.Pipeline.from_pretrained({self._model!r}) in each process "
            "(results can be pickled)"
        )

    def __repr__(self) -> str:
        return f"<omnirt.Pipeline of {self.info.id}{', closed' if self._closed else ''}>"

    def _open(self) -> Any:
        with self._lock:
            if self._closed:
                raise Closed("the pipeline was closed; make another with Pipeline.from_pretrained")
            if self._session is None:
                self._session = self._edits.catalogue.session()
            return self._session

    def _request(self, given: Dict[str, Any]) -> Request:
        request = Request(self._model)
        together = {**self._defaults, **given}
        output_type = output_type_of(together.pop("output_type", None))
        if output_type == "latent":
            self._ends_with_latents()
            together["output_type"] = "latent"
        request.take(together)
        return request

    def _ends_with_latents(self) -> None:
        """Refused even where an unknown key is a warning: the result would hold neither images nor latents."""
        if any(key.name == "output_type" for task in self.info.tasks for key in task.keys):
            return
        message = f"runs of {self.info.id} end with images; a callback is given the latents of each step"
        raise InvalidRequest(findings=(Finding("config.output_type", "latent", message, 'give "pil", "np" or "pt"'),))

    def _validate(self, given: Dict[str, Any]) -> Checked:
        session, request = self._open(), self._request(given)
        return Checked.from_dict(json.loads(session.check(request.text(), request.values, self._strict)))

    def _generate(
        self,
        given: Dict[str, Any],
        callback: Optional[Callable[[Step], Any]],
        preview_callback: Optional[Callable[[Preview], Any]],
        progress: Optional[bool],
        cancel: Optional[CancelToken],
    ) -> Result:
        session, request = self._open(), self._request(given)
        output_type = output_type_of({**self._defaults, **given}.get("output_type"))
        token = cancel if cancel is not None else CancelToken()
        bar = Bar(progress)
        try:
            report, artifacts, latents = session.run(
                request.text(),
                request.values,
                self._strict,
                _interruptible(),
                token._native,
                bar if bar else None,
                (lambda *at: callback(Step(*at))) if callback else None,
                (lambda *at: preview_callback(Preview(*at))) if preview_callback else None,
            )
        finally:
            bar.close()
        request.generators_back()
        return Result(artifacts, Report.from_dict(json.loads(report)), output_type, latents)

    async def _agenerate(self, call: Callable[..., Result], cancel: Optional[CancelToken]) -> Result:
        token = cancel if cancel is not None else CancelToken()
        future = asyncio.get_running_loop().run_in_executor(None, functools.partial(call, token))
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            token.cancel()
            await asyncio.wait([future])
            future.exception()
            raise
