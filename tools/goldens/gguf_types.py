#!/usr/bin/env python3
"""GGUF's element types as Python's gguf reads and writes them (pip install gguf==0.19.0 numpy safetensors).

  tools/goldens/gguf_types.py [--grids]

Writes tests/goldens/gguf: types.gguf, a tensor for each type with random blocks (finite scales); types.safetensors,
their numbers as gguf.quants dequantises them (Q1_0, which it does not read, as ggml-quants.c does);
quantized.safetensors: numbers, and for each type that gguf writes its blocks as bytes; written.gguf, a file of those.
--grids prints the tables of src/io/ggml_grids.inc.
"""

import argparse
import os
import pathlib

import numpy
from gguf import GGUFWriter, quants
from gguf.constants import GGML_QUANT_SIZES
from gguf.constants import GGMLQuantizationType as Type
from safetensors.numpy import save_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build" / "goldens" / "gguf"
PLAIN = {
    Type.F32: numpy.float32,
    Type.F16: numpy.float16,
    Type.F64: numpy.float64,
    Type.I8: numpy.int8,
    Type.I16: numpy.int16,
    Type.I32: numpy.int32,
    Type.I64: numpy.int64,
}
# Where in a block the scales of 16 bits are.
SCALES = {
    Type.Q4_1: [0, 2],
    Type.Q5_1: [0, 2],
    Type.Q2_K: [80, 82],
    Type.Q3_K: [108],
    Type.Q4_K: [0, 2],
    Type.Q5_K: [0, 2],
    Type.Q6_K: [208],
    Type.TQ1_0: [52],
    Type.TQ2_0: [64],
    Type.IQ1_M: [],
    Type.MXFP4: [],
    Type.NVFP4: [],
    Type.BF16: [],
}
LEFT_OUT = {Type.Q8_1, Type.Q8_K}  # ggml's own, for products
WRITTEN = [Type.BF16, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q8_0]
ROWS, ROW = 3, 512


def finite_halves(count, random):
    """Scales as they occur, and some at the ends: subnormal, large, zero, negative."""
    usual = random.uniform(-0.1, 0.1, count)
    ends = numpy.resize([0.0, -0.0, 6e-8, -3e-6, 60000.0, -65504.0, 1.0, 6.1e-5], count)
    return numpy.where(random.random(count) < 0.8, usual, ends).astype(numpy.float16)


def random_blocks(kind, random):
    block, size = GGML_QUANT_SIZES[kind]
    count = ROWS * ROW // block
    blocks = random.integers(0, 256, (count, size), dtype=numpy.uint8)
    for at in SCALES.get(kind, [0]):
        blocks[:, at : at + 2] = finite_halves(count, random).view(numpy.uint8).reshape(count, 2)
    if kind == Type.MXFP4:
        blocks[:, 0] = random.integers(0, 250, count)
    if kind == Type.BF16:
        blocks = (
            random.standard_normal(count).astype(numpy.float32).view(numpy.uint32) >> 16
        ).astype(numpy.uint16)
        blocks = blocks.view(numpy.uint8).reshape(count, 2)
    if kind == Type.IQ1_M:
        halves = finite_halves(count, random).view(numpy.uint16)
        words = blocks[:, 48:56].copy().view(numpy.uint16)
        for i in range(4):
            words[:, i] = (words[:, i] & 0x0FFF) | ((halves >> (4 * i)) & 15) << 12
        blocks[:, 48:56] = words.view(numpy.uint8)
    return blocks.reshape(ROWS, -1)


def q1_0(data):
    blocks = data.reshape(-1, 18)
    scale = blocks[:, :2].copy().view(numpy.float16).astype(numpy.float32)
    bits = numpy.unpackbits(blocks[:, 2:], axis=-1, bitorder="little")
    return numpy.where(bits == 1, scale, -scale).reshape(ROWS, ROW)


def plain_numbers(kind, random):
    dtype = PLAIN[kind]
    if numpy.issubdtype(dtype, numpy.floating):
        return random.standard_normal((2, 3)).astype(dtype)
    ends = numpy.iinfo(dtype)
    return random.integers(ends.min, ends.max, (2, 3), dtype=dtype, endpoint=True)


