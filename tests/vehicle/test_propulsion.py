"""ESC, motor and propeller of one rotor, and the calibration of kT."""

import numpy as np
import pytest
from fleet import Rotor, iris, octa, propulsion, twin
from plant_probe import POSES, Batch, Probe, rotation

from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.kinematics import axial_velocity

KE = 60.0 / (2.0 * np.pi * 920.0)


def thrusts(speeds, vel_body=(0.0, 0.0, 0.0), pose=POSES[0], **changes):
    """Return thrust and torque of rotor 1 of the Iris at rotor speeds, moving through still air."""
    batch = Batch([iris(**changes)], len(speeds))
    batch.x[:, 3:6] = rotation(pose) @ np.array(vel_body)
    batch.x[:, 6:10] = pose
    batch.x[:, 13] = speeds
    outputs = batch.evaluate().outputs
    return outputs["rotor_thrust_n"][:, 0], outputs["rotor_torque_nm"][:, 0]


@pytest.mark.parametrize("pose", POSES)
def test_descending_in_still_air_is_a_positive_axial_velocity(pose):
    """V_ax = −v_air_rel_vehicle · a, +1 at 1 m/s along the axis, at any attitude; 1e-12.

    μ enters squared, so the sign is read from V_ax itself, by the plant's function and parameters.
    """
    descending = Probe(iris(), att=pose, vel=rotation(pose) @ np.array([0.0, 0.0, 1.0]))
    v_air_rel_vehicle = descending.outputs()["air_vel_body"]
    assert v_air_rel_vehicle == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)
    for rotor in descending.parameters["rotors"][:4]:
        assert interpreted(axial_velocity)(rotor, v_air_rel_vehicle) == pytest.approx(+1.0, abs=1e-12)
    in_updraft = Probe(iris(), att=pose, wind=rotation(pose) @ np.array([0.0, 0.0, -1.0]))
    assert in_updraft.outputs()["air_vel_body"] == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)


@pytest.mark.parametrize("pose", POSES)
def test_inflow_along_the_axis_lowers_thrust_by_its_factor(pose):
    """f = 1 / (1 + k μ²), k = 8, μ = V / (ω R), equal up and down, to 1e-12; no effect across the axis."""
    (still,), (still_torque,) = thrusts([500.0], pose=pose)
    for speed in (1.0, -1.0, 4.0, 20.0):
        (thrust,), (torque,) = thrusts([500.0], (0.0, 0.0, speed), pose)
        factor = 1.0 / (1.0 + 8.0 * (speed / (500.0 * 0.127)) ** 2)
        assert thrust == pytest.approx(still * factor, rel=1e-12)
        assert torque == pytest.approx(still_torque * factor, rel=1e-12)
    # Across: what the rotation leaves along the axis is 1e-15 of the speed, squared.
    assert thrusts([500.0], (12.0, 5.0, 0.0), pose)[0][0] == pytest.approx(still, rel=1e-14)


def test_inflow_has_separate_thrust_and_torque_coefficients():
    """k = 8 for thrust and 3 for torque: each factor is independent of the other, to 1e-13."""
    mixed = propulsion(inflow_kT=8.0, inflow_kQ=3.0)
    alone = propulsion(inflow_kT=3.0, inflow_kQ=3.0)
    thrust, torque = thrusts([400.0], (0.0, 0.0, 5.0), propulsion=mixed)
    assert thrust[0] == pytest.approx(thrusts([400.0], (0.0, 0.0, 5.0))[0][0], rel=1e-13)
    assert torque[0] == pytest.approx(thrusts([400.0], (0.0, 0.0, 5.0), propulsion=alone)[1][0], rel=1e-13)


def test_thrust_rises_with_rotor_speed_and_is_quadratic():
    """Strictly, from 0, without inflow; T(2 ω) = 4 T(ω) to 1e-14."""
    speeds = np.linspace(0.0, 1500.0, 301)
    thrust, torque = thrusts(speeds)
    assert thrust[0] == torque[0] == 0.0
    assert np.diff(thrust).min() > 0.0
    assert np.diff(torque).min() > 0.0
    assert thrust[200] == pytest.approx(4.0 * thrust[100], rel=1e-14)
    assert torque[1:] == pytest.approx(0.05 * thrust[1:], rel=1e-14)


