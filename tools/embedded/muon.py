"""The optimiser of all trainings here: orthogonalised momentum for matrices, Adam for the rest.

A matrix's momentum is brought near to the closest orthogonal matrix by five steps of a
Newton-Schulz iteration (Muon, Jordan et al. 2024) and scaled so that its entries are about as
large as Adam's.
"""

import torch

COEFFICIENTS = (3.4445, -4.7750, 2.0315)  # quintic: fast, singular values end in 0.7..1.2


def orthogonalised(matrices):
    """Of a batch of matrices of one shape (..., rows, columns): all singular values near 1."""
    a, b, c = COEFFICIENTS
    x = matrices.bfloat16()
    wide = x.shape[-1] > x.shape[-2]
    if not wide:
        x = x.mT
    x = x / (x.float().norm(dim=(-2, -1), keepdim=True).to(x.dtype) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x if wide else x.mT).float()


class Muon(torch.optim.Optimizer):
    """`matrices`: (parameter, rows of each part) pairs; a fused projection is as many parts as it
    fuses, each orthogonalised by itself. `others`: parameters for Adam. Learning rates are Adam's.
    """

    def __init__(self, matrices, others, lr, momentum=0.95, betas=(0.9, 0.99), weight_decay=0.0):
        groups = [
            dict(kind="muon", params=[m for m, _ in matrices], parts=[r for _, r in matrices]),
            dict(kind="adam", params=list(others)),
        ]
        defaults = dict(lr=lr, momentum=momentum, betas=betas, weight_decay=weight_decay)
        super().__init__([group for group in groups if group["params"]], defaults)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            (self._muon if group["kind"] == "muon" else self._adam)(group)

    def _muon(self, group):
        for parameter, rows in zip(group["params"], group["parts"]):
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            gradient = parameter.grad.flatten(1)
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(gradient)
            state["momentum"].lerp_(gradient, 1 - group["momentum"])
            ahead = gradient.lerp(state["momentum"], group["momentum"])
            updates = [
                orthogonalised(part) * (0.2 * max(part.shape) ** 0.5)
                for part in (ahead.split(rows) if rows else [ahead])
            ]
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
            parameter.add_(torch.cat(updates).view_as(parameter), alpha=-group["lr"])

    def _adam(self, group):
        low, high = group["betas"]
        for parameter in group["params"]:
            if parameter.grad is None:
                continue
            state = self.state[parameter]
            if "count" not in state:
                state["count"] = 0
                state["mean"], state["square"] = torch.zeros(2, *parameter.shape)
            state["count"] += 1
            state["mean"].lerp_(parameter.grad, 1 - low)
            state["square"].lerp_(parameter.grad.square(), 1 - high)
            mean = state["mean"] / (1 - low ** state["count"])
            deviation = (state["square"] / (1 - high ** state["count"])).sqrt_()
            parameter.addcdiv_(mean, deviation.add_(1e-8), value=-group["lr"])
