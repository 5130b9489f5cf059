"""patch on pipelines of diffusers, and back."""

import copy
import math

import numpy
import pytest
import torch
from torch import nn

diffusers = pytest.importorskip("diffusers")
pytest.importorskip("transformers")

import tiny  # noqa: E402

import omnirt_ops  # noqa: E402


def psnr(got, wanted):
    return 10 * math.log10(1 / max(1e-20, float(numpy.square(got - wanted).mean())))


@pytest.fixture(scope="module")
def pipe():
    return tiny.pipeline()


@pytest.fixture(scope="module")
def reference(pipe):
    with torch.no_grad():
        return tiny.image(pipe)


def classes(pipe):
    parts = [part for part in pipe.components.values() if isinstance(part, nn.Module)]
    return [type(module) for part in parts for module in part.modules()]


def test_a_patched_pipeline_makes_the_same_image(pipe, reference):
    with omnirt_ops.patched(pipe) as report:
        got = tiny.image(pipe)
    assert psnr(got, reference) > 70
    kernels = {entry.what for entry in report.patched}
    assert kernels >= {
        "conv2d",
        "linear",
        "group_norm",
        "attention",
        "geglu_linear",
        "upsampling conv2d",
        "norm, SiLU, conv2d, residual",
    }
    assert "patched" in str(report)
    assert report.left == []


def test_unpatch_leaves_nothing_behind(pipe, reference):
    before = classes(pipe)
    omnirt_ops.patch(pipe)
    assert classes(pipe) != before
    assert omnirt_ops.unpatch(pipe) > 50
    assert classes(pipe) == before
    assert not any(name.startswith("_omnirt") for name in pipe.unet.conv_in.__dict__)
    assert omnirt_ops.unpatch(pipe) == 0
    assert numpy.array_equal(tiny.image(pipe), reference)


def test_a_pipeline_is_patched_once(pipe):
    with omnirt_ops.patched(pipe):
        with pytest.raises(ValueError, match="patched already"):
            omnirt_ops.patch(pipe)


def test_what_has_no_kernel_is_left_and_named():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.grouped = nn.Conv2d(8, 8, 3, groups=2)
            self.dilated = nn.Conv2d(8, 8, 3, dilation=2)
            self.circular = nn.Conv2d(8, 8, 3, padding=1, padding_mode="circular")
            self.half = nn.Linear(8, 8, dtype=torch.float16)
            self.three = nn.Conv3d(8, 8, 3)
            self.fine = nn.Linear(8, 8)

    report = omnirt_ops.patch(Net())
    assert [entry.path for entry in report.patched] == ["fine"]
    left = {entry.path: entry.what for entry in report.left}
    assert left["grouped"] == "groups = 2"
    assert left["dilated"] == "dilation = (2, 2)"
    assert "circular" in left["circular"]
    assert "float16" in left["half"]
    assert left["three"] == "no kernel for it"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_pipeline_of_another_dtype_is_refused_by_name_and_left_as_it_was(pipe, dtype):
    cast = diffusers.StableDiffusionPipeline(**copy.deepcopy(pipe.components), requires_safety_checker=False).to(dtype)
    before = classes(cast)
    with pytest.raises(ValueError, match=f"{str(dtype)[6:]} .*pipe.to"):
        omnirt_ops.patch(cast)
    assert classes(cast) == before
    omnirt_ops.patch(cast.to(torch.float32))


def test_one_network_of_another_dtype_beside_others_is_left_and_named(pipe):
    cast = diffusers.StableDiffusionPipeline(**copy.deepcopy(pipe.components), requires_safety_checker=False)
    cast.text_encoder.to(torch.bfloat16)
    report = omnirt_ops.patch(cast)
    left = {entry.path.split(".")[0] for entry in report.left if entry.dtype == "bfloat16"}
    assert left == {"text_encoder"} and any(entry.path.startswith("unet") for entry in report.patched)


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="neither a pipeline"):
        omnirt_ops.patch(3)
    with pytest.raises(ValueError, match="precision = 'best'"):
        omnirt_ops.patch(nn.Linear(2, 2), precision="best")


def test_calls_that_the_kernels_do_not_take_go_to_torch():
    layer = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 1))
    x = torch.randn(1, 4, 8, 8)
    wanted = layer(x)
    omnirt_ops.patch(layer)
    with torch.enable_grad():
        got = layer(x)
        got.sum().backward()
    assert layer[0].weight.grad is not None
    assert torch.equal(got, wanted)
    assert layer(x[:0]).shape == (0, 4, 8, 8)
    assert layer.double()(x.double()).dtype is torch.float64


def test_hooks_keep_their_modules(pipe):
    unet = copy.deepcopy(pipe.unet)
    seen = []
    block = unet.down_blocks[0].resnets[0]
    block.conv1.register_forward_hook(lambda *_: seen.append(1))
    report = omnirt_ops.patch(unet)
    assert "its conv1 has hooks" in {entry.what for entry in report.left}
    unet(torch.randn(1, 4, 8, 8), 3, torch.randn(1, 16, 32))
    assert seen


def test_channels_last_weights_come_back_as_they_were():
    layer = nn.Conv2d(8, 8, 3, padding=1).to(memory_format=torch.channels_last)
    x = torch.randn(1, 8, 6, 6)
    wanted = layer(x)
    with omnirt_ops.patched(layer):
        assert torch.allclose(layer(x), wanted, atol=1e-5)
    assert layer.weight.is_contiguous(memory_format=torch.channels_last)


