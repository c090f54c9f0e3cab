"""Tracks as few lines: the points of a flight that its form and its colours need.

A line costs a browser without a graphics card more than everything else of the scene: 800 pieces take 16 ms of every
frame, half of all. Straight parts at a constant speed need none between their ends.
"""

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from px4lockstep.view.flown import ViewedFlight

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

CANDIDATES = 3_000
"""Points of a flight, evenly in time, from which those of the line are chosen."""
MAX_POINTS = 200
"""Points of the lines of all flights, at most."""
MAX_DASHED = 320
"""The same of lines with dashes, of which about half is drawn."""
MIN_POINTS = 80
"""Points that one of many flights may have."""
PLACE_PART = 1.0 / 1_500.0
"""How far a line may be from the track, as a fraction of the scene: about half a pixel."""
COLOUR_PART = 0.02
"""How far speed and error may be from those of the track, as a fraction of their largest."""


def track_rows(flight: ViewedFlight, extent_m: float, flights: int = 1) -> Rows:
    """Return the rows of a flight whose points its line needs, in a scene of some width with some flights."""
    count = len(flight.time_us)
    rows = np.unique(np.linspace(0, count - 1, min(count, CANDIDATES)).astype(np.int64))
    colours = [np.nan_to_num(values[rows]) for values in (flight.speed_m_s, flight.error_m)]
    scaled = [values / (COLOUR_PART * max(float(np.abs(values).max()), 1e-9)) for values in colours]
    points = np.column_stack((flight.pos_ned[rows] / (PLACE_PART * extent_m), *scaled))
    return rows[simplified(points, max(MIN_POINTS, MAX_POINTS // flights))]


def even_rows(flight: ViewedFlight, flights: int = 1) -> Rows:
    """Return rows of a flight evenly in time, for lines with dashes."""
    count = len(flight.time_us)
    most = 2 * max(MIN_POINTS, MAX_DASHED // flights)
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def simplified(points: Sequence[Sequence[float]] | Array, most: int, tolerance: float = 1.0) -> Rows:
    """Return the points that a line through points needs: both ends, and the farthest from the line again and again.

    Args:
        points: The points, (n, dimensions).
        most: The largest number of points to return.
        tolerance: The distance from the line at which a point can be left out.
    """
    points = np.asarray(points, np.float64)
    last = len(points) - 1
    kept = [0, last] if last > 0 else [0]
    parts: list[tuple[float, int, int, int]] = []

    def consider(first: int, final: int) -> None:
        if final - first > 1:
            distances = _distances(points[first + 1 : final], points[first], points[final])
            far = int(np.argmax(distances))
            heapq.heappush(parts, (-float(distances[far]), first, first + 1 + far, final))

    consider(0, last)
    while parts and len(kept) < most:
        distance, first, row, final = heapq.heappop(parts)
        if -distance <= tolerance:
            break
        kept.append(row)
        consider(first, row)
        consider(row, final)
    return np.array(sorted(kept), np.int64)


def _distances(points: Array, start: Array, end: Array) -> Array:
    """Return the distances of points from a piece of a line."""
    along, offsets = end - start, points - start
    square = float(along @ along)
    part = np.clip(offsets @ along / square, 0.0, 1.0) if square > 0.0 else np.zeros(len(points))
    away = offsets - part[:, np.newaxis] * along
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", away, away)))
