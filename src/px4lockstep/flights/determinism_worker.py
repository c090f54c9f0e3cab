"""Worker process that flies a spec and writes a recording of each flight.

    python -m px4lockstep.flights.determinism_worker SPEC FOLDER FLIGHTS PARENT    writes FOLDER/1.h5, FOLDER/2.h5, ...

It exits within a simulated second when its parent process, PARENT, has ended.
"""

import os
import sys
from dataclasses import replace
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
    """Return the path of the recording of a flight, numbered from 1."""
    return folder / f"{number}.h5"


def work(spec: str, folder: Path, flights: int, parent: int) -> None:
    """Fly a number of flights, one after another."""

    def leave_if_alone(_: Simulation) -> None:
        if os.getppid() != parent:
            sys.exit("error: the process that started this one has ended")

    for number in range(1, flights + 1):
        flight = build(load_spec(spec, trust=True), record=True)  # the parent has checked trust already
        fly(replace(flight, pace=None), leave_if_alone)
        write_recording(Recording.of(flight.simulation, source_of(flight)), recording_at(folder, number))


if __name__ == "__main__":
    try:
        work(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
    except LockstepError as error:
        sys.exit(f"error: {error}")
