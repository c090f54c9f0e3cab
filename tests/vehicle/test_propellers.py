"""Propellers that are given by kT and kQ, or by CT, CP and their diameter, instead of by the hover calibration."""

import math

import numpy as np
import pytest
from fleet import iris, propulsion
from plant_probe import Probe

from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.px4_library.parameters import ca_parameters
from px4lockstep.autopilots.px4_sitl.limits import full_throttle_a
from px4lockstep.errors import InputError
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.toml_text import to_toml
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.dispatch import PLANT
from px4lockstep.vehicle.propulsion import Propulsion

KT, KQ = 8.54858e-6, 0.016 * 8.54858e-6
SEA_LEVEL = 101_325.0 / (287.05287 * 288.15)
MOTOR = {"kv_rpm_per_volt": 700.0, "r_ohm": 0.12, "j_kgm2": 2.65e-5, "i0_a": 0.4}
KE = 60.0 / (2.0 * math.pi * 700.0)


def given(**changes):
    """Return an Iris with motors and propellers of about the X500, on an ideal battery of 14.8 V at sea level."""
    keys = {"kT": KT, "kQ": KQ} | {"V_nom": 14.8, "rho_nom": SEA_LEVEL, **MOTOR} | changes
    battery = Battery(model="ideal", ocv_v=(14.8, 14.8))
    return iris(propulsion=propulsion(**keys), batteries=(battery,), home_alt_msl_m=0.0)


def loads(aircraft, speed, altitude_m=0.0):
    """Return thrust and torque of each rotor at a speed and an altitude, and the air density."""
    outputs = Probe(aircraft, rotor=speed, pos=(0.0, 0.0, -altitude_m)).outputs()
    return outputs["rotor_thrust_n"][:4], outputs["rotor_torque_nm"][:4], outputs["air_density_kg_m3"]


def test_constants_give_thrust_and_torque_by_hand():
    """T = kT (ρ / ρ_nom) ω² and Q = kQ (ρ / ρ_nom) ω², at sea level and in the thinner air of 2000 m; 1e-14."""
    for altitude in (0.0, 2000.0):
        thrust, torque, density = loads(given(), 769.0, altitude)
        assert thrust == pytest.approx([KT * density / SEA_LEVEL * 769.0**2] * 4, rel=1e-14)
        assert torque == pytest.approx([KQ * density / SEA_LEVEL * 769.0**2] * 4, rel=1e-14)
    assert density < 0.83 * SEA_LEVEL


def test_coefficients_give_thrust_and_power_by_hand():
    """T = CT ρ n² D⁴ and Q ω = CP ρ n³ D⁵ with n in rev/s, whatever ρ_nom is; 1e-14. A larger propeller lifts more."""
    ct, cp, n = 0.11, 0.045, 100.0
    aircraft = given(kT=None, kQ=None, CT=ct, CP=cp, rotor_radius_m=0.165, rho_nom=1.0)
    thrust, torque, density = loads(aircraft, 2.0 * math.pi * n, 300.0)
    assert thrust == pytest.approx([ct * density * n**2 * 0.33**4] * 4, rel=1e-14)
    assert torque * 2.0 * math.pi * n == pytest.approx([cp * density * n**3 * 0.33**5] * 4, rel=1e-14)
    smaller = given(kT=None, kQ=None, CT=ct, CP=cp, rotor_radius_m=0.11)
    assert loads(smaller, 600.0)[0][0] < loads(aircraft, 600.0)[0][0]


def test_the_mass_does_not_change_a_given_propeller():
    """All parameters of the rotors are bit-identical for 1 kg and 8 kg, and only the latter can't take off."""
    light, heavy = given(), iris(propulsion=given().propulsion, mass_kg=8.0, home_alt_msl_m=0.0)
    plants = np.zeros(2, PLANT)
    for aircraft, plant in zip((light, heavy), plants, strict=True):
        aircraft.write(plant)
    first, second = plants["multirotor"]["rotors"]["propulsion"]
    assert first.tobytes() == second.tobytes()
    assert heavy.thrust_to_weight == pytest.approx(light.thrust_to_weight * 1.5 / 8.0, rel=1e-13)
    assert heavy.thrust_to_weight < 1.0 < light.thrust_to_weight
    assert heavy.within_reach() is heavy  # there is no calibration that it could miss


