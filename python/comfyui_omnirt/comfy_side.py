"""What these nodes use of ComfyUI. Each has a stand-in, so that they can be called without it."""

import tempfile


def raise_if_interrupted():
    """Raises ComfyUI's InterruptProcessingException once the user has pressed Cancel."""
    try:
        from comfy.model_management import throw_exception_if_processing_interrupted
    except ImportError:
        return
    throw_exception_if_processing_interrupted()


class Progress:
    """ComfyUI's progress bar over the steps of a run; a callback of omnirt's pipelines."""

    def __init__(self):
        self._bar = None
        try:
            from comfy.utils import ProgressBar
        except ImportError:
            return
        self._make = ProgressBar

    def __call__(self, step):
        raise_if_interrupted()
        if not hasattr(self, "_make"):
            return
        if self._bar is None:
            self._bar = self._make(step.steps)
        self._bar.update_absolute(step.step, step.steps)


def temporary_folder():
    """Where ComfyUI keeps what it forgets at its next start."""
    try:
        import folder_paths
    except ImportError:
        return tempfile.gettempdir()
    import os

    os.makedirs(folder_paths.get_temp_directory(), exist_ok=True)
    return folder_paths.get_temp_directory()
