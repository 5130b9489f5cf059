"""A thousand calls that cannot be served: exceptions, no crash, and no memory that stays."""

import gc
import os
import random

import numpy
import pytest
import torch
from PIL import Image

import omnirt

VALUES = [
    None, True, -1, 0, 1, 10**30, 1.5, float("nan"), float("inf"), "", "x" * 5000, "\0", "\ud800", b"bytes", [], [[]],
    {}, {"a": {}}, {"in_memory": 0}, {"in_memory": -1}, object(), torch.zeros(0), torch.zeros(2, 3),
    torch.zeros(1, 4, 8, 8, device="meta"), torch.zeros(1, 3, 8, 8, dtype=torch.complex64),
    torch.zeros(1, 4, 8, 8, requires_grad=True), torch.full((1, 4, 8, 8), float("nan")), numpy.zeros((0, 0, 3)),
    numpy.zeros((8, 8, 7), numpy.uint8), numpy.array("text"), numpy.array([object()]), Image.new("RGB", (1, 1)),
    Image.new("I;16", (3, 3)), lambda: 0, type, range(3), ("a", 1), "/nowhere", torch.Generator(), [torch.Generator()] * 3,
]  # fmt: skip
NAMES = [
    "prompt", "negative_prompt", "image", "mask", "latents", "prompt_embeds", "pooled_prompt_embeds", "generator", "seed",
    "width", "height", "num_inference_steps", "guidance_scale", "num_images_per_prompt", "scheduler", "output_type",
    "output", "guider", "components", "adapters", "task", "backend", "strength", "nothing_of_the_kind", "timesteps",
    "sigmas", "memory_budget", "dtype", "metadata", "cache", "encoded_prompt",
]  # fmt: skip
ALLOWED = (omnirt.Error, TypeError, ValueError, AttributeError, OverflowError, UnicodeError, RuntimeError, BufferError, OSError)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_thousand_malformed_calls(small, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    closed = omnirt.Pipeline.from_pretrained("emoji")
    closed.close()
    refused = 0
    for call in range(1000):
        given = {draw.choice(NAMES): draw.choice(VALUES) for _ in range(draw.randint(1, 4))}
        which = closed if call % 20 == 0 else small
        # What can be served is validated alone, so that the test is short.
        try:
            refused += 0 if which.validate(**given).ok else 1
        except ALLOWED:
            refused += 1
    assert refused > 800
    assert small("a red apple", seed=1).report.error is None
    assert [each for each in tmp_path.iterdir()] == []


def test_runs_that_fail_half_way_leave_the_next_one_whole(small):
    class Mine(Exception):
        pass

    def stop(step):
        if step.step == 2:
            raise Mine

    for _ in range(20):
        with pytest.raises(Mine):
            small("a red apple", seed=1, callback=stop)
    assert small("a red apple", seed=1).report.error is None


def test_memory_stays_level_over_runs(small):
    """Of 500 runs; what the first ones load and what an allocator rounds up is not counted."""
    token = omnirt.CancelToken()
    token.cancel()
    fewest = {"num_inference_steps": 1, "guidance_scale": 1.0}

    def one(number):
        if number % 5 == 4:
            with pytest.raises(omnirt.Cancelled):
                small("a red apple", seed=number, cancel=token)
        elif number % 5 == 3:
            small.validate("a red apple", latents=torch.zeros(1, 4, 8, 8), generator=torch.Generator())
        else:
            small("a red apple", seed=number, **fewest, callback=lambda step: None)

    for number in range(100):
        one(number)
    gc.collect()
    before = resident()
    for number in range(500):
        one(number)
    gc.collect()
    assert resident() - before < 8 << 20
