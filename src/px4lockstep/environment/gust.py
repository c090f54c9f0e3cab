"""Gusts: constant velocities over time intervals, added to any other wind.

    v(t) += v_gust    for start <= t < end

The interval is half-open, in whole microseconds, so consecutive gusts leave neither a gap nor an overlap. Overlapping
gusts add up. The velocity is constant; chain several gusts for a ramp or a 1-cosine shape. The edges must be boundaries
of the timeline (`gust_edges_us`), because the wind is held between boundaries.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record
from px4lockstep.part import Found, Part, Seconds, Vector, entry, misfit
from px4lockstep.part.limits import WIND_LIMITS
from px4lockstep.timebase import seconds_to_us

MAX_GUSTS = 8

GUSTS = record(
    [("count", "i8"), ("start_us", "i8", MAX_GUSTS), ("end_us", "i8", MAX_GUSTS), ("vel_ned", "f8", (MAX_GUSTS, 3))]
)


@kernel
def add_gusts(gusts, t_us, vel_ned):
    """Add the gusts that are active at a time to a velocity."""
    # Boundaries are uint64. Compiled and interpreted code compare them differently with signed integers.
    now_us = np.int64(t_us)
    for i in range(gusts.count):
        if gusts.start_us[i] <= now_us < gusts.end_us[i]:
            for j in range(3):
                vel_ned[j] += gusts.vel_ned[i, j]


class Gust(Part, where="environment.gusts", stage="wind"):
    """A gust: a constant velocity added to the wind over an interval."""

    start_s: Seconds = entry(..., "Start time of the gust.", "s")
    end_s: Seconds = entry(..., "End time of the gust (exclusive).", "s")
    vel_ned: Vector = entry(..., "Velocity that the gust adds to the wind (north, east, down).", "m/s", **WIND_LIMITS)

    @property
    def start_us(self) -> int:
        """First microsecond of the gust."""
        return seconds_to_us(self.start_s, "start_s")

    @property
    def end_us(self) -> int:
        """First microsecond after the gust."""
        return seconds_to_us(self.end_s, "end_s")

    def check(self) -> Found:
        """Check that the gust ends after it starts."""
        if self.start_us >= self.end_us:
            text = f"is not after start_s = {self.start_s}; a gust lasts at least one microsecond"
            yield misfit("end_s", self.end_s, text)


def write_gusts(rec: Any, gusts: Sequence[Gust]) -> None:
    """Write gusts into a `GUSTS` record."""
    if len(gusts) > MAX_GUSTS:
        raise InputError(f"{len(gusts)} gusts are too many; at most {MAX_GUSTS} are allowed: merge or remove some")
    rec["count"] = len(gusts)
    for name in ("start_us", "end_us", "vel_ned"):
        rec[name][...] = 0
    for i, gust in enumerate(gusts):
        rec["start_us"][i] = gust.start_us
        rec["end_us"][i] = gust.end_us
        rec["vel_ned"][i] = gust.vel_ned


def gust_edges_us(gusts: Sequence[Gust]) -> tuple[int, ...]:
    """Return the sorted start and end times of all gusts, without duplicates."""
    return tuple(sorted({edge for gust in gusts for edge in (gust.start_us, gust.end_us)}))
