"""`compat = "px4lockstep.jl"`: its defaults for omitted keys, and the warning of files that rely on others."""

import functools
import inspect
import math
import tomllib

import pytest
from spec_files import write

from px4lockstep.cli.app import app, spec_app
from px4lockstep.cli.spec import check_spec, show_spec
from px4lockstep.errors import InputError
from px4lockstep.part import keys_of, model_at
from px4lockstep.spec.build import build
from px4lockstep.spec.compat import DEFAULTS, KEYS
from px4lockstep.spec.load import change_spec, load_spec
from px4lockstep.spec.shipped import shipped_aircraft
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import to_toml

COMPAT = 'compat = "px4lockstep.jl"\n'
ROTORS = "rotor_pos_body_m = [[0.15, 0.25, 0], [-0.15, -0.19, 0], [0.15, -0.25, 0], [-0.15, 0.19, 0]]\n"
BARE = f"schema_version = 1\n[airframe]\n{ROTORS}"
QUAD = f"{BARE}mass_kg = 1.5\ninertia_diag_kgm2 = [0.03, 0.03, 0.06]\n"

THEIRS = {
    "aircraft.name": "aircraft",
    "aircraft.seed": 1,
    "home.lat_deg": 47.397742,
    "home.lon_deg": 8.545594,
    "home.alt_msl_m": 488.0,
    "px4.edge_trigger": False,
    "px4.derive_ca_params": True,
    "px4.strict_lockstep_rates": True,
    "px4.lockstep.dataman_use_ram": 1,
    "px4.lockstep.enable_commander": 0,
    "px4.lockstep.commander_rate_hz": 100,
    "px4.lockstep.navigator_rate_hz": 20,
    "px4.lockstep.mc_pos_control_rate_hz": 100,
    "px4.lockstep.mc_att_control_rate_hz": 250,
    "px4.lockstep.mc_rate_control_rate_hz": 250,
    "px4.lockstep.enable_control_allocator": 1,
    "px4.lockstep.control_allocator_rate_hz": 250,
    "autopilot.angular_acceleration": False,
    "timeline.t_end_s": 20.0,
    "timeline.dt_autopilot_s": 0.004,
    "timeline.dt_wind_s": 0.001,
    "timeline.dt_log_s": 0.01,
    "timeline.dt_phys_s": None,
    "environment.wind": "ou",
    "environment.wind_mean_ned": (0.0, 0.0, 0.0),
    "environment.wind_sigma_ned": (1.5, 1.5, 0.5),
    "environment.wind_tau_s": 3.0,
    "environment.gravity": "uniform",
    "environment.gravity_mps2": 9.80665,
    "environment.gravity_mu": 3.986004418e14,
    "environment.gravity_r0_m": 6_371_000.0,
    "scenario.arm_time_s": 1.0,
    "estimator.kind": "noisy_delayed",
    "estimator.pos_sigma_m": (0.02, 0.02, 0.02),
    "estimator.vel_sigma_mps": (0.05, 0.05, 0.05),
    "estimator.yaw_sigma_rad": 0.01,
    "estimator.rate_sigma_rad_s": (0.005, 0.005, 0.005),
    "estimator.bias_tau_s": 50.0,
    "estimator.rate_bias_sigma_rad_s": (0.001, 0.001, 0.001),
    "estimator.delay_s": 0.008,
    "estimator.dt_est_s": 0.004,
    "plant.integrator.kind": "RK45",
    "plant.integrator.rtol_pos": 1e-7,
    "plant.integrator.atol_pos": 1e-6,
    "plant.integrator.rtol_vel": 1e-7,
    "plant.integrator.atol_vel": 1e-6,
    "plant.integrator.rtol_omega": 1e-7,
    "plant.integrator.atol_omega": 1e-6,
    "plant.integrator.atol_att_rad": 1e-6,
    "plant.integrator.plant_error_control": False,
    "plant.integrator.rtol_rotor": 0.0,
    "plant.integrator.atol_rotor": math.inf,
    "plant.integrator.atol_v1": math.inf,
    "plant.integrator.h_min": 1e-6,
    "plant.integrator.h_max": math.inf,
    "plant.integrator.h_init": 0.0,
    "plant.integrator.max_substeps": 50_000,
    "plant.integrator.safety": 0.9,
    "plant.integrator.min_factor": 0.2,
    "plant.integrator.max_factor": 5.0,
    "plant.integrator.quantize_us": True,
    "plant.contact.kind": "flat_ground",
    "plant.contact.k_n_per_m": 5000.0,
    "plant.contact.c_n_per_mps": 600.0,
    "plant.contact.mu": 0.8,
    "plant.contact.v_eps": 0.05,
    "plant.contact.enable_friction": True,
    "airframe.mass_kg": 1.0,
    "airframe.inertia_diag_kgm2": (1.0, 1.0, 1.0),
    "airframe.inertia_products_kgm2": (0.0, 0.0, 0.0),
    "airframe.linear_drag": 0.0,
    "airframe.angular_damping": (0.0, 0.0, 0.0),
    "airframe.x0.q_bn": (1.0, 0.0, 0.0, 0.0),
    "airframe.propulsion.km_m": 0.05,
    "airframe.propulsion.V_nom": 12.0,
    "airframe.propulsion.rho_nom": 1.225,
    "airframe.propulsion.rotor_radius_m": 0.127,
    "airframe.propulsion.inflow_kT": 8.0,
    "airframe.propulsion.inflow_kQ": 8.0,
    "airframe.propulsion.thrust_calibration_mult": 2.0,
    "airframe.propulsion.esc.eta": 0.98,
    "airframe.propulsion.esc.deadzone": 0.02,
    "airframe.propulsion.motor.kv_rpm_per_volt": 920.0,
    "airframe.propulsion.motor.r_ohm": 0.25,
    "airframe.propulsion.motor.j_kgm2": 1.2e-5,
    "airframe.propulsion.motor.i0_a": 0.6,
    "airframe.propulsion.motor.viscous_friction_nm_per_rad_s": 2e-6,
    "airframe.propulsion.motor.max_current_a": 60.0,
    "actuation.motor_actuators.kind": "direct",
    "actuation.servo_actuators.kind": "direct",
    "power.share_mode": "inv_r0",
    "run.mode": "live",
}
"""The defaults of its structs `TimelineSpec`, `EnvironmentSpec` and so on, by our keys."""
BATTERY = {
    "model": "thevenin",
    "capacity_ah": 5.0,
    "soc0": 1.0,
    "ocv_soc": (0.0, 1.0),
    "ocv_v": (10.8, 12.6),
    "r0": 0.02,
    "r1": 0.01,
    "c1": 2000.0,
    "v1_0": 0.0,
    "min_voltage_v": 9.9,
    "low_thr": 0.15,
    "crit_thr": 0.1,
    "emerg_thr": 0.05,
}


