"""Build a flight from a spec: each table reaches its model."""

import functools
import json
import math

import numpy as np
import pytest
from fleet import power_buses
from mission_files import as_plan
from spec_files import MINIMAL, load_text

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.kinds import make_autopilot
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic
from px4lockstep.errors import InputError, StateError
from px4lockstep.px4.missions import Command, MissionItem
from px4lockstep.spec.build import build
from px4lockstep.spec.load import change_spec, load_spec


def test_the_iris_flies_for_a_few_seconds():
    """It climbs in wind, and every flight is identical."""
    flights = [build(load_spec("iris", {"timeline.t_end_s": 8.0})).simulation.run() for _ in range(2)]
    assert flights[0].digest() == flights[1].digest()
    assert -flights[0].log_state[-1, 2] > 1.0
    assert np.abs(flights[0].log["bus"]["wind"]["vel_ned"]).max() > 0.1


def test_the_seed_changes_the_flight():
    """All randomness comes from the seed."""
    flights = [build(load_spec("iris", {"timeline.t_end_s": 4.0, "aircraft.seed": seed})) for seed in (1, 2)]
    assert flights[0].simulation.run().digest() != flights[1].simulation.run().digest()


def test_times_of_events_and_gusts_are_boundaries(tmp_path):
    """To the microsecond. Events after the end, also at ticks, are omitted with a warning."""
    text = """
[px4]
mission_path = "simple"
[timeline]
t_end_s = 5.0
[[environment.gusts]]
start_s = 1.000001
end_s = 9.0
vel_ned = [1, 0, 0]
[[scenario.events]]
at_s = 3.000007
action = "disable_motor"
motor = 2
[[scenario.events]]
at_s = 6.0
action = "land"
[[scenario.events]]
at_step = 1250
action = "land"
[[scenario.events]]
at_step = 1251
action = "land"
"""
    flight = build(load_text(tmp_path, MINIMAL + text))
    assert flight.simulation.timeline.scenario == Explicit((1_000_000, 1_000_001, 2_000_000, 3_000_007))
    assert [event.action for _, event in flight.scenario.keyed_events] == [
        "arm",
        "start_mission",
        "disable_motor",
        *["land"] * 3,
    ]
    assert flight.warnings == (
        "scenario.events[3].at_step = 1251, at 5.004 s, is after the end, timeline.t_end_s = 5.0",
        "scenario.events[1].at_s = 6.0 is after the end, timeline.t_end_s = 5.0",
    )


def test_errors_number_events_as_in_the_file(tmp_path):
    """Although arming and mission start come first."""
    text = '[px4]\nmission_path = "simple"\n[[scenario.events]]\nat_s = 1\naction = "sensor_fault"\nsensor = "gps"\n'
    with pytest.raises(InputError, match=r"scenario\.events\[0\]\.sensor = 'gps'"):
        build(load_text(tmp_path, MINIMAL + text))


def test_the_timeline_has_the_periods_of_the_file(tmp_path):
    """With a physics axis if one is given."""
    timeline = build(load_text(tmp_path, MINIMAL)).simulation.timeline
    assert (timeline.autopilot, timeline.wind, timeline.log) == (Periodic(4_000), Periodic(1_000), Periodic(10_000))
    assert timeline.physics is None
    fine = build(load_text(tmp_path, MINIMAL + "[timeline]\nt_end_s = 1\ndt_phys_s = 0.0005\n")).simulation.timeline
    assert fine.physics == Periodic(500)


def test_the_integrator_has_the_tolerances_of_the_file(tmp_path):
    """By group; an initial step of 0 is chosen automatically."""
    text = (
        "[plant.integrator]\nkind = 'RK23'\nrtol_omega = 1e-9\natol_att_rad = 1e-8\nh_max = 0.0005\nmax_substeps = 7\n"
    )
    integrator = build(load_text(tmp_path, MINIMAL + text)).simulation.integrator
    assert (integrator.kind, integrator.rtol_of("omega"), integrator.atol_of("att")) == ("RK23", 1e-9, 1e-8)
    assert (integrator.first_step_s, integrator.max_substeps) == (0.0005, 7)


