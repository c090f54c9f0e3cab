"""State fingerprints: the lowest byte of each state of the plant, at every boundary of a recorded run.

A log has rows every few milliseconds, and to keep all states at every boundary would double a recording. Fingerprints
tell the boundary and the state where a replay departs from the flight: rounding errors show in the lowest bits first.
One state alone that differs by more has the same byte once in 256 times, and is then seen a boundary later.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import interpreted, kernel

FINGERPRINT = np.dtype("u1")


@kernel
def write_fingerprint(state, plant, fingerprints, k):
    """Write the fingerprint of a state as that of boundary k."""
    for i in range(plant.n_x):
        fingerprints[k, i] = np.float64(state.x[i]).view(np.int64) & 0xFF


def fingerprint_of(core: Any) -> npt.NDArray[np.uint8]:
    """Return the fingerprint of the state in the records of a simulation, a `SIM`."""
    fingerprints: npt.NDArray[np.uint8] = np.zeros((1, int(core["plant"]["n_x"])), FINGERPRINT)
    interpreted(write_fingerprint)(core["state"], core["plant"], fingerprints, 0)
    return fingerprints.reshape(-1)
