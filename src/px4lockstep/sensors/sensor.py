"""Common parts of all sensors: inputs at a tick, sampling, limits and resolution, and faults.

The configuration of a sensor selects the effect of its bit in the scenario's sensor fault mask:

    dropout   no measurement (a GPS: a message without a fix)
    freeze    the last measurement, repeated
    bias      z + size
    drift     z + size (t - t0),    t0 = the first sample that sees the fault
    noise     z + size ξ,           ξ standard normal, for each sample and axis

The sensor keeps running during a fault: its biases drift and its noise is drawn, so after the fault it continues as if
there had been none. A freeze at the first sample holds that sample.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import Vector3
from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.math.philox import normal3
from px4lockstep.part import Found, Part, entry, misfit
from px4lockstep.plant.layout import ATT_START, MAX_MOTORS, OMEGA_START, RIGID_BODY_STATES, VEL_START
from px4lockstep.timebase import MAX_US

VEL, ATT, OMEGA = VEL_START, ATT_START, OMEGA_START

NO_FAULT, DROPOUT, FREEZE, BIAS, DRIFT, NOISE = range(6)
KINDS = {"dropout": DROPOUT, "freeze": FREEZE, "bias": BIAS, "drift": DRIFT, "noise": NOISE}
OnFault = Literal["dropout", "freeze", "bias", "drift", "noise"]

NOISE_LANE = np.int64(0)
FAULT_LANE = np.int64(2)
BIAS_LANE = 3
"""Lanes of a sensor's random stream: white noise, noise of a fault, and values drawn once per run."""
ONE_DRAW = np.int64(0)

LIMIT = "Upper end of the measuring range; the lower end is its negative."
RESOLUTION = "Resolution of the result; 0 disables rounding."
OFFSET_SIGMA = "Standard deviation of the offset, drawn once per run."
FAULT_SIZE = "Size of a fault for each axis: a bias, a drift per second, or the standard deviation of noise."
"""Descriptions of keys that several sensors have."""

SENSOR_INPUTS = record(
    [
        ("elapsed_us", "i8"),  # since the first tick of the sensors
        ("faults_mask", "i8"),  # SENSOR_FAULT_* bits
        ("gravity_m_s2", "f8"),
        ("x", "f8", RIGID_BODY_STATES),
        ("rotor_speed_rad_s", "f8", MAX_MOTORS),
        ("wind_ned", "f8", 3),
    ]
)
SENSOR_FAULT = record([("kind", "i8"), ("amount", "f8", 3)])
SENSOR_FAULT_STATE = record([("is_active since_us", "i8")])


@dataclass(frozen=True)
class Installation:
    """Properties of the run and the vehicle that sensors need; `period_us` is the period of the autopilot."""

    seed: int
    period_us: int
    home_lat_deg: float
    home_lon_deg: float
    home_alt_msl_m: float
    date: float  # decimal year, for the Earth's magnetic field
    rotor_pos_body_m: tuple[Vector3, ...] = ()  # for vibration
    centre_body_m: Vector3 = (0.0, 0.0, 0.0)  # centre of mass relative to the nominal one


@kernel
def is_due(period_us, elapsed_us, samples):
    """Return whether a sample is due: at the first tick at or after each whole number of periods."""
    return elapsed_us >= samples * period_us


@kernel
def digitized(value, lowest, highest, resolution):
    """Return a value within limits, rounded to whole steps of the resolution; 0 disables rounding."""
    value = min(max(value, lowest), highest)
    if resolution > 0.0:
        return math.floor(value / resolution + 0.5) * resolution
    return float(value)


@kernel
def kind_of_fault(fault, state, is_faulty, elapsed_us):
    """Return the kind of fault of a sample, and record the start of the fault."""
    if not is_faulty:
        state.is_active = 0
        return NO_FAULT
    if state.is_active == 0:
        state.is_active = 1
        state.since_us = elapsed_us
    return fault.kind


@kernel
def error_of_fault(fault, state, kind, key, sample, elapsed_us):
    """Return the error that a fault adds to the three values of a sample."""
    amount = fault.amount
    if kind == BIAS:
        return amount[0], amount[1], amount[2]
    if kind == DRIFT:
        duration_s = (elapsed_us - state.since_us) / 1e6
        return amount[0] * duration_s, amount[1] * duration_s, amount[2] * duration_s
    if kind == NOISE:
        x, y, z = normal3(key, sample, FAULT_LANE, ONE_DRAW)
        return amount[0] * x, amount[1] * y, amount[2] * z
    return 0.0, 0.0, 0.0


def drawn3(key: np.uint64, lane: int) -> npt.NDArray[np.float64]:
    """Return three standard normal numbers, drawn once per run."""
    return np.array(interpreted(normal3)(key, np.int64(0), np.int64(lane), ONE_DRAW))


def period_entry(default_us: int) -> Any:
    """Return the key of a sensor's period."""
    return entry(default_us, "Sample period, at least one autopilot tick.", "us", ge=1, le=MAX_US)


def on_fault_entry() -> Any:
    """Return the key for the effect of a sensor fault."""
    return entry("dropout", "Effect of a `sensor_fault` event of the scenario on the sensor.")


class Sensor(Part):
    """A sensor with errors and, for most sensors, a fault."""

    errors: ClassVar[str] = ""
    """Keys that are 0 in a sensor without errors, separated by spaces."""
    size_key: ClassVar[str] = "fault_size"
    """Key of the size of a fault."""

    def check(self) -> Found:
        """Check that a fault that needs a size has one."""
        on_fault, size = getattr(self, "on_fault", "dropout"), getattr(self, self.size_key, 0.0)
        if on_fault not in ("dropout", "freeze") and not np.any(size):
            yield misfit(self.size_key, size, f"has no effect with on_fault = {on_fault!r}; set a size, or use dropout")

    def write_fault(self, rec: Any) -> None:
        """Write a `SENSOR_FAULT` record; a scalar size applies to the first axis."""
        size = getattr(self, self.size_key)
        rec["kind"] = KINDS[getattr(self, "on_fault", "dropout")]
        rec["amount"] = size if isinstance(size, tuple) else (size, 0.0, 0.0)

    def without_errors(self) -> Self:
        """Return the sensor without noise, bias, drift, rounding and latency."""
        return self.model_copy(update={name: 0 * getattr(self, name) for name in self.errors.split()})
