"""Replacements of modules: subclasses that a module is made an instance of, and was of before.

So weights, names, hooks and isinstance checks stay as they are, LoRA layers can be put around a
replaced module, and undoing it is one assignment. A call that the kernels do not take (another
dtype or device, gradients) goes to the original class.
"""

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from .ops import PRECISIONS

ops = torch.ops.omnirt_ops
# Attributes of a replaced module.
PRECISION = "_omnirt_precision"
FORMAT = "_omnirt_weight_was_channels_last"


class Left(Exception):
    """Why a module is left as it is; `dtype`: the one that is not taken, where this is why."""

    def __init__(self, reason, dtype=None):
        super().__init__(reason)
        self.dtype = str(dtype).removeprefix("torch.") if dtype else ""


def is_ready(x):
    """Whether the kernels take this input now."""
    return (
        x.dtype is torch.float32
        and x.device.type == "cpu"
        and x.numel() > 0
        and not torch.is_grad_enabled()
    )


def check_parameters(module):
    for name, value in module.named_parameters(recurse=False):
        if value.device.type != "cpu":
            raise Left(f"{name} is on {value.device}")
        if value.dtype is not torch.float32:
            raise Left(f"{name} is {str(value.dtype).removeprefix('torch.')}", value.dtype)
        if type(value) not in (nn.Parameter, torch.Tensor):
            raise Left(f"{name} is a {type(value).__name__}")


class Conv2d(nn.Conv2d):
    def forward(self, x):
        return self._omnirt_conv(x) if is_ready(x) and x.dim() == 4 else super().forward(x)

    def _omnirt_conv(
        self, x, norm=None, upsample_to=(), sample_bias=None, residual=None, norm_activation=0
    ):
        height, width = self.padding
        return ops.conv2d(
            x,
            self.weight,
            self.bias,
            self.stride[0],
            [width, width, height, height],
            list(upsample_to),
            norm.num_groups if norm is not None else 0,
            norm.weight if norm is not None else None,
            norm.bias if norm is not None else None,
            norm.eps if norm is not None else 1e-5,
            norm_activation,
            sample_bias,
            residual,
            0,
            self._omnirt_precision,
        )


def of_conv2d(module):
    if module.groups != 1:
        raise Left(f"groups = {module.groups}")
    if module.dilation != (1, 1):
        raise Left(f"dilation = {module.dilation}")
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        raise Left(f"padding = {module.padding!r}, {module.padding_mode}")
    if module.stride[0] != module.stride[1]:
        raise Left(f"stride = {module.stride}")
    return Conv2d


class Linear(nn.Linear):
    def forward(self, x):
        if not is_ready(x):
            return super().forward(x)
        return ops.linear(x, self.weight, self.bias, None, 0, False, self._omnirt_precision)


class GroupNorm(nn.GroupNorm):
    def forward(self, x):
        if not is_ready(x) or x.dim() not in (3, 4):
            return super().forward(x)
        return ops.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class Attention(TorchFunctionMode):
    """Inside it, torch's scaled_dot_product_attention is ours where that takes the arguments."""

    def __init__(self, precision):
        super().__init__()
        self.precision = precision

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function is F.scaled_dot_product_attention:
            made = self.attend(*args, **kwargs)
            if made is not None:
                return made
        return function(*args, **kwargs)

    def attend(
        self,
        query,
        key,
        value,
        attn_mask=None,
        dropout_p=0.0,
        is_causal=False,
        scale=None,
        enable_gqa=False,
    ):
        ready = is_ready(query) and query.dim() == 4 and is_ready(key) and is_ready(value)
        if not ready or dropout_p != 0.0 or (attn_mask is not None and is_causal):
            return None
        if value.shape != key.shape or (not enable_gqa and key.shape[1] != query.shape[1]):
            return None
        if attn_mask is not None:
            attn_mask = as_bias(attn_mask)
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        return ops.attention(query, key, value, attn_mask, scale, is_causal, self.precision)


def as_bias(mask):
    if mask.dtype is torch.bool:
        mask = torch.zeros_like(mask, dtype=torch.float32).masked_fill(~mask, float("-inf"))
    while mask.dim() < 4:
        mask = mask.unsqueeze(0)
    return mask


class AttentionForward:
    """Put before the class of a module that calls scaled_dot_product_attention."""

    def forward(self, *args, **kwargs):
        with Attention(self._omnirt_precision):
            return super().forward(*args, **kwargs)


def calls_attention(module):
    """Whether torch's scaled_dot_product_attention is what such a module computes by."""
    if hasattr(module, "processor"):  # of diffusers
        return True
    config = getattr(module, "config", None)  # of transformers
    chosen = getattr(config, "_attn_implementation", None)
    return chosen == "sdpa" and type(module).__name__.endswith("Attention")


def of_attention(module):
    cls = type(module)
    return type(cls.__name__, (AttentionForward, cls), {"__module__": cls.__module__})


def _of_diffusers(name, attribute):
    """A class of diffusers, where it is loaded; a pipeline of it brings it along."""
    return getattr(sys.modules.get(name), attribute, None)


