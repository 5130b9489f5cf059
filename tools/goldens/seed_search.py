"""Finds which seed, and which of its draws, torch.randn made a tensor of.

The signs of a block of 16 normal numbers are those of the cosines and sines of eight draws. Scales and rounding keep
them, so the signs of a tensor's first 32 values say where in a seed's draws it may start.
"""

import collections

import numpy

import normal_stream

SIGNS = 32
FIRST_DRAWS = 20_000  # of every seed; the others are looked at where these have made some tensor


def values_of(data, kind):
    if kind == "BF16":
        return (numpy.frombuffer(data, numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
    kinds = {"F32": numpy.float32, "F16": numpy.float16}
    return numpy.frombuffer(data, kinds[kind]).astype(numpy.float32)


def is_searched(data, kind):
    """Whether its first two blocks of 16 values are as torch first drew them."""
    if kind not in ("F32", "F16", "BF16"):
        return False
    count = len(data) // (4 if kind == "F32" else 2)
    return count >= 3 * normal_stream.BLOCK or count == 2 * normal_stream.BLOCK


def _signature(values):
    return int(((values > 0).astype(numpy.uint64) << numpy.arange(SIGNS, dtype=numpy.uint64)).sum())


def _signatures(draws):
    """Of the numbers that a tensor starting at each draw would hold."""
    quadrant = (draws & 0xFFFFFF) >> 22
    cosines = ((quadrant == 0) | (quadrant == 3)).astype(numpy.uint32)
    sines = (quadrant < 2).astype(numpy.uint32)
    count = len(draws) - SIGNS
    made = numpy.zeros(count, numpy.uint32)
    for i in range(8):
        for block in (0, 16):
            made |= cosines[block + 8 + i :][:count] << numpy.uint32(block + i)
            made |= sines[block + 8 + i :][:count] << numpy.uint32(block + 8 + i)
    return made


def _fits(values, normals):
    scale = (values @ normals) / (normals @ normals)
    return abs(scale) > 1e-9 and abs(values - scale * normals).max() < 0.02 * abs(scale) + 0.01


class Search:
    """`tensors`: (data, kind, rank) each, as is_searched takes them."""

    def __init__(self, tensors):
        self.starts = collections.defaultdict(list)
        for index, (data, kind, rank) in enumerate(tensors):
            start = values_of(data[: SIGNS * (4 if kind == "F32" else 2)], kind)
            # Scales of norms are drawn around 1.
            for plus in (0, 1) if rank == 1 else (0,):
                if numpy.isfinite(start).all() and (start == plus).sum() < 5:
                    self.starts[_signature(start - plus)].append((index, plus, start - plus))
        self.signatures = numpy.array(sorted(self.starts), numpy.uint32)

    def _hits(self, seed, count):
        draws = normal_stream.draws_of(seed, count + 2 * SIGNS)
        made = _signatures(draws)
        places = numpy.searchsorted(self.signatures, made)
        places[places == len(self.signatures)] = 0
        for draw in numpy.nonzero(self.signatures[places] == made)[0]:
            normals = normal_stream.values_at(draws, int(draw), SIGNS)
            for index, plus, start in self.starts[int(made[draw])]:
                if _fits(start, normals):
                    yield index, (seed, int(draw), plus)

    def run(self, seeds, count):
        """{index: (seed, draw, plus)}; `count`: how many draws of a seed are looked at."""
        if not self.starts:
            return {}
        first = min(count, FIRST_DRAWS)
        hit = [seed for seed in seeds if next(self._hits(seed, first), None)]
        found = {}
        for seed in hit:
            for index, place in self._hits(seed, count):
                found.setdefault(index, place)
        return found
