"""The digest of a flight: SHA-256 over packed little-endian fields, without padding bytes.

It covers, for every row of the log and once more for the end, the time, the plant state, and the held motor and servo
commands, wind and faults. A replay reproduces all of these. The estimate and the autopilot's setpoints exist only in a
live run and have a separate digest.

A fault kind that was added later (`plant.faults.LATER`) is part of the digest only if it occurs in the flight, so a new
kind does not change the digest of other flights.
"""

import functools
import hashlib
import math
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.log_layout import words_of
from px4lockstep.io import blocks
from px4lockstep.jit.memory import WORD_BYTES
from px4lockstep.plant.faults import FAULTS, FIRST
from px4lockstep.plant.layout import MAX_MOTORS, MAX_SERVOS

ROWS_PER_CHUNK = 1_024
"""Small enough to stay in the processor's cache between packing and hashing."""


Part = tuple[npt.NDArray[Any], dict[str, npt.NDArray[Any]]]
"""Packed rows, and the fault kinds added later, by name."""
Span = tuple[int, int, int, int]
"""Words to copy to a packed row: to where, from the log (0) or the state (1), from where, and how many."""


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
    for target, source in _places(packed, time_us, x, inputs):
        target[...] = source
    return packed


def _places(
    packed: npt.NDArray[Any], time_us: Any, x: npt.NDArray[Any], inputs: npt.NDArray[Any]
) -> Iterator[tuple[npt.NDArray[Any], Any]]:
    """Yield the fields of packed rows, as wide as their source, and the source of each."""
    yield packed["time_us"], time_us
    yield packed["x"], x
    yield packed["wind_ned"], inputs["wind_ned"]
    faults = [packed[name] for name in ("faults", "later_faults") if name in (packed.dtype.names or ())]
    for part, source in ((packed, inputs["command"]), *((part, inputs["faults"]) for part in faults)):
        for name in part.dtype.names or ():
            if name in (source.dtype.names or ()):
                values = source[name]
                yield part[name] if values.ndim == 1 else part[name][:, : values.shape[1]], values


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
    if end is None:
        end = pack_flight(log["time_us"][-1:], state[-1:], log["inputs"][-1:])
    return _digest_of(chain(_parts(log, state), [_split(end)]))


def _parts(log: npt.NDArray[Any], state: npt.NDArray[np.float64]) -> Iterator[Part]:
    """Yield some packed rows at a time, valid until the next ones."""
    faults = log["inputs"]["faults"]
    later = {name: faults[name] for name in faults.dtype.names or () if name not in FIRST}
    packed = np.zeros(ROWS_PER_CHUNK, flight_dtype(state.shape[1], has_later=False))
    words, sources = _words(packed), (_words(log), _words(state))
    places = [
        (_column(words, to, count), _column(sources[source], start, count))
        for to, source, start, count in _spans(log.dtype, state.shape[1])
    ]
    for part in blocks(log, ROWS_PER_CHUNK):
        rows = len(log[part])
        for target, values in places:
            target[:rows] = values[part]
        yield packed[:rows], {name: values[part] for name, values in later.items()}


@functools.cache
def _spans(log: np.dtype[Any], n_x: int) -> list[Span]:
    """Return the spans of a packed row. Neighbours are one span: calls take longer than copying a few bytes."""
    packed, row, state = np.zeros(1, flight_dtype(n_x, has_later=False)), np.zeros(1, log), np.zeros((1, n_x))
    found: list[Span] = []
    for target, values in _places(packed, row["time_us"], state, row["inputs"]):
        source = int(values is state)
        to, start = _word_of(target, packed), _word_of(values, state if source else row)
        found.append((to, source, start, target.nbytes // WORD_BYTES))
    spans: list[Span] = []
    for to, source, start, count in sorted(found):
        before_to, before, before_start, length = spans[-1] if spans else (0, -1, 0, 0)
        if source == before and to - before_to == start - before_start == length:
            spans[-1] = before_to, source, before_start, length + count
        else:
            spans.append((to, source, start, count))
    return spans


def _words(rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the memory of rows as words, rows × words."""
    per_row = rows.itemsize * math.prod(rows.shape[1:]) // WORD_BYTES
    return words_of(np.ascontiguousarray(rows)).reshape(len(rows), per_row)


def _column(words: npt.NDArray[np.int64], start: int, count: int) -> npt.NDArray[np.void]:
    """Return some words of each row as one item, which NumPy copies in half the time of as many numbers."""
    item = np.dtype((np.void, count * WORD_BYTES))
    if not len(words):
        return np.zeros(0, item)  # a view needs memory
    return np.ndarray(len(words), item, words, start * WORD_BYTES, words.strides[:1])


def _word_of(part: npt.NDArray[Any], whole: npt.NDArray[Any]) -> int:
    """Return the index of the first word of a part of an array."""
    return (part.ctypes.data - whole.ctypes.data) // WORD_BYTES


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
    later: dict[str, list[npt.NDArray[Any]]] = {}
    used: set[str] = set()
    for part, kinds in packed:
        digest.update(part.data)
        for name, values in kinds.items():
            later.setdefault(name, []).append(values)
            if values.any():  # now: at the end, the pages of a long log would have to be read again
                used.add(name)
    for name in sorted(used):
        of_kind = hashlib.sha256()
        for values in later[name]:
            of_kind.update(np.ascontiguousarray(values, values.dtype.newbyteorder("<")).data)
        digest.update(name.encode())
        digest.update(of_kind.digest())
    return digest.hexdigest()
