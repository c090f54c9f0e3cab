"""Computes the coefficients of the normal quantile with mpmath and writes them into `math/normal_table.py`.

    python tests/support/make_normal_table.py

The quantile x of p solves Phi(x) = p; Halley's iteration triples the figures that the standard library's gives.
"""

import base64
import re
import statistics
from pathlib import Path

import mpmath
import numpy as np

TABLE = Path(__file__).resolve().parents[2] / "src" / "px4lockstep" / "math" / "normal_table.py"
LINES = re.compile(r'(?<=_LINES = """\\\n).*?(?=""")', re.DOTALL)

PRECISION_BITS = 140
COEFFICIENTS = 8
SEGMENTS = 8
EXPONENTS = range(-53, -1)


def exact_quantile(p):
    """Return the standard normal quantile of p, a number of mpmath, to its working precision of at most 140 bits."""
    x = mpmath.mpf(statistics.NormalDist().inv_cdf(float(p)))
    for _ in range(2):
        step = (mpmath.ncdf(x) - p) / mpmath.npdf(x)
        x -= step / (1 + x * step / 2)
    return x


def segment(exponent, index):
    """Return middle and half width of a segment, exact."""
    half_width = mpmath.ldexp(1, exponent) / (2 * SEGMENTS)
    return mpmath.ldexp(1, exponent) + (2 * index + 1) * half_width, half_width


def make_lines():
    """Return the text of the table: one line of base 64 for each segment."""
    with mpmath.workprec(PRECISION_BITS):
        points = [mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * COEFFICIENTS)) for k in range(COEFFICIENTS)]
        interpolation = mpmath.matrix([[point**j for j in range(COEFFICIENTS)] for point in points]) ** -1
        lines = []
        for exponent in EXPONENTS:
            for index in range(SEGMENTS):
                middle, half_width = segment(exponent, index)
                values = mpmath.matrix([exact_quantile(middle + half_width * point) for point in points])
                row = np.array([float(c) for c in interpolation * values], dtype="<f8")
                lines.append(base64.b64encode(row.tobytes()).decode() + "\n")
    return "".join(lines)


if __name__ == "__main__":
    TABLE.write_text(LINES.sub(make_lines(), TABLE.read_text("utf-8"), count=1), "utf-8")
