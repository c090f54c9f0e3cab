"""The figure of a run, identical whether drawn from memory or from its run folder."""

from pathlib import Path
from typing import TYPE_CHECKING

from px4lockstep.errors import InputError
from px4lockstep.flights.recorded import SPEC
from px4lockstep.log.log import Log
from px4lockstep.plots.flight import plot_flight
from px4lockstep.plots.waypoints import mission_waypoints
from px4lockstep.px4.missions import Mission
from px4lockstep.spec.load import load_spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_flight(log: Log, name: str, mission: Mission | None, home_deg: tuple[float, float]) -> "Figure":
    """Return the figure of a flight, titled with the aircraft's name, with the waypoints relative to home."""
    waypoints = mission_waypoints(mission, *home_deg) if mission is not None else {}
    return plot_flight(log, waypoints=waypoints, title=name)


def draw_folder(folder: str | Path, log: Log) -> tuple["Figure", str | None]:
    """Return the figure of the flight in a run folder, and why its waypoints are missing, if they are."""
    spec_path = Path(folder) / SPEC
    try:
        spec = load_spec(spec_path, reads_mission=False)
    except InputError as error:
        raise InputError(f"{spec_path} can't be read as the spec of a run: {error}") from error
    mission, problem = None, None
    try:
        mission = spec.mission
    except InputError as error:  # the mission file was moved or removed
        problem = str(error)
    return draw_flight(log, spec.aircraft.name, mission, (spec.home.lat_deg, spec.home.lon_deg)), problem
