"""The Earth's magnetic field against the test values that NOAA publishes with its models, within 0.1 nT."""

import pytest

from px4lockstep.sensors.magnetometer import earth_field_ned_gauss

# Decimal year, height above the ellipsoid [km], latitude, longitude [deg], X, Y, Z [nT].
WMM2025 = [  # WMM2025_TEST_VALUES.txt
    (2025.0, 0.0, 80.0, 0.0, 6521.6, 145.9, 54791.5),
    (2025.0, 0.0, 0.0, 120.0, 39677.8, -109.6, -10580.2),
    (2025.0, 0.0, -80.0, 240.0, 6117.5, 15751.9, -52022.5),
    (2025.0, 100.0, 80.0, 0.0, 6216.0, 92.4, 52598.8),
    (2025.0, 100.0, 0.0, 120.0, 37688.6, -96.2, -10152.1),
    (2025.0, 100.0, -80.0, 240.0, 5907.6, 14780.3, -49540.7),
    (2027.5, 0.0, 80.0, 0.0, 6500.8, 294.5, 54869.4),
    (2027.5, 0.0, 0.0, 120.0, 39701.6, -167.4, -10381.8),
    (2027.5, 0.0, -80.0, 240.0, 6200.7, 15730.3, -51783.7),
    (2027.5, 100.0, 80.0, 0.0, 6196.7, 233.8, 52670.5),
    (2027.5, 100.0, 0.0, 120.0, 37711.5, -148.7, -9969.8),
]
WMM2020 = [  # the file that comes with its coefficients
    (2020.0, 66.0, 14.0, 143.0, 34916.8, 70.2, 8114.9),
    (2020.0, 18.0, 0.0, 21.0, 29311.2, 536.0, -14589.0),
    (2020.5, 6.0, -36.0, -137.0, 23948.6, 8791.9, -32897.6),
    (2020.5, 63.0, 26.0, 81.0, 34737.7, 259.2, 30023.4),
]


@pytest.mark.parametrize("row", WMM2025 + WMM2020, ids=str)
def test_the_field_is_the_published_one(row):
    """North, east and down agree within half of the last digit, and rounding."""
    year, alt_km, lat_deg, lon_deg, north_nt, east_nt, down_nt = row
    field = earth_field_ned_gauss(lat_deg, lon_deg, 1e3 * alt_km, year)
    assert field == pytest.approx([north_nt * 1e-5, east_nt * 1e-5, down_nt * 1e-5], abs=0.051e-5)
