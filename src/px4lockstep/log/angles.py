"""Roll, pitch and yaw of each row of a log, compiled."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import kernel, rows, specialize
from px4lockstep.math.quaternion import to_euler

ROWS_AT_ONCE = 2**16


@kernel
def write_angles(w, x, y, z, roll, pitch, yaw):
    """Write the angles of each row, from the components of its attitude quaternion."""
    for i in range(len(roll)):
        roll[i], pitch[i], yaw[i] = to_euler((w[i], x[i], y[i], z[i]))


@functools.cache
def compiled_angles() -> Callable[..., Any]:
    """Return `write_angles`, compiled or loaded from the cache."""
    return specialize(write_angles, *[np.zeros(0)] * 7)


def euler_angles(q: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return roll, pitch and yaw of each row, with the package's own functions, bit-identical on every machine."""
    angles = np.empty((len(q), 3))
    for start in range(0, len(q), ROWS_AT_ONCE):  # the columns are copies, which need memory
        some = slice(start, start + ROWS_AT_ONCE)
        columns = [np.array(q[some, i], np.float64) for i in range(4)]
        written = [np.empty(len(columns[0])) for _ in range(3)]
        compiled_angles()(*map(rows, (*columns, *written)))
        angles[some] = np.stack(written, axis=1)
    return angles
