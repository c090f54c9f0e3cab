"""What all sensors share: their inputs at a tick, when they sample, what their registers can hold, and faults.

What a bit of the scenario's sensor fault mask does to a sensor, as its configuration chooses:

    dropout   no measurement (a GPS: a message without a fix)
    freeze    the last measurement, again and again
    bias      z + size
    drift     z + size (t - t0),    t0 = the first sample that sees the fault
    noise     z + size ξ,           ξ standard normal, of every sample and axis

The sensor goes on beneath: its biases wander, its noise is drawn, and when the fault ends it is as if there had been
none. A freeze at the first sample holds that one.
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
"""Lanes of a sensor's stream: white noise, the noise of a fault, and what is drawn once per run."""
ONE_DRAW = np.int64(0)

LIMIT = "Upper end of the measuring range; the lower end is its negative."
RESOLUTION = "Resolution of the result. 0: not rounded."
OFFSET_SIGMA = "Standard deviation of the offset, drawn once per run."
FAULT_SIZE = "Size of a fault for each axis: a bias, a drift per second, or the standard deviation of noise."
"""What the keys that several sensors have are."""

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
    """What a sensor needs to know of the run and the vehicle to write its record; `period_us` is the autopilot's."""

    seed: int
    period_us: int
    home_lat_deg: float
    home_lon_deg: float
    home_alt_msl_m: float
    date: float  # decimal year, for the Earth's magnetic field
    rotor_pos_body_m: tuple[Vector3, ...] = ()  # for vibration


@kernel
def is_due(period_us, elapsed_us, samples):
    """Return whether a sensor takes its next sample at a tick, the first at or after a whole number of its periods."""
    return elapsed_us >= samples * period_us


@kernel
def digitized(value, lowest, highest, resolution):
    """Return a value within limits, rounded to whole steps of a resolution; a resolution of 0 rounds nothing."""
    value = min(max(value, lowest), highest)
    if resolution > 0.0:
        return math.floor(value / resolution + 0.5) * resolution
    return float(value)


@kernel
def kind_of_fault(fault, state, is_faulty, elapsed_us):
    """Return what is wrong with a sample, and note since when."""
    if not is_faulty:
        state.is_active = 0
        return NO_FAULT
    if state.is_active == 0:
        state.is_active = 1
        state.since_us = elapsed_us
    return fault.kind


@kernel
def error_of_fault(fault, state, kind, key, sample, elapsed_us):
    """Return what a fault adds to the three numbers of a sample."""
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
    """Return three standard normal numbers that are drawn once per run."""
    return np.array(interpreted(normal3)(key, np.int64(0), np.int64(lane), ONE_DRAW))


def period_entry(default_us: int) -> Any:
    """Return the key of a sensor's period."""
    return entry(default_us, "Sample period, not shorter than a tick of the autopilot.", "us", ge=1, le=MAX_US)


def on_fault_entry() -> Any:
    """Return the key that says what a fault of the scenario does to a sensor."""
    return entry("dropout", "What a `sensor_fault` event of the scenario does to the sensor.")


class Sensor(Part):
    """A sensor: it has errors, and most can have a fault."""

    errors: ClassVar[str] = ""
    """The keys that are 0 without errors, with spaces between."""
    size_key: ClassVar[str] = "fault_size"
    """The key of a fault's size."""

    def check(self) -> Found:
        """Yield what is wrong with a fault that needs a size and has none."""
        on_fault, size = getattr(self, "on_fault", "dropout"), getattr(self, self.size_key, 0.0)
        if on_fault not in ("dropout", "freeze") and not np.any(size):
            yield misfit(self.size_key, size, f"makes a {on_fault} of nothing; give a size, or use dropout")

    def write_fault(self, rec: Any) -> None:
        """Write a `SENSOR_FAULT` record; a size that is one number is of the first axis."""
        size = getattr(self, self.size_key)
        rec["kind"] = KINDS[getattr(self, "on_fault", "dropout")]
        rec["amount"] = size if isinstance(size, tuple) else (size, 0.0, 0.0)

    def without_errors(self) -> Self:
        """Return this sensor without noise, bias, drift, rounding and latency."""
        return self.model_copy(update={name: 0 * getattr(self, name) for name in self.errors.split()})
