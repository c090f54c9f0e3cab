"""State fingerprints: the lowest byte of each plant state at every event boundary of a recorded run.

A log has a row every few milliseconds, and storing all states at every boundary would double the size of a recording.
Fingerprints show the boundary and the state where a replay first differs from the flight, because rounding errors
appear in the lowest bits first. If a single state differs by more, its lowest byte agrees by chance in one of 256
cases; the difference then shows at a later boundary.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import interpreted, kernel

FINGERPRINT = np.dtype("u1")


@kernel
def write_fingerprint(state, plant, fingerprints, k):
    """Write the fingerprint of a state to the row of boundary k."""
    for i in range(plant.n_x):
        fingerprints[k, i] = np.float64(state.x[i]).view(np.int64) & 0xFF


def fingerprint_of(core: Any) -> npt.NDArray[np.uint8]:
    """Return the fingerprint of the state in a `SIM` record."""
    fingerprints: npt.NDArray[np.uint8] = np.zeros((1, int(core["plant"]["n_x"])), FINGERPRINT)
    interpreted(write_fingerprint)(core["state"], core["plant"], fingerprints, 0)
    return fingerprints.reshape(-1)
