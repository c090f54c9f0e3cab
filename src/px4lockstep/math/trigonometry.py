"""Sine, cosine and inverse functions from + - * / sqrt and integer operations, with bit-identical results everywhere.

Sine and cosine of a reduced angle r = high + low (`reduction`), |r| <= pi / 4, by their Taylor series:

    sin r = high + (low (1 - high**2 / 2) - high**3 / 3! + ... + high**17 / 17!)
    cos r = 1 - high**2 / 2 + (high**4 / 4! - ... + high**16 / 16! - high low)

Arc tangent of a quotient 0 <= y / x <= 1, from a table of atan(i / 32):

    i = round(32 y / x), c = i / 32,  t = (y - c x) / (x + c y),  |t| <= 1 / 64
    atan(y / x) = atan c + t - t**3 / 3 + t**5 / 5 - ...

For i < 2 the series uses t = y / x itself, which is below 1 / 21, and the rounding error of t is corrected. y and x are
sums of two doubles, so asin x = atan(x / sqrt(1 - x**2)) and acos x = atan(sqrt(1 - x**2) / x) keep full accuracy.

Special values are those of ISO/IEC 9899:2011 (C11), annex F.10; sin and cos of an infinity are NaN.
"""

import math

import numpy as np

from px4lockstep.jit import kernel
from px4lockstep.math.exponential import upper_half
from px4lockstep.math.reduction import reduce_angle
from px4lockstep.math.tables import ATAN_HIGH, ATAN_LOW, ATAN_STEPS, HALF_PI_HIGH, HALF_PI_LOW, PI_HIGH, PI_LOW

_INF, _NAN = math.inf, math.nan
_SMALL = 1.0 / (1 << 28)  # below this, x**3 is less than the rounding error of x
_FAR_SMALLER = 1.0 / (1 << 60)  # a coordinate smaller by this factor does not affect the angle from the other axis
_LARGE, _TINY = float(1 << 500), 1.0 / (1 << 400)
_TO_LARGER, _TO_SMALLER = float(1 << 600), 1.0 / (1 << 600)

# Taylor coefficients, one rounding each.
_S3, _S5, _S7, _S9 = -1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0
_S11, _S13 = -1.0 / 39916800.0, 1.0 / 6227020800.0
_S15, _S17 = -1.0 / 1307674368000.0, 1.0 / 355687428096000.0
_C4, _C6, _C8, _C10 = 1.0 / 24.0, -1.0 / 720.0, 1.0 / 40320.0, -1.0 / 3628800.0
_C12, _C14, _C16 = 1.0 / 479001600.0, -1.0 / 87178291200.0, 1.0 / 20922789888000.0


@kernel
def _has_sign(x):
    """Return whether x is negative or -0."""
    return int(np.float64(x).view(np.int64)) < 0


@kernel
def _sin_of_reduced(high, low):
    """Return sin(high + low) for |high| <= pi / 4."""
    z = high * high
    z2 = z * z
    z4 = z2 * z2
    near = (_S3 + z * _S5) + z2 * (_S7 + z * _S9)
    far = (_S11 + z * _S13) + z2 * (_S15 + z * _S17)
    return high + (low * (1.0 - 0.5 * z) + high * z * (near + z4 * far))


@kernel
def _cos_of_reduced(high, low):
    """Return cos(high + low) for |high| <= pi / 4."""
    z = high * high
    z2 = z * z
    z4 = z2 * z2
    series = ((_C4 + z * _C6) + z2 * (_C8 + z * _C10)) + z4 * ((_C12 + z * _C14) + z2 * _C16)
    half = 0.5 * z
    leading = 1.0 - half
    return leading + (((1.0 - leading) - half) + (z2 * series - high * low))


@kernel
def sincos(x):
    """Return the sine and the cosine of x [rad], each within 1 ulp for every finite x."""
    x = float(x)
    size = abs(x)
    if size < _SMALL:
        return x, 1.0
    if not size < _INF:
        return _NAN, _NAN
    quadrant, high, low = reduce_angle(size)
    sine, cosine = _sin_of_reduced(high, low), _cos_of_reduced(high, low)
    if quadrant & 1:
        sine, cosine = cosine, -sine
    if quadrant & 2:
        sine, cosine = -sine, -cosine
    return -sine if x < 0.0 else sine, cosine


@kernel
def sin(x):
    """Return the sine of x [rad], within 1 ulp for every finite x."""
    x = float(x)
    size = abs(x)
    if size < _SMALL:
        return x
    if not size < _INF:
        return _NAN
    quadrant, high, low = reduce_angle(size)
    value = _cos_of_reduced(high, low) if quadrant & 1 else _sin_of_reduced(high, low)
    return -value if (quadrant & 2 != 0) != (x < 0.0) else value


@kernel
def cos(x):
    """Return the cosine of x [rad], within 1 ulp for every finite x."""
    size = abs(float(x))
    if size < _SMALL:
        return 1.0
    if not size < _INF:
        return _NAN
    quadrant, high, low = reduce_angle(size)
    value = _sin_of_reduced(high, low) if quadrant & 1 else _cos_of_reduced(high, low)
    return -value if quadrant == 1 or quadrant == 2 else value


