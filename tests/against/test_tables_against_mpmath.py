"""The tables of the elementary functions, computed in integers, against mpmath."""

import mpmath
import numpy as np

from px4lockstep.math import tables


def assert_sum(high, low, exact, fraction_bits=None):
    """Check that low is the double nearest to exact - high, and high nearest to exact on its own grid."""
    assert low == float(exact - mpmath.mpf(high))
    if fraction_bits is None:
        assert high == float(exact)
    else:
        assert high == float(mpmath.nint(mpmath.ldexp(exact, fraction_bits))) / float(1 << fraction_bits)


def test_logarithms_of_the_reciprocals_are_exact_to_the_last_bit():
    """Each entry is the nearest double; reciprocals have ten bits and leave a remainder below 2**-7."""
    with mpmath.workprec(140):
        for reciprocal, high, low in zip(tables.LOG_RECIPROCAL, tables.LOG_HIGH, tables.LOG_LOW, strict=True):
            assert reciprocal * 512 == int(reciprocal * 512)
            assert_sum(high, low, -mpmath.log(mpmath.mpf(reciprocal)), tables.LOG_FRACTION_BITS)
        assert_sum(tables.LN2_HIGH, tables.LN2_LOW, mpmath.log(2), tables.LOG_FRACTION_BITS)
    bits = np.float64(0.6875).view(np.int64) + (np.arange(129, dtype=np.int64) << 45)
    edges = bits.view(np.float64)
    assert np.max(np.abs(edges[:-1] * tables.LOG_RECIPROCAL - 1.0)) <= 2.0**-7
    assert np.max(np.abs(edges[1:] * tables.LOG_RECIPROCAL - 1.0)) <= 2.0**-7


def test_roots_of_two_are_exact_to_the_last_bit():
    """2**(i / 128) as the nearest double plus the double nearest to the remainder."""
    with mpmath.workprec(140):
        for i, (high, low) in enumerate(zip(tables.EXP_HIGH, tables.EXP_LOW, strict=True)):
            assert_sum(high, low, mpmath.power(2, mpmath.mpf(i) / 128))
        assert_sum(tables.EXP_STEP_HIGH, tables.EXP_STEP_LOW, mpmath.log(2) / 128, 42)
        assert float(128 / mpmath.log(2)) == tables.EXP_STEPS_PER_UNIT


def test_arc_tangents_are_exact_to_the_last_bit():
    """atan(i / 32) as the nearest double plus the double nearest to the remainder."""
    with mpmath.workprec(140):
        for i, (high, low) in enumerate(zip(tables.ATAN_HIGH, tables.ATAN_LOW, strict=True)):
            assert_sum(high, low, mpmath.atan(mpmath.mpf(i) / 32))


def test_parts_of_pi_are_exact_to_the_last_bit():
    """Pi and pi / 2 as two doubles, and pi / 2 in three parts that leave an error below 2**-118."""
    with mpmath.workprec(200):
        assert_sum(tables.PI_HIGH, tables.PI_LOW, +mpmath.pi)
        assert_sum(tables.HALF_PI_HIGH, tables.HALF_PI_LOW, mpmath.pi / 2)
        assert float(2 / mpmath.pi) == tables.QUADRANTS_PER_RADIAN
        parts = [mpmath.mpf(part) for part in (tables.HALF_PI_1, tables.HALF_PI_2, tables.HALF_PI_3)]
        assert abs(sum(parts) - mpmath.pi / 2) < mpmath.ldexp(1, -118)
        assert parts[0] == mpmath.floor(mpmath.ldexp(parts[0], 32)) / mpmath.ldexp(1, 32)
        assert parts[1] == mpmath.floor(mpmath.ldexp(parts[1], 65)) / mpmath.ldexp(1, 65)


def test_digits_of_two_over_pi_are_correct():
    """Together they are 2 / pi, truncated after the last digit."""
    leading = tables.TWO_OVER_PI_LEADING_ZEROS
    digits = [int(digit) for digit in tables.TWO_OVER_PI]
    assert digits[:leading] == [0] * leading
    value = 0
    for digit in digits[leading:]:
        value = (value << tables.DIGIT_BITS) | digit
    bits = (len(digits) - leading) * tables.DIGIT_BITS
    assert bits >= 971 + 2 + 140
    with mpmath.workprec(bits + 100):
        assert value == int(mpmath.floor(mpmath.ldexp(2 / mpmath.pi, bits)))
