"""Marks of the plant's state: sixteen bits for each group of states, at every boundary of a recorded run.

A log has rows every few milliseconds, and a state at every boundary would double a recording. Marks tell to the
boundary, and to the group, where a replay parts from the flight. Not for digests: two states in 65,536 share a mark.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import interpreted, kernel
from px4lockstep.plants.layout import GROUPS

MARK = np.dtype("u2")
GROUP_COUNT = len(GROUPS)
LOW_16 = 0xFFFF


@kernel
def mark_state(state, plant, marks, k):
    """Write the marks of a state as those of boundary k."""
    for group in range(GROUP_COUNT):
        mark = 0
        for i in range(plant.group_start[group], plant.group_stop[group]):
            bits = int(np.float64(state.x[i]).view(np.int64))
            folded = (bits ^ (bits >> 16) ^ (bits >> 32) ^ (bits >> 48)) & LOW_16
            mark = (((mark << 5) | (mark >> 11)) & LOW_16) ^ folded
        marks[k, group] = mark


def marks_of(core: Any) -> npt.NDArray[np.uint16]:
    """Return the marks of the state in the records of a simulation, a `SIM`."""
    marks: npt.NDArray[np.uint16] = np.zeros((1, GROUP_COUNT), MARK)
    interpreted(mark_state)(core["state"], core["plant"], marks, 0)
    return marks.reshape(GROUP_COUNT)
