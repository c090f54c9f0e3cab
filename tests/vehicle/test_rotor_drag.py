"""Rotor drag, rolling moment and ground effect: by hand, in any pose, and against a flight in another simulator."""

import csv

import numpy as np
import pytest
from fleet import aircraft_of, iris, loaded, propulsion
from flight_logs import flight_log
from plant_probe import POSES, Batch, Probe, rotation

from px4lockstep.vehicle.contact import Contact
from px4lockstep.vehicle.propulsion import Override

GRAVITY = np.array([0.0, 0.0, 9.80665])
DRAG, ROLLING = 8e-5, 1e-6
MASS_KG, RHO_NOM = 1.5, 1.225
INERTIA = np.array([0.029125, 0.029125, 0.055225])
PLACES = np.array([[0.1515, 0.245, 0.0], [-0.1515, -0.1875, 0.0], [0.1515, -0.245, 0.0], [-0.1515, 0.1875, 0.0]])


def change(name, aircraft, base, **groups):
    """Return by how much the models of an aircraft change a derivative, in physical units: force or torque."""
    with_it, without = (Probe(one, **groups).derivative(name) for one in (aircraft, base))
    return (with_it - without) * (MASS_KG if name == "vel" else INERTIA)


def iris_with(**values):
    """Return the Iris far above the ground, with propulsion values."""
    own = loaded("iris").propulsion
    return iris(propulsion=own.model_copy(update=values), pos_ned=(0.0, 0.0, -50.0))


@pytest.mark.parametrize("pose", POSES)
def test_rotor_drag_of_a_hovering_vehicle_by_hand(pose):
    """F = −Σ c ρ/ρ_nom ω u⊥, at the hubs, u across the axis only; in any pose, to 1e-9."""
    omega, u_body = np.array([500.0, 520.0, 480.0, 510.0]), np.array([4.0, -3.0, 2.0])
    state = {"att": pose, "vel": rotation(pose) @ u_body, "rotor": omega}
    drag, base = iris_with(rotor_drag=DRAG), iris_with()
    density = Probe(base, **state).outputs()["air_density_kg_m3"]
    each = -DRAG * density / RHO_NOM * omega[:, None] * np.array([4.0, -3.0, 0.0])
    assert change("vel", drag, base, **state) == pytest.approx(rotation(pose) @ each.sum(axis=0), rel=1e-9, abs=1e-12)
    torque = np.cross(PLACES, each).sum(axis=0)
    assert change("omega", drag, base, **state) == pytest.approx(torque, rel=1e-9, abs=1e-12)


def test_turning_hubs_have_drag_too():
    """Yawing at r, hub i moves at r × r_i: rotor drag damps yaw, without a force if the rotors are symmetric."""
    drag, base = iris_with(rotor_drag=DRAG), iris_with()
    state = {"omega": (0.0, 0.0, 2.0), "rotor": 500.0}
    density = Probe(base, **state).outputs()["air_density_kg_m3"]
    radii_squared = (PLACES[:, :2] ** 2).sum()
    torque = change("omega", drag, base, **state)
    assert torque[2] == pytest.approx(-DRAG * density / RHO_NOM * 500.0 * 2.0 * radii_squared, rel=1e-9)


def test_rolling_moment_is_against_the_motion():
    """M = −Σ c_r ρ/ρ_nom ω u⊥, without a force."""
    rolling, base = iris_with(rolling_moment=ROLLING), iris_with()
    state = {"vel": (4.0, -3.0, 2.0), "rotor": 500.0}
    density = Probe(base, **state).outputs()["air_density_kg_m3"]
    expected = -4.0 * ROLLING * density / RHO_NOM * 500.0 * np.array([4.0, -3.0, 0.0])
    assert change("omega", rolling, base, **state) == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert change("vel", rolling, base, **state).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("pose", POSES)
def test_rotor_drag_takes_energy_from_the_motion(pose):
    """F · u + τ · Ω ≤ 0 for any motion through the air: it never drives the vehicle."""
    drag, base = iris_with(rotor_drag=DRAG), iris_with()
    rng = np.random.default_rng(3)
    for _ in range(20):
        vel, wind, rates = rng.normal(size=3), rng.normal(size=3), 3.0 * rng.normal(size=3)
        state = {"att": pose, "vel": vel, "omega": rates, "rotor": rng.uniform(0.0, 900.0, 4), "wind": wind}
        power = change("vel", drag, base, **state) @ (vel - wind) + change("omega", drag, base, **state) @ rates
        assert power <= 0.0


