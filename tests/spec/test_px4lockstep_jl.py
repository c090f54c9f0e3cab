"""Files of PX4Lockstep.jl, schema version 1, load unchanged, with their spellings, vectors and layers."""

import numpy as np
import pytest
from px4lockstep_jl import HOME, PX4
from spec_files import write

from px4lockstep.errors import InputError
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml
from px4lockstep.vehicle.dispatch import PLANT

UORB = """
schema_version = 1
[px4.uorb]
[[px4.uorb.pubs]]
key = "battery_status"
type = "BatteryStatusMsg"
[[px4.uorb.subs]]
key = "actuator_motors"
type = "ActuatorMotorsMsg"
"""

BASE = """
schema_version = 1
extends = ["uorb.toml"]
[aircraft]
name = "quad"
seed = 1
HOME AND PX4
[[px4.params]]
name = "MC_AIRMODE"
value = 1
[timeline]
t_end_s = 20
dt_autopilot_s = 0.004
dt_wind_s = 0.001
dt_log_s = 0.01
[plant]
contact = { kind = "flat_ground", k_n_per_m = 5000.0, c_n_per_mps = 600.0, "μ" = 0.8 }
[plant.integrator]
kind = "RK45"
rtol_pos = 1e-7
"rtol_ω" = 1e-7
"atol_ω" = 1e-6
atol_att_rad = 1e-6
plant_error_control = false
rtol_act = 0.0
atol_rotor = 1.0
h_min = 1.0e-6
h_max = 0.01
h_init = 0.0
max_substeps = 50000
quantize_us = true
[environment]
wind = "ou"
wind_mean_ned = [0.0, 0.0, 0.0]
wind_sigma_ned = [1.5, 1.5, 0.5]
wind_tau_s = 3.0
atmosphere = "isa1976"
gravity = "uniform"
gravity_mps2 = 9.80665
[scenario]
arm_time_s = 1.0
mission_time_s = 2.0
[estimator]
kind = "noisy_delayed"
pos_sigma_m = [0.02, 0.02, 0.02]
vel_sigma_mps = [0.05, 0.05, 0.05]
yaw_sigma_rad = 0.01
rate_sigma_rad_s = [0.005, 0.005, 0.005]
bias_tau_s = 50.0
rate_bias_sigma_rad_s = [0.001, 0.001, 0.001]
delay_s = 0.008
dt_est_s = 0.004
[airframe]
kind = "multirotor"
mass_kg = 1.5
inertia_diag_kgm2 = [0.029125, 0.029125, 0.055225]
inertia_products_kgm2 = [0.0, 0.0, 0.0]
rotor_pos_body_m = [[0.1515, 0.245, 0.0], [-0.1515, -0.1875, 0.0], [0.1515, -0.245, 0.0], [-0.1515, 0.1875, 0.0]]
rotor_axis_body_m = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
linear_drag = 0.05
angular_damping = [0.02, 0.02, 0.01]
[airframe.x0]
pos_ned = [0.0, 0.0, 0.0]
vel_ned = [0.0, 0.0, 0.0]
q_bn = [1.0, 0.0, 0.0, 0.0]
"ω_body" = [0.0, 0.0, 0.0]
[airframe.propulsion]
kind = "multirotor_default"
km_m = 0.05
[actuation]
servo_actuators = "direct"
[[actuation.motors]]
id = "motor1"
channel = 1
[[actuation.motors]]
id = "motor2"
channel = 2
[[actuation.motors]]
id = "motor3"
channel = 3
[[actuation.motors]]
id = "motor4"
channel = 4
[actuation.motor_actuators]
kind = "second_order"
"ωn" = 80.0
"ζ" = 0.8
rate_limit = inf
[power]
share_mode = "inv_r0"
[[power.batteries]]
id = "bat1"
model = "thevenin"
capacity_ah = 5.0
soc0 = 1.0
ocv_soc = [0.0, 1.0]
ocv_v = [10.8, 12.6]
r0 = 0.020
r1 = 0.010
c1 = 2000.0
v1_0 = 0.0
min_voltage_v = 9.9
[[power.buses]]
id = "main"
battery_ids = ["bat1"]
motor_ids = ["motor1", "motor2", "motor3", "motor4"]
servo_ids = []
avionics_load_w = 0.0
[[sensors]]
kind = "gps"
id = "gps1"
uorb_instance = 0
""".replace("HOME AND PX4\n", HOME + PX4.replace("[px4]", "[px4]\nmission_path = '../missions/field.waypoints'"))

TOP = """
schema_version = 1
extends = ["assets/aircraft/base.toml"]
[px4]
libpath = "../build/libpx4_lockstep.dylib"
mission_path = "assets/missions/field.waypoints"
[timeline]
t_end_s = 3.0
[actuation]
motor_actuators = { kind = "first_order", "τ" = 0.05 }
[run]
mode = "live"
log_csv = "../sim_log.csv"
"""

