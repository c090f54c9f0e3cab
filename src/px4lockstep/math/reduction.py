"""Reduction of angles to a quadrant and a remainder: the first step of sine and cosine.

    x = n pi / 2 + r,   |r| slightly above pi / 4 at most,   r = high + low

Up to 2**19 quadrants (Cody and Waite): pi / 2 = P1 + P2 + P3, where n P1, n P2 and x - n P1 are exact, and the error is
about 2**-98. That is too much where x is very close to a multiple of pi / 2.

There, and for all larger x (Payne and Hanek): x = m 2**e with a 53-bit m. Digits of 2 / pi that contribute whole turns,
or less than 2**-140 of a quadrant, can be ignored. Eight digits of 28 bits remain, and are multiplied by m in integers.
No double is closer to a multiple of pi / 2 than 2**-62 of a quadrant, so 75 significant bits are left.

References:
    W. J. Cody, W. Waite, Software Manual for the Elementary Functions, Prentice-Hall (1980).
    M. H. Payne, R. N. Hanek, Radian reduction for trigonometric functions, SIGNUM Newsletter 18 (1983).
"""

import numpy as np

from px4lockstep.jit import kernel
from px4lockstep.math import tables
from px4lockstep.math.exponential import upper_half
from px4lockstep.math.tables import DIGIT_BITS, TWO_OVER_PI

_QUARTER_PI = 0.7853981633974483
_CODY_WAITE_LARGEST = 823549.0  # 2**19 pi / 2
_CODY_WAITE_CLOSEST = 1.0 / (1 << 20)
_ROUNDER = 6755399441055744.0  # 3 * 2**51, as in `exponential`
_BITS_OF_ROUNDER = 0x4338000000000000
_DIGIT_MASK, _MANTISSA_MASK = (1 << DIGIT_BITS) - 1, (1 << 52) - 1
_UNIT_54, _UNIT_82, _UNIT_110, _UNIT_138 = 1.0 / (1 << 54), 1.0 / (1 << 82), 1.0 / (1 << 110), 1.0 / (1 << 138)


