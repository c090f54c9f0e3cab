"""Local coordinates of mission items, for the map of a flight."""

from px4lockstep.environment.projection import MapProjection
from px4lockstep.px4.missions import Mission


def mission_waypoints(mission: Mission, home_lat_deg: float, home_lon_deg: float) -> dict[int, tuple[float, float]]:
    """Return north and east [m] from home of each item with a position, by item number."""
    projection = MapProjection(home_lat_deg, home_lon_deg)
    return {
        number: projection.to_local(item.lat_deg, item.lon_deg)
        for number, item in enumerate(mission.items)
        if item.command.has_position
    }
