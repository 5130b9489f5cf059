"""Runs these nodes by ComfyUI's own execution code: comfyui_run.py CHECKOUT; prints JSON.

In a process of its own: ComfyUI reads sys.argv and has one global state.
"""

import asyncio
import importlib.machinery
import json
import pathlib
import sys
import tempfile
import types

FOLDER = pathlib.Path(__file__).parents[2] / "python" / "comfyui_omnirt"
SETTINGS = {
    "prompt": "a red apple",
    "negative_prompt": "",
    "seed": 7,
    "steps": 2,
    "guidance_scale": -1.0,
    "width": 0,
    "height": 0,
}
APART = {
    "1": {"class_type": "OmniRTLoader", "inputs": {"model": "emoji"}},
    "2": {"class_type": "OmniRTSampler", "inputs": {"pipeline": ["1", 0], **SETTINGS}},
    "3": {"class_type": "OmniRTDecoder", "inputs": {"state": ["2", 0]}},
    "4": {"class_type": "SaveImage", "inputs": {"images": ["3", 0], "filename_prefix": "apart"}},
}
WHOLE = {
    "1": {"class_type": "OmniRTGenerate", "inputs": {"model": "emoji", **SETTINGS}},
    "2": {"class_type": "SaveImage", "inputs": {"images": ["1", 0], "filename_prefix": "whole"}},
}
WRONG = {**WHOLE, "1": {"class_type": "OmniRTGenerate", "inputs": {**WHOLE["1"]["inputs"], "model": "missing"}}}


class Absent(importlib.machinery.SourceFileLoader):
    """ComfyUI imports torchvision and torchaudio for networks of its own; no node here has them."""

    names = ("torchvision", "torchaudio", "spandrel")

    def __init__(self):
        pass

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        class Module(types.ModuleType):
            def __getattr__(self, name):
                if name.startswith("__"):
                    raise AttributeError(name)
                return type(name, (), {})

        return Module(spec.name)

    def exec_module(self, module):
        module.__path__ = []


class Server:
    """What PromptExecutor asks of ComfyUI's server."""

    def __init__(self):
        self.client_id, self.last_node_id, self.last_prompt_id = "test", None, None
        self.sockets_metadata, self.sent = {}, []
        self.on_progress = lambda: None

    def send_sync(self, event, data, sid=None):
        self.sent.append(event)
        if event == "progress":
            self.on_progress()


def prepare(checkout):
    sys.meta_path.append(Absent())
    sys.path.insert(0, checkout)
    work = tempfile.mkdtemp()
    sys.argv = ["main.py", "--cpu", "--output-directory", work, "--temp-directory", work]
    import comfy.options

    comfy.options.enable_args_parsing()
    import comfy.utils
    import execution
    import folder_paths
    import nodes

    folder_paths.set_output_directory(work)
    folder_paths.set_temp_directory(work)
    assert asyncio.run(nodes.load_custom_node(str(FOLDER)))
    server = Server()
    # What ComfyUI's main does for its progress bars.
    comfy.utils.set_progress_bar_global_hook(lambda *_, **__: server.send_sync("progress", {}))
    return execution, nodes, server, pathlib.Path(work)


def run(execution, server, prompt):
    valid, error, outputs, node_errors = asyncio.run(execution.validate_prompt("p", prompt, None))
    assert valid, (error, node_errors)
    executor = execution.PromptExecutor(server)
    server.sent.clear()
    executor.execute(prompt, "p", {"client_id": "test"}, outputs)
    last, told = executor.status_messages[-1]
    return {
        "last": last,
        "message": told.get("exception_message", ""),
        "progress": server.sent.count("progress"),
    }


def main_():
    execution, nodes, server, work = prepare(sys.argv[1])
    told = {"apart": run(execution, server, APART), "whole": run(execution, server, WHOLE)}
    files = {name: sorted(work.rglob(f"{name}*.png")) for name in ("apart", "whole")}
    from PIL import Image

    images = {name: Image.open(found[0]).convert("RGB") for name, found in files.items()}
    told["size"] = images["whole"].size
    told["equal"] = images["apart"].tobytes() == images["whole"].tobytes()
    told["states_left"] = len(list(work.rglob("omnirt-*.safetensors")))
    told["wrong"] = run(execution, server, WRONG)
    server.on_progress = lambda: nodes.interrupt_processing(True)
    told["interrupted"] = run(execution, server, WHOLE)
    print(json.dumps(told))


if __name__ == "__main__":
    main_()