def test_layers_put_around_a_patched_one_are_called():
    class Around(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base = base

        def forward(self, x):
            return 2 * self.base(x)

    unet = tiny.unet().eval()
    x, text = torch.randn(1, 4, 8, 8), torch.randn(1, 16, 32)
    block = unet.down_blocks[0].resnets[0]
    block.conv2 = Around(block.conv2)
    wanted = unet(x, 3, text).sample
    block.conv2 = block.conv2.base
    omnirt_ops.patch(unet)
    block.conv2 = Around(block.conv2)
    assert torch.allclose(unet(x, 3, text).sample, wanted, atol=1e-4)


def test_gguf_layers_of_diffusers():
    gguf = pytest.importorskip("gguf")
    utils = pytest.importorskip("diffusers.quantizers.gguf.utils")
    kind = gguf.GGMLQuantizationType.Q8_0
    blocks = gguf.quantize(numpy.random.default_rng(1).standard_normal((16, 64), "f"), kind)
    layer = utils.GGUFLinear(64, 16, bias=True, compute_dtype=torch.float32)
    layer.weight = utils.GGUFParameter(torch.from_numpy(blocks), quant_type=kind)
    x, weight = torch.randn(3, 64), torch.from_numpy(gguf.dequantize(blocks, kind))
    # Diffusers' own way goes through fp16.
    assert torch.allclose(layer(x), nn.functional.linear(x, weight, layer.bias), atol=2e-2)
    with omnirt_ops.patched(layer) as report:
        got = layer(x)
    assert [entry.what for entry in report.patched] == ["gguf_linear"]
    assert torch.allclose(got, nn.functional.linear(x, weight, layer.bias), atol=1e-4)


def flux():
    net = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
    )
    ids = torch.zeros(16, 3)
    ids[:, 1] = torch.arange(16)
    return net, {
        "hidden_states": torch.randn(1, 16, 16),
        "encoder_hidden_states": torch.randn(1, 6, 32),
        "pooled_projections": torch.randn(1, 32),
        "timestep": torch.tensor([0.5]),
        "img_ids": ids,
        "txt_ids": torch.zeros(6, 3),
    }


def sd3():
    net = diffusers.SD3Transformer2DModel(
        sample_size=8,
        patch_size=1,
        in_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=4,
        joint_attention_dim=32,
        caption_projection_dim=32,
        pooled_projection_dim=64,
        out_channels=4,
    )
    return net, {
        "hidden_states": torch.randn(2, 4, 8, 8),
        "encoder_hidden_states": torch.randn(2, 7, 32),
        "pooled_projections": torch.randn(2, 64),
        "timestep": torch.tensor([300.0, 300.0]),
    }


def pixart():
    net = diffusers.PixArtTransformer2DModel(
        sample_size=8,
        num_layers=1,
        patch_size=2,
        attention_head_dim=8,
        num_attention_heads=3,
        caption_channels=32,
        in_channels=4,
        cross_attention_dim=24,
        out_channels=8,
        use_additional_conditions=False,
    )
    mask = torch.ones(2, 9)
    mask[1, 4:] = 0
    return net, {
        "hidden_states": torch.randn(2, 4, 8, 8),
        "encoder_hidden_states": torch.randn(2, 9, 32),
        "encoder_attention_mask": mask,
        "timestep": torch.tensor([3.0, 3.0]),
        "added_cond_kwargs": {"resolution": None, "aspect_ratio": None},
    }


def sdxl():
    net = diffusers.UNet2DConditionModel(
        block_out_channels=(32, 64),
        layers_per_block=1,
        sample_size=16,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=(2, 4),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        transformer_layers_per_block=(1, 2),
        projection_class_embeddings_input_dim=80,
        cross_attention_dim=64,
    )
    return net, {
        "sample": torch.randn(2, 4, 9, 13),
        "encoder_hidden_states": torch.randn(2, 7, 64),
        "timestep": 5,
        "added_cond_kwargs": {"text_embeds": torch.randn(2, 32), "time_ids": torch.randn(2, 6)},
    }


def decoder():
    return tiny.vae().decoder, {"sample": torch.randn(1, 4, 9, 7)}


def first(output):
    return output if torch.is_tensor(output) else output[0]


@pytest.mark.parametrize("make", [flux, sd3, pixart, sdxl, decoder])
def test_networks_of_other_families_give_the_same_numbers(make):
    net, inputs = make()
    net.eval()
    for value in net.parameters():  # some classes begin with layers of zeros
        value.copy_(torch.randn(value.shape) / math.sqrt(max(1, value[0].numel())))
    wanted = first(net(**inputs))
    with omnirt_ops.patched(net) as report:
        got = first(net(**inputs))
    assert (got - wanted).abs().max() <= 2e-4 * wanted.abs().max()
    assert "attention" in {entry.what for entry in report.patched}


def test_text_encoders_give_the_same_numbers():
    net, ids = tiny.text_encoder().eval(), torch.randint(1, 90, (2, 16))
    wanted = net(ids).last_hidden_state
    with omnirt_ops.patched(net) as report:
        got = net(ids).last_hidden_state
    assert torch.allclose(got, wanted, atol=1e-4)
    assert {entry.kind for entry in report.patched} == {"CLIPAttention", "Linear"}


def test_attention_of_other_code_is_left_and_named():
    class OwnAttention(nn.Module):
        def forward(self, x):
            return x

    report = omnirt_ops.patch(nn.Sequential(OwnAttention()))
    assert report.left == [omnirt_ops.Entry("0", "OwnAttention", "no scaled_dot_product_attention in it")]
