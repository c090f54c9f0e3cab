"""No meaning is in a colour alone: lines of one panel with different colours differ in dashes, markers or widths."""

import itertools

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from px4lockstep import simulate
from px4lockstep.experiments.chirp import chirp
from px4lockstep.experiments.step import step
from px4lockstep.experiments.step_figure import plot_steps
from px4lockstep.log.log import Log
from px4lockstep.plots.columns import plot_columns
from px4lockstep.plots.comparison import LINES, MARKS
from px4lockstep.plots.looks import DASHES, DISTINCT, dashes_px, is_drawn, matplotlib_look, number_of, plotly_look
from px4lockstep.plots.overlay import plot_overlay

pytestmark = pytest.mark.long

COMPONENTS = ["vel_ned", "euler_bn", "motors", "rotor_speed_rad_s", "q_bn", "soc"]


def look_of(line):
    """Return what is left of a line in grey: its dashes, its marker and its width."""
    marker = str(line.get_marker()) if line.get_marker() not in ("None", None, "") else ""
    dashes = "none" if line.get_linestyle() == "None" else tuple(line._unscaled_dash_pattern[1] or ())
    width = 0.0 if dashes == "none" else round(line.get_linewidth(), 2)
    return dashes, marker, width, to_hex(line.get_markerfacecolor()) == "#ffffff" if marker else False


def is_in_lanes(first, second):
    """Return whether two lines have different parts of the panel, as motors have."""
    (a, b), (c, d) = ((np.nanmin(own), np.nanmax(own)) for own in (first.get_ydata(), second.get_ydata()))
    return b < c or d < a


def confusions(figure):
    """Return the pairs of lines of a panel that differ in their colours only."""
    found = []
    for axes in figure.axes:
        lines = [line for line in axes.lines if isinstance(line, Line2D) and len(np.atleast_1d(line.get_ydata()))]
        for one, other in itertools.combinations(lines, 2):
            same = look_of(one) == look_of(other) and to_hex(one.get_color()) != to_hex(other.get_color())
            is_mark = one.get_label() in ("_grid", "_lanes") or other.get_label() in ("_grid", "_lanes")
            if same and not is_mark and not is_in_lanes(one, other):
                found.append((axes.get_title(loc="left"), one.get_label(), other.get_label(), look_of(one)))
    return found


@pytest.fixture(scope="module")
def flown():
    """The default mission, with a fault."""
    events = [{"at_s": 30.0, "action": "disable_motor", "motor": 2}]
    return simulate("x500", overrides={"scenario.events": events})


def test_lines_of_the_flight_figure_differ_without_colours(flown):
    """All panels, with those around the crash."""
    assert confusions(flown.plot()) == []


def test_two_lines_of_one_look_are_found(flown):
    """The check itself: a second line with the dashes of the first."""
    figure = flown.plot()
    axes = next(axes for axes in figure.axes if axes.get_title(loc="left") == "Wind")
    axes.lines[1].set_linestyle(axes.lines[0].get_linestyle())
    assert [name for name, *_ in confusions(figure)] == ["Wind"]


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7, DISTINCT])
def test_lines_of_overlaid_flights_differ_without_colours(flown, count):
    """Up to as many as the key lists."""
    logs = {f"flight {i}": flown.log.between(0.0, 25.0 - 0.1 * i) for i in range(count)}
    assert confusions(plot_overlay(logs)) == []


@pytest.mark.parametrize("count", [1, 2, 4])
def test_lines_of_columns_differ_without_colours(flown, count):
    """Components and flights together."""
    logs = {f"flight {i}": flown.log for i in range(count)}
    assert confusions(plot_columns(logs, COMPONENTS)) == []


def test_twelve_motors_and_batteries_differ_without_colours():
    """As many as an aircraft can have."""
    time_us = np.arange(0, 1_000_000, 10_000, dtype=np.uint64)
    columns = {"time_us": time_us, "pos_ned": np.zeros((100, 3)), "motors": np.full((100, 12), 0.5)}
    assert confusions(plot_columns({"made": Log(columns)}, ["motors"])) == []


def test_lines_of_experiments_differ_without_colours():
    """Step responses and a Bode plot."""
    assert confusions(plot_steps([step("x500", "roll_rate")])) == []
    assert confusions(chirp("x500", "roll_rate").plot()) == []


def test_every_number_has_a_look_of_its_own_in_all_programs():
    """Matplotlib and Plotly by dashes and markers; the viewer by dashes and widths."""
    numbers = range(DISTINCT)
    assert len({str(matplotlib_look(i)) for i in numbers}) == DISTINCT
    traces = [plotly_look(i, "#000000", 1.5) for i in numbers]
    assert len({str(trace) for trace in traces}) == DISTINCT
    assert len({dashes_px(i, 1.6) for i in range(len(DASHES))}) == len(DASHES)
    assert len({number_of(run, part, 4) for run in range(4) for part in range(4)}) == 16
    assert [number_of(run, 0, 1) for run in range(3)] == [0, 1, 2]


def test_pieces_of_dashes():
    """A solid line has all of its pieces, dots every second or third, and no two numbers the same."""
    drawn = [tuple(is_drawn(i, 60)) for i in range(len(DASHES))]
    assert all(drawn[0])
    assert len(set(drawn)) == len(DASHES)
    assert 0.3 < np.mean(drawn[2]) < 0.6


def test_integrators_differ_without_colours():
    """In lines and in marks."""
    assert len({(str(line["ls"]), line["lw"]) for line in LINES}) == len(LINES)
    assert len(set(MARKS)) >= len(LINES)
