"""Exponential, logarithm and power from + - * / and integer operations, with bit-identical results everywhere.

Logarithm, with an error of about 2**-65 relative, as a sum of two doubles:

    x = 2**k z,  z in [0.6875, 1.375),  r = z c - 1,  c = the reciprocal of z in ten bits, from a table,  |r| < 2**-7
    ln x = k ln 2 - ln c + r - r**2 / 2 + (r**3 / 3 - r**4 / 4 + ... + r**9 / 9)

r is an exact sum of two doubles; the terms up to r**2 / 2 are computed as sums of two doubles, the rest in one.

Exponential of a sum of two doubles:

    x = n ln 2 / 128 + r,  |r| < 2**-8.5
    e**x = 2**(n / 128) e**r = 2**k T (1 + r + r**2 / 2! + ... + r**5 / 5!),  n = 128 k + i

T = 2**(i / 128) is from a table.

The errors of exp, log and pow(x, y) = exp(y ln x) are little more than half a unit in the last place (ulp).

References:
    P. T. P. Tang, Table-driven implementation of the exponential function in IEEE floating-point arithmetic, ACM TOMS
    15 (1989); Table-driven implementation of the logarithm function, ACM TOMS 16 (1990).
    T. J. Dekker, A floating-point technique for extending the available precision, Numerische Mathematik 18 (1971).
    Special values: ISO/IEC 9899:2011 (C11), annex F.10.
"""

import math

import numpy as np

from px4lockstep.jit import kernel
from px4lockstep.math import tables

_INF, _NAN = math.inf, math.nan

_BITS_OF_LOWEST_Z = 0x3FE6000000000000  # 0.6875
_BITS_OF_SMALLEST_NORMAL = 0x0010000000000000
_BITS_OF_INF = 0x7FF0000000000000
_UPPER_32_BITS = -(1 << 21)  # masks that keep the upper 32 or 26 of a double's 53 digits
_UPPER_26_BITS = -(1 << 27)

# Adding 3 * 2**51 rounds to an integer, which is then in the low bits.
_ROUNDER = 6755399441055744.0
_BITS_OF_ROUNDER = 0x4338000000000000

_TWO_TO_MINUS_200 = 1.0 / (1 << 200)

_EXP_LARGEST = 709.782712893384  # the largest double whose exponential is finite
_EXP_SMALLEST = -745.1332191019412  # the smallest whose exponential does not round to 0


@kernel
def upper_half(x):
    """Return x truncated to 26 digits: a product of two such numbers is exact."""
    return float(np.int64(int(np.float64(x).view(np.int64)) & _UPPER_26_BITS).view(np.float64))


@kernel
def _power_of_two(k):
    """Return 2**k for k from -1022 to 1023."""
    return float(np.int64((k + 1023) << 52).view(np.float64))


@kernel
def _exp_of_sum(high, low):
    """Return e**(high + low) for high between -746 and 710 and a far smaller low."""
    shifted = high * tables.EXP_STEPS_PER_UNIT + _ROUNDER
    n = int(np.float64(shifted).view(np.int64)) - _BITS_OF_ROUNDER
    steps = shifted - _ROUNDER
    r = (high - steps * tables.EXP_STEP_HIGH) + (low - steps * tables.EXP_STEP_LOW)
    r2 = r * r
    series = (r + r2 * (0.5 + r * (1.0 / 6.0))) + r2 * r2 * (1.0 / 24.0 + r * (1.0 / 120.0))
    i = n & 127
    k = n >> 7
    root = float(tables.EXP_HIGH[i])
    value = root + (float(tables.EXP_LOW[i]) + root * series)
    if -1022 < k < 1023:
        return value * _power_of_two(k)
    if k > 0:
        return value * _power_of_two(k - 1) * 2.0
    # The first product is exact; only the second one, which may be subnormal, rounds.
    return value * _power_of_two(k + 200) * _TWO_TO_MINUS_200