def value_of(spec, key):
    """Return the value of a dotted key."""
    return functools.reduce(getattr, key.split("."), spec)


@pytest.fixture(params=["key", "option"])
def load(request, tmp_path):
    """Load a text in both ways: with the key in the file, or as `--compat` does."""
    if request.param == "key":
        return lambda text, **given: load_spec(write(tmp_path, COMPAT + text), given)
    return lambda text, **given: load_spec(write(tmp_path, text), given, compat=True)


def test_omitted_keys_have_its_defaults(load):
    """All of them; the file has only rotors. Its batteries, too, are those of our defaults."""
    spec = load(BARE)
    assert {key: value_of(spec, key) for key in THEIRS} == THEIRS
    assert {key: getattr(spec.power.batteries[0], key) for key in BATTERY} == BATTERY
    assert spec.warnings == ()


def test_every_default_is_listed_in_the_test():
    """The expected values are not those of the table itself."""
    assert DEFAULTS.keys() <= THEIRS.keys()


def test_given_keys_keep_their_values(load):
    """In the file, in files that it extends, and as overrides."""
    text = "[timeline]\nt_end_s = 7.0\n[environment]\nwind = 'off'\n[estimator]\ndelay_s = 0.004\n"
    spec = load(QUAD + text, **{"run.mode": "record"})
    assert (spec.timeline.t_end_s, spec.environment.wind, spec.run.mode) == (7.0, "none", "record")
    assert (spec.airframe.mass_kg, spec.estimator.kind, spec.estimator.delay_s) == (1.5, "noisy_delayed", 0.004)


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ('plant.integrator = "rk23"\n', "plant.integrator.rtol_pos", 1e-6),
        ('plant.integrator = { kind = "RK23" }\n', "plant.integrator.max_substeps", 10_000),
        ('plant.integrator = "RK4"\n', "plant.integrator.rtol_pos", 1e-6),  # not used
        ("plant.integrator = { kind = 'RK45', rtol_vel = 1e-4 }\n", "plant.integrator.rtol_vel", 1e-4),
        ("plant.integrator = { kind = 'RK45', rtol_vel = 1e-4 }\n", "plant.integrator.rtol_pos", 1e-7),
        ("timeline.dt_autopilot_s = 0.002\n", "estimator.delay_s", 0.004),
        ('actuation.motor_actuators = "second_order"\n', "actuation.motor_actuators.omega_n", 20.0),
        ('actuation.servo_actuators = { kind = "SecondOrder" }\n', "actuation.servo_actuators.omega_n", 20.0),
        ('px4.mission_path = "simple"\n', "scenario.mission_time_s", 2.0),
        ('scenario.events = [{ at_s = 5.0, action = "arm" }]\n', "scenario.arm_time_s", None),
    ],
)
def test_defaults_that_depend_on_other_keys(load, text, key, value):
    """Tolerances by integrator, a delay of two ticks, the natural frequency of actuators, one arming."""
    assert value_of(load(text + QUAD), key) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("plant.integrator = 3\n", "plant.integrator = 3 is not allowed; it must be a table"),
        ("timeline = 3\n", "timeline = 3 is not allowed; it must be a table"),
        ("timeline.dt_autopilot_s = 'x'\n", "timeline.dt_autopilot_s = 'x' is not allowed; it must be a number"),
    ],
)
def test_an_invalid_value_is_reported_as_without_compat(load, text, message):
    """The defaults are filled in around it."""
    with pytest.raises(InputError) as caught:
        load(text + QUAD)
    assert message in str(caught.value)


