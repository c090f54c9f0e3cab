"""The tables and split constants of the elementary functions, computed when this module is imported.

Everything is computed in integers: a real number v is represented by the integer nearest to v 2**SCALE_BITS. Python
divides two integers with correct rounding, so each entry is the double nearest to its value on every machine. Formulas:

    ln((n + 1) / n)          = 2 atanh(1 / (2n + 1)) = 2 (z + z**3 / 3 + z**5 / 5 + ...)
    atan(b) - atan(a)        = atan((b - a) / (1 + a b))
    2**(i / 128)             = i factors of 2**(1 / 128), which is seven square roots of 2
    pi                       = 16 atan(1 / 5) - 4 atan(1 / 239)    (Machin, 1706)

A value that needs more than 53 bits is stored as HIGH + LOW, where HIGH has few enough bits that the products in which
it occurs are exact. The import takes about 3 ms. `tests/against/test_tables_against_mpmath.py` checks every entry.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

Table = npt.NDArray[np.float64]

SCALE_BITS = 144
_ONE = 1 << SCALE_BITS


def _atan_of_inverse(numerator: int, denominator: int, scale_bits: int, sign: int) -> int:
    """Return atan(n / d) for sign = -1, atanh(n / d) for sign = +1, as an integer, by its Taylor series."""
    numerator_squared, denominator_squared = sign * numerator * numerator, denominator * denominator
    power = (numerator << scale_bits) // denominator
    total, odd = 0, 1
    while power not in (0, -1):  # a negative power is rounded down and ends at -1
        total += power // odd
        power = power * numerator_squared // denominator_squared
        odd += 2
    return total


def _pi(scale_bits: int) -> int:
    guarded = scale_bits + 32
    pi = 16 * _atan_of_inverse(1, 5, guarded, -1) - 4 * _atan_of_inverse(1, 239, guarded, -1)
    return pi >> 32


def _round_to(value: int, fraction_bits: int) -> int:
    """Return the integer nearest to v 2**fraction_bits."""
    drop = SCALE_BITS - fraction_bits
    return (value + (1 << (drop - 1))) >> drop


def _split(value: int, fraction_bits: int) -> tuple[float, float]:
    """Return v as a multiple of 2**-fraction_bits and the double nearest to the remainder."""
    high = _round_to(value, fraction_bits)
    rest = value - (high << (SCALE_BITS - fraction_bits))
    return high / (1 << fraction_bits), rest / _ONE


def _split_nearest(value: int) -> tuple[float, float]:
    """Return the double nearest to v and the double nearest to the remainder."""
    high = value / _ONE
    numerator, denominator = high.as_integer_ratio()
    return high, (value - numerator * (_ONE // denominator)) / _ONE


def _columns(rows: Sequence[tuple[float, ...]]) -> tuple[Table, ...]:
    return tuple(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))


# Logarithm. x = 2**k z with z in [0.6875, 1.375). The seven bits of z below the exponent (counted from 0.6875) select
# an interval: 80 of width 1/256 below 1, then 48 of width 1/128. In the two intervals next to 1 the reciprocal is 1,
# so there is no rounding error from a table entry where the logarithm vanishes.
LOG_INTERVALS = 128
LOG_BELOW_ONE = 80
LOG_RECIPROCAL_BITS = 9  # products with the upper 32 bits of z are exact
LOG_FRACTION_BITS = 42  # the product of 11 bits of k and 42 bits of ln 2 is exact


def _log_reciprocal(interval: int) -> int:
    """Return the reciprocal of an interval's centre, in units of 2**-LOG_RECIPROCAL_BITS."""
    if interval in (LOG_BELOW_ONE - 1, LOG_BELOW_ONE):
        return 1 << LOG_RECIPROCAL_BITS
    from_one = interval - LOG_BELOW_ONE
    centre_512 = 512 + 2 * from_one + 1 if from_one < 0 else 512 + 4 * from_one + 2
    unit = 512 << LOG_RECIPROCAL_BITS
    return (2 * unit + centre_512) // (2 * centre_512)


