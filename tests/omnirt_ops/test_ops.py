"""Each op against torch's reference, over samples."""

import concurrent.futures
import math

import numpy
import pytest
import torch
from torch.nn import functional as F

import omnirt_ops

ACTIVATE = {
    "none": lambda x: x,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "relu": F.relu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.2),
}


@pytest.mark.parametrize("activation", omnirt_ops.ACTIVATIONS)
def test_activations_are_torchs(activation, assert_near):
    x, weight = torch.randn(5, 33), torch.randn(17, 33)
    got = omnirt_ops.linear(x, weight, activation=activation)
    assert_near(got, ACTIVATE[activation](F.linear(x, weight)))


CONVOLUTIONS = [
    # channels, out, size, kernel, stride, padding
    (64, 96, (32, 32), 3, 1, 1),  # Winograd
    (4, 320, (16, 24), 3, 1, 1),
    (320, 4, (16, 16), 3, 1, 1),
    (33, 17, (9, 7), 3, 1, 1),
    (32, 64, (16, 16), 1, 1, 0),
    (32, 64, (17, 15), 3, 2, 1),
    (3, 8, (20, 20), 5, 1, 2),
    (8, 8, (12, 12), 3, 1, 0),
    (16, 16, (8, 8), 3, 1, (2, 1)),
]


@pytest.mark.parametrize("channels, out, size, kernel, stride, padding", CONVOLUTIONS)
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_convolutions(channels, out, size, kernel, stride, padding, layout, assert_near):
    x = torch.randn(2, channels, *size).contiguous(memory_format=layout)
    weight, bias = torch.randn(out, channels, kernel, kernel), torch.randn(out)
    got = omnirt_ops.conv2d(x, weight, bias, stride=stride, padding=padding)
    assert_near(got, F.conv2d(x, weight, bias, stride=stride, padding=padding))
    assert got.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("channels, size", [(64, 32), (32, 8)])
def test_a_convolution_with_all_that_can_come_with_it(channels, size, assert_near):
    x, weight = torch.randn(2, channels, size, size), torch.randn(48, channels, 3, 3)
    bias, added = torch.randn(48), torch.randn(2, 48)
    gamma, beta = torch.randn(channels), torch.randn(channels)
    residual = torch.randn(2, 48, 2 * size, 2 * size)
    got = omnirt_ops.conv2d(
        x,
        weight,
        bias,
        padding=1,
        upsample_to=(2 * size, 2 * size),
        norm_groups=8,
        norm_weight=gamma,
        norm_bias=beta,
        norm_activation="silu",
        sample_bias=added,
        residual=residual,
        activation="silu",
    )
    normed = F.interpolate(F.silu(F.group_norm(x, 8, gamma, beta)), scale_factor=2)
    wanted = F.conv2d(normed, weight, bias, padding=1) + added[:, :, None, None] + residual
    assert_near(got, F.silu(wanted))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_weights_of_narrower_types_are_widened(dtype, assert_near):
    x, weight = torch.randn(1, 32, 16, 16), torch.randn(32, 32, 3, 3).to(dtype)
    got = omnirt_ops.conv2d(x, weight, padding=1)
    assert_near(got, F.conv2d(x, weight.float(), padding=1))
    rows, matrix = torch.randn(7, 40), torch.randn(24, 40).to(dtype)
    assert_near(omnirt_ops.linear(rows, matrix), F.linear(rows, matrix.float()))


@pytest.mark.parametrize("shape", [(2, 64, 9, 7), (2, 64, 50), (1, 32, 16, 16)])
@pytest.mark.parametrize("activation", ["none", "silu"])
def test_group_norms(shape, activation, assert_near):
    x, weight, bias = torch.randn(shape) + 3, torch.randn(shape[1]), torch.randn(shape[1])
    wanted = ACTIVATE[activation](F.group_norm(x, 8, weight, bias, 1e-6))
    assert_near(omnirt_ops.group_norm(x, 8, weight, bias, 1e-6, activation), wanted)
    turned = x.transpose(1, -1).contiguous().transpose(1, -1)
    assert_near(omnirt_ops.group_norm(turned, 8, weight, bias, 1e-6, activation), wanted)


@pytest.mark.parametrize("tokens, keys, head_dim", [(64, 64, 40), (200, 77, 64), (5, 3, 128)])
@pytest.mark.parametrize("causal", [False, True])
def test_attention(tokens, keys, head_dim, causal, assert_near):
    if causal:
        keys = tokens
    shapes = ((2, tokens, 3, head_dim), (2, keys, 3, head_dim), (2, keys, 3, head_dim))
    query, key, value = (torch.randn(shape).transpose(1, 2) for shape in shapes)
    got = omnirt_ops.attention(query, key, value, causal=causal)
    wanted = F.scaled_dot_product_attention(query, key, value, is_causal=causal)
    assert_near(got, wanted)
    assert got.transpose(1, 2).is_contiguous()


