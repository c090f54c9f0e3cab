"""An independent reader of QGroundControl plans: what a vehicle should fly, from the JSON alone.

It shares no code with px4lockstep. Positions are in metres north and east of home, and above home, on a sphere.
"""

import json
import math
from dataclasses import dataclass
from pathlib import Path

EARTH_RADIUS_M = 6_371_000.0
KINDS = {16: "waypoint", 19: "loiter", 21: "land", 22: "takeoff", 4501: "gate"}
"""Commands with a position to pass."""
DEFAULT_RADIUS_M = 1.0
"""Acceptance radius of an item that has none."""
HEIGHT_TOLERANCE_M = 0.8
"""NAV_MC_ALT_RAD."""


@dataclass
class Goal:
    """A position that the vehicle has to pass: what it is, where, how close, and what to look at on the way there."""

    kind: str
    place: tuple[float, float, float]
    radius_m: float = DEFAULT_RADIUS_M
    hold_s: float = 0.0
    heading_deg: float | None = None
    speed_m_s: float | None = None
    roi: tuple[float, float] | None = None
    offset_deg: float | None = None


class Reader:
    """The state of a plan while its items are read one after another, as a vehicle executes them."""

    def __init__(self, path: Path) -> None:
        self.plan = json.loads(path.read_text("utf-8"))
        self.lat, self.lon, self.alt = self.plan["mission"]["plannedHomePosition"]
        self.goals: list[Goal] = []
        self.ends_with = "air"
        self._speed = self._roi = self._offset = None
        flat = [part for item in self.plan["mission"]["items"] for part in self._parts(item)]
        ids = {item["doJumpId"]: i for i, item in enumerate(flat) if "doJumpId" in item}
        left = {i: item["params"][1] for i, item in enumerate(flat) if item["command"] == 177}
        i = 0
        while i < len(flat):
            if flat[i]["command"] == 177 and left[i] > 0:
                left[i] -= 1
                i = ids[flat[i]["params"][0]]
                continue
            self._execute(flat[i])
            i += 1

    def local(self, lat: float, lon: float) -> tuple[float, float]:
        """Return metres north and east of home."""
        north = math.radians(lat - self.lat) * EARTH_RADIUS_M
        return north, math.radians(lon - self.lon) * EARTH_RADIUS_M * math.cos(math.radians(self.lat))

    def _parts(self, item: dict) -> list[dict]:
        if item["type"] == "SimpleItem":
            return [item]
        if "TransectStyleComplexItem" in item:
            return item["TransectStyleComplexItem"]["Items"]
        assert item["complexItemType"] == "StructureScan"
        return list(self._around(item))

    def _around(self, item: dict):
        """Yield the entrance, the layers around the structure, and the exit."""
        corners = [complex(*self.local(*vertex)) for vertex in item["polygon"]]
        middle = sum(corners) / len(corners)
        away = item["CameraCalc"]["DistanceToSurface"]
        lines = []  # each edge moved away from the middle: a point, and its direction
        for start, end in zip(corners, [*corners[1:], corners[0]], strict=True):
            direction = (end - start) / abs(end - start)
            normal = direction * 1j
            if ((start - middle) * normal.conjugate()).real < 0.0:
                normal = -normal
            lines.append((start + away * normal, direction))
        path = []
        for (p, d), (q, e) in zip([lines[-1], *lines[:-1]], lines, strict=True):
            cross = (d.conjugate() * e).imag
            path.append(p + d * ((q - p).conjugate() * e).imag / cross)
        height = item["CameraCalc"]["AdjustedFootprintFrontal"]
        low = item["StructureHeight"] if item["StartFromTop"] else item["ScanBottomAlt"]
        up = -1 if item["StartFromTop"] else 1

        def waypoint(corner: complex, altitude: float) -> dict:
            return {"command": 16, "frame": 3, "params": [0, 0, 0, None, corner, None, altitude]}

        yield waypoint(path[0], item["EntranceAltitude"])
        yield {"command": 196, "frame": 2, "params": [0, 0, 0, 0, item["GimbalPitch"], 0, 90]}
        for layer in range(int(item["Layers"])):
            for corner in [*path, path[0]]:
                yield waypoint(corner, low + up * (layer + 0.5) * height)
        yield {"command": 197, "frame": 2, "params": [0] * 7}
        yield waypoint(path[0], item["EntranceAltitude"])

    def _execute(self, item: dict) -> None:
        command, params = item["command"], item["params"]
        if command == 178:
            self._speed = params[1]
        elif command == 195:
            self._roi, self._offset = self.local(params[4], params[5]), None
        elif command == 196:
            self._roi, self._offset = None, params[6]
        elif command == 197:
            self._roi = self._offset = None
        elif command == 20:
            self.ends_with = "return"
        elif command in KINDS:
            place = (params[4].real, params[4].imag) if isinstance(params[4], complex) else self.local(*params[4:6])
            height = params[6] - (self.alt if item["frame"] == 0 else 0.0)
            goal = Goal(KINDS[command], (*place, height))
            goal.radius_m = params[1] if command == 16 and params[1] else DEFAULT_RADIUS_M
            goal.hold_s = params[0] if command in (16, 19) else 0.0
            goal.heading_deg = params[3] if command == 16 else None
            goal.speed_m_s, goal.roi, goal.offset_deg = self._speed, self._roi, self._offset
            self.goals.append(goal)
            self.ends_with = "land" if command == 21 else self.ends_with
