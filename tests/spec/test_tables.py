"""The tables of a spec file: keys, defaults, alternative spellings."""

import math

import pytest
from spec_files import MINIMAL, load_text

from px4lockstep.part import all_tables, keys_of, model_at
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec


def test_defaults_suit_any_multirotor(tmp_path):
    """SPEC.md: no wind, truth, flat ground, RK45, direct actuators, 4 ms, 1 ms, 10 ms, one bus for everything."""
    spec = load_text(tmp_path, MINIMAL)
    assert spec.environment.wind == "none"
    assert spec.estimator.kind == "none"
    assert spec.plant.contact.kind == "flat_ground"
    assert spec.plant.integrator.kind == "RK45"
    assert spec.actuation.motor_actuators.kind == "direct"
    timeline = spec.timeline
    assert (timeline.dt_autopilot_s, timeline.dt_wind_s, timeline.dt_log_s) == (0.004, 0.001, 0.01)
    assert timeline.dt_phys_s is None
    assert spec.autopilot.kind == "builtin"
    assert spec.run.validate_ == "cheap"
    assert spec.run.mode == "record"
    assert [motor.channel for motor in spec.actuation.motors] == [1, 2, 3, 4]
    assert spec.power.buses[0].motor_ids == ("motor1", "motor2", "motor3", "motor4")
    assert spec.airframe.rotor_axis_body_m == ((0.0, 0.0, 1.0),) * 4
    assert spec.airframe.propulsion.rotor_dir == (1, 1, -1, -1)
    assert spec.scenario.arm_time_s is None


def test_a_mission_is_started_by_default_unless_an_event_does(tmp_path):
    """Armed at 1 s and started at 2 s."""
    spec = load_text(tmp_path, MINIMAL + '[px4]\nmission_path = "simple"\n')
    assert (spec.scenario.arm_time_s, spec.scenario.mission_time_s) == (1.0, 2.0)
    event = '[[scenario.events]]\nat_s = 3.0\naction = "start_mission"\n'
    spec = load_text(tmp_path, MINIMAL + '[px4]\nmission_path = "simple"\n' + event)
    assert (spec.scenario.arm_time_s, spec.scenario.mission_time_s) == (1.0, None)


TABLES = [
    ('[aircraft]\nname = "a"\nseed = 18446744073709551615', lambda s: s.aircraft.seed == 2**64 - 1),
    ("[home]\nlat_deg = -33\nlon_deg = 151.5\nalt_msl_m = 12", lambda s: s.home.lat_deg == -33.0),
    ('[px4]\nlibpath = "lib/x.so"\nedge_trigger = true', lambda s: s.px4.libpath.endswith("lib/x.so")),
    ("[px4.lockstep]\nnavigator_rate_hz = 0", lambda s: s.px4.lockstep.navigator_rate_hz == 0),
    ('[[px4.params]]\nname = "MC_AIRMODE"\nvalue = 1', lambda s: s.px4.params[0].value == 1),
    (
        '[[px4.uorb.pubs]]\nkey = "battery_status"\ntype = "BatteryStatusMsg"\ninstance = 0\nqueue_size = 1',
        lambda s: (s.px4.uorb.pubs[0].instance, s.px4.uorb.pubs[0].priority) == (0, 0),
    ),
    ('[[px4.uorb.subs]]\nkey = "actuator_motors"\ntype = "X"', lambda s: s.px4.uorb.subs[0].instance == 0),
    ("[autopilot.params]\nMPC_XY_CRUISE = 3", lambda s: s.autopilot.params == {"MPC_XY_CRUISE": 3}),
    ("[timeline]\nt_end_s = 5\ndt_phys_s = 0.0005", lambda s: s.timeline.t_end_s == 5.0),
    ('[plant]\nintegrator = "RK4"\ncontact = "no_contact"', lambda s: s.plant.integrator.kind == "RK4"),
    ('[plant.integrator]\nkind = "RK23"\nrtol_pos = 1e-8\nh_init = 0', lambda s: s.plant.integrator.rtol_pos == 1e-8),
    (
        '[plant.contact]\nkind = "legs"\npoints_body_m = [[0.1, 0.1, 0.1]]\nmu = 0.5\nmu_static = 0.6',
        lambda s: s.plant.contact.mu_static == 0.6,
    ),
    ('[environment]\nwind = "dryden"\ndryden_height_m = 30', lambda s: s.environment.dryden_height_m == 30.0),
    ('[environment]\ngravity = "spherical"', lambda s: s.environment.gravity == "spherical"),
    (
        "[[environment.gusts]]\nstart_s = 1\nend_s = 2\nvel_ned = [1, 2, 3]",
        lambda s: s.environment.gusts[0].vel_ned == (1.0, 2.0, 3.0),
    ),
    (
        '[[scenario.events]]\nwhen = { signal = "altitude_m", above = 3 }\naction = "disable_motor"\nmotor = 4',
        lambda s: s.scenario.events[0].when.above == 3.0,
    ),
    ('[[scenario.events]]\nat_step = 7\naction = "arm"', lambda s: s.scenario.events[0].at_step == 7),
    ('[estimator]\nkind = "noisy_delayed"\npos_sigma_m = 0.1', lambda s: s.estimator.pos_sigma_m == (0.1, 0.1, 0.1)),
    ("[estimator]\npos_sigma_m = [0.1, 0.1, 0.1]", lambda s: s.estimator.pos_sigma_m == (0.1, 0.1, 0.1)),
    ("[airframe.x0]\neuler_deg = [0, 90, 0]", lambda s: s.airframe.x0.q_bn is None),
    ('[airframe.propulsion]\nkind = "multirotor_default"\nV_nom = 14.8', lambda s: s.airframe.propulsion.V_nom == 14.8),
    ("[airframe.propulsion.esc]\neta = 1", lambda s: s.airframe.propulsion.esc.eta == 1.0),
    ("[airframe.propulsion.motor]\nr_ohm = 0.1", lambda s: s.airframe.propulsion.motor.r_ohm == 0.1),
    ("[airframe.propulsion]\nrotor_dir = [1.0, -1.0, 1, -1]", lambda s: s.airframe.propulsion.rotor_dir[1] == -1),
    ('[actuation]\nmotor_actuators = "first_order"', lambda s: s.actuation.motor_actuators.kind == "first_order"),
    ('[[actuation.servos]]\nid = "flap"\nchannel = 8', lambda s: s.actuation.servos[0].channel == 8),
    ("[actuation.servo_actuators]\nrate_limit = inf", lambda s: math.isinf(s.actuation.servo_actuators.rate_limit)),
    ('[[power.batteries]]\nmodel = "ideal"', lambda s: s.power.batteries[0].id == "bat1"),
    ("[[power.batteries]]\n[[power.batteries]]", lambda s: s.power.buses[0].battery_ids == ("bat1", "bat2")),
    ('[[sensors]]\nkind = "gps"\nid = "gps1"', lambda s: s.sensors[0].uorb_instance == 0),
    ('[[sensors.sensors]]\nkind = "radar"\nid = "r"', lambda s: s.sensors[0].kind == "radar"),
    ('[run]\nlog_columns = ["pos_ned"]\nvalidate = "off"', lambda s: s.run.log_columns == ("pos_ned",)),
]


