"""The coupled right-hand side: force balance, torques and their signs in several poses, projection."""

import numpy as np
import pytest
from fleet import PowerBus, Rotor, iris, octa, twin
from plant_probe import POSES, Batch, Probe, hover_speed, rotation

from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.battery import Battery

G = np.array([0.0, 0.0, 9.80665])
SYMMETRIC = tuple(
    Rotor((x, y, 0.0), sign) for x, y, sign in ((0.2, 0.2, 1), (-0.2, -0.2, 1), (0.2, -0.2, -1), (-0.2, 0.2, -1))
)


# -- forces ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aircraft", [iris(), octa(), twin()], ids=lambda aircraft: aircraft.name)
def test_a_hovering_aircraft_does_not_accelerate(aircraft):
    """With Σ T = m g: below 1e-9 m/s² down and sideways, in its hover attitude, which is nose up for the twin."""
    probe = Probe(aircraft)
    probe["rotor"] = hover_speed(probe)
    assert probe.outputs()["rotor_thrust_n"].sum() == pytest.approx(aircraft.airframe.mass_kg * 9.80665, rel=1e-14)
    assert np.abs(probe.derivative("vel")).max() < 1e-9


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("aircraft", [iris(), octa(), twin()], ids=lambda aircraft: aircraft.name)
def test_thrust_is_along_the_rotors_axis_in_every_pose(aircraft, pose):
    """v̇ = R (−Σ T a) / m + g, which is g (1 − R a) for a thrust equal to the weight; 1e-12."""
    probe = Probe(aircraft, att=pose)
    probe["rotor"] = hover_speed(probe)
    axis = np.array(aircraft.rotors[0].axis_body)
    assert probe.derivative("vel") == pytest.approx(G - 9.80665 * (rotation(pose) @ axis), abs=1e-12)


def test_more_thrust_than_weight_lifts():
    """Twice the weight: −g down, that is up, below 1e-9."""
    probe = Probe(iris())
    probe["rotor"] = hover_speed(probe, 2.0 * 1.5 * 9.80665)
    assert probe.derivative("vel") == pytest.approx(-G, abs=1e-9)


# -- torques -----------------------------------------------------------------------------------------------------------


def yaw_torque(probe):
    """Return I ω̇ − s J ω̇ a, the aerodynamic torque on the body, for an aircraft at rest with diagonal inertia."""
    aircraft = probe.aircraft
    torque = np.diag(aircraft.airframe.inertia) * probe.derivative("omega")
    reaction = [rotor.direction * np.array(rotor.axis_body) for rotor in aircraft.rotors]
    return torque - aircraft.propulsion.motor.j_kgm2 * probe.derivative("rotor") @ np.array(reaction)


@pytest.mark.parametrize("pose", POSES)
def test_a_symmetric_quad_has_only_its_reaction_torque(pose):
    """Equal speeds, all signs +: roll and pitch below 1e-12 N m, yaw = Σ s Q to 1e-12; opposite signs, opposite yaw."""
    plus = tuple(Rotor(rotor.pos_body_m, +1) for rotor in SYMMETRIC)
    minus = tuple(Rotor(rotor.pos_body_m, -1) for rotor in SYMMETRIC)
    torques = {}
    for name, rotors in (("plus", plus), ("minus", minus), ("both", SYMMETRIC)):
        probe = Probe(iris(rotors=rotors), att=pose, rotor=500.0)
        torques[name] = yaw_torque(probe)
        total = probe.outputs()["rotor_torque_nm"].sum()
    assert torques["plus"] == pytest.approx([0.0, 0.0, total], rel=1e-12, abs=1e-12)
    assert torques["minus"] == pytest.approx([0.0, 0.0, -total], rel=1e-12, abs=1e-12)
    assert torques["both"] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert total > 0.1


@pytest.mark.parametrize("pose", POSES)
def test_faster_rotors_of_positive_sign_yaw_to_the_right(pose):
    """Rotors 1 and 2 (+1) above 3 and 4: yaw torque Σ s Q > 0 to 1e-11, roll and pitch below 1e-12; and reversed."""
    for faster, sign in (((520.0, 520.0, 480.0, 480.0), 1.0), ((480.0, 480.0, 520.0, 520.0), -1.0)):
        probe = Probe(iris(rotors=SYMMETRIC), att=pose, rotor=faster)
        torque = yaw_torque(probe)
        outputs = probe.outputs()["rotor_torque_nm"]
        assert torque[2] == pytest.approx(outputs[0] + outputs[1] - outputs[2] - outputs[3], rel=1e-11)
        assert np.sign(torque[2]) == sign
        assert np.abs(torque[:2]).max() < 1e-12


def test_more_duty_on_rotors_of_positive_sign_yaws_to_the_right():
    """Motor torques only, at equal speed: ω̇_z has the sign of s, because accelerating rotors push back."""
    probe = Probe(iris(), motors=(0.6, 0.6, 0.5, 0.5), rotor=450.0)
    assert probe.derivative("omega")[2] > 1.0
    probe.motors[:4] = (0.5, 0.5, 0.6, 0.6)
    assert probe.derivative("omega")[2] < -1.0


