"""The tilt of every row of a log, compiled: the bits of the signal that a scenario's conditions watch."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import kernel, rows, specialize
from px4lockstep.scenario.signals import tilt_deg

Floats = npt.NDArray[np.float64]


@kernel
def write_tilts(x, y, tilts):
    """Write the tilt of each row, from two components of its attitude."""
    for i in range(len(tilts)):
        tilts[i] = tilt_deg(x[i], y[i])


@functools.cache
def _compiled() -> Callable[..., Any]:
    example = np.zeros(0)
    return specialize(write_tilts, example, example, example)


def tilts_deg(x: Floats, y: Floats) -> Floats:
    """Return the angle between the body's z axis and down of each row, from x and y of its attitude q_bn."""
    # Writable copies: an array that is read-only is of another type to compiled code.
    tilts = np.empty(len(x))
    _compiled()(rows(x.copy()), rows(y.copy()), rows(tilts))
    return tilts
