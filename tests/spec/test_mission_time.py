"""The estimated time of a mission, and the warning of a run that ends before it."""

import math
import re

import pytest
from mission_files import wpl
from spec_files import write

from px4lockstep.environment.projection import MapProjection
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.px4.parameters import resolve
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.mission_time import mission_time_s, short_of_time

LAT, LON = 47.397742, 8.545594
HOME = f"{LAT} {LON}"
M_PER_DEG = 6_371_000.0 * math.pi / 180.0


def time_of(*items, **params):
    """Return the estimated time of a mission near home."""
    lines = [f"{number} 0 {item} 1" for number, item in enumerate(items)]
    mission = parse_wpl(wpl(*lines), "m")
    return mission_time_s(mission, MapProjection(LAT, LON), 488.0, resolve(params))


def north(distance_m):
    """Return the coordinates of a place north of home."""
    return f"{LAT + distance_m / M_PER_DEG:.10f} {LON}"


def test_legs_holds_and_landing_add_up():
    """By hand: climb, 100 m, 4 s of hold, and a landing from 12 m; each leg t = d / v + v / a + a / j."""
    climb = 12.0 / 1.5 + 1.5 / 4.0 + 4.0 / 4.0
    leg = 100.0 / 5.0 + 5.0 / 3.0 + 3.0 / 4.0
    landing = 2.0 / 1.5 + 5.0 / (0.5 * (1.5 + 0.7)) + 5.0 / 0.7
    found = time_of(f"3 22 0 0 0 0 {HOME} 12", f"3 16 4 2 0 0 {north(100.0)} 12", f"3 21 0 0 0 0 {north(100.0)} 0")
    assert found == pytest.approx(climb + leg + 4.0 + landing, abs=1e-4)  # 1 cm of the projection, at 5 m/s


def test_speeds_and_jumps_count():
    """A lower cruise speed, a change of speed, and a leg that is repeated."""
    there, back = f"3 16 0 2 0 0 {north(100.0)} 12", f"3 16 0 2 0 0 {HOME} 12"
    once = time_of(there, back)
    assert time_of(there, back, MPC_XY_CRUISE=4.0) == pytest.approx(once + 2 * (5.0 - 1.0 / 3.0), abs=1e-3)
    assert time_of("2 178 1 4 -1 0 0 0 0", there, back) == time_of(there, back, MPC_XY_CRUISE=4.0)
    there_again = time_of(there, back, "2 177 0 2 0 0 0 0 0")
    assert there_again - once == pytest.approx(2 * 2 * (20.0 + 5.0 / 3.0 + 0.75), abs=1e-3)


def test_a_short_leg_does_not_reach_the_cruise_speed():
    """Continuous at the length where it just does; no time for no distance."""
    limit_m = 25.0 / 3.0 + 5.0 * 0.75
    short, long = (time_of(f"3 16 0 2 0 0 {north(limit_m + d)} 0") for d in (-0.001, 0.001))
    assert short == pytest.approx(long, abs=1e-3)
    assert time_of(f"3 16 0 2 0 0 {HOME} 0") == 0.0


def test_the_estimate_is_close_to_the_flights():
    """Of the recorded flight of PX4, 67.64 s, and of the built-in long mission, 1197.78 s: at most 2 % below."""
    for name, landed_s in (("iris", 67.64), ("iris_long", 1197.78)):
        spec = load_spec(name)
        home = MapProjection(spec.home.lat_deg, spec.home.lon_deg)
        estimate_s = 2.0 + mission_time_s(spec.mission, home, spec.home.alt_msl_m, resolve({}))
        assert 0.98 * landed_s < estimate_s < landed_s


IRIS = 'extends = ["iris"]\n'
TOO_SHORT = "timeline.t_end_s = 60 is probably too short: the mission needs about 67 s"


def test_a_run_that_ends_before_its_mission_is_a_warning(tmp_path):
    """Of the end in the file; 67 s is from its start at 2 s."""
    spec = load_spec(write(tmp_path, f"{IRIS}[timeline]\nt_end_s = 60\n"))
    (warning,) = build(spec).warnings
    assert warning == f"{TOO_SHORT}, estimated from its distances, speeds and holds"


@pytest.mark.parametrize(
    "text",
    [
        "[timeline]\nt_end_s = 68",
        "[timeline]\nt_end_s = 'none'",
        "[timeline]\nt_end_s = 'auto'",
        "[timeline]\nt_end_s = 60\n[autopilot]\nkind = 'none'",
        "[timeline]\nt_end_s = 60\n[px4]\nmission_path = 'none'",
        "[timeline]\nt_end_s = 60\n[[scenario.events]]\nat_s = 20\naction = 'return'",
        "[timeline]\nt_end_s = 60\n[autopilot.params]\nMPC_XY_CRUISE = 8\nMPC_TKO_SPEED = 3\nMPC_LAND_SPEED = 1.5",
        "[timeline]\nt_end_s = 60\n[airframe.px4_params]\nMPC_XY_CRUISE = 8\nMPC_TKO_SPEED = 3\nMPC_LAND_SPEED = 1.5",
    ],
)
def test_other_runs_are_not(tmp_path, text):
    """Long enough, without an end, without a mission or autopilot, with an early end of the mission, faster."""
    assert short_of_time(load_spec(write(tmp_path, f"{IRIS}{text}\n"))) == ()


def test_the_latest_end_of_a_run_that_ends_after_the_landing_counts(tmp_path):
    """As its `t_end_s` does otherwise."""
    spec = load_spec(write(tmp_path, f"{IRIS}[timeline]\nt_end_s = 'auto'\nt_max_s = 60\n"))
    (warning,) = build(spec).warnings
    assert warning.startswith(TOO_SHORT.replace("t_end_s", "t_max_s"))


def test_a_mission_that_ends_in_the_air_delays_an_end_after_the_landing(tmp_path):
    """The run would last for an hour."""
    items = (f"3 22 0 0 0 0 {HOME} 12", f"3 16 0 2 0 0 {north(100.0)} 12")
    write(tmp_path, wpl(*(f"{number} 0 {item} 1" for number, item in enumerate(items))), "up.waypoints")
    spec = load_spec(write(tmp_path, f"{IRIS}[timeline]\nt_end_s = 'auto'\n[px4]\nmission_path = 'up.waypoints'\n"))
    (warning,) = build(spec).warnings
    assert re.match(r"the mission ends in the air, after about \d\d s, but .* timeline\.t_max_s = 3600; set", warning)


def test_an_end_that_is_an_override_is_intended(tmp_path):
    """`--set timeline.t_end_s=10` asks for a part of the mission."""
    spec = load_spec(write(tmp_path, IRIS), settings=["timeline.t_end_s=10"])
    assert short_of_time(spec) == ()
