"""Recordings on disk, complete and then edited, for tests of rejected files."""

import functools
import hashlib
from pathlib import Path

import h5py
import numpy as np
from recorded_flights import record

from px4lockstep.flights.recording import file as recording_file
from px4lockstep.flights.recording.file import write_recording

BLOCK_BYTES = recording_file.BLOCK_BYTES


@functools.cache
def tiny(name="iris"):
    """Return the recording of 0.3 s, about 100 kB on disk."""
    events = [{"at_s": 0.1005, "action": "wind_step", "vel_ned": [1.0, 0.0, 0.0]}]
    return record(name, {"timeline.t_end_s": 0.3, "scenario.arm_time_s": 0.1, "scenario.events": events})


@functools.cache
def tiny_bytes():
    """Return the file contents of such a recording."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tiny.h5"
        write_recording(tiny(), path)
        return path.read_bytes()


def write_tiny(folder, name="recording.h5"):
    """Write the file and return its path."""
    path = Path(folder) / name
    path.write_bytes(tiny_bytes())
    return path


def reseal(path):
    """Update the hash over all bytes, so that the contents are checked."""
    recording_file._seal(Path(path))


def edited(path, edit, *, resealed=True):
    """Edit a file with h5py."""
    with h5py.File(path, "r+") as file:
        edit(file)
    if resealed:
        reseal(path)


def values(name, change, *, rehashed=True):
    """Return an edit that replaces the values of an array or text, along with their hash."""

    def edit(file):
        old = file[name]
        new = change(old[()] if old.dtype.kind != "S" or old.shape else bytes(old[()]))
        put(file, name, new, None if rehashed else old.attrs["sha256"])

    return edit


def put(file, name, new, sha256=None):
    """Replace or add an array or text."""
    if name in file:
        del file[name]
    data = new if isinstance(new, bytes) else np.ascontiguousarray(new).view(np.uint8).data
    if isinstance(new, bytes):
        new = np.array(new, h5py.string_dtype("utf-8", max(1, len(new))))
    item = file.create_dataset(name, data=new)
    item.attrs["sha256"] = sha256 if sha256 is not None else np.bytes_(hashlib.sha256(data).hexdigest())


def field(name, place, value):
    """Return an edit that changes the last number of a field: `field("log/rows", "inputs.wind_ned", 1.0)`."""

    def change(array):
        target = array
        for part in place.split(".")[:-1]:
            target = target[part]
        target = target[place.split(".")[-1]]
        target[(-1,) * target.ndim] = value
        return array

    return values(name, change)


def attribute(name, value):
    """Return an edit that changes an attribute of the file."""

    def edit(file):
        del file.attrs[name]
        if value is not None:
            file.attrs[name] = value

    return edit