@kernel
def _log_of_bits(bits):
    """Return ln x as a sum of two doubles, for the bits of a positive x (with exponents below -1022 continued)."""
    from_lowest = bits - _BITS_OF_LOWEST_Z
    i = (from_lowest >> 45) & 127
    k = from_lowest >> 52
    z_bits = bits - (k << 52)
    z = float(np.int64(z_bits).view(np.float64))
    z_upper = float(np.int64(z_bits & _UPPER_32_BITS).view(np.float64))
    reciprocal = float(tables.LOG_RECIPROCAL[i])
    r_upper = z_upper * reciprocal - 1.0
    r_lower = (z - z_upper) * reciprocal
    r = r_upper + r_lower
    r_rest = (r_upper - r) + r_lower

    exponent = float(k)
    whole = exponent * tables.LN2_HIGH + float(tables.LOG_HIGH[i])
    sum_1 = whole + r
    rest_1 = (whole - sum_1) + r

    half = upper_half(r)
    square = -0.5 * half * half
    square_rest = -0.5 * (r - half) * (r + half)
    sum_2 = sum_1 + square
    rest_2 = (sum_1 - sum_2) + square

    r2 = r * r
    series_low = (1.0 / 3.0 - r * 0.25) + r2 * (0.2 - r * (1.0 / 6.0))
    series_high = (1.0 / 7.0 - r * 0.125) + r2 * (1.0 / 9.0)
    cubic = r * r2 * (series_low + r2 * r2 * series_high)
    constant_rest = exponent * tables.LN2_LOW + float(tables.LOG_LOW[i])
    rest = (rest_1 + rest_2) + (((constant_rest + (r_rest - r * r_rest)) + square_rest) + cubic)
    high = sum_2 + rest
    return high, (sum_2 - high) + rest


@kernel
def exp(x):
    """Return e**x, within 1 ulp."""
    x = float(x)
    if x > _EXP_LARGEST:
        return _INF
    if x < _EXP_SMALLEST:
        return 0.0
    if x != x:
        return x
    return _exp_of_sum(x, 0.0)


@kernel
def log(x):
    """Return the natural logarithm of x, within 1 ulp; -inf for 0, NaN for negative x."""
    x = float(x)
    bits = int(np.float64(x).view(np.int64))
    if bits < _BITS_OF_SMALLEST_NORMAL or bits >= _BITS_OF_INF:
        if x == 0.0:
            return -_INF
        if x < 0.0:
            return _NAN
        if bits >= _BITS_OF_INF:
            return x
        bits = int(np.float64(x * 4503599627370496.0).view(np.int64)) - (52 << 52)
    high, low = _log_of_bits(bits)
    return high + low


@kernel
def _pow_of_special(x, y):
    """Return x**y where x is zero, negative, infinite or NaN, or y is infinite or NaN (C11, F.10.4.4)."""
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return _NAN
    magnitude = abs(x)
    if abs(y) == _INF:
        if magnitude == 1.0:
            return 1.0
        return _INF if (magnitude > 1.0) == (y > 0.0) else 0.0
    # From 2**53 on all doubles are even.
    is_integer, is_odd = True, False
    if abs(y) < 9007199254740992.0:
        whole = math.floor(y)
        is_integer = whole == y
        is_odd = is_integer and (int(whole) & 1) == 1
    is_negative = int(np.float64(x).view(np.int64)) < 0
    sign = -1.0 if is_negative and is_odd else 1.0
    if magnitude == 0.0 or magnitude == _INF:
        return sign * 0.0 if (magnitude == 0.0) == (y > 0.0) else sign * _INF
    if is_negative and not is_integer:
        return _NAN
    return sign * _pow_of_positive(magnitude, y)


@kernel
def _pow_of_positive(x, y):
    """Return x**y for a positive finite x and a finite y."""
    size = abs(y)
    if size < 5e-20:  # below 2**-64: y ln x is less than half the spacing of doubles at 1
        return 1.0
    if size > 1e20:  # above 2**65: the result overflows or underflows unless x = 1
        if x == 1.0:
            return 1.0
        return _INF if (x > 1.0) == (y > 0.0) else 0.0
    bits = int(np.float64(x).view(np.int64))
    if bits < _BITS_OF_SMALLEST_NORMAL:
        bits = int(np.float64(x * 4503599627370496.0).view(np.int64)) - (52 << 52)
    log_high, log_low = _log_of_bits(bits)
    log_upper = upper_half(log_high)
    log_lower = (log_high - log_upper) + log_low
    y_upper = upper_half(y)
    high = y_upper * log_upper
    if high > 710.0:
        return _INF
    if high < -746.0:
        return 0.0
    return _exp_of_sum(high, (y - y_upper) * log_upper + y * log_lower)


@kernel
def pow(x, y):  # noqa: A001  the name in C, Python and NumPy
    """Return x to the power of y, within 1 ulp, with the special values of C: x**0 = 1, NaN for roots of negatives."""
    x, y = float(x), float(y)
    if 0.0 < x < _INF and -_INF < y < _INF:
        return _pow_of_positive(x, y)
    return _pow_of_special(x, y)
