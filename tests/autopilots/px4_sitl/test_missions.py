"""How missions end with stock PX4's double; more of them are in tests/flights/test_mission_variants.py."""

from dataclasses import replace

import numpy as np
import pytest
from px4_sitl_double import make_flight

import px4lockstep
from px4lockstep.flights.facts import Facts
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log
from px4lockstep.px4.fence import Fence, FenceZone, RallyPoint
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.scenario.scenario import Scenario

HOME = "47.397742 8.545594"
NORTH = "47.397832 8.545594"  # 10 m
ENDS = {"land": f"2 0 3 21 0 0 0 0 {NORTH} 0 1", "neither": ""}


def mission(end):
    """Return a short mission: to 4 m, 10 m to the north, and its end."""
    lines = [f"0 1 3 22 0 0 0 0 {HOME} 4 1", f"1 0 3 16 0 0 0 0 {NORTH if end != 'land' else HOME} 4 1", ENDS[end]]
    return parse_wpl("\n".join(["QGC WPL 110", *lines, ""]), "test")


def fly(build, folder, end, end_s, scenario=None, parts=None, **options):
    scenario = scenario or Scenario().arm(at_s=0.5).start_mission(at_s=1.0)
    flown = replace(mission(end), **(parts or {}))
    simulation, sitl = make_flight(build, folder, mission=flown, end_s=end_s, scenario=scenario, **options)
    try:
        simulation.run()
    finally:
        simulation.close()
    return simulation, sitl


def told(simulation, name):
    return simulation.log["bus"]["autopilot"][name]


def labels(simulation):
    return [event.label for event in events_of(Log.of(simulation))]


@pytest.mark.parametrize("version", [pytest.param("1.17", marks=pytest.mark.slow), "main"])
def test_a_landing_away_from_the_last_waypoint_is_awaited(sitl_build, tmp_path, monkeypatch, version):
    """PX4 reports the item as reached when it is above the landing place, 4 m high."""
    monkeypatch.setenv("PX4_DOUBLE_VERSION", version)
    simulation, _ = fly(sitl_build, tmp_path, "land", 30.0)
    finished = told(simulation, "mission_finished") != 0
    assert finished[-1]
    first = np.flatnonzero(finished)[0]
    assert told(simulation, "armed")[first] == 0
    assert told(simulation, "armed")[first - 100] == 1  # not long before
    assert simulation.log_state[first, 0] == pytest.approx(10.0, abs=1.5)


def test_a_landing_on_request_does_not_finish_the_mission(sitl_build, tmp_path):
    """Although PX4 reports the mission as complete."""
    scenario = Scenario().arm(at_s=0.5).start_mission(at_s=1.0).at(5.0).land()
    simulation, sitl = fly(sitl_build, tmp_path, "land", 20.0, scenario)
    assert told(simulation, "armed")[-1] == 0
    assert sitl._api.status._state == 5
    assert not told(simulation, "mission_finished").any()


def test_an_unknown_mode_is_an_event(sitl_build, tmp_path, monkeypatch):
    """Of a newer PX4; the log does not keep the last mode that is known."""
    monkeypatch.setenv("PX4_DOUBLE_MISBEHAVE", f"mode={99 << 16 | 7 << 24}@8")
    simulation, _ = fly(sitl_build, tmp_path, "neither", 3.0)
    assert labels(simulation)[-1] == "mode unknown (99, 7)"


def test_a_mission_outside_the_geofence_is_not_flown(sitl_build, tmp_path):
    """PX4 refuses mission mode while it is armed, and accepts it after it has disarmed itself: that does not count."""
    simulation, _ = fly(sitl_build, tmp_path, "land", 14.0, params={"GF_MAX_HOR_DIST": 5.0})
    [warning] = simulation.warnings
    assert "PX4 was commanded to fly the mission for" in warning
    assert "but it answered: temporarily rejected; it said: " in warning
    texts = ("Geofence violation for waypoint 3", "Switching to Mission is currently not available")
    assert simulation.autopilot.texts == texts
    assert told(simulation, "armed")[-1] == 0
    assert told(simulation, "mission_item")[-1] == 0


def place(north_m, east_m):
    return 47.397742 + north_m / 111_194.9, 8.545594 + east_m / 75_270.0


