"""Reference problems: small systems with known solutions, run through the same loop as an aircraft.

    oscillator        ẍ = −ω² x + g_m u + g_w w           u: motor command 1, w: wind north, both held
    pendulum          θ̈ = −ω² sin θ
    kepler            r̈ = −μ r / |r|³
    rigid_body        q̇ = ½ q ⊗ (0, ω),  I ω̇ = −ω × I ω   (torque free, principal axes)
    constant_rate     q̇ = ½ q ⊗ (0, ω),  constant ω
    free_fall         v̇ = (0, 0, g)

Their exact solutions are in `verification/solutions.py`. Outputs are the invariants: energy first, then angular
momentum.
"""

import math

from px4lockstep.jit import kernel, record
from px4lockstep.math.quaternion import derivative, rotate
from px4lockstep.math.trigonometry import cos, sin

OSCILLATOR, PENDULUM, KEPLER, RIGID_BODY, CONSTANT_RATE, FREE_FALL = range(1, 7)

REFERENCE = record(
    [
        ("omega_rad_s", "f8"),  # oscillator, pendulum
        ("motor_gain wind_gain", "f8"),
        ("mu_m3_s2", "f8"),  # kepler
        ("gravity_m_s2", "f8"),  # free fall
        ("inertia_kgm2", "f8", 3),  # rigid body, principal moments
        ("rate_body_rad_s", "f8", 3),  # constant rate
    ]
)


@kernel
def rhs(kind, x, inputs, p, dx):
    """Write the derivative of the state `x` of a reference problem."""
    if kind == OSCILLATOR:
        forcing = p.motor_gain * inputs.command.motors[0] + p.wind_gain * inputs.wind_ned[0]
        dx[0] = x[1]
        dx[1] = -p.omega_rad_s * p.omega_rad_s * x[0] + forcing
    elif kind == PENDULUM:
        dx[0] = x[1]
        dx[1] = -p.omega_rad_s * p.omega_rad_s * sin(x[0])
    elif kind == KEPLER:
        radius_squared = x[0] * x[0] + x[1] * x[1] + x[2] * x[2]
        pull = -p.mu_m3_s2 / (radius_squared * math.sqrt(radius_squared)) if radius_squared > 0.0 else 0.0
        for i in range(3):
            dx[i] = x[3 + i]
            dx[3 + i] = pull * x[i]
    elif kind == RIGID_BODY:
        i0, i1, i2 = p.inertia_kgm2[0], p.inertia_kgm2[1], p.inertia_kgm2[2]
        dx[0], dx[1], dx[2], dx[3] = derivative((x[0], x[1], x[2], x[3]), (x[4], x[5], x[6]))
        dx[4] = (i1 - i2) * x[5] * x[6] / i0
        dx[5] = (i2 - i0) * x[6] * x[4] / i1
        dx[6] = (i0 - i1) * x[4] * x[5] / i2
    elif kind == CONSTANT_RATE:
        rate = (p.rate_body_rad_s[0], p.rate_body_rad_s[1], p.rate_body_rad_s[2])
        dx[0], dx[1], dx[2], dx[3] = derivative((x[0], x[1], x[2], x[3]), rate)
    elif kind == FREE_FALL:
        for i in range(3):
            dx[i] = x[3 + i]
            dx[3 + i] = 0.0
        dx[5] = p.gravity_m_s2


@kernel
def write_invariants(kind, x, p, values):
    """Write energy and angular momentum (per unit mass, except for the rigid body) to `values[0:4]`."""
    if kind == OSCILLATOR:
        values[0] = 0.5 * (x[1] * x[1] + p.omega_rad_s * p.omega_rad_s * x[0] * x[0])
    elif kind == PENDULUM:
        values[0] = 0.5 * x[1] * x[1] + p.omega_rad_s * p.omega_rad_s * (1.0 - cos(x[0]))
    elif kind == KEPLER:
        radius = math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])
        kinetic = 0.5 * (x[3] * x[3] + x[4] * x[4] + x[5] * x[5])
        values[0] = kinetic - p.mu_m3_s2 / radius if radius > 0.0 else kinetic
        values[1] = x[1] * x[5] - x[2] * x[4]
        values[2] = x[2] * x[3] - x[0] * x[5]
        values[3] = x[0] * x[4] - x[1] * x[3]
    elif kind == RIGID_BODY:
        l0, l1, l2 = p.inertia_kgm2[0] * x[4], p.inertia_kgm2[1] * x[5], p.inertia_kgm2[2] * x[6]
        values[0] = 0.5 * (l0 * x[4] + l1 * x[5] + l2 * x[6])
        values[1], values[2], values[3] = rotate((x[0], x[1], x[2], x[3]), (l0, l1, l2))
    elif kind == FREE_FALL:
        values[0] = 0.5 * (x[3] * x[3] + x[4] * x[4] + x[5] * x[5]) - p.gravity_m_s2 * x[2]
