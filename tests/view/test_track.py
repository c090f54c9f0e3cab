"""Tracks as few lines, which are where the flight was."""

import numpy as np
import pytest
from viewed import made_flight

from px4lockstep.view.track import (
    COLOUR_PART,
    MAX_DASHED,
    MAX_POINTS,
    MIN_POINTS,
    PLACE_PART,
    even_rows,
    simplified,
    track_rows,
)


def test_a_straight_flight_at_a_constant_speed_is_one_line():
    """Both ends, whatever the number of rows."""
    assert track_rows(made_flight(rows=5_000), 50.0).tolist() == [0, 4_999]


def test_a_track_keeps_its_corners_and_changes_of_speed():
    """A square with a fast side: the line is nowhere farther than the tolerances from the flight."""
    side, rows = 20.0, 1_000
    part = np.linspace(0.0, 4.0, rows)
    north = side * (np.clip(part, 0, 1) - np.clip(part - 2, 0, 1))
    east = side * (np.clip(part - 1, 0, 1) - np.clip(part - 3, 0, 1))
    speed = np.where((part > 1.0) & (part < 2.0), 8.0, 2.0)
    flight = made_flight(
        rows=rows,
        pos_ned=np.stack((north, east, 0 * north - 10.0), axis=1),
        vel_ned=np.stack((speed, 0 * speed, 0 * speed), axis=1),
    )
    kept = track_rows(flight, side)
    assert len(kept) < 20
    for i, values in enumerate((north, east, speed)):
        drawn = np.interp(np.arange(rows), kept, values[kept])
        tolerance = side * PLACE_PART if i < 2 else 8.0 * COLOUR_PART
        off = np.abs(drawn - values)
        assert np.sort(off)[-4] <= 1.01 * tolerance + side * 4.0 / rows  # a row of the speed's jumps is between two


def test_a_restless_flight_has_a_limited_number_of_points():
    """Noise everywhere; the ends are always there, and several flights share the budget."""
    random = np.random.default_rng(1)
    flight = made_flight(rows=9_000, pos_ned=np.cumsum(random.normal(size=(9_000, 3)), axis=0))
    assert len(track_rows(flight, 50.0)) == MAX_POINTS
    kept = track_rows(flight, 50.0, flights=4)
    assert len(kept) == max(MIN_POINTS, MAX_POINTS // 4)
    assert (kept[0], kept[-1]) == (0, 8_999)
    assert len(even_rows(flight, 2)) == MAX_DASHED


@pytest.mark.parametrize("points", [[[1.0, 2.0]], [[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [5.0, 5.0], [0.0, 0.0]]])
def test_lines_of_few_points_and_closed_ones(points):
    """One point, two, and a way back to the start."""
    assert simplified(points, 100).tolist() == list(range(len(points)))
