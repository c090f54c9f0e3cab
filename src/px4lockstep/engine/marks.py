"""Marks of the plant's state: the lowest byte of each state, at every boundary of a recorded run.

A log has rows every few milliseconds, and to keep all states at every boundary would double a recording. Marks tell to
the boundary and the state where a replay parts from the flight: what differs by rounding differs in its lowest bits.
One state alone that differs by more has the same byte once in 256 times, and is then seen a boundary later.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import interpreted, kernel

MARK = np.dtype("u1")
LOWEST_BYTE = 0xFF


@kernel
def mark_state(state, plant, marks, k):
    """Write the marks of a state as those of boundary k."""
    for i in range(plant.n_x):
        marks[k, i] = np.float64(state.x[i]).view(np.int64) & LOWEST_BYTE


def marks_of(core: Any) -> npt.NDArray[np.uint8]:
    """Return the marks of the state in the records of a simulation, a `SIM`."""
    marks: npt.NDArray[np.uint8] = np.zeros((1, int(core["plant"]["n_x"])), MARK)
    interpreted(mark_state)(core["state"], core["plant"], marks, 0)
    return marks.reshape(-1)
