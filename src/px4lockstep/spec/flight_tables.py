"""Tables of a spec file that belong to no model: name, home, numerics, sensors and outputs."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.errors import InputError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.log.export_source import HomePosition
from px4lockstep.log.exports import FORMATS, check_formats
from px4lockstep.part import KEY, Part, entry, name_or_table, path_entry, show, spelled, wrong
from px4lockstep.vehicle.contact import Contact


class AircraftTable(Part):
    """Name and random seed."""

    name: str = entry(
        "aircraft",
        "Name of the aircraft, also used for run folders.",
        stage="name",
        min_length=1,
        max_length=100,
    )
    seed: int = entry(1, "Random seed.", stage="seed", ge=0, lt=2**64)


class Home(Part):
    """The origin of the world frame."""

    lat_deg: float = entry(
        HOME_LAT_DEG,
        "Latitude of home. The poles are excluded because heading is undefined there.",
        "°",
        gt=-90.0,
        lt=90.0,
    )
    lon_deg: float = entry(HOME_LON_DEG, "Longitude of home.", "°", ge=-180.0, le=180.0)
    alt_msl_m: float = entry(488.0, "Altitude of home above mean sea level.", "m", ge=-500.0, le=20_000.0)

    @property
    def position(self) -> HomePosition:
        """The position, as exporters need it."""
        return HomePosition(self.lat_deg, self.lon_deg, self.alt_msl_m)


IntegratorOrName = Annotated[Integrator, BeforeValidator(name_or_table, json_schema_input_type=str | Integrator)]
ContactOrName = Annotated[Contact, BeforeValidator(name_or_table, json_schema_input_type=str | Contact)]


class Plant(Part):
    """Integrator and ground contact."""

    integrator: IntegratorOrName = entry(Integrator(), "Integrator of the plant, as a name or a table.")
    contact: ContactOrName = entry(Contact(), "Ground contact model, as a name or a table.")


class SensorTable(Part):
    """A sensor of a PX4Lockstep.jl file. It is accepted for compatibility and has no effect."""

    kind: Annotated[
        Literal["gps", "rangefinder", "distance", "radar"], spelled(("gps", "rangefinder", "distance", "radar"))
    ] = entry(..., "Type of the sensor. Has no effect.")
    id: str = entry(..., "Name of the sensor, unique in the file. Has no effect.", min_length=1)
    uorb_instance: int = entry(0, "Instance of the uORB topic of the sensor. Has no effect.", ge=0)


def _columns(value: Any) -> Any:
    is_names = isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)
    if value != "all" and not is_names:
        raise wrong(f"{KEY} = {show(value)} is not a selection of columns; it must be 'all' or an array of names")
    return value


def _formats(value: Any) -> Any:
    if not isinstance(value, tuple) or not all(isinstance(name, str) for name in value):
        raise wrong(f"{KEY} = {show(value)} is not a list of formats; it must be an array of {', '.join(FORMATS)}")
    try:
        check_formats(value)
    except InputError as error:
        raise wrong(f"{KEY}: {error}") from None
    return value


OUTPUTS = ("recording_out", "log_csv")
"""Keys of `RunTable` that name output files: in the run folder, unless the path is absolute."""


class RunTable(Part):
    """Run mode, outputs and runtime checks."""

    mode: Annotated[Literal["live", "record", "replay"], spelled(("live", "record", "replay"))] = entry(
        "record", "`live` flies, `record` flies and writes a recording, `replay` replays `recording_in`."
    )
    record_estimate: bool = entry(
        False, "Whether a recording has the estimate of every autopilot tick, for replays of the autopilot."
    )
    commands: Literal["auto", "strict", "clamp"] = entry(
        "auto",
        "Motor and servo commands out of range: `strict` ends the flight with an error, `clamp` limits and counts "
        "them, `auto` is `strict` in a recorded flight and `clamp` in a live one.",
    )
    recording_in: str | None = path_entry("Recording to replay.")
    recording_out: str | None = path_entry("File name for a second copy of the recording, in the run folder.")
    log_csv: str | None = path_entry("File name for the log as CSV, in the run folder.")
    log_columns: Annotated[Literal["all"] | tuple[str, ...], BeforeValidator(_columns)] = entry(
        "all", "Log columns to write: `all`, or an array of names."
    )
    exports: Annotated[tuple[str, ...], BeforeValidator(_formats)] = entry(
        (), f"Formats to export the flight to, in the run folder: {', '.join(f'`{name}`' for name in FORMATS)}."
    )
    realtime_factor: float | None = entry(
        None,
        "Pace of the flight: simulated time per wall-clock time, 1.0 for real time. If omitted: as fast as possible. "
        "Does not change the flight; campaigns ignore it.",
        ge=0.01,
        le=1000.0,
    )
    validate_: Literal["off", "cheap", "paranoid"] = Field(
        "cheap", alias="validate", description="Level of invariant checks during the flight."
    )
