"""PX4 parameters of an airframe, which apply to every autopilot below those of the user."""

import json
import math
from contextlib import closing

import numpy as np
import pytest
from builtin_modules import builtin_record
from fleet import iris
from px4_runs import flight_of
from px4_sitl_double import make_flight

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.stack import BUILTIN
from px4lockstep.environment.atmosphere import density_kg_m3
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.px4.missions import Command, Mission, MissionItem
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_aircraft, load_spec

HOVER = {"MPC_THR_HOVER": 0.6}
KM = {"CA_ROTOR0_KM": 0.04, "CA_ROTOR1_KM": 0.05, "CA_ROTOR2_KM": -0.05, "CA_ROTOR3_KM": -0.05}


def hover_of(aircraft, **options):
    """Return the hover thrust of the built-in autopilot for an aircraft."""
    record = np.zeros(1, BUILTIN)
    Builtin(**options).write(record[0], ControlModel.of(aircraft), 4_000)
    return record["position"]["hover_thrust"][0]


# -- the built-in autopilot ----------------------------------------------------------------------------------------


def test_the_built_in_autopilot_uses_them_below_the_users():
    """Above the defaults; as float32, as in PX4."""
    aircraft = iris(px4_params=HOVER)
    assert hover_of(iris()) == 0.5
    assert hover_of(iris(), default_params={"MPC_THR_HOVER": 0.4}) == np.float32(0.4)
    assert hover_of(aircraft, default_params={"MPC_THR_HOVER": 0.4}) == np.float32(0.6)
    assert hover_of(aircraft, params={"MPC_THR_HOVER": 0.7}) == np.float32(0.7)


def test_the_built_in_autopilot_ignores_those_that_it_does_not_use():
    """They are for real PX4: parameters of modules that it lacks, of options that are off, and unknown ones."""
    others = {"MC_AIRMODE": 1, "HTE_HT_NOISE": 0.01, "LNDMC_Z_VEL_MAX": 0.3, "CA_ROTOR_COUNT": 4, "EKF2_HGT_REF": 0}
    assert builtin_record(iris(px4_params=others)).tobytes() == builtin_record(iris()).tobytes()


def test_they_override_the_geometry_of_a_rotor():
    """As the user's do."""
    mix = builtin_record(iris(px4_params=KM))["allocation"]["mix"]
    assert mix.tobytes() == builtin_record(iris(), **KM)["allocation"]["mix"].tobytes()
    assert mix.tobytes() != builtin_record(iris())["allocation"]["mix"].tobytes()


def test_a_value_that_the_built_in_autopilot_lacks_is_an_error():
    """Real PX4 may have it."""
    with pytest.raises(InputError, match="CA_METHOD = 0 is not implemented"):
        hover_of(iris(px4_params={"CA_METHOD": 0}))


def test_they_apply_to_the_check_of_the_mission():
    """The distance to the first waypoint is checked with the limit of the airframe."""
    far = Mission((MissionItem(Command.WAYPOINT, lat_deg=47.407742, lon_deg=8.545594, alt_m=10.0),), "far")
    with pytest.raises(InputError, match="starts 1112 m from home, but MIS_DIST_1WP allows only 500 m"):
        hover_of(iris(px4_params={"MIS_DIST_1WP": 500.0}), mission=far)
    hover_of(iris(), mission=far)


def test_an_unknown_name_is_a_warning(tmp_path):
    """The built-in autopilot can't tell a misspelled name from a parameter of real PX4."""
    path = tmp_path / "own.toml"
    path.write_text('extends = ["iris"]\n[airframe.px4_params]\nMPC_THR_HOVR = 0.6\nMC_AIRMODE = 1\n')
    (warning,) = build(load_spec(path)).warnings
    assert warning.startswith("airframe.px4_params (MPC_THR_HOVR): the built-in autopilot ignores these names")
    assert build(load_spec(path, {"autopilot.kind": "none"}), record=False).warnings == ()


