"""Missions of real PX4 with the conformance double: how they end, and what follows.

With `strict`, the double fails the flight at the first violation; a completed flight had none. `gimbal` makes the
navigator send further commands after the one that matters.
"""

import json

import numpy as np
import pytest
from mission_files import as_plan, wpl
from px4_double import OPTIONS
from px4_flight import COARSE
from px4_runs import flight_of
from spec_files import write

from px4lockstep.errors import InputError
from px4lockstep.flights.run import fly
from px4lockstep.px4.missions import Command, Mission, MissionItem

pytestmark = pytest.mark.process

HERE = "47.397742 8.545594"
NORTH = "47.397822 8.545594"
"""9 m north of home."""
TAKEOFF = f"0 1 3 22 0 0 0 0 {HERE} 5 1"
WAYPOINT = f"1 0 3 16 0 1 0 0 {NORTH} 5 1"
LAND = f"2 0 3 21 0 0 0 0 {NORTH} 0 1"
RETURN = "2 0 2 20 0 0 0 0 0 0 0 1"
LOW = [{"name": "RTL_RETURN_ALT", "value": 7.0}, {"name": "RTL_DESCEND_ALT", "value": 3.0}]
CHANGES = COARSE | {"environment.wind": "none", "px4.params": LOW, "scenario.arm_time_s": 0.2}
CHANGES |= {"scenario.mission_time_s": 0.4, "estimator.kind": "none"}
RETURNED_S = 34.0
"""By then, the mission that ends with a return is over."""


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Make doubles fail on violations."""
    monkeypatch.setenv(OPTIONS, "strict,gimbal")


def flown(folder, *lines, end_s, events=(), **changes):
    """Fly a mission of some lines."""
    path = write(folder, wpl(*lines), "mission.waypoints")
    told = {"px4.mission_path": str(path), "timeline.t_end_s": end_s, "scenario.events": list(events)}
    return fly(flight_of(folder, changes=CHANGES | told | changes))


def modes(run):
    """Return the modes of a flight in order."""
    nav_state = run.log["nav_state"]
    return [int(nav_state[0]), *(int(mode) for mode in nav_state[1:][np.diff(nav_state) != 0])]


# -- the end -----------------------------------------------------------------------------------------------------


def test_a_mission_that_ends_with_a_return_is_finished_after_the_landing(tmp_path):
    """The host changes to return mode when PX4 commands it, and disarms at home."""
    run = flown(tmp_path, TAKEOFF, WAYPOINT, RETURN, end_s=RETURNED_S)
    assert (run.summary.outcome, run.summary.reason) == ("flown", None)
    assert modes(run) == [0, 3, 0, 3, 5, 0]
    assert run.summary.waypoint_items == (0, 1, 2)
    log = run.log
    finished = np.flatnonzero(np.diff(log["mission_finished"]) > 0)
    disarmed = np.flatnonzero(np.diff(log["armed"]) < 0)
    assert finished.tolist() == disarmed.tolist()
    assert -log["pos_ned"][:, 2].min() == pytest.approx(7.0, abs=0.8)  # RTL_RETURN_ALT, NAV_MC_ALT_RAD
    assert np.hypot(*run.summary.final_pos_ned[:2]) < 0.5


def test_a_return_of_the_mission_that_is_not_over_is_not_finished(tmp_path):
    """The run ends while the vehicle is on its way."""
    run = flown(tmp_path, TAKEOFF, WAYPOINT, RETURN, end_s=18.0)
    assert run.summary.outcome == "out of time"
    assert modes(run)[-1] == 5


def test_a_request_replaces_the_return_of_the_mission(tmp_path):
    """Told to land on the way home, the vehicle lands there, and the mission is not finished."""
    run = flown(tmp_path, TAKEOFF, WAYPOINT, RETURN, end_s=26.0, events=[{"at_s": 18.0, "action": "land"}])
    assert modes(run) == [0, 3, 0, 3, 5, 18, 0]
    assert not run.summary.mission_finished


def test_a_mission_that_ends_in_the_air_is_held_there(tmp_path, capfd):
    """Hold mode ends PX4's mission, which would start over at each run of its navigator."""
    run = flown(tmp_path, TAKEOFF, WAYPOINT, end_s=18.0)
    assert (run.summary.outcome, run.summary.reason) == ("flown", None)
    assert modes(run) == [0, 3, 0, 3, 4]
    assert run.summary.waypoint_items == (0, 1)
    assert run.log["armed"][-1] == 1
    assert run.log["pos_ned"][-1][2] == pytest.approx(-5.0, abs=0.8)
    assert capfd.readouterr().out.count("Mission finished, loitering") == 1


