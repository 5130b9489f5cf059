"""Malformed calls raise, name what is wrong, and leave the process as it was."""

import resource

import pytest
import torch

import omnirt_ops

X, W = torch.randn(1, 8, 6, 6), torch.randn(4, 8, 3, 3)
ROWS, M = torch.randn(3, 8), torch.randn(4, 8)
Q = torch.randn(1, 2, 5, 8)
BLOCKS = torch.zeros(4, 34, dtype=torch.uint8)
FP8 = M.to(torch.float8_e4m3fn)
PACKED = omnirt_ops.int8_pack(torch.randn(4, 8))
FILTERS = omnirt_ops.int8_pack(torch.randn(4, 8, 3, 3))


def sliced(x):
    return torch.cat([x, x], -1)[..., ::2]


MALFORMED = [
    ("x has 3 dimensions", lambda: omnirt_ops.conv2d(X[0], W)),
    ("x is Double", lambda: omnirt_ops.conv2d(X.double(), W)),
    ("x is empty", lambda: omnirt_ops.conv2d(X[:0], W)),
    ("weight has the shape", lambda: omnirt_ops.conv2d(X[:, :5], W)),
    ("weight is Long", lambda: omnirt_ops.conv2d(X, W.long())),
    ("weight is not contiguous", lambda: omnirt_ops.conv2d(X, W.transpose(2, 3))),
    ("bias has the shape", lambda: omnirt_ops.conv2d(X, W, torch.randn(5))),
    ("bias is Half", lambda: omnirt_ops.conv2d(X, W, torch.randn(4).half())),
    ("stride = 0", lambda: omnirt_ops.conv2d(X, W, stride=0)),
    ("padding = -1", lambda: omnirt_ops.conv2d(X, W, padding=-1)),
    ("padding = 1125899906842624", lambda: omnirt_ops.conv2d(X, W, padding=2**50)),
    (r"len\(padding\) = 3", lambda: omnirt_ops.conv2d(X, W, padding=(1, 2, 3))),
    ("a kernel of 3 x 3", lambda: omnirt_ops.conv2d(X[..., :2], W)),
    (r"len\(upsample_to\) = 1", lambda: omnirt_ops.conv2d(X, W, upsample_to=(4,))),
    ("upsample_to = -4", lambda: omnirt_ops.conv2d(X, W, upsample_to=(-4, 4))),
    ("groups = 3", lambda: omnirt_ops.conv2d(X, W, norm_groups=3)),
    ("sample_bias has the shape", lambda: omnirt_ops.conv2d(X, W, sample_bias=torch.randn(2, 4))),
    ("residual has the shape", lambda: omnirt_ops.conv2d(X, W, residual=X)),
    ("activation = 'tanh'", lambda: omnirt_ops.conv2d(X, W, activation="tanh")),
    ("precision = 'low'", lambda: omnirt_ops.conv2d(X, W, precision="low")),
    ("x has 2 dimensions", lambda: omnirt_ops.group_norm(ROWS, 2)),
    ("groups = 0", lambda: omnirt_ops.group_norm(X, 0)),
    ("eps = nan", lambda: omnirt_ops.group_norm(X, 2, eps=float("nan"))),
    ("norm weight has the shape", lambda: omnirt_ops.group_norm(X, 2, torch.randn(3))),
    ("query has 3 dimensions", lambda: omnirt_ops.attention(Q[0], Q, Q)),
    ("key has the shape", lambda: omnirt_ops.attention(Q, Q[..., :4], Q)),
    ("value has the shape", lambda: omnirt_ops.attention(Q, Q, Q[:, :, :3])),
    ("value is Half", lambda: omnirt_ops.attention(Q, Q, Q.half())),
    ("which do not divide", lambda: omnirt_ops.attention(Q[:, :1], Q, Q)),
    ("mask has 4 in dimension 3", lambda: omnirt_ops.attention(Q, Q, Q, torch.zeros(5, 4))),
    ("scale = inf", lambda: omnirt_ops.attention(Q, Q, Q, scale=float("inf"))),
    ("x has 7 in its last dimension", lambda: omnirt_ops.linear(ROWS[:, :7], M)),
    ("weight has 1 dimensions", lambda: omnirt_ops.linear(ROWS, M[0])),
    ("weight is not contiguous", lambda: omnirt_ops.linear(ROWS, sliced(M))),
    ("residual has another shape", lambda: omnirt_ops.linear(ROWS, M, residual=ROWS)),
    ("an even number of rows", lambda: omnirt_ops.geglu_linear(ROWS, M[:3])),
    ("type = 99", lambda: omnirt_ops.gguf_linear(ROWS, BLOCKS, 99)),
    ("type = -1", lambda: omnirt_ops.gguf_linear(ROWS, BLOCKS, -1)),
    ("type = 0", lambda: omnirt_ops.gguf_linear(ROWS, BLOCKS, 0)),
    ("holds no bytes", lambda: omnirt_ops.gguf_linear(ROWS, M, 8)),
    ("rows of 33 bytes", lambda: omnirt_ops.gguf_linear(ROWS, BLOCKS[:, :33].clone(), 8)),
    ("weight takes 32", lambda: omnirt_ops.gguf_linear(ROWS, BLOCKS, 8)),
    ("weight is Float", lambda: omnirt_ops.fp8_linear(ROWS, M, torch.ones(1))),
    ("scale has 3 numbers", lambda: omnirt_ops.fp8_linear(ROWS, FP8, torch.ones(3))),
    ("weight has 3 dimensions", lambda: omnirt_ops.int8_pack(torch.randn(2, 3, 4))),
    ("70000 inputs", lambda: omnirt_ops.int8_pack(torch.randn(1, 70000))),
    ("values has the shape", lambda: omnirt_ops.int8_linear(ROWS, *PACKED, 40)),
    ("scales is Int", lambda: omnirt_ops.int8_linear(ROWS, PACKED[0], PACKED[2], PACKED[2], 4)),
    ("out_features = 0", lambda: omnirt_ops.int8_linear(ROWS, *PACKED, 0)),
    ("out_channels = -1", lambda: omnirt_ops.int8_conv2d(X, *FILTERS, -1, (3, 3))),
    ("kernel = 0", lambda: omnirt_ops.int8_conv2d(X, *FILTERS, 4, (0, 3))),
    (r"len\(kernel\) = 1", lambda: omnirt_ops.int8_conv2d(X, *FILTERS, 4, (3,))),
]


@pytest.mark.parametrize("words, call", MALFORMED, ids=[words for words, _ in MALFORMED])
def test_what_is_wrong_is_named(words, call):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_nan_among_int8_weights_is_refused():
    with pytest.raises(ValueError, match="weight holds a NaN"):
        omnirt_ops.int8_pack(torch.full((4, 8), float("nan")))


def test_tensors_without_storage_give_shapes():
    got = omnirt_ops.conv2d(X.to("meta"), W.to("meta"))
    assert got.device.type == "meta" and got.shape == (1, 4, 4, 4)


def test_gradients_are_refused():
    with torch.enable_grad():
        for call in (
            lambda: omnirt_ops.linear(ROWS, M.clone().requires_grad_()),
            lambda: omnirt_ops.conv2d(X.clone().requires_grad_(), W),
        ):
            with pytest.raises(NotImplementedError, match="has no backward"):
                call()


def test_a_thousand_malformed_calls_leak_nothing():
    def all_of_them():
        for _, call in MALFORMED:
            with pytest.raises(ValueError):
                call()

    all_of_them()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20):
        all_of_them()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 << 10  # KiB
