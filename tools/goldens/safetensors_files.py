"""Files that the reference safetensors library wrote, and its verdict on files that are not quite right.

    build/goldens-venv/bin/python tools/goldens/safetensors_files.py [--out tests/goldens/safetensors]

Writes
  mixed.safetensors       every element type that torch and the format share, with one metadata entry
  empty.safetensors       no tensor at all
  misaligned.safetensors  a header of odd length, which is legal, so that the data are at odd addresses
  mixed.json              name -> {dtype, shape, hex of the bytes} of mixed.safetensors
  verdicts.json           [{name, hex of a whole file, accepted by the reference}]
"""

import argparse
import json
import pathlib
import struct

import numpy
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import common

DTYPES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "complex64": "C64", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL",
}


def tensor_of(dtype, shape, start):
    count = int(numpy.prod(shape))
    values = torch.arange(start, start + count, dtype=torch.float64)
    return (values % 2 if dtype == torch.bool else values).to(dtype).reshape(shape)


def raw(tensor):
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy()) if tensor.numel() else b""


def mixed_tensors():
    tensors = {f"layers.{i}.{name}": tensor_of(getattr(torch, name), (2, 3), i) for i, name in enumerate(DTYPES)}
    tensors["scalar"] = tensor_of(torch.float32, (), 7)
    tensors["nothing"] = torch.zeros((0, 4))
    tensors['odd "name"\\ \u00fc\u732b\n'] = tensor_of(torch.float32, (5,), -2)
    return tensors


