"""Gusts: steps of the wind, each over an interval of time, on top of any other wind.

    v(t) += v_gust    for start <= t < end

The interval is half-open, in whole microseconds, so that a gust that ends where the next begins leaves neither a gap
nor an overlap. Gusts that overlap add up. A step holds its velocity: for a ramp or a 1-cosine shape, chain several.
The edges are to be boundaries of the timeline (`gust_edges_us`): between boundaries the wind is held.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.checks import Vector3, check_vector
from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record
from px4lockstep.timebase import check_us

MAX_GUSTS = 8

GUSTS = record(
    [
        ("count", "i8"),
        ("start_us", "i8", MAX_GUSTS),
        ("end_us", "i8", MAX_GUSTS),
        ("vel_ned", "f8", (MAX_GUSTS, 3)),
    ]
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


@dataclass(frozen=True)
class Gust:
    """A step of the wind.

    Args:
        start_us: The first microsecond of the gust.
        end_us: The first microsecond after it.
        vel_ned: What it adds to the velocity of the air over the ground [m/s].

    Raises:
        InputError: If a time is not a whole number of microseconds, the gust ends before it starts, or the velocity is
            not finite.
    """

    start_us: int
    end_us: int
    vel_ned: Vector3

    def __post_init__(self) -> None:
        """Check times and velocity."""
        check_us("gust.start_us", self.start_us, minimum=0)
        check_us("gust.end_us", self.end_us, minimum=0)
        if not self.start_us < self.end_us:
            raise InputError(
                f"gust.end_us = {self.end_us} is not after gust.start_us = {self.start_us}; "
                "a gust must last 1 microsecond or more"
            )
        object.__setattr__(self, "vel_ned", check_vector("gust.vel_ned", self.vel_ned))


def write_gusts(rec: Any, gusts: Sequence[Gust]) -> None:
    """Write gusts into a `GUSTS` record.

    Raises:
        InputError: If there are more than the record holds.
    """
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
    return tuple(sorted({edge for gust in gusts for edge in (int(gust.start_us), int(gust.end_us))}))