def _log_ratios(lowest: int, highest: int, start: int) -> dict[int, int]:
    """Return ln(n / start) for the integers from lowest to highest."""
    logs = {start: 0}
    for n in range(start, highest):
        logs[n + 1] = logs[n] + 2 * _atan_of_inverse(1, 2 * n + 1, SCALE_BITS, 1)
    for n in range(start - 1, lowest - 1, -1):
        logs[n] = logs[n + 1] - 2 * _atan_of_inverse(1, 2 * n + 1, SCALE_BITS, 1)
    return logs


_LN2 = 2 * _atan_of_inverse(1, 3, SCALE_BITS, 1)
LN2_HIGH, LN2_LOW = _split(_LN2, LOG_FRACTION_BITS)


def _make_log_table() -> tuple[Table, ...]:
    unit = 1 << LOG_RECIPROCAL_BITS
    reciprocals = [_log_reciprocal(interval) for interval in range(LOG_INTERVALS)]
    logs = _log_ratios(min(reciprocals), max(reciprocals), unit)
    return _columns([(n / unit, *_split(-logs[n], LOG_FRACTION_BITS)) for n in reciprocals])


LOG_RECIPROCAL, LOG_HIGH, LOG_LOW = _make_log_table()

# Exponential. x = n ln 2 / 128 + r; n has at most 18 bits, the high part of the step 53 - 18.
EXP_STEPS = 128
EXP_STEPS_PER_UNIT = EXP_STEPS * _ONE / _LN2
EXP_STEP_HIGH, EXP_STEP_LOW = _split(_LN2 // EXP_STEPS, 42)


def _make_exp_table() -> tuple[Table, ...]:
    root = 2 * _ONE
    for _ in range(EXP_STEPS.bit_length() - 1):
        root = math.isqrt(root << SCALE_BITS)
    powers = accumulate(range(EXP_STEPS - 1), lambda power, _: power * root >> SCALE_BITS, initial=_ONE)
    return _columns([_split_nearest(power) for power in powers])


EXP_HIGH, EXP_LOW = _make_exp_table()

# Arc tangent of i / 32, for i from 0 to 32.
ATAN_STEPS = 32

_ATAN_SQUARES = (ATAN_STEPS * ATAN_STEPS + i * (i + 1) for i in range(ATAN_STEPS))
_ATANS = accumulate((_atan_of_inverse(ATAN_STEPS, n, SCALE_BITS, -1) for n in _ATAN_SQUARES), initial=0)
ATAN_HIGH, ATAN_LOW = _columns([_split_nearest(angle) for angle in _ATANS])

# Pi, and pi / 2 in three parts (Cody and Waite): the first two have 33 bits, exact in products with 20-bit integers.
_PI = _pi(SCALE_BITS)
PI_HIGH, PI_LOW = _split_nearest(_PI)
HALF_PI_HIGH, HALF_PI_LOW = _split_nearest(_PI // 2)
QUADRANTS_PER_RADIAN = 2 * _ONE / _PI
HALF_PI_1 = _round_to(_PI // 2, 32) / (1 << 32)
HALF_PI_2 = (_round_to(_PI // 2, 65) - (_round_to(_PI // 2, 32) << 33)) / (1 << 65)
HALF_PI_3 = (_PI // 2 - (_round_to(_PI // 2, 65) << (SCALE_BITS - 65))) / _ONE

# 2 / pi in digits of 28 bits (Payne and Hanek), after two zeros for its integer part. The largest double is below
# 2**1024, a 53-bit integer times 2**971, whose product with 2 / pi needs the digits up to bit 971 + 2 + 8 * 28.
DIGIT_BITS = 28
DIGITS_USED = 8
TWO_OVER_PI_LEADING_ZEROS = 2
_DIGIT_COUNT = 971 // DIGIT_BITS + DIGITS_USED + 1


def _make_two_over_pi() -> npt.NDArray[np.int64]:
    bits = _DIGIT_COUNT * DIGIT_BITS
    guarded = bits + 64
    quotient = (1 << (2 * guarded + 1)) // _pi(guarded) >> (guarded - bits)
    mask = (1 << DIGIT_BITS) - 1
    digits = [quotient >> (bits - DIGIT_BITS * (j + 1)) & mask for j in range(_DIGIT_COUNT)]
    return np.array([0] * TWO_OVER_PI_LEADING_ZEROS + digits, dtype=np.int64)


TWO_OVER_PI = _make_two_over_pi()
