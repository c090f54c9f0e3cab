"""The bus: everything that the parts of a simulation say to each other, as one versioned record.

Scenario, wind, estimator and autopilot each write their own part and read the others'. What is held for the plant is
copied from it (`INPUT`). A recording is arrays of these records, so a change of layout is a change of version.
"""

import hashlib
from typing import Any

import numpy as np

from px4lockstep.jit import record
from px4lockstep.plants.layout import BATTERY_STATUS, COMMAND, FAULTS, MAX_BATTERIES, OUTPUTS

BUS_SCHEMA_VERSION = 1

SCENARIO_OUT = record(
    [
        ("arm", "i8"),  # requests to the autopilot
        ("mission", "i8"),
        ("return_home", "i8"),
        ("land", "i8"),
        ("landed", "i8"),
        ("wind_ned", "f8", 3),  # on top of the wind source's, at once
        ("faults", FAULTS),
    ]
)

WIND_OUT = record([("vel_ned", "f8", 3)])
"""The velocity of the air over the ground, of the wind source alone; the plant gets the sum with the scenario's."""

ESTIMATE = record([("pos_ned", "f8", 3), ("vel_ned", "f8", 3), ("q_bn", "f8", 4), ("omega_body", "f8", 3)])

BUS = record(
    [
        ("time_us", "u8"),
        ("scenario", SCENARIO_OUT),
        ("wind", WIND_OUT),
        ("outputs", OUTPUTS),
        ("battery", BATTERY_STATUS, MAX_BATTERIES),  # as measured
        ("estimate", ESTIMATE),
        ("command", COMMAND),
        ("marker", "i8"),  # written and read by order probes only
    ]
)


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
