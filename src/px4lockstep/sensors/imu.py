"""An inertial measurement unit: gyroscope and accelerometer, each averaged over the step from tick to tick.

From the states at both ends of a step, with v the velocity of the IMU itself, at r from the centre of gravity,

    φ = log(conj(q0) q1),    gyro = φ / dt
    v = v_cg + R(q) (ω × r),    u = R(q0)ᵀ (v1 - v0 - g dt) / dt,    accel = J(φ)⁻¹ u
    J(φ)⁻¹ u = u - 1/2 φ × u + c φ × (φ × u),    c = (1 - 1/2 |φ| cot(1/2 |φ|)) / |φ|²

φ is the rotation vector of the step: the integral of the rates plus the coning term, which a real IMU's integrator
adds. J, the left Jacobian of the rotations, is the mean of the rotations from 0 to φ, so that accel is the constant
specific force in body axes that gives the change of velocity while the body turns. Whatever happened within the step
(an impact, a rotor that stops) is in it, and v0 + R(q0) J(φ) accel dt + g dt is v1 again. At the first tick there is no
step yet: gyro = ω, and accel is that of a steady turn, -Rᵀ g + ω × (ω × r).

Noise and limits are in `triad.py`.

References:
    P. G. Savage, Strapdown inertial navigation integration algorithm design, Journal of Guidance, Control, and
    Dynamics 21 (1998), 19-28 and 208-221. J. Solà and others, A micro Lie theory for state estimation in robotics,
    arXiv:1812.01537, equations 145 and 146.
    Defaults: TDK InvenSense, ICM-42688-P datasheet DS-000347: noise 0.0028 °/s and 70 µg per root of a hertz, ±2000 °/s
    and ±16 g; in the 20-bit format of its FIFO, which PX4 reads, steps of 1/131 °/s and 1/8192 g.
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from px4lockstep.checks import Vector3, check_number, check_positive, check_vector
from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import stream_key
from px4lockstep.math.quaternion import conjugate, logarithm, multiply, rotate, rotate_inverse
from px4lockstep.math.trigonometry import sincos
from px4lockstep.plant.layout import SENSOR_FAULT_ACCEL, SENSOR_FAULT_GYRO
from px4lockstep.sensors.faults import check_fault
from px4lockstep.sensors.layout import ATT, OMEGA, VEL
from px4lockstep.sensors.triad import BIAS_LANE, TRIAD, drawn3, drawn_gain, measure, write_triad
from px4lockstep.sensors.vibration import VIBRATION, Vibration, step_vibration

STANDARD_GRAVITY_M_S2 = 9.80665
RAD_PER_DEG = math.pi / 180.0
# Below it, the first term left out of the series is less than 1e-17 of its first.
_SERIES_BELOW = 1.0 / 64.0

IMU = record(
    [
        ("period_s", "f8"),
        ("pos_body_m", "f8", 3),
        # what changes as a run goes on
        ("gyro", TRIAD),
        ("accel", TRIAD),
        ("vibration", VIBRATION),
        ("steps", "i8"),
        ("last_q_bn", "f8", 4),
        ("last_vel_ned", "f8", 3),  # of the IMU itself
        ("mean_accel_m_s2", "f8", 3),  # true, of the last step
        ("mean_gyro_rad_s", "f8", 3),
        ("has_accel", "i8"),
        ("has_gyro", "i8"),
    ]
)


@kernel
def cross(ax, ay, az, bx, by, bz):
    """Return a × b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@kernel
def without_rotation(phi_x, phi_y, phi_z, ux, uy, uz):
    """Return J(φ)⁻¹ u: the constant vector of the turning frame whose mean in the frame at the start is u."""
    square = phi_x * phi_x + phi_y * phi_y + phi_z * phi_z
    if square < _SERIES_BELOW:
        c = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square * (1.0 / 1209600.0)))
    else:
        half_rad = 0.5 * math.sqrt(square)
        sine, cosine = sincos(half_rad)
        c = (1.0 - half_rad * cosine / sine) / square
    px, py, pz = cross(phi_x, phi_y, phi_z, ux, uy, uz)
    sx, sy, sz = cross(phi_x, phi_y, phi_z, px, py, pz)
    return ux - 0.5 * px + c * sx, uy - 0.5 * py + c * sy, uz - 0.5 * pz + c * sz