MISSION = """QGC WPL 110
0 1 3 22 0 0 0 0 47.397742 8.545594 10 1
1 0 3 21 0 0 0 0 47.397742 8.545594 0 1
"""


def files(folder):
    """Write the files into their folders, and return the requested one."""
    write(folder, UORB, "specs/assets/aircraft/uorb.toml")
    write(folder, BASE, "specs/assets/aircraft/base.toml")
    write(folder, MISSION, "specs/assets/missions/field.waypoints")
    return write(folder, TOP, "specs/quad.toml")


def test_its_files_load_unchanged(tmp_path):
    """Three layers, Greek keys, vectors of noise, integers for floats, a library that does not exist."""
    spec = load_spec(files(tmp_path))
    assert spec.px4.uorb.subs[0].key == "actuator_motors"
    assert spec.px4.libpath == str(tmp_path / "build" / "libpx4_lockstep.dylib")
    assert spec.px4.mission_path == str(tmp_path / "specs" / "assets" / "missions" / "field.waypoints")
    assert (spec.plant.contact.mu, spec.plant.integrator.rtol_omega) == (0.8, 1e-7)
    assert spec.timeline.t_end_s == 3.0
    actuators = spec.actuation.motor_actuators
    assert (actuators.kind, actuators.tau_s, actuators.omega_n) == ("first_order", 0.05, 80.0)
    assert spec.airframe.propulsion.rotor_dir == (1, 1, -1, -1)


def test_its_files_fly(tmp_path):
    """With the built-in autopilot, and warnings about options of real PX4."""
    flight = build(load_spec(files(tmp_path)))
    flight.simulation.run()
    assert any("MC_AIRMODE" in warning for warning in flight.warnings)
    assert len(flight.mission.items) == 2


def test_its_files_are_the_same_when_resolved(tmp_path):
    """In any folder."""
    spec = load_spec(files(tmp_path))
    assert load_spec(write(tmp_path, to_toml(spec), "elsewhere/run/spec.toml")) == spec


TAILSITTER = """
schema_version = 1
[airframe]
kind = "multirotor"
mass_kg = 4.0
inertia_diag_kgm2 = [0.20, 0.25, 0.40]
rotor_pos_body_m = [[0.30, 0.20, 0.0], [0.30, -0.20, 0.0]]
rotor_axis_body_m = [[-1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
[airframe.x0]
euler_deg = [0.0, 90.0, 0.0]
[airframe.propulsion]
kind = "multirotor_default"
km_m = 0.05
[[actuation.servos]]
id = "elevon_left"
channel = 1
"""


def test_its_tailsitter_flies_with_no_autopilot(tmp_path):
    """No motor of that kind reaches the calibration thrust; it saturates at 99.9 % of the maximum, with a warning."""
    flight = build(load_spec(write(tmp_path, TAILSITTER), {"autopilot.kind": "none", "timeline.t_end_s": 0.1}))
    text = (
        "airframe.propulsion can't reach a thrust of 39.227 N per rotor; without an autopilot, its thrust "
        "is calibrated to 9.955 N instead"
    )
    assert text in flight.warnings
    assert flight.spec.airframe.propulsion.thrust_calibration_mult == 2.0  # as in the file
    assert np.isfinite(flight.simulation.run().log_state).all()


def test_its_tailsitter_is_refused_with_an_autopilot(tmp_path):
    """The error gives the maximum thrust."""
    spec = load_spec(write(tmp_path, TAILSITTER))
    with pytest.raises(InputError, match=r"airframe\.propulsion can't reach .* the maximum is 9\.964 N") as caught:
        build(spec)
    assert "field.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "gravity_m_s2"),
    [
        ({}, 9.80665),
        ({"environment.gravity_mps2": 3.71}, 3.71),
        ({"environment.gravity": "spherical"}, 3.986004418e14 / 6_371_000.0**2),
        ({"environment.gravity_mps2": 0.0}, 9.80665),
    ],
    ids=str,
)
def test_the_hover_calibration_uses_the_gravity_of_the_file(given, gravity_m_s2):
    """Full duty at the nominal point gives twice m g / N; without gravity, that of standard gravity."""
    aircraft = build(load_spec("iris", given)).aircraft
    hover_n = 1.5 * gravity_m_s2 / 4
    assert aircraft.calibration_thrust_n == aircraft.hover_thrust_n == pytest.approx(hover_n, rel=1e-15)
    plant = np.zeros(1, PLANT)
    aircraft.write(plant[0])
    kt = plant["multirotor"]["rotors"]["propulsion"]["kt"][0, :4]
    assert kt.tolist() == [aircraft.propulsion.thrust_constant(aircraft.hover_thrust_n)] * 4
