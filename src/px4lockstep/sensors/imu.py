"""Inertial measurement unit (IMU): gyroscope and accelerometer, averaged over the step from tick to tick.

From the states at both ends of a step, with v the velocity of the IMU at r from the centre of gravity,

    φ = log(conj(q0) q1),    gyro = φ / dt
    v = v_cg + R(q) (ω × r),    u = R(q0)ᵀ (v1 - v0 - g dt) / dt,    accel = J(φ)⁻¹ u
    J(φ)⁻¹ u = u - 1/2 φ × u + c φ × (φ × u),    c = (1 - 1/2 |φ| cot(1/2 |φ|)) / |φ|²

φ is the rotation vector of the step: the integral of the rates plus the coning term, which the integrator of a real IMU
includes. J, the left Jacobian of the rotation group, is the mean of the rotations from 0 to φ, so accel is the constant
specific force in body axes that gives the change of velocity while the body turns. It includes everything that happens
within the step, such as an impact or a rotor that stops: v0 + R(q0) J(φ) accel dt + g dt equals v1. At the first tick
there is no step: gyro = ω, and accel is that of a steady turn, -Rᵀ g + ω × (ω × r).

Noise and limits are in `triad.py`.

References:
    P. G. Savage, Strapdown inertial navigation integration algorithm design, Journal of Guidance, Control, and
    Dynamics 21 (1998), 19-28 and 208-221. J. Solà and others, A micro Lie theory for state estimation in robotics,
    arXiv:1812.01537, equations 145 and 146.
    Defaults: TDK InvenSense, ICM-42688-P datasheet DS-000347: noise 0.0028 °/s/√Hz and 70 µg/√Hz, ±2000 °/s and ±16 g;
    in the 20-bit format of its FIFO, which PX4 reads, steps of 1/131 °/s and 1/8192 g.
"""

import math
from typing import Any, ClassVar

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.environment.projection import RAD_PER_DEG
from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.philox import stream_key
from px4lockstep.math.quaternion import conjugate, cross, logarithm, multiply, rotate, rotate_inverse
from px4lockstep.math.trigonometry import sincos
from px4lockstep.part import Part, Vector, entry, fill
from px4lockstep.plant.layout import MAX_MOTORS, SENSOR_FAULT_ACCEL, SENSOR_FAULT_GYRO
from px4lockstep.sensors import sensor
from px4lockstep.sensors.sensor import ATT, OMEGA, VEL, Installation, OnFault, Sensor, drawn3
from px4lockstep.sensors.triad import TRIAD, TRIAD_STATE, drawn_gain, measure
from px4lockstep.sensors.vibration import VIBRATION, VIBRATION_STATE, Vibration, step_vibration

# Limit of |φ|²: below it, the first omitted term of the series for c changes accel by less than 2e-17 of its size.
_SERIES_BELOW = 1.0 / 64.0

IMU = record([("period_s", "f8"), ("pos_body_m", "f8", 3), ("gyro", TRIAD), ("accel", TRIAD), ("vibration", VIBRATION)])
IMU_STATE = record(
    [
        ("gyro accel", TRIAD_STATE),
        ("vibration", VIBRATION_STATE),
        ("steps", "i8"),
        ("last_q_bn", "f8", 4),
        ("last_vel_ned", "f8", 3),  # velocity of the IMU
        ("mean_accel_m_s2", "f8", 3),  # true mean of the last step
        ("mean_gyro_rad_s", "f8", 3),
        ("has_accel has_gyro", "i8"),
    ],
    limits={"steps": COUNT},
)


@kernel
def without_rotation(phi, u):
    """Return J(φ)⁻¹ u: the constant vector in the turning frame whose mean in the initial frame is u."""
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    if square < _SERIES_BELOW:
        c = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square * (1.0 / 1209600.0)))
    else:
        half_rad = 0.5 * math.sqrt(square)
        sine, cosine = sincos(half_rad)
        c = (1.0 - half_rad * cosine / sine) / square
    once = cross(phi, u)
    twice = cross(phi, once)
    return u[0] - 0.5 * once[0] + c * twice[0], u[1] - 0.5 * once[1] + c * twice[1], u[2] - 0.5 * once[2] + c * twice[2]


