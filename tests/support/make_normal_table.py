"""Compute the coefficients of the normal quantile with mpmath; write `normal_table.f8`, and its digest in `philox.py`.

    python tests/support/make_normal_table.py

The quantile x of p solves Phi(x) = p; Halley's iteration triples the digits of the standard library's result.
"""

import hashlib
import re
import statistics
from pathlib import Path

import mpmath
import numpy as np

SOURCE = Path(__file__).resolve().parents[2] / "src" / "px4lockstep" / "math" / "philox.py"
TABLE = SOURCE.with_name("normal_table.f8")

PRECISION_BITS = 140
COEFFICIENTS = 8
SEGMENTS = 8
OCTAVES = 64
EXPONENTS = range(-53, -1)


def exact_quantile(p):
    """Return the standard normal quantile of p, an mpmath number, to its working precision of at most 140 bits."""
    x = mpmath.mpf(statistics.NormalDist().inv_cdf(float(p)))
    for _ in range(2):
        step = (mpmath.ncdf(x) - p) / mpmath.npdf(x)
        x -= step / (1 + x * step / 2)
    return x


def segment(exponent, index):
    """Return the exact middle and half width of a segment."""
    half_width = mpmath.ldexp(1, exponent) / (2 * SEGMENTS)
    return mpmath.ldexp(1, exponent) + (2 * index + 1) * half_width, half_width


def make_table():
    """Return the bytes of the table: each octave at the index of its exponent's last six bits, zeros elsewhere."""
    table = np.zeros((OCTAVES, SEGMENTS, COEFFICIENTS), dtype="<f8")
    with mpmath.workprec(PRECISION_BITS):
        points = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * COEFFICIENTS)) for k in range(COEFFICIENTS)]
        interpolation = mpmath.matrix([[point**j for j in range(COEFFICIENTS)] for point in points]) ** -1
        for exponent in EXPONENTS:
            for index in range(SEGMENTS):
                middle, half_width = segment(exponent, index)
                values = mpmath.matrix([exact_quantile(middle + half_width * point) for point in points])
                table[(exponent + 1023) % OCTAVES, index] = [float(c) for c in interpolation * values]
    return table.tobytes()


if __name__ == "__main__":
    TABLE.write_bytes(make_table())
    digest = hashlib.sha256(TABLE.read_bytes()).hexdigest()
    SOURCE.write_text(re.sub('(?<=ROWS_SHA256 = ").*(?=")', digest, SOURCE.read_text("utf-8")), "utf-8")
