"""Vibration of unbalanced rotors, as measured by an IMU.

A rotor whose centre of mass is off its axis shakes the vehicle at its rotation frequency. With ε the rotor's mass times
its offset over the mass of the vehicle, k the vehicle's radius of gyration, r the position of the rotor, Ω and θ its
speed and angle,

    a = ε Ω² (cos θ, sin θ, 0),    ω̇ = r × a / k²

and averaged over a step in which the rotor turns from θ0 to θ1

    ā = ε Ω (sin θ1 - sin θ0, cos θ0 - cos θ1, 0) / dt
    ω̄ = ε r × (cos θ0 - cos θ1, sin θ0 - sin θ1, 0) / (k² dt)

The average is the only filter: frequencies above half the sample rate of the IMU are attenuated and aliased. All rotors
turn in the same direction in this model and start at random angles. Vibration is off by default, because no datasheet
specifies the balance of propellers. A rotor of 10 g with its centre of mass 0.1 mm off the axis, on a vehicle of
1.5 kg, has ε = 7e-7 m, which gives 0.4 m/s² at 800 rad/s.
"""

import math
from typing import Any

import numpy as np

from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.philox import stream_key, uniform2
from px4lockstep.math.trigonometry import sincos
from px4lockstep.part import Part, entry, fill
from px4lockstep.plant.layout import MAX_MOTORS
from px4lockstep.sensors.sensor import Installation

TWO_PI = 2.0 * math.pi

VIBRATION = record(
    [
        ("imbalance_m", "f8"),
        ("per_gyration_m2", "f8"),  # 1 / k**2
        ("rotor_x_m rotor_y_m rotor_z_m start_angle_rad", "f8", MAX_MOTORS),
    ]
)
VIBRATION_STATE = record([("angle_rad", "f8", MAX_MOTORS), ("accel_m_s2", "f8", 3), ("gyro_rad_s", "f8", 3)])


@kernel
def step_vibration(vibration, state, rotor_speed_rad_s, period_s):
    """Turn the rotors by one step and write the average accelerations and rates."""
    ax, ay, gx, gy, gz = 0.0, 0.0, 0.0, 0.0, 0.0
    angle_rad = state.angle_rad
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
    state.accel_m_s2[0], state.accel_m_s2[1] = ax, ay
    state.gyro_rad_s[0], state.gyro_rad_s[1], state.gyro_rad_s[2] = gx, gy, gz


class Vibration(Part, where="px4.sitl.sensors.imu.vibration"):
    """Vibration of unbalanced rotors, as measured by the IMU."""

    imbalance_m: float = entry(
        0.0, "Mass times offset of each rotor, divided by the mass of the vehicle; 0 disables vibration.", "m", ge=0.0
    )
    gyration_m: float = entry(
        0.14, "Radius of gyration of the vehicle: the square root of inertia over mass.", "m", gt=0.0
    )

    def write(self, rec: Any, at: Installation) -> None:
        """Write a `VIBRATION` record."""
        fill(rec, self, per_gyration_m2=1.0 / (self.gyration_m * self.gyration_m))
        key = stream_key(at.seed, "sensors.vibration")
        for i in range(MAX_MOTORS):
            rec["start_angle_rad"][i] = TWO_PI * interpreted(uniform2)(key, np.int64(0), np.int64(i), np.int64(0))[0]
        for i, (x, y, z) in enumerate(at.rotor_pos_body_m):
            rec["rotor_x_m"][i], rec["rotor_y_m"][i], rec["rotor_z_m"][i] = x, y, z
