"""Twelve plans as QGroundControl 4 and 5 write them, flown by the built-in autopilot on the X500.

An independent reader (`plan_reader`) says what a vehicle should do; the log of the flight is compared with it. Without
wind and with an exact estimate, the vehicle is at most 0.2 m from where the navigator believes it to be at a log row:
it flies at up to 8 m/s, and the log has a row every 20 ms.
"""

import functools
import math
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from plan_reader import DEFAULT_RADIUS_M, HEIGHT_TOLERANCE_M, Reader

from px4lockstep.flights.run import fly
from px4lockstep.px4.missions import load_mission
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

PLANS = {path.stem: path for path in sorted((Path(__file__).parent / "plans").glob("*.plan"))}
ROW_M = 0.2
"""Distance between two rows of the log, at most."""
BESIDE_M = 1.5
"""How far the vehicle may be beside its path: it cuts corners within the acceptance radius, and swings out a little."""
RETURN_M = 12.0
"""RTL_RETURN_ALT: low, so that returns are short."""


@functools.cache
def flown(name):
    """Fly a plan; return the run and what the independent reader makes of the plan."""
    changes = {"px4.mission_path": str(PLANS[name]), "environment.wind": "none", "estimator.kind": "none"}
    changes |= {
        "autopilot.params": {"RTL_RETURN_ALT": RETURN_M, "NAV_ACC_RAD": DEFAULT_RADIUS_M},
        "timeline.dt_log_s": 0.02,
    }
    changes |= {"timeline.t_end_s": 30.0} if name == "no_landing" else {"timeline.t_end_s": "auto"}
    return fly(build(load_spec("x500", changes))), Reader(PLANS[name])


def arrivals(name):
    """Return the rows at which a flight reaches each goal, the first after that of the goal before."""
    run, reader = flown(name)
    pos, row, rows = run.log["pos_ned"], 0, []
    for goal in reader.goals:
        n, e, height = goal.place
        if goal.kind == "land":
            height = 0.0
        beside = np.hypot(pos[row:, 0] - n, pos[row:, 1] - e) <= goal.radius_m + ROW_M
        level = np.abs(pos[row:, 2] + height) <= HEIGHT_TOLERANCE_M + ROW_M
        found = np.flatnonzero(beside & level)
        assert len(found), f"{name}: {goal} is not reached after {run.log.time_us[row] / 1e6} s"
        row += int(found[0])
        rows.append(row)
    return rows


def headings_deg(run):
    """Return the heading at each row."""
    w, x, y, z = run.log["q_bn"].T
    return np.degrees(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)))


def apart_deg(a, b):
    return np.abs((np.asarray(a) - b + 180.0) % 360.0 - 180.0)


def test_there_are_twelve_plans():
    """One for each feature that users of QGroundControl plan with."""
    scans = ["corridor_scan", "structure_scan", "survey"]
    parts = ["camera", "fence", "gimbal", "jump", "rally", "roi", "speed"]
    assert sorted(PLANS) == sorted([*scans, *parts, "no_landing", "return"])


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_flown_as_written(name):
    """All positions in order, within their acceptance radius, and nothing beside the path between them."""
    run, reader = flown(name)
    rows = arrivals(name)
    assert (run.summary.outcome, run.summary.reason) == ("flown", None)
    pos = run.log["pos_ned"]
    path = [(0.0, 0.0), *(goal.place[:2] for goal in reader.goals)]
    for (start, end), (first, last) in zip(pairwise(path), pairwise([0, *rows]), strict=True):
        beside = distance_to_segment(pos[first : last + 1, :2], np.array(start), np.array(end))
        assert beside.max() < BESIDE_M, f"{name}: {beside.max():.2f} m beside the path from {start} to {end}"


def distance_to_segment(points, start, end):
    """Return the distance of points from the segment between two others."""
    along = end - start
    length2 = float(along @ along)
    part = np.clip((points - start) @ along / length2, 0.0, 1.0)[:, None] if length2 > 0.0 else 0.0
    return np.linalg.norm(points - start - part * along, axis=1)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_ends_as_written(name):
    """At its landing point, at home after a return, or in the air."""
    run, reader = flown(name)
    last = reader.goals[-1].place
    place = {"land": (*last[:2], 0.0), "return": (0.0, 0.0, 0.0), "air": last}[reader.ends_with]
    np.testing.assert_allclose(run.log["pos_ned"][-1] * (1, 1, -1), place, atol=1.0)
    assert bool(run.log["landed"][-1]) == (reader.ends_with != "air")
    highest = max(goal.place[2] for goal in reader.goals)
    if reader.ends_with == "return":
        highest = max(highest, RETURN_M)
    assert -run.log["pos_ned"][:, 2].min() == pytest.approx(highest, abs=HEIGHT_TOLERANCE_M + ROW_M)