def test_a_rotor_may_have_its_own_drag():
    """With an override, only that rotor has drag."""
    base = iris_with()
    own = base.propulsion.model_copy(update={"overrides": (Override(rotors=(2,), rotor_drag=DRAG),)})
    one = aircraft_of(base, propulsion=own)
    state = {"vel": (4.0, 0.0, 0.0), "rotor": (500.0, 600.0, 0.0, 0.0)}
    density = Probe(base, **state).outputs()["air_density_kg_m3"]
    assert change("vel", one, base, **state)[0] == pytest.approx(-DRAG * density / RHO_NOM * 600.0 * 4.0, rel=1e-9)


# -- ground effect -----------------------------------------------------------------------------------------------------


def thrusts(height_m, **values):
    """Return the thrusts of the Iris with its rotors at a height, at 500 rad/s."""
    own = loaded("iris").propulsion.model_copy(update=values)
    aircraft = iris(propulsion=own, contact=Contact("legs", points_body_m=((0.0, 0.0, 1e-3),)))
    return Probe(aircraft, pos=(0.0, 0.0, -height_m), rotor=500.0).outputs()["rotor_thrust_n"][:4]


@pytest.mark.parametrize("heights_per_radius", [0.25, 0.5, 1.0, 2.0, 4.0, 40.0])
def test_ground_effect_by_hand(heights_per_radius):
    """T / T∞ = 1 / (1 − (R / 4z)²), 4/3 at half a radius and below; 1e-12."""
    height_m = heights_per_radius * 0.127
    gain = 1.0 / (1.0 - (1.0 / (4.0 * max(heights_per_radius, 0.5))) ** 2)
    ratio = thrusts(height_m, ground_effect=True) / thrusts(height_m)
    assert ratio == pytest.approx([gain] * 4, rel=1e-12)


def test_ground_effect_levels_a_tilted_vehicle():
    """The lower rotors gain more: rolled to the right, it is rolled back, with the thrust that is logged."""
    own = loaded("iris").propulsion.model_copy(update={"ground_effect": True})
    craft, base = (iris(propulsion=one) for one in (own, loaded("iris").propulsion))
    state = {"pos": (0.0, 0.0, -0.3), "att": (np.cos(0.05), np.sin(0.05), 0.0, 0.0), "rotor": 500.0}
    gained = [Probe(one, **state).outputs()["rotor_thrust_n"][:4] for one in (craft, base)]
    torque = np.cross(PLACES, (gained[0] - gained[1])[:, None] * np.array([0.0, 0.0, -1.0])).sum(axis=0)
    assert torque[0] < -1e-3
    assert change("omega", craft, base, **state) == pytest.approx(torque, rel=1e-9, abs=1e-12)


def test_without_ground_there_is_no_ground_effect():
    """Rotors at any height have their thrust in free air."""
    own = loaded("iris").propulsion.model_copy(update={"ground_effect": True})
    free = iris(propulsion=own, contact=Contact("no_contact"))
    assert Probe(free, pos=(0.0, 0.0, -0.1), rotor=500.0).outputs()["rotor_thrust_n"][0] == thrusts(0.1)[0]


# -- another simulator -------------------------------------------------------------------------------------------------


def test_rotor_drag_predicts_the_specific_force_of_a_flight_in_gazebo():
    """An Iris flown in Gazebo without wind: correlation above 0.99 along x and y, and a slope of 1 within 3 %.

    Its rotors have c_d = 1.75e-4 N s²/m and turn at 100 rad/s + 1000 rad/s × throttle; it weighs 1.535 kg.
    """
    with flight_log("gazebo_iris.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["landed"] == "0"]
    assert len(rows) > 5_000

    def columns(*names):
        return np.array([[float(row[name]) for name in names] for row in rows])

    speeds = columns("u0", "u1", "u2", "u3") - 1000.0 + 100.0
    own = propulsion(rotor_drag=1.75e-4)
    craft, base = (iris(propulsion=one, linear_drag=0.0, home_alt_msl_m=0.0) for one in (own, propulsion()))
    state = [columns("vx", "vy", "vz"), columns("q0", "q1", "q2", "q3")]
    state += [columns("ang_vel_x", "ang_vel_y", "ang_vel_z"), speeds]
    forces = []
    for one in (craft, base):
        batch = Batch([one], len(rows))
        batch.x[:, 3:17] = np.hstack(state)
        forces.append(MASS_KG * batch.evaluate().dx[:, 3:6].copy())
    turned = [rotation(q).T @ force for q, force in zip(state[1], forces[0] - forces[1], strict=True)]
    predicted = np.array(turned) / 1.535
    measured = columns("acc_b_x", "acc_b_y")
    for axis in range(2):
        along = predicted[:, axis]
        assert np.corrcoef(along, measured[:, axis])[0, 1] > 0.99
        assert np.polyfit(along, measured[:, axis], 1)[0] == pytest.approx(1.0, abs=0.03)