def test_another_value_of_the_key_is_an_error(tmp_path):
    """With the allowed one."""
    with pytest.raises(InputError, match=r"compat = 'julia' is unknown; allowed: 'px4lockstep\.jl'"):
        load_spec(write(tmp_path, f'compat = "julia"\n{QUAD}'))


def test_the_resolved_spec_is_complete(load, tmp_path):
    """It says `compat`, loads to the same spec, and a changed copy keeps everything else."""
    spec = load(QUAD)
    assert COMPAT in to_toml(spec)
    assert load_spec(write(tmp_path, to_toml(spec), "resolved.toml")) == spec
    changed = change_spec(spec, {"plant.integrator.kind": "RK23"})
    assert changed.plant.integrator.rtol_pos == 1e-7


@pytest.mark.parametrize("name", shipped_aircraft())
def test_built_in_aircraft_are_never_affected(name):
    """The option is refused, and their defaults need no warning."""
    with pytest.raises(InputError, match=f"--compat is for files of PX4Lockstep.jl; {name} is a built-in aircraft"):
        load_spec(name, compat=True)
    assert load_spec(name).warnings == ()


def test_commands_have_the_option(tmp_path, capsys):
    """`spec show` and `spec check` here; `run` and `determinism` load their spec in the same way."""
    path = str(write(tmp_path, QUAD))
    assert show_spec(path, compat=True) == 0
    assert tomllib.loads(capsys.readouterr().out)["environment"]["wind"] == "ou"
    for compat, warned in ((True, False), (False, True)):
        assert check_spec(path, compat=compat) == 0
        assert ("there 'ou'" in capsys.readouterr().out) == warned
    for command in ("run", "determinism", "show", "check"):
        (own,) = (each for group in (app, spec_app) for each in group.registered_commands if named(each) == command)
        assert "compat" in inspect.signature(own.callback).parameters