def write_types(random):
    writer = GGUFWriter(FOLDER / "types.gguf", "flux")
    writer.add_quantization_version(2)
    writer.add_float32("a.float", 0.25)
    writer.add_bool("a.bool", True)
    writer.add_array("a.words", ["one", "zwei", "drei ü"])
    numbers = {}
    for kind in Type:
        if kind in LEFT_OUT:
            continue
        if kind in PLAIN:
            data = plain_numbers(kind, random)
            writer.add_tensor(kind.name, data)
            numbers[kind.name] = data
            continue
        data = random_blocks(kind, random)
        writer.add_tensor(kind.name, data, raw_dtype=kind)
        numbers[kind.name] = q1_0(data) if kind == Type.Q1_0 else quants.dequantize(data, kind)
        assert numpy.isfinite(numbers[kind.name]).all(), kind.name
    # A filter, in rows that blocks fit into.
    data = random_blocks(Type.Q8_0, random)
    writer.add_tensor("filter", data, raw_dtype=Type.Q8_0)
    writer.add_array("comfy.gguf.orig_shape.filter", [32, 16, 3, 1])
    numbers["filter"] = quants.dequantize(data, Type.Q8_0).reshape(32, 16, 3, 1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    save_file(numbers, FOLDER / "types.safetensors")


def write_quantized(random):
    numbers = random.standard_normal((8, 256)).astype(numpy.float32)
    numbers[1] *= 1e-4
    numbers[2] *= 1e3
    numbers[3] = 0
    numbers[4] = random.integers(-8, 8, 256)  # ties
    numbers[5] = 0.37
    numbers[6, ::2] = 0
    numbers[7] = abs(numbers[7])
    made = {"numbers": numbers}
    with numpy.errstate(divide="ignore"):
        for kind in WRITTEN:
            made[kind.name] = quants.quantize(numbers, kind).view(numpy.uint8)
    save_file(made, FOLDER / "quantized.safetensors")
    writer = GGUFWriter(FOLDER / "written.gguf", "sdxl")
    writer.add_string("a.text", "größer")
    writer.add_quantization_version(2)
    writer.add_array("comfy.gguf.orig_shape.filter.weight", [64, 8, 2, 2])
    writer.add_tensor("a.weight", made["Q8_0"], raw_dtype=Type.Q8_0)
    writer.add_tensor("a.bias", numbers[0, :5])
    writer.add_tensor("b.weight", made["Q4_0"], raw_dtype=Type.Q4_0)
    writer.add_tensor("filter.weight", made["Q5_1"], raw_dtype=Type.Q5_1)
    writer.add_tensor("half.weight", numbers.astype(numpy.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def print_grids():
    tables = {
        "grid_iq2_xxs": (Type.IQ2_XXS, [8, 25, 43], 2),
        "grid_iq2_xs": (Type.IQ2_XS, [8, 25, 43], 2),
        "grid_iq2_s": (Type.IQ2_S, [8, 25, 43], 2),
        "grid_iq3_xxs": (Type.IQ3_XXS, [4, 12, 20, 28, 36, 44, 52, 62], 3),
        "grid_iq3_s": (Type.IQ3_S, [1, 3, 5, 7, 9, 11, 13, 15], 3),
        "grid_iq1": (Type.IQ1_S, [-1, 0, 1], 2),
    }
    print("// Made by tools/goldens/gguf_types.py --grids from gguf 0.19 (gguf/quants.py).")
    print("// clang-format off")
    for name, (kind, levels, bits) in tables.items():
        reader = quants._type_traits[kind]
        reader.init_grid()
        points = reader.grid.reshape(reader.grid_shape)
        packed = [sum(levels.index(int(v)) << (bits * i) for i, v in enumerate(p)) for p in points]
        print(f"constexpr std::array<uint16_t, {len(packed)}> {name} = {{")
        line = ""
        for number in packed:
            if len(line) + 8 > 98:
                print(line.rstrip())
                line = ""
            line += f"0x{number:X}, "
        print(f"{line.rstrip()}\n}};\n")
    print("// clang-format on")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grids", action="store_true")
    if parser.parse_args().grids:
        return print_grids()
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(7)
    write_types(random)
    write_quantized(random)
    for path in FOLDER.iterdir():
        os.chmod(path, 0o644)
        assert path.stat().st_size < 1_000_000, path


main()
