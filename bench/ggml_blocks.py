#!/usr/bin/env python3
"""Blocks that omnirt writes, next to those of the ggml in stable-diffusion.cpp's Python wheel.

  bench/ggml_blocks.py build/release/omnirt

Makes matrices (normal, uniform, with outliers, of widely spread sizes, rows of zeros and of one
number), converts them by both programs, and says for each type whether the bytes are those of
ggml_quantize_chunk without an importance matrix, and how far both are from the numbers. Needs
torch, safetensors, gguf==0.19.0 and stable-diffusion-cpp-python==0.4.7.
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile

import gguf
import numpy
import safetensors.torch
import stable_diffusion_cpp
import torch

PREFIX = "model.diffusion_model.input_blocks.1.1.transformer_blocks.0."
TYPES = {"q4_k": "q4_K", "q5_k": "q5_K", "q4_0": "q4_0", "q4_1": "q4_1", "q5_0": "q5_0", "q5_1": "q5_1", "q8_0": "q8_0"}


def matrices():
    draw = torch.Generator().manual_seed(3)
    normal = torch.randn(320, 1280, generator=draw) / 36
    outliers = torch.randn(320, 1280, generator=draw) / 36
    outliers[:, 7] *= 100
    outliers[3], outliers[5] = 0, 0.25
    spread = torch.randn(640, 1280, generator=draw).exp() * torch.randn(640, 1280, generator=draw).sign() / 100
    uniform = torch.rand(320, 768, generator=draw)
    named = {"ff.net.2": normal, "attn1.to_q": outliers, "ff.net.0.proj": spread, "attn2.to_k": uniform}
    return {f"{PREFIX}{name}.weight": matrix for name, matrix in named.items()}


def quantize_chunk():
    folder = pathlib.Path(stable_diffusion_cpp.__file__).parent
    function = ctypes.CDLL(next(folder.rglob("libstable-diffusion.so"))).ggml_quantize_chunk
    function.restype = ctypes.c_size_t
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    function.argtypes = [ctypes.c_int, pointer, pointer, number, number, number, pointer]
    return function


def tensors(path):
    return {tensor.name.removeprefix("model.diffusion_model."): tensor for tensor in gguf.GGUFReader(path).tensors}


def error(tensor, numbers):
    widened = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(numbers.shape)
    return numpy.linalg.norm(widened - numbers) / numpy.linalg.norm(numbers)


def main():
    program, work = sys.argv[1], pathlib.Path(tempfile.mkdtemp())
    source, quantize = work / "in.safetensors", quantize_chunk()
    safetensors.torch.save_file(matrices(), source)
    for ours, theirs in TYPES.items():
        made, peer = work / f"{ours}.gguf", work / f"peer-{ours}.gguf"
        subprocess.run([program, "convert", source, made, "--quantize", ours], check=True, capture_output=True)
        stable_diffusion_cpp.StableDiffusion(verbose=False).convert(
            input_path=str(source), output_path=str(peer), output_type=theirs
        )
        others = tensors(peer)
        for name, tensor in tensors(made).items():
            numbers = matrices()["model.diffusion_model." + name].numpy()
            bytes_ = tensor.data.reshape(-1).view(numpy.uint8)
            plain = numpy.zeros_like(bytes_)
            quantize(int(tensor.tensor_type), numbers.ctypes.data, plain.ctypes.data, 0, *numbers.shape, None)
            same = "ggml's bytes" if (bytes_ == plain).all() else f"{(bytes_ != plain).mean():.2%} of the bytes differ"
            print(f"{ours} {name.split("blocks.0.")[-1]}: {same}; relative error {error(tensor, numbers):.5f}, "
                  f"stable-diffusion.cpp's {error(others[name], numbers):.5f}")


if __name__ == "__main__":
    main()
