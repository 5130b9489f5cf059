"""Runs beside each other, ended, and with callbacks that raise."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import omnirt
from conftest import pixels


def test_callbacks_are_told_each_step(pipe):
    steps = []
    pipe("a red apple", seed=3, callback=steps.append)
    assert [(each.step, each.steps) for each in steps] == [(1, 2), (2, 2)]
    assert steps[0].timestep > steps[1].timestep and steps[0].latents.dim() == 4


def test_what_a_callback_raises_comes_out_as_it_was(pipe):
    class Mine(Exception):
        pass

    mine = Mine("stop")

    def stop(_):
        raise mine

    with pytest.raises(Mine) as raised:
        pipe("a red apple", seed=3, callback=stop)
    assert raised.value is mine
    assert pipe("a red apple", seed=3).report.error is None


def test_previews_are_handed_over(pipe, tmp_path):
    shown = []
    pipe("a red apple", seed=3, preview_every=1, preview_dir=tmp_path, preview_callback=shown.append)
    assert len(shown) == 2 and memoryview(shown[0].image).shape[2] == 3


def test_a_token_ends_a_run_within_a_step(pipe):
    token, steps = omnirt.CancelToken(), []

    def cancel_first(step):
        steps.append(step)
        token.cancel()

    with pytest.raises(omnirt.Cancelled) as raised:
        pipe("a red apple", seed=3, num_inference_steps=50, callback=cancel_first, cancel=token)
    assert len(steps) == 1 and raised.value.report.error.kind == "Cancelled"


def test_other_threads_run_while_one_computes(pipe):
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    pipe("a red apple", seed=3, num_inference_steps=8)
    done.set()
    thread.join()
    assert len(ticks) > 5


def test_two_pipelines_at_once_make_their_own_images(pipe, small):
    alone = {pipe: pipe("a red apple", seed=3).images[0], small: small("a red apple", seed=3).images[0]}
    made = {}

    def run(which):
        made[which] = [which("a red apple", seed=3).images[0] for _ in range(3)]

    threads = [threading.Thread(target=run, args=(each,)) for each in (pipe, small)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for which, images in made.items():
        assert len(images) == 3 and all((pixels(each) == pixels(alone[which])).all() for each in images)


def test_runs_are_awaited_beside_others(pipe):
    async def both():
        return await asyncio.gather(pipe.agenerate("a red apple", seed=3), pipe.agenerate("a red apple", seed=4))

    made = asyncio.run(both())
    assert [each.report.artifacts[0].seed for each in made] == [3, 4]


def test_a_cancelled_task_ends_its_run(pipe):
    async def cancelled():
        token = omnirt.CancelToken()
        task = asyncio.create_task(pipe.agenerate("a red apple", num_inference_steps=1000, cancel=token))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return token

    assert asyncio.run(cancelled()).cancelled


@pytest.mark.parametrize("first", ["", "import torch"])
def test_ctrl_c_ends_a_run_and_is_a_keyboard_interrupt(first):
    """Also where it comes while torch's own Python runs inside the run, as it does in a process's first steps."""
    text = f"""
        {first}
        import omnirt
        pipe = omnirt.Pipeline.from_pretrained("emoji")
        said = []
        def say(step):
            if not said:
                said.append(1)
                print("running", flush=True)
        try:
            pipe("a red apple", num_inference_steps=1000, callback=say)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        again = pipe("a red apple", num_inference_steps=1).report
        print("again", {{attempt.level for each in again.backend_timeline for attempt in each.attempts}}, flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(text)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    assert process.stdout.read() == "interrupted\nagain {'compile'}\n"
    assert process.wait() == 0


def test_progress_is_shown_where_it_is_asked_for(pipe, capsys):
    pipe("a red apple", seed=3, progress=True)
    assert "2/2" in capsys.readouterr().err


def test_the_environment_is_the_packages_own(program):
    import omnirt as installed

    assert "site-packages" in os.path.dirname(installed.__file__)
    assert program("--version").startswith("omnirt ")
