#!/usr/bin/env python3
"""Blocks of 256 elements as ggml's reference quantises them, which Python's gguf only reads.

  tools/goldens/gguf_k_quants.py GGML

GGML: the sources of ggml (github ggml-org/ggml; stable-diffusion.cpp has them as its folder ggml). Its
src/ggml-quants.c is compiled here, without fused multiplication and addition, and quantize_row_q4_K_ref and
quantize_row_q5_K_ref are called on the numbers of tests/goldens/gguf/quantized_k.safetensors. Needs a C compiler, numpy
and safetensors.
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy
from safetensors.numpy import save_file

FILE = pathlib.Path(__file__).resolve().parents[2] / "build/goldens/gguf/quantized_k.safetensors"
TYPES = {"Q4_K": ("quantize_row_q4_K_ref", 144), "Q5_K": ("quantize_row_q5_K_ref", 176)}


def library(ggml, folder):
    made = pathlib.Path(folder) / "quants.so"
    flags = ["-O2", "-ffp-contract=off", "-shared", "-fPIC", "-w"]
    flags += ['-DGGML_COMMIT=""', '-DGGML_VERSION=""']
    sources = [ggml / "src" / "ggml-quants.c", ggml / "src" / "ggml.c"]
    include = [f"-I{ggml / 'include'}", f"-I{ggml / 'src'}"]
    subprocess.run(["cc", *flags, *include, *map(str, sources), "-o", str(made)], check=True)
    return ctypes.CDLL(str(made), mode=os.RTLD_LAZY)


def numbers():
    random = numpy.random.default_rng(11)
    rows = random.standard_normal((16, 512)).astype(numpy.float32)
    rows[1] *= 1e-4
    rows[2] *= 1e3
    rows[3] = 0
    rows[4] = random.integers(-8, 8, 512)  # ties
    rows[5] = 0.37
    rows[6, ::2] = 0
    rows[7] = abs(rows[7])
    rows[8] = -abs(rows[8])
    rows[9, :32] = 0
    rows[10] = random.uniform(-0.02, 0.02, 512)
    rows[11, 5] = 40
    rows[12, 64:96] = -0.25
    rows[13] *= 1e-8
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ggml", type=pathlib.Path)
    ggml = parser.parse_args().ggml
    made = {"numbers": numbers()}
    pointer = ctypes.POINTER(ctypes.c_float)
    with tempfile.TemporaryDirectory() as folder:
        loaded = library(ggml, folder)
        for name, (function, size) in TYPES.items():
            blocks = numpy.zeros(made["numbers"].size // 256 * size, dtype=numpy.uint8)
            call = getattr(loaded, function)
            call.argtypes = [pointer, ctypes.c_void_p, ctypes.c_int64]
            call.restype = None
            call(
                made["numbers"].ctypes.data_as(pointer), blocks.ctypes.data, made["numbers"].size
            )
            made[name] = blocks
    save_file(made, FILE)
    os.chmod(FILE, 0o644)


main()