@kernel
def average_motion(imu, inputs):
    """Write the true averages of the step that ends now, and keep its end for the next."""
    x, r, last = inputs.x, imu.pos_body_m, imu.last_vel_ned
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    wx, wy, wz = x[OMEGA], x[OMEGA + 1], x[OMEGA + 2]
    lever = cross(wx, wy, wz, r[0], r[1], r[2])
    lever_n, lever_e, lever_d = rotate(q_bn, lever)
    north, east, down = x[VEL] + lever_n, x[VEL + 1] + lever_e, x[VEL + 2] + lever_d
    accel, gyro = imu.mean_accel_m_s2, imu.mean_gyro_rad_s
    if imu.steps == 0:
        gx, gy, gz = rotate_inverse(q_bn, (0.0, 0.0, inputs.gravity_m_s2))
        cx, cy, cz = cross(wx, wy, wz, lever[0], lever[1], lever[2])
        accel[0], accel[1], accel[2] = cx - gx, cy - gy, cz - gz
        gyro[0], gyro[1], gyro[2] = wx, wy, wz
    else:
        dt_s, old_q = imu.period_s, imu.last_q_bn
        old_q_bn = (old_q[0], old_q[1], old_q[2], old_q[3])
        phi_x, phi_y, phi_z = logarithm(multiply(conjugate(old_q_bn), q_bn))
        gained_d = down - last[2] - inputs.gravity_m_s2 * dt_s
        ux, uy, uz = rotate_inverse(old_q_bn, (north - last[0], east - last[1], gained_d))
        fx, fy, fz = without_rotation(phi_x, phi_y, phi_z, ux, uy, uz)
        accel[0], accel[1], accel[2] = fx / dt_s, fy / dt_s, fz / dt_s
        gyro[0], gyro[1], gyro[2] = phi_x / dt_s, phi_y / dt_s, phi_z / dt_s
    last[0], last[1], last[2] = north, east, down
    for i in range(4):
        imu.last_q_bn[i] = x[ATT + i]
    imu.steps += 1


@kernel
def step_imu(imu, inputs):
    """Take a sample of both, of the step that ends now."""
    average_motion(imu, inputs)
    accel, gyro = imu.mean_accel_m_s2, imu.mean_gyro_rad_s
    vibration = imu.vibration
    if vibration.imbalance_m > 0.0 and imu.steps > 1:
        step_vibration(vibration, inputs.rotor_speed_rad_s, imu.period_s)
    fx, fy = accel[0] + vibration.accel_m_s2[0], accel[1] + vibration.accel_m_s2[1]
    wx, wy = gyro[0] + vibration.gyro_rad_s[0], gyro[1] + vibration.gyro_rad_s[1]
    wz = gyro[2] + vibration.gyro_rad_s[2]
    time_us, mask = inputs.time_us, inputs.faults_mask
    imu.has_accel = measure(imu.accel, fx, fy, accel[2], mask & SENSOR_FAULT_ACCEL != 0, time_us)
    imu.has_gyro = measure(imu.gyro, wx, wy, wz, mask & SENSOR_FAULT_GYRO != 0, time_us)


