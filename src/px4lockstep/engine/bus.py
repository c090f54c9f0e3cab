"""The bus: everything that the parts of a simulation say to each other, as one versioned record.

Scenario, wind, estimator and autopilot each write their own part and read the others'. What is held for the plant is
copied from it (`INPUT`). A recording is arrays of these records, so a change of layout is a change of version.
"""

import hashlib
from typing import Any

import numpy as np

from px4lockstep.jit import record
from px4lockstep.plant.faults import FAULTS
from px4lockstep.plant.layout import BATTERY_STATUS, COMMAND, MAX_BATTERIES, OUTPUTS

BUS_SCHEMA_VERSION = 2

ESTIMATE_ERROR = record([("pos_ned", "f8", 3), ("vel_ned", "f8", 3), ("yaw", "f8"), ("omega_body", "f8", 3)])
"""An error of the estimate; the yaw is a rotation about down."""

ESTIMATE_FAULTS = record(
    [
        ("dropout", "i8"),  # 1: no position and velocity; attitude and rates go on
        ("bias", ESTIMATE_ERROR),  # added at once
        ("drift", ESTIMATE_ERROR),  # added per second, for as long as it is set
    ]
)
"""What is wrong with the estimate, besides what `SENSOR_FAULT_*` bits say."""

SCENARIO_OUT = record(
    [
        ("arm", "i8"),  # requests to the autopilot: 1 to be armed, 0 not
        ("mission", "i8"),  # how often it was asked for, and of the next two; the one that rises is asked for now
        ("return_home land", "i8"),
        ("landed", "i8"),
        ("crashed", "i8"),  # not 0: has hit the ground, which ends the run unless it is `landing.CRASH_LIES`
        ("wind_ned", "f8", 3),  # on top of the wind source's, at once
        ("faults", FAULTS),
        ("estimate_faults", ESTIMATE_FAULTS),
    ]
)

WIND_OUT = record([("vel_ned", "f8", 3)])
"""The velocity of the air over the ground, of the wind source alone; the plant gets the sum with the scenario's."""

ESTIMATE = record(
    [
        ("pos_ned vel_ned", "f8", 3),
        ("q_bn", "f8", 4),
        ("omega_body", "f8", 3),
        ("is_valid", "f8"),  # 0: position and velocity are held from before, and not to be used
    ]
)

AUTOPILOT_OUT = record(
    [
        ("armed", "i8"),
        ("nav_state", "i8"),  # PX4's number: 0 manual, 3 mission, 4 loiter, 5 return, 12 descend, 18 land
        ("failsafe", "i8"),  # what it last warned of or acted on by itself: see `autopilot.builtin.commander`
        ("mission_item", "i8"),  # counted from 0
        ("mission_count mission_finished", "i8"),
        ("pos_sp_ned vel_sp_ned acc_sp_ned", "f8", 3),
        ("yaw_sp yawspeed_sp", "f8"),
        ("q_sp", "f8", 4),
        ("rate_sp_body", "f8", 3),
        ("torque_sp_body thrust_sp_body", "f8", 3),  # normalized
    ]
)
"""What an autopilot tells of itself: its state and its setpoints. NaN: no setpoint."""

BUS = record(
    [
        ("time_us", "u8"),
        ("scenario", SCENARIO_OUT),
        ("wind", WIND_OUT),
        ("outputs", OUTPUTS),
        ("battery", BATTERY_STATUS, MAX_BATTERIES),  # as measured
        ("estimate", ESTIMATE),
        ("autopilot", AUTOPILOT_OUT),
        ("command", COMMAND),
    ]
)


def _without(dtype: np.dtype[Any], *names: str) -> list[tuple[str, Any, Any]]:
    return [(name, dtype[name].base, dtype[name].shape) for name in dtype.names or () if name not in names]


LOGGED_SCENARIO = record(_without(SCENARIO_OUT, "faults"))
LOGGED_BUS = record([("scenario", LOGGED_SCENARIO), *_without(BUS, "time_us", "scenario", "command")])
"""What a row of the log has of the bus: all but the time, and but faults and command, which it has as they are held."""


def layout_hash(dtype: np.dtype[Any]) -> str:
    """Return a short hash of a record's field names, types, shapes and offsets, nested ones included."""
    return hashlib.sha256(_describe(dtype).encode()).hexdigest()[:16]


def _describe(dtype: np.dtype[Any]) -> str:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{_describe(base)}{list(shape)}"
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    fields = (f"{name}@{dtype.fields[name][1]}:{_describe(dtype.fields[name][0])}" for name in dtype.names)
    return f"{{{','.join(fields)}}}{dtype.itemsize}"
