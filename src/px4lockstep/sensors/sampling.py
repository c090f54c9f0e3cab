"""What all sensors have in common: when they sample, and the numbers that their registers can hold."""

import math
from typing import Any

from px4lockstep.jit import kernel
from px4lockstep.part import entry
from px4lockstep.timebase import MAX_US


@kernel
def is_due(period_us, elapsed_us, samples):
    """Return whether a sensor takes its next sample at a tick, the first at or after a whole number of its periods.

    Args:
        period_us: Of the sensor, not shorter than a tick.
        elapsed_us: Since the first tick.
        samples: How many it has taken.
    """
    return elapsed_us >= samples * period_us


@kernel
def digitized(value, lowest, highest, resolution):
    """Return a value within limits, rounded to whole steps of a resolution; a resolution of 0 rounds nothing."""
    value = min(max(value, lowest), highest)
    if resolution > 0.0:
        return math.floor(value / resolution + 0.5) * resolution
    return float(value)


def period_entry(default_us: int) -> Any:
    """Return the key of a sensor's period."""
    return entry(default_us, "Sample period, not shorter than a tick of the autopilot.", "us", ge=1, le=MAX_US)
