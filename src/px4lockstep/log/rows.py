"""The log of a flight while it is flown: a file, mapped, that the compiled loop writes to as it would to memory.

What is written is the file's at once, so a process that is killed loses none of it, and its memory can be given back.
A record, `HEAD`, is followed by the arrays of the simulation, each at the start of a page of the file: the log, its
states, and the streams of a recording. `logged` is raised when a row is whole. The file is for the version that wrote
it; a run that has ended has its log as Parquet.
"""

import mmap
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import layout_hash
from px4lockstep.engine.core import LOG_ROW, SIM
from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError
from px4lockstep.io import atomic_path
from px4lockstep.log.log import Log
from px4lockstep.sensors.suite import SENSOR_OUT

TITLE = b"px4lockstep rows"
START_BYTES = 64
PAGE_BYTES = 4_096
HEAD = np.dtype(
    [
        ("start", f"S{START_BYTES}"),  # the title, and the hash of the layouts
        ("rows", "i8"),  # that there is room for
        ("states", "i8"),  # of the plant
        ("sensor_rows", "i8"),  # 0 without sensors
        ("logged", "i8"),  # rows that are whole
        ("core", "u1", SIM.itemsize),  # the records of the simulation before the flight, a `SIM`
    ]
)
HELD = ("log", "log_state", "log_sensors", "commands", "winds", "fingerprints")
"""What grows with the flight, in the order of the file."""


def hold_rows(simulation: Simulation, path: str | Path) -> None:
    """Let a simulation keep its log, and what it records, in a file.

    Raises:
        InputError: If the file can't be made, or there is no room for all that will be written.
    """
    room = simulation.room
    offsets, size = {}, _paged(HEAD.itemsize)
    for name in HELD:
        offsets[name] = size
        size += _paged(room[name].nbytes)
    with atomic_path(path) as part, part.open("w+b") as file:
        try:
            _reserve(file, size)
        except OSError as error:
            raise InputError(
                f"{path} can't be made: {error.strerror}. The flight needs {size / 1e6:.1f} MB on the disk until it "
                "has ended; make room, use a folder on another disk, or a longer timeline.dt_log_s"
            ) from error
        mapping = mmap.mmap(file.fileno(), size)
        head = np.ndarray(1, HEAD, mapping)
        head["start"] = _start()
        head["rows"], head["states"] = room["log_state"].shape
        head["sensor_rows"] = len(room["log_sensors"])
        head["core"] = np.frombuffer(simulation.core.tobytes(), np.uint8)  # by fields it takes milliseconds
    arrays = {name: np.ndarray(room[name].shape, room[name].dtype, mapping, offsets[name]) for name in HELD}
    simulation.move_to(arrays | {"logged": head["logged"]})


def read_rows(path: str | Path) -> Log:
    """Return the rows of a flight that are whole: of one that was killed, or is still being flown.

    Raises:
        InputError: If the file can't be read, or is of another version.
    """
    try:
        with Path(path).open("rb") as file:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # the latter of an empty file
        raise InputError(f"{path} can't be read: {error}") from error
    start = mapping[:START_BYTES]
    if not start.startswith(TITLE):
        raise InputError(f"{path} can't be read: it is no log of px4lockstep")
    if start != _start():
        raise InputError(f"{path} was written by another version of px4lockstep; read it with that one")
    try:
        head = np.ndarray(1, HEAD, mapping)[0]
        rows, states, logged = (int(head[name]) for name in ("rows", "states", "logged"))
        log_at = _paged(HEAD.itemsize)
        log = np.ndarray(rows, LOG_ROW, mapping, log_at)
        state_at = log_at + _paged(log.nbytes)
        state: npt.NDArray[Any] = np.ndarray((rows, states), np.float64, mapping, state_at)
        sensors = np.ndarray(int(head["sensor_rows"]), SENSOR_OUT, mapping, state_at + _paged(state.nbytes))
    except (TypeError, ValueError) as error:  # what NumPy says of a buffer that is too small, and of a size below 0
        raise InputError(f"{path} can't be read: it is damaged, or cut off after {len(mapping)} bytes") from error
    reported = sensors[:logged] if len(sensors) else None
    return Log.of_rows(head["core"].view(SIM)[0], log[:logged], state[:logged], reported)


def _reserve(file: BinaryIO, size: int) -> None:
    """Take room on the disk, so that it can't run out in flight, where that ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # pragma: no cover - macOS
        for _ in range(size // PAGE_BYTES):
            file.write(bytes(PAGE_BYTES))
        file.flush()


def _paged(size: int) -> int:
    """Return a size as whole pages."""
    return -(-size // PAGE_BYTES) * PAGE_BYTES


def _start() -> bytes:
    return TITLE + (layout_hash(SIM) + layout_hash(LOG_ROW) + layout_hash(SENSOR_OUT)).encode()