def _resnet(base):
    class ResnetBlock2D(base):
        def forward(self, input_tensor, temb=None, *args, **kwargs):
            fused = is_ready(input_tensor) and (temb is None or is_ready(temb))
            if temb is not None and self.time_emb_proj is None:
                fused = fused and self.time_embedding_norm != "default"
            if not (fused and type(self.conv1) is type(self.conv2) is Conv2d) or args or kwargs:
                return super().forward(input_tensor, temb, *args, **kwargs)
            added = None
            if self.time_emb_proj is not None:
                added = temb if self.skip_time_act else self.nonlinearity(temb)
                added = self.time_emb_proj(added)
            x = self.conv1._omnirt_conv(
                input_tensor, norm=self.norm1, norm_activation=1, sample_bias=added
            )
            kept = input_tensor if self.conv_shortcut is None else self.conv_shortcut(input_tensor)
            return self.conv2._omnirt_conv(x, norm=self.norm2, norm_activation=1, residual=kept)

    return ResnetBlock2D


def of_resnet(module):
    # Without a time embedding (autoencoders), any other name means nothing.
    if module.time_embedding_norm != "default" and module.time_emb_proj is not None:
        raise Left(f"time_embedding_norm = {module.time_embedding_norm!r}")
    if type(module.nonlinearity) is not nn.SiLU:
        raise Left(f"its nonlinearity is {type(module.nonlinearity).__name__}")
    if module.upsample is not None or module.downsample is not None:
        raise Left("it changes the image's size")
    if module.output_scale_factor != 1 or (module.training and module.dropout.p > 0):
        raise Left("it scales its output, or drops some of it")
    need_replaced(module, "conv1", "conv2")
    for name in ("norm1", "norm2", "nonlinearity", "dropout"):
        need_no_hooks(module, name)
    return _resnet(type(module))


def _upsample(base):
    class Upsample2D(base):
        def forward(self, hidden_states, output_size=None, *args, **kwargs):
            if not is_ready(hidden_states) or type(self.conv) is not Conv2d or args or kwargs:
                return super().forward(hidden_states, output_size, *args, **kwargs)
            height, width = hidden_states.shape[-2:]
            size = (2 * height, 2 * width) if output_size is None else output_size
            return self.conv._omnirt_conv(hidden_states, upsample_to=size)

    return Upsample2D


def of_upsample(module):
    if module.use_conv_transpose or not module.use_conv or module.norm is not None:
        raise Left("it is not an interpolation and a convolution alone")
    if not module.interpolate or module.name != "conv":
        raise Left("it does not interpolate, or its convolution has another name")
    need_replaced(module, "conv")
    return _upsample(type(module))


def _geglu(base):
    class GEGLU(base):
        def forward(self, hidden_states, *args, **kwargs):
            if not is_ready(hidden_states) or type(self.proj) is not Linear or args or kwargs:
                return super().forward(hidden_states, *args, **kwargs)
            weight, bias = self.proj.weight, self.proj.bias
            return ops.linear(hidden_states, weight, bias, None, 0, True, self._omnirt_precision)

    return GEGLU


def of_geglu(module):
    need_replaced(module, "proj")
    return _geglu(type(module))


def _gguf_linear(base):
    class GGUFLinear(base):
        def forward(self, inputs):
            if not is_ready(inputs) or not hasattr(self.weight, "quant_type"):
                return super().forward(inputs)
            blocks = self.weight.as_tensor() if hasattr(self.weight, "as_tensor") else self.weight
            return ops.gguf_linear(inputs, blocks, int(self.weight.quant_type), self.bias)

    return GGUFLinear


def of_gguf_linear(module):
    if module.compute_dtype is not torch.float32:
        raise Left(f"compute_dtype is {module.compute_dtype}", module.compute_dtype)
    if module.bias is not None and module.bias.dtype is not torch.float32:
        raise Left(f"its bias is {module.bias.dtype}")
    return _gguf_linear(type(module))


def need_no_hooks(module, name):
    part = getattr(module, name)
    if part._forward_hooks or part._forward_pre_hooks or "forward" in part.__dict__:
        raise Left(f"its {name} has hooks")


def need_replaced(module, *names):
    for name in names:
        part = getattr(module, name)
        if type(part) not in (Conv2d, Linear):
            raise Left(f"its {name} is left as it is")
        need_no_hooks(module, name)


def replacements():
    """(original class, what makes its replacement, kernel), parts before what holds them."""
    yield nn.Conv2d, of_conv2d, "conv2d"
    yield nn.Linear, lambda module: Linear, "linear"
    yield nn.GroupNorm, lambda module: GroupNorm, "group_norm"
    later = (
        ("diffusers.models.resnet", "ResnetBlock2D", of_resnet, "norm, SiLU, conv2d, residual"),
        ("diffusers.models.upsampling", "Upsample2D", of_upsample, "upsampling conv2d"),
        ("diffusers.models.activations", "GEGLU", of_geglu, "geglu_linear"),
        ("diffusers.quantizers.gguf.utils", "GGUFLinear", of_gguf_linear, "gguf_linear"),
    )
    for name, attribute, make, kernel in later:
        if cls := _of_diffusers(name, attribute):
            yield cls, make, kernel


def swap(module, replacement, precision):
    module.__dict__[PRECISION] = PRECISIONS.index(precision)
    if isinstance(module, nn.Conv2d) and not module.weight.is_contiguous():
        module.__dict__[FORMAT] = True
        module.weight.data = module.weight.data.contiguous()
    # Code that looks for a class by its name finds it.
    replacement.__name__ = replacement.__qualname__ = type(module).__name__
    replacement._omnirt_original = type(module)
    module.__class__ = replacement


def is_swapped(module):
    return "_omnirt_original" in type(module).__dict__


def swap_back(module):
    module.__class__ = type(module)._omnirt_original
    module.__dict__.pop(PRECISION, None)
    if module.__dict__.pop(FORMAT, False):
        module.weight.data = module.weight.data.contiguous(memory_format=torch.channels_last)
