"""Lines of plots."""

from dataclasses import replace

import numpy as np
import pytest
from viewed import made_flight

from px4lockstep.view.panels import slider_place
from px4lockstep.view.series import BINS, columns_of, lines_of, values_at


def test_a_peak_of_one_row_is_in_the_line_of_a_long_flight():
    """A million rows in 600 parts; strides would lose it."""
    speed = np.zeros((1_000_001, 3))
    speed[123_456, 1] = 77.0
    speed[654_321, 1] = -55.0
    flight = made_flight(rows=1_000_001, step_us=1_000, vel_ned=speed)
    lines = lines_of([flight], "vel_ned", 0, 1_000_000_000)
    assert lines.names == ("n", "e", "d")
    assert len(lines.time_s) == len(lines.values[1]) == 2 * BINS
    assert (lines.values[1].max(), lines.values[1].min()) == (77.0, -55.0)
    assert abs(lines.time_s[np.argmax(lines.values[1])] - 123.456) < 1000.0 / BINS


def test_few_rows_are_held_and_there_is_no_line_outside_the_flight():
    """A status holds until it changes; before the first row and after the last there is nothing."""
    flight = replace(made_flight(), shift_us=1_000_000)
    lines = lines_of([flight], "armed", 0, 3_000_000)
    values, time_s = lines.values[0], lines.time_s
    assert np.isnan(values[time_s < 0.999]).all()
    assert np.isnan(values[time_s > 2.001]).all()
    assert (values[(time_s > 1.0) & (time_s < 1.499)] == 0.0).all()
    assert (values[(time_s > 1.501) & (time_s < 2.0)] == 1.0).all()


def test_several_flights_have_lines_with_their_names():
    """Only those that have the column."""
    flights = [made_flight("a"), made_flight("b", motors=np.zeros((101, 4)))]
    assert lines_of(flights, "motors", 0, 1_000_000).names == ("b: 1", "b: 2", "b: 3", "b: 4")
    assert lines_of(flights, "vel_ned", 0, 1_000_000).flights == (0, 0, 0, 1, 1, 1)
    assert "motors" in columns_of(flights)
    assert "time_us" not in columns_of(flights)
    assert values_at(flights, "vel_ned", 5) == "1 0 0 | 1 0 0"


def test_the_cursor_is_where_the_time_is():
    """As a part of the time axis; nowhere outside it."""
    assert slider_place(250, (0, 1_000)) == "25.000%"
    assert slider_place(1_001, (0, 1_000)) is None


def test_headings_do_not_jump():
    """A heading that turns on past 180 degrees, as in figures; the other angles stay as they are."""
    yaw = np.linspace(0.0, 4.0 * np.pi, 101)
    wrapped = np.arctan2(np.sin(yaw), np.cos(yaw))
    angles = np.stack((0.1 * np.ones(101), wrapped, wrapped), axis=1)
    flight = made_flight(euler_bn=angles, yaw_sp=wrapped)
    for name, part in (("euler_bn", 2), ("yaw_sp", 0)):
        lines = lines_of([flight], name, 0, 1_000_000)
        assert np.nanmax(np.abs(np.diff(lines.values[part]))) < 0.3
        assert np.nanmax(lines.values[part]) == pytest.approx(4.0 * np.pi, abs=0.2)
    assert np.nanmax(lines_of([flight], "euler_bn", 0, 1_000_000).values[1]) < 3.2


def test_the_number_beside_a_heading_is_that_of_its_curve():
    """Also with rows without a heading; other columns are as logged."""
    yaw = np.linspace(0.0, 4.0 * np.pi, 101)
    wrapped = np.arctan2(np.sin(yaw), np.cos(yaw))
    wrapped[40] = np.nan
    flight = made_flight(euler_bn=np.stack((0.1 * np.ones(101), wrapped, wrapped), axis=1), yaw_sp=wrapped)
    for row in (0, 39, 40, 41, 75, 100):
        time_us = int(flight.log.time_us[row])
        heading = "nan" if row == 40 else f"{yaw[row]:.4g}"
        assert values_at([flight], "yaw_sp", time_us) == heading
        assert values_at([flight], "euler_bn", time_us) == f"0.1 {wrapped[row]:.4g} {heading}"
