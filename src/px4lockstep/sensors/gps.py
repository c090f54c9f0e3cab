"""GPS receiver: delayed position and velocity, with a correlated position error.

    z = p + c + σ_w ξ,    c ← φ c + σ_c sqrt(1 - φ²) ξ_c,    φ = exp(-T / τ)
    z_v = v + σ_v ξ_v

The measurement of an epoch (every period, from the first tick on) is published at the first tick that is at least
`latency_us` later. c, the error of orbits, clocks and ionosphere, has its stationary distribution from the start, so it
is not zero at home either. Latitude and longitude are those of `environment/projection.py`, in the units of the
message, 1e-7 deg (11 mm). The velocity error is white.

A dropout fault gives a message without a fix: type 1, no satellites, unknown accuracies, position and velocity held.

References:
    B. W. Parkinson, J. J. Spilker (ed.), Global Positioning System: theory and applications I, AIAA (1996), chapter
    11: components of the position error. P. S. Maybeck, Stochastic Models, Estimation, and Control, vol. 1, Academic
    Press (1979), section 4.11: the Gauss-Markov process.
    Defaults: assumed, for a receiver like the u-blox NEO-M9N, for which board makers claim 1.5 m: 2.0 m CEP, which is
    σ = 2.0 m / 1.1774 = 1.7 m along each axis, 1.5 times that vertically, and 0.05 m/s. Latency: 110 ms, the default of
    the PX4 parameter EKF2_GPS_DELAY, which the host of stock PX4 sets to the configured latency.
"""

import math
from typing import Any, ClassVar

import numpy as np

from px4lockstep.environment.projection import DEG_PER_RAD, RAD_PER_DEG, reproject
from px4lockstep.environment.wind import gauss_markov
from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.philox import normal3, stream_key
from px4lockstep.math.trigonometry import atan2
from px4lockstep.part import Found, Vector, entry, fill, misfit
from px4lockstep.plant.layout import SENSOR_FAULT_GPS
from px4lockstep.sensors import sensor
from px4lockstep.sensors.sensor import ONE_DRAW, VEL, Installation, Sensor
from px4lockstep.timebase import MAX_US

CORRELATED_LANE = np.int64(1)
VELOCITY_LANE = np.int64(3)

FIX_3D = 3
NO_FIX = 1
UNKNOWN_ACCURACY = 65535
"""Values of MAVLink HIL_GPS fields."""
MAX_CM_S = 32767
TURN_CDEG = 36000

MAX_WAITING = 16
MAX_LATENCY_PERIODS = MAX_WAITING - 2
"""Limit set by the buffer: an epoch is measured and published up to a tick late, and a tick is at most a period."""

EPOCH = record([("ready_us", "i8"), ("pos_ned", "f8", 3), ("vel_ned", "f8", 3)])

GPS = record(
    [
        ("noise_key", "u8"),
        ("period_us latency_us", "i8"),
        ("home_lat_rad home_lon_rad home_alt_msl_m decay", "f8"),
        ("correlated_sigma_m correlated_gain_m white_sigma_m", "f8", 3),
        ("vel_sigma_m_s", "f8"),
        ("eph_cm epv_cm satellites", "i8"),
        ("fault", sensor.SENSOR_FAULT),
    ]
)
GPS_STATE = record(
    [
        ("fault", sensor.SENSOR_FAULT_STATE),
        ("samples", "i8"),
        ("shown", "i8"),  # number of published samples
        ("correlated_m", "f8", 3),
        ("waiting", EPOCH, MAX_WAITING),
    ],
    limits={"samples shown": COUNT},
)


@kernel
def whole(value):
    """Return the nearest integer."""
    return np.int64(math.floor(value + 0.5))


@kernel
def whole_cm_s(speed_m_s):
    """Return a speed in the units of the message, limited to its range."""
    return min(max(whole(100.0 * speed_m_s), -MAX_CM_S), MAX_CM_S)


@kernel
def take_epoch(gps, state, inputs):
    """Measure, and put the measurement into the delay buffer."""
    key, sample = gps.noise_key, state.samples
    white = normal3(key, sample, sensor.NOISE_LANE, ONE_DRAW)
    new = normal3(key, sample, CORRELATED_LANE, ONE_DRAW)
    vel = normal3(key, sample, VELOCITY_LANE, ONE_DRAW)
    wander = state.correlated_m
    epoch, x = state.waiting[sample % MAX_WAITING], inputs.x
    epoch.ready_us = inputs.elapsed_us + gps.latency_us
    for i in range(3):
        if sample == 0:
            wander[i] = gps.correlated_sigma_m[i] * new[i]
        else:
            wander[i] = gps.decay * wander[i] + gps.correlated_gain_m[i] * new[i]
        epoch.pos_ned[i] = x[i] + wander[i] + gps.white_sigma_m[i] * white[i]
        epoch.vel_ned[i] = x[VEL + i] + gps.vel_sigma_m_s * vel[i]
    state.samples += 1


