"""Three-vectors and quaternions (w, x, y, z), as plain tuples."""

import math

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


def cross(a: Vector, b: Vector) -> Vector:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def length(a: Vector) -> float:
    return math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


def product(p: Quaternion, q: Quaternion) -> Quaternion:
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


def turn(rotation: Vector) -> Quaternion:
    """Return the quaternion of a rotation vector, whose length is the angle."""
    angle = length(rotation)
    if angle < 1e-12:
        return 1.0, 0.5 * rotation[0], 0.5 * rotation[1], 0.5 * rotation[2]
    s = math.sin(0.5 * angle) / angle
    return math.cos(0.5 * angle), s * rotation[0], s * rotation[1], s * rotation[2]


def normalized(q: Quaternion) -> Quaternion:
    n = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return q[0] / n, q[1] / n, q[2] / n, q[3] / n


def rotated(q: Quaternion, v: Vector) -> Vector:
    """Return a body vector in NED, if q is q_bn."""
    u = (q[1], q[2], q[3])
    t = cross(u, v)
    s = cross(u, t)
    return v[0] + 2.0 * (q[0] * t[0] + s[0]), v[1] + 2.0 * (q[0] * t[1] + s[1]), v[2] + 2.0 * (q[0] * t[2] + s[2])


def conjugate(q: Quaternion) -> Quaternion:
    return q[0], -q[1], -q[2], -q[3]


def yaw_of(q: Quaternion) -> float:
    return math.atan2(2.0 * (q[0] * q[3] + q[1] * q[2]), 1.0 - 2.0 * (q[2] * q[2] + q[3] * q[3]))


def wrapped(angle: float) -> float:
    return math.remainder(angle, 2.0 * math.pi)


def clipped(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