@kernel
def average_motion(imu, state, inputs):
    """Write the true averages of the step that ends now, and store its end for the next step."""
    x, r, last = inputs.x, imu.pos_body_m, state.last_vel_ned
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    wx, wy, wz = x[OMEGA], x[OMEGA + 1], x[OMEGA + 2]
    lever = cross((wx, wy, wz), (r[0], r[1], r[2]))
    lever_n, lever_e, lever_d = rotate(q_bn, lever)
    north, east, down = x[VEL] + lever_n, x[VEL + 1] + lever_e, x[VEL + 2] + lever_d
    accel, gyro = state.mean_accel_m_s2, state.mean_gyro_rad_s
    if state.steps == 0:
        gx, gy, gz = rotate_inverse(q_bn, (0.0, 0.0, inputs.gravity_m_s2))
        cx, cy, cz = cross((wx, wy, wz), lever)
        accel[0], accel[1], accel[2] = cx - gx, cy - gy, cz - gz
        gyro[0], gyro[1], gyro[2] = wx, wy, wz
    else:
        dt_s, old_q = imu.period_s, state.last_q_bn
        old_q_bn = (old_q[0], old_q[1], old_q[2], old_q[3])
        phi = logarithm(multiply(conjugate(old_q_bn), q_bn))
        gained_d = down - last[2] - inputs.gravity_m_s2 * dt_s
        force = without_rotation(phi, rotate_inverse(old_q_bn, (north - last[0], east - last[1], gained_d)))
        for i in range(3):
            accel[i], gyro[i] = force[i] / dt_s, phi[i] / dt_s
    last[0], last[1], last[2] = north, east, down
    for i in range(4):
        state.last_q_bn[i] = x[ATT + i]
    state.steps += 1


@kernel
def step_imu(imu, state, inputs):
    """Take a sample of both sensors for the step that ends now."""
    vibration = state.vibration
    if state.steps == 0:
        for i in range(MAX_MOTORS):
            vibration.angle_rad[i] = imu.vibration.start_angle_rad[i]
    average_motion(imu, state, inputs)
    accel, gyro = state.mean_accel_m_s2, state.mean_gyro_rad_s
    if imu.vibration.imbalance_m > 0.0 and state.steps > 1:
        step_vibration(imu.vibration, vibration, inputs.rotor_speed_rad_s, imu.period_s)
    fx, fy = accel[0] + vibration.accel_m_s2[0], accel[1] + vibration.accel_m_s2[1]
    wx, wy = gyro[0] + vibration.gyro_rad_s[0], gyro[1] + vibration.gyro_rad_s[1]
    wz = gyro[2] + vibration.gyro_rad_s[2]
    elapsed_us, mask = inputs.elapsed_us, inputs.faults_mask
    state.has_accel = measure(imu.accel, state.accel, fx, fy, accel[2], mask & SENSOR_FAULT_ACCEL != 0, elapsed_us)
    state.has_gyro = measure(imu.gyro, state.gyro, wx, wy, wz, mask & SENSOR_FAULT_GYRO != 0, elapsed_us)


class Inertial(Sensor):
    """Gyroscope or accelerometer; `Gyro` and `Accelerometer` define units and defaults."""

    stream: ClassVar[str]
    errors: ClassVar[str] = "noise_density bias_walk bias_sigma scale_sigma misalignment_sigma_rad resolution"

    noise_density: float = entry()
    bias_walk: float = entry()
    bias_sigma: float = entry()
    scale_sigma: float = entry(
        0.001, "Standard deviation of the relative scale error of each axis, drawn once per run.", ge=0.0
    )
    misalignment_sigma_rad: float = entry(
        0.001,
        "Standard deviation of the misalignment of each axis towards the other two, drawn once per run.",
        "rad",
        ge=0.0,
    )
    limit: float = entry()
    resolution: float = entry()
    on_fault: OnFault = sensor.on_fault_entry()
    fault_size: Vector = entry()

    def write(self, rec: Any, at: Installation) -> None:
        """Write a `TRIAD` record."""
        key = stream_key(at.seed, self.stream)
        gain = drawn_gain(key, self.scale_sigma, self.misalignment_sigma_rad)
        noise_sigma = self.noise_density / math.sqrt(2.0 * at.period_us / 1e6)
        walk_sigma = self.bias_walk * math.sqrt(at.period_us / 1e6)
        fill(rec, self, noise_key=key, gain=gain.ravel(), noise_sigma=noise_sigma, walk_sigma=walk_sigma)
        rec["bias"] = self.bias_sigma * drawn3(key, sensor.BIAS_LANE)
        self.write_fault(rec["fault"])


