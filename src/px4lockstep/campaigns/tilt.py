"""Tilt of each row of a log, compiled; bit-identical to the signal of scenario conditions."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import kernel, rows, specialize
from px4lockstep.scenario.signals import tilt_deg

Floats = npt.NDArray[np.float64]
IsBeyond = Callable[[Any, Any], npt.NDArray[np.bool_]]
"""`operator.gt` or `operator.lt`."""

CLOSE = 1e-9
"""Difference of cosines above which they decide a comparison of angles: rounding errors are a million times smaller."""


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


def are_beyond(x: Floats, y: Floats, is_beyond: IsBeyond, limit_deg: float) -> npt.NDArray[np.bool_]:
    """Return for each row whether its tilt is beyond a limit between 0 and 180 degrees; few angles are computed."""
    limit, cosine = math.cos(math.radians(limit_deg)), 1.0 - 2.0 * (x * x + y * y)
    found = is_beyond(limit, cosine)  # the cosine decreases with the angle
    is_close = ~(np.abs(cosine - limit) > CLOSE)  # and NaN
    if is_close.any():
        found[is_close] = is_beyond(tilts_deg(x[is_close], y[is_close]), limit_deg)
    return found
