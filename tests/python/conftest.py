"""The installed package, in an environment without this tree on its path (scripts/wheel_omnirt)."""

import subprocess
import sys

import numpy
import pytest

import omnirt


@pytest.fixture(scope="session")
def pipe():
    """The embedded model, with few steps."""
    with omnirt.Pipeline.from_pretrained("emoji", num_inference_steps=2) as made:
        yield made


@pytest.fixture(scope="session")
def small():
    """The embedded Stable Diffusion, whose images are made of images too; guided, and with few steps."""
    with omnirt.Pipeline.from_pretrained("emoji-sd", num_inference_steps=3, guidance_scale=3.0) as made:
        yield made


@pytest.fixture(scope="session")
def program():
    """Runs the package's own program; its output."""

    def run(*words, code=0):
        done = subprocess.run([sys.executable, "-m", "omnirt", *map(str, words)], capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run


def pixels(image):
    return numpy.asarray(image)


def psnr(a, b):
    difference = (pixels(a).astype(float) - pixels(b).astype(float)) ** 2
    return float("inf") if difference.max() == 0 else 10 * numpy.log10(255**2 / difference.mean())
