"""Exact solutions of the reference problems.

They are compared with, never flown, so they may use the platform's elementary functions.
"""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def oscillator(omega_rad_s: float, position: float, velocity: float, t_s: Array) -> tuple[Array, Array]:
    """Return position and velocity of a harmonic oscillator: x = x0 cos ωt + (v0 / ω) sin ωt."""
    c, s = np.cos(omega_rad_s * t_s), np.sin(omega_rad_s * t_s)
    return position * c + velocity / omega_rad_s * s, velocity * c - position * omega_rad_s * s


def jacobi_sn_cn_dn(u: float, k: float) -> tuple[float, float, float]:
    """Return the Jacobi elliptic functions of modulus k < 1, by descending Landen transformation.

    Abramowitz and Stegun 16.4: the arithmetic-geometric mean down, then the amplitude up.
    """
    a, b, c = [1.0], math.sqrt(1.0 - k * k), [k]
    while abs(c[-1]) > 1e-9:  # the next one would be its square
        a_last = a[-1]
        a.append(0.5 * (a_last + b))
        c.append(0.5 * (a_last - b))
        b = math.sqrt(a_last * b)
    amplitude = 2.0 ** (len(a) - 1) * a[-1] * u
    for a_n, c_n in zip(reversed(a[1:]), reversed(c[1:]), strict=True):
        amplitude = 0.5 * (amplitude + math.asin(c_n / a_n * math.sin(amplitude)))
    sn, cn = math.sin(amplitude), math.cos(amplitude)
    return sn, cn, math.sqrt(1.0 - k * k * sn * sn)


def pendulum(omega_rad_s: float, angle_rad: float, t_s: Array) -> tuple[Array, Array]:
    """Return angle and rate of a pendulum released at rest: sin(θ/2) = k cd(ωt, k) with k = sin(θ0/2).

    The rate follows by differentiation, with cd = cn / dn and cd' = −(1 − k²) sn / dn².
    """
    k = math.sin(0.5 * angle_rad)
    angles, rates = np.empty_like(t_s), np.empty_like(t_s)
    for i, time_s in enumerate(t_s):
        sn, cn, dn = jacobi_sn_cn_dn(omega_rad_s * float(time_s), k)
        half_sine = k * cn / dn
        angles[i] = 2.0 * math.asin(half_sine)
        rates[i] = -2.0 * k * omega_rad_s * (1.0 - k * k) * sn / (dn * dn) / math.sqrt(1.0 - half_sine * half_sine)
    return angles, rates


def circular_orbit(mu_m3_s2: float, radius_m: float, inclination_rad: float, t_s: Array) -> tuple[Array, Array]:
    """Return position and velocity on a circular orbit, as rows of three."""
    rate = math.sqrt(mu_m3_s2 / radius_m**3)
    c, s = np.cos(rate * t_s), np.sin(rate * t_s)
    in_plane = np.array([0.0, math.cos(inclination_rad), math.sin(inclination_rad)])
    first = np.array([1.0, 0.0, 0.0])
    pos = radius_m * (c[:, None] * first + s[:, None] * in_plane)
    vel = radius_m * rate * (c[:, None] * in_plane - s[:, None] * first)
    return pos, vel


def constant_rate(rate_body_rad_s: tuple[float, float, float], t_s: Array) -> Array:
    """Return the quaternion that starts at the identity and turns at a constant body rate, as rows of four."""
    rate = np.array(rate_body_rad_s)
    speed = float(np.linalg.norm(rate))
    half = 0.5 * speed * t_s
    return np.column_stack([np.cos(half), np.sin(half)[:, None] * (rate / speed)])


def free_fall(gravity_m_s2: float, pos_ned: Array, vel_ned: Array, t_s: Array) -> tuple[Array, Array]:
    """Return position and velocity in uniform gravity, as rows of three; down is positive."""
    down = np.array([0.0, 0.0, gravity_m_s2])
    time_s = t_s[:, None]
    return pos_ned + vel_ned * time_s + 0.5 * down * time_s * time_s, vel_ned + down * time_s


def angle_between(p: Array, q: Array) -> Array:
    """Return the angles of the rotations between rows of unit quaternions; accurate for small ones, sign-blind."""
    distance = np.minimum(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1))
    return np.asarray(4.0 * np.arcsin(np.minimum(0.5 * distance, 1.0)))