NOISE_DENSITY = "One-sided noise density, as in datasheets."
BIAS_WALK = "Random-walk coefficient of the bias."
BIAS_SIGMA = "Standard deviation of the turn-on bias of each axis, drawn once per run."


class Gyro(Inertial, where="px4.sitl.sensors.imu.gyro"):
    """Gyroscope: the body rates with noise, bias, scale error and misalignment."""

    stream: ClassVar[str] = "sensors.gyro"

    noise_density: float = entry(0.0028 * RAD_PER_DEG, NOISE_DENSITY, "rad/s/√Hz", ge=0.0)
    bias_walk: float = entry(1e-5, BIAS_WALK, "rad/s/√s", ge=0.0)
    bias_sigma: float = entry(0.05 * RAD_PER_DEG, BIAS_SIGMA, "rad/s", ge=0.0)
    limit: float = entry(2000.0 * RAD_PER_DEG, sensor.LIMIT, "rad/s", gt=0.0)
    resolution: float = entry(RAD_PER_DEG / 131.0, sensor.RESOLUTION, "rad/s", ge=0.0)
    fault_size: Vector = entry((0.05, 0.05, 0.05), sensor.FAULT_SIZE, "rad/s")


class Accelerometer(Inertial, where="px4.sitl.sensors.imu.accel"):
    """Accelerometer: the specific force with noise, bias, scale error and misalignment."""

    stream: ClassVar[str] = "sensors.accel"

    noise_density: float = entry(70e-6 * STANDARD_GRAVITY_M_S2, NOISE_DENSITY, "m/s²/√Hz", ge=0.0)
    bias_walk: float = entry(1e-4, BIAS_WALK, "m/s²/√s", ge=0.0)
    bias_sigma: float = entry(2e-3 * STANDARD_GRAVITY_M_S2, BIAS_SIGMA, "m/s²", ge=0.0)
    limit: float = entry(16.0 * STANDARD_GRAVITY_M_S2, sensor.LIMIT, "m/s²", gt=0.0)
    resolution: float = entry(STANDARD_GRAVITY_M_S2 / 8192.0, sensor.RESOLUTION, "m/s²", ge=0.0)
    fault_size: Vector = entry((0.5, 0.5, 0.5), sensor.FAULT_SIZE, "m/s²")


class Imu(Part, where="px4.sitl.sensors.imu"):
    """Inertial measurement unit. It samples at every autopilot tick."""

    gyro: Gyro = entry(Gyro(), "Gyroscope.")
    accel: Accelerometer = entry(Accelerometer(), "Accelerometer.")
    pos_body_m: Vector = entry(
        (0.0, 0.0, 0.0), "Position of the IMU relative to the nominal centre of mass, in body axes.", "m"
    )
    vibration: Vibration = entry(Vibration(), "Vibration of unbalanced rotors at the IMU.")

    def write(self, rec: Any, at: Installation) -> None:
        """Write an `IMU` record."""
        place = tuple(own - centre for own, centre in zip(self.pos_body_m, at.centre_body_m, strict=True))
        fill(rec, self, period_s=at.period_us / 1e6, pos_body_m=place)
        for name in ("gyro", "accel", "vibration"):
            getattr(self, name).write(rec[name], at)

    def without_errors(self) -> "Imu":
        """Return the IMU at the same position without sensor errors and vibration."""
        return Imu(gyro=self.gyro.without_errors(), accel=self.accel.without_errors(), pos_body_m=self.pos_body_m)
