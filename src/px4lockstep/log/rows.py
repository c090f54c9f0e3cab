"""The log of a flight in progress: memory-mapped files that the compiled loop writes to like memory.

Data is in the file as soon as it is written, so a killed process loses none of it, and its memory can be released. The
folder has one file of rows for each stream of the simulation (see `engine.streams`), which grows during the flight, and
`head`, a record whose `logged` is incremented when a row of the log is complete. Only the version that wrote the files
can read them; a finished run has its log as Parquet.
"""

import mmap
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import layout_hash
from px4lockstep.engine.core import LOG_ROW, SIM
from px4lockstep.engine.log_layout import WHOLE, Widths, layout_of
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import MAX_BOUNDARIES
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.io import part_folder
from px4lockstep.jit import record
from px4lockstep.jit.records import limits_of
from px4lockstep.log.log import Log, checked_times
from px4lockstep.log.messages import write_head
from px4lockstep.plant.layout import MAX_STATES
from px4lockstep.sensors.suite import SENSOR_OUT
from px4lockstep.vehicle.dispatch import PLANT

TITLE = b"px4lockstep rows"
START_BYTES = 64
PAGE_BYTES = 4_096
HEAD_FILE = "head"
COUNTS = record(
    [
        ("states", "i8"),  # number of the plant's states
        ("has_sensors", "i8"),
        ("logged", "i8"),  # number of complete rows
        (" ".join(Widths._fields), "i8"),  # of a row
    ],
    limits={"states": MAX_STATES, "has_sensors": 1, "logged": MAX_BOUNDARIES, **WHOLE._asdict()},
)
HEAD = np.dtype(
    [
        ("start", f"S{START_BYTES}"),  # title and hash of the layouts
        *((name, "i8") for name in COUNTS.names or ()),
        ("core", "u1", SIM.itemsize),  # the records of the simulation before the flight, a `SIM`
    ]
)


class RowFiles:
    """The files of a flight; they are created in `folder`, which is then renamed to `target`."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.folder, self._target = folder, target
        self._held: set[str] = set()

    def map(self, name: str, size: int) -> mmap.mmap:
        """Return a mapping of a file of at least `size` bytes; its contents are preserved."""
        path, size = self.folder / name, max(size, 1)
        with path.open("r+b" if path.exists() else "w+b") as file:
            _reserve(file, size)
            return mmap.mmap(file.fileno(), size)

    def grow(self, name: str, array: npt.NDArray[Any], rows: int, used: int) -> npt.NDArray[Any]:
        """Return the array of a stream in its file, grown to a number of rows: see `buffers.Grow`."""
        shape = (rows, *array.shape[1:])
        size = int(np.prod(shape)) * array.dtype.itemsize
        try:
            grown: npt.NDArray[Any] = np.ndarray(shape, array.dtype, self.map(name, size))
        except OSError as error:
            raise SimulationError(
                f"{self._target} can't grow: {error.strerror}. The log up to then is intact; free disk space, or use a "
                "folder on another disk"
            ) from error
        if name not in self._held:
            grown[:used] = array[:used]
            self._held.add(name)
        return grown


def hold_rows(simulation: Simulation, path: str | Path) -> None:
    """Let a simulation keep its log and recording in files of a new folder; reserve disk space for the first rows."""
    size = sum(array.nbytes for array in simulation.buffers.values())
    target = Path(path)
    try:
        with part_folder(target) as folder:
            files = RowFiles(folder, target)
            head = np.ndarray(1, HEAD, files.map(HEAD_FILE, HEAD.itemsize))
            head["start"] = _start()
            head["states"] = simulation.log_state.shape[1]
            head["has_sensors"] = simulation.log_sensors is not None
            for name, width in simulation.row_widths._asdict().items():
                head[name] = width
            head["core"] = np.frombuffer(simulation.core.tobytes(), np.uint8)  # copying by field takes milliseconds
            simulation.use_buffers(files.grow, head["logged"])
            write_head(simulation.autopilot.message_log, folder)
        files.folder = target
    except (OSError, SimulationError) as error:
        cause = error if isinstance(error, OSError) else error.__cause__
        raise InputError(
            f"{path} can't be created: {getattr(cause, 'strerror', cause)}. The flight needs {size / 1e6:.1f} MB on "
            "disk until it ends; free disk space, use a folder on another disk, or a longer timeline.dt_log_s"
        ) from error


def read_rows(path: str | Path) -> Log:
    """Return the complete rows of a flight that was killed or is still being flown."""
    folder = Path(path)
    head_bytes = _read(folder / HEAD_FILE)
    start = head_bytes[:START_BYTES]
    if not start.startswith(TITLE):
        raise InputError(f"{path} can't be read: it is not a px4lockstep log")
    if start != _start():
        raise InputError(f"{path} was written by another version of px4lockstep; read it with that version")
    if len(head_bytes) < HEAD.itemsize:
        raise InputError(f"{folder / HEAD_FILE} can't be read: it is truncated to {len(head_bytes)} bytes")
    head = np.ndarray(1, HEAD, head_bytes)[0]
    core = np.frombuffer(head["core"].tobytes(), SIM)
    try:
        limits_of(PLANT).check(core["plant"], "the plant")
        limits_of(COUNTS).check(np.array([tuple(head[name] for name in COUNTS.names or ())], COUNTS), "its record")
    except InputError as error:
        raise InputError(f"{folder / HEAD_FILE} is damaged: {error}") from error
    logged, states = int(head["logged"]), int(head["states"])
    layout = layout_of(Widths(*(int(head[name]) for name in Widths._fields)))
    log = _rows_in(folder / "log", (logged,), layout.dtype)
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
    except (TypeError, ValueError) as error:  # NumPy's errors for a buffer that is too small, or a negative size
        raise InputError(f"{path} can't be read: it is damaged, or truncated to {len(content)} bytes") from error


def _read(path: Path) -> mmap.mmap:
    if path.exists() and not path.is_file():  # reading a pipe would block
        raise InputError(f"{path} can't be read: it is not a regular file")
    try:
        with path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:  # ValueError for an empty file
        raise InputError(f"{path} can't be read: {error}") from error


def _reserve(file: BinaryIO, size: int) -> None:
    """Reserve disk space: if it ran out while the loop writes, the process would die."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    else:  # pragma: no cover - macOS
        file.seek(0, os.SEEK_END)
        for _ in range(-(-(size - file.tell()) // PAGE_BYTES)):
            file.write(bytes(PAGE_BYTES))
        file.flush()


def _start() -> bytes:
    return TITLE + (layout_hash(SIM) + layout_hash(LOG_ROW) + layout_hash(SENSOR_OUT)).encode()
