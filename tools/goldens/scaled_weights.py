#!/usr/bin/env python3
"""Small numbers with separate scales in safetensors files, and what they encode.

  tools/goldens/scaled_weights.py

Writes tests/goldens/scaled: CASE.safetensors, a file as programs write it, and CASE_numbers.safetensors, its matrices in
fp32 by the definitions of ComfyUI (QUANTIZATION.md; comfy-kitchen, backends/eager/quantization.py and awq.py) and of
diffusers (quantizers/bfl/utils.py), computed by torch; written.safetensors has matrices and what `omnirt convert` makes of them.
"""

import json

import common
import torch

FOLDER = common.GOLDENS / "scaled"
E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2


def bytes_of(text):
    return torch.tensor(list(text.encode()), dtype=torch.uint8)


def marker(**settings):
    return bytes_of(json.dumps(settings))


def tiles(scales):
    """Scales in the order of cuBLAS: tiles of 128 x 4, rows padded to 128 and columns to 4."""
    rows, columns = scales.shape
    tall, wide = -(-rows // 128), -(-columns // 4)
    padded = torch.zeros(tall * 128, wide * 4, dtype=torch.uint8)
    padded[:rows, :columns] = scales.view(torch.uint8)
    placed = padded.view(tall, 4, 32, wide, 4).permute(0, 3, 2, 1, 4)
    return placed.reshape(tall * 128, wide * 4).contiguous()


def hadamard(size):
    step = torch.tensor([[1, 1, 1, -1], [1, 1, -1, 1], [1, -1, 1, 1], [-1, 1, 1, 1]]).double()
    made = step
    while len(made) < size:
        made = torch.kron(made, step)
    return made / size**0.5


def fp8(rows, columns, dtype=E4M3):
    return (torch.randn(rows, columns) * 30).to(dtype)


def repeated(scales, rows, columns):
    return scales.repeat_interleave(rows, 0).repeat_interleave(columns, 1)


def old_scaled():
    a, b = fp8(6, 10), fp8(4, 6)
    tensors = {
        "model.diffusion_model.scaled_fp8": torch.zeros(2, dtype=E4M3),
        "model.diffusion_model.a.weight": a,
        "model.diffusion_model.a.bias": torch.randn(6, dtype=torch.float16),
        "model.diffusion_model.a.scale_weight": torch.tensor([0.017]),
        "model.diffusion_model.a.scale_input": torch.tensor([1.0]),
        "model.diffusion_model.b.weight": b,
        "model.diffusion_model.b.scale_weight": torch.tensor(0.3),
    }
    numbers = {"model.diffusion_model.a.weight": a.float() * torch.tensor(0.017)}
    numbers["model.diffusion_model.b.weight"] = b.float() * torch.tensor(0.3)
    return tensors, numbers, None


def comfy_fp8():
    a, b, scale = fp8(5, 8), fp8(5, 8, E5M2), torch.tensor(0.021)
    tensors = {
        "a.weight": a,
        "a.weight_scale": scale,
        "a.input_scale": torch.tensor(0.5),
        "a.comfy_quant": marker(format="float8_e4m3fn", full_precision_matrix_mult=True),
        "b.weight": b,
        "b.weight_scale": scale,
        "b.comfy_quant": marker(format="float8_e5m2"),
        "c.weight": torch.randn(3, 4),
    }
    return tensors, {"a.weight": a.float() * scale, "b.weight": b.float() * scale}, None


def comfy_metadata():
    """The layers' formats in the header, under names without the file's prefix."""
    a, scale = fp8(5, 8), torch.tensor(0.021)
    layers = {"blocks.0.a": {"format": "float8_e4m3fn"}}
    tensors = {
        "model.diffusion_model.blocks.0.a.weight": a,
        "model.diffusion_model.blocks.0.a.weight_scale": scale,
    }
    metadata = {"_quantization_metadata": json.dumps({"format_version": "1.0", "layers": layers})}
    return tensors, {"model.diffusion_model.blocks.0.a.weight": a.float() * scale}, metadata


def mxfp8():
    rows, columns = 136, 160
    a = fp8(rows, columns)
    exponents = torch.randint(100, 140, (rows, columns // 32), dtype=torch.uint8)
    exponents[0, 0] = 0
    scale = torch.where(exponents == 0, 0.0, torch.exp2(exponents.float() - 127))
    tensors = {
        "a.weight": a,
        "a.weight_scale": tiles(exponents).view(torch.float8_e8m0fnu),
        "a.comfy_quant": marker(format="mxfp8"),
    }
    return tensors, {"a.weight": a.float() * repeated(scale, 1, 32)}, None


def four_bits(rows, columns):
    codes = torch.randint(0, 16, (rows, columns), dtype=torch.uint8)
    scales = (torch.rand(rows, columns // 16) * 3 + 0.1).to(E4M3)
    second = torch.tensor(0.0123)
    numbers = E2M1[codes.long()] * repeated(second * scales.float(), 1, 16)
    return codes, scales, second, numbers


def nvfp4():
    codes, scales, second, numbers = four_bits(144, 96)
    tensors = {
        "a.weight": codes[:, 0::2] << 4 | codes[:, 1::2],
        "a.weight_scale": tiles(scales).view(E4M3),
        "a.weight_scale_2": second,
        "a.input_scale": torch.tensor(0.1),
        "a.comfy_quant": marker(format="nvfp4"),
    }
    return tensors, {"a.weight": numbers}, None


def nvfp4_of_diffusers():
    codes, scales, second, numbers = four_bits(10, 48)
    tensors = {
        "a.weight": codes[:, 0::2] | codes[:, 1::2] << 4,
        "a.weight_scale": scales,
        "a.weight_scale_2": second,
        "a.input_scale": torch.tensor(0.1),
    }
    return tensors, {"a.weight": numbers}, None


def fp8_by_row():
    a, scale = fp8(7, 12), torch.rand(7)
    return {"a.weight": a, "a.weight_scale": scale}, {"a.weight": a.float() * scale[:, None]}, None


def fp8_in_blocks():
    a, scale = fp8(200, 150), torch.rand(2, 2)
    numbers = a.float() * repeated(scale, 128, 128)[:200, :150]
    return {"a.weight": a, "a.weight_scale_inv": scale}, {"a.weight": numbers}, None


def int8():
    a, b = (torch.randint(-128, 128, (6, 512), dtype=torch.int8) for _ in range(2))
    scale, whole = torch.rand(6, 1) * 0.01, torch.tensor(0.004)
    rotated = a.double() * scale.double()
    numbers = (rotated.view(6, 2, 256) @ hadamard(256).T).reshape(6, 512).float()
    tensors = {
        "a.weight": a,
        "a.weight_scale": scale,
        "a.comfy_quant": marker(format="int8_tensorwise", convrot=True, convrot_groupsize=256),
        "b.weight": b,
        "b.weight_scale": whole,
        "b.comfy_quant": marker(format="int8_tensorwise"),
    }
    return tensors, {"a.weight": numbers, "b.weight": b.float() * whole}, None


def awq():
    rows, columns, group = 6, 256, 64
    codes = torch.randint(0, 16, (rows, columns), dtype=torch.uint8)
    scale = (torch.rand(columns // group, rows) * 0.1).bfloat16()
    zero = torch.randn(columns // group, rows).bfloat16()
    numbers = (codes.float() - 8) * repeated(scale.float().T, 1, group)
    numbers = numbers + repeated(zero.float().T, 1, group)
    tensors = {
        "a.weight": (codes[:, 0::2] | codes[:, 1::2] << 4).view(torch.int8),
        "a.weight_scale": scale,
        "a.weight_zero": zero,
        "a.comfy_quant": marker(format="awq_w4a16", group_size=group),
    }
    return tensors, {"a.weight": numbers}, None


def written():
    """Matrices and what convert makes of them; planted outliers, numbers below fp8's least, ties."""
    made = {}
    for name, columns in (("a", 512), ("b", 48), ("c", 20)):
        numbers = torch.randn(6, columns) * torch.rand(6, 1) * 0.1
        numbers[2, 3], numbers[4] = 12.5, 0
        numbers[1] *= 1e-5
        scale = numbers.abs().max() / 448
        group = next((size for size in (256, 64, 16) if columns % size == 0), 1)
        rotated = numbers.double().view(6, -1, group)
        if group > 1:
            rotated = rotated @ hadamard(group)
        rotated = rotated.reshape(6, columns)
        rows = rotated.abs().amax(1, keepdim=True) / 127
        rows[rows == 0] = 1
        made |= {
            f"{name}.weight": numbers,
            f"{name}.fp8": (numbers / scale).to(E4M3),
            f"{name}.fp8_scale": scale,
            f"{name}.int8_unrounded": (rotated / rows).float(),
            f"{name}.int8_scale": rows.float(),
        }
    return made


def main():
    torch.manual_seed(11)
    cases = [old_scaled, comfy_fp8, comfy_metadata, mxfp8, nvfp4, nvfp4_of_diffusers, fp8_by_row]
    for case in [*cases, fp8_in_blocks, int8, awq]:
        tensors, numbers, metadata = case()
        common.write_tensors(FOLDER / f"{case.__name__}.safetensors", tensors, metadata)
        common.write_tensors(FOLDER / f"{case.__name__}_numbers.safetensors", numbers)
    common.write_tensors(FOLDER / "written.safetensors", written())


main()