def test_stock_px4_gets_the_fence_and_returns_to_a_rally_point(sitl_build, tmp_path):
    """The way to the landing point crosses an exclusion polygon; PX4 returns to the rally point before it."""
    wall = FenceZone(False, tuple(place(*corner) for corner in ((14, -15), (14, 15), (17, 15), (17, -15))))
    parts = {
        "fence": Fence((FenceZone(True, (), place(0, 0), 50.0), wall)),
        "rally_points": (RallyPoint(*place(10, -8), 0.0),),
        "items": (*mission("land").items[:2], replace(mission("land").items[2], lat_deg=place(30, 0)[0])),
    }
    simulation, _ = fly(sitl_build, tmp_path, "land", 35.0, parts=parts, params={"GF_ACTION": 3, "RTL_RETURN_ALT": 5.0})
    assert 5 in told(simulation, "nav_state")
    assert 1 in told(simulation, "failsafe")
    assert simulation.log_state[-1, :2] == pytest.approx([10.0, -8.0], abs=1.5)
    found = [event.label for event in events_of(Log.of(simulation), simulation.autopilot.area)]
    assert found.index("geofence breached") < found.index("mode return")
    assert Facts(simulation, Log.of(simulation)).goal.name == "rally point 0"


def test_stock_px4_refuses_a_mission_outside_the_zones(sitl_build, tmp_path):
    """Because it has the fence before the mission."""
    simulation, _ = fly(
        sitl_build, tmp_path, "land", 14.0, parts={"fence": Fence((FenceZone(True, (), place(0, 0), 5.0),))}
    )
    assert simulation.autopilot.texts[0] == "Geofence violation for waypoint 3"
    assert told(simulation, "armed")[-1] == 0
    assert told(simulation, "mission_item")[-1] == 0


def test_the_x500_lands_upright_in_its_wind_and_the_run_ends(sitl_build, tmp_path):
    """With the hover throttle of its airframe: PX4 detects the landing by it, and disarms; the run ends 3 s later."""
    path = tmp_path / "hop.waypoints"
    path.write_text(f"QGC WPL 110\n0 1 3 22 0 0 0 0 {HOME} 3 1\n1 0 3 21 0 0 0 0 {HOME} 0 1\n", "utf-8")
    sitl = {"autopilot.kind": "px4-sitl", "px4.sitl.build_dir": str(sitl_build), "px4.mission_path": str(path)}
    run = px4lockstep.simulate("x500", overrides=sitl)
    assert run.outcome.word == "flown", run.outcome.reason
    disarmed_s = run.log["time_s"][np.flatnonzero(run.log["armed"])[-1]]
    assert run.log["time_s"][-1] == pytest.approx(disarmed_s + 3.0, abs=0.05)  # a log row is 0.02 s
    assert disarmed_s < 30.0
    assert -run.log["pos_ned"][-1, 2] == pytest.approx(0.2192, abs=1e-3)


def test_stock_px4_gets_camera_commands_and_turns_to_its_region_of_interest(sitl_build, tmp_path):
    """The location is 30 m east of home: at the waypoint, 10 m to the north, the heading is 108 degrees."""
    lines = [
        f"0 1 3 22 0 0 0 0 {HOME} 4 1",
        "1 0 2 206 2.5 0 1 0 0 0 0 1",
        "2 0 3 195 0 0 0 0 47.397742 8.545992 0 1",
        f"3 0 3 16 3 0 0 nan {NORTH} 4 1",
        "4 0 2 197 0 0 0 0 0 0 0 1",
        f"5 0 3 21 0 0 0 0 {NORTH} 0 1",
    ]
    own = parse_wpl("\n".join(["QGC WPL 110", *lines, ""]), "test")
    scenario = Scenario().arm(at_s=0.5).start_mission(at_s=1.0)
    simulation, _ = make_flight(sitl_build, tmp_path, mission=own, end_s=30.0, scenario=scenario)
    try:
        simulation.run()
    finally:
        simulation.close()
    assert told(simulation, "mission_finished")[-1]
    assert {0, 3, 5} <= set(told(simulation, "mission_item").tolist())
    w, x, y, z = simulation.log_state[-1, 6:10]
    assert np.degrees(np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))) == pytest.approx(108.4, abs=8.0)