def test_the_aircraft_has_the_values_of_its_tables(tmp_path):
    """Attitude, drag, actuators, servos, contact, buses, gravity, altitude."""
    text = """
drag = "body_quadratic"
drag_area_body_m2 = [0.01, 0.02, 0.03]
x0 = { euler_deg = [0, 0, 90], pos_ned = [1, 2, -3] }
[home]
alt_msl_m = 100
[environment]
gravity = "spherical"
[plant]
contact = "no_contact"
[actuation]
motor_actuators = { kind = "first_order", "τ" = 0.02 }
servos = [{ id = "flap", channel = 3 }]
motors = [{ id = "a", channel = 4 }, { id = "b", channel = 3 }, { id = "c", channel = 2 }, { id = "d", channel = 1 }]
[power]
share_mode = "equal"
batteries = [{ id = "x" }, { id = "y", capacity_ah = 3 }]
[[power.buses]]
battery_ids = ["y"]
motor_ids = ["d", "a"]
avionics_load_w = 5
[[power.buses]]
battery_ids = ["x"]
motor_ids = ["b", "c"]
"""
    aircraft = build(load_text(tmp_path, MINIMAL + text)).aircraft
    attitude = (math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))
    assert aircraft.initial_state()[6:10] == pytest.approx(attitude, abs=1e-15)
    assert (aircraft.airframe.drag, aircraft.airframe.drag_area_body_m2) == ("body_quadratic", (0.01, 0.02, 0.03))
    dynamics = aircraft.actuation.motor_actuators
    assert (dynamics.kind, dynamics.tau_s) == ("first_order", 0.02)
    assert (aircraft.motor_channels, aircraft.servo_channels) == ((4, 3, 2, 1), (3,))
    assert aircraft.contact.kind == "no_contact"
    assert [(bus.batteries, bus.rotors) for bus in power_buses(aircraft)] == [((1,), (3, 0)), ((0,), (1, 2))]
    assert aircraft.buses[0].avionics_load_w == 5.0
    assert (aircraft.gravity.gravity, aircraft.home_alt_msl_m) == ("spherical", 100.0)
    assert aircraft.power.share_mode == "equal"
    assert aircraft.initial_state()[:3].tolist() == [1.0, 2.0, -3.0]


OPTIONS = ("motor_failure_detection", "hover_thrust_estimate", "land_detector", "angular_acceleration")


def test_autopilot_options_have_the_defaults_of_the_class():
    """A spec file and Python have the same defaults."""
    table, own = load_spec("iris").autopilot, Builtin()
    assert {name: getattr(table, name) for name in OPTIONS} == {name: getattr(own, name) for name in OPTIONS}


HOP = """QGC WPL 110
0 1 3 22 0 0 0 0 47.397742 8.545594 3 1
1 0 3 21 0 0 0 0 47.397742 8.545594 0 1
"""


@pytest.fixture(scope="module")
def hop(tmp_path_factory):
    """Return the digest of an octa that takes off, loses a motor and lands, with some changes."""
    path = tmp_path_factory.mktemp("hop") / "hop.toml"
    path.with_name("hop.waypoints").write_text(HOP, "utf-8")
    path.write_text(
        "extends = ['octa']\n[px4]\nmission_path = 'hop.waypoints'\n[timeline]\nt_end_s = 25.0\n"
        "[[scenario.events]]\nat_s = 8.0\naction = 'disable_motor'\nmotor = 1\n",
        "utf-8",
    )
    return functools.cache(lambda *settings: build(load_spec(path, settings=settings)).simulation.run().digest())


