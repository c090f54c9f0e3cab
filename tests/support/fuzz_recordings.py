"""Flip bytes of a recording, reseal it and read it: `python fuzz_recordings.py FILE COUNT SEED`.

Each result must be an InputError, or a recording with identical values. Exits with an error at the first other one.
"""

import sys
from pathlib import Path

import numpy as np
from recording_files import reseal

from px4lockstep.errors import InputError
from px4lockstep.flights.recording.contents import contents_of
from px4lockstep.flights.recording.file import read_recording


def main(source, count, seed):
    """Flip and read; return how many were rejected, and how many had no effect."""
    rng = np.random.default_rng(seed)
    whole = np.frombuffer(source.read_bytes(), np.uint8)
    original, path = read_recording(source), source.with_name("flipped.h5")
    refused = 0
    for i in range(count):
        data = whole.copy()
        places = 512 + rng.choice(len(data) - 512, rng.choice([1, 1, 1, 2, 8]), replace=False)
        data[places] ^= rng.integers(1, 256, len(places), np.uint8)
        path.write_bytes(data.tobytes())
        reseal(path)
        try:
            found = read_recording(path)
        except InputError:
            refused += 1
            continue
        assert is_same(found, original), f"flip {i} at {places.tolist()} gave another recording"
    return refused


def is_same(first, second):
    """Return whether two recordings have identical values."""
    ours, theirs = contents_of(first), contents_of(second)
    if (ours.attributes, ours.versions, ours.texts) != (theirs.attributes, theirs.versions, theirs.texts):
        return False
    return all(ours.arrays[name].tobytes() == theirs.arrays[name].tobytes() for name in ours.arrays)


if __name__ == "__main__":
    total = int(sys.argv[2])
    refused = main(Path(sys.argv[1]), total, int(sys.argv[3]))
    print(f"{total} flips: {refused} refused, {total - refused} without harm")  # noqa: T201 - the test reads this
