"""A plan with all kinds of zones and two rally points, around the home of the built-in aircraft."""

import json
import math

from mission_files import as_plan

from px4lockstep.px4.missions import parse_wpl

HOME = 47.397742, 8.545594
M_PER_DEG = 111_195.0


def place(north_m, east_m):
    """Return latitude and longitude of a place around home."""
    return [HOME[0] + north_m / M_PER_DEG, HOME[1] + east_m / M_PER_DEG / math.cos(math.radians(HOME[0]))]


POLYGON = [(-22.0, -26.0), (26.0, -26.0), (34.0, 4.0), (26.0, 32.0), (-22.0, 32.0)]
BLOCK = [(8.0, 4.0), (14.0, 4.0), (14.0, 12.0), (8.0, 12.0)]
TREE, TREE_M = (-12.0, 18.0), 5.0
LIMIT_M = 46.0
RALLY = [(-16.0, -18.0), (18.0, 25.0)]
ROUTE = [(22.0, 0.0), (22.0, 22.0), (0.0, 22.0), (0.0, -14.0)]


def write_fenced_plan(path):
    """Write the plan: a flight of 70 s around a block of buildings, 12 m above the ground."""
    rows = [(3, 22, 0.0, 0.0)] + [(3, 16, *each) for each in ROUTE] + [(3, 21, 0.0, 0.0)]
    lines = ["QGC WPL 110"]
    for number, (frame, command, north_m, east_m) in enumerate(rows):
        lat, lon = place(north_m, east_m)
        values = (number, int(number == 0), frame, command, 0, 0, 0, "nan", lat, lon, 0 if command == 21 else 12, 1)
        lines.append("\t".join(map(str, values)))
    circle = {"circle": {"center": place(*TREE), "radius": TREE_M}, "inclusion": False, "version": 1}
    around = {"circle": {"center": place(4.0, 2.0), "radius": LIMIT_M}, "inclusion": True, "version": 1}
    polygons = [(POLYGON, True), (BLOCK, False)]
    plan = as_plan(
        *parse_wpl("\n".join(lines) + "\n", "the route").items,
        geoFence={
            "circles": [circle, around],
            "polygons": [
                {"inclusion": inside, "polygon": [place(*each) for each in corners], "version": 1}
                for corners, inside in polygons
            ],
            "version": 2,
        },
        rallyPoints={"points": [[*place(*each), 0] for each in RALLY], "version": 2},
    )
    path.write_text(json.dumps(plan), "utf-8")
    return path