@kernel
def _reduce_by_integers(x):
    """Return (n mod 4, high, low) for a positive finite x from 0.5 up."""
    bits = int(np.float64(x).view(np.int64))
    mantissa = (bits & _MANTISSA_MASK) | (1 << 52)
    exponent = (bits >> 52) - 1075
    # Digit j of 2 / pi has the weight 2**(-28 (j + 1)); those before `first` give multiples of four quadrants.
    first = (exponent - 2) // DIGIT_BITS
    # The shift moves the product's binary point two bits below the top of eight digits.
    shift = exponent - 2 - DIGIT_BITS * first
    m_0 = (mantissa << shift) & _DIGIT_MASK
    m_1 = (mantissa >> (DIGIT_BITS - shift)) & _DIGIT_MASK
    m_2 = mantissa >> (2 * DIGIT_BITS - shift)
    start = first + tables.TWO_OVER_PI_LEADING_ZEROS
    d_7, d_6, d_5 = int(TWO_OVER_PI[start]), int(TWO_OVER_PI[start + 1]), int(TWO_OVER_PI[start + 2])
    d_4, d_3, d_2 = int(TWO_OVER_PI[start + 3]), int(TWO_OVER_PI[start + 4]), int(TWO_OVER_PI[start + 5])
    d_1, d_0 = int(TWO_OVER_PI[start + 6]), int(TWO_OVER_PI[start + 7])

    # Long multiplication modulo eight digits. The sums stay below 2**58.
    column_0 = m_0 * d_0
    column_1 = (column_0 >> DIGIT_BITS) + m_0 * d_1 + m_1 * d_0
    column_2 = (column_1 >> DIGIT_BITS) + m_0 * d_2 + m_1 * d_1 + m_2 * d_0
    column_3 = (column_2 >> DIGIT_BITS) + m_0 * d_3 + m_1 * d_2 + m_2 * d_1
    column_4 = (column_3 >> DIGIT_BITS) + m_0 * d_4 + m_1 * d_3 + m_2 * d_2
    column_5 = (column_4 >> DIGIT_BITS) + m_0 * d_5 + m_1 * d_4 + m_2 * d_3
    column_6 = (column_5 >> DIGIT_BITS) + m_0 * d_6 + m_1 * d_5 + m_2 * d_4
    column_7 = (column_6 >> DIGIT_BITS) + m_0 * d_7 + m_1 * d_6 + m_2 * d_5
    f_3, f_4, f_5 = column_3 & _DIGIT_MASK, column_4 & _DIGIT_MASK, column_5 & _DIGIT_MASK
    f_6, f_7 = column_6 & _DIGIT_MASK, column_7 & _DIGIT_MASK

    quadrant = f_7 >> (DIGIT_BITS - 2)
    f_7 = f_7 & (_DIGIT_MASK >> 2)
    sign = 1.0
    if f_7 >> (DIGIT_BITS - 3) == 1:
        # More than half a quadrant: use one minus the fraction, from the next quadrant.
        quadrant = (quadrant + 1) & 3
        sign = -1.0
        f_3, f_4, f_5 = f_3 ^ _DIGIT_MASK, f_4 ^ _DIGIT_MASK, f_5 ^ _DIGIT_MASK
        f_6, f_7 = f_6 ^ _DIGIT_MASK, f_7 ^ (_DIGIT_MASK >> 2)

    # The two leading digits have 53 bits together. Each sum is exact together with its remainder.
    sum_6 = float((f_7 << DIGIT_BITS) + f_6) * _UNIT_54
    term_5 = float(f_5) * _UNIT_82
    term_4 = float(f_4) * _UNIT_110
    term_3 = float(f_3) * _UNIT_138
    sum_5 = sum_6 + term_5
    sum_4 = sum_5 + term_4
    sum_3 = sum_4 + term_3
    rest = ((sum_6 - sum_5) + term_5) + (((sum_5 - sum_4) + term_4) + ((sum_4 - sum_3) + term_3))
    fraction = sum_3 + rest
    fraction_rest = (sum_3 - fraction) + rest

    # Multiply by pi / 2, with Dekker's product for the leading parts.
    product = fraction * tables.HALF_PI_HIGH
    upper = upper_half(fraction)
    lower = fraction - upper
    pi_upper = upper_half(tables.HALF_PI_HIGH)
    pi_lower = tables.HALF_PI_HIGH - pi_upper
    product_rest = ((upper * pi_upper - product) + upper * pi_lower + lower * pi_upper) + lower * pi_lower
    product_rest = product_rest + (fraction * tables.HALF_PI_LOW + fraction_rest * tables.HALF_PI_HIGH)
    high = product + product_rest
    return quadrant, sign * high, sign * ((product - high) + product_rest)


@kernel
def reduce_angle(x):
    """Return (n mod 4, high, low) such that x = n pi / 2 + high + low, for a finite x >= 0."""
    if x <= _QUARTER_PI:
        return 0, x, 0.0
    if x < _CODY_WAITE_LARGEST:
        shifted = x * tables.QUADRANTS_PER_RADIAN + _ROUNDER
        n = int(np.float64(shifted).view(np.int64)) - _BITS_OF_ROUNDER
        turns = shifted - _ROUNDER
        difference = x - turns * tables.HALF_PI_1
        product = turns * tables.HALF_PI_2
        remainder = difference - product
        if abs(remainder) > _CODY_WAITE_CLOSEST:
            # Knuth's two-sum, since either term may be the larger one.
            shadow = remainder - difference
            rest = (difference - (remainder - shadow)) - (product + shadow)
            rest = rest - turns * tables.HALF_PI_3
            high = remainder + rest
            return n & 3, high, (remainder - high) + rest
    return _reduce_by_integers(x)