@pytest.mark.parametrize("name", ["camera", "gimbal"])
def test_holds_and_headings_are_those_of_the_plan(name):
    """A waypoint is left after its hold time at the earliest; its heading is reached before."""
    run, reader = flown(name)
    rows, time_s = arrivals(name), run.log.time_us / 1e6
    for goal, (here, after) in zip(reader.goals, pairwise([*rows, len(time_s) - 1]), strict=True):
        n, e, _ = goal.place
        near = np.hypot(run.log["pos_ned"][here:after, 0] - n, run.log["pos_ned"][here:after, 1] - e) < 1.5
        assert near.sum() * 0.02 >= goal.hold_s
        if goal.heading_deg is not None:
            assert apart_deg(headings_deg(run)[here:after], goal.heading_deg).min() < 12.0  # MIS_YAW_ERR


def test_the_vehicle_looks_at_its_region_of_interest():
    """It arrives at each waypoint with that heading; MIS_YAW_ERR is 12 degrees."""
    run, reader = flown("roi")
    rows, pos, heading = arrivals("roi"), run.log["pos_ned"], headings_deg(run)
    looks = [(goal.roi, row) for goal, row in zip(reader.goals, rows, strict=True) if goal.roi is not None]
    for (north, east), row in looks:
        wanted = math.degrees(math.atan2(east - pos[row, 1], north - pos[row, 0]))
        assert apart_deg(heading[row], wanted) < 12.0
    assert len(looks) == 2


def test_the_vehicle_looks_at_the_structure_that_it_scans():
    """To the right of its course around it; closer than NAV_ACC_RAD to a corner, the heading is not updated."""
    run, reader = flown("structure_scan")
    rows, heading = arrivals("structure_scan"), headings_deg(run)
    legs = [
        (before.place, after.place, after.offset_deg, row)
        for (before, after), row in zip(pairwise(reader.goals), rows[1:], strict=True)
        if after.offset_deg is not None and math.dist(before.place[:2], after.place[:2]) > 1.0
    ]
    for (n0, e0, _), (n1, e1, _), offset_deg, row in legs:
        assert offset_deg == 90
        assert apart_deg(heading[row], math.degrees(math.atan2(e1 - e0, n1 - n0)) + offset_deg) < 15.0
    assert len(legs) == 8  # four sides, two layers


def test_the_heading_is_free_again_after_the_region_of_interest():
    """The vehicle faces its path on the legs after DO_SET_ROI_NONE."""
    run, reader = flown("roi")
    rows, heading = arrivals("roi"), headings_deg(run)
    kinds = [goal.roi is not None for goal in reader.goals]
    first = kinds.index(True) + sum(kinds)
    for before, after in pairwise(range(first, len(rows) - 1)):
        (n0, e0, _), (n1, e1, _) = reader.goals[before].place, reader.goals[after].place
        course = math.degrees(math.atan2(e1 - e0, n1 - n0))
        assert apart_deg(heading[rows[after]], course) < 5.0


def test_speeds_are_those_of_the_plan():
    """In the middle of a leg, the vehicle flies at the speed of the last DO_CHANGE_SPEED."""
    run, reader = flown("speed")
    rows, speed = arrivals("speed"), np.linalg.norm(run.log["vel_ned"][:, :2], axis=1)
    for goal, (before, here) in zip(reader.goals[1:-1], pairwise(rows[:-1]), strict=True):
        assert speed[before:here].max() == pytest.approx(goal.speed_m_s, rel=0.1)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("survey", "6 camera commands have no effect (206 DO_SET_CAM_TRIGG_DIST)"),
        ("gimbal", "3 gimbal commands have no effect (205 DO_MOUNT_CONTROL, 1000 DO_GIMBAL_MANAGER_PITCHYAW)"),
    ],
)
def test_commands_without_an_effect_are_in_the_summary(name, line):
    """They are counted by kind; the plan is flown completely, so that `strict` accepts it."""
    run, _ = flown(name)
    assert [warning for warning in run.summary.warnings if warning.endswith(f"{name}.plan: {line}")]
    assert load_mission(PLANS[name], strict=True).not_flown == ()


@pytest.mark.parametrize("radius_m", [1.0, 10.0])
def test_waypoints_without_a_radius_have_that_of_the_parameter(radius_m):
    """NAV_ACC_RAD, as in PX4: stock PX4 flies this plan in 20.0 s with 10 m, since all waypoints are so close."""
    changes = {"px4.mission_path": str(PLANS["jump"]), "autopilot.params": {"NAV_ACC_RAD": radius_m}}
    run = fly(build(load_spec("x500", changes)))
    assert run.summary.mission_finished
    finished_s = run.summary.waypoint_times_s[-1]
    assert finished_s == pytest.approx(20.0, abs=2.0) if radius_m == 10.0 else finished_s > 50.0
