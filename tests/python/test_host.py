"""Runs in a program that has changed torch's settings, lost its streams, or forked."""

import contextlib
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import omnirt
from conftest import pixels


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def switched(switch, on, off):
    switch(on)
    try:
        yield
    finally:
        switch(off)


SETTINGS = {
    "half": lambda: default_dtype(torch.float16),
    "bfloat16": lambda: default_dtype(torch.bfloat16),
    "float64": lambda: default_dtype(torch.float64),
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "device": lambda: torch.device("meta"),
    "fake": FakeTensorMode,
    "deterministic": lambda: switched(torch.use_deterministic_algorithms, True, False),
    "flush": lambda: switched(torch.set_flush_denormal, True, False),
    "precision": lambda: switched(torch.set_float32_matmul_precision, "medium", "highest"),
    "threads": lambda: switched(torch.set_num_threads, 1, torch.get_num_threads()),
    "mkldnn": lambda: torch.backends.mkldnn.flags(enabled=False),
}


def images(small, generators=True):
    picture = numpy.full((64, 64, 3), 90, numpy.uint8)
    generator = torch.Generator().manual_seed(4) if generators else None
    by_generator = small("a red apple", generator=generator, seed=4).images[0]
    return [pixels(by_generator), pixels(small("a red apple", image=picture, strength=0.7, seed=1, output_type="pil").images[0])]


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_of_the_host_change_no_image(small, name):
    expected = images(small)
    with SETTINGS[name]():
        # Tensors of the fake mode hold no numbers, so that a generator has no state in it.
        made = images(small, generators=name != "fake")
        with omnirt.Pipeline.from_pretrained("emoji-sd", num_inference_steps=3, guidance_scale=3.0) as fresh:
            loaded = images(fresh, generators=name != "fake")
    for one, other, plain in zip(made, loaded, expected):
        assert (one == plain).all() and (other == plain).all()


def test_another_thread_may_change_the_default_dtype_meanwhile(small):
    expected = images(small)
    stop = threading.Event()

    def change():
        while not stop.is_set():
            for dtype in (torch.float16, torch.float64, torch.float32):
                torch.set_default_dtype(dtype)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        made = images(small)
    finally:
        stop.set()
        thread.join()
        torch.set_default_dtype(torch.float32)
    assert all((a == b).all() for a, b in zip(made, expected))


def test_callbacks_see_the_settings_of_their_caller(pipe):
    seen = []

    def look(step):
        seen.append((torch.is_autocast_enabled("cpu"), torch.is_grad_enabled(), torch.is_inference_mode_enabled()))

    with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
        pipe("a red apple", seed=3, callback=look)
    pipe("a red apple", seed=3, callback=look)
    assert seen == [(True, False, False)] * 2 + [(False, True, False)] * 2


def run(text, **how):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(text)], text=True, **how)


def test_a_forked_child_of_a_process_that_has_run_is_told_so():
    text = """
        import os, omnirt
        pipe = omnirt.Pipeline.from_pretrained("emoji", num_inference_steps=1)
        child = os.fork()
        if child == 0:  # before the first run: its own
            pipe("a red apple")
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        pipe("a red apple")
        child = os.fork()
        if child == 0:
            try:
                pipe("a red apple")
            except omnirt.RunFailed as error:
                os._exit(7 if "spawn" in str(error) else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = run(text, capture_output=True, timeout=120)
    assert done.stdout == "0\n7\n", done.stderr


@pytest.mark.parametrize("lost", ["2>&-", "2>/dev/full", "2> >(exec 0<&-)"])
def test_a_bar_that_cannot_be_shown_ends_no_run(lost):
    text = "import omnirt; print(len(omnirt.Pipeline.from_pretrained('emoji')('a red apple', num_inference_steps=2, progress=True)))"
    done = subprocess.run(["bash", "-c", f'"$0" -c "$1" {lost}', sys.executable, text], stdout=subprocess.PIPE, text=True)
    assert done.stdout == "1\n"


@pytest.mark.parametrize("lost", [">&-", ">/dev/full", "2>&-", "2>/dev/full"])
def test_the_program_is_reached_without_streams(lost):
    done = subprocess.run(["bash", "-c", f'"$0" -m omnirt --version {lost}', sys.executable], capture_output=True)
    assert done.returncode == (0 if lost.startswith("2") else 3)