@kernel
def show_fix(gps, pos_ned, vel_ned, out):
    """Write position and velocity in the units of the message."""
    lat_rad, lon_rad = reproject(gps.home_lat_rad, gps.home_lon_rad, pos_ned[0], pos_ned[1])
    north, east, down = vel_ned
    out.gps_lat_1e7 = whole(1e7 * DEG_PER_RAD * lat_rad)
    out.gps_lon_1e7 = whole(1e7 * DEG_PER_RAD * lon_rad)
    out.gps_alt_mm = whole(1e3 * (gps.home_alt_msl_m - pos_ned[2]))
    out.gps_vel_cm_s = whole_cm_s(math.sqrt(north * north + east * east))
    out.gps_vn_cm_s = whole_cm_s(north)
    out.gps_ve_cm_s = whole_cm_s(east)
    out.gps_vd_cm_s = whole_cm_s(down)
    out.gps_cog_cdeg = (whole(1e2 * DEG_PER_RAD * atan2(east, north)) + TURN_CDEG) % TURN_CDEG
    out.gps_eph_cm = gps.eph_cm
    out.gps_epv_cm = gps.epv_cm
    out.gps_fix_type = FIX_3D
    out.gps_satellites = gps.satellites


@kernel
def show_loss(out):
    """Write that there is no fix; position and velocity are held."""
    out.gps_eph_cm = UNKNOWN_ACCURACY
    out.gps_epv_cm = UNKNOWN_ACCURACY
    out.gps_fix_type = NO_FIX
    out.gps_satellites = 0


@kernel
def step_gps(gps, state, inputs, out):
    """Measure if an epoch is due, publish a measurement that is old enough; return whether there is a new message."""
    elapsed_us = inputs.elapsed_us
    if sensor.is_due(gps.period_us, elapsed_us, state.samples):
        take_epoch(gps, state, inputs)
    if state.shown == state.samples or state.waiting[state.shown % MAX_WAITING].ready_us > elapsed_us:
        return False
    sample = state.shown
    epoch = state.waiting[sample % MAX_WAITING]
    state.shown += 1
    is_faulty = inputs.faults_mask & SENSOR_FAULT_GPS != 0
    kind = sensor.kind_of_fault(gps.fault, state.fault, is_faulty, elapsed_us)
    if kind == sensor.DROPOUT:
        show_loss(out)
    elif kind != sensor.FREEZE or sample == 0:
        north, east, down = sensor.error_of_fault(gps.fault, state.fault, kind, gps.noise_key, sample, elapsed_us)
        pos_ned = (epoch.pos_ned[0] + north, epoch.pos_ned[1] + east, epoch.pos_ned[2] + down)
        show_fix(gps, pos_ned, (epoch.vel_ned[0], epoch.vel_ned[1], epoch.vel_ned[2]), out)
    return True


class Gps(Sensor, where="px4.sitl.sensors.gps"):
    """GPS receiver with latency, correlated position error and white noise."""

    errors: ClassVar[str] = (
        "horizontal_sigma_m vertical_sigma_m horizontal_noise_m vertical_noise_m vel_sigma_m_s latency_us"
    )
    size_key: ClassVar[str] = "fault_size_m"

    period_us: int = sensor.period_entry(200_000)
    latency_us: int = entry(110_000, "Latency from measurement to message, at most 14 periods.", "us", ge=0, le=MAX_US)
    horizontal_sigma_m: float = entry(
        1.7, "Standard deviation of the correlated position error along north and east.", "m", ge=0.0
    )
    vertical_sigma_m: float = entry(2.5, "Standard deviation of the correlated altitude error.", "m", ge=0.0)
    correlation_tau_s: float = entry(600.0, "Correlation time of position and altitude errors.", "s", gt=0.0)
    horizontal_noise_m: float = entry(
        0.05, "Standard deviation of the white position noise along north and east.", "m", ge=0.0
    )
    vertical_noise_m: float = entry(0.1, "Standard deviation of the white altitude noise.", "m", ge=0.0)
    vel_sigma_m_s: float = entry(0.05, "Standard deviation of the white velocity noise of each axis.", "m/s", ge=0.0)
    eph_m: float = entry(1.0, "Horizontal accuracy that the receiver reports.", "m", ge=0.01, le=655.0)
    epv_m: float = entry(1.5, "Vertical accuracy that the receiver reports.", "m", ge=0.01, le=655.0)
    satellites: int = entry(16, "Number of satellites that the receiver reports.", ge=0, le=254)
    on_fault: sensor.OnFault = sensor.on_fault_entry()
    fault_size_m: Vector = entry(
        (5.0, 5.0, 5.0),
        "Size of a position fault, NED: a bias, a drift per second, or the standard deviation of noise.",
        "m",
    )

    def check(self) -> Found:
        """Check the latency and the size of the fault."""
        longest_us = MAX_LATENCY_PERIODS * self.period_us
        if self.latency_us > longest_us:
            text = f"is more than {MAX_LATENCY_PERIODS} periods of {self.period_us} us; use at most {longest_us}"
            yield misfit("latency_us", self.latency_us, f"{text}, or a longer period_us")
        yield from super().check()

    def write(self, rec: Any, at: Installation) -> None:
        """Write a `GPS` record."""
        decay, root = gauss_markov(self.period_us, self.correlation_tau_s)
        sigma_m = np.array([self.horizontal_sigma_m, self.horizontal_sigma_m, self.vertical_sigma_m])
        fill(
            rec,
            self,
            noise_key=stream_key(at.seed, "sensors.gps"),
            home_lat_rad=at.home_lat_deg * RAD_PER_DEG,
            home_lon_rad=at.home_lon_deg * RAD_PER_DEG,
            home_alt_msl_m=at.home_alt_msl_m,
            decay=decay,
            correlated_sigma_m=sigma_m,
            correlated_gain_m=sigma_m * root,
            white_sigma_m=(self.horizontal_noise_m, self.horizontal_noise_m, self.vertical_noise_m),
            eph_cm=round(100.0 * self.eph_m),
            epv_cm=round(100.0 * self.epv_m),
        )
        self.write_fault(rec["fault"])
