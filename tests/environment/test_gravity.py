"""Gravity: two models and their inputs."""

import pytest
from environment_bits import gravity_at

from px4lockstep.environment.gravity import Gravity
from px4lockstep.errors import InputError


def test_uniform_gravity_is_the_same_everywhere():
    """Exactly standard gravity by default, or exactly the given value."""
    assert gravity_at(Gravity(), 0.0, -10_000.0, 5.0).tolist() == [9.80665] * 3
    assert gravity_at(Gravity(gravity_mps2=1.62), 0.0).tolist() == [1.62]


def test_spherical_gravity_is_that_of_the_mass_of_the_earth():
    """mu / r0^2 = 3.986004418e14 / 4.0589641e13 = 9.820250 m/s^2, divided by hand to seven digits."""
    assert gravity_at(Gravity("spherical"), 0.0)[0] == pytest.approx(9.820250, abs=5e-7)


def test_spherical_gravity_falls_with_the_square_of_the_distance():
    """One radius up (negative z) it is exactly a quarter, because the numbers are powers of two."""
    gravity = Gravity("spherical", gravity_mu=64.0, gravity_r0_m=4.0)
    assert gravity_at(gravity, 0.0, -4.0, 2.0).tolist() == [4.0, 1.0, 16.0]


def test_spherical_gravity_at_the_centre_is_zero():
    """Compiled and interpreted: no division by zero."""
    assert gravity_at(Gravity("spherical"), 6_371_000.0).tolist() == [0.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gravity": "flat"}, "gravity = 'flat' is unknown; allowed: 'uniform', 'spherical'"),
        ({"gravity_mps2": -1.0}, "gravity_mps2 = -1.0 is out of range; it must be at least 0.0 and at most 10000.0"),
        ({"gravity_mu": 0.0}, "gravity_mu = 0.0 is out of range; it must be at least 1e-12 and at most 1e+21"),
        (
            {"gravity_r0_m": float("nan")},
            "gravity_r0_m = nan is not allowed; it must be a finite number, at least 1.0 and at most 10000000000.0",
        ),
    ],
)
def test_invalid_gravity_is_rejected(given, message):
    """The message gives the field, the value and what is allowed."""
    with pytest.raises(InputError) as caught:
        Gravity(**given)
    assert str(caught.value) == f"environment.{message}"