@pytest.mark.parametrize("pose", POSES)
def test_tilted_axes_match_hand_calculations(pose):
    """Σ −T a and Σ r × (−T a) + a s Q with NumPy, three rotors with different axes; 1e-12."""
    rng = np.random.default_rng(12)
    axes = rng.normal(size=(3, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    arms, signs, speeds = rng.normal(size=(3, 3)) * 0.3, np.array([1, -1, 1]), np.array([300.0, 500.0, 700.0])
    rotors = tuple(
        Rotor(tuple(arm.tolist()), int(sign), tuple(axis.tolist()))
        for arm, sign, axis in zip(arms, signs, axes, strict=True)
    )
    probe = Probe(iris(rotors=rotors), att=pose, rotor=speeds)
    outputs = probe.outputs()
    pushes = -outputs["rotor_thrust_n"][:3, None] * axes
    turns = np.cross(arms, pushes) + axes * (signs * outputs["rotor_torque_nm"][:3])[:, None]
    assert probe.derivative("vel") - G == pytest.approx(rotation(pose) @ pushes.sum(axis=0) / 1.5, rel=1e-12)
    assert yaw_torque(probe) == pytest.approx(turns.sum(axis=0), rel=1e-11)


@pytest.mark.parametrize("case", range(6))
def test_all_derivatives_turn_with_the_pose(case):
    """Thrust, drag, inflow, gyroscopics and faults in random poses: v̇ − g turns, the rest stays.

    Velocity and wind are turned along; 1e-11 of the largest term, from some roundings of it in each of the turns.
    """
    rng = np.random.default_rng(100 + case)
    aircraft = (
        iris(),
        iris(drag_kind="body_quadratic", drag_area_body_m2=(0.01, 0.02, 0.05)),
        octa(),
        twin(),
        iris(inertia_kgm2=((0.03, 0.002, -0.001), (0.002, 0.04, 0.003), (-0.001, 0.003, 0.05))),
        iris(motor_actuator=ActuatorDynamics("first_order")),
    )[case]
    speeds = rng.uniform(100.0, 800.0, len(aircraft.rotors))
    vel, wind, rates = rng.normal(size=3) * 5.0, rng.normal(size=3) * 3.0, rng.normal(size=3)
    level = Probe(aircraft, att=POSES[0], rotor=speeds, vel=vel, wind=wind, omega=rates, motors=0.6)
    level.faults["motor_disabled_mask"] = case
    expected = level.derivative()
    for pose in POSES[1:]:
        r_bn = rotation(pose)
        turned = Probe(aircraft, att=pose, rotor=speeds, vel=r_bn @ vel, wind=r_bn @ wind, omega=rates, motors=0.6)
        turned.faults["motor_disabled_mask"] = case
        answer = turned.derivative()
        assert answer[3:6] - G == pytest.approx(r_bn @ (expected[3:6] - G), rel=1e-11, abs=1e-11)
        assert answer[10:] == pytest.approx(expected[10:], rel=1e-11, abs=1e-11)
        assert turned.outputs()["air_vel_body"] == pytest.approx(level.outputs()["air_vel_body"], abs=1e-13)


# -- projection --------------------------------------------------------------------------------------------------------


def test_the_projection_limits_speeds_and_charge_and_counts():
    """ω ≥ 0 and SOC within [0, 1], each counted; the quaternion normalized, not counted; the rest unchanged."""
    probe = Probe(
        iris(), pos=(1.0, 2.0, 3.0), att=(2.0, 0.0, 0.0, 0.0), rotor=(-1.0, 5.0, -1e-9, 0.0), soc=1.2, v1=-3.0
    )
    assert probe.project() == 3
    assert probe["att"].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert probe["rotor"].tolist() == [0.0, 5.0, 0.0, 0.0]
    assert probe["soc"].tolist() == [1.0]
    assert probe["pos"].tolist() == [1.0, 2.0, 3.0]
    assert probe["v1"].tolist() == [-3.0]
    probe["soc"] = -0.1
    assert probe.project() == 1
    assert probe["soc"].tolist() == [0.0]
    assert probe.project() == 0


def test_a_rotor_at_rest_is_not_turned_backwards():
    """ω̇ is 0 at ω = 0 without drive, in any wind; the charge of an empty battery does not fall below 0."""
    probe = Probe(iris(), wind=(3.0, 2.0, -9.0), motors=1.0, soc=0.0)
    assert probe.derivative("soc").tolist() == [0.0]
    probe.motors[:] = 0.0
    assert probe.derivative("rotor").tolist() == [0.0] * 4


def test_the_derivative_depends_on_its_arguments_alone():
    """The previous contents of its output have no effect, although rotor slots serve as scratch: bit-identical."""
    batch = Batch(
        [octa(buses=(PowerBus((0,), (1, 3, 5, 7)), PowerBus((1,), (0, 2, 4, 6))), batteries=(Battery(),) * 2)]
    )
    batch.x[0, 13:21] = np.linspace(100.0, 800.0, 8)
    batch.inputs["command"]["motors"] = 0.7
    first = batch.evaluate().dx[0, :25].tolist()
    state, inputs = batch.x.copy(), batch.inputs.copy()  # with the motors snapped to their commands
    batch.dx[:] = np.nan
    assert batch.evaluate().dx[0, :25].tolist() == first
    assert np.array_equal(batch.x, state)
    assert inputs.tobytes() == batch.inputs.tobytes()


def test_the_air_moves_past_the_vehicle_against_its_motion():
    """Climbing at 2 m/s and flying east at 3 m/s, level and heading north, in a wind of 1 m/s to the north."""
    batch = Batch([iris()], 1)
    batch.x[:, 3:6] = (0.0, 3.0, -2.0)
    batch.inputs["wind_ned"] = (1.0, 0.0, 0.0)
    assert batch.evaluate().outputs["air_vel_body"][0].tolist() == [1.0, -3.0, 2.0]