@pytest.mark.parametrize(
    "setting",
    [
        "motor_failure_detection=false",
        "hover_thrust_estimate=true",
        "land_detector=estimate",
        "angular_acceleration=false",
    ],
)
def test_an_option_of_the_autopilot_reaches_the_flight(hop, setting):
    """The flight differs."""
    assert hop(f"autopilot.{setting}") != hop()


def test_options_with_their_defaults_change_nothing(hop):
    """The digest is that of a file without them."""
    given = [f"autopilot.{name}={json.dumps(getattr(Builtin(), name))}" for name in OPTIONS]
    assert hop(*given) == hop()


def test_a_record_run_stores_its_streams(tmp_path):
    """According to `run.mode`, or to the argument of `build`."""
    text = MINIMAL + "[timeline]\nt_end_s = 0.1\n"
    flight = build(load_text(tmp_path, text))  # `record` is the default
    flight.simulation.run()
    assert Simulation(flight.aircraft, flight.simulation.timeline, replay=flight.simulation.streams).run()
    live = text + "[run]\nmode = 'live'\n"
    with pytest.raises(StateError, match="is not recorded and has no streams"):
        _ = build(load_text(tmp_path, live)).simulation.run().streams
    assert build(load_text(tmp_path, live), record=True).simulation.run().streams


def test_the_planned_home_of_a_plan_has_no_effect(tmp_path):
    """As with PX4, home is the position of the vehicle; a planned home elsewhere is a warning."""
    takeoff = MissionItem(Command.TAKEOFF, 47.397742, 8.545594, 5.0, yaw_deg=0.0)
    plan = as_plan(takeoff)
    digests = []
    for lat_deg, is_warned in ((47.397742, False), (47.3982, False), (47.3988, True), (-47.0, True)):
        plan["mission"]["plannedHomePosition"] = [lat_deg, 8.545594 if lat_deg > 0.0 else -170.0, 0]
        (tmp_path / "m.plan").write_text(json.dumps(plan), "utf-8")
        flight = build(load_text(tmp_path, MINIMAL + "[px4]\nmission_path = 'm.plan'\n[timeline]\nt_end_s = 4\n"))
        digests.append(flight.simulation.run().digest())
        warned = [f"the plan's home ({lat_deg}, " in text and "than 100 m" in text for text in flight.warnings]
        assert sum(warned) == is_warned
    assert len(set(digests)) == 1


def test_settings_without_effect_are_warnings(tmp_path):
    """Parameters of real PX4, sensors, a step that is long compared to the motors."""
    text = (
        "[[px4.params]]\nname = 'MC_AIRMODE'\nvalue = 1\n[[sensors]]\nkind = 'gps'\nid = 'gps1'\n"
        "[plant]\nintegrator = 'RK4'\n[timeline]\ndt_wind_s = 0.004\nt_end_s = 1\ndt_log_s = 0.02\n"
    )
    warnings = build(load_text(tmp_path, MINIMAL + text)).warnings
    assert any("MC_AIRMODE" in warning for warning in warnings)
    assert "[[sensors]] (gps 'gps1') has no effect; the sensors of stock PX4 are in [px4.sitl.sensors]" in warnings
    assert any("the step size of 4000 us exceeds" in warning for warning in warnings)


def test_parameters_of_the_other_autopilot_are_a_warning(tmp_path):
    """`px4.params` with the built-in autopilot, `autopilot.params` with none; long lists are truncated."""
    many = "".join(f"[[px4.params]]\nname = 'X{i}'\nvalue = 1\n" for i in range(20))
    names = ", ".join(f"X{i}" for i in range(10))
    text = f"px4.params ({names}, …) are for real PX4; the built-in autopilot uses autopilot.params"
    assert build(load_text(tmp_path, MINIMAL + many + "[autopilot]\nkind = 'builtin'\n")).warnings == (text,)
    none = "[autopilot]\nkind = 'none'\nparams = { MPC_XY_CRUISE = 4 }\n"
    warnings = build(load_text(tmp_path, MINIMAL + none + many)).warnings
    assert warnings == ("autopilot.params (MPC_XY_CRUISE) have no effect: autopilot.kind = 'none'",)
    assert build(load_spec("iris", {"autopilot.params.MPC_XY_CRUISE": 4.0})).warnings == ()


