#!/usr/bin/env python3
"""A tiny Stable Diffusion as one GGUF file, written by Python's gguf (pip install gguf==0.19.0 numpy safetensors).

  tools/goldens/gguf_models.py OMNIRT

OMNIRT is the program, which makes tests/goldens/pipelines/sd15/model into one file with the original's names. Its
matrices whose rows fit are stored in the types that gguf writes, each in its turn, as stable-diffusion.cpp's converter
leaves them: the rest as it was. Writes tests/goldens/gguf/sd15.gguf.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy
from gguf import GGUFWriter, quants
from gguf.constants import GGMLQuantizationType as Type
from safetensors import safe_open

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = [Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.BF16]


def main():
    model = ROOT / "build" / "goldens" / "pipelines" / "sd15" / "model"
    made = ROOT / "build" / "goldens" / "gguf" / "sd15.gguf"
    writer = GGUFWriter(made, "sd1")
    with tempfile.TemporaryDirectory() as folder:
        one = pathlib.Path(folder) / "one.safetensors"
        subprocess.run([sys.argv[1], "convert", model, one], check=True)
        with safe_open(one, "np") as file:
            writer.add_string("omnirt.configs", file.metadata()["omnirt.configs"])
            turn = 0
            for name in sorted(file.keys()):
                tensor = file.get_tensor(name)
                if tensor.ndim == 2 and tensor.shape[1] % 32 == 0:
                    kind = TYPES[turn % len(TYPES)]
                    turn += 1
                    with numpy.errstate(divide="ignore"):
                        data = quants.quantize(tensor.astype(numpy.float32), kind)
                    writer.add_tensor(name, data.view(numpy.uint8), raw_dtype=kind)
                else:
                    writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    os.chmod(made, 0o644)
    assert made.stat().st_size < 1_000_000, made


main()
