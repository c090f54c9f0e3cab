"""A flight whose plan has a fence and rally points: its events, outcome, metric, replay and figure."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from mission_files import as_plan

import px4lockstep
from flights import HOME, METRES_PER_DEGREE, flight, mission_of
from px4lockstep.autopilots.area import Area, Zone
from px4lockstep.autopilots.base import Session
from px4lockstep.campaigns.metrics import MetricTable, measure, metrics_of
from px4lockstep.flights.crashed import keep_crashed
from px4lockstep.flights.exports import read_source
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.outcome import ending_of
from px4lockstep.flights.summary import summarize
from px4lockstep.log.events import events_of
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.exports import FORMATS
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
    return px4lockstep.simulate("iris", overrides=changes)


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


def claimed(run, **options):
    """Return the facts of the flight's log if a session without a record had flown it."""
    session = Session(run.simulation.autopilot.capabilities)
    session.area = replace(run.simulation.autopilot.area, **options)
    names = ("plant", "core", "timeline", "is_done", "is_crashed", "time_us", "asks_for_mission", "reports_mission")
    names += ("given_commands",)
    simulation = SimpleNamespace(autopilot=session, **{name: getattr(run.simulation, name) for name in names})
    return Facts(simulation, Log.of(run.simulation))


def test_the_goal_is_what_the_autopilot_chose(breached):
    """From its record; without one, by the same rule from where the return began, not from where the flight ended."""
    flown = Facts(breached.simulation, Log.of(breached.simulation))
    assert flown.goal.name == claimed(breached).goal.name == "rally point 0"
    assert flown.goal.place == claimed(breached).goal.place


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"rally_points": ()}, "home"),  # as for PX4 as a library
        ({"rally_points": ((9.0, -1.0),)}, "home"),  # too close to home
        ({"rally_points": ((-60.0, 0.0),), "is_rally_only": True}, "rally point 0"),
    ],
)
def test_a_landing_at_another_place_is_not_a_return(breached, options, name):
    """The vehicle landed at (9, -6), which is not where such an autopilot would return to."""
    facts = claimed(breached, **options)
    assert facts.goal.name == name
    assert facts.distance_to_goal_m > 5.0
    assert ending_of(facts) == "landed away"


def test_a_hold_on_the_last_leg_is_named():
    """The mission ends in the air, in hold mode too; but here the fence holds before that, and names itself."""
    mission = mission_of((22, 0, 0, 4), (16, 30, 0, 4))
    quick = {"COM_SPOOLUP_TIME": 0.1, "MPC_TKO_RAMP_T": 0.5, "MPC_TKO_SPEED": 3.0, "GF_MAX_HOR_DIST": 10.0}
    sim = flight(mission, end_s=14, params=quick | {"GF_ACTION": 2}).run()
    summary = summarize(sim)
    assert summary.outcome == "mission not finished"
    assert "a failsafe (geofence) took over at" in summary.reason
    assert "at item 1 of a mission with items 0 to 1, with mode hold" in summary.reason
    log = Log.of(sim)
    finished = np.arange(log.rows) >= np.flatnonzero(log["nav_state"] == 4)[0] + 90  # 0.9 s later, as by stock PX4
    ended = Log({name: log[name] for name in log} | {"mission_finished": finished.astype(np.int64)})
    assert Facts(sim, ended).takeover is None


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


def height_panel(figure):
    """Return the panel of the height, and what it says of the fence."""
    axes = next(axes for axes in figure.axes if axes.get_title(loc="left") == "Height")
    return axes, [text.get_text() for text in axes.texts if text.get_text().startswith("stay")]


@pytest.mark.parametrize("height_m", [15.0, 120.0])
def test_the_figure_has_limits_of_height_and_distance(height_m):
    """GF_MAX_VER_DIST is a line in the panel of the height, or text if it is far above the flight."""
    limits = {"GF_MAX_VER_DIST": height_m, "GF_MAX_HOR_DIST": 60.0, "GF_ACTION": 2}
    flown = px4lockstep.simulate("x500", overrides={"autopilot.params": limits, "timeline.t_end_s": 20.0})
    figure = flown.plot()
    axes, texts = height_panel(figure)
    ceilings = [line for line in axes.lines if set(line.get_ydata()) == {height_m}]
    if height_m == 15.0:
        assert texts == ["stay below 15 m"]
        assert len(ceilings) == 1
        assert axes.get_ylim()[1] > 15.0
    else:
        assert texts == ["stay below 120 m \u2191"]
        assert ceilings == []
        assert axes.get_ylim()[1] < 1.4 * float(-flown.log["pos_ned"][:, 2].min())
    [circle] = figure.axes[0].patches
    assert (circle.radius, circle.get_label()) == (60.0, "stay inside")


def test_without_a_limit_there_is_no_ceiling(breached):
    """Zones have no height."""
    assert height_panel(breached.plot())[1] == []


def test_exports_and_summaries_of_killed_runs_have_the_breach(breached, tmp_path):
    """Maps and ULog from the summary, or from log and plan without one, as the summary of a run that a signal ended."""
    folder = breached.save(tmp_path / "run", plots=False)
    wanted = [(each.time_us, each.label, each.is_fault) for each in breached.summary.events]
    for has_summary in (True, False):
        if not has_summary:
            (folder / "summary.json").unlink()
        source, _ = read_source(folder)
        assert [(each.time_us, each.label, each.is_fault) for each in source.events] == wanted
        for name in ("kml", "gpx", "ulog"):
            FORMATS[name].write(source, tmp_path / "exported", ExportOptions())
            assert b"geofence breached" in (tmp_path / "exported").read_bytes(), name
    summary = keep_crashed(folder, px4lockstep.load_spec(folder / "spec.toml"), 11)
    assert [event["label"] for event in summary["events"]] == [label for _, label, _ in wanted]


@pytest.mark.parametrize("is_inclusion", [True, False])
def test_a_flight_that_starts_on_the_wrong_side_is_a_breach(is_inclusion):
    """Outside an inclusion zone or inside an exclusion zone, until it crosses the edge at 10 m; and none otherwise."""
    north_m = np.arange(20.0) if not is_inclusion else np.arange(20.0)[::-1]
    pos_ned = np.stack([north_m, 0.0 * north_m, 0.0 * north_m], axis=1)
    area = Area((Zone("geoFence circles[0]", is_inclusion, ((0.0, 0.0),), 9.5),))
    log = Log({"time_us": np.arange(20, dtype=np.uint64), "pos_ned": pos_ned})
    told = [(event.time_us, event.label, event.is_fault) for event in events_of(log, area)]
    assert told == [(0, "geofence breached", True), (10, "geofence breach over", False)]
    back = Log({"time_us": log.time_us, "pos_ned": pos_ned[::-1]})
    assert [(event.time_us, event.label) for event in events_of(back, area)] == [(10, "geofence breached")]