def test_faster_air_through_the_rotor_never_raises_thrust():
    """Over rotor speeds and axial speeds of either sign."""
    for speed in (50.0, 300.0, 900.0):
        for sign in (1.0, -1.0):
            thrust = [thrusts([speed], (0.0, 0.0, sign * v))[0][0] for v in (0.0, 0.5, 2.0, 8.0, 30.0)]
            assert np.diff(thrust).max() < 0.0


def test_a_rotor_at_rest_in_moving_air_gives_no_thrust():
    """No thrust, no torque, no division by zero, at any wind."""
    assert thrusts([0.0], (1.0, 2.0, 30.0)) == (np.array([0.0]), np.array([0.0]))


def test_a_motor_with_duty_turns_its_rotor_forward():
    """At rest, by hand: I = d V / R, J ω̇ = Kt (I − I0), with V from the outputs; 1e-12. Duty 0: no motion."""
    probe = Probe(iris(), motors=(0.4, 0.0, 0.0, 0.0))
    outputs = probe.outputs()
    current = 0.4 * outputs["bus_voltage_v"][0] / 0.25
    assert outputs["motor_current_a"][:4] == pytest.approx([current, 0.0, 0.0, 0.0], rel=1e-12)
    assert probe.derivative("rotor") == pytest.approx([KE * (current - 0.6) / 1.2e-5, 0.0, 0.0, 0.0], rel=1e-12)


def test_a_current_below_the_no_load_current_gives_no_torque():
    """I < I0: current flows, a rotor at rest stays; a turning one is slowed by load and friction only, 1e-12."""
    probe = Probe(iris(propulsion=propulsion(i0_a=30.0)), motors=0.5)
    assert 0.0 < probe.outputs()["motor_current_a"][0] < 30.0
    assert probe.derivative("rotor").tolist() == [0.0] * 4
    probe["rotor"] = 100.0
    torque = probe.outputs()["rotor_torque_nm"][:4]
    assert probe.derivative("rotor") == pytest.approx(-(torque + 2e-6 * 100.0) / 1.2e-5, rel=1e-12)


def test_an_overrunning_motor_does_not_regenerate():
    """d V < Ke ω: no current, no braking torque, no bus current."""
    probe = Probe(iris(), motors=0.3, rotor=1000.0)
    outputs = probe.outputs()
    assert 0.3 * outputs["bus_voltage_v"][0] < KE * 1000.0
    assert outputs["motor_current_a"][:4].tolist() == [0.0] * 4
    assert outputs["bus_current_a"][0] == 0.0
    load = outputs["rotor_torque_nm"][0] + 2e-6 * 1000.0
    assert probe.derivative("rotor") == pytest.approx([-load / 1.2e-5] * 4, rel=1e-12)


def test_the_current_stops_at_its_limit():
    """Exactly I_max at rest and duty 1, where d V / R would be 50 A."""
    probe = Probe(iris(propulsion=propulsion(max_current_a=7.5)), motors=1.0)
    assert probe.outputs()["motor_current_a"][:4].tolist() == [7.5] * 4


def test_the_esc_has_a_deadzone():
    """Below 0.02 exactly 0, from 0.02 on the command itself."""
    probe = Probe(iris(), motors=(0.0, np.nextafter(0.02, 0.0), 0.02, 0.5))
    outputs = probe.outputs()
    assert outputs["rotor_duty"][:4].tolist() == [0.0, 0.0, 0.02, 0.5]
    assert outputs["motor_current_a"][:2].tolist() == [0.0, 0.0]
    assert outputs["motor_current_a"][2] > 0.0
    assert probe.derivative("rotor")[:2].tolist() == [0.0, 0.0]


def test_the_bus_carries_duty_times_current_over_efficiency():
    """I_bus = Σ d I / η to 1e-13, by hand from the motors' currents."""
    duties = np.array([0.3, 0.5, 0.7, 0.9])
    outputs = Probe(iris(propulsion=propulsion(eta=0.8)), motors=duties, rotor=200.0).outputs()
    assert outputs["bus_current_a"][0] == pytest.approx(duties @ outputs["motor_current_a"][:4] / 0.8, rel=1e-13)


