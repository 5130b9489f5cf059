"""The kernels as functions of tensors.

All compute in float32 on the CPU, with the threads of torch, and have no backward: they are for
inference, and raise where a gradient would be asked for. A malformed call raises ValueError that
names the op, the argument, what it is and what it may be. torch.compile and torch.export take them.

`activation` is one of ACTIVATIONS, applied to the result; `precision` one of PRECISIONS, torch's
float32_matmul_precision: "high" multiplies numbers split into two bfloat16 where the processor has
a matrix unit, "medium" rounds them to bfloat16 where it has products of these; elsewhere both are
"highest".
"""

import math

import torch

from . import _library  # noqa: F401
from . import _fakes  # noqa: F401

ACTIVATIONS = ("none", "silu", "gelu", "gelu_tanh", "quick_gelu", "relu", "leaky_relu")
PRECISIONS = ("highest", "high", "medium")


def _number(name, value, names):
    if value not in names:
        raise ValueError(f"omnirt_ops: {name} = {value!r}: one of {', '.join(names)} is taken")
    return names.index(value)


def _activation(value):
    return _number("activation", value, ACTIVATIONS)


def _precision(value):
    return _number("precision", value, PRECISIONS)


def _refuse_gradients(op, *tensors):
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors):
        raise NotImplementedError(
            f"omnirt_ops.{op} has no backward, and an argument requires a gradient; "
            "call it under torch.no_grad(), or detach its arguments"
        )


def _call(op, *args):
    """Torch 2.15 makes a RuntimeError of what is refused, earlier ones the ValueError that it is."""
    try:
        return op(*args)
    except RuntimeError as error:
        if str(error).startswith("omnirt_ops."):
            raise ValueError(str(error)) from None
        raise


def _padding(value):
    """{left, right, top, bottom} of a number, of torch's (height, width), or of four numbers."""
    if isinstance(value, int):
        return [value] * 4
    value = list(value)
    if len(value) == 2:
        return [value[1], value[1], value[0], value[0]]
    return value


def conv2d(
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    *,
    upsample_to=(),
    norm_groups=0,
    norm_weight=None,
    norm_bias=None,
    norm_eps=1e-5,
    norm_activation="none",
    sample_bias=None,
    residual=None,
    activation="none",
    precision="highest",
):
    """act(conv2d(pad(upsample(act(group_norm(x))))) + bias + sample_bias + residual).

    x {B, C, H, W}, the result {B, O, H', W'} in channels-last memory (x is copied into it where it
    is not there yet). weight {O, C, kh, kw}: float32, float16, bfloat16, float8_e4m3fn or
    float8_e5m2, contiguous. stride: one number. padding: a number, (height, width), or (left, right,
    top, bottom). upsample_to: (height, width) of a nearest-neighbour upsampling before it.
    norm_groups: 0 for no norm. sample_bias {B, O}; residual as the result.

    3x3 of stride 1 are computed by Winograd's F(4x4) or F(2x2) where that is faster (Lavin and Gray,
    arXiv 1509.09308), others directly.
    """
    _refuse_gradients("conv2d", x, weight, bias, norm_weight, norm_bias, sample_bias, residual)
    return _call(
        torch.ops.omnirt_ops.conv2d,
        x,
        weight,
        bias,
        stride,
        _padding(padding),
        list(upsample_to),
        norm_groups,
        norm_weight,
        norm_bias,
        norm_eps,
        _activation(norm_activation),
        sample_bias,
        residual,
        _activation(activation),
        _precision(precision),
    )


def group_norm(x, groups, weight=None, bias=None, eps=1e-5, activation="none"):
    """act(group_norm(x)); x {B, C, H, W} or {B, C, T}, the result in channels-last memory."""
    _refuse_gradients("group_norm", x, weight, bias)
    return _call(torch.ops.omnirt_ops.group_norm, x, groups, weight, bias, eps, _activation(activation))


