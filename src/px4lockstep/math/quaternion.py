"""Quaternions and attitudes, as tuples of floats.

q = (w, x, y, z) in Hamilton's convention. An attitude q_bn has unit norm and rotates a vector from body axes (forward,
right, down) to world axes (north, east, down):

    v_ned = q_bn (0, v_body) conj(q_bn),    dq_bn / dt = 1/2 q_bn (0, omega_body)

Euler angles follow the aerospace convention 3-2-1: yaw about z, then pitch about the new y, then roll about the new x,

    q_bn = q_z(yaw) q_y(pitch) q_x(roll)

Rotation matrices R_bn are nine numbers, row by row, v_ned = R_bn v_body. q and -q represent the same attitude;
functions that choose between them return the one with w >= 0.

References:
    J. B. Kuipers, Quaternions and Rotation Sequences, Princeton University Press (1999).
    S. W. Shepperd, Quaternion from rotation matrix, Journal of Guidance and Control 1 (1978), 223-224.
    E. Bernardes, S. Viollet, Quaternion to Euler angles conversion, PLoS ONE 17 (2022) e0276302.
"""

import math

from px4lockstep.jit import kernel
from px4lockstep.math.tables import PI_HIGH as _PI
from px4lockstep.math.trigonometry import atan2, sincos

# Below these, the first omitted term of the series is less than 2**-55.
_EXPONENTIAL_SERIES_BELOW = 1.0 / (1 << 14)
_LOGARITHM_SERIES_BELOW = 1.0 / (1 << 27)


@kernel
def cross(a, b):
    """Return a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@kernel
def multiply(p, q):
    """Return the Hamilton product p q."""
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    return (
        pw * qw - px * qx - py * qy - pz * qz,
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
    )


@kernel
def conjugate(q):
    """Return (w, -x, -y, -z), the inverse of a unit quaternion."""
    w, x, y, z = q
    return w, -x, -y, -z


@kernel
def normalize(q):
    """Return q with unit norm; the identity if q is zero."""
    w, x, y, z = q
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    if norm == 0.0:
        return 1.0, 0.0, 0.0, 0.0
    return w / norm, x / norm, y / norm, z / norm


@kernel
def rotate(q_bn, v_body):
    """Return a body vector in NED axes."""
    w, x, y, z = q_bn
    vx, vy, vz = v_body
    # v + 2 w (u x v) + 2 u x (u x v), with u = (x, y, z)
    tx = 2.0 * (y * vz - z * vy)
    ty = 2.0 * (z * vx - x * vz)
    tz = 2.0 * (x * vy - y * vx)
    return (
        vx + w * tx + (y * tz - z * ty),
        vy + w * ty + (z * tx - x * tz),
        vz + w * tz + (x * ty - y * tx),
    )


@kernel
def rotate_inverse(q_bn, v_ned):
    """Return a NED vector in body axes."""
    return rotate(conjugate(q_bn), v_ned)


@kernel
def to_dcm(q_bn):
    """Return the rotation matrix R_bn, row by row."""
    w, x, y, z = q_bn
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@kernel
def from_dcm(r_bn):
    """Return the unit quaternion of a rotation matrix, with w >= 0, starting from its largest component (Shepperd)."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = r_bn
    trace = r00 + r11 + r22
    if trace >= r00 and trace >= r11 and trace >= r22:
        w, x, y, z = 1.0 + trace, r21 - r12, r02 - r20, r10 - r01
    elif r00 >= r11 and r00 >= r22:
        w, x, y, z = r21 - r12, 1.0 + 2.0 * r00 - trace, r01 + r10, r02 + r20
    elif r11 >= r22:
        w, x, y, z = r02 - r20, r01 + r10, 1.0 + 2.0 * r11 - trace, r12 + r21
    else:
        w, x, y, z = r10 - r01, r02 + r20, r12 + r21, 1.0 + 2.0 * r22 - trace
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    return normalize((w, x, y, z))


@kernel
def from_euler(roll_rad, pitch_rad, yaw_rad):
    """Return the attitude q_bn of Euler angles, applied in the order yaw, pitch, roll."""
    sr, cr = sincos(0.5 * roll_rad)
    sp, cp = sincos(0.5 * pitch_rad)
    sy, cy = sincos(0.5 * yaw_rad)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


