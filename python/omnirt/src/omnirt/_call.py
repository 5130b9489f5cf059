"""The pipeline's call. Its keywords are the declarations' own: _call.pyi, which is written from them, has them all."""

from typing import Any, Callable, Dict, Optional

from omnirt.cancel import CancelToken
from omnirt.progress import Preview, Step
from omnirt.report import Checked
from omnirt.result import Result


class Call:
    def _generate(self, *_: Any) -> Result:
        raise NotImplementedError

    async def _agenerate(self, *_: Any) -> Result:
        raise NotImplementedError

    def _validate(self, given: Dict[str, Any]) -> Checked:
        raise NotImplementedError

    def __call__(
        self,
        prompt: Any = None,
        *,
        callback: Optional[Callable[[Step], Any]] = None,
        preview_callback: Optional[Callable[[Preview], Any]] = None,
        progress: Optional[bool] = None,
        cancel: Optional[CancelToken] = None,
        **given: Any,
    ) -> Result:
        return self._generate({"prompt": prompt, **given}, callback, preview_callback, progress, cancel)

    async def agenerate(self, prompt: Any = None, *, cancel: Optional[CancelToken] = None, **given: Any) -> Result:
        return await self._agenerate(lambda token: self(prompt, cancel=token, **given), cancel)

    def validate(self, prompt: Any = None, **given: Any) -> Checked:
        return self._validate({"prompt": prompt, **given})