@kernel
def _atan_of_quotient(y, y_low, x, x_low):
    """Return atan((y + y_low) / (x + x_low)) as a sum of two doubles, for 0 <= y <= x of moderate size, x > 0."""
    t = y / x
    i = int(t * ATAN_STEPS + 0.5)
    x_upper = upper_half(x)
    x_lower = x - x_upper
    if i < 2:
        angle, angle_low = 0.0, 0.0
        t_upper = upper_half(t)
        t_lower = t - t_upper
        remainder = (y - t_upper * x_upper) - t_upper * x_lower - t_lower * x_upper - t_lower * x_lower
        t_low = (remainder + (y_low - t * x_low)) / x
    else:
        angle, angle_low = float(ATAN_HIGH[i]), float(ATAN_LOW[i])
        c = float(i) * (1.0 / ATAN_STEPS)
        # c has six digits: its product with the upper half of x is exact, and so is the difference to y.
        t = ((y - c * x_upper) - c * x_lower + (y_low - c * x_low)) / (x + c * y)
        t_low = 0.0
    z = t * t
    z2 = z * z
    near = (-1.0 / 3.0 + z * 0.2) + z2 * (-1.0 / 7.0 + z * (1.0 / 9.0))
    series = t * z * (near + z2 * z2 * (-1.0 / 11.0 + z * (1.0 / 13.0)))
    leading = angle + t
    rest = ((angle - leading) + t) + (angle_low + (t_low + series))
    high = leading + rest
    return high, (leading - high) + rest


@kernel
def _atan_of_point(y, y_low, x, x_low):
    """Return the angle of the point (x + x_low, y + y_low), for y >= 0, of moderate size and not both zero."""
    x_size = abs(x)
    if x < 0.0:
        x_low = -x_low
    if y <= x_size:
        angle, angle_low = _atan_of_quotient(y, y_low, x_size, x_low)
        if x >= 0.0:
            return angle + angle_low
        axis, axis_low = PI_HIGH, PI_LOW
    else:
        angle, angle_low = _atan_of_quotient(x_size, x_low, y, y_low)
        axis, axis_low = HALF_PI_HIGH, HALF_PI_LOW
        if x < 0.0:
            angle, angle_low = -angle, -angle_low
    leading = axis - angle
    return leading + (((axis - leading) - angle) + (axis_low - angle_low))


@kernel
def atan2(y, x):
    """Return the angle of the point (x, y) [rad], in [-pi, pi], within 1 ulp."""
    y, x = float(y), float(x)
    if x != x or y != y:
        return _NAN
    y_size, x_size = abs(y), abs(x)
    x_is_negative = _has_sign(x)
    if y_size == 0.0 or (x_size == _INF and y_size < _INF):
        angle = PI_HIGH if x_is_negative else 0.0
    elif x_size == 0.0 or (y_size == _INF and x_size < _INF):
        angle = HALF_PI_HIGH
    elif x_size == _INF:
        angle = 2.356194490192345 if x_is_negative else 0.5 * HALF_PI_HIGH  # 3 pi / 4 or pi / 4
    elif y_size * _FAR_SMALLER > x_size:
        angle = HALF_PI_HIGH
    elif x_size * _FAR_SMALLER > y_size:
        angle = PI_HIGH if x_is_negative else y_size / x_size
    else:
        # Keep partial products and sums within the range of normal numbers.
        scale = 1.0
        if x_size > _LARGE or y_size > _LARGE:
            scale = _TO_SMALLER
        elif x_size < _TINY and y_size < _TINY:
            scale = _TO_LARGER
        angle = _atan_of_point(y_size * scale, 0.0, x * scale, 0.0)
    return -angle if _has_sign(y) else angle


@kernel
def atan(x):
    """Return the arc tangent of x [rad], within 1 ulp."""
    return atan2(x, 1.0)


@kernel
def _complement(x):
    """Return sqrt(1 - x**2) as a sum of two doubles, for 2**-28 <= x <= 1."""
    # 1 - x**2 = (1 - x) (1 + x), with Dekker's product: no cancellation near x = 1.
    minus = 1.0 - x
    plus = 1.0 + x
    total = minus * plus
    if total <= 0.0:
        return 0.0, 0.0
    minus_upper = upper_half(minus)
    minus_lower = minus - minus_upper
    plus_upper = upper_half(plus)
    plus_lower = plus - plus_upper
    total_low = ((minus_upper * plus_upper - total) + minus_upper * plus_lower + minus_lower * plus_upper) + (
        minus_lower * plus_lower + (minus * ((1.0 - plus) + x) + plus * ((1.0 - minus) - x))
    )
    root = math.sqrt(total)
    root_upper = upper_half(root)
    root_lower = root - root_upper
    remainder = (total - root_upper * root_upper) - root_lower * (root_upper + root)
    return root, (remainder + total_low) / (2.0 * root)


@kernel
def asin(x):
    """Return the arc sine of x [rad], within 1 ulp; NaN outside [-1, 1]."""
    x = float(x)
    size = abs(x)
    if size < _SMALL:
        return x
    if not size <= 1.0:
        return _NAN
    root, root_low = _complement(size)
    angle = _atan_of_point(size, 0.0, root, root_low)
    return -angle if x < 0.0 else angle


@kernel
def acos(x):
    """Return the arc cosine of x [rad], within 1 ulp; NaN outside [-1, 1]."""
    x = float(x)
    size = abs(x)
    if not size <= 1.0:
        return _NAN
    if size < _SMALL:
        return HALF_PI_HIGH - (x - HALF_PI_LOW)
    root, root_low = _complement(size)
    return _atan_of_point(root, root_low, x, 0.0)
