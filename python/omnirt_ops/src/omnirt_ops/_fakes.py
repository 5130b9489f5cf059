"""Shapes and strides of results, for torch.compile and torch.export."""

import torch


def _channels_last(x, batch, channels, height, width):
    strides = (height * width * channels, 1, width * channels, channels)
    return x.new_empty_strided((batch, channels, height, width), strides)


def _out(size, before, after, kernel, stride):
    return (size + before + after - kernel) // stride + 1


def _convolved(x, channels, size, kernel, stride, padding):
    left, right, top, bottom = padding
    height = _out(size[0], top, bottom, kernel[0], stride)
    width = _out(size[1], left, right, kernel[1], stride)
    return _channels_last(x, x.shape[0], channels, height, width)


@torch.library.register_fake("omnirt_ops::conv2d")
def _(x, weight, bias=None, stride=1, padding=(0, 0, 0, 0), upsample_to=(), *rest, **more):
    size = upsample_to or x.shape[2:]
    return _convolved(x, weight.shape[0], size, weight.shape[2:], stride, padding)


@torch.library.register_fake("omnirt_ops::group_norm")
def _(x, groups, *rest, **more):
    if x.dim() == 4:
        return _channels_last(x, *x.shape)
    batch, channels, count = x.shape
    return x.new_empty_strided((batch, channels, count), (count * channels, 1, channels))


@torch.library.register_fake("omnirt_ops::attention")
def _(query, key, value, mask, scale, *rest, **more):
    batch, heads, count, head_dim = query.shape
    width = heads * head_dim
    strides = (count * width, head_dim, width, 1)
    return query.new_empty_strided((batch, heads, count, head_dim), strides)


def _rows(x, out):
    return x.new_empty((*x.shape[:-1], out))


@torch.library.register_fake("omnirt_ops::linear")
def _(x, weight, bias=None, residual=None, activation=0, gated=False, precision=0):
    return _rows(x, weight.shape[0] // 2 if gated else weight.shape[0])


@torch.library.register_fake("omnirt_ops::gguf_linear")
def _(x, blocks, *rest, **more):
    return _rows(x, blocks.shape[0])


@torch.library.register_fake("omnirt_ops::fp8_linear")
def _(x, weight, *rest, **more):
    return _rows(x, weight.shape[0])


@torch.library.register_fake("omnirt_ops::int8_pack")
def _(weight):
    inner = weight.numel() // weight.shape[0]
    columns = (weight.shape[0] + 31) // 32 * 32
    values = weight.new_empty((columns * ((inner + 63) // 64 * 64),), dtype=torch.int8)
    scales = weight.new_empty((columns,), dtype=torch.float32)
    return values, scales, weight.new_empty((columns,), dtype=torch.int32)


@torch.library.register_fake("omnirt_ops::int8_linear")
def _(x, values, scales, sums, out_features, *rest, **more):
    return _rows(x, out_features)


@torch.library.register_fake("omnirt_ops::int8_conv2d")
def _(x, values, scales, sums, out_channels, kernel, bias=None, stride=1, padding=(0, 0, 0, 0), *_):
    return _convolved(x, out_channels, x.shape[2:], kernel, stride, padding)
