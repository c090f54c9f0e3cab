"""The rigid body with spinning rotors: inertia, gyroscopics, angular momentum, gravity, by hand in several poses."""

import numpy as np
import pytest
from fleet import Rotor, iris, propulsion
from plant_probe import POSES, Probe, hover_speed, rotation

from px4lockstep.environment.gravity import Gravity

SKEW_INERTIA = ((0.03, -0.004, 0.002), (-0.004, 0.035, 0.001), (0.002, 0.001, 0.05))
NO_DAMPING = (0.0, 0.0, 0.0)


def one_rotor(sign=+1, pos=(0.0, 0.0, 0.0)):
    """Return the body of the Iris with one rotor, whose propeller is light enough to carry it."""
    return iris(rotors=(Rotor(pos, sign),), propulsion=propulsion(km_m=0.01), angular_damping=NO_DAMPING)


@pytest.mark.parametrize("pose", POSES)
def test_a_full_inertia_tensor_turns_torque_into_rates(pose):
    """I ω̇ = τ − ω × I ω − D ω by NumPy's solver; 1e-12 relative, a few ulp times the condition number of 2."""
    rates = np.array([0.3, -1.1, 0.7])
    probe = Probe(iris(inertia_kgm2=SKEW_INERTIA), att=pose, omega=rates)
    inertia = np.array(SKEW_INERTIA)
    torque = -np.array([0.02, 0.02, 0.01]) * rates - np.cross(rates, inertia @ rates)
    assert probe.derivative("omega") == pytest.approx(np.linalg.solve(inertia, torque), rel=1e-12)


@pytest.mark.parametrize("pose", POSES)
def test_a_spinning_rotor_resists_being_tilted(pose):
    """H = −s J ω a; turned at a pitch rate q it needs ω × H: the body gets −q × H about the roll axis, to 1e-12.

    With s = +1 the rotor spins against +z, H points up (−z), and pitching up (+q about y) rolls to the right:
    −(0, q, 0) × (0, 0, −J ω) = (+q J ω, 0, 0).
    """
    for sign in (+1, -1):
        still = Probe(one_rotor(sign), att=pose, rotor=800.0)
        pitching = Probe(one_rotor(sign), att=pose, rotor=800.0, omega=(0.0, 2.0, 0.0))
        change = pitching.derivative("omega") - still.derivative("omega")
        expected = np.array([sign * 2.0 * 1.2e-5 * 800.0 / 0.029125, 0.0, 0.0])
        assert change == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("pose", POSES)
def test_a_rotor_that_speeds_up_turns_the_body_the_other_way(pose):
    """−Ḣ = s J ω̇ a: at rest, without air load, the yaw torque on the body is that of the motor on the rotor, 1e-12."""
    for sign in (+1, -1):
        probe = Probe(one_rotor(sign), att=pose, motors=0.5)
        spin = probe.derivative("rotor")[0]
        assert spin > 1e3
        expected = [0.0, 0.0, sign * 1.2e-5 * spin / 0.055225]
        assert probe.derivative("omega") == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("pose", POSES)
def test_total_angular_momentum_changes_by_the_air_alone(pose):
    """d/dt R (I ω + H) = R τ_air with driving motors: motor torques are internal. To 1e-12 of the largest term.

    With a propeller without torque and thrust (kT from a tiny multiple of the hover thrust) it is conserved.
    """
    rng = np.random.default_rng(3)
    airless = propulsion(thrust_calibration_mult=1e-14)
    for drive in (propulsion(), airless):
        aircraft = iris(propulsion=drive, inertia_kgm2=SKEW_INERTIA, angular_damping=NO_DAMPING)
        rates, speeds = rng.normal(size=3), rng.uniform(200.0, 900.0, 4)
        probe = Probe(aircraft, att=pose, omega=rates, rotor=speeds, motors=(0.9, 0.0, 0.4, 0.7))
        inertia, signs = np.array(SKEW_INERTIA), np.array([1, 1, -1, -1])
        rotors = np.array([0.0, 0.0, -np.sum(signs * 1.2e-5 * speeds)])
        rotors_dot = np.array([0.0, 0.0, -np.sum(signs * 1.2e-5 * probe.derivative("rotor"))])
        momentum = inertia @ rates + rotors
        change = inertia @ probe.derivative("omega") + rotors_dot + np.cross(rates, momentum)
        outputs = probe.outputs()
        arms = np.array([rotor.pos_body_m for rotor in aircraft.rotors])
        pushes = np.outer(outputs["rotor_thrust_n"][:4], [0.0, 0.0, -1.0])
        air = np.sum(np.cross(arms, pushes), axis=0)
        air[2] += np.sum(signs * outputs["rotor_torque_nm"][:4])
        scale = np.abs(inertia @ probe.derivative("omega")).max()
        assert change == pytest.approx(air, abs=1e-12 * scale)
        if drive is airless:
            assert np.abs(change).max() < 1e-11 * scale
        else:
            assert np.abs(change).max() > 0.1 * scale


