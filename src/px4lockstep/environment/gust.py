"""Gusts: steps of the wind, each over an interval of time, on top of any other wind.

    v(t) += v_gust    for start <= t < end

The interval is half-open, in whole microseconds, so that a gust that ends where the next begins leaves neither a gap
nor an overlap. Gusts that overlap add up. A step holds its velocity: for a ramp or a 1-cosine shape, chain several.
The edges are to be boundaries of the timeline (`gust_edges_us`): between boundaries the wind is held.
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
    # Boundaries are uint64: compared with a signed integer, compiled and interpreted code differ.
    now_us = np.int64(t_us)
    for i in range(gusts.count):
        if gusts.start_us[i] <= now_us < gusts.end_us[i]:
            for j in range(3):
                vel_ned[j] += gusts.vel_ned[i, j]


class Gust(Part, where="environment.gusts", stage="wind"):
    """A gust: a step of the wind."""

    start_s: Seconds = entry(..., "Its first microsecond.", "s")
    end_s: Seconds = entry(..., "The first microsecond after it.", "s")
    vel_ned: Vector = entry(..., "What it adds to the velocity of the air over the ground.", "m/s", **WIND_LIMITS)

    @property
    def start_us(self) -> int:
        """Its first microsecond."""
        return seconds_to_us(self.start_s, "start_s")

    @property
    def end_us(self) -> int:
        """The first microsecond after it."""
        return seconds_to_us(self.end_s, "end_s")

    def check(self) -> Found:
        """A gust lasts."""
        if self.start_us >= self.end_us:
            text = f"is not after start_s = {self.start_s}; a gust lasts a microsecond at least"
            yield misfit("end_s", self.end_s, text)


def write_gusts(rec: Any, gusts: Sequence[Gust]) -> None:
    """Write gusts into a `GUSTS` record."""
    if len(gusts) > MAX_GUSTS:
        raise InputError(f"{len(gusts)} gusts are too many; at most {MAX_GUSTS} are allowed: merge or leave out some")
    rec["count"] = len(gusts)
    for name in ("start_us", "end_us", "vel_ned"):
        rec[name][...] = 0
    for i, gust in enumerate(gusts):
        rec["start_us"][i] = gust.start_us
        rec["end_us"][i] = gust.end_us
        rec["vel_ned"][i] = gust.vel_ned


def gust_edges_us(gusts: Sequence[Gust]) -> tuple[int, ...]:
    """Return the times at which any gust starts or ends, in order and each once."""
    return tuple(sorted({edge for gust in gusts for edge in (gust.start_us, gust.end_us)}))