def test_attention_with_masks_and_shared_keys(assert_near):
    query, key, value = torch.randn(2, 8, 20, 16), torch.randn(2, 2, 30, 16), torch.randn(2, 2, 30, 16)
    masks = [torch.randn(2, 8, 20, 30), torch.rand(20, 30) > 0.3, torch.randn(2, 1, 1, 30)]
    for mask in masks:
        got = omnirt_ops.attention(query, key, value, mask, scale=0.3)
        wanted = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, scale=0.3, enable_gqa=True
        )
        assert_near(got, wanted)


def test_gated_layers_and_residuals(assert_near):
    x, weight, bias = torch.randn(2, 9, 24), torch.randn(64, 24), torch.randn(64)
    value, gate = F.linear(x, weight, bias).chunk(2, -1)
    assert_near(omnirt_ops.geglu_linear(x, weight, bias), value * F.gelu(gate))
    residual = torch.randn(2, 9, 64)
    got = omnirt_ops.linear(x, weight, bias, residual=residual)
    assert_near(got, F.linear(x, weight, bias) + residual)


@pytest.mark.parametrize("name", ["Q8_0", "Q4_0", "Q5_1"])
def test_gguf_weights(name, assert_near):
    gguf = pytest.importorskip("gguf")
    kind = gguf.GGMLQuantizationType[name]
    blocks = gguf.quantize(numpy.random.default_rng(3).standard_normal((48, 128), "f"), kind)
    weight = torch.from_numpy(gguf.dequantize(blocks, kind))
    x, bias = torch.randn(3, 5, 128), torch.randn(48)
    got = omnirt_ops.gguf_linear(x, torch.from_numpy(blocks), kind, bias)
    assert_near(got, F.linear(x, weight, bias))


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
@pytest.mark.parametrize("scales", [(), (1,), (40,), (40, 1)])
def test_fp8_weights_with_scales(dtype, scales, assert_near):
    x, weight, scale = torch.randn(6, 72), torch.randn(40, 72).to(dtype), torch.rand(scales) + 0.5
    wanted = F.linear(x, weight.float() * (scale if scale.dim() == 2 else scale.reshape(-1, 1)))
    assert_near(omnirt_ops.fp8_linear(x, weight, scale), wanted)


def decibels(got, wanted):
    return 10 * math.log10((wanted.var() / (got - wanted).square().mean()).item())


@pytest.mark.parametrize("inner", [256, 80, 30])
def test_int8_products(inner):
    x, weight, bias = torch.randn(4, 10, inner), torch.randn(70, inner), torch.randn(70)
    packed = omnirt_ops.int8_pack(weight)
    got = omnirt_ops.int8_linear(x, *packed, 70, bias, activation="silu")
    assert decibels(got, F.silu(F.linear(x, weight, bias))) > 35


def test_int8_convolutions():
    x, weight, bias = torch.randn(2, 64, 12, 12), torch.randn(40, 64, 3, 3), torch.randn(40)
    packed = omnirt_ops.int8_pack(weight)
    got = omnirt_ops.int8_conv2d(x, *packed, 40, (3, 3), bias, stride=2, padding=1)
    assert decibels(got, F.conv2d(x, weight, bias, stride=2, padding=1)) > 35


@pytest.mark.parametrize("precision, most", [("high", 1e-4), ("medium", 2e-2)])
def test_lesser_precisions(precision, most, assert_near):
    x, weight = torch.randn(1, 256, 128), torch.randn(128, 128)
    assert_near(omnirt_ops.linear(x, weight, precision=precision), F.linear(x, weight), most)
    query, key, value = (torch.randn(1, 2, 160, 64) for _ in range(3))
    got = omnirt_ops.attention(query, key, value, precision=precision)
    assert_near(got, F.scaled_dot_product_attention(query, key, value), most)
    image, filters = torch.randn(1, 32, 16, 16), torch.randn(32, 32, 3, 3)
    got = omnirt_ops.conv2d(image, filters, padding=1, precision=precision)
    assert_near(got, F.conv2d(image, filters, padding=1), most)


def test_bits_do_not_depend_on_threads():
    x, weight = torch.randn(2, 64, 32, 32), torch.randn(64, 64, 3, 3)
    before, results = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.append(omnirt_ops.conv2d(x, weight, padding=1))
    torch.set_num_threads(before)
    assert all(torch.equal(results[0], other) for other in results[1:])


def test_calls_from_several_threads_have_the_same_bits():
    x, weight = torch.randn(2, 64, 16, 16), torch.randn(64, 64, 3, 3)
    wanted = omnirt_ops.conv2d(x, weight, padding=1)

    def call(_):
        with torch.no_grad():
            return omnirt_ops.conv2d(x, weight, padding=1)

    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        assert all(torch.equal(got, wanted) for got in threads.map(call, range(40)))
