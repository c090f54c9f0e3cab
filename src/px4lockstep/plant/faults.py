"""Faults of a plant and its sensors, each described in one place.

`KINDS` is the description. The record, the columns of the log and its events, the errors of the validator and the
digest are derived from it. The kernels below must name the fields. 0 means no fault.

The digest of every flight covers the first kinds (`FIRST`). A later kind is part of the digest, the log and the
comparison of flights only where it is not 0: see `engine.digest`. A new kind, appended to `KINDS`, therefore does not
change the digest of flights without it, and a recording that lacks it is read with zeros.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.jit import kernel, record
from px4lockstep.plant import layout
from px4lockstep.plant.layout import MAX_MOTORS

MOTOR_MASK = "motor mask"  # bit i: motor i + 1
SENSOR_MASK = "sensor mask"  # SENSOR_FAULT_* bits
FLAG = "flag"  # 0 or 1
FRACTIONS = "fractions"  # 0 to 1, for each motor

SENSORS = {
    "gyro": (layout.SENSOR_FAULT_GYRO, "gyro"),
    "accel": (layout.SENSOR_FAULT_ACCEL, "accelerometer"),
    "mag": (layout.SENSOR_FAULT_MAG, "magnetometer"),
    "baro": (layout.SENSOR_FAULT_BARO, "barometer"),
    "gps": (layout.SENSOR_FAULT_GPS, "GPS"),
    "estimate": (layout.SENSOR_FAULT_EST_FREEZE, "estimate frozen"),
}
"""The bit of each sensor in a sensor mask and the name of its fault in reports, by the sensor's name in a scenario."""

ALL_SENSORS = sum(bit for bit, _ in SENSORS.values())
HIGHEST = {MOTOR_MASK: 2**MAX_MOTORS - 1, SENSOR_MASK: ALL_SENSORS, FLAG: 1}


@dataclass(frozen=True)
class Fault:
    """A kind of fault: a field of `FAULTS` and a column of the log."""

    name: str
    form: str  # type of the field: `MOTOR_MASK`, `SENSOR_MASK`, `FLAG` or `FRACTIONS`
    doc: str  # description of the column of the log
    begins: str = ""  # label in reports; `{}` is a motor number from 1, or a sensor. Empty: another field has the label
    ends: str = ""

    @property
    def wrong(self) -> str:
        """The validator's message for an invalid value: a template of `mask`, `index`, `number` and `value`."""
        return {
            MOTOR_MASK: f"{self.name} {{mask:#b}} refers to a motor above {{index}}, the last one,",
            SENSOR_MASK: f"{self.name} {{mask:#b}} has bits other than SENSOR_FAULT_*,",
            FLAG: f"{self.name} is {{mask}}, not 0 or 1,",
            FRACTIONS: f"{self.name} of motor {{number}} is {{value}}, not within 0 to 1,",
        }[self.form]


KINDS = (
    Fault("motor_disabled_mask", MOTOR_MASK, "disabled motors, bit mask", "motor {} off", "motor {} back"),
    Fault("motor_stuck_mask", MOTOR_MASK, "motors with a stuck duty, bit mask", "motor {} stuck", "motor {} free"),
    Fault("motor_weak_mask", MOTOR_MASK, "motors that lost thrust, bit mask", "motor {} weak", "motor {} recovered"),
    Fault("stuck_duty", FRACTIONS, "duty of each stuck motor"),
    Fault("thrust_loss", FRACTIONS, "fraction of thrust that each weak motor lost"),
    Fault("battery_disconnected", FLAG, "1: all batteries disconnected", "battery disconnected", "battery connected"),
    Fault("sensor_fault_mask", SENSOR_MASK, "SENSOR_FAULT_* bits", "fault: {}", "fault over: {}"),
    Fault("motor_cut_off_mask", MOTOR_MASK, "motors cut off by their ESC, bit mask", "motor {} cut off", "motor {} on"),
)
"""All kinds, in the order of the log. Append new ones."""

