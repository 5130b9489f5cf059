"""What the trainings share: the course of the learning rate, averaged weights, checkpoints.

A run sleeps while FOLDER/pause exists, and ends after its next checkpoint once FOLDER/stop does.
"""

import os
import pathlib
import time

import torch


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
