"""A process of its own that flies an aircraft file and leaves a recording of each flight.

    python -m px4lockstep.flights.determinism_worker SPEC FOLDER FLIGHTS PARENT    leaves FOLDER/1.h5, FOLDER/2.h5, ...

It ends by itself, within a simulated second, when the process that started it, PARENT, has ended.
"""

import os
import sys
from pathlib import Path

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import LockstepError
from px4lockstep.flights.recorded import source_of
from px4lockstep.flights.recording.file import write_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.run import fly
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec


def recording_at(folder: Path, number: int) -> Path:
    """Return where the recording of a flight is, counted from 1."""
    return folder / f"{number}.h5"


def work(spec: str, folder: Path, flights: int, parent: int) -> None:
    """Fly some flights, one after the other."""

    def leave_if_alone(_: Simulation) -> None:
        if os.getppid() != parent:
            sys.exit("error: the process that started this one has ended")

    for number in range(1, flights + 1):
        flight = build(load_spec(spec, trust=True), record=True)  # as its parent has decided, which has built it
        fly(flight, leave_if_alone)
        write_recording(Recording.of(flight.simulation, source_of(flight)), recording_at(folder, number))


if __name__ == "__main__":
    try:
        work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except LockstepError as error:
        sys.exit(f"error: {error}")
