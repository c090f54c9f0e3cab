"""The normal quantile and its table of coefficients against mpmath."""

import importlib.util
from pathlib import Path

import mpmath
import numpy as np
import pytest
from make_normal_table import EXPONENTS, PRECISION_BITS, SEGMENTS, TABLE, exact_quantile, make_table, segment

from px4lockstep.math import philox

TOLERANCE = 1e-13


def largest_error(probabilities):
    """Return the largest difference between our quantile and mpmath's, for doubles."""
    with mpmath.workprec(PRECISION_BITS):
        return max(abs(float(philox.normal_quantile(p) - exact_quantile(mpmath.mpf(p)))) for p in probabilities)


def test_mpmath_finds_the_quantile():
    """Phi of the quantile is p, to 130 of 140 bits, from the far tail to the median."""
    with mpmath.workprec(PRECISION_BITS):
        for p in (mpmath.ldexp(1, -53), mpmath.ldexp(1, -33), mpmath.mpf("0.01"), mpmath.mpf("0.3"), mpmath.mpf("0.5")):
            assert abs(mpmath.ncdf(exact_quantile(p)) / p - 1) < mpmath.ldexp(1, -130)


def test_the_table_agrees_with_its_script():
    """The file and the table in memory are bit-identical."""
    table = make_table()
    assert TABLE.read_bytes() == table
    assert philox.ROWS.tobytes() == table


def test_a_table_with_other_numbers_is_refused(tmp_path):
    """Compiled kernels contain the table; the digest in the source lets the cache detect an edit of the file."""
    source = Path(philox.__file__).read_text("utf-8")
    (tmp_path / "philox.py").write_text(source, "utf-8")
    (tmp_path / "normal_table.f8").write_bytes(bytes([TABLE.read_bytes()[0] ^ 1]) + TABLE.read_bytes()[1:])
    spec = importlib.util.spec_from_file_location("other_philox", tmp_path / "philox.py")
    with pytest.raises(ImportError, match="damaged or from another version"):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def test_each_octave_has_its_place_in_the_table():
    """The first coefficient is the quantile at the centre of the segment, within 1e-13; 0 in the row of 1/2."""
    rows = philox.ROWS.reshape(-1, SEGMENTS, philox.COEFFICIENTS)
    with mpmath.workprec(PRECISION_BITS):
        for exponent in EXPONENTS:
            for index in range(SEGMENTS):
                middle, _ = segment(exponent, index)
                row = rows[(exponent + 1023) % len(rows), index]
                assert abs(row[0] - exact_quantile(middle)) < TOLERANCE
    assert not np.any(rows[(-1 + 1023) % len(rows)])


def test_the_quantile_is_accurate_in_every_segment():
    """At both ends of each, where the error is largest, and at six points between; measured below 6e-14."""
    probabilities = []
    for exponent in EXPONENTS:
        for index in range(SEGMENTS):
            first = 2.0**exponent * (1.0 + index / SEGMENTS)
            end = 2.0**exponent * (1.0 + (index + 1) / SEGMENTS)
            probabilities += [first, float(np.nextafter(end, 0.0)), *np.linspace(first, end, 8)[1:-1].tolist()]
    assert largest_error(probabilities) < TOLERANCE


def test_the_quantile_is_accurate_above_one_half():
    """Including the largest uniforms of 32 and 52 bits."""
    upper = [1.0 - 2.0**-k for k in range(2, 54)]
    assert largest_error([*upper, *np.linspace(0.5, 1.0 - 2.0**-10, 500).tolist()]) < TOLERANCE


def test_the_quantile_is_accurate_next_to_the_median():
    """It vanishes there like (p - 1/2) sqrt(2 pi): the error is below 4e-16, a few roundings of numbers below 1/16."""
    steps = [2.0**-k for k in range(6, 54)]
    assert largest_error([0.5, *(0.5 - step for step in steps), *(0.5 + step for step in steps[:-1])]) < 4e-16


def test_the_normal_deviates_of_the_tails_are_accurate():
    """The 500 words next to either end give deviates beyond 5 standard deviations."""
    with mpmath.workprec(PRECISION_BITS):
        for word in [*range(500), *range((1 << 32) - 500, 1 << 32)]:
            p = (word + mpmath.mpf(0.5)) / (1 << 32)
            x = philox.normal_of_word(np.uint64(word))
            assert abs(x) > 5.0
            assert abs(x - exact_quantile(p)) < TOLERANCE
