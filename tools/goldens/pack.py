#!/usr/bin/env python3
"""Packs what the golden scripts wrote: build/goldens into tests/goldens (tests/goldens/README.md).

  scripts/setup goldens; build/goldens-venv/bin/python tools/goldens/SCRIPT.py ...
  build/goldens-venv/bin/python tools/goldens/pack.py            every file that differs from its packed form
  build/goldens-venv/bin/python tools/goldens/pack.py --check    lists them; exit status 1 where there are any
  build/goldens-venv/bin/python tools/goldens/pack.py --prune    also removes those that are gone from build/goldens

Tensors that torch.randn drew from a seed are found again by that (seed_search.py). Afterwards the packed files are
expanded by the build, whose tool refuses what is not bit for bit what was packed.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import sys

import numpy

import normal_stream
import packed_file
import seed_search

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKED, EXPANDED = ROOT / "tests" / "goldens", ROOT / "build" / "goldens"
LARGEST_FILE = 1_000_000  # bytes; what the repository accepts of one golden file
SEEDS = range(5000)
PACKED_KINDS = (".safetensors", ".gguf")
LARGE_JSON = 8_000  # bytes; smaller files stay readable
WORTH_COPYING = 128  # bytes of a tensor
# Of the differences' values; with more, a tensor is not what the rule says.
MOST_DIFFERENT = {"F32": 0.5, "F16": 0.02, "BF16": 0.02}


# ------------------------------------------------------------------------------------------- tensors
def tensors_of(data):
    """[(name, kind, shape, start, end)] by place, or [] where it is no whole safetensors file."""
    try:
        (size,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + size])
        header.pop("__metadata__", None)
        found = [
            (name, each["dtype"], each["shape"], *(8 + size + place for place in each["data_offsets"]))
            for name, each in header.items()
        ]
    except (struct.error, ValueError, KeyError, TypeError, AttributeError):
        return []
    found.sort(key=lambda each: each[3:])
    ends = [8 + size] + [end for *_, end in found]
    whole = ends[-1] == len(data) and all(ends[i] == each[3] for i, each in enumerate(found))
    return found if whole else []


def scale_rules(scale, shape):
    """(gain, fan) that a script may have written for it: gain / sqrt(fan)."""
    fans = {1}
    if len(shape) > 1:
        fans |= {int(numpy.prod(shape[1:])), shape[1], shape[-1], shape[0]}
    for fan in sorted(fans, reverse=True):
        gain = scale * fan**0.5
        rounded = float(f"{gain:.2g}")
        if abs(gain / rounded - 1) < 1e-3:
            yield rounded, fan
    yield float(f"{scale:.7g}"), 1


def predicted(normals, kind, gain, fan, plus):
    scaled = normals * numpy.float32(gain) / numpy.float32(fan**0.5)
    return packed_file.bits_of(plus + scaled if plus else scaled, kind)


def normal_rule(data, kind, shape, place, draws):
    """([seed, draw, gain, fan, plus], bits) for a tensor, or None."""
    seed, draw, plus = place
    values = seed_search.values_of(data, kind)
    normals = normal_stream.values_at(draws, draw, values.size)
    wide = normals.astype(numpy.float64)
    scale = float((values - plus).astype(numpy.float64) @ wide / (wide @ wide))
    actual = numpy.frombuffer(data, packed_file.INTEGERS[packed_file.WIDTHS[kind]])
    for gain, fan in scale_rules(scale, shape):
        bits = predicted(normals, kind, gain, fan, numpy.float32(plus))
        if (bits != actual).mean() < MOST_DIFFERENT[kind]:
            return [seed, draw, gain, fan, plus], bits
    return None


def is_picture(path, name, kind, shape, data):
    """Images are compared to 60 dB; 16 bits keep them to 107 dB."""
    if name != "image" or kind != "F32" or len(shape) < 3 or path.startswith("networks/"):
        return False
    values = numpy.frombuffer(data, numpy.float32)
    return values.size > 0 and bool(((values >= 0) & (values <= 1)).all())


# --------------------------------------------------------------------------------------------- files
class Packer:
    """`contents`: {path: bytes} of all expanded files."""

    def __init__(self, contents, wanted, seeds=SEEDS):
        self.contents, self.seeds = contents, seeds
        self.known = {}  # of a tensor's SHA-256: the first file that holds it, and where
        self.places = self.find_places([path for path in wanted if path.endswith(".safetensors")])
        self.draws = {}

    def find_places(self, paths):
        keys, tensors, longest = [], [], 0
        for path in paths:
            data = self.contents[path]
            longest = max(longest, len(data) // 2)
            for name, kind, shape, start, end in tensors_of(data):
                if seed_search.is_searched(data[start:end], kind):
                    keys.append((path, name))
                    tensors.append((data[start:end], kind, len(shape)))
        found = seed_search.Search(tensors).run(self.seeds, longest)
        return {keys[index]: place for index, place in found.items()}

    def draws_of(self, seed, count):
        if len(self.draws.get(seed, ())) < count:
            self.draws[seed] = normal_stream.draws_of(seed, count)
        return self.draws[seed]

    def note(self, path):
        """So that later files can copy its tensors."""
        for _, _, _, start, end in tensors_of(self.contents[path]):
            digest = hashlib.sha256(self.contents[path][start:end]).digest()
            self.known.setdefault(digest, (path, start))
        self.known.setdefault(hashlib.sha256(self.contents[path]).digest(), (path, 0))

    def add_tensor(self, writer, path, tensor):
        """The bytes that the file will have."""
        name, kind, shape, start, end = tensor
        data = self.contents[path][start:end]
        place = self.places.get((path, name))
        if place:
            count = len(data) // packed_file.WIDTHS[kind]
            draws = self.draws_of(place[0], place[1] + normal_stream.draws_taken(count))
            made = normal_rule(data, kind, shape, place, draws)
            if made:
                writer.add_normal(data, kind, *made)
                return data
        if is_picture(path, name, kind, shape, data):
            data = writer.add_unorm16(numpy.frombuffer(data, numpy.float32), shape[-1]).tobytes()
            return data
        source = self.known.get(hashlib.sha256(data).digest())
        if source and len(data) >= WORTH_COPYING:
            writer.add_copy(*source, len(data))
        elif data:
            writer.add_bytes(data, packed_file.WIDTHS.get(kind, 1))
        return data

    def pack(self, path):
        """(packed bytes, expanded bytes); the first is None where packing saves nothing."""
        data, writer = self.contents[path], packed_file.Writer()
        source = self.known.get(hashlib.sha256(data).digest())
        tensors = tensors_of(data) if path.endswith(".safetensors") else []
        if source and len(data) > 1000:
            writer.add_copy(*source, len(data))
            made = data
        elif tensors:
            writer.add_bytes(data[: tensors[0][3]])
            made = data[: tensors[0][3]]
            made += b"".join(self.add_tensor(writer, path, each) for each in tensors)
        else:
            writer.add_bytes(data)
            made = data
        packed = writer.packed(made)
        if len(packed) > 0.95 * len(data):
            return None, data
        return packed, made


def is_packed_kind(path, data):
    return path.endswith(PACKED_KINDS) or (path.endswith(".json") and len(data) > LARGE_JSON)


def names_below(folder, suffix=""):
    return sorted(
        str(path.relative_to(folder)).removesuffix(suffix)
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    )


def packed_path(name):
    return PACKED / (name + packed_file.SUFFIX)


def is_same(name, data):
    """Whether the packed form of a file makes `data`."""
    if (PACKED / name).exists():
        return (PACKED / name).read_bytes() == data
    if not packed_path(name).exists():
        return False
    return packed_file.header_of(packed_path(name))["sha256"] == hashlib.sha256(data).hexdigest()


def copies_from(name, changed):
    """Whether a packed file has parts of one that changed."""
    if not packed_path(name).exists():
        return False
    parts = packed_file.header_of(packed_path(name))["parts"]
    return any(part[0] == "copy" and part[1] in changed for part in parts)


def write(name, packed, data):
    """`packed`: None where the file stays as it is."""
    for path, content in ((PACKED / name, data), (packed_path(name), packed)):
        if (content is packed) != (packed is not None):
            path.unlink(missing_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if len(content) >= LARGEST_FILE:
            raise SystemExit(f"{path}: {len(content)} bytes; a golden stays below {LARGEST_FILE}")


def pack_all(contents, changed, seeds=SEEDS):
    """Packs the files `changed`; {name: bytes} of what they expand to."""
    packer = Packer(contents, changed, seeds)
    made = {}
    for name in sorted(contents):
        if name in changed:
            packed = None
            made[name] = contents[name]
            if is_packed_kind(name, contents[name]):
                packed, made[name] = packer.pack(name)
            # A later copy is of what the file expands to.
            contents[name] = made[name]
            write(name, packed, made[name])
        packer.note(name)
    return made


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="list what differs, and write nothing")
    parser.add_argument("--prune", action="store_true", help="remove what is gone from build/goldens")
    options = parser.parse_args()
    contents = {name: (EXPANDED / name).read_bytes() for name in names_below(EXPANDED)}
    packed_names = {name.removesuffix(packed_file.SUFFIX) for name in names_below(PACKED)}
    changed = {name for name, data in contents.items() if not is_same(name, data)}
    gone = packed_names - set(contents)
    for name in sorted(changed) + [f"{name} is gone" for name in sorted(gone)]:
        print(name)
    if options.check:
        sys.exit(1 if changed or gone else 0)
    if gone and not options.prune:
        raise SystemExit("nothing was packed: --prune removes these, expand_goldens writes them again")
    for name in gone:
        (PACKED / name).unlink(missing_ok=True)
        packed_path(name).unlink(missing_ok=True)
    changed |= {name for name in contents if name not in changed and copies_from(name, changed | gone)}
    pack_all(contents, changed)
    # Images have now the values that 16 bits keep: the build expands them anew.
    for name in changed:
        (EXPANDED / name).unlink()


if __name__ == "__main__":
    main()