@pytest.mark.parametrize("aircraft", [iris(), octa(), twin()], ids=lambda aircraft: aircraft.name)
def test_full_duty_gives_twice_the_hover_thrust_at_the_nominal_point(aircraft):
    """T = 2 m g / N and Q = km T at the steady-state ω of the motor; relative error below 1e-12."""
    p = aircraft.propulsion
    hover = aircraft.airframe.mass_kg * 9.80665 / len(aircraft.rotors)
    kt = p.thrust_constant(hover)
    kq = p.km_m * kt
    ke = 60.0 / (2.0 * np.pi * p.motor.kv_rpm_per_volt)
    slope = p.motor.viscous_friction_nm_per_rad_s + ke * ke / p.motor.r_ohm
    a, c = kq * p.rho_nom, -ke * p.V_nom / p.motor.r_ohm
    omega = -2.0 * c / (slope + np.sqrt(slope * slope - 4.0 * a * c))
    assert kt * p.rho_nom * omega**2 == pytest.approx(2.0 * hover, rel=1e-12)
    assert a * omega**2 + slope * omega + c == pytest.approx(0.0, abs=1e-12 * -c)


def test_the_plant_flies_with_the_calibrated_constant():
    """The thrust of a rotor is kT ρ ω² with the calibrated kT and the density of the outputs; 1e-14."""
    probe = Probe(iris(), rotor=600.0)
    outputs = probe.outputs()
    kt = iris().propulsion.thrust_constant(1.5 * 9.80665 / 4.0)
    assert outputs["rotor_thrust_n"][0] == pytest.approx(kt * outputs["air_density_kg_m3"] * 600.0**2, rel=1e-14)


def test_the_steady_state_at_full_duty_matches_the_calibration():
    """At V_nom, ρ_nom and without I0, ω̇ of the plant is 0 there: below 1e-12 of the motor torque."""
    sea_level = 101_325.0 / (287.05287 * 288.15)
    p = propulsion(i0_a=0.0, rho_nom=sea_level)
    ideal = iris(propulsion=p, batteries=(Battery(model="ideal", ocv_v=(12.0, 12.0)),), home_alt_msl_m=0.0)
    thrust = 2.0 * 1.5 * 9.80665 / 4.0
    omega = np.sqrt(thrust / (p.thrust_constant(thrust / 2.0) * sea_level))
    probe = Probe(ideal, motors=1.0, rotor=omega)
    assert probe.outputs()["rotor_thrust_n"][0] == pytest.approx(thrust, rel=1e-13)
    drive = KE * 12.0 / 0.25 / 1.2e-5
    assert np.abs(probe.derivative("rotor")).max() < 1e-12 * drive


@pytest.mark.parametrize("share", [0.0, 1e-3])
def test_an_unreachable_thrust_is_an_error_with_the_maximum(share):
    """At Kt V / (R km) and above; just below it there is a kT."""
    limit = KE * 12.0 / (0.25 * 0.05)
    iris_drive = propulsion(thrust_calibration_mult=1.0)
    with pytest.raises(InputError, match=rf"can't reach a thrust of .* the maximum is {limit:.3f} N\. Use a motor"):
        iris_drive.thrust_constant(limit * (1.0 + share))
    assert iris_drive.thrust_constant(limit * 0.999) > 0.0


def test_an_aircraft_too_heavy_for_its_motors_is_an_error():
    """Raised when the aircraft is written, with the required thrust per rotor."""
    with pytest.raises(InputError, match=r"thrust of 49\.033 N per rotor.* the maximum is 9\.964 N"):
        Probe(iris(mass_kg=10.0))


def test_thrust_to_weight_is_that_of_the_calibration_in_its_air():
    """2 at rho_nom, for any mass; below 2 in the thinner air of 3000 m; 4 / 3 of it for 3/4 of the mass; 1e-12."""
    sea_level = 101_325.0 / (287.05287 * 288.15)
    at_sea = iris(propulsion=propulsion(rho_nom=sea_level), home_alt_msl_m=0.0)
    assert at_sea.thrust_to_weight == pytest.approx(2.0, rel=1e-12)
    assert 1.5 < iris(home_alt_msl_m=3000.0).thrust_to_weight < iris(home_alt_msl_m=0.0).thrust_to_weight
    fixed = propulsion(rho_nom=sea_level, calibration_mass_kg=1.5)
    lighter = iris(mass_kg=1.125, propulsion=fixed, home_alt_msl_m=0.0)
    assert lighter.thrust_to_weight == pytest.approx(2.0 * 4.0 / 3.0, rel=1e-12)


def test_only_the_vertical_part_of_the_thrust_counts_against_the_weight():
    """Rotors tilted by 60° have half of the thrust along −z; 1e-12."""
    tilted = [Rotor(rotor.pos_body_m, rotor.direction, (np.sqrt(0.75), 0.0, 0.5)) for rotor in iris().rotors]
    assert iris(rotors=tilted).thrust_to_weight == pytest.approx(0.5 * iris().thrust_to_weight, rel=1e-12)
