"""Tilt of each row of a log, compiled; bit-identical to the signal of scenario conditions."""

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
    """Write the tilt of each row, from two components of its attitude quaternion."""
    for i in range(len(tilts)):
        tilts[i] = tilt_deg(x[i], y[i])


@functools.cache
def compiled_tilts() -> Callable[..., Any]:
    """Return `write_tilts`, compiled or loaded from the cache."""
    example = np.zeros(0)
    return specialize(write_tilts, example, example, example)


def tilts_deg(x: Floats, y: Floats) -> Floats:
    """Return the angle between the body's z axis and down for each row, from x and y of its attitude q_bn."""
    # Use writable copies: compiled code treats a read-only array as another type.
    tilts = np.empty(len(x))
    compiled_tilts()(rows(x.copy()), rows(y.copy()), rows(tilts))
    return tilts