FIRST = (
    *("motor_disabled_mask", "motor_stuck_mask", "motor_weak_mask", "battery_disconnected", "sensor_fault_mask"),
    *("stuck_duty", "thrust_loss"),
)
"""The fields in the digest of every flight, in its order. Never change this."""
LATER = tuple(fault.name for fault in KINDS if fault.name not in FIRST)

NUMBERS = {fault.name: i for i, fault in enumerate(KINDS)}


def _field(name: str) -> tuple[str, str] | tuple[str, str, int]:
    return (name, "f8", MAX_MOTORS) if KINDS[NUMBERS[name]].form == FRACTIONS else (name, "i8")


FAULTS = record(
    [_field(name) for name in (*FIRST, *LATER)],
    limits={fault.name: HIGHEST[fault.form] for fault in KINDS if fault.form in HIGHEST},
)
"""The active faults. A disabled motor is off even if it is stuck.

They are the scenario's, except `motor_cut_off_mask`, which the plant keeps at autopilot ticks.
"""

# -- kernels that name the fields ------------------------------------------------------------------------------------

NO_FAULT_IS_WRONG = np.int64(-1)
MOTOR_DISABLED_MASK, MOTOR_STUCK_MASK, MOTOR_WEAK_MASK, *_others = np.arange(len(KINDS))  # in the order of `KINDS`
STUCK_DUTY, THRUST_LOSS, BATTERY_DISCONNECTED, SENSOR_FAULT_MASK, MOTOR_CUT_OFF_MASK = _others


@kernel
def first_outside(fractions: Any) -> Any:
    """Return the index of the first number that is not within 0 to 1, or -1."""
    for i in range(MAX_MOTORS):
        if not 0.0 <= fractions[i] <= 1.0:
            return i
    return -1


@kernel
def wrong_fault(faults: Any, n_motors: Any) -> Any:
    """Return the number of the first kind with an invalid value, or `NO_FAULT_IS_WRONG`."""
    if faults.motor_disabled_mask >> n_motors != 0:  # also for a negative mask, which has all higher bits set
        return MOTOR_DISABLED_MASK
    if faults.motor_stuck_mask >> n_motors != 0:
        return MOTOR_STUCK_MASK
    if faults.motor_weak_mask >> n_motors != 0:
        return MOTOR_WEAK_MASK
    if faults.battery_disconnected >> 1 != 0:
        return BATTERY_DISCONNECTED
    if faults.sensor_fault_mask & ~ALL_SENSORS != 0:
        return SENSOR_FAULT_MASK
    if faults.motor_cut_off_mask >> n_motors != 0:
        return MOTOR_CUT_OFF_MASK
    if first_outside(faults.stuck_duty) >= 0:
        return STUCK_DUTY
    if first_outside(faults.thrust_loss) >= 0:
        return THRUST_LOSS
    return NO_FAULT_IS_WRONG


@kernel
def fraction_changed(now: Any, before: Any) -> Any:
    """Return whether any fraction changed, bit for bit."""
    changed = 0
    for i in range(MAX_MOTORS):
        changed += np.float64(now[i]).view(np.int64) != np.float64(before[i]).view(np.int64)
    return changed != 0


@kernel
def fault_changed(now: Any, before: Any) -> Any:
    """Return whether any fault differs from a copy."""
    return (
        now.motor_disabled_mask != before.motor_disabled_mask
        or now.motor_stuck_mask != before.motor_stuck_mask
        or now.motor_weak_mask != before.motor_weak_mask
        or now.battery_disconnected != before.battery_disconnected
        or now.sensor_fault_mask != before.sensor_fault_mask
        or now.motor_cut_off_mask != before.motor_cut_off_mask
        or fraction_changed(now.stuck_duty, before.stuck_duty)
        or fraction_changed(now.thrust_loss, before.thrust_loss)
    )