@dataclass(frozen=True)
class Inertial:
    """One of the two, in its own unit: rad/s or m/s²; `Gyro` and `Accelerometer` have the defaults.

    Args:
        noise_density: One-sided, per root of a hertz.
        bias_walk: Random walk of the bias, per root of a second.
        bias_sigma: Turn-on bias of each axis, drawn once per run.
        scale_sigma: Error of the scale of each axis, as a fraction, drawn once per run.
        misalignment_sigma_rad: Of each axis towards each other, drawn once per run.
        limit: Of the range, to both sides.
        resolution: One step of the register; 0 for none.
        on_fault: What a fault of the scenario does: see `faults.py`.
        fault_size: Of a bias, of a drift per second, or the standard deviation of noise, for each axis.

    Raises:
        InputError: If a value is out of range.
    """

    noise_density: float
    bias_walk: float
    bias_sigma: float
    scale_sigma: float
    misalignment_sigma_rad: float
    limit: float
    resolution: float
    on_fault: str
    fault_size: Vector3

    field: ClassVar[str] = "sensors.imu"
    stream: ClassVar[str] = "sensors"

    def __post_init__(self) -> None:
        """Check kinds and ranges."""
        for name in ("noise_density", "bias_walk", "bias_sigma", "scale_sigma", "misalignment_sigma_rad", "resolution"):
            check_number(f"{self.field}.{name}", getattr(self, name), 0.0, allowed="a finite number of 0 or more")
        check_positive(f"{self.field}.limit", self.limit)
        check_fault(self.field, self.on_fault, self.fault_size)

    def write(self, rec: Any, seed: int, period_us: int) -> None:
        """Write a `TRIAD` record before its first sample."""
        key = stream_key(seed, self.stream)
        write_triad(
            rec,
            key,
            gain=drawn_gain(key, self.scale_sigma, self.misalignment_sigma_rad),
            bias=self.bias_sigma * drawn3(key, BIAS_LANE),
            noise_sigma=self.noise_density / math.sqrt(2.0 * period_us / 1e6),
            walk=self.bias_walk,
            period_us=period_us,
            limit=self.limit,
            resolution=self.resolution,
            on_fault=self.on_fault,
            fault_size=self.fault_size,
        )


@dataclass(frozen=True)
class Gyro(Inertial):
    """A gyroscope, in rad/s; see `Inertial`."""

    noise_density: float = 0.0028 * RAD_PER_DEG
    bias_walk: float = 1e-5
    bias_sigma: float = 0.05 * RAD_PER_DEG
    scale_sigma: float = 0.001
    misalignment_sigma_rad: float = 0.001
    limit: float = 2000.0 * RAD_PER_DEG
    resolution: float = RAD_PER_DEG / 131.0
    on_fault: str = "dropout"
    fault_size: Vector3 = (0.05, 0.05, 0.05)

    field: ClassVar[str] = "sensors.imu.gyro"
    stream: ClassVar[str] = "sensors.gyro"


@dataclass(frozen=True)
class Accelerometer(Inertial):
    """An accelerometer, in m/s²; see `Inertial`."""

    noise_density: float = 70e-6 * STANDARD_GRAVITY_M_S2
    bias_walk: float = 1e-4
    bias_sigma: float = 2e-3 * STANDARD_GRAVITY_M_S2
    scale_sigma: float = 0.001
    misalignment_sigma_rad: float = 0.001
    limit: float = 16.0 * STANDARD_GRAVITY_M_S2
    resolution: float = STANDARD_GRAVITY_M_S2 / 8192.0
    on_fault: str = "dropout"
    fault_size: Vector3 = (0.5, 0.5, 0.5)

    field: ClassVar[str] = "sensors.imu.accel"
    stream: ClassVar[str] = "sensors.accel"


@dataclass(frozen=True)
class Imu:
    """An IMU as a user chooses it; it samples at every tick of the autopilot.

    Args:
        gyro: Its gyroscope.
        accel: Its accelerometer.
        pos_body_m: Where it is mounted, from the centre of gravity.
        vibration: What it sees of the rotors.

    Raises:
        InputError: If the position is not three numbers.
    """

    gyro: Gyro = field(default_factory=Gyro)
    accel: Accelerometer = field(default_factory=Accelerometer)
    pos_body_m: Vector3 = (0.0, 0.0, 0.0)
    vibration: Vibration = field(default_factory=Vibration)

    def __post_init__(self) -> None:
        """Check the position."""
        check_vector("sensors.imu.pos_body_m", self.pos_body_m)

    def write(self, rec: Any, seed: int, period_us: int, rotor_pos_body_m: tuple[Vector3, ...]) -> None:
        """Write an `IMU` record before its first sample."""
        rec["period_s"] = np.float64(period_us) / 1e6
        rec["pos_body_m"] = self.pos_body_m
        self.gyro.write(rec["gyro"], seed, period_us)
        self.accel.write(rec["accel"], seed, period_us)
        self.vibration.write(rec["vibration"], seed, rotor_pos_body_m)