def file_bytes(header, data=b""):
    text = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return json.dumps({"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)})


def candidates():
    """Name and bytes of files that are right in odd ways, or wrong."""
    eight = b"01234567"
    one = '{"a":%s}'
    two = '{"a":%s,"b":%s}'
    yield "plain", file_bytes(one % entry(), eight)
    yield "padded header", file_bytes(one % entry() + "   ", eight)
    yield "header of another white space", file_bytes(one % entry() + "\n\t\r", eight)
    yield "white space before the header", file_bytes(" " + one % entry(), eight)
    yield "no tensors", file_bytes("{}")
    yield "no tensors and data", file_bytes("{}", eight)
    yield "null metadata", file_bytes('{"__metadata__":null,"a":%s}' % entry(), eight)
    yield "metadata with a number", file_bytes('{"__metadata__":{"k":1},"a":%s}' % entry(), eight)
    yield "metadata that is a string", file_bytes('{"__metadata__":"k","a":%s}' % entry(), eight)
    yield "empty file", b""
    yield "seven bytes", b"1234567"
    yield "header longer than the file", struct.pack("<Q", 100) + b"{}"
    yield "header of nearly 2^64 bytes", struct.pack("<Q", 2**64 - 1) + b"{}"
    yield "header that is a list", file_bytes("[]")
    yield "header with text after it", file_bytes(one % entry() + "x", eight)
    yield "header that does not end", file_bytes('{"a":', eight)
    yield "header that is not UTF-8", file_bytes(b'{"\xff":' + entry().encode() + b"}", eight)
    yield "half a surrogate pair", file_bytes('{"\\ud83d":%s}' % entry(), eight)
    yield "a surrogate pair", file_bytes('{"\\ud83d\\ude00":%s}' % entry(), eight)
    yield "a zero character in a name", file_bytes('{"a\\u0000b":%s}' % entry(), eight)
    yield "empty name", file_bytes('{"":%s}' % entry(), eight)
    yield "unknown dtype", file_bytes(one % entry("F33"), eight)
    yield "dtype in lower case", file_bytes(one % entry("f32"), eight)
    yield "negative size", file_bytes(one % entry(shape=(-2,)), eight)
    yield "size with a fraction", file_bytes(one % entry(shape=(2.0,)), eight)
    yield "size with a leading zero", file_bytes('{"a":{"dtype":"F32","shape":[02],"data_offsets":[0,8]}}', eight)
    yield "size of 2^64", file_bytes(one % entry(shape=(2**64,)), eight)
    yield "product of 2^64", file_bytes(one % entry(shape=(2**32, 2**32)), eight)
    yield "product of 2^64 before a zero", file_bytes(one % entry(shape=(2**32, 2**32, 0), offsets=(0, 0)))
    yield "bits beyond 2^64", file_bytes(one % entry(shape=(2**61,)), eight)
    yield "empty tensor", file_bytes(one % entry(shape=(0, 3), offsets=(0, 0)))
    yield "scalar", file_bytes(one % entry(shape=(), offsets=(0, 4)), b"0123")
    yield "shape that needs more bytes", file_bytes(one % entry(shape=(3,)), eight)
    yield "shape that needs fewer bytes", file_bytes(one % entry(shape=(1,)), eight)
    yield "offsets reversed", file_bytes(one % entry(offsets=(8, 0)), eight)
    yield "offsets past the end", file_bytes(one % entry(offsets=(8, 16)), eight)
    yield "one offset", file_bytes(one % entry(offsets=(0,)), eight)
    yield "three offsets", file_bytes(one % entry(offsets=(0, 4, 8)), eight)
    yield "data cut short", file_bytes(one % entry(), eight[:7])
    yield "data too long", file_bytes(one % entry(), eight + b"8")
    yield "two in order", file_bytes(two % (entry(shape=(1,), offsets=(0, 4)), entry(shape=(1,), offsets=(4, 8))), eight)
    yield "two in reverse", file_bytes(two % (entry(shape=(1,), offsets=(4, 8)), entry(shape=(1,), offsets=(0, 4))), eight)
    yield "two at one place", file_bytes(two % (entry(), entry()), eight)
    yield "overlap", file_bytes(two % (entry("U8", (5,), (0, 5)), entry("U8", (4,), (4, 8))), eight)
    yield "gap", file_bytes(two % (entry("U8", (3,), (0, 3)), entry("U8", (4,), (4, 8))), eight)
    yield "gap before the first", file_bytes(one % entry("U8", (7,), (1, 8)), eight)
    yield "empty tensors between", file_bytes(two % (entry(), entry(shape=(0,), offsets=(8, 8))), eight)
    yield "empty tensor inside another", file_bytes(two % (entry(), entry(shape=(0,), offsets=(4, 4))), eight)
    yield "four-bit elements", file_bytes(one % entry("F4", (16,)), eight)
    yield "four-bit elements that end inside a byte", file_bytes(one % entry("F4", (15,)), eight)
    yield "six-bit elements", file_bytes(one % entry("F6_E2M3", (4,), (0, 3)), b"012")
    yield "missing dtype", file_bytes('{"a":{"shape":[2],"data_offsets":[0,8]}}', eight)
    yield "missing shape", file_bytes('{"a":{"dtype":"F32","data_offsets":[0,8]}}', eight)
    yield "missing offsets", file_bytes('{"a":{"dtype":"F32","shape":[2]}}', eight)
    yield "a key of an entry twice", file_bytes('{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}', eight)
    yield "a list in place of an entry", file_bytes('{"a":["F32",[2],[0,8]]}', eight)
    yield "nested shape", file_bytes('{"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}}', eight)


def verdict(path, content):
    path.write_bytes(content)
    try:
        with safe_open(str(path), framework="np"):
            return True
    except Exception:  # noqa: BLE001 - whatever the library raises is a refusal
        return False
    finally:
        path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=common.GOLDENS / "safetensors")
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)

    tensors = mixed_tensors()
    save_file(tensors, out / "mixed.safetensors", metadata={"format": "pt"})
    save_file({}, out / "empty.safetensors")
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, separators=(",", ":"))
    header += " " * (1 - len(header) % 2)
    (out / "misaligned.safetensors").write_bytes(file_bytes(header, struct.pack("<2f", 1.5, -2)))
    load_file(out / "misaligned.safetensors")
    for path in out.glob("*.safetensors"):
        common.check_file(path)

    names = {getattr(torch, name): code for name, code in DTYPES.items()}
    described = {name: {"dtype": names[t.dtype], "shape": list(t.shape), "bytes": raw(t).hex()} for name, t in tensors.items()}
    common.write_json(out / "mixed.json", described)
    scratch = out / "candidate.safetensors"
    verdicts = [{"name": n, "file": b.hex(), "accepted": verdict(scratch, b)} for n, b in candidates()]
    common.write_json(out / "verdicts.json", verdicts)


if __name__ == "__main__":
    main()
