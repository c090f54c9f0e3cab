"""Attitude from a thrust vector and a heading.

The body z axis points against the thrust; the body x axis lies in the vertical plane of the heading:

    z_b = −T/|T|,   x_b ∥ y_c × z_b with y_c = (−sin ψ, cos ψ, 0),   y_b = z_b × x_b

`limit_tilt` limits the angle between the body z axis and straight down, and preserves the azimuth.
"""

import math

from px4lockstep.autopilots.builtin.vectors import FLOAT32_EPSILON, cross, norm_xy, scale, unit_or_zero
from px4lockstep.jit import inlined_kernel, kernel
from px4lockstep.math.quaternion import from_dcm
from px4lockstep.math.trigonometry import sincos

HORIZONTAL = 1e-6
"""If the z axis has a smaller down component, the heading is undefined, and the x axis points down."""


@kernel
def limit_tilt(body_z, limit_rad):
    """Return the unit vector limited to an angle from straight down."""
    sine, cosine = sincos(limit_rad)
    if body_z[2] >= cosine:
        return body_z
    length = norm_xy(body_z[0], body_z[1])
    if length * length < FLOAT32_EPSILON:
        return sine, 0.0, cosine
    return sine * body_z[0] / length, sine * body_z[1] / length, cosine


@inlined_kernel
def thrust_to_attitude(thrust_ned, yaw):
    """Return the attitude quaternion for a thrust vector and a yaw."""
    squared = thrust_ned[0] * thrust_ned[0] + thrust_ned[1] * thrust_ned[1] + thrust_ned[2] * thrust_ned[2]
    if squared < FLOAT32_EPSILON:
        body_z = (0.0, 0.0, 1.0)
    else:
        body_z = scale(thrust_ned, -1.0 / math.sqrt(squared))
    sine, cosine = sincos(yaw)
    if abs(body_z[2]) < HORIZONTAL:
        body_x = (0.0, 0.0, 1.0)
    else:
        body_x = unit_or_zero(cross((-sine, cosine, 0.0), body_z))
        if body_z[2] < 0.0:
            body_x = scale(body_x, -1.0)
    xn, xe, xd = body_x
    yn, ye, yd = cross(body_z, body_x)
    zn, ze, zd = body_z
    return from_dcm((xn, yn, zn, xe, ye, ze, xd, yd, zd))