@pytest.mark.parametrize("name", ["x500", "x500_hex", "x500_octa", "racer", "lifter"])
def test_the_hover_throttle_is_that_of_the_motors_at_the_nominal_voltage(name):
    """Thrust kT ρ ω² and current (torque / Ke) + I0 of one rotor, V = Ke ω + R I; it varies by 0.1 with the charge."""
    aircraft = load_aircraft(name)
    unit, motor = aircraft.propulsion, aircraft.propulsion.motor
    density = interpreted(density_kg_m3)(aircraft.home_alt_msl_m)
    omega = math.sqrt(aircraft.hover_thrust_n / (aircraft.thrust_constants[0] * density))
    current_a = unit.torque_per_thrust_m * aircraft.hover_thrust_n / motor.ke + motor.i0_a
    throttle = (motor.ke * omega + motor.r_ohm * current_a) / unit.V_nom
    if motor.kind == "first_order":  # the speed follows the duty
        idle = motor.idle_speed_rad_s or 0.0
        throttle = (omega - idle) / (motor.max_speed_rad_s - idle)
    assert aircraft.airframe.px4_params["MPC_THR_HOVER"] == pytest.approx(throttle, abs=0.015)


def test_the_x500_has_those_of_airframe_4001():
    """Yaw moments and rotor positions of PX4's file; its hover throttle, 0.6, is that of other motors."""
    spec = load_spec("x500")
    assert {name: value for name, value in spec.px4_params.items() if name.startswith("CA_")} == {
        f"CA_ROTOR{i}_KM": sign * 0.05 for i, sign in enumerate((1, 1, -1, -1))
    }
    places = [(0.174, 0.174), (-0.174, -0.174), (0.174, -0.174), (-0.174, 0.174)]
    assert [pos[:2] for pos in spec.airframe.rotor_pos_body_m] == places


# -- real PX4 ------------------------------------------------------------------------------------------------------


@pytest.mark.process
def test_the_library_gets_them_below_the_users(tmp_path):
    """Above the derived ones and the defaults."""
    changes = {
        "px4.defaults": "sitl",
        "airframe.px4_params": {**KM, "RTL_RETURN_ALT": 25.0, "MPC_THR_HOVER": 0.6, "MPC_XY_CRUISE": 4.0},
        "autopilot.params": {"MPC_THR_HOVER": 0.65, "MPC_XY_CRUISE": 3.5},
        "px4.params": [{"name": "MPC_XY_CRUISE", "value": 3.0}],
    }
    with closing(flight_of(tmp_path, changes=changes).simulation) as simulation:
        get = simulation.autopilot.px4.param_get
        names = ("CA_ROTOR0_KM", "RTL_RETURN_ALT", "MPC_THR_HOVER", "MPC_XY_CRUISE", "CA_ROTOR0_PX")
        found = [get(name) for name in names]
    assert found == [np.float32(0.04), 25.0, np.float32(0.65), 3.0, np.float32(0.1515)]


@pytest.mark.process
def test_the_library_rejects_unknown_ones(tmp_path):
    """The name is probably misspelled."""
    with pytest.raises(InputError, match="this PX4 has no parameter 'MPC_THR_HOVR'; did you mean 'MPC_THR_HOVER'"):
        flight_of(tmp_path, changes={"airframe.px4_params": {"MPC_THR_HOVR": 0.6}})


@pytest.mark.sitl
@pytest.mark.parametrize("version", ["1.17", "main"])
def test_stock_px4_starts_as_airframe_10016_with_them(sitl_build, tmp_path, monkeypatch, version):
    """4001 would start Gazebo. PX4's own reaction to a lost ground station, NAV_DLL_ACT, is not set."""
    monkeypatch.setenv("PX4_DOUBLE_VERSION", version)
    short = {"end_s": 0.1, "boot_s": 0.3, "mission": None, "scenario": Scenario()}
    aircraft = load_aircraft("x500")
    simulation, sitl = make_flight(sitl_build, tmp_path, **short, aircraft=aircraft, params={"MPC_XY_CRUISE": 4.0})
    with closing(simulation):
        simulation.run()
    assert sitl.options.airframe == 10016
    stored = json.loads((tmp_path / "px4" / "stored.json").read_text())
    assert "NAV_DLL_ACT" not in stored
    assert "CA_ROTOR0_KM" not in stored  # the double stores only what differs from the airframe's value, 0.05
    hover = aircraft.airframe.px4_params["MPC_THR_HOVER"]
    wanted = {"CA_ROTOR0_PX": 0.174, "CA_ROTOR3_PY": 0.174, "MPC_THR_HOVER": hover, "MPC_XY_CRUISE": 4.0}
    assert {name: stored[name] for name in wanted} == pytest.approx(wanted, rel=1e-7)
