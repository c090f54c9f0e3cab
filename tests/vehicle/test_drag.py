"""Both models of fuselage drag, in particular in tilted flight."""

import numpy as np
import pytest
from fleet import iris
from plant_probe import POSES, Probe, rotation

GRAVITY = np.array([0.0, 0.0, 9.80665])
AREA = (0.01, 0.02, 0.06)
ROLLED_90 = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)


def drag_force(kind, pose, vel, wind=(0.0, 0.0, 0.0)):
    """Return the force on the vehicle in world axes, from its acceleration."""
    probe = Probe(iris(drag_kind=kind, drag_area_body_m2=AREA), att=pose, vel=vel, wind=wind)
    return 1.5 * (probe.derivative("vel") - GRAVITY), probe.outputs()["air_density_kg_m3"]


@pytest.mark.parametrize("pose", [*POSES, ROLLED_90])
def test_linear_drag_is_independent_of_attitude(pose):
    """−c (v − wind) in world axes, to 1e-13, at 90° of roll as well as level."""
    force, _ = drag_force("linear", pose, (3.0, -2.0, 1.0), wind=(1.0, 0.5, -0.25))
    assert force == pytest.approx(-0.05 * np.array([2.0, -2.5, 1.25]), rel=1e-13, abs=1e-14)


@pytest.mark.parametrize("pose", [*POSES, ROLLED_90])
def test_quadratic_drag_turns_with_the_body(pose):
    """−½ ρ (CdA)_i |u| u_i along body axes: the force in a pose is the rotated force of a level vehicle, to 1e-12."""
    u_body = np.array([6.0, -3.0, 2.0])
    r_bn = rotation(pose)
    force, density = drag_force("body_quadratic", pose, r_bn @ u_body)
    expected = -0.5 * density * np.array(AREA) * 7.0 * u_body
    assert force == pytest.approx(r_bn @ expected, rel=1e-12, abs=1e-13)


def test_at_90_degrees_of_roll_the_models_differ():
    """Flying east, rolled by 90°, the air meets the body's z axis: CdA 0.06 instead of 0.02, along the motion."""
    level, density = drag_force("body_quadratic", POSES[0], (0.0, 10.0, 0.0))
    rolled, _ = drag_force("body_quadratic", ROLLED_90, (0.0, 10.0, 0.0))
    assert level == pytest.approx([0.0, -0.5 * density * 0.02 * 100.0, 0.0], rel=1e-12, abs=1e-13)
    assert rolled == pytest.approx([0.0, -0.5 * density * 0.06 * 100.0, 0.0], rel=1e-12, abs=1e-13)
    linear = [drag_force("linear", pose, (0.0, 10.0, 0.0))[0] for pose in (POSES[0], ROLLED_90)]
    assert linear[0].tolist() == linear[1].tolist()


@pytest.mark.parametrize("kind", ["linear", "body_quadratic"])
@pytest.mark.parametrize("pose", POSES)
def test_drag_acts_against_the_motion_through_the_air(kind, pose):
    """It dissipates energy (F · u < 0), and is 0 if the vehicle drifts with the wind."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        vel, wind = rng.normal(size=3), rng.normal(size=3)
        force, _ = drag_force(kind, pose, vel, wind)
        assert force @ (vel - wind) < 0.0
        assert drag_force(kind, pose, wind, wind)[0].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("kind", ["linear", "body_quadratic"])
def test_drag_makes_no_torque(kind):
    """It acts at the centre of mass: exactly 0 at rest."""
    probe = Probe(iris(drag_kind=kind, drag_area_body_m2=AREA), att=POSES[1], vel=(8.0, -3.0, 2.0))
    assert probe.derivative("omega").tolist() == [0.0, 0.0, 0.0]
