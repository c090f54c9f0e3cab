"""Vibration of rotors that are out of balance, as an IMU sees it.

A rotor whose centre of mass is off its axis pulls the vehicle around with its own frequency. With ε the rotor's mass
times its offset over the mass of the vehicle, k the vehicle's radius of gyration, r the rotor's place, Ω and θ its
speed and angle,

    a = ε Ω² (cos θ, sin θ, 0),    ω̇ = r × a / k²

and averaged over a step in which the rotor turns from θ0 to θ1

    ā = ε Ω (sin θ1 - sin θ0, cos θ0 - cos θ1, 0) / dt
    ω̄ = ε r × (cos θ0 - cos θ1, sin θ0 - sin θ1, 0) / (k² dt)

The average is the only filter: what is faster than half the rate of the IMU comes out weaker, and aliased. All rotors
turn the same way here and start at angles of their own. Off by default: how well propellers are balanced is in no
datasheet. A rotor of 10 g with its centre 0.1 mm off the axis on a vehicle of 1.5 kg is ε = 7e-7 m, which at 800 rad/s
is 0.4 m/s².
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.checks import Vector3, check_number, check_positive
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.philox import stream_key, uniform2
from px4lockstep.math.trigonometry import sincos
from px4lockstep.plant.layout import MAX_MOTORS

STREAM = "sensors.vibration"
TWO_PI = 2.0 * math.pi

VIBRATION = record(
    [
        ("imbalance_m", "f8"),
        ("per_gyration_m2", "f8"),  # 1 / k**2
        ("rotor_x_m", "f8", MAX_MOTORS),
        ("rotor_y_m", "f8", MAX_MOTORS),
        ("rotor_z_m", "f8", MAX_MOTORS),
        ("angle_rad", "f8", MAX_MOTORS),  # changes as a run goes on
        ("accel_m_s2", "f8", 3),
        ("gyro_rad_s", "f8", 3),
    ]
)


@kernel
def step_vibration(vibration, rotor_speed_rad_s, period_s):
    """Turn the rotors by a step and write the average accelerations and rates of it."""
    ax, ay, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0
    angle_rad = vibration.angle_rad
    for i in range(MAX_MOTORS):
        speed_rad_s = rotor_speed_rad_s[i]
        s0, c0 = sincos(angle_rad[i])
        turned_rad = angle_rad[i] + speed_rad_s * period_s
        angle_rad[i] = turned_rad - TWO_PI * math.floor(turned_rad / TWO_PI)
        s1, c1 = sincos(angle_rad[i])
        scale = vibration.imbalance_m / period_s
        ax += scale * speed_rad_s * (s1 - s0)
        ay += scale * speed_rad_s * (c0 - c1)
        turning = scale * vibration.per_gyration_m2
        ux, uy = turning * (c0 - c1), turning * (s0 - s1)
        gx += -vibration.rotor_z_m[i] * uy
        gy += vibration.rotor_z_m[i] * ux
        gz += vibration.rotor_x_m[i] * uy - vibration.rotor_y_m[i] * ux
    vibration.accel_m_s2[0] = ax
    vibration.accel_m_s2[1] = ay
    vibration.gyro_rad_s[0] = gx
    vibration.gyro_rad_s[1] = gy
    vibration.gyro_rad_s[2] = gz


@dataclass(frozen=True)
class Vibration:
    """Vibration as a user chooses it.

    Args:
        imbalance_m: ε: mass times offset of each rotor, over the mass of the vehicle; 0 for none.
        gyration_m: k: the vehicle's radius of gyration, the root of inertia over mass.

    Raises:
        InputError: If a value is out of range.
    """

    imbalance_m: float = 0.0
    gyration_m: float = 0.14

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_number("sensors.imu.vibration.imbalance_m", self.imbalance_m, 0.0, allowed="a finite number of 0 or more")
        check_positive("sensors.imu.vibration.gyration_m", self.gyration_m)

    def write(self, rec: Any, seed: int, rotor_pos_body_m: tuple[Vector3, ...]) -> None:
        """Write a `VIBRATION` record before the first step."""
        rec["imbalance_m"] = self.imbalance_m
        rec["per_gyration_m2"] = 1.0 / (self.gyration_m * self.gyration_m)
        key = stream_key(seed, STREAM)
        for i in range(MAX_MOTORS):
            rec["angle_rad"][i] = TWO_PI * interpreted(uniform2)(key, np.int64(0), np.int64(i), np.int64(0))[0]
        for i, (x, y, z) in enumerate(rotor_pos_body_m):
            rec["rotor_x_m"][i], rec["rotor_y_m"][i], rec["rotor_z_m"][i] = x, y, z
