"""The tables of the flight that are no parts of a model: who flies from where, what happens, what is kept of it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.integrators.solver import Integrator
from px4lockstep.part import KEY, Part, entry, name_or_table, path_entry, show, wrong
from px4lockstep.vehicle.contact import Contact


class AircraftTable(Part):
    """What it is called."""

    name: str = entry(
        "aircraft", "The name of the aircraft, and of run folders.", stage="name", min_length=1, max_length=100
    )
    seed: int = entry(1, "Random seed.", stage="seed", ge=0, lt=2**64)


class Home(Part):
    """The origin of the world frame."""

    lat_deg: float = entry(HOME_LAT_DEG, "Latitude; at a pole north has no direction.", "°", gt=-90.0, lt=90.0)
    lon_deg: float = entry(HOME_LON_DEG, "Longitude.", "°", ge=-180.0, le=180.0)
    alt_msl_m: float = entry(488.0, "Height above sea level.", "m", ge=-500.0, le=20_000.0)


IntegratorOrName = Annotated[Integrator, BeforeValidator(name_or_table, json_schema_input_type=str | Integrator)]
ContactOrName = Annotated[Contact, BeforeValidator(name_or_table, json_schema_input_type=str | Contact)]


class Plant(Part):
    """Numerics and ground."""

    integrator: IntegratorOrName = entry(Integrator(), "The integrator; a name or a table.")
    contact: ContactOrName = entry(Contact(), "Contact with the ground; a name or a table.")


class SensorTable(Part):
    """A sensor of a PX4Lockstep.jl file. It is accepted for compatibility and has no effect."""

    kind: Literal["gps", "rangefinder", "distance", "radar"] = entry(..., "Type of the sensor. Has no effect.")
    id: str = entry(..., "Name of the sensor, unique in the file. Has no effect.", min_length=1)
    uorb_instance: int = entry(0, "Instance of the uORB topic of the sensor. Has no effect.", ge=0)


def _columns(value: Any) -> Any:
    is_names = isinstance(value, tuple) and value and all(isinstance(name, str) for name in value)
    if value != "all" and not is_names:
        raise wrong(f"{KEY} = {show(value)} is not a choice of columns; it must be 'all' or an array of names")
    return value


OUTPUTS = ("recording_out", "log_csv")
"""Keys of `RunTable` that name files to write: a name is in the run folder, and only an absolute path is elsewhere."""


class RunTable(Part):
    """What is done with the flight."""

    mode: Literal["live", "record", "replay"] = entry("record", "Fly, fly and keep a recording, or replay one.")
    recording_in: str | None = path_entry("The recording that is replayed.")
    recording_out: str | None = path_entry("Name of a second copy of the recording, in the run folder.")
    log_csv: str | None = path_entry("Name of the log as CSV, in the run folder.")
    log_columns: Annotated[Literal["all"] | tuple[str, ...], BeforeValidator(_columns)] = entry(
        "all", "The columns of the log: all, or an array of names."
    )
    validate_: Literal["off", "cheap", "paranoid"] = Field(
        "cheap", alias="validate", description="How much is checked during the flight."
    )
