"""The picture of a run: the same from memory and from its folder."""

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from px4lockstep.errors import InputError
from px4lockstep.flights.recorded import SPEC
from px4lockstep.log.log import Log
from px4lockstep.plots.flight import plot_flight
from px4lockstep.plots.waypoints import mission_waypoints
from px4lockstep.px4.missions import Mission
from px4lockstep.spec.files import is_name
from px4lockstep.spec.flight_checks import mission_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_flight(log: Log, name: str, mission: Mission | None, home_deg: tuple[float, float]) -> "Figure":
    """Return the picture of a flight, named after the aircraft, with its mission as seen from home.

    Args:
        log: The log.
        name: The aircraft's name.
        mission: The mission, if there is one.
        home_deg: Latitude and longitude of the origin.
    """
    waypoints = mission_waypoints(mission, *home_deg) if mission is not None else {}
    return plot_flight(log, waypoints=waypoints, title=name)


def draw_folder(folder: str | Path, log: Log) -> tuple["Figure", str | None]:
    """Return the picture of the flight in a run folder, and why it has no waypoints, if it should have some.

    Args:
        folder: The run folder.
        log: Its log, from `read_log`.

    Raises:
        InputError: If the folder has no aircraft file, or the log can't be drawn.
    """
    spec_path = Path(folder) / SPEC
    mission, problem = None, None
    try:
        # Not by `load_spec`, for which a mission that has moved since is an error.
        spec = tomllib.loads(spec_path.read_text("utf-8"))
        name, mission_path = str(spec["aircraft"]["name"]), spec["px4"].get("mission_path")
        home_deg = float(spec["home"]["lat_deg"]), float(spec["home"]["lon_deg"])
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise InputError(f"{spec_path} can't be read, or is no aircraft file of a run: {error}") from error
    try:
        if mission_path is not None:
            mission = mission_of(mission_path if is_name(mission_path) else str(Path(folder) / mission_path))
    except InputError as error:
        problem = str(error)
    return draw_flight(log, name, mission, home_deg), problem
