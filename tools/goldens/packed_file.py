"""Writes and lists packed goldens; tests/expand/packed_file.hpp describes the form and reads it."""

import hashlib
import json
import struct
import zlib

import numpy

SUFFIX = ".packed"
MAGIC = b"OMNIGLD1"
# Bytes of a value, and how the differences of its bits are taken.
WIDTHS = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
INTEGERS = {2: numpy.int16, 4: numpy.int32}


def grouped(data, width):
    """All first bytes of values of `width` bytes, then all second ones, and so on."""
    return numpy.frombuffer(data, numpy.uint8).reshape(-1, width).T.tobytes()


def folded(differences):
    """0, -1, 1, -2, 2, ... as 0, 1, 2, 3, 4, ..."""
    bits = differences.dtype.itemsize * 8
    return ((differences << 1) ^ (differences >> (bits - 1))).tobytes()


def bits_of(values, kind):
    """Of float32 values narrowed to a type, as signed integers."""
    if kind == "F16":
        with numpy.errstate(over="ignore"):
            return values.astype(numpy.float16).view(numpy.int16)
    if kind == "BF16":
        bits = values.view(numpy.uint32)
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16).view(numpy.int16)
    return values.view(numpy.int32)


class Writer:
    """Collects the parts of a file."""

    def __init__(self):
        self.parts, self.payload = [], []

    def add_bytes(self, data, width=1):
        if len(data) % width:
            width = 1
        self.parts.append(["bytes", len(data), width])
        self.payload.append(grouped(data, width))

    def add_normal(self, data, kind, rule, predicted):
        """`rule`: [seed, draw, gain, fan, plus], which gives `predicted`."""
        width = WIDTHS[kind]
        integers = INTEGERS[width]
        with numpy.errstate(over="ignore"):
            differences = numpy.frombuffer(data, integers) - predicted
        self.parts.append(["normal", len(differences), kind, *rule])
        self.payload.append(grouped(folded(differences), width))

    def add_unorm16(self, values, row):
        """Returns the values that it stands for."""
        levels = numpy.rint(values.astype(numpy.float64) * 65535).astype(numpy.uint16)
        # A part's rows follow each other without regard to channels; the first row has no row above.
        table = levels.reshape(-1, row)
        guess = numpy.zeros_like(table)
        guess[:, 1:] += table[:, :-1]
        guess[1:] += table[:-1]
        guess[1:, 1:] -= table[:-1, :-1]
        differences = (table - guess).view(numpy.int16)
        self.parts.append(["unorm16", values.size, row])
        self.payload.append(grouped(folded(differences), 2))
        return levels.astype(numpy.float32) / numpy.float32(65535)

    def add_copy(self, path, offset, count):
        self.parts.append(["copy", path, offset, count])

    def packed(self, expanded):
        """`expanded`: the file's bytes, that the parts make."""
        header = {"sha256": hashlib.sha256(expanded).hexdigest(), "parts": self.parts}
        text = json.dumps(header, separators=(",", ":")).encode()
        inner = struct.pack("<I", len(text)) + text + b"".join(self.payload)
        return MAGIC + struct.pack("<Q", len(inner)) + zlib.compress(inner, 9)


def header_of(path):
    """{sha256, parts} of a packed file."""
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        raise SystemExit(f"{path}: not a packed file")
    inner = zlib.decompress(data[len(MAGIC) + 8 :])
    (size,) = struct.unpack("<I", inner[:4])
    return json.loads(inner[4 : 4 + size])