def named(command):
    """Return the name of a command."""
    return command.name or command.callback.__name__


def test_the_key_is_not_an_override():
    """A campaign or a branch can't change it."""
    with pytest.raises(InputError, match=r"compat can't be overridden; set it in a file, or use --compat"):
        load_spec("iris", settings=["compat=px4lockstep.jl"])


def test_a_file_with_only_its_keys_gets_one_warning(tmp_path):
    """It lists each difference that matters, and what to do; tolerances that are off there do not matter."""
    path = write(tmp_path, QUAD)
    (warning,) = load_spec(path).warnings
    assert warning == (
        f"{path} uses only keys of PX4Lockstep.jl, which has other defaults for keys that it omits: "
        "px4.strict_lockstep_rates = false (there true), autopilot.angular_acceleration = true (there false), "
        "timeline.t_end_s = 60.0 (there 20.0), environment.wind = 'none' (there 'ou'), "
        "scenario.arm_time_s = none (there 1.0), estimator.kind = 'none' (there 'noisy_delayed'), "
        "run.mode = 'record' (there 'live'), plant.integrator.plant_error_control = true (there false), "
        "plant.integrator.kink_tolerance = 1e-08 (there 1.0), plant.integrator.h_max = 0.1 (there inf), "
        "plant.integrator.max_substeps = 100000 (there 50000), plant.integrator.rtol_pos = 1e-06 (there 1e-07), "
        "plant.integrator.rtol_vel = 1e-06 (there 1e-07), plant.integrator.rtol_omega = 1e-06 (there 1e-07). "
        'Set compat = "px4lockstep.jl" or use --compat for its defaults'
    )
    assert build(load_spec(path)).warnings[0] == warning


def test_the_warning_omits_what_the_file_or_an_override_sets(tmp_path):
    """Overrides do not make a file ours: `--set autopilot.kind=px4` is how its files are flown."""
    path = write(tmp_path, QUAD + "[environment]\nwind = 'none'\n[plant]\nintegrator = 'RK4'\n")
    (warning,) = load_spec(path, {"autopilot.kind": "none", "timeline.t_end_s": 5.0}).warnings
    listed = [entry.split(" = ")[0] for entry in warning.split(": ")[-1].split(", ")]
    assert listed == [
        "px4.strict_lockstep_rates",
        "autopilot.angular_acceleration",
        "scenario.arm_time_s",
        "estimator.kind",
        "run.mode",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[autopilot]\nkind = 'builtin'\n",
        "[run]\nvalidate = 'cheap'\n",
        "[[scenario.events]]\nat_s = 1\naction = 'arm'\n",
        "[[power.batteries]]\nsense_tau_s = 0.1\n",
        "[plant.contact]\nmu_static = 0.9\n",
    ],
)
def test_a_file_with_our_keys_gets_no_warning(tmp_path, text):
    """In any table, also in an array."""
    assert load_spec(write(tmp_path, QUAD + text)).warnings == ()


def test_a_file_that_extends_a_built_in_aircraft_gets_no_warning(tmp_path):
    """It was written for this package."""
    assert load_spec(write(tmp_path, 'extends = ["iris"]\n[timeline]\nt_end_s = 5\n')).warnings == ()


def test_its_keys_exist_here():
    """Every key of its loader is one of ours, so that a misspelled one in the table would show."""
    for table, names in KEYS.items():
        model = model_at(tuple(table.split(".")) if table else (), Spec)
        assert set(names.split()) <= {*keys_of(model), *model.used_up}, table