@pytest.mark.parametrize(
    ("text", "holds"), TABLES, ids=[text.splitlines()[0] + str(i) for i, (text, _) in enumerate(TABLES)]
)
def test_a_table_is_read(tmp_path, text, holds):
    """One or two keys of each table, with integers for floats."""
    assert holds(load_text(tmp_path, MINIMAL + text + "\n"))


ALIASES = [
    (
        "[actuation.motor_actuators]\nkind = 'first_order'\n'τ' = 0.02",
        lambda s: s.actuation.motor_actuators.tau_s,
        0.02,
    ),
    ("[actuation.motor_actuators]\n'ωn' = 30", lambda s: s.actuation.motor_actuators.omega_n, 30.0),
    ("[actuation.servo_actuators]\n'ζ' = 0.5", lambda s: s.actuation.servo_actuators.zeta, 0.5),
    ("[plant.integrator]\n'rtol_ω' = 1e-7", lambda s: s.plant.integrator.rtol_omega, 1e-7),
    ("[plant.integrator]\n'atol_ω' = 1e-7", lambda s: s.plant.integrator.atol_omega, 1e-7),
    ("[plant.contact]\n'μ' = 0.3", lambda s: s.plant.contact.mu, 0.3),
    ("[plant.contact]\n'\u00b5' = 0.4", lambda s: s.plant.contact.mu, 0.4),  # the micro sign of keyboards
    ("[airframe.x0]\n'ω_body' = [0.1, 0, 0]", lambda s: s.airframe.x0.omega_body, (0.1, 0.0, 0.0)),
]


@pytest.mark.parametrize(("text", "value", "expected"), ALIASES, ids=[text.split("\n")[-1] for text, _, _ in ALIASES])
def test_a_greek_key_is_the_same_as_its_plain_one(tmp_path, text, value, expected):
    """With the spelling of PX4Lockstep.jl."""
    assert value(load_text(tmp_path, MINIMAL + text + "\n")) == expected


def test_every_alias_is_of_a_key_that_exists():
    """And every form consists of existing keys."""
    for _, model, _ in all_tables(Spec):
        keys = keys_of(model)
        assert all(name in keys for name in model.aliases.values())
        assert all(name in keys for form in model.forms for name in form)


def test_nine_numbers_are_three_rows(tmp_path):
    """For the inertia tensor."""
    text = MINIMAL.replace("inertia_diag_kgm2 = [0.03, 0.03, 0.06]", "inertia_kgm2 = [3, 1, 0, 1, 3, 0, 0, 0, 5]")
    spec = load_text(tmp_path, text)
    assert spec.airframe.inertia_kgm2 == ((3.0, 1.0, 0.0), (1.0, 3.0, 0.0), (0.0, 0.0, 5.0))


def test_a_spec_is_frozen():
    """It can't be changed after validation."""
    spec = load_spec("iris")
    with pytest.raises(ValueError, match="frozen"):
        spec.airframe.mass_kg = 2.0


def test_models_are_found_by_key_path():
    """Tables, tables in arrays, and None for other keys."""
    assert model_at((), Spec) is Spec
    assert model_at(("power", "batteries", 0), Spec).__name__ == "Battery"
    assert model_at(("power", "batteries", 0, "soc0"), Spec) is None
