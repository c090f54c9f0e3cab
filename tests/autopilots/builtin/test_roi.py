"""Regions of interest, gates and loiters to an altitude of the built-in autopilot, in flight on the X500.

The plans of tests/flights/test_plans.py have more of them.
"""

import functools

import numpy as np
import pytest
from mission_files import wpl

from px4lockstep.flights.run import fly
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

HOME, NORTH, EAST = "47.397742 8.545594", "47.397922 8.545594", "47.397742 8.545992"
"""The second is 20 m, the third 30 m away."""
TAKEOFF = f"0 1 3 22 0 0 0 0 {HOME} 4 1"
LAND = f"0 0 3 21 0 0 0 0 {NORTH} 0 1"


@functools.cache
def flown(*items, **params):
    """Fly to the north between a takeoff and a landing; return the log."""
    lines = [TAKEOFF, *(f"0 0 {item} 1" for item in items), LAND]
    numbered = [f"{number} {int(number == 0)} {line.split(' ', 2)[2]}" for number, line in enumerate(lines)]
    changes = {"environment.wind": "none", "estimator.kind": "none", "timeline.t_end_s": "auto"}
    changes |= {"timeline.dt_log_s": 0.02, "autopilot.params": dict(params), "px4.mission_path": "simple"}
    spec = load_spec("x500", changes)
    spec.missions["simple"] = parse_wpl(wpl(*numbered), "test")
    run = fly(build(spec))
    assert run.summary.outcome == "flown"
    return run.log


def heading_deg(log, row):
    """Return the heading at a row."""
    w, x, y, z = log["q_bn"][row]
    return float(np.degrees(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))))


def row_of(log, item):
    """Return the last row at which an item is the current one."""
    return int(np.flatnonzero(log["mission_item"] == item)[-1])


WAYPOINT = f"3 16 0 1 0 nan {NORTH} 4"
LOOK = f"3 195 0 0 0 0 {EAST} 0"


@pytest.mark.parametrize(
    ("item", "wanted"),
    [
        (LOOK, 123.5),  # 20 m north of home
        (f"3 201 3 0 0 0 {EAST} 0", 123.5),
        ("2 196 0 0 0 0 0 0 90", 90.0),  # to the right of the course
        ("2 196 0 0 0 0 0 0 nan", 0.0),
        ("2 201 1 0 0 0 0 0 0", 0.0),
    ],
)
def test_a_region_of_interest_sets_the_heading_of_a_leg(item, wanted):
    """By any of the commands; the waypoint's own heading is ignored, and it is reached with that of the region."""
    log = flown(item, f"3 16 0 1 0 45 {NORTH} 4")
    assert heading_deg(log, row_of(log, 2)) == pytest.approx(wanted, abs=12.0)  # MIS_YAW_ERR


@pytest.mark.parametrize("end", ["2 197 0 0 0 0 0 0 0", "2 201 0 0 0 0 0 0 0"])
def test_a_region_of_interest_ends(end):
    """The vehicle faces its course again."""
    log = flown(LOOK, end, WAYPOINT)
    assert heading_deg(log, row_of(log, 3)) == pytest.approx(0.0, abs=2.0)


def test_the_gimbal_turns_if_it_can():
    """With MIS_MNT_YAW_CTL, the vehicle faces its course."""
    log = flown(LOOK, WAYPOINT, MIS_MNT_YAW_CTL=1)
    assert heading_deg(log, row_of(log, 2)) == pytest.approx(0.0, abs=2.0)


def test_the_mode_of_the_heading_does_not_matter():
    """MPC_YAW_MODE 3 would follow the trajectory."""
    log = flown(LOOK, WAYPOINT, MPC_YAW_MODE=3)
    assert heading_deg(log, row_of(log, 2)) == pytest.approx(123.5, abs=12.0)


def test_a_gate_is_passed_on_the_way_to_the_next_position():
    """10 m north, with the next position 20 m north; the vehicle does not slow down for it."""
    log = flown("3 4501 0 0 0 0 47.397832 8.545594 4", WAYPOINT)
    plain = flown(WAYPOINT)
    row = row_of(log, 1)
    assert log["pos_ned"][row, 0] == pytest.approx(10.0, abs=0.5)  # 4 m/s, and a tick of the navigator
    np.testing.assert_array_equal(log["pos_ned"], plain["pos_ned"])


def test_a_loiter_to_an_altitude_climbs_at_its_place():
    """The vehicle arrives within NAV_ACC_RAD plus the radius at its old altitude, and then climbs."""
    log = flown(f"3 31 0 2 0 0 {NORTH} 12", NAV_ACC_RAD=1.0)
    away = np.hypot(log["pos_ned"][:, 0] - 20.0, log["pos_ned"][:, 1])
    height = -log["pos_ned"][:, 2]
    assert height[away > 3.5].max() < 4.5
    assert height[row_of(log, 1)] == pytest.approx(12.0, abs=0.9)  # NAV_MC_ALT_RAD
