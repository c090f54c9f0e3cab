"""The atmosphere against published values: U.S. Standard Atmosphere, 1976, by geopotential altitude."""

import pytest
from environment_bits import air_at

# Geopotential altitude [m]; temperature [K], pressure [Pa] and density [kg/m^3], six digits as printed. Tables by
# geometric altitude differ: at 11 km geometric the geopotential altitude is 10,981 m.
TABLE = [
    (0, "288.150", "101325", "1.22500"),
    (1_000, "281.650", "89874.6", "1.11164"),
    (2_000, "275.150", "79495.2", "1.00649"),
    (3_000, "268.650", "70108.5", "0.909122"),
    (5_000, "255.650", "54019.9", "0.736116"),
    (8_000, "236.150", "35599.8", "0.525168"),
    (10_000, "223.150", "26436.3", "0.412707"),
    (11_000, "216.650", "22632.1", "0.363918"),
    (12_000, "216.650", "19330.4", "0.310828"),
    (15_000, "216.650", "12044.6", "0.193674"),
    (18_000, "216.650", "7504.84", "0.120676"),
    (20_000, "216.650", "5474.89", "0.0880349"),
]

# The 1976 standard has R = 8314.32 / 28.9644 = 287.05307 J/(kg K), 7e-7 more than ISO 2533, which the model uses. With
# ln(p0 / p) = 2.9 at 20 km, this is a difference of 2.0e-6 in pressure and 2.7e-6 in density.
GAS_CONSTANT_DIFFERENCE = 3e-6


@pytest.mark.parametrize(("altitude_m", "temperature", "pressure", "density"), TABLE, ids=lambda value: str(value))
def test_the_atmosphere_agrees_with_the_table(altitude_m, temperature, pressure, density):
    """Within half a unit of the last printed digit, plus 3e-6 in pressure and density for the gas constant."""
    for computed, printed, slack in zip(
        air_at(float(altitude_m))[0],
        (temperature, pressure, density),
        (1e-15, GAS_CONSTANT_DIFFERENCE, GAS_CONSTANT_DIFFERENCE),
        strict=True,
    ):
        half_unit = 0.5 * 10.0 ** -len(printed.partition(".")[2])
        assert computed == pytest.approx(float(printed), rel=0.0, abs=half_unit + slack * float(printed))
