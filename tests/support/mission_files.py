"""Mission files in both formats, written independently of the table of rules under test."""

import math

from px4lockstep.px4.missions import Command

HERE = "47.4 8.5 10"
TAKEOFF = f"0 1 3 22 0 0 0 0 {HERE} 1"


def wpl(*lines):
    return "\n".join(["QGC WPL 110", *lines, ""])


def numbered(*items):
    """Return the lines of a file from `frame command p1 … z`, starting with a takeoff."""
    return wpl(TAKEOFF, *(f"{number} 0 {item} 1" for number, item in enumerate(items, 1)))


def params(item):
    """Return the seven parameters of an item."""
    position = (item.lat_deg, item.lon_deg, item.alt_m)
    match item.command:
        case Command.WAYPOINT:
            return item.hold_s, item.acceptance_radius_m, 0.0, item.yaw_deg, *position
        case Command.TAKEOFF:
            return 0.0, item.acceptance_radius_m, 0.0, item.yaw_deg, *position
        case Command.LOITER_TIME:
            return item.hold_s, 0.0, 0.0, item.yaw_deg, *position
        case Command.LAND | Command.LOITER_UNLIMITED:
            return 0.0, 0.0, 0.0, item.yaw_deg, *position
        case Command.DELAY:
            return item.hold_s, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0
        case Command.DO_JUMP:
            return float(item.jump_to), float(item.jump_repeats), 0.0, 0.0, 0.0, 0.0, 0.0
        case Command.DO_CHANGE_SPEED:
            speed_m_s = -1.0 if math.isnan(item.speed_m_s) else item.speed_m_s
            return 1.0, speed_m_s, -1.0, 0.0, 0.0, 0.0, 0.0
        case Command.RETURN_TO_LAUNCH:
            return (0.0,) * 7


def as_wpl(items):
    """Return the text of a QGC WPL 110 file."""
    return wpl(
        *(
            "\t".join(map(str, (number, int(number == 0), item.frame, int(item.command), *params(item), 1)))
            for number, item in enumerate(items)
        )
    )


def plan_item(item, number=0):
    """Return an item of a plan; its ID differs from its index, as in edited plans."""
    values = [None if math.isnan(value) else value for value in params(item)]
    if item.command is Command.DO_JUMP:
        values[0] = 10 + item.jump_to
    return {
        "type": "SimpleItem",
        "autoContinue": True,
        "command": int(item.command),
        "doJumpId": 10 + number,
        "frame": item.frame,
        "params": values,
    }


def as_plan(*items, **parts):
    """Return a plan as written by QGroundControl."""
    return {
        "fileType": "Plan",
        "version": 1,
        "geoFence": {"circles": [], "polygons": [], "version": 2},
        "rallyPoints": {"points": [], "version": 2},
        "mission": {
            "version": 2,
            "cruiseSpeed": 15,
            "plannedHomePosition": [47.4, 8.5, 488],
            "items": [plan_item(item, number) for number, item in enumerate(items)],
        },
    } | parts
