"""Vector geometry shared by the controllers, with vectors as tuples."""

import math

from px4lockstep.jit import kernel
from px4lockstep.math.trigonometry import atan2

FLOAT32_EPSILON = 1.1920929e-07
"""FLT_EPSILON: PX4, which computes in single precision, treats smaller numbers as zero."""

PI = 3.141592653589793
FARTHEST_RAD = 1e6


@kernel
def clamp(value, low, high):
    """Return a value limited to a range; if the limits contradict each other, the lower one wins, as in PX4."""
    return max(min(value, high), low)


@kernel
def sign(value):
    """Return -1, 0 or 1."""
    if value > 0.0:
        return 1.0
    return -1.0 if value < 0.0 else 0.0


@kernel
def is_finite(value):
    """Return whether a number is neither NaN nor infinite."""
    return value - value == 0.0


@kernel
def add_if_number(value, addition):
    """Return the sum of the finite arguments; a NaN setpoint has no effect."""
    if is_finite(value) and is_finite(addition):
        return value + addition
    return addition if not is_finite(value) else value


@kernel
def wrap_pi(angle):
    """Return the angle in [-π, π), or NaN if it is a million radians or more, which is unphysical."""
    if abs(angle) >= FARTHEST_RAD:
        return math.nan
    while angle >= PI:
        angle -= 2.0 * PI
    while angle < -PI:
        angle += 2.0 * PI
    return angle


@kernel
def norm_xy(x, y):
    """Return the length of a horizontal vector."""
    return math.sqrt(x * x + y * y)


@kernel
def norm(v):
    """Return the length of a vector."""
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2])


@kernel
def dot(a, b):
    """Return the dot product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    """Return the cross product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def subtract(a, b):
    """Return the difference."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@kernel
def scale(v, factor):
    """Return the vector times a factor."""
    return v[0] * factor, v[1] * factor, v[2] * factor


@kernel
def unit_or_zero(v):
    """Return the unit vector along a vector; zero for the zero vector."""
    length = norm(v)
    return scale(v, 1.0 / length) if length > FLOAT32_EPSILON else (0.0, 0.0, 0.0)


@kernel
def unit_or_zero_xy(x, y):
    """Return the unit vector along a horizontal vector; zero for the zero vector."""
    length = norm_xy(x, y)
    return (x / length, y / length) if length > FLOAT32_EPSILON else (0.0, 0.0)


@kernel
def heading_of(estimate):
    """Return the heading: the direction of the body x axis in the horizontal plane."""
    q = estimate.q_bn
    w, x, y, z = q[0], q[1], q[2], q[3]
    return atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


@kernel
def has_position(estimate):
    """Return whether position and velocity are flagged as valid, and finite."""
    x, v = estimate.pos_ned, estimate.vel_ned
    return estimate.is_valid != 0.0 and is_finite(x[0] + x[1] + x[2] + v[0] + v[1] + v[2])