def test_a_mission_that_ended_in_the_air_can_be_requested_again(tmp_path):
    """PX4 continues with its last item, which is reached at once."""
    run = flown(tmp_path, TAKEOFF, WAYPOINT, end_s=22.0, events=[{"at_s": 18.0, "action": "start_mission"}])
    assert modes(run) == [0, 3, 0, 3, 4, 3, 4]
    assert run.summary.mission_finished


# -- again -------------------------------------------------------------------------------------------------------


def test_armed_again_without_a_mission_the_vehicle_stays_on_the_ground(tmp_path):
    """PX4's controllers follow the setpoints of the return flight; the finished mission stays finished."""
    events = [{"at_s": RETURNED_S, "action": "arm"}]
    run = flown(tmp_path, TAKEOFF, WAYPOINT, RETURN, end_s=RETURNED_S + 4.0, events=events)
    assert (run.summary.outcome, run.summary.reason) == ("flown", None)
    log = run.log
    again = log["time_us"] > round(RETURNED_S * 1e6) + 20_000
    assert log["armed"][again].all()
    assert (log["thrust_sp_body"][again, 2] < -0.1).any()  # latched in PX4
    assert not log["motors"][again].any()
    assert abs(log["pos_ned"][again, 2]).max() < 0.05
    assert log["mission_finished"][again].all()


@pytest.mark.parametrize("first", ["arm", "start_mission"])
def test_a_second_mission_is_like_the_first(tmp_path, first):
    """Armed again after the landing, before or after the request: same climb, and no waypoint in between."""
    second = {"arm": "start_mission", "start_mission": "arm"}[first]
    events = [{"at_s": 24.0, "action": first}, {"at_s": 24.4, "action": second}]
    run = flown(tmp_path, TAKEOFF, WAYPOINT, LAND, end_s=48.0, events=events)
    assert (run.summary.outcome, run.summary.reason) == ("flown", None)
    assert run.summary.waypoint_items == (0, 1, 2, 0, 1, 2)
    times_s = run.summary.waypoint_times_s
    starts_s = (0.4, 24.4)
    climbs_s = [times_s[0] - starts_s[0], times_s[3] - starts_s[1]]
    assert climbs_s[1] == pytest.approx(climbs_s[0], abs=0.3)  # the start of the mission is not repeated


def test_a_disarmed_vehicle_is_not_armed_by_the_old_request(tmp_path):
    """Only a new event arms it again."""
    run = flown(tmp_path, TAKEOFF, WAYPOINT, LAND, end_s=28.0)
    assert run.log["armed"][-1] == 0
    assert int(run.log["request_arm"][-1]) == 1


# -- plans -------------------------------------------------------------------------------------------------------


def test_a_plan_is_the_same_flight_as_its_text_file(tmp_path):
    """Frame 6 and a take-off without a heading lose nothing."""
    home, north = {"lat_deg": 47.397742, "lon_deg": 8.545594}, {"lat_deg": 47.397822, "lon_deg": 8.545594}
    items = (
        MissionItem(Command.TAKEOFF, **home, alt_m=5.0, frame=6),
        MissionItem(Command.WAYPOINT, **north, alt_m=5.0, acceptance_radius_m=1.0, yaw_deg=0.0),
        MissionItem(Command.LAND, **north, alt_m=0.0),
    )
    digests = []
    for name in ("text", "plan"):
        folder = tmp_path / name
        folder.mkdir()
        text = wpl(TAKEOFF, WAYPOINT, LAND) if name == "text" else json.dumps(as_plan(*items))
        path = write(folder, text, "m.waypoints" if name == "text" else "m.plan")
        run = fly(flight_of(folder, changes=CHANGES | {"px4.mission_path": str(path), "timeline.t_end_s": 12.0}))
        assert run.summary.waypoint_items == (0, 1)
        digests.append(run.summary.digest)
    assert digests[0] == digests[1]


def test_a_waypoint_without_a_heading_is_rejected(tmp_path):
    """As QGroundControl writes it; PX4's loader would skip it."""
    waypoint = MissionItem(Command.WAYPOINT, lat_deg=47.397822, lon_deg=8.545594, alt_m=5.0)
    path = write(tmp_path, json.dumps(as_plan(waypoint)), "m.plan")
    with pytest.raises(InputError, match="item 0: WAYPOINT has no heading"):
        flight_of(tmp_path, changes={"px4.mission_path": str(path)})


