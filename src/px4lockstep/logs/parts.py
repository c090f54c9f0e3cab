"""Parts of a log, written while a flight goes on: its bytes as they are in memory, which takes no time and no memory.

A part is a NumPy file with four arrays: the hash of the layouts, the records of the simulation, the rows of the log and
their states, all but the last as bytes. It is for the version that wrote it: a run that ended has its log as Parquet.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import layout_hash
from px4lockstep.engine.core import LOG_ROW, SIM
from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError
from px4lockstep.files import written_whole
from px4lockstep.logs.log import Log


def write_part(simulation: Simulation, first_row: int, path: str | Path) -> None:
    """Write the rows of a log from one on.

    Raises:
        InputError: If the file can't be written; nothing is left of it then.
    """
    rows = simulation.log[first_row:]
    with written_whole(path) as file:
        for array in (
            np.array([_layouts()]),
            np.frombuffer(simulation.core.tobytes(), np.uint8),
            rows.view(np.uint8).reshape(len(rows), LOG_ROW.itemsize),
            simulation.log_state[first_row:],
        ):
            np.save(file, array, allow_pickle=False)


def read_parts(paths: Sequence[str | Path]) -> Log:
    """Return the log of parts, one after the other.

    Raises:
        InputError: If one can't be read, or is of another version.
    """
    parts = [_read(Path(path)) for path in paths]
    rows, states = (np.concatenate([part[i] for part in parts]) for i in (1, 2))
    return Log.of_rows(parts[-1][0], rows, states)


def _read(path: Path) -> tuple[Any, npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the records of the simulation, the rows, and the states of a part."""
    try:
        with path.open("rb") as file:
            layouts, core, rows, states = (np.load(file, allow_pickle=False) for _ in range(4))
    except (OSError, ValueError, EOFError) as error:
        raise InputError(f"{path} can't be read: {error}") from error
    if layouts.tolist() != [_layouts()]:
        raise InputError(f"{path} was written by another version of px4lockstep; read it with that one")
    return core.view(SIM)[0], rows.view(LOG_ROW).reshape(len(rows)), states


def _layouts() -> str:
    return layout_hash(SIM) + layout_hash(LOG_ROW)
