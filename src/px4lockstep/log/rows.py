"""The log of a flight while it is flown: files, mapped, that the compiled loop writes to as it would to memory.

What is written is the file's at once, so a process that is killed loses none of it, and its memory can be given back.
A folder has a file for each stream of the simulation (see `engine.streams`), rows one after the other, which grows as
the flight goes on, and `head`, a record: its `logged` is raised when a row of the log is complete. The files are for
the version that wrote them; a run that has ended has its log as Parquet.
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
from px4lockstep.engine.timeline import MAX_BOUNDARIES
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.io import part_folder
from px4lockstep.jit import record
from px4lockstep.jit.records import limits_of
from px4lockstep.log.log import Log, checked_times
from px4lockstep.plant.layout import MAX_STATES
from px4lockstep.sensors.suite import SENSOR_OUT
from px4lockstep.vehicle.dispatch import PLANT

TITLE = b"px4lockstep rows"
START_BYTES = 64
PAGE_BYTES = 4_096
HEAD_FILE = "head"
COUNTS = record(
    [
        ("states", "i8"),  # of the plant
        ("has_sensors", "i8"),
        ("logged", "i8"),  # rows that are complete
    ],
    limits={"states": MAX_STATES, "has_sensors": 1, "logged": MAX_BOUNDARIES},
)
HEAD = np.dtype(
    [
        ("start", f"S{START_BYTES}"),  # the title, and the hash of the layouts
        *((name, "i8") for name in COUNTS.names or ()),
        ("core", "u1", SIM.itemsize),  # the records of the simulation before the flight, a `SIM`
    ]
)


class RowFiles:
    """The files of a flight in a folder, `target`; they are made in another, which takes its place."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder, self._target = folder, target
        self._held: set[str] = set()

    def map(self, name: str, size: int) -> mmap.mmap:
        """Return a file of so many bytes or more, mapped; what is in it stays."""
        path, size = self.folder / name, max(size, 1)
        with path.open("r+b" if path.exists() else "w+b") as file:
            _reserve(file, size)
            return mmap.mmap(file.fileno(), size)

    def grow(self, name: str, array: npt.NDArray[Any], rows: int, used: int) -> npt.NDArray[Any]:
        """Return the array of a stream in its file, with so many rows: see `buffers.Grow`."""
        shape = (rows, *array.shape[1:])
        size = int(np.prod(shape)) * array.dtype.itemsize
        try:
            grown: npt.NDArray[Any] = np.ndarray(shape, array.dtype, self.map(name, size))
        except OSError as error:
            raise SimulationError(
                f"{self._target} can't grow: {error.strerror}. The log up to then is intact; make room, or use a "
                "folder on another disk"
            ) from error
        if name not in self._held:
            grown[:used] = array[:used]
            self._held.add(name)
        return grown


def hold_rows(simulation: Simulation, path: str | Path) -> None:
    """Let a simulation keep its log, and what it records, in files of a new folder; the first rows must have room."""
    size = sum(array.nbytes for array in simulation.buffers.values())
    target = Path(path)
    try:
        with part_folder(target) as folder:
            files = RowFiles(folder, target)
            head = np.ndarray(1, HEAD, files.map(HEAD_FILE, HEAD.itemsize))
            head["start"] = _start()
            head["states"] = simulation.log_state.shape[1]
            head["has_sensors"] = simulation.log_sensors is not None
            head["core"] = np.frombuffer(simulation.core.tobytes(), np.uint8)  # by fields it takes milliseconds
            simulation.use_buffers(files.grow, head["logged"])
        files.folder = target
    except (OSError, SimulationError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        raise InputError(
            f"{path} can't be made: {getattr(cause, 'strerror', cause)}. The flight needs {size / 1e6:.1f} MB on the "
            "disk until it has ended; make room, use a folder on another disk, or a longer timeline.dt_log_s"
        ) from error


def read_rows(path: str | Path) -> Log:
    """Return the rows of a flight that are complete: of one that was killed, or is still being flown."""
    folder = Path(path)
    head_bytes = _read(folder / HEAD_FILE)
    start = head_bytes[:START_BYTES]
    if not start.startswith(TITLE):
        raise InputError(f"{path} can't be read: it is no log of px4lockstep")
    if start != _start():
        raise InputError(f"{path} was written by another version of px4lockstep; read it with that one")
    if len(head_bytes) < HEAD.itemsize:
        raise InputError(f"{folder / HEAD_FILE} can't be read: it is cut off after {len(head_bytes)} bytes")
    head = np.ndarray(1, HEAD, head_bytes)[0]
    core = np.frombuffer(head["core"].tobytes(), SIM)
    try:
        limits_of(PLANT).check(core["plant"], "the plant")
        limits_of(COUNTS).check(np.array([tuple(head[name] for name in COUNTS.names or ())], COUNTS), "its record")
    except InputError as error:
        raise InputError(f"{folder / HEAD_FILE} is damaged: {error}") from error
    logged, states = int(head["logged"]), int(head["states"])
    log = _rows_in(folder / "log", (logged,), LOG_ROW)
    state = _rows_in(folder / "log_state", (logged, states), np.dtype("f8"))
    sensors = _rows_in(folder / "log_sensors", (logged,), SENSOR_OUT) if head["has_sensors"] else None
    return checked_times(path, Log.of_rows(core[0], log, state, sensors))


def _rows_in(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the first rows of a file."""
    if 0 in shape:
        return np.zeros(shape, dtype)
    content = _read(path)
    try:
        return np.ndarray(shape, dtype, content)
    except (TypeError, ValueError) as error:  # what NumPy says of a buffer that is too small, and of a size below 0
        raise InputError(f"{path} can't be read: it is damaged, or cut off after {len(content)} bytes") from error


def _read(path: Path) -> mmap.mmap:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise InputError(f"{path} can't be read: it is not a regular file")
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # the latter of an empty file
        raise InputError(f"{path} can't be read: {error}") from error


def _reserve(file: BinaryIO, size: int) -> None:
    """Take room on the disk, so that it can't run out between two boundaries, where that ends the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # pragma: no cover - macOS
        file.seek(0, os.SEEK_END)
        for _ in range(-(-(size - file.tell()) // PAGE_BYTES)):
            file.write(bytes(PAGE_BYTES))
        file.flush()


def _start() -> bytes:
    return TITLE + (layout_hash(SIM) + layout_hash(LOG_ROW) + layout_hash(SENSOR_OUT)).encode()
