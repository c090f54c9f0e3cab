"""Flights as the viewer shows them: any microsecond, several runs in one frame and on one clock."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ulog_files import flight
from viewed import made_flight

from px4lockstep import InputError, load_spec, read_run, simulate
from px4lockstep.flights.imported import save_import
from px4lockstep.log.ulog_import import import_ulog
from px4lockstep.view.flown import MAX_RUNS, viewed_flights
from px4lockstep.view.shape import shape_of, usual_shape

PLANS = Path(__file__).resolve().parents[1] / "flights" / "plans"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A short flight of the x500, one with a fence from a home 100 m further north, and an imported one."""
    folder = tmp_path_factory.mktemp("viewed")
    simulate("x500", overrides={"timeline.t_end_s": 8.0}).save(folder / "one", plots=False)
    home = load_spec("x500").home
    moved = {
        "timeline.t_end_s": 1.0,
        "home.lat_deg": home.lat_deg + 100.0 / 111_195.0,
        "home.alt_msl_m": home.alt_msl_m + 7.0,
        "px4.mission_path": None,
        "autopilot.kind": "none",
    }
    simulate("x500", overrides=moved).save(folder / "two", plots=False)
    (folder / "real.ulg").write_bytes(flight(4.0))
    save_import(import_ulog(folder / "real.ulg"), folder / "real", "real", plots=False)
    return folder


def test_a_pose_between_two_rows_is_interpolated_and_at_a_row_exact():
    """The flight moves 1 m/s, so a microsecond is a micrometre."""
    flight = made_flight()
    assert flight.pose(500_000).pos_ned.tolist() == flight.log["pos_ned"][50].tolist()
    moved_m = flight.pose(500_001).pos_ned[0] - flight.pose(500_000).pos_ned[0]
    assert moved_m == pytest.approx(1e-6, rel=1e-6)
    assert flight.pose(10**9).pos_ned.tolist() == flight.log["pos_ned"][-1].tolist()
    assert flight.pose(-5).pos_ned.tolist() == [0.0, 0.0, -10.0]


def test_shifts_move_times_positions_setpoints_and_events_together():
    """By 2 s and 5 m to the east."""
    wanted = np.tile((7.0, 0.0, -10.0), (101, 1))
    flight = made_flight(pos_sp_ned=wanted)
    moved = replace(flight, shift_us=2_000_000, shift_ned=(0.0, 5.0, 0.0))
    before, after = flight.pose(300_000), moved.pose(2_300_000)
    assert (after.pos_ned - before.pos_ned).tolist() == [0.0, 5.0, 0.0]
    assert (after.target_ned - before.target_ned).tolist() == [0.0, 5.0, 0.0]
    assert [event.time_us for event in moved.events] == [2_500_000]
    assert moved.events[0].label == "armed"
    assert moved.error_m[0] == flight.error_m[0] == 7.0


def test_rows_without_a_position_are_left_out_and_setpoints_that_are_nan_are_no_ghost():
    """A log of PX4 starts before its estimate is valid."""
    flight = made_flight()
    pos, wanted = flight.log["pos_ned"].copy(), np.full((101, 3), np.nan)
    pos[:10] = np.nan
    wanted[60:] = 0.0
    flight = made_flight(pos_ned=pos, pos_sp_ned=wanted)
    assert flight.time_us[0] == 100_000
    assert flight.pose(300_000).target_ned is None
    assert flight.pose(800_000).target_ned.tolist() == [0.0, 0.0, 0.0]


def test_rotors_turn_against_their_reaction_and_their_angle_depends_on_the_time_alone():
    """Direction 1 is a reaction that turns the body clockwise from above, so the rotor turns the other way."""
    flight = made_flight(rotor_speed_rad_s=np.full((101, 4), 450.0))
    spin = flight.pose(1_000_000).spin_rad
    assert np.sign(spin).tolist() == [-1.0, -1.0, 1.0, 1.0]
    assert np.abs(spin) == pytest.approx(10.0)  # 450 rad/s for 1 s, drawn 45 times slower
    flight.pose(20_000)
    assert flight.pose(1_000_000).spin_rad.tolist() == spin.tolist()


