"""No meaning is in a colour alone: lines of one panel with different colours differ in dashes, markers or widths.

Figures of campaigns, sweeps and searches are checked where they are tested.
"""

import numpy as np
import pytest
from campaign_results import windy
from grey import confusions

from px4lockstep import simulate
from px4lockstep.campaigns.figure import plot_campaign
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


def test_two_bars_of_one_look_are_found():
    """The check itself: bars of campaigns without hatching, and hatched ones."""
    figure = plot_campaign(windy(60))
    axes = next(axes for axes in figure.axes if axes.get_title(loc="left") == "energy_wh [Wh]")
    assert confusions(figure) == []
    for bar in axes.containers[0]:
        bar.set_hatch("")
    assert {name for name, *_ in confusions(figure)} == {"energy_wh [Wh]"}


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
