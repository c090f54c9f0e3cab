"""Powered taxi: a vehicle on legs is pushed over the ground by tilted rotors. All expectations are computed by hand.

    lift  N = m g − T cos θ,    push  F = T sin θ

It stays if F < μ_s N, and otherwise slides with m a = F − μ N. Friction R at the feet, h below
the centre of mass, loads the leading legs: R h = (N_lead − N_trail) d / 2 for legs d apart. It tips over where
R h > N d / 2.
"""

import math

import numpy as np
import pytest
from fleet import Rotor, iris
from plant_probe import fly, rotation

from px4lockstep.vehicle.contact import Contact

MASS_KG, HEIGHT_M, HALF_M = 1.5, 0.12, 0.2
WEIGHT_N = MASS_KG * 9.80665
STIFFNESS_N_M = 4_000.0
V_EPS_M_S = 0.1


def taxi(angle_deg, duty, mu, mu_static, *, end_s=2.0, heading=0.0, height_m=HEIGHT_M, half_m=HALF_M, step_us=500):
    """Fly an Iris with rotors tilted forward at constant duty; return times, states, push and normal force.

    `heading` turns rotors in the body, in which the legs are a square. Push (a vector) and normal force are by hand
    from the logged thrust and attitude: the vehicle leans by up to 0.2°.
    """
    tilt, turn = math.radians(angle_deg), math.radians(heading)
    axis = (-math.sin(tilt) * math.cos(turn), -math.sin(tilt) * math.sin(turn), math.cos(tilt))
    places = ((0.2, 0.2), (-0.2, -0.2), (0.2, -0.2), (-0.2, 0.2))
    # Opposite reaction torques, and all forces through the centre of mass: rotors in its plane, equal thrusts.
    rotors = tuple(Rotor((x, y, 0.0), 1 if i < 2 else -1, axis) for i, (x, y) in enumerate(places))
    feet = tuple((x, y, height_m) for x in (half_m, -half_m) for y in (half_m, -half_m))
    ground = {"k_n_per_m": STIFFNESS_N_M, "c_n_per_mps": 150.0, "mu": mu, "mu_static": mu_static, "v_eps": V_EPS_M_S}
    aircraft = iris(
        mass_kg=MASS_KG,
        rotors=rotors,
        linear_drag=0.0,
        pos_ned=(0.0, 0.0, WEIGHT_N / STIFFNESS_N_M - height_m),  # at rest on the springs
        contact=Contact("legs", points_body_m=feet, **ground),
    )
    sim = fly(aircraft, end_s, motors=lambda time_us: duty, integrator="RK4", step_us=step_us)
    thrust_n = sim.log["bus"]["outputs"]["rotor_thrust_n"][:, :4].sum(axis=1)
    forces = np.array(
        [t * rotation(q) @ -np.array(axis) for t, q in zip(thrust_n, sim.log_state[:, 6:10], strict=True)]
    )
    return sim.log["time_us"] / 1e6, sim.log_state, forces[:, :2], WEIGHT_N + forces[:, 2]


def tilt_deg(state):
    """Return the angle of the body's z axis to the vertical."""
    return np.degrees(np.arccos(np.clip(1.0 - 2.0 * (state[:, 7] ** 2 + state[:, 8] ** 2), -1.0, 1.0)))


@pytest.mark.parametrize("heading", [0.0, 90.0, 35.0])
def test_within_static_friction_it_stays(heading):
    """Friction holds the push: in the last second it moves by less than 0.1 µm, in any direction."""
    t, state, push, normal = taxi(10.0, 0.3, mu=0.4, mu_static=0.6, heading=heading)
    assert 0.1 < np.linalg.norm(push[-1]) / (0.6 * normal[-1]) < 0.5
    assert math.degrees(math.atan2(push[-1, 1], push[-1, 0])) == pytest.approx(heading, abs=1e-3)
    late = state[t >= 1.0]
    assert np.abs(late[:, :2] - late[0, :2]).max() < 1e-7


def test_beyond_static_friction_it_slides_with_the_kinetic_one():
    """m Δv = ∫ (F − μ N) dt over the last second, trapezoids over the log; 1e-4. A larger μ_s N holds the same push."""
    mu = 0.3
    t, state, push, normal = taxi(35.0, 0.4, mu=mu, mu_static=mu)
    assert push[-1, 0] > 1.2 * mu * normal[-1] > 0.0
    late = t >= 1.0
    force = (push[:, 0] - mu * normal)[late]
    gained = np.sum(0.5 * (force[1:] + force[:-1]) * np.diff(t[late])) / MASS_KG
    assert gained > 1.0
    assert state[-1, 3] - state[late][0, 3] == pytest.approx(gained, rel=1e-4)
    assert abs(state[-1, 4]) < 1e-9
    held = taxi(35.0, 0.4, mu=mu, mu_static=2.0)[1]
    assert np.abs(held[-100:, 3]).max() < 1e-6  # after a bounce of the springs


def test_friction_loads_the_leading_legs():
    """Sliding forward with R = μ N, the nose goes down by 4 R h / (k d²); 1 %: the inertia of the changing load."""
    mu = 0.3
    _, state, _, normal = taxi(35.0, 0.5, mu=mu, mu_static=mu)
    # N_lead − N_trail = 2 R h / d on pairs of springs k / 2: depths differ by 4 R h / (k d), over the distance d
    distance = 2.0 * HALF_M
    pitch = -4.0 * mu * normal[-1] * HEIGHT_M / (STIFFNESS_N_M * distance * distance)
    assert 2.0 * state[-1, 8] == pytest.approx(pitch, rel=0.01)
    assert abs(state[-1, 7]) < 1e-6


@pytest.mark.parametrize(("heading", "axis", "sign"), [(0.0, 8, -1.0), (90.0, 7, 1.0)])
def test_a_tall_vehicle_tips_over_where_a_low_one_slides(heading, axis, sign):
    """R h > N d / 2 with R = μ N, that is μ > d / (2 h): pushed forward it noses over, pushed to the right it rolls."""
    push = {"duty": 0.5, "mu": 0.5, "mu_static": 0.5, "heading": heading, "end_s": 2.0, "half_m": 0.15}
    tall, low = (taxi(45.0, height_m=height_m, **push)[1] for height_m in (0.5, 0.2))  # d / (2 h) = 0.3 and 0.75
    assert tilt_deg(tall).max() > 30.0
    assert tilt_deg(low).max() < 2.0
    assert math.hypot(*low[-1, 3:5]) > 1.0
    first = int(np.argmax(tilt_deg(tall) > 10.0))
    assert sign * tall[first, axis] > 0.05