@pytest.mark.parametrize("pose", POSES)
def test_angular_damping_acts_along_each_body_axis(pose):
    """With equal moments about all axes, ω̇ = −D ω / I to 1e-13."""
    sphere = ((0.04, 0.0, 0.0), (0.0, 0.04, 0.0), (0.0, 0.0, 0.04))
    probe = Probe(iris(inertia_kgm2=sphere, angular_damping=(0.02, 0.03, 0.01)), att=pose, omega=(1.0, -2.0, 3.0))
    assert probe.derivative("omega") == pytest.approx([-0.5, 1.5, -0.75], rel=1e-13)


@pytest.mark.parametrize("pose", POSES)
def test_the_attitude_turns_about_body_axes(pose):
    """q̇ = ½ q (0, ω): to first order the rotation matrix changes by R [ω]×; 1e-12 with the derivative by hand."""
    rates = np.array([0.4, -0.2, 0.9])
    probe = Probe(iris(), att=pose, omega=rates)
    q, q_dot = np.array(probe["att"]), probe.derivative("att")
    # d/dt (q v q*) for each unit vector, by the difference of a quadratic form, which is exact
    r_dot = (rotation(q + q_dot) - rotation(q - q_dot)) / 2.0
    spin = np.array([[0.0, -rates[2], rates[1]], [rates[2], 0.0, -rates[0]], [-rates[1], rates[0], 0.0]])
    assert q @ q_dot == pytest.approx(0.0, abs=1e-15)
    assert r_dot == pytest.approx(rotation(q) @ spin, abs=1e-12)


@pytest.mark.parametrize("pose", POSES)
def test_gravity_is_down_at_any_attitude(pose):
    """Exactly (0, 0, g): no other force on a vehicle at rest in still air. Spherical: μ / (r0 − z)²."""
    assert Probe(iris(), att=pose, pos=(3.0, 4.0, -50.0)).derivative("vel").tolist() == [0.0, 0.0, 9.80665]
    sphere = Gravity("spherical")
    low = Probe(iris(gravity=sphere), att=pose).derivative("vel")
    high = Probe(iris(gravity=sphere), att=pose, pos=(0.0, 0.0, -10_000.0)).derivative("vel")
    assert low[2] == pytest.approx(3.986004418e14 / 6_371_000.0**2, rel=1e-15)
    assert high[2] == pytest.approx(3.986004418e14 / 6_381_000.0**2, rel=1e-15)
    assert high[2] < 0.997 * low[2]


def test_thrust_off_the_centre_of_mass_turns_the_body():
    """τ = r × F by hand, thrust up: a rotor in front pitches up (+), one on the right rolls left (−). 1e-12."""
    ahead = Probe(one_rotor(pos=(0.2, 0.0, 0.0)))
    right = Probe(one_rotor(pos=(0.0, 0.3, 0.0)))
    for probe in (ahead, right):
        probe["rotor"] = hover_speed(probe)
    weight = 1.5 * 9.80665
    assert ahead.derivative("omega")[:2] == pytest.approx([0.0, 0.2 * weight / 0.029125], rel=1e-12, abs=1e-15)
    assert right.derivative("omega")[:2] == pytest.approx([-0.3 * weight / 0.029125, 0.0], rel=1e-12, abs=1e-15)
