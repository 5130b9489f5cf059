"""Group normalisation for training on a CPU: torch's own takes a third of the decoder's time.

`install(model)` replaces it in a model whose activations are channels-last.
"""

import functools

import torch
from torch import nn


def rows(x):
    return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1, x.shape[1])


def images(x, like):
    n, c, height, width = like.shape
    return x.view(n, height, width, c).permute(0, 3, 1, 2)


class Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, groups, epsilon):
        n, c = x.shape[:2]
        values = rows(x).float()
        count = values.shape[1] * (c // groups)

        def grouped(sums):
            return sums.view(n, groups, -1).sum(-1, keepdim=True) / count

        mean = grouped(values.sum(1))
        variance = grouped(values.square().sum(1)) - mean.square()
        spread = (variance.clamp(min=0) + epsilon).rsqrt()
        scale = (spread * weight.view(groups, -1)).view(n, 1, c)
        shift = bias.view(1, 1, c) - (mean.expand(n, groups, c // groups).reshape(n, 1, c)) * scale
        ctx.save_for_backward(x, weight, mean, spread, scale)
        ctx.groups = groups
        return images(torch.addcmul(shift, values, scale).to(x.dtype), x)

    @staticmethod
    def backward(ctx, gradient):
        x, weight, mean, spread, scale = ctx.saved_tensors
        n, c = x.shape[:2]
        values, incoming = rows(x).float(), rows(gradient).float()
        count = values.shape[1] * (c // ctx.groups)
        first = incoming.sum(1).view(n, ctx.groups, -1)
        second = ((incoming * values).sum(1).view(n, ctx.groups, -1) - mean * first) * spread
        factor = weight.view(ctx.groups, -1)
        a = (factor * first).sum(-1, keepdim=True) / count
        b = (factor * second).sum(-1, keepdim=True) / count
        shape = (n, ctx.groups, c // ctx.groups)
        slope = (-spread.square() * b).expand(shape).reshape(n, 1, c)
        offset = (spread.square() * b * mean - spread * a).expand(shape).reshape(n, 1, c)
        found = incoming.mul_(scale).addcmul_(values, slope).add_(offset)
        of_weight, of_bias = second.sum(0).flatten(), first.sum(0).flatten()
        return images(found.to(x.dtype), x), of_weight, of_bias, None, None


def forward(module, x):
    if x.ndim != 4:  # the attention's
        return nn.GroupNorm.forward(module, x)
    return Normalise.apply(x, module.weight, module.bias, module.num_groups, module.eps)


def install(model):
    for module in model.modules():
        if isinstance(module, nn.GroupNorm):
            module.forward = functools.partial(forward, module)
