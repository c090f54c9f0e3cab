"""Exact solutions of the reference problems.

They are not part of a simulation, so they may use the platform's elementary functions.
"""

import math

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def oscillator(omega_rad_s: float, position: float, velocity: float, t_s: Array) -> tuple[Array, Array]:
    """Return position and velocity of a harmonic oscillator: x = x0 cos ωt + (v0 / ω) sin ωt."""
    c, s = np.cos(omega_rad_s * t_s), np.sin(omega_rad_s * t_s)
    return position * c + velocity / omega_rad_s * s, velocity * c - position * omega_rad_s * s


def pendulum(omega_rad_s: float, angle_rad: float, t_s: Array) -> Array:
    """Return the angle of a pendulum released at rest: sin(θ/2) = k cd(ωt, k), with k = sin(θ0/2) and cd = cn / dn."""
    from scipy.special import ellipj

    k = math.sin(0.5 * angle_rad)
    _, cn, dn, _ = ellipj(omega_rad_s * t_s, k * k)
    return np.asarray(2.0 * np.arcsin(k * cn / dn))


def circular_orbit(mu_m3_s2: float, radius_m: float, inclination_rad: float, t_s: Array) -> Array:
    """Return the position on a circular orbit, as rows of three."""
    phase = (math.sqrt(mu_m3_s2 / radius_m**3) * t_s)[:, None]
    in_plane = np.array([0.0, math.cos(inclination_rad), math.sin(inclination_rad)])
    return np.asarray(radius_m * (np.cos(phase) * np.array([1.0, 0.0, 0.0]) + np.sin(phase) * in_plane))


def constant_rate(rate_body_rad_s: tuple[float, float, float], t_s: Array) -> Array:
    """Return the quaternion that starts at the identity and rotates at a constant body rate, as rows of four."""
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
    """Return the angles between rows of unit quaternions, accurate for small angles; q and -q are equivalent."""
    distance = np.minimum(np.linalg.norm(p - q, axis=1), np.linalg.norm(p + q, axis=1))
    return np.asarray(4.0 * np.arcsin(np.minimum(0.5 * distance, 1.0)))
