"""What the trainings share: their steps, the course of the learning rate, averaged weights,
checkpoints.

A run sleeps while FOLDER/pause exists, and ends after its next checkpoint once FOLDER/stop does.
"""

import os
import pathlib
import time

import torch

CHECKPOINT = 300  # seconds
MEASURE = 200  # steps


def rate(step, steps, warmup, decay):
    """1 after `warmup` steps, then down a straight line to 0 over the last `decay` of `steps`."""
    return min(1.0, (step + 1) / warmup, (steps - step) / max(decay, 1))


def stopped(folder):
    """Waits while the run is to pause; true once it is to end."""
    folder = pathlib.Path(folder)
    while (folder / "pause").exists() and not (folder / "stop").exists():
        time.sleep(1)
    return (folder / "stop").exists()


def save(path, state):
    """Whole or not at all: a reader never meets half a checkpoint."""
    unfinished = f"{path}.unfinished"
    torch.save(state, unfinished)
    os.replace(unfinished, path)


class Average:
    """Exponential average of parameters; its memory grows with the steps, up to `longest`."""

    def __init__(self, parameters, longest=0.999):
        self.parameters = list(parameters)
        self.values = [parameter.detach().clone() for parameter in self.parameters]
        self.longest = longest

    @torch.no_grad()
    def update(self, step):
        keep = min(self.longest, (step + 1) / (step + 10))
        torch._foreach_lerp_(self.values, [p.detach() for p in self.parameters], 1 - keep)

    def swap(self):
        """Exchanges the averaged and the trained values; a second call takes it back."""
        for parameter, value in zip(self.parameters, self.values):
            kept = parameter.detach().clone()
            parameter.data.copy_(value)
            value.copy_(kept)


class Training:
    """A model with its optimizer, averaged weights and step, as far as the checkpoint at `path`."""

    def __init__(self, path, model, optimizer):
        self.path, self.model, self.optimizer, self.step = path, model, optimizer, 0
        self.average = Average(model.parameters(), 0.998)
        if path.exists():
            stored = torch.load(path)
            model.load_state_dict(stored["model"])
            optimizer.load_state_dict(stored["optimizer"])
            self.average.values, self.step = stored["average"], stored["step"]
        torch.manual_seed(self.step)
        size = sum(p.numel() for p in model.parameters()) / 1e6
        print(f"{size:.1f} M, from step {self.step}", flush=True)

    def keep(self):
        stored = dict(model=self.model.state_dict(), optimizer=self.optimizer.state_dict())
        save(self.path, dict(stored, average=self.average.values, step=self.step))

    def report(self, measures):
        """`measures` returns the text about the averaged weights."""
        self.average.swap()
        print(f"  at {self.step}: {measures()}", flush=True)
        self.average.swap()

    def one_step(self, learning_rate, gradients):
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate * (1 if group["kind"] == "muon" else 0.5)
        self.optimizer.zero_grad()
        loss = gradients(self.step)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.average.update(self.step)
        self.step += 1
        return loss

    def run(self, steps, decay, warmup, learning_rate, gradients, measures):
        """`gradients`, of a step, adds up those of its batch and returns the loss."""
        began, kept, loss, cpu = time.time(), time.time(), None, time.process_time()
        while self.step < steps and not stopped(self.path.parent):
            now = learning_rate * rate(self.step, steps, warmup, decay)
            last = self.one_step(now, gradients)
            loss = last if loss is None else loss * 0.95 + last * 0.05
            if self.step % 20 == 0:
                spent, cpu = time.process_time() - cpu, time.process_time()
                minutes = (time.time() - began) / 60
                print(
                    f"step {self.step} loss {loss:.4f} rate {now:.5f} minutes {minutes:.1f}"
                    f" cpu {spent / 20:.2f} s",
                    flush=True,
                )
            if time.time() - kept > CHECKPOINT:
                self.keep()
                kept = time.time()
            if self.step % MEASURE == 0:
                self.report(measures)
        self.keep()
