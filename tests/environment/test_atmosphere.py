"""The standard atmosphere: its laws, limits and constants. Published values are in tests/against."""

import numpy as np
import pytest
from environment_bits import air_at

from px4lockstep.environment import atmosphere
from px4lockstep.math.exponential import pow


def test_below_sea_level_the_air_is_that_of_sea_level():
    """Clamped at 0: bit-identical, also for minus infinity."""
    at_sea_level, *below = air_at(0.0, -0.001, -430.0, -float("inf")).tolist()
    assert below == [at_sea_level] * 3
    assert at_sea_level[:2] == [288.15, 101325.0]


def test_above_20_km_the_air_is_that_of_20_km():
    """Clamped at 20 km: bit-identical, and different from just below."""
    at_ceiling, just_below, *above = air_at(20_000.0, 19_999.0, 20_000.001, 1e6, float("inf")).tolist()
    assert above == [at_ceiling] * 3
    assert just_below[1] > at_ceiling[1]
    assert just_below[2] > at_ceiling[2]


def test_a_nan_altitude_gives_nan():
    """A broken state must not get plausible air."""
    assert np.isnan(air_at(float("nan"))).all()


def test_the_layers_meet_at_11_km():
    """One step of the altitude apart (2e-12 m), equal to 1e-14: a few ulp of the power on one side."""
    below, above = air_at(11_000.0, np.nextafter(11_000.0, 12_000.0))
    assert above == pytest.approx(below, rel=1e-14)


def test_the_constants_at_11_km_are_those_of_the_formula():
    """The literals are bit-identical to the results of the package's pow."""
    ratio = atmosphere.TROPOPAUSE_TEMPERATURE_K / atmosphere.SEA_LEVEL_TEMPERATURE_K
    pressure = atmosphere.SEA_LEVEL_PRESSURE_PA * pow(ratio, atmosphere.PRESSURE_EXPONENT)
    density = atmosphere.SEA_LEVEL_DENSITY_KG_M3 * pow(ratio, atmosphere.DENSITY_EXPONENT)
    assert pressure == atmosphere.TROPOPAUSE_PRESSURE_PA
    assert density == atmosphere.TROPOPAUSE_DENSITY_KG_M3


def test_pressure_density_and_temperature_obey_the_gas_law():
    """p = rho R T to 1e-14 relative: three roundings of 1 ulp, times five for the power, with a margin."""
    temperature, pressure, density = air_at(*np.linspace(0.0, 20_000.0, 401)).T
    assert pressure == pytest.approx(density * 287.05287 * temperature, rel=1e-14)


def test_the_air_column_is_in_equilibrium():
    """dp/dh = -rho g, by central differences of 1 m, whose error is (1 m / 6 km)^2 / 6 = 5e-9 relative."""
    altitudes = np.array([10.0, 488.0, 5_000.0, 10_990.0, 11_010.0, 15_000.0, 19_990.0])
    slope = (air_at(*(altitudes + 1.0))[:, 1] - air_at(*(altitudes - 1.0))[:, 1]) / 2.0
    assert slope == pytest.approx(-9.80665 * air_at(*altitudes)[:, 2], rel=2e-8)
