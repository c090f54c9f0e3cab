"""The Earth's magnetic field at home, from the World Magnetic Model (WMM), by `pygeomag`.

The field is taken at home and at one date and holds for the whole flight: over 1 km it changes by some 0.2 mG. It is
rounded to 1e-8 G (1 pT), far below what the model knows (1.4 mG, one standard deviation), so that no rounding of the
library's elementary functions reaches a flight.

Reference:
    A. Chulliat and others, The US/UK World Magnetic Model for 2025-2030, NCEI, NOAA (2025); WMM2020, WMM2015 and
    WMM2010 before it. The coefficients come with pygeomag.
"""

from px4lockstep.checks import Vector3
from px4lockstep.errors import InputError

FIRST_YEAR = 2010.0
LAST_YEAR = 2030.0
"""The years that the library has a model for; the last is excluded."""

NT_PER_GAUSS = 1e5
DECIMALS_OF_NT = 3


def field_ned_gauss(lat_deg: float, lon_deg: float, alt_msl_m: float, date: float) -> Vector3:
    """Return the field at a place and date, north, east and down.

    Args:
        lat_deg: Latitude.
        lon_deg: Longitude.
        alt_msl_m: Altitude above sea level, taken as that above the ellipsoid: 100 m are 0.02 mG.
        date: The decimal year, from `FIRST_YEAR` to before `LAST_YEAR`.

    Raises:
        InputError: If pygeomag is not installed.
    """
    try:
        from pygeomag import GeoMag
    except ImportError as error:
        raise InputError(
            "the magnetometer takes the Earth's field from the package pygeomag, which is not installed; "
            "pip install 'px4lockstep[sitl]', or give px4.sitl.sensors.mag.field_ned_gauss"
        ) from error
    found = GeoMag(base_year=date).calculate(glat=lat_deg, glon=lon_deg, alt=alt_msl_m / 1e3, time=date)
    north, east, down = (round(part, DECIMALS_OF_NT) / NT_PER_GAUSS for part in (found.x, found.y, found.z))
    return north, east, down