def test_shapes_come_from_the_spec():
    """Rotors, radii and feet of the x500; motors are not feet, although they touch the ground in a crash."""
    spec = load_spec("x500")
    shape = shape_of(spec)
    assert [rotor.pos_body_m for rotor in shape.rotors] == list(spec.airframe.rotor_pos_body_m)
    assert {rotor.radius_m for rotor in shape.rotors} == {0.171}
    assert (len(shape.feet_body_m), shape.foot_m) == (4, 0.2219)
    assert shape.hover_thrust_n == pytest.approx(2.0644 * 9.80665 / 4.0)
    heavy = load_spec("x500", overrides={"airframe.cg_offset_body_m": [0.01, 0.0, 0.0]})
    assert shape_of(heavy).rotors[0].pos_body_m[0] == pytest.approx(0.164)
    assert [len(usual_shape(count).rotors) for count in (1, 4, 6)] == [1, 4, 6]


def test_runs_share_the_frame_of_the_first(folder):
    """The second home is 100 m further north and 7 m higher; a spread moves it to the east too."""
    one, two = viewed_flights([read_run(folder / "one"), read_run(folder / "two")], spread_m=3.0)
    assert one.shift_ned == (0.0, 0.0, 0.0)
    assert two.shift_ned == pytest.approx((100.0, 3.0, -7.0), abs=0.2)  # a degree is 111,195 m on PX4's sphere
    assert len(one.waypoints) == 8
    assert one.waypoints[0][2] == -12.0
    assert one.name == "one"


def test_imported_flights_are_shifted_to_the_clock_of_the_first(folder):
    """The real one arms 1 s after its start, the simulated one at 1.00 s; and it has a usual shape."""
    real, one = viewed_flights([read_run(folder / "real"), read_run(folder / "one")])
    armed_us = [next(event.time_us for event in each.events if event.label == "armed") for each in (real, one)]
    assert abs(armed_us[0] - armed_us[1]) <= 20_000  # a row
    assert len(real.shape.rotors) == 4
    assert real.waypoints == {}


def test_errors_name_the_run_and_the_reason(folder, tmp_path):
    """No runs, too many, no log, no position."""
    one = read_run(folder / "one")
    with pytest.raises(InputError, match="0 runs can't be viewed at once; give 1 to 12"):
        viewed_flights([])
    with pytest.raises(InputError, match=f"{MAX_RUNS + 1} runs can't be viewed"):
        viewed_flights([one] * (MAX_RUNS + 1))
    with pytest.raises(InputError, match="is not a run folder"):
        viewed_flights([read_run(tmp_path)])
    with pytest.raises(InputError, match="must be a number of metres, not nan"):
        viewed_flights([one], spread_m=float("nan"))
    run = simulate("x500", overrides={"timeline.t_end_s": 0.5, "run.log_columns": ["vel_ned"]})
    run.save(tmp_path / "thin", plots=False)
    with pytest.raises(InputError, match="no column pos_ned and no column q_bn"):
        viewed_flights([read_run(tmp_path / "thin")])


def test_two_runs_of_one_name_get_different_labels(folder):
    """The folder's name, and a number."""
    runs = [read_run(folder / "one")] * 2
    assert [flight.name for flight in viewed_flights(runs)] == ["one", "one (2)"]


def test_a_removed_mission_is_no_error(folder, tmp_path):
    """The flight is shown without waypoints."""
    plan = tmp_path / "fence.plan"
    plan.write_text((PLANS / "fence.plan").read_text())
    run = simulate("x500", overrides={"px4.mission_path": str(plan), "timeline.t_end_s": 2.0})
    saved = run.save(tmp_path / "run", plots=False)
    [whole] = viewed_flights([read_run(saved)])
    assert whole.area.zones
    assert len(whole.waypoints) == len([item for item in run.flight.mission.items if item.command.has_position])
    for file in saved.glob("*.plan"):
        file.unlink()
    [bare] = viewed_flights([read_run(saved)])
    assert (bare.waypoints, bare.area.zones) == ({}, ())
    assert json.loads((saved / "summary.json").read_text())
