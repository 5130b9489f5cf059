"""The numbers of torch.randn on the CPU, computed as tests/expand/normal_stream.cpp computes them, operation by
operation: the same bits on every processor."""

import numpy

BLOCK = 16


def draws_of(seed, count):
    """The first `count` draws of the generator, each 32 bits."""
    engine = numpy.random.MT19937()
    engine._legacy_seeding(seed)
    return engine.random_raw(count).astype(numpy.uint32)


def draws_taken(count):
    """By torch.randn for a tensor of 16 values or more."""
    return count + (BLOCK if count % BLOCK else 0)


def log_of(values):
    m, exponent = numpy.frexp(values)
    small = m < 0.70710678118654752
    m = numpy.where(small, m + m, m)
    exponent = exponent - small
    s = (m - 1) / (m + 1)
    square = s * s
    total = numpy.zeros_like(s)
    for n in range(11, -1, -1):
        total = total * square + 1.0 / (2 * n + 1)
    return exponent * 0.6931471805599453094172 + 2 * s * total


def sine_cosine_of(angles):
    high, low = 1.57079632673412561417, 6.07710050650619224932e-11
    quadrant = numpy.floor(angles * (2 / numpy.pi) + 0.5)
    x = angles - quadrant * high - quadrant * low
    square = x * x
    sine, cosine = numpy.ones_like(x), numpy.ones_like(x)
    for n in range(8, -1, -1):
        sine = 1 - square * (1.0 / ((2 * n + 2) * (2 * n + 3))) * sine
        cosine = 1 - square * (1.0 / ((2 * n + 1) * (2 * n + 2))) * cosine
    sine = x * sine
    turns = quadrant.astype(numpy.int64) % 4
    return (
        numpy.choose(turns, [sine, cosine, -sine, -cosine]),
        numpy.choose(turns, [cosine, -sine, -cosine, sine]),
    )


def _blocks(draws):
    """[n, 16] draws as [n, 16] normal numbers."""
    uniform = (draws & 0xFFFFFF).astype(numpy.float32) * numpy.float32(2**-24)
    u1, u2 = numpy.float32(1) - uniform[:, :8], uniform[:, 8:]
    radius = numpy.sqrt(numpy.float32(-2) * log_of(u1.astype(numpy.float64)).astype(numpy.float32))
    angles = numpy.float32(2 * numpy.pi) * u2
    sine, cosine = sine_cosine_of(angles.astype(numpy.float64))
    return numpy.concatenate(
        [radius * cosine.astype(numpy.float32), radius * sine.astype(numpy.float32)], axis=1
    )


def values_at(draws, draw, count):
    """A tensor of 16 values or more, whose first value takes draw number `draw`."""
    whole, values = count // BLOCK * BLOCK, numpy.empty(count, numpy.float32)
    values[:whole] = _blocks(draws[draw : draw + whole].reshape(-1, BLOCK)).reshape(-1)
    if count % BLOCK:
        again = draws[draw + count : draw + count + BLOCK].reshape(1, BLOCK)
        values[-BLOCK:] = _blocks(again).reshape(-1)
    return values