@pytest.mark.parametrize("limit_a", [60.0, 9.0])
def test_full_thrust_is_the_steady_state_of_the_plant(limit_a):
    """With I0, friction and current limit: at the speed of full duty the plant's ω̇ is 0, 1e-12 of its torque."""
    aircraft = given(max_current_a=limit_a)
    (kt, *_), (unit, *_) = aircraft.thrust_constants, aircraft.propulsion_units
    omega = unit.full_speed_rad_s(kt)
    probe = Probe(aircraft, motors=1.0, rotor=omega)
    outputs = probe.outputs()
    assert np.abs(probe.derivative("rotor")).max() * 2.65e-5 < 1e-12 * KE * limit_a
    assert outputs["rotor_thrust_n"][0] == pytest.approx(aircraft.full_thrusts_n[0], rel=1e-13)
    assert aircraft.thrust_to_weight == pytest.approx(4.0 * outputs["rotor_thrust_n"][0] / (1.5 * 9.80665), rel=1e-13)
    assert full_throttle_a(aircraft) == pytest.approx(outputs["bus_current_a"][0], rel=1e-9)
    assert (outputs["motor_current_a"][0] == limit_a) == (limit_a == 9.0)


def test_the_motor_of_the_x500_reaches_1000_rad_s():
    """At 14.8 V and full duty, within 2 %; with kT = 8.54858e-6 it hovers 2.0644 kg at 769 rad/s."""
    unit = given().propulsion_units[0]
    assert unit.full_speed_rad_s(unit.given_kt) == pytest.approx(1000.0, rel=0.02)
    thrust = loads(given(), 769.4)[0]
    assert thrust.sum() == pytest.approx(2.0644 * 9.80665, rel=1e-3)


def test_the_time_constant_is_that_of_the_linearized_motor():
    """J / −∂(J ω̇)/∂ω at the hover speed, by central differences of the plant over 1 rad/s; 1e-6."""
    aircraft = given()
    hover = math.sqrt(1.5 * 9.80665 / 4.0 / KT)
    above, below = (Probe(aircraft, motors=0.7, rotor=hover + step).derivative("rotor")[0] for step in (0.5, -0.5))
    assert aircraft.time_constants_s()["motors"] == pytest.approx(1.0 / (below - above), rel=1e-6)


def test_autopilots_get_the_torque_ratio_of_given_propellers():
    """kQ / kT, and CP D / (2π CT), of each rotor; CA_ROTORi_CT in the ratio of the full thrusts."""
    override = {"rotors": [2], "CT": 0.1, "CP": 0.04, "rotor_radius_m": 0.15}
    aircraft = given(overrides=[override])
    own = 0.04 * 0.3 / (2.0 * math.pi * 0.1)
    assert ControlModel.of(aircraft).km_m == pytest.approx([0.016, own, 0.016, 0.016], rel=1e-14)
    found = ca_parameters(aircraft)
    assert [abs(found[f"CA_ROTOR{i}_KM"]) for i in range(4)] == pytest.approx([0.016, own, 0.016, 0.016], rel=1e-14)
    thrusts = np.array(aircraft.full_thrusts_n)
    assert aircraft.thrust_shares == pytest.approx(4.0 * thrusts / thrusts.sum(), rel=1e-13)


def test_each_rotor_may_have_a_propeller_of_its_own():
    """Constants, coefficients and a ratio to the common ones, in one aircraft; by hand to 1e-13."""
    overrides = [
        {"rotors": [2], "kT": 2.0e-5, "kQ": 4.0e-7},
        {"rotors": [3], "CT": 0.1, "CP": 0.04, "rotor_radius_m": 0.15},
        {"rotors": [4], "thrust_ratio": 1.25},
    ]
    thrust, torque, density = loads(given(overrides=overrides), 500.0, 100.0)
    pressure, n = density / SEA_LEVEL * 500.0**2, 500.0 / (2.0 * math.pi)
    by_hand = (KT * pressure, 2.0e-5 * pressure, 0.1 * density * n**2 * 0.3**4, 1.25 * KT * pressure)
    assert thrust == pytest.approx(by_hand, rel=1e-13)
    power = 0.04 * density * n**3 * 0.3**5
    assert torque == pytest.approx((KQ * pressure, 4.0e-7 * pressure, power / 500.0, 1.25 * KQ * pressure), rel=1e-13)