@kernel
def _wrap_rad(angle_rad):
    """Wrap an angle between -2 pi and 2 pi to (-pi, pi]."""
    if angle_rad > _PI:
        return angle_rad - 2.0 * _PI
    if angle_rad <= -_PI:
        return angle_rad + 2.0 * _PI
    return angle_rad


@kernel
def to_euler(q_bn):
    """Return (roll, pitch, yaw) [rad], roll and yaw in (-pi, pi].

    Half the sum and half the difference of roll and yaw are computed separately, which keeps full accuracy near a pitch
    of 90 degrees. At 90 degrees only one of the two is defined; the other is set to 0, so roll and yaw share the
    rotation equally and give the same attitude.
    """
    w, x, y, z = q_bn
    # (w - y, x + z) = sqrt(1 - sin pitch) (cos, sin)((yaw + roll) / 2), (w + y, x - z) also with the difference
    half_sum_rad = atan2(x + z, w - y)
    half_difference_rad = atan2(x - z, w + y)
    below = math.sqrt((x + z) * (x + z) + (w - y) * (w - y))
    above = math.sqrt((x - z) * (x - z) + (w + y) * (w + y))
    pitch_rad = atan2(2.0 * (w * y - x * z), below * above)
    return _wrap_rad(half_sum_rad + half_difference_rad), pitch_rad, _wrap_rad(half_sum_rad - half_difference_rad)


@kernel
def yaw(q_bn):
    """Return the yaw [rad] in (-pi, pi], positive from north to east, bit-identical to that of `to_euler`."""
    w, x, y, z = q_bn
    return _wrap_rad(atan2(x + z, w - y) - atan2(x - z, w + y))


@kernel
def exponential(rotation_vector):
    """Return the quaternion of a rotation by |v| [rad] about v."""
    vx, vy, vz = rotation_vector
    angle_squared = vx * vx + vy * vy + vz * vz
    if angle_squared < _EXPONENTIAL_SERIES_BELOW:
        w = 1.0 - angle_squared * (1.0 / 8.0 - angle_squared * (1.0 / 384.0))
        scale = 0.5 - angle_squared * (1.0 / 48.0 - angle_squared * (1.0 / 3840.0))
    else:
        angle_rad = math.sqrt(angle_squared)
        sine, w = sincos(0.5 * angle_rad)
        scale = sine / angle_rad
    return w, scale * vx, scale * vy, scale * vz


@kernel
def logarithm(q):
    """Return the shortest rotation vector [rad] of a nonzero quaternion: the inverse of `exponential`."""
    w, x, y, z = q
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine_squared = x * x + y * y + z * z
    if sine_squared < w * w * _LOGARITHM_SERIES_BELOW:
        # 2 atan(s / w) / s = 2 / w (1 - (s / w)**2 / 3 + ...)
        scale = 2.0 / w * (1.0 - sine_squared / (3.0 * (w * w)))
    elif sine_squared > 0.0:
        sine = math.sqrt(sine_squared)
        scale = 2.0 * atan2(sine, w) / sine
    else:
        scale = 0.0
    return scale * x, scale * y, scale * z


@kernel
def angle_between(p, q):
    """Return the angle of the rotation from p to q [rad], in [0, pi], with full relative accuracy for tiny angles.

    The vector part of conj(p) q equals that of conj(p) (q - p), since conj(p) p is real, so nearly equal attitudes are
    subtracted before any rounding.
    """
    pw, px, py, pz = p
    qw, qx, qy, qz = q
    cosine = pw * qw + px * qx + py * qy + pz * qz
    if cosine < 0.0:
        cosine = -cosine
        qw, qx, qy, qz = -qw, -qx, -qy, -qz
    _, x, y, z = multiply(conjugate(p), (qw - pw, qx - px, qy - py, qz - pz))
    return 2.0 * atan2(math.sqrt(x * x + y * y + z * z), cosine)


@kernel
def derivative(q_bn, omega_body):
    """Return the time derivative of an attitude that rotates with omega_body [rad/s]."""
    ox, oy, oz = omega_body
    return multiply(q_bn, (0.0, 0.5 * ox, 0.5 * oy, 0.5 * oz))
