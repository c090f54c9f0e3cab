"""PX4's geofence and rally points, from the items of the mission protocol; distances on a flat map."""

import math
from collections.abc import Callable

INCLUSION, EXCLUSION, CIRCLE_INCLUSION, CIRCLE_EXCLUSION, RALLY = 5001, 5002, 5003, 5004, 5100
GLOBAL_FRAMES = (0, 3, 5, 6)
CHECKED_US = 200_000
ACCEPTED, UNSUPPORTED, INVALID = 0, 3, 5
"""MAV_MISSION_RESULT."""

Point = tuple[float, float]
"""North and east [m], or latitude and longitude."""


def problem(items) -> int:
    """Return MAV_MISSION_RESULT for a list of fence or rally items."""
    number = 0
    while number < len(items):
        item = items[number]
        if item.command in (INCLUSION, EXCLUSION):
            count = int(item.params[0])
            same = [each.command == item.command and each.params[0] == count for each in items[number : number + count]]
            if count < 3 or len(same) != count or not all(same):
                return INVALID
            number += count
        elif item.command in (CIRCLE_INCLUSION, CIRCLE_EXCLUSION, RALLY):
            number += 1
        else:
            return UNSUPPORTED
    return ACCEPTED


class Fence:
    """Zones, each as whether it is an inclusion, and its points; a circle has one, and a radius."""

    def __init__(self) -> None:
        self.zones: list[tuple[bool, list[Point], float]] = []
        self.checked_us = 0
        self.is_outside = False

    def load(self, items, local: Callable[[float, float], Point]) -> bool:
        """Load the zones; return whether all contain home. PX4 drops the others."""
        zones, number, is_circle = [], 0, False
        while number < len(items):
            item = items[number]
            is_circle = is_circle or item.command >= CIRCLE_INCLUSION  # as in PX4, which never resets it
            count = 1 if is_circle else int(item.params[0])
            points = [local(each.lat, each.lon) for each in items[number : number + count]]
            is_inclusion = item.command in (INCLUSION, CIRCLE_INCLUSION)
            zones.append((is_inclusion, points, item.params[0] if is_circle else 0.0))
            number += count
        self.zones = [zone for zone in zones if _allows(zone, (0.0, 0.0))]
        return len(self.zones) == len(zones)

    def allows(self, place: Point) -> bool:
        return all(_allows(zone, place) for zone in self.zones)

    def is_left(self, time_us: int, place: Point) -> bool:
        """Return whether a check is due and finds that the vehicle has left the fence."""
        if time_us - self.checked_us <= CHECKED_US:
            return False
        self.checked_us = time_us
        was_outside, self.is_outside = self.is_outside, not self.allows(place)
        return self.is_outside and not was_outside


def _allows(zone: tuple[bool, list[Point], float], place: Point) -> bool:
    is_inclusion, points, radius_m = zone
    if radius_m > 0.0:
        return (math.dist(points[0], place) < radius_m) == is_inclusion
    turns = 0.0  # the winding number: the sum of the angles at which the edges are seen
    for first, second in zip(points, points[1:] + points[:1], strict=True):
        a, b = [(point[0] - place[0], point[1] - place[1]) for point in (first, second)]
        turns += math.atan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1])
    return (abs(turns) > math.pi) == is_inclusion
