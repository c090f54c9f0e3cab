"""Where a flight was on the Earth: latitude, longitude and altitude of the rows of a log, and of mission items.

Positions are computed from home with the map projection of the simulation (`environment.projection`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.environment.projection import DEG_PER_RAD, MAX_DISTANCE_M, RAD_PER_DEG, reproject
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted
from px4lockstep.log.export_source import ExportSource, HomePosition
from px4lockstep.log.log import Log
from px4lockstep.log.resampling import period_us

Array = npt.NDArray[Any]

TRACK_RATE_HZ = 10.0
"""Default rate of a track."""


@dataclass(frozen=True)
class Place:
    """A named point: a mission item or an event."""

    name: str
    lat_deg: float
    lon_deg: float
    alt_msl_m: float
    time_us: int | None = None  # of an event


def with_home(log: Log, home: HomePosition) -> Log:
    """Return a log that also has the columns `lat_deg`, `lon_deg` and `alt_msl_m` if they are asked for by name.

    They are computed on first access. A log without positions is returned as it is.
    """
    return log.with_on_request(geographic_columns(lambda: log["pos_ned"], home)) if "pos_ned" in log else log


def geographic_columns(pos_ned: Callable[[], Array], home: HomePosition) -> Mapping[str, Callable[[], Array]]:
    """Return functions that compute the geographic columns."""
    found: list[Array] = []

    def degrees() -> Array:
        if not found:
            found.append(positions_deg(pos_ned(), home))
        return found[0]

    return {
        "lat_deg": lambda: degrees()[:, 0],
        "lon_deg": lambda: degrees()[:, 1],
        "alt_msl_m": lambda: home.alt_msl_m - pos_ned()[:, 2],
    }


def positions_deg(pos_ned: Array, home: HomePosition) -> npt.NDArray[np.float64]:
    """Return latitude and longitude of each row, with the package's own functions, bit-identical on every machine.

    Rows whose position is not finite, or more than 10,000 km away, are NaN.
    """
    found = np.full((len(pos_ned), 2), np.nan)
    lat_rad, lon_rad = home.lat_deg * RAD_PER_DEG, home.lon_deg * RAD_PER_DEG
    with np.errstate(over="ignore"):
        is_near = np.hypot(pos_ned[:, 0], pos_ned[:, 1]) <= MAX_DISTANCE_M  # False for NaN
    project_back = interpreted(reproject)
    for row in np.flatnonzero(is_near).tolist():
        lat, lon = project_back(lat_rad, lon_rad, float(pos_ned[row, 0]), float(pos_ned[row, 1]))
        found[row] = lat * DEG_PER_RAD, lon * DEG_PER_RAD
    return found


def home_of(source: ExportSource, what: str) -> HomePosition:
    """Return the home position of a flight, or raise: a map needs one."""
    if source.about.home is None:
        raise InputError(f"{what} needs the home position, which is in the spec of a run folder; export a run folder")
    if "pos_ned" not in source.log:
        raise InputError(f"{what} needs positions, but the log has no column pos_ned")
    return source.about.home


def track(source: ExportSource, home: HomePosition, rate_hz: float | None) -> Iterator[tuple[int, float, float, float]]:
    """Yield time [us], latitude, longitude [deg] and altitude above sea level [m] at a maximum rate.

    The first and the last row are always included; rows without a valid position are not.
    """
    log, every_us = source.log, period_us(TRACK_RATE_HZ if rate_hz is None else rate_hz)
    time_us = log.time_us.astype(np.int64)
    if not len(time_us):
        return
    turns = (time_us - time_us[0]) // every_us
    rows = np.flatnonzero(np.concatenate([[True], np.diff(turns) > 0]) | (np.arange(len(time_us)) == len(time_us) - 1))
    pos_ned = log["pos_ned"][rows]
    degrees = positions_deg(pos_ned, home)
    for time, (lat_deg, lon_deg), down_m in zip(
        time_us[rows].tolist(), degrees.tolist(), pos_ned[:, 2].tolist(), strict=True
    ):
        if lat_deg == lat_deg and abs(down_m) <= MAX_DISTANCE_M:
            yield time, lat_deg, lon_deg, home.alt_msl_m - down_m


def waypoints(source: ExportSource, home: HomePosition) -> Iterator[Place]:
    """Yield the items of the mission that have a position, with their altitudes above sea level."""
    mission = source.about.mission
    for number, item in enumerate(() if mission is None else mission.items):
        if item.command.has_position and item.lat_deg == item.lat_deg:
            alt_msl_m = item.alt_m + home.alt_msl_m if item.is_relative_alt else item.alt_m
            yield Place(f"{number} {item.command.name}", item.lat_deg, item.lon_deg, alt_msl_m)


def event_places(source: ExportSource, home: HomePosition) -> Iterator[Place]:
    """Yield the events of the flight, where they happened."""
    log, events = source.log, source.events
    if not log.rows:
        return
    rows = np.searchsorted(log.time_us, np.array([event.time_us for event in events], np.uint64))
    pos_ned = log["pos_ned"][np.minimum(rows, log.rows - 1)]
    degrees = positions_deg(pos_ned, home)
    for event, (lat_deg, lon_deg), down_m in zip(events, degrees.tolist(), pos_ned[:, 2].tolist(), strict=True):
        if lat_deg == lat_deg and abs(down_m) <= MAX_DISTANCE_M:
            yield Place(event.label, lat_deg, lon_deg, home.alt_msl_m - down_m, event.time_us)
