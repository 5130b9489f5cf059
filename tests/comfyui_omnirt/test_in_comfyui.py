"""The nodes in ComfyUI's own executor, where OMNIRT_COMFYUI names a checkout of it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

CHECKOUT = os.environ.get("OMNIRT_COMFYUI", "")


@pytest.fixture(scope="module")
def told():
    if not CHECKOUT:
        pytest.skip("OMNIRT_COMFYUI names no checkout of ComfyUI (with its requirements installed)")
    pytest.importorskip("omnirt")
    script = pathlib.Path(__file__).with_name("comfyui_run.py")
    done = subprocess.run([sys.executable, script, CHECKOUT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_three_nodes_and_one_make_the_same_image(told):
    assert told["apart"]["last"] == told["whole"]["last"] == "execution_success"
    assert told["equal"] and told["size"][0] >= 64


def test_steps_reach_comfyuis_progress(told):
    assert told["apart"]["progress"] == told["whole"]["progress"] == 2


def test_an_unknown_model_is_an_error_of_its_node(told):
    assert told["wrong"]["last"] == "execution_error"
    assert "missing" in told["wrong"]["message"]


def test_cancel_interrupts(told):
    assert told["interrupted"]["last"] == "execution_interrupted"