def test_a_recording_path_without_recording_is_a_warning(tmp_path):
    """The path has no effect."""
    flight = build(load_spec("iris", {"run.mode": "live", "run.recording_out": str(tmp_path / "x.h5")}))
    assert any("run.recording_out" in warning and "records nothing" in warning for warning in flight.warnings)


def test_sensors_of_stock_px4_come_from_the_file():
    """Or from `--set`."""
    settings = {"autopilot.kind": "px4-sitl", "px4.sitl.sensors.gps.satellites": 9}
    spec = load_spec("iris", settings)
    made = make_autopilot(spec.autopilot, spec.px4, (spec.home.lat_deg, spec.home.lon_deg), None)
    assert made.sensors.gps.satellites == 9
    assert made.sensor_suite.home_lat_deg == spec.home.lat_deg


@pytest.mark.parametrize("kind", ["builtin", "px4", "px4-sitl", "none"])
@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("gps.satelites", 9, r"gps\.satelites = 9: unknown key; did you mean .*satellites"),
        ("gsp.x", 1, r"gsp = \{ x = 1 \}: unknown key; did you mean .*gps"),
        ("imu.gyro.on_fault", "melt", r"imu\.gyro\.on_fault = 'melt' is unknown; allowed: 'dropout'"),
        ("baro.lowest_pa", 2e5, r"baro\.lowest_pa = 200000\.0 is not below highest_pa = 120000\.0"),
        ("mag.hard_iron_gauss", (0.0,), r"mag\.hard_iron_gauss = \[0\.0\] is not a vector; it must be three numbers"),
    ],
)
def test_invalid_sensors_are_rejected_with_any_autopilot(kind, key, value, said):
    """With the location, also if the autopilot of the file reads no sensors."""
    with pytest.raises(InputError, match=rf"px4\.sitl\.sensors\.{said}"):
        load_spec("iris", {"autopilot.kind": kind, f"px4.sitl.sensors.{key}": value})


def test_what_is_not_flown_of_a_mission_is_a_warning_or_an_error(tmp_path):
    """By `px4.mission_strict`; the commands without an effect are only a warning in both cases."""
    turns = "1 0 3 18 2 0 0 0 47.4 8.5 10 1"
    camera, land = "2 0 2 206 5 0 1 0 0 0 0 1", "3 0 3 21 0 0 0 0 47.4 8.5 0 1"
    lines = ["QGC WPL 110", "0 1 3 22 0 0 0 0 47.4 8.5 10 1", turns, camera, land, ""]
    (tmp_path / "m.waypoints").write_text("\n".join(lines), "utf-8")
    home = "[home]\nlat_deg = 47.4\nlon_deg = 8.5\n[px4]\nmission_path = 'm.waypoints'\n"
    skipped = "m.waypoints line 3: command 18 (LOITER_TURNS) is skipped; PX4 does not accept it in missions"
    warnings = build(load_text(tmp_path, MINIMAL + home)).warnings
    assert [text for text in warnings if text.startswith("px4.mission_path: ") and text.endswith(skipped)]
    assert [text for text in warnings if text.endswith("1 camera command has no effect (206 DO_SET_CAM_TRIGG_DIST)")]
    with pytest.raises(InputError) as caught:
        load_text(tmp_path, f"{MINIMAL}{home}mission_strict = true\n")
    assert skipped in str(caught.value)
    assert "DO_SET_CAM_TRIGG_DIST" not in str(caught.value)
    spec = load_text(tmp_path, MINIMAL + home)
    with pytest.raises(InputError, match="LOITER_TURNS"):
        change_spec(spec, {"px4.mission_strict": True})