def attention(query, key, value, mask=None, scale=None, causal=False, precision="highest"):
    """softmax(query key^T * scale + mask) value, as torch's scaled_dot_product_attention.

    {B, heads, T, d}, of any strides; key and value may have fewer heads, a divisor of the query's.
    mask: float32 or bool, which broadcasts to {B, heads, T, keys}. The result has the memory of {B,
    T, heads, d}. The matrix of scores is never made (Dao et al., arXiv 2205.14135).
    """
    _refuse_gradients("attention", query, key, value, mask)
    if mask is not None:
        if mask.dtype is torch.bool:
            mask = torch.zeros(mask.shape).masked_fill_(~mask, -math.inf)
        while 0 < mask.dim() < 4:
            mask = mask.unsqueeze(0)
    if scale is None:
        scale = 1 / math.sqrt(max(1, query.shape[-1]))
    return _call(
        torch.ops.omnirt_ops.attention,
        query, key, value, mask, scale, causal, _precision(precision)
    )


def linear(x, weight, bias=None, *, residual=None, activation="none", precision="highest"):
    """act(x weight^T + bias + residual); x {..., in}, weight {out, in} of conv2d's types."""
    _refuse_gradients("linear", x, weight, bias, residual)
    return _call(
        torch.ops.omnirt_ops.linear,
        x, weight, bias, residual, _activation(activation), False, _precision(precision)
    )


def geglu_linear(x, weight, bias=None, *, precision="highest"):
    """a * gelu(b), a and b the halves of x weight^T + bias; weight {2 out, in}."""
    _refuse_gradients("linear", x, weight, bias)
    return _call(torch.ops.omnirt_ops.linear, x, weight, bias, None, 0, True, _precision(precision))


def gguf_linear(x, blocks, type, bias=None, *, activation="none"):
    """linear over a weight as a GGUF file holds it.

    blocks: uint8 {out, bytes of a row}. type: ggml's number, or gguf.GGMLQuantizationType. A panel of
    the weight is widened at a time, inside the product.
    """
    _refuse_gradients("gguf_linear", x, bias)
    return _call(torch.ops.omnirt_ops.gguf_linear, x, blocks, int(type), bias, _activation(activation))


def fp8_linear(x, weight, scale, bias=None, *, activation="none"):
    """linear over weight * scale: float8_e4m3fn or float8_e5m2 {out, in}, and float32, one or {out}."""
    _refuse_gradients("fp8_linear", x, scale, bias)
    return _call(torch.ops.omnirt_ops.fp8_linear, x, weight, scale, bias, _activation(activation))


def int8_pack(weight):
    """(values, scales, sums) of a weight {out, in} or {O, C, kh, kw}, for int8_linear or int8_conv2d.

    Rows are rotated in groups of 256, 64 or 16 inputs by a Hadamard matrix where one of these divides
    their number (ConvRot, arXiv 2512.03673), and rounded to eight bits with a scale of their own.
    """
    _refuse_gradients("int8_pack", weight)
    return _call(torch.ops.omnirt_ops.int8_pack, weight)


def int8_linear(x, values, scales, sums, out_features, bias=None, *, activation="none"):
    """linear over packed weights; each row of x is rounded by its own range."""
    _refuse_gradients("int8_linear", x, bias)
    return _call(
        torch.ops.omnirt_ops.int8_linear,
        x, values, scales, sums, out_features, bias, _activation(activation)
    )


def int8_conv2d(
    x,
    values,
    scales,
    sums,
    out_channels,
    kernel,
    bias=None,
    stride=1,
    padding=0,
    *,
    activation="none",
):
    """conv2d over packed weights; each patch of x is rounded by its own range. kernel: (kh, kw)."""
    _refuse_gradients("int8_conv2d", x, bias)
    return _call(
        torch.ops.omnirt_ops.int8_conv2d,
        x,
        values,
        scales,
        sums,
        out_channels,
        list(kernel),
        bias,
        stride,
        _padding(padding),
        _activation(activation),
    )
