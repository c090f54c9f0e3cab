"""Recordings in which only the checkpoints were edited: an error, or the recorded flight.

Files of every version with checkpoints: those of the test data, a new one, and a new branch, whose replay starts from a
checkpoint.
"""

import functools
import io
from pathlib import Path

import h5py
import numpy as np
from recording_files import put, reseal, tiny

from fuzz import expect
from fuzz.recordings import FILE, edit_numbers
from px4lockstep.errors import LockstepError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.recording.file import read_recording, write_recording
from px4lockstep.flights.replay import replay

DATA = Path(__file__).resolve().parents[2] / "flights" / "recording" / "data"
STREAMS = ("moments/core", "checkpoints/state", "checkpoints/sensors")
VERSION = "version"


@functools.cache
def originals():
    """Return the contents of the recordings to edit, by name."""
    import tempfile

    found = {path.stem: path.read_bytes() for path in sorted(DATA.glob("version_[4-9]*.h5"))}
    with tempfile.TemporaryDirectory() as folder:
        whole = tiny()
        for name, recording in (("new", whole), ("new_branch", _branch_of(whole))):
            path = Path(folder) / f"{name}.h5"
            write_recording(recording, path)
            found[name] = path.read_bytes()
    return found


def _branch_of(recording):
    own = branch(recording, at_s=0.15, overrides={"environment.wind_mean_ned": [1.0, 0.0, 0.0]})[0]
    assert own.run.recording is not None
    return own.run.recording


def write(folder, rng):
    """Write a recording with edited checkpoints."""
    name = "new" if rng is None else rng.choice(sorted(originals()))
    (folder / VERSION).write_text(name)
    data = originals()[name]
    buffer = io.BytesIO(data)
    if rng is not None:
        with h5py.File(buffer, "r+") as file:
            stream = rng.choice([own for own in STREAMS if own in file])
            array = file[stream][()]
            way = rng.random()
            if way < 0.85:
                edit_numbers(array, rng)
            elif way < 0.9:
                array = array[: rng.randrange(len(array) + 1)]
            elif way < 0.95:
                array = array[np.array([rng.randrange(len(array)) for _ in range(len(array))], int)]
            else:
                array.reshape(-1).view(np.uint8)[:] = rng.randrange(256)
            put(file, stream, array)
    (folder / FILE).write_bytes(buffer.getvalue())
    reseal(folder / FILE)


def use(folder):
    """Replay it and branch from it: an error, the recorded flight, or a reported difference.

    A branch without a change is the flight itself, to its end; an undetectable edit is rejected or has no effect.
    """
    recording = read_recording(folder / FILE)
    refused = None
    try:
        replayed = replay(recording)
        expect(replayed.matches or replayed.first_difference is not None, "a replay differs, and nobody knows where")
    except LockstepError as error:
        refused = error
    from_us, end_us = recording.starts_us, int(recording.log["time_us"][-1])
    run = branch(recording, at_s=(from_us + end_us) // 2_000 * 1_000 / 1e6)[0].run
    expect(run.error is None and run.digest == recording.digest, "a branch without a change is another flight")
    if refused is not None:
        raise refused
