"""Payload and offset of the centre of gravity: mass, inertia and places, by hand and against a sum of point masses."""

import numpy as np
import pytest
from fleet import iris
from spec_files import write

from px4lockstep.autopilots.px4_library.parameters import ca_parameters
from px4lockstep.jit import interpreted, zeros
from px4lockstep.math.quaternion import rotate
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_aircraft, load_spec
from px4lockstep.vehicle.dispatch import PLANT
from px4lockstep.vehicle.loading import Loading, loading_of

BODY = ((0.02, 0.001, 0.0), (0.001, 0.03, 0.002), (0.0, 0.002, 0.04))
ORIGIN = (0.0, 0.0, 0.0)


def record_of(aircraft):
    """Return the parameters of an aircraft as the loop sees them."""
    plant = zeros(PLANT)
    aircraft.write(plant[0])
    return plant[0]


def test_without_payload_and_offset_nothing_changes():
    """Not one bit; a payload of 0 kg has no effect wherever it is."""
    assert loading_of(1.5, BODY, ORIGIN, 0.0, (0.0, 0.0, 0.3)) == Loading(1.5, ORIGIN, BODY)
    same = load_aircraft("x500", {"airframe.payload_pos_body_m": [0.1, 0.2, 0.3]})
    assert record_of(same).tobytes() == record_of(load_aircraft("x500")).tobytes()
    assert same.placed_contact is same.contact


def test_a_payload_by_hand():
    """A payload of 0.5 kg, 0.3 m below a body of 1.5 kg: the centre moves by 0.075 m, and J by m m_p / M d²."""
    mass_kg, centre, inertia = loading_of(1.5, BODY, ORIGIN, 0.5, (0.0, 0.0, 0.3))
    assert mass_kg == 2.0
    assert centre == pytest.approx((0.0, 0.0, 0.075), abs=1e-16)
    added = 1.5 * 0.5 / 2.0 * 0.3**2
    expected = np.array(BODY) + np.diag([added, added, 0.0])
    assert np.array(inertia) == pytest.approx(expected, abs=1e-16)


def test_an_offset_shifts_the_centre_and_not_the_inertia():
    """The inertia of the body is about its own centre."""
    mass_kg, centre, inertia = loading_of(1.5, BODY, (0.01, -0.02, 0.03), 0.0, ORIGIN)
    assert (mass_kg, centre, inertia) == (1.5, (0.01, -0.02, 0.03), BODY)


@pytest.mark.parametrize("q_bn", [(1.0, 0.0, 0.0, 0.0), (0.5, 0.5, -0.5, 0.5), (0.8, 0.0, 0.6, 0.0)])
def test_the_inertia_equals_that_of_point_masses(q_bn):
    """A body of six point masses with an offset and a payload, in rotated poses; to rounding."""
    turn = np.array([interpreted(rotate)(q_bn, axis) for axis in np.eye(3).tolist()]).T
    half = np.diag([0.2, 0.15, 0.1])
    arms = np.vstack([half, -half])
    arms, offset, place = arms @ turn.T, turn @ (0.02, -0.01, 0.03), turn @ (0.1, 0.05, 0.2)
    found = loading_of(1.5, tensor(arms, [0.25] * 6), tuple(offset), 0.4, tuple(place))
    points, masses = np.vstack([arms + offset, place]), np.array([0.25] * 6 + [0.4])
    centre = masses @ points / masses.sum()
    assert found.mass_kg == pytest.approx(1.9)
    assert found.centre_body_m == pytest.approx(centre, abs=1e-15)
    assert np.array(found.inertia_kgm2) == pytest.approx(np.array(tensor(points - centre, masses)), abs=1e-15)


def tensor(points, masses):
    """Return the inertia of point masses about the origin."""
    total = np.zeros((3, 3))
    for point, mass in zip(points, masses, strict=True):
        total += mass * (point @ point * np.eye(3) - np.outer(point, point))
    return tuple(tuple(row) for row in total.tolist())


