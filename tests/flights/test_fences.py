"""A flight whose plan has a fence and rally points: its events, outcome, metric, replay and figure."""

import json
from pathlib import Path

import numpy as np
import pytest
from mission_files import as_plan

import px4lockstep
from flights import HOME, METRES_PER_DEGREE
from px4lockstep.autopilots.area import Area, Zone
from px4lockstep.campaigns.metrics import MetricTable, measure, metrics_of
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log
from px4lockstep.plots.flight import plot_flight
from px4lockstep.px4.missions import Command, MissionItem

WALL = ((10, -10), (10, 10), (14, 10), (14, -10))
"""An exclusion zone across the way to the waypoint."""


def place(north_m, east_m):
    return [HOME[0] + north_m / METRES_PER_DEGREE, HOME[1] + east_m / METRES_PER_DEGREE / np.cos(np.radians(HOME[0]))]


@pytest.fixture(scope="module")
def breached(tmp_path_factory):
    """Fly a plan whose leg to the waypoint crosses the wall; the fence returns to a rally point beside the way."""
    folder = tmp_path_factory.mktemp("fences")
    items = [MissionItem(Command.TAKEOFF, *place(0, 0), 4.0), MissionItem(Command.WAYPOINT, *place(30, 0), 4.0)]
    circle = {"circle": {"center": place(0, 0), "radius": 80}, "inclusion": True, "version": 1}
    polygon = {"inclusion": False, "polygon": [place(*corner) for corner in WALL], "version": 1}
    plan = as_plan(
        *(*items, MissionItem(Command.LAND, *place(30, 0), 0.0)),
        geoFence={"circles": [circle], "polygons": [polygon], "version": 2},
        rallyPoints={"points": [[*place(9, -6), 0], [*place(-60, 0), 20]], "version": 2},
    )
    (folder / "fenced.plan").write_text(json.dumps(plan))
    changes = {
        "px4.mission_path": str(folder / "fenced.plan"),
        "autopilot.params": {"GF_ACTION": 3, "RTL_RETURN_ALT": 5.0, "MPC_TKO_SPEED": 3.0},
        "timeline.t_end_s": 35.0,
        "run.mode": "record",
        "environment.wind": "none",
    }
    return px4lockstep.simulate("iris", **changes)


def test_a_breach_is_an_event(breached):
    """At the row in which the true position enters the wall, before the autopilot reacts."""
    labels = [event.label for event in breached.summary.events]
    first = labels.index("geofence breached")
    assert labels[first : first + 3] == ["geofence breached", "failsafe: geofence", "mode return"]
    event = breached.summary.events[first]
    assert event.is_fault
    row = int(np.searchsorted(breached.log.time_us, event.time_us))
    assert breached.log["pos_ned"][row - 1 : row + 1, 0] == pytest.approx(10.0, abs=0.1)
    assert "geofence breach over" in labels[first:]  # on the way to the rally point


def test_the_outcome_says_that_the_fence_ended_the_mission(breached):
    """It returned, but not home."""
    summary = breached.summary
    assert summary.outcome == "mission not finished"
    assert summary.ending == "returned"
    assert "a failsafe (geofence) took over at" in summary.reason
    assert "it returned, 0." in summary.reason
    assert "m from rally point 0" in summary.reason
    assert breached.log["pos_ned"][-1, :2] == pytest.approx([9.0, -6.0], abs=0.5)


def test_the_metric_is_the_smallest_distance(breached):
    """It is negative as deep as the vehicle was in the wall; until it enters it, it is positive."""
    tables = [
        MetricTable(name="margin", kind="fence_margin_m"),
        MetricTable(name="before", kind="fence_margin_m", until_s=5.0),
        MetricTable(name="never", kind="fence_margin_m", after_s=100.0),
    ]
    values = measure(metrics_of(tables, Path()), breached)
    north_m = breached.log["pos_ned"][:, 0]
    assert values["margin"] == pytest.approx(-np.minimum(north_m - 10.0, 14.0 - north_m).max(), abs=1e-4)
    assert values["margin"] < -0.5
    assert values["before"] == pytest.approx(10.0, abs=0.2)
    assert np.isnan(values["never"])


def test_a_replay_has_the_same_events(breached):
    """The recording contains the plan."""
    replayed = px4lockstep.replay(breached.recording)
    assert replayed.matches
    area = breached.simulation.autopilot.area
    log = Log.of(replayed.simulation)
    found, flown = events_of(log, area), breached.summary.events
    assert [e for e in found if e.label.startswith("geofence")] == [e for e in flown if e.label.startswith("geofence")]
    assert replayed.simulation.autopilot.area == area


def test_the_figure_shows_the_fence(breached):
    """Solid and empty, or dashed and hatched; rally points are squares."""
    axes = breached.plot().axes[0]
    names = axes.get_legend_handles_labels()[1]
    assert {"stay inside", "stay outside", "rally point"} <= set(names)
    inside, outside = sorted(axes.patches, key=lambda patch: patch.get_hatch() or "")
    assert (inside.get_linestyle(), inside.get_hatch()) == ("solid", None)
    assert (outside.get_linestyle(), outside.get_hatch()) == ("--", "///")
    assert not inside.get_fill()
    corners = outside.get_path().vertices
    assert sorted(set(np.round(corners[:, 1]).tolist())) == [10.0, 14.0]


def test_a_distant_fence_does_not_shrink_the_track():
    """The map becomes at most about twice as wide."""
    log = Log({"time_us": np.arange(3), "pos_ned": np.array([[0.0, 0.0, 0.0], [10.0, 0.0, -1.0], [10.0, 10.0, -1.0]])})
    far = Area((Zone("a circle", True, ((0.0, 0.0),), 5_000.0),))
    alone, fenced = (np.ptp(plot_flight(log, area=area).axes[0].get_xlim()) for area in (None, far))
    assert alone < fenced < 2.5 * alone
