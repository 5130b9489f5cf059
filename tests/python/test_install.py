"""The package by itself: which torch it takes, its program, and that importing it is cheap."""

import inspect
import pathlib
import subprocess
import sys

import pytest

import omnirt
from omnirt import _build, _load
from omnirt.declarations import stub


def run(text):
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)


def test_importing_it_does_not_import_torch_or_pillow():
    done = run("import sys, omnirt; omnirt.models(); print(sorted({'torch', 'PIL', 'numpy'} & set(sys.modules)))")
    assert done.stdout == "[]\n", done.stderr


def test_it_shares_the_torch_that_is_there_in_either_order():
    for text in ("import torch, omnirt", "import omnirt; omnirt.models(); import torch"):
        done = run(text + "; print(torch.ones(2).sum().item(), len(omnirt.models()) > 5)")
        assert done.stdout == "2.0 True\n", done.stderr
    mapped = run(
        "import torch, omnirt; omnirt.models();"
        "print(len({line.split()[-1] for line in open('/proc/self/maps') if 'libtorch_cpu' in line}))"
    )
    assert mapped.stdout == "1\n", mapped.stderr


def test_another_minor_of_torch_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(_load, "_torch_version", lambda: "2.99.1+cpu")
    with pytest.raises(ImportError) as raised:
        _load.check_torch()
    said = str(raised.value)
    assert "2.99.1" in said and _build.TORCH.rsplit(".", 1)[0] in said and "pip install" in said


def test_type_checkers_see_the_declarations_of_this_build():
    packaged = (pathlib.Path(omnirt.__file__).parent / "_call.pyi").read_text()
    assert packaged == stub(), 'write it again: python -c "from omnirt.declarations import stub; print(stub(), end=\'\')"'


def test_a_pipelines_signature_is_its_models():
    names = inspect.signature(omnirt.Pipeline.from_pretrained("emoji-sd")).parameters
    assert {"prompt", "negative_prompt", "image", "num_inference_steps", "generator", "callback"} <= set(names)
    assert names["num_inference_steps"].default == omnirt.describe("emoji-sd").task().default_config["num_inference_steps"]
    assert "denoising steps" in omnirt.Pipeline.from_pretrained("emoji-sd").help()


def test_the_program_is_there_by_name_and_by_module(program):
    assert program("models").count("\n") > 5
    named = subprocess.run([sys.executable.rsplit("/", 1)[0] + "/omnirt", "--version"], capture_output=True, text=True)
    assert named.returncode == 0 and named.stdout == program("--version") and omnirt.__version__ in named.stdout
    assert subprocess.run([sys.executable, "-m", "omnirt", "generate", "--steps", "x"], capture_output=True).returncode == 2