def test_the_text_for_the_library_has_the_numbers_of_the_mission():
    """All digits of the position; frame 0 above sea level, 3 above home."""
    item = MissionItem(
        Command.WAYPOINT, 47.39774200000001, 8.5, 500.25, False, hold_s=2.5, acceptance_radius_m=0.5, yaw_deg=-90.0
    )
    text = Mission((item, MissionItem(Command.RETURN_TO_LAUNCH, frame=2)), "m").library_text()
    assert text.splitlines()[0] == "QGC WPL 110"
    numbers = [[float(word) for word in line.split()] for line in text.splitlines()[1:]]
    assert numbers[0] == [0, 0, 0, 16, 2.5, 0.5, 0, -90.0, 47.39774200000001, 8.5, 500.25, 1]
    assert numbers[1] == [1, 0, 3, 20, 0, 0, 0, 0, 0, 0, 0, 1]


# -- fence -------------------------------------------------------------------------------------------------------


def fenced(folder, zone, action, end_s=24.0, **parts):
    """Fly a plan with a zone; the way to the waypoint is 9 m to the north."""
    home, north = (47.397742, 8.545594), (47.397822, 8.545594)
    items = [(Command.TAKEOFF, *home, 5.0), (Command.WAYPOINT, *north, 5.0), (Command.LAND, *north, 0.0)]
    plan = as_plan(
        *(MissionItem(*item, yaw_deg=0.0) for item in items),
        geoFence={"circles": [{"circle": zone, "inclusion": False, "version": 1}], "polygons": [], "version": 2},
        **parts,
    )
    told = {"px4.mission_path": str(write(folder, json.dumps(plan), "fenced.plan")), "timeline.t_end_s": end_s}
    params = {"px4.params": [*LOW, {"name": "GF_ACTION", "value": action}]}
    return fly(flight_of(folder, changes=CHANGES | told | params))


ON_THE_WAY = {"center": [47.397787, 8.545594], "radius": 2}
"""5 m north of home."""


@pytest.mark.parametrize(("action", "modes_"), [(2, [0, 3, 0, 3, 4]), (3, [0, 3, 0, 3, 5, 0])])
def test_the_host_enforces_the_fence_of_a_plan(tmp_path, action, modes_):
    """The library can't load it; the host holds or returns as PX4's commander would. Rally points are a warning."""
    points = {"points": [[47.3979, 8.5456, 20]], "version": 2}
    run = fenced(tmp_path, ON_THE_WAY, action, end_s=16.0 if action == 2 else RETURNED_S, rallyPoints=points)
    assert modes(run) == modes_
    assert 1 in run.log["failsafe"]
    labels = [event.label for event in run.summary.events]
    assert labels.index("geofence breached") < labels.index("failsafe: geofence")
    assert run.summary.outcome == "mission not finished"
    assert "a failsafe (geofence) took over at" in run.summary.reason
    assert run.summary.ending == ("in the air" if action == 2 else "returned")
    assert any("the plan's rally points are not used" in warning for warning in run.summary.warnings)
    assert run.flight.simulation.autopilot.area.rally_points == ()  # a landing there would not be a return


def test_the_host_can_terminate_at_the_fence(tmp_path):
    """GF_ACTION 4 disarms in the air."""
    run = fenced(tmp_path, ON_THE_WAY, 4, end_s=16.0)
    assert run.summary.outcome == "crashed"
    assert "failsafe: geofence" in run.summary.reason


def test_a_mission_outside_its_zones_is_rejected(tmp_path):
    """Before PX4 starts, because the library does not know the zones."""
    with pytest.raises(InputError, match=r"item 1 \(WAYPOINT\) must be outside geoFence circles\[0\]"):
        fenced(tmp_path, {"center": [47.397822, 8.545594], "radius": 3}, 2)


# -- texts -------------------------------------------------------------------------------------------------------


def test_a_mission_outside_of_the_geofence_is_refused_with_px4s_reason(tmp_path):
    """The vehicle stays on the ground, and the reason quotes PX4; nothing is finished."""
    fence = [{"name": "GF_MAX_HOR_DIST", "value": 5.0}]
    run = flown(tmp_path, TAKEOFF, WAYPOINT, LAND, end_s=16.0, **{"px4.params": fence})
    assert run.flight.simulation.autopilot.texts == ("Geofence violation for waypoint 2",)
    assert run.summary.outcome == "never took off"
    assert not run.summary.mission_finished
    assert 'PX4 said: "Geofence violation for waypoint 2"' in run.summary.reason


def test_a_library_without_known_texts_can_be_flown(tmp_path, monkeypatch):
    """They are not needed for a flight."""
    monkeypatch.setenv(OPTIONS, "strict,hash.mavlink_log=0x1234")
    run = flown(
        tmp_path, TAKEOFF, WAYPOINT, LAND, end_s=1.0, **{"px4.params": [{"name": "GF_MAX_HOR_DIST", "value": 5.0}]}
    )
    assert run.flight.simulation.autopilot.texts == ()
