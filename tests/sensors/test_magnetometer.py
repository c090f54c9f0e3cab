"""The magnetometer: the field at home in body axes, iron, noise, and the field model."""

import sys

import numpy as np
import pytest
from sensor_suites import FIELD_NED_GAUSS, IDEAL, NOISY, at_rest, replace, sense, sensed, suite_of, yawed

from px4lockstep.errors import InputError
from px4lockstep.math.quaternion import from_euler
from px4lockstep.sensors import Magnetometer, SensorConfig

NORTH, EAST, DOWN = FIELD_NED_GAUSS


def with_mag(**options):
    return replace(IDEAL, mag=replace(IDEAL.mag, **options))


@pytest.mark.parametrize(
    ("q_bn", "expected"),
    [
        (yawed(0.0), (NORTH, EAST, DOWN)),
        (yawed(np.radians(90.0)), (EAST, -NORTH, DOWN)),
        (yawed(np.radians(180.0)), (-NORTH, -EAST, DOWN)),
        (tuple(from_euler(np.radians(90.0), 0.0, 0.0)), (NORTH, DOWN, -EAST)),
        (tuple(from_euler(0.0, np.radians(90.0), 0.0)), (-DOWN, EAST, NORTH)),
    ],
    ids=["north", "east", "south", "on its right side", "nose up"],
)
def test_the_field_is_in_body_axes(q_bn, expected):
    """After a yaw to the east, what was ahead is on the left."""
    out = sensed(suite_of(), at_rest(1, q_bn=q_bn))
    np.testing.assert_allclose(out.mag_gauss, expected, atol=1e-15)


def test_declination_and_inclination_are_those_of_the_home():
    """Near Zurich: 3.5° east of north and 63.5° down, 0.484 G; the model is verified in `tests/against`."""
    suite = suite_of(SensorConfig().without_errors())
    north, east, down = sensed(suite, at_rest(1)).mag_gauss
    horizontal = np.hypot(north, east)
    assert np.degrees(np.arctan2(east, north)) == pytest.approx(3.5, abs=0.1)
    assert np.degrees(np.arctan2(down, horizontal)) == pytest.approx(63.5, abs=0.1)
    assert np.hypot(horizontal, down) == pytest.approx(0.484, abs=0.001)


def test_iron_distorts_the_field():
    """S B + h, by hand."""
    soft = ((1.1, 0.02, 0.0), (0.0, 0.9, -0.03), (0.01, 0.0, 1.0))
    out = sensed(suite_of(with_mag(soft_iron=soft, hard_iron_gauss=(0.1, -0.2, 0.05))), at_rest(1))
    expected = (1.1 * NORTH + 0.02 * EAST + 0.1, 0.9 * EAST - 0.03 * DOWN - 0.2, 0.01 * NORTH + DOWN + 0.05)
    np.testing.assert_allclose(out.mag_gauss, expected, rtol=1e-14)


def test_noise_has_its_standard_deviation():
    """σ within five standard errors of 4,000 samples and 3 axes (3.2 %). PX4 treats a constant value as a failure."""
    suite = suite_of(replace(NOISY, mag=replace(NOISY.mag, resolution_gauss=0.0)), period_us=20_000)
    values = sense(suite, at_rest(4_000), fields=("mag_gauss",))["mag_gauss"]
    np.testing.assert_allclose(np.std(values - FIELD_NED_GAUSS), 0.0041, rtol=0.032)
    digital = sense(suite_of(NOISY, period_us=20_000), at_rest(500), fields=("mag_gauss",))["mag_gauss"]
    assert np.mean(np.any(np.diff(digital, axis=0) != 0.0, axis=1)) > 0.99


def test_strong_fields_are_clipped():
    out = sensed(suite_of(with_mag(hard_iron_gauss=(9.0, -9.0, 0.0))), at_rest(1))
    assert out.mag_gauss[:2].tolist() == [4.0, -4.0]


def test_a_given_field_does_not_need_the_field_model(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygeomag", None)
    assert sensed(suite_of(), at_rest(1)).mag_gauss[0] == NORTH


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SensorConfig(date=2030.0),
            r"sensors\.date = 2030\.0 is out of range; it must be at least 2010\.0 and below",
        ),
        (lambda: SensorConfig(date=1999.5), r"sensors\.date = 1999\.5 is out of range"),
        (
            lambda: Magnetometer(soft_iron=((1.0, 0.0, 0.0),)),
            r"soft_iron = .* is not a matrix; it must be three rows of three",
        ),
        (lambda: Magnetometer(soft_iron=((1.0, 0.0), (0.0,), ())), r"soft_iron = \[\[1\.0, 0\.0\], .* is not a matrix"),
        (lambda: Magnetometer(period_us=0), r"sensors\.mag\.period_us = 0 is out of range"),
        (lambda: Magnetometer(noise_sigma_gauss=-0.1), r"sensors\.mag\.noise_sigma_gauss = -0\.1 is out of range"),
    ],
)
def test_invalid_values_are_rejected(make, message):
    with pytest.raises(InputError, match=message):
        make()
