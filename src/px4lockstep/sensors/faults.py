"""What a bit of the scenario's sensor fault mask does to a sensor, as its configuration chooses.

    dropout   no measurement (a GPS: a message without a fix)
    freeze    the last measurement, again and again
    bias      z + size
    drift     z + size (t - t0),    t0 = the first sample that sees the fault
    noise     z + size ξ,           ξ standard normal, of every sample and axis

The sensor goes on beneath: its biases wander, its noise is drawn, and when the fault ends it is as if there had been
none. A freeze at the first sample holds that one.
"""

from typing import Any

import numpy as np

from px4lockstep.checks import Vector3, check_kind, check_vector
from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import normal3

NO_FAULT = 0
DROPOUT = 1
FREEZE = 2
BIAS = 3
DRIFT = 4
NOISE = 5

KINDS = {"dropout": DROPOUT, "freeze": FREEZE, "bias": BIAS, "drift": DRIFT, "noise": NOISE}
SIZED = ("bias", "drift", "noise")
"""Kinds that need a size."""

FAULT_LANE = np.int64(2)
"""The lane of its noise in the sensor's stream."""
ONE_DRAW = np.int64(0)

SENSOR_FAULT = record([("kind", "i8"), ("amount", "f8", 3), ("since_us", "i8")])
"""One that is not there has `since_us` of -1."""


@kernel
def kind_of_fault(fault, is_faulty, time_us):
    """Return what is wrong with a sample, and note since when."""
    if not is_faulty:
        fault.since_us = -1
        return NO_FAULT
    if fault.since_us < 0:
        fault.since_us = time_us
    return fault.kind


@kernel
def error_of_fault(fault, kind, key, sample, time_us):
    """Return what a fault adds to the three numbers of a sample."""
    amount = fault.amount
    if kind == BIAS:
        return amount[0], amount[1], amount[2]
    if kind == DRIFT:
        duration_s = (time_us - fault.since_us) / 1e6
        return amount[0] * duration_s, amount[1] * duration_s, amount[2] * duration_s
    if kind == NOISE:
        x, y, z = normal3(key, sample, FAULT_LANE, ONE_DRAW)
        return amount[0] * x, amount[1] * y, amount[2] * z
    return 0.0, 0.0, 0.0


def check_fault(field: str, on_fault: Any, size: Any) -> None:
    """Raise `InputError` unless a fault is of a known kind, and does something."""
    check_kind(f"{field}.on_fault", on_fault, KINDS)
    if on_fault in SIZED and not any(check_vector(f"{field}.fault_size", size)):
        raise InputError(f"{field}.fault_size = {size!r} makes a {on_fault} of nothing; give a size, or use dropout")


def write_fault(rec: Any, on_fault: str, size: Vector3) -> None:
    """Write a fault that has not come yet into a `SENSOR_FAULT` record."""
    rec["kind"] = KINDS[on_fault]
    rec["amount"] = size
    rec["since_us"] = -1