LOADED = {
    "airframe.payload_kg": 0.5,
    "airframe.payload_pos_body_m": [0.04, 0.0, 0.1],
    "airframe.cg_offset_body_m": [0.0, 0.01, 0.0],
}


def test_rotors_and_feet_move_and_the_autopilots_geometry_does_not():
    """The plant's arms are relative to the centre of mass; CA_ROTOR parameters are nominal."""
    plain, loaded = load_aircraft("x500"), load_aircraft("x500", LOADED)
    centre = np.array(loaded.loading.centre_body_m)
    mass_kg = plain.airframe.mass_kg
    assert centre == pytest.approx([0.02 / (mass_kg + 0.5), 0.01 * mass_kg / (mass_kg + 0.5), 0.05 / (mass_kg + 0.5)])
    before, after = (record_of(aircraft)["multirotor"] for aircraft in (plain, loaded))
    arms = np.array([-np.cross(np.array(rotor.pos_body_m) - centre, rotor.axis_body) for rotor in plain.rotors])
    assert after["rotors"]["moment_arm"][:4] == pytest.approx(arms, abs=1e-16)
    assert after["disks"]["pos_body_m"][:4] == pytest.approx(before["disks"]["pos_body_m"][:4] - centre, abs=1e-16)
    feet = len(plain.contact.points_body_m)
    moved = before["contact"]["points_body_m"][:feet] - centre
    assert after["contact"]["points_body_m"][:feet] == pytest.approx(moved, abs=1e-16)
    assert after["body"]["mass_kg"] == mass_kg + 0.5
    assert ca_parameters(loaded) == ca_parameters(plain)
    assert loaded.thrust_constants == plain.thrust_constants
    assert loaded.thrust_to_weight == pytest.approx(plain.thrust_to_weight * mass_kg / (mass_kg + 0.5))


def test_the_vehicle_starts_where_it_did():
    """`x0` is that of the nominal centre, turned and spinning: the centre of mass is at its place and moves with it."""
    x0 = {"airframe.x0.euler_deg": [0.0, 0.0, 90.0], "airframe.x0.omega_body": [0.0, 0.0, 2.0]}
    plain, loaded = load_aircraft("x500", x0), load_aircraft("x500", LOADED | x0)
    x, y, z = loaded.loading.centre_body_m
    moved = loaded.initial_state() - plain.initial_state()
    assert moved[:6] == pytest.approx([-y, x, z, -2.0 * x, -2.0 * y, 0.0], abs=1e-15)
    stands = record_of(loaded)["traits"]["rest_m"]
    assert stands == pytest.approx(record_of(plain)["traits"]["rest_m"] - z)


def test_a_calibrated_aircraft_keeps_its_motors():
    """A payload is not part of the mass to which thrust is calibrated."""
    loaded = load_aircraft("iris", {"airframe.payload_kg": 0.5})
    assert loaded.thrust_constants == iris().thrust_constants
    assert loaded.thrust_to_weight == pytest.approx(iris().thrust_to_weight * 0.75)


HEAVIER = "airframe.mass_kg = 1.7 changes the motors, too: their thrust is calibrated to 2 times the weight; "


def test_another_mass_of_a_calibrated_aircraft_is_a_warning(tmp_path):
    """As an override, or in a file that extends another; not with its own calibration or with given propellers."""
    (warning,) = build(load_spec("iris", {"airframe.mass_kg": 1.7})).warnings
    assert warning.startswith(HEAVIER)
    assert "airframe.payload_kg" in warning
    assert "airframe.propulsion.calibration_mass_kg" in warning
    text = 'extends = ["iris"]\n[airframe]\nmass_kg = 1.7\n'
    assert build(load_spec(write(tmp_path, text))).warnings == (warning,)
    for more in ("calibration_mass_kg = 1.5", "thrust_calibration_mult = 2.2"):
        assert build(load_spec(write(tmp_path, f"{text}[airframe.propulsion]\n{more}\n"))).warnings == ()
    assert build(load_spec("iris", {"airframe.payload_kg": 0.2})).warnings == ()
    assert build(load_spec("x500", {"airframe.mass_kg": 2.2})).warnings == ()
