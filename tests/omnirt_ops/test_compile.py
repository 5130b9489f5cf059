"""What torch's compilers see of the ops."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import omnirt_ops

ops = torch.ops.omnirt_ops
X, W = torch.randn(2, 16, 8, 8), torch.randn(32, 16, 3, 3)
ROWS, M = torch.randn(2, 5, 64), torch.randn(32, 64)
Q = torch.randn(2, 7, 3, 8).transpose(1, 2)
PACKED, FILTERS = omnirt_ops.int8_pack(M), omnirt_ops.int8_pack(W)
CALLS = [
    (ops.conv2d, (X, W, None, 2, [1, 0, 1, 1])),
    (ops.conv2d, (X, W, torch.randn(32), 1, [1, 1, 1, 1], [16, 16], 4)),
    (ops.conv2d, (X, W, torch.randn(32), 1, [1, 1, 1, 1])),  # Winograd's
    (ops.group_norm, (X, 4)),
    (ops.group_norm, (ROWS, 5)),
    (ops.attention, (Q, Q, Q, None, 0.5)),
    (ops.linear, (ROWS, M)),
    (ops.linear, (ROWS, M, None, None, 0, True)),
    (ops.gguf_linear, (ROWS, torch.zeros(9, 68, dtype=torch.uint8), 8)),
    (ops.fp8_linear, (ROWS, M.to(torch.float8_e5m2), torch.ones(1))),
    (ops.int8_pack, (W,)),
    (ops.int8_linear, (ROWS, *PACKED, 32)),
    (ops.int8_conv2d, (X, *FILTERS, 32, [3, 3])),
]


@pytest.mark.parametrize("op, args", CALLS, ids=lambda value: str(value)[:24])
def test_fakes_agree_with_kernels(op, args):
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    if op is ops.fp8_linear:
        checks = checks[1:]  # the first one computes with the arguments, which torch cannot in fp8
    torch.library.opcheck(op, args, test_utils=checks)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 16, 3, padding=1), nn.GroupNorm(4, 16)
        self.out = nn.Linear(16, 8)

    def forward(self, x):
        x = F.silu(self.norm(self.conv(x)))
        x = x.flatten(2).transpose(1, 2)
        heads = x.unflatten(-1, (2, 8)).transpose(1, 2)
        x = x + F.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).flatten(2)
        return self.out(x)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_patched_module_compiles_into_one_graph(dynamic):
    net, x = Net().eval(), torch.randn(1, 4, 8, 8)
    wanted = net(x)
    omnirt_ops.patch(net)
    torch._dynamo.reset()
    compiled = torch.compile(net, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    assert torch.allclose(compiled(x), wanted, atol=1e-5)
    assert compiled(torch.randn(1, 4, 6, 10)).shape == (1, 60, 8)


def test_export_takes_them():
    net, x = Net().eval(), torch.randn(1, 4, 8, 8)
    wanted = net(x)
    omnirt_ops.patch(net)
    program = torch.export.export(net, (x,))
    assert "omnirt_ops.conv2d" in str(program.graph)
    assert torch.allclose(program.module()(x), wanted, atol=1e-5)


def test_patched_attention_of_diffusers_compiles_into_one_graph():
    attention_processor = pytest.importorskip("diffusers.models.attention_processor")
    layer, x = attention_processor.Attention(16, heads=2, dim_head=8).eval(), torch.randn(1, 9, 16)
    wanted, graphs = layer(x), []
    omnirt_ops.patch(layer)

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    got = torch.compile(layer, fullgraph=True, backend=keep)(x)
    assert torch.allclose(got, wanted, atol=1e-5)
    assert "omnirt_ops.attention" in str(graphs[0].graph)
