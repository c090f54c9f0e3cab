"""The digest of a flight: SHA-256 over packed little-endian fields, so that no padding byte can enter.

For every row of the log, and once more for the end: time, plant state, motor and servo commands, wind and faults as
held. A replay can reproduce all of that. What only a live run has, the estimate and the
autopilot's setpoints, has a digest of its own.
"""

import functools
import hashlib
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.io import blocks
from px4lockstep.plant.layout import FAULTS, MAX_MOTORS, MAX_SERVOS

ROWS_PER_CHUNK = 512
"""What stays in the processor's cache between packing and hashing."""


@functools.cache
def flight_dtype(n_x: int) -> np.dtype[Any]:
    """Return the packed layout of a row that enters the digest."""
    return np.dtype(
        [
            ("time_us", "<u8"),
            ("x", "<f8", n_x),
            ("motors", "<f8", MAX_MOTORS),
            ("servos", "<f8", MAX_SERVOS),
            ("wind_ned", "<f8", 3),
            ("faults", FAULTS.newbyteorder("<")),
        ]
    )


def pack_flight(time_us: Any, x: npt.NDArray[Any], inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Pack rows of time, state and held inputs."""
    packed = np.empty(len(inputs), flight_dtype(x.shape[1]))
    packed["time_us"] = time_us
    packed["x"] = x
    packed["motors"] = inputs["command"]["motors"]
    packed["servos"] = inputs["command"]["servos"]
    packed["wind_ned"] = inputs["wind_ned"]
    packed["faults"] = inputs["faults"]
    return packed


def pack_live(time_us: Any, bus: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Pack rows of time, estimate and what the autopilot tells of itself."""
    parts = [(name, bus.dtype[name].newbyteorder("<")) for name in ("estimate", "autopilot")]
    packed = np.zeros(len(bus), np.dtype([("time_us", "<u8"), *parts]))
    packed["time_us"] = time_us
    for name, _ in parts:
        packed[name] = bus[name]
    return packed


def flight_digest(log: npt.NDArray[Any], state: npt.NDArray[np.float64], end: npt.NDArray[Any] | None = None) -> str:
    """Return the digest of a log's rows and the end, packed; if the flight is over, the end is the last row again."""
    parts = (
        pack_flight(log["time_us"][part], state[part], log["inputs"][part]) for part in blocks(log, ROWS_PER_CHUNK)
    )
    if end is None:
        end = pack_flight(log["time_us"][-1:], state[-1:], log["inputs"][-1:])
    return _digest_of(chain(parts, [end]))


def live_digest(log: npt.NDArray[Any], end: npt.NDArray[Any]) -> str:
    """Return the digest of what a log's rows and the end, packed, have of a live run only."""
    parts = (pack_live(log["time_us"][part], log["bus"][part]) for part in blocks(log, ROWS_PER_CHUNK))
    return _digest_of(chain(parts, [end]))


def _digest_of(packed: Iterable[npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of packed rows, in order, as hexadecimal."""
    digest = hashlib.sha256()
    for part in packed:
        digest.update(part.data)
    return digest.hexdigest()
