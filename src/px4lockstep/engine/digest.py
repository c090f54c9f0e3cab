"""The digest of a flight: SHA-256 over packed little-endian fields, without padding bytes.

It covers, for every row of the log and once more for the end, the time, the plant state, and the held motor and servo
commands, wind and faults. A replay reproduces all of these. The estimate and the autopilot's setpoints exist only in a
live run and have a separate digest.

A fault kind that was added later (`plant.faults.LATER`) is part of the digest only if it occurs in the flight, so a new
kind does not change the digest of other flights.
"""

import functools
import hashlib
from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.recfunctions import repack_fields

from px4lockstep.io import blocks
from px4lockstep.plant.faults import FIRST
from px4lockstep.plant.layout import MAX_MOTORS, MAX_SERVOS

ROWS_PER_CHUNK = 512
"""Small enough to stay in the processor's cache between packing and hashing."""


@functools.cache
def flight_dtype(n_x: int, faults: np.dtype[Any]) -> np.dtype[Any]:
    """Return the packed layout of a row: the fields of every digest, then the fault kinds added later."""
    own = {name: (faults[name].base.newbyteorder("<"), faults[name].shape) for name in faults.names or ()}
    first = [(name, *own[name]) for name in FIRST]
    later = [(name, *own[name]) for name in own if name not in FIRST]
    held: list[Any] = [("motors", "<f8", MAX_MOTORS), ("servos", "<f8", MAX_SERVOS), ("wind_ned", "<f8", 3)]
    kinds = [("faults", first), ("later_faults", later)]
    return np.dtype([("time_us", "<u8"), ("x", "<f8", n_x), *held, *kinds[: 1 + bool(later)]])


def pack_flight(time_us: Any, x: npt.NDArray[Any], inputs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Pack rows of time, state and held inputs."""
    faults = inputs["faults"]
    packed = np.empty(len(inputs), flight_dtype(x.shape[1], faults.dtype))
    packed["time_us"] = time_us
    packed["x"] = x
    packed["motors"] = inputs["command"]["motors"]
    packed["servos"] = inputs["command"]["servos"]
    packed["wind_ned"] = inputs["wind_ned"]
    for part in (name for name in packed.dtype.names or () if name.endswith("faults")):
        for name in packed[part].dtype.names or ():
            packed[part][name] = faults[name]
    return packed


def pack_live(time_us: Any, bus: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Pack rows of time, estimate and autopilot status."""
    parts = [(name, bus.dtype[name].newbyteorder("<")) for name in ("estimate", "autopilot")]
    packed = np.zeros(len(bus), np.dtype([("time_us", "<u8"), *parts]))
    packed["time_us"] = time_us
    for name, _ in parts:
        packed[name] = bus[name]
    return packed


def flight_digest(log: npt.NDArray[Any], state: npt.NDArray[np.float64], end: npt.NDArray[Any] | None = None) -> str:
    """Return the digest of a log and of the packed end of the flight, by default the last row of the log."""
    parts = (
        pack_flight(log["time_us"][part], state[part], log["inputs"][part]) for part in blocks(log, ROWS_PER_CHUNK)
    )
    if end is None:
        end = pack_flight(log["time_us"][-1:], state[-1:], log["inputs"][-1:])
    return _digest_of(chain(parts, [end]))


def live_digest(log: npt.NDArray[Any], end: npt.NDArray[Any]) -> str:
    """Return the digest of the fields that only a live run has, from a log and the packed end of the flight."""
    parts = (pack_live(log["time_us"][part], log["bus"][part]) for part in blocks(log, ROWS_PER_CHUNK))
    return _digest_of(chain(parts, [end]))


def _digest_of(packed: Iterable[npt.NDArray[Any]]) -> str:
    """Return the SHA-256 of packed rows, in order, as hexadecimal.

    A fault kind that was added later and is not 0 everywhere appends its name and the SHA-256 of its values.
    """
    digest = hashlib.sha256()
    later: dict[str, Any] = {}
    used: set[str] = set()
    for part in packed:
        if "later_faults" not in (part.dtype.names or ()):
            digest.update(part.data)
            continue
        first = [name for name in part.dtype.names or () if name != "later_faults"]
        digest.update(repack_fields(part[first]).data)
        for name in part["later_faults"].dtype.names or ():
            numbers = np.ascontiguousarray(part["later_faults"][name])
            later.setdefault(name, hashlib.sha256()).update(numbers.data)
            if numbers.any():
                used.add(name)
    for name in sorted(used):
        digest.update(name.encode())
        digest.update(later[name].digest())
    return digest.hexdigest()
