"""What a bit of the scenario's sensor fault mask does to a sensor, as its configuration chooses.

    dropout   no measurement (a GPS: a message without a fix)
    freeze    the last measurement, again and again
    bias      z + size
    drift     z + size (t - t0),    t0 = the first sample that sees the fault
    noise     z + size ξ,           ξ standard normal, of every sample and axis

The sensor goes on beneath: its biases wander, its noise is drawn, and when the fault ends it is as if there had been
none. A freeze at the first sample holds that one.
"""

from typing import Any, Literal

import numpy as np

from px4lockstep.checks import Vector3
from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import normal3
from px4lockstep.part import Found, entry, misfit

NO_FAULT = 0
DROPOUT = 1
FREEZE = 2
BIAS = 3
DRIFT = 4
NOISE = 5

KINDS = {"dropout": DROPOUT, "freeze": FREEZE, "bias": BIAS, "drift": DRIFT, "noise": NOISE}
SIZED = ("bias", "drift", "noise")
"""Kinds that need a size."""

OnFault = Literal["dropout", "freeze", "bias", "drift", "noise"]

FAULT_LANE = np.int64(2)
"""The lane of its noise in the sensor's stream."""
ONE_DRAW = np.int64(0)

SENSOR_FAULT = record([("kind", "i8"), ("amount", "f8", 3)])
SENSOR_FAULT_STATE = record([("is_active", "i8"), ("since_us", "i8")])


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


def on_fault_entry() -> Any:
    """Return the key that says what a fault of the scenario does to a sensor."""
    return entry("dropout", "What a `sensor_fault` event of the scenario does to the sensor.")


def check_size(on_fault: str, key: str, size: float | Vector3) -> Found:
    """Yield what is wrong with a fault that needs a size and has none; `key` is that of the size."""
    if on_fault in SIZED and not np.any(size):
        yield misfit(key, size, f"makes a {on_fault} of nothing; give a size, or use dropout")


def write_fault(rec: Any, on_fault: str, size: Vector3) -> None:
    """Write a `SENSOR_FAULT` record."""
    rec["kind"] = KINDS[on_fault]
    rec["amount"] = size
