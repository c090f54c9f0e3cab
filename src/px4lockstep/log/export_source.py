"""What an exporter gets: the log of a flight, what is known about the flight, and the user's options."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from px4lockstep.autopilots.area import Area, area_of
from px4lockstep.errors import InputError
from px4lockstep.log.events import FlightEvent, events_of
from px4lockstep.log.log import Log
from px4lockstep.px4.missions import Mission
from px4lockstep.vehicle.battery import Battery

MAX_TIME_US = 2**63


@dataclass(frozen=True)
class HomePosition:
    """The origin of the world frame."""

    lat_deg: float
    lon_deg: float
    alt_msl_m: float


@dataclass(frozen=True)
class About:
    """What the spec of a flight says about it. A log without a readable spec has the defaults.

    Exporters are below the package `spec`, so they get the values that they need here.
    """

    name: str = "aircraft"
    home: HomePosition | None = None
    mission: Mission | None = None
    batteries: tuple[Battery, ...] = ()
    parameters: Mapping[str, float | int] = field(default_factory=dict)
    """PX4 parameters that were flown, an int for an int32."""
    parameter_defaults: Mapping[str, float | int] = field(default_factory=dict)
    """PX4's defaults of these parameters, as far as they are known."""
    autopilot: str = "unknown"
    estimates_itself: bool = False
    """Whether the autopilot has an estimator of its own; the columns of the estimate are then the true state."""
    state_is_estimate: bool = False
    """Whether the state in the log is an estimate, as in an imported flight of a real vehicle."""
    autopilot_period_us: int = 0
    seed: int | None = None
    tables: Mapping[str, Any] = field(default_factory=dict)
    """The complete resolved spec as nested tables, for values that have no field here."""

    @property
    def area(self) -> Area | None:
        """The area of the flight, with its geofence; None if home is not known."""
        home = self.home
        return None if home is None else area_of(self.mission, home.lat_deg, home.lon_deg, self.parameters)


@dataclass(frozen=True)
class ExportSource:
    """A flight to export.

    Args:
        log: The log.
        about: What the spec says about the flight.
        summary: The contents of `summary.json`; empty if there is none, as for a run that was killed.
        folder: The run folder; None for a log file on its own.
    """

    log: Log
    about: About = field(default_factory=About)
    summary: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @functools.cached_property
    def events(self) -> tuple[FlightEvent, ...]:
        """The events of the flight: those of the summary, or those found in the log if there is none.

        Raises:
            InputError: If the summary has something else instead of events.
        """
        listed = self.summary.get("events")
        if listed is None:
            return events_of(self.log, self.about.area)
        try:
            found = [FlightEvent(round(1e6 * each["time_s"]), each["label"], bool(each["is_fault"])) for each in listed]
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InputError(
                "'events' of the summary is not a list of events with time_s, label and is_fault"
            ) from error
        for event in found:
            if not 0 <= event.time_us < MAX_TIME_US or not isinstance(event.label, str):
                raise InputError(f"the summary has an invalid event: {event.label!r} at {event.time_us} us")
        return tuple(found)


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export.

    Args:
        columns: Names of log columns; all by default.
        rate_hz: Maximum rate; by default every row of the log, or 10 Hz in a map.
        start: UTC at simulated time 0; by default a fixed one.
        all_columns: Whether a table has columns that are constant in the flight, too.
    """

    columns: tuple[str, ...] | None = None
    rate_hz: float | None = None
    start: datetime | None = None
    all_columns: bool = False
