"""The bus: all data exchanged between the stages of a simulation, as one versioned record.

Scenario, wind, estimator and autopilot each write their own part and read the others. The plant's held inputs (`INPUT`)
are copied from the bus. A recording consists of arrays of these records, so a new layout needs a new version.
"""

import hashlib
from typing import Any

import numpy as np

from px4lockstep.jit import record
from px4lockstep.plant.faults import FAULTS
from px4lockstep.plant.layout import BATTERY_STATUS, COMMAND, MAX_BATTERIES, OUTPUTS

BUS_SCHEMA_VERSION = 2

ESTIMATE_ERROR = record([("pos_ned", "f8", 3), ("vel_ned", "f8", 3), ("yaw", "f8"), ("omega_body", "f8", 3)])
"""An error of the estimate; the yaw error is a rotation about the down axis."""

ESTIMATE_FAULTS = record(
    [
        ("dropout", "i8"),  # 1: no position and velocity, 2: height and its rate continue; attitude and rates do
        ("bias", ESTIMATE_ERROR),  # constant error
        ("drift", ESTIMATE_ERROR),  # error growth per second, for as long as it is set
    ]
)
"""Faults of the estimate, in addition to the `SENSOR_FAULT_*` bits."""

SCENARIO_OUT = record(
    [
        ("arm", "i8"),  # request to the autopilot: 0 disarmed, else armed; an increment is a new request to arm
        ("mission", "i8"),  # number of requests, as in the next two; an increment is a new request
        ("return_home land", "i8"),
        ("landed", "i8"),
        ("crashed", "i8"),  # not 0: crashed, which ends the run unless it is `landing.CRASH_LIES`
        ("wind_ned", "f8", 3),  # added to the wind source's velocity, effective immediately
        ("faults", FAULTS),
        ("estimate_faults", ESTIMATE_FAULTS),
    ]
)

WIND_OUT = record([("vel_ned", "f8", 3)])
"""Air velocity over ground from the wind source alone; the plant gets its sum with the scenario's wind and gusts."""

ESTIMATE = record(
    [
        ("pos_ned vel_ned", "f8", 3),
        ("q_bn", "f8", 4),
        ("omega_body", "f8", 3),
        ("is_valid", "f8"),  # 0: position and velocity hold their last values and must not be used
    ]
)

AUTOPILOT_OUT = record(
    [
        ("armed", "i8"),
        ("nav_state", "i8"),  # PX4's number: 0 manual, 3 mission, 4 loiter, 5 return, 12 descend, 18 land
        ("failsafe", "i8"),  # last failsafe warning or action: see `autopilots.builtin.commander`
        ("mission_item", "i8"),  # counted from 0
        ("mission_count mission_finished", "i8"),
        ("pos_sp_ned vel_sp_ned acc_sp_ned", "f8", 3),
        ("yaw_sp yawspeed_sp", "f8"),
        ("q_sp", "f8", 4),
        ("rate_sp_body", "f8", 3),
        ("torque_sp_body thrust_sp_body", "f8", 3),  # normalized
    ]
)
"""Status of the autopilot: its state and its setpoints. NaN: no setpoint."""

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
"""The bus in a row of the log, without time, faults and command: the row has its own time and the held inputs."""


def layout_hash(dtype: np.dtype[Any]) -> str:
    """Return a short hash of a record's field names, types, shapes and offsets, including nested records."""
    return hashlib.sha256(_describe(dtype).encode()).hexdigest()[:16]


def _describe(dtype: np.dtype[Any]) -> str:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return f"{_describe(base)}{list(shape)}"
    if dtype.names is None or dtype.fields is None:
        return dtype.str
    fields = (f"{name}@{dtype.fields[name][1]}:{_describe(dtype.fields[name][0])}" for name in dtype.names)
    return f"{{{','.join(fields)}}}{dtype.itemsize}"
