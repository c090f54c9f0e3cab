"""Map projection between latitude, longitude and metres: azimuthal equidistant on a sphere, as in PX4.

Distance and direction from the reference are exact. With c the central angle between the reference (lat0, lon0) and the
point (lat, lon), and R = 6,371,000 m,

    cos c = sin lat0 sin lat + cos lat0 cos lat cos(lon - lon0),    k = c / sin c
    north = R k (cos lat0 sin lat - sin lat0 cos lat cos(lon - lon0)),    east = R k cos lat sin(lon - lon0)

PX4 computes c by an arc cosine, whose resolution near 1 is 1.5e-8 rad, or 9 cm. The true position must be smooth, so
the projection is evaluated here without cancellation, from differences of the angles:

    s = sin**2((lon - lon0) / 2),    n = sin(lat - lat0) + 2 sin lat0 cos lat s,    e = cos lat sin(lon - lon0)
    sin c = sqrt(n**2 + e**2),    cos c = cos(lat - lat0) - 2 cos lat0 cos lat s,    c = atan2(sin c, cos c)

and back, with (B, A, S) the point on the unit sphere relative to the meridian of the reference,
c = sqrt(n**2 + e**2) / R,

    S = sin lat0 cos c + cos lat0 n',  B = cos lat0 cos c - sin lat0 n',  A = e',    (n', e') = (n, e) sin c / (R c)
    lat = atan2(S, sqrt(A**2 + B**2)),    lon = lon0 + atan2(A, B)

The error of a round trip within 100 km is about 1e-9 m, from the rounding of the angles. Distances on the ellipsoid of
the real Earth differ by up to 0.6 %. At the antipode, north and east are undefined.

Reference:
    J. P. Snyder, Map projections: a working manual, USGS professional paper 1395 (1987), 191-202.
"""

import functools
import math
from dataclasses import dataclass

from px4lockstep.checks import check_number
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, kernel
from px4lockstep.math.trigonometry import atan2, sin, sincos

EARTH_RADIUS_M = 6_371_000.0  # PX4's
MAX_DISTANCE_M = 10_000_000.0  # a quarter of the circumference; a local map makes no sense beyond it

RAD_PER_DEG = math.pi / 180.0
DEG_PER_RAD = 180.0 / math.pi


@kernel
def project(ref_lat_rad, ref_lon_rad, lat_rad, lon_rad):
    """Return (north, east) [m] of a point relative to a reference."""
    sin_ref, cos_ref = sincos(ref_lat_rad)
    _, cos_lat = sincos(lat_rad)
    sin_dlat, cos_dlat = sincos(lat_rad - ref_lat_rad)
    dlon_rad = lon_rad - ref_lon_rad
    sin_half = sin(0.5 * dlon_rad)
    versine = 2.0 * sin_half * sin_half
    n = sin_dlat + sin_ref * cos_lat * versine
    e = cos_lat * sin(dlon_rad)
    sin_c = math.sqrt(n * n + e * e)
    cos_c = cos_dlat - cos_ref * cos_lat * versine
    if sin_c == 0.0:
        # The reference itself, or its antipode, which is in every direction; use north.
        return EARTH_RADIUS_M * atan2(sin_c, cos_c), 0.0
    scale = EARTH_RADIUS_M * (atan2(sin_c, cos_c) / sin_c)
    return scale * n, scale * e


@kernel
def reproject(ref_lat_rad, ref_lon_rad, north_m, east_m):
    """Return (latitude, longitude) [rad] of a point relative to a reference; longitude from -pi to pi."""
    n = north_m / EARTH_RADIUS_M
    e = east_m / EARTH_RADIUS_M
    c = math.sqrt(n * n + e * e)
    sin_c, cos_c = sincos(c)
    ratio = sin_c / c if c > 0.0 else 1.0
    n = n * ratio
    e = e * ratio
    sin_ref, cos_ref = sincos(ref_lat_rad)
    toward_meridian = cos_ref * cos_c - sin_ref * n
    lat_rad = atan2(sin_ref * cos_c + cos_ref * n, math.sqrt(e * e + toward_meridian * toward_meridian))
    lon_rad = ref_lon_rad + atan2(e, toward_meridian)
    if lon_rad > math.pi:
        lon_rad = lon_rad - 2.0 * math.pi
    elif lon_rad < -math.pi:
        lon_rad = lon_rad + 2.0 * math.pi
    return lat_rad, lon_rad


@dataclass(frozen=True)
class MapProjection:
    """Map projection around a reference that is not a pole, in degrees and metres."""

    lat_deg: float
    lon_deg: float

    def __post_init__(self) -> None:
        """Check the reference."""
        _check_degrees("reference", self.lat_deg, self.lon_deg)
        if abs(self.lat_deg) == 90.0:
            raise InputError(
                f"reference latitude = {self.lat_deg} is a pole, where heading is undefined; "
                "it must be between -90 and 90 degrees"
            )

    @functools.lru_cache(maxsize=1_024)  # noqa: B019  holds a few small objects, for the flights of a campaign
    def to_local(self, lat_deg: float, lon_deg: float) -> tuple[float, float]:
        """Return (north, east) [m] of a point within 10,000 km."""
        lat_rad, lon_rad = _check_degrees("point", lat_deg, lon_deg)
        north_m, east_m = interpreted(project)(self.lat_deg * RAD_PER_DEG, self.lon_deg * RAD_PER_DEG, lat_rad, lon_rad)
        distance_m = math.sqrt(north_m * north_m + east_m * east_m)
        if distance_m > MAX_DISTANCE_M:
            raise InputError(
                f"point = ({lat_deg}, {lon_deg}) degrees is {distance_m / 1e3:.0f} km from the reference "
                f"({self.lat_deg}, {self.lon_deg}); it must be within {MAX_DISTANCE_M / 1e3:.0f} km"
            )
        return float(north_m), float(east_m)

    def to_global(self, north_m: float, east_m: float) -> tuple[float, float]:
        """Return (latitude, longitude) [deg] of a point within 10,000 km, longitude from -180 to 180."""
        allowed = f"within {MAX_DISTANCE_M / 1e3:.0f} km of the reference"
        north_m = check_number("north_m", north_m, -MAX_DISTANCE_M, MAX_DISTANCE_M, allowed)
        east_m = check_number("east_m", east_m, -MAX_DISTANCE_M, MAX_DISTANCE_M, allowed)
        distance_m = math.sqrt(north_m * north_m + east_m * east_m)
        if distance_m > MAX_DISTANCE_M:
            raise InputError(f"(north_m, east_m) = ({north_m}, {east_m}) is out of range; it must be {allowed}")
        reference = self.lat_deg * RAD_PER_DEG, self.lon_deg * RAD_PER_DEG
        lat_rad, lon_rad = interpreted(reproject)(*reference, north_m, east_m)
        return float(lat_rad) * DEG_PER_RAD, float(lon_rad) * DEG_PER_RAD


def _check_degrees(name: str, lat_deg: float, lon_deg: float) -> tuple[float, float]:
    """Return a latitude and longitude in radians, or raise `InputError`."""
    lat = check_number(f"{name} latitude", lat_deg, -90.0, 90.0, "from -90 to 90 degrees")
    lon = check_number(f"{name} longitude", lon_deg, -180.0, 180.0, "from -180 to 180 degrees")
    return lat * RAD_PER_DEG, lon * RAD_PER_DEG