@pytest.mark.parametrize("override", [{"thrust_ratio": 1.5}, {"km_m": 0.08}, {"inflow_kT": 3.0}])
def test_rotors_that_differ_only_in_their_propeller_fly_with_their_own(override):
    """Motors equal, propeller 2 not: the derivative has the thrusts and torques of the outputs; 1e-12."""
    aircraft = iris(propulsion=propulsion(overrides=[{"rotors": [2], **override}]), angular_damping=(0.0, 0.0, 0.0))
    probe = Probe(aircraft, rotor=300.0, vel=(0.0, 0.0, 4.0), motors=0.6)
    outputs, spin = probe.outputs(), probe.derivative("rotor")
    thrust, torque = outputs["rotor_thrust_n"][:4], outputs["rotor_torque_nm"][:4]
    down = probe.derivative("vel")[2] - 9.80665 + 0.05 * 4.0 / 1.5
    assert down == pytest.approx(-thrust.sum() / 1.5, rel=1e-12)
    yaw = np.array([1.0, 1.0, -1.0, -1.0]) @ (torque + 1.2e-5 * spin)
    assert probe.derivative("omega")[2] * 0.055225 == pytest.approx(yaw, abs=1e-12)


def test_a_later_file_replaces_the_form_of_an_earlier_one(tmp_path):
    """The Iris with kT and kQ has no calibration any more, also after the spec was written out in full."""
    path = tmp_path / "given.toml"
    path.write_text(f'extends = ["iris"]\n[airframe.propulsion]\nkT = {KT}\nkQ = {KQ}\n')
    spec = load_spec(path)
    own = spec.airframe.propulsion
    assert (own.kT, own.is_calibrated) == (KT, False)
    written = tmp_path / "written.toml"
    written.write_text(to_toml(spec))
    assert "km_m" not in written.read_text()
    assert load_spec(written).airframe == spec.airframe
    back = load_spec(written, overrides={"airframe.propulsion.km_m": 0.04}).airframe.propulsion
    assert (back.kT, back.kQ, back.km_m, back.thrust_calibration_mult) == (None, None, 0.04, 2.0)


def test_without_a_propeller_the_thrust_is_calibrated():
    """With the defaults that a spec shows: 0.05 m and twice the hover thrust."""
    own = Propulsion()
    assert own.is_calibrated
    assert (own.km_m, own.thrust_calibration_mult, own.torque_per_thrust_m) == (0.05, 2.0, 0.05)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"kT": KT}, r"propulsion\.kT = 8.54858e-06 is given without kQ; a propeller needs kT and kQ"),
        ({"CP": 0.04}, r"propulsion\.CP = 0.04 is given without CT; a propeller needs CT and CP"),
        ({"kT": KT, "kQ": KQ, "km_m": 0.05}, r"propulsion\.kT = .* is given together with km_m; give it in one form"),
        ({"kT": KT, "kQ": KQ, "calibration_mass_kg": 2.0}, r"is given together with calibration_mass_kg"),
        ({"kT": KT, "kQ": KQ, "CT": 0.1, "CP": 0.04}, r"propulsion\.CT = 0.1 is given together with kT"),
        ({"kT": -KT, "kQ": KQ}, r"propulsion\.kT = -8.54858e-06 is out of range"),
        (
            {"overrides": [{"rotors": [1], "kT": KT, "kQ": KQ}]},
            r"overrides\[0\]\.kT = .* is for a given propeller, but airframe\.propulsion is calibrated; give all",
        ),
        (
            {"kT": KT, "kQ": KQ, "overrides": [{"rotors": [1], "km_m": 0.05}]},
            r"overrides\[0\]\.km_m = 0.05 is for a calibrated propeller, but airframe\.propulsion has kT; give all",
        ),
        (
            {"kT": KT, "kQ": KQ, "overrides": [{"rotors": [1], "CT": 0.1}]},
            r"overrides\[0\]\.CT = 0.1 is given without CP",
        ),
        (
            {"kT": KT, "kQ": KQ, "overrides": [{"rotors": [1], "CT": 0.1, "CP": 0.04, "thrust_ratio": 2.0}]},
            r"overrides\[0\]\.thrust_ratio = 2.0 is given together with CT",
        ),
    ],
)
def test_a_propeller_in_two_forms_or_half_a_form_is_an_error(keys, text):
    """With the key, its value, and what to give instead."""
    with pytest.raises(InputError, match=text):
        Propulsion(**keys)
