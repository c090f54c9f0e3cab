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

from px4lockstep.io import blocks
from px4lockstep.plant.faults import FAULTS, FIRST
from px4lockstep.plant.layout import MAX_MOTORS, MAX_SERVOS

ROWS_PER_CHUNK = 512
"""Small enough to stay in the processor's cache between packing and hashing."""


Part = tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]
"""Packed rows, and the fault kinds added later, by name."""


@functools.cache
def flight_dtype(n_x: int, has_later: bool) -> np.dtype[Any]:
    """Return the packed layout of a row: the fields of every digest, then the fault kinds added later if asked for."""
    own = {name: (FAULTS[name].base.newbyteorder("<"), FAULTS[name].shape) for name in FAULTS.names or ()}
    first = [(name, *own[name]) for name in FIRST]
    later = [(name, *own[name]) for name in own if name not in FIRST]
    held: list[Any] = [("motors", "<f8", MAX_MOTORS), ("servos", "<f8", MAX_SERVOS), ("wind_ned", "<f8", 3)]
    kinds = [("faults", first), ("later_faults", later)]
    return np.dtype([("time_us", "<u8"), ("x", "<f8", n_x), *held, *kinds[: 1 + (has_later and bool(later))]])


def pack_flight(
    time_us: Any, x: npt.NDArray[Any], inputs: npt.NDArray[Any], has_later: bool = True
) -> npt.NDArray[Any]:
    """Pack rows of time, state and held inputs, with or without the fault kinds added later.

    Inputs that the rows do not have are 0: see `log_layout`.
    """
    packed = np.zeros(len(inputs), flight_dtype(x.shape[1], has_later))
    packed["time_us"] = time_us
    packed["x"] = x
    packed["wind_ned"] = inputs["wind_ned"]
    _pack(inputs["command"], packed)
    for part in (name for name in packed.dtype.names or () if name.endswith("faults")):
        _pack(inputs["faults"], packed[part])
    return packed


def _pack(source: npt.NDArray[Any], packed: npt.NDArray[Any]) -> None:
    """Pack the fields that a source has."""
    for name in packed.dtype.names or ():
        if name in (source.dtype.names or ()):
            values = source[name]
            (packed[name] if values.ndim == 1 else packed[name][:, : values.shape[1]])[...] = values


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
    times_us, inputs = log["time_us"], log["inputs"]
    later = [name for name in inputs["faults"].dtype.names or () if name not in FIRST]
    parts = (
        (pack_flight(times_us[part], state[part], inputs[part], False), {k: inputs["faults"][k][part] for k in later})
        for part in blocks(log, ROWS_PER_CHUNK)
    )
    if end is None:
        end = pack_flight(times_us[-1:], state[-1:], inputs[-1:])
    return _digest_of(chain(parts, [_split(end)]))


def live_digest(log: npt.NDArray[Any], end: npt.NDArray[Any]) -> str:
    """Return the digest of the fields that only a live run has, from a log and the packed end of the flight."""
    parts = (pack_live(log["time_us"][part], log["bus"][part]) for part in blocks(log, ROWS_PER_CHUNK))
    return _digest_of((part, {}) for part in chain(parts, [end]))


def _split(packed: npt.NDArray[Any]) -> Part:
    """Split packed rows into those of every digest and the fault kinds added later."""
    names = packed.dtype.names or ()
    if "later_faults" not in names:
        return packed, {}
    later = packed["later_faults"]
    rows = np.ascontiguousarray(packed).view(np.uint8).reshape(len(packed), -1)
    first = np.ascontiguousarray(rows[:, : -later.dtype.itemsize])  # the fault kinds added later are at the end
    return first, {name: later[name] for name in later.dtype.names or ()}


def _digest_of(packed: Iterable[Part]) -> str:
    """Return the SHA-256 of packed rows, in order, as hexadecimal.

    A fault kind that was added later and is not 0 everywhere appends its name and the SHA-256 of its values.
    """
    digest = hashlib.sha256()
    later: dict[str, Any] = {}
    used: set[str] = set()
    for part, kinds in packed:
        digest.update(part.data)
        for name, values in kinds.items():
            numbers = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
            later.setdefault(name, hashlib.sha256()).update(numbers.data)
            if numbers.any():
                used.add(name)
    for name in sorted(used):
        digest.update(name.encode())
        digest.update(later[name].digest())
    return digest.hexdigest()
