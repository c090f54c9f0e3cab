"""Load and check missions: "QGC WPL 110" text files and QGroundControl plans.

A mission that loads can be flown: every item is supported, every jump has a valid target, every item is reachable, and
the mission ends. All errors are collected in one report. Every line of a text file is an item, even the home position
that some ground stations write first, because PX4's loader treats it as one.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from px4lockstep.errors import ErrorLines, InputError
from px4lockstep.px4.fence import Fence, RallyPoint, read_fence, read_rally
from px4lockstep.px4.mission_items import AT_ONCE, ENDS, Command, MissionItem, read_item
from px4lockstep.reading import json_number, parse_json, read_text

__all__ = ["Command", "Mission", "MissionItem", "load_mission", "parse_mission", "parse_plan", "parse_wpl"]

HEADER = "QGC WPL 110"
WHAT = f"a mission ({HEADER}, or a .plan)"
MAX_BYTES = 10_000_000
MAX_ITEMS = 65_535
"""PX4 stores item numbers in 16 bits."""
Place = tuple[str, MissionItem | None]
"""The location of an item in its file, for errors, and the item if it is valid."""
ANY_HEADING = (Command.TAKEOFF, Command.LAND)
"""Commands whose heading PX4 ignores for a multicopter."""
COLUMNS = ("index", "current", "frame", "command", "p1", "p2", "p3", "p4", "x", "y", "z", "autocontinue")


@dataclass(frozen=True)
class Mission:
    """Mission items, numbered from 0, and their source."""

    items: tuple[MissionItem, ...]
    source: str
    planned_home: tuple[float, float, float] | None = None
    """Planned home position: latitude, longitude (degrees) and altitude above sea level (m)."""
    text: str = field(default="", repr=False)
    """Contents of the file."""
    warnings: tuple[str, ...] = ()
    """Values that are not as the protocol defines them, and what they are taken for."""
    fence: Fence = field(default_factory=Fence)
    """Zones of a plan's geofence."""
    rally_points: tuple[RallyPoint, ...] = ()

    def lost_by_library(self) -> tuple[str, ...]:
        """Return what the mission loader of `libpx4_lockstep` would drop from each item; empty if nothing.

        It reads the command, position and heading of every line, the hold time of WAYPOINT, and the acceptance radius
        of WAYPOINT and TAKEOFF. It skips lines without a heading, which PX4 ignores for TAKEOFF and LAND.
        """
        lost = []
        for number, item in enumerate(self.items):
            name = f"{self.source} item {number}: {item.command.name}"
            if item.command in (Command.LOITER_TIME, Command.DELAY) and item.hold_s > 0.0:
                lost.append(f"{name} would lose its {item.hold_s:g} s; use a WAYPOINT with a hold time")
            if item.command is Command.DO_JUMP:
                lost.append(f"{name} would lose its target and repeats; write out the repeated items")
            if item.command is Command.DO_CHANGE_SPEED:
                lost.append(f"{name} would lose its speed; set MPC_XY_CRUISE")
            if item.command.has_position and item.command not in ANY_HEADING and math.isnan(item.yaw_deg):
                lost.append(f"{name} has no heading, and PX4's loader skips such items; set p4, in degrees")
        return tuple(lost)

    def library_text(self) -> str:
        """Return the mission as the loader of `libpx4_lockstep` reads it: QGC WPL 110, frames 0 and 3, no nan."""
        lines = [HEADER]
        for number, item in enumerate(self.items):
            frame = 3 if item.is_relative_alt else 0
            params = (item.hold_s, item.acceptance_radius_m, 0.0, item.yaw_deg, item.lat_deg, item.lon_deg, item.alt_m)
            numbers = "\t".join("0" if math.isnan(value) else repr(value) for value in params)
            lines.append(f"{number}\t0\t{frame}\t{item.command.value}\t{numbers}\t1")
        return "\n".join(lines) + "\n"


def load_mission(path: str | PathLike[str]) -> Mission:
    """Load a mission from a file: a plan if the name ends with `.plan` or the text starts like JSON, else QGC WPL 110.

    Raises:
        InputError: If the file can't be read or the mission is invalid; one report lists all errors.
    """
    return parse_mission(read_text(path, MAX_BYTES, WHAT), str(path))


@functools.lru_cache(maxsize=16)
def parse_mission(text: str, source: str) -> Mission:
    """Parse a mission: a plan if the source ends with `.plan` or the text starts like JSON, else QGC WPL 110.

    All errors are in one report, and start with the source.
    """
    is_plan = Path(source).suffix == ".plan" or text.lstrip().startswith("{")
    return parse_plan(text, source) if is_plan else parse_wpl(text, source)


def parse_wpl(text: str, source: str) -> Mission:
    """Parse the text of a QGC WPL 110 file; errors name the source and the line.

    Raises:
        InputError: If the mission is invalid; one report lists all errors, or only a wrong header.
    """
    lines = text.splitlines()
    header = lines[0].strip() if lines else ""
    if header != HEADER:
        raise InputError(f"{source} line 1: {header[:60]!r} is not a mission header; it must be {HEADER!r}")
    report, warnings = ErrorLines(), list[str]()
    places: list[Place] = []
    _check_count(sum(1 for line in lines[1:] if line.strip()), source)
    for number, line in enumerate(lines[1:], 2):
        if line.strip():
            where = f"{source} line {number}"
            places.append((where, _item_of_line(line, where, number, len(places), report, warnings)))
    return Mission(_checked(places, source, report), source, text=text, warnings=tuple(warnings))


def _check_count(count: int, source: str) -> None:
    if count > MAX_ITEMS:
        raise InputError(f"{source} has {count:,} items; PX4 supports at most {MAX_ITEMS:,}")


def _item_of_line(
    line: str, where: str, number: int, index: int, report: ErrorLines, warnings: list[str]
) -> MissionItem | None:
    """Split a line into its columns, check index, current and autocontinue, and read the item."""
    words = line.split()
    if len(words) != len(COLUMNS):
        report.append(f"{where}: {len(words)} columns; there must be {len(COLUMNS)}: {', '.join(COLUMNS)}")
        return None
    numbers = _numbers(dict(zip(COLUMNS, words, strict=True)), _number_of_word, where, report)
    if numbers is None:
        return None
    if numbers[0] != index:
        report.append(f"{where}: index {words[0]:.80} must be {index}; number the items from 0, without gaps")
    if numbers[1] not in ((0.0, 1.0) if index == 0 else (0.0,)):
        report.append(
            f"{where}: current = {words[1]:.80} must be 0 (the first item may have 1); missions start at item 0"
        )
    _check_autocontinue(numbers[11] == 1.0, words[11], where, report)
    return read_item(where, number, numbers[2], numbers[3], numbers[4:11], report, warnings)


def _numbers(
    values: dict[str, Any], number_of: Callable[[Any], float | None], where: str, report: ErrorLines
) -> list[float] | None:
    """Return named values as numbers; if any is not a number, report all of these and return None."""
    numbers = [number_of(value) for value in values.values()]
    bad = [f"{name} = {value!r:.80}" for (name, value), n in zip(values.items(), numbers, strict=True) if n is None]
    if bad:
        report.append(f"{where}: {', '.join(bad)} must be a number")
    return None if bad else [number for number in numbers if number is not None]


def _number_of_word(word: str) -> float | None:
    """Return the number in a column, or None; unlike Python, do not accept 1_000."""
    try:
        return float(word) if word.isascii() and "_" not in word else None
    except ValueError:
        return None


def _check_autocontinue(is_on: bool, value: object, where: str, report: ErrorLines) -> None:
    if not is_on:
        report.append(
            f"{where}: autocontinue = {value!s:.80} must be 1 (true); there is no pilot to continue the mission"
        )


def parse_plan(text: str, source: str) -> Mission:
    """Parse the text of a QGroundControl plan; errors name the source and the item, numbered from 0.

    Raises:
        InputError: If the mission is invalid; one report lists all errors, or only that the text is not a plan.
    """
    plan = parse_json(text, source, "a plan, saved by QGroundControl")
    mission = plan.get("mission") if isinstance(plan, dict) else None
    if not isinstance(mission, dict) or not isinstance(mission.get("items"), list) or plan.get("fileType") != "Plan":
        raise InputError(
            f'{source} is not a plan; it must be an object with "fileType": "Plan" and "mission": {{"items": […]}}'
        )
    items = mission["items"]
    _check_count(len(items), source)
    report, warnings = ErrorLines(), list[str]()
    for part, version, known in (("plan", plan.get("version", 1), 1), ("mission", mission.get("version", 2), 2)):
        if version != known:
            report.append(
                f"{source}: the {part}'s version is {version!r:.80}; it must be {known}, the only supported one"
            )
    fence = read_fence(plan.get("geoFence"), source, report, warnings)
    rally_points = read_rally(plan.get("rallyPoints"), source, report)
    index_of_id = _index_of_id(items, source, report)
    home = _planned_home(mission.get("plannedHomePosition"), source, report)
    places: list[Place] = []
    for index, item in enumerate(items):
        where = f"{source} item {index}"
        places.append((where, _item_of_plan(item, where, index, index_of_id, report, warnings)))
    return Mission(_checked(places, source, report), source, home, text, tuple(warnings), fence, rally_points)


def _index_of_id(items: list[Any], source: str, report: ErrorLines) -> dict[Any, int]:
    """Return the item number of each `doJumpId`, to which jumps in a plan refer."""
    index_of_id: dict[Any, int] = {}
    for index, item in enumerate(items):
        jump_id = item.get("doJumpId") if isinstance(item, dict) else None
        if not isinstance(jump_id, int):
            continue  # an error only if a jump refers to it
        if jump_id in index_of_id:
            report.append(
                f"{source} item {index}: doJumpId {jump_id} is already used by item {index_of_id[jump_id]}; give each "
                "item a different one"
            )
        index_of_id.setdefault(jump_id, index)
    return index_of_id


def _item_of_plan(
    item: Any, where: str, index: int, index_of_id: dict[Any, int], report: ErrorLines, warnings: list[str]
) -> MissionItem | None:
    """Read an item of a plan, and convert a jump's target from an ID to an item number."""
    kind = item.get("type") if isinstance(item, dict) else item
    if not isinstance(item, dict) or kind != "SimpleItem":
        complex_kind = item.get("complexItemType", kind) if isinstance(item, dict) else kind
        report.append(f"{where}: {complex_kind!r:.80} is not a SimpleItem; replace surveys etc. with waypoints")
        return None
    params = item.get("params")
    if not isinstance(params, list) or len(params) != 7:
        report.append(f"{where}: params = {params!r:.80} must be a list of seven numbers or null")
        return None
    values = {"frame": item.get("frame"), "command": item.get("command")}
    values |= {f"params[{i}]": math.nan if value is None else value for i, value in enumerate(params)}
    numbers = _numbers(values, json_number, where, report)
    if numbers is None:
        return None
    frame, command, *rest = numbers
    _check_autocontinue(item.get("autoContinue") is True, item.get("autoContinue"), where, report)
    if command == Command.DO_JUMP:
        if rest[0] not in index_of_id:
            report.append(
                f"{where}: jump target (params[0]) = {params[0]!r:.80} is not the doJumpId of any item; correct it"
            )
            return None
        rest[0] = float(index_of_id[rest[0]])
    return read_item(where, index, frame, command, rest, report, warnings)


def _planned_home(value: Any, source: str, report: ErrorLines) -> tuple[float, float, float] | None:
    """Return the planned home position of a plan, if it has one."""
    if value is None:
        return None
    numbers = [json_number(part) for part in value] if isinstance(value, list) else []
    match numbers:
        case [float(lat), float(lon), float(alt)] if abs(lat) <= 90.0 and abs(lon) <= 180.0 and math.isfinite(alt):
            return lat, lon, alt
    report.append(
        f"{source}: plannedHomePosition = {value!r:.80} must be latitude, longitude (degrees) and altitude (m)"
    )
    return None


def _checked(places: list[Place], source: str, report: ErrorLines) -> tuple[MissionItem, ...]:
    """Check the mission as a whole and return its items; raise an error if there are reports."""
    if not places:
        report.append(f"{source}: the mission is empty; it needs at least one item")
    _check_takeoff(places, report)
    is_understood = all(item for _, item in places)
    for index, (where, item) in enumerate(places):
        if item and item.command is Command.DO_JUMP and (item.jump_to >= len(places) or item.jump_to == index):
            target = "itself" if item.jump_to == index else f"item {item.jump_to}, which does not exist"
            is_understood = False
            report.append(f"{where}: DO_JUMP leads to {target}; items are numbered 0 to {len(places) - 1}")
    items = tuple(item for _, item in places if item)
    if is_understood:  # otherwise the order of the items is unknown
        # PX4 gives up after ten commands in a row that take no time.
        for index in _idle_jumps(items):
            text = "DO_JUMP leads back to itself without any flown item"
            report.append(f"{places[index][0]}: {text}; add a waypoint or a DELAY between them")
        reached = _reached(items)
        for index, (where, _) in enumerate(places):
            if index not in reached:
                report.append(f"{where}: this item is unreachable; remove it, or the item that ends the mission early")
    if report:
        raise InputError("\n".join(report.shown()))
    return items


def _check_takeoff(places: list[Place], report: ErrorLines) -> None:
    """Check that a takeoff comes before all other positions, and only once."""
    positions = [(where, item) for where, item in places if item and item.command.has_position]
    for where, item in positions[1:]:
        if item.command is Command.TAKEOFF:
            first_where, first = positions[0]
            is_home = first.command is Command.WAYPOINT and first.frame == 0
            hint = "; if that is the home position, which some ground stations write, remove it and renumber from 0"
            report.append(
                f"{where}: TAKEOFF comes after {first.command.name} ({first_where}); it must be the first item with a "
                f"position, and the only takeoff{hint if is_home else ''}"
            )


def _after(items: tuple[MissionItem, ...], index: int) -> list[int]:
    """Return the numbers of the items that may follow an item."""
    item = items[index]
    following = [] if item.command in ENDS else [index + 1]
    if item.command is Command.DO_JUMP and item.jump_repeats > 0:
        following.append(item.jump_to)
    return following


def _reached(items: tuple[MissionItem, ...]) -> set[int]:
    """Return the numbers of the reachable items."""
    reached: set[int] = set()
    ahead = [0]
    while ahead:
        index = ahead.pop()
        if index < len(items) and index not in reached:
            reached.add(index)
            ahead += _after(items, index)
    return reached


def _idle_jumps(items: tuple[MissionItem, ...]) -> list[int]:
    """Return the numbers of the jumps that lead back to themselves through commands that take no time.

    These are the jumps in a strongly connected component of two or more such commands (Kosaraju's algorithm).
    """
    at_once = [index for index, item in enumerate(items) if item.command in AT_ONCE]
    after: dict[int, list[int]] = {index: [] for index in at_once}
    before: dict[int, list[int]] = {index: [] for index in at_once}
    for index in at_once:
        after[index] = [other for other in _after(items, index) if other in after]
        for other in after[index]:
            before[other].append(index)
    seen: set[int] = set()
    order = [index for start in at_once for index in _finished(start, after, seen)]
    seen.clear()
    components = (_finished(start, before, seen) for start in reversed(order))
    idle = [index for component in components if len(component) > 1 for index in component]
    return sorted(index for index in idle if items[index].command is Command.DO_JUMP)


def _finished(start: int, edges: dict[int, list[int]], seen: set[int]) -> list[int]:
    """Return the unseen nodes reachable from a start node in depth-first postorder."""
    finished: list[int] = []
    path = [(start, iter(edges[start]))] if start not in seen else []
    seen.add(start)
    while path:
        other = next((other for other in path[-1][1] if other not in seen), None)
        if other is None:
            finished.append(path.pop()[0])
        else:
            seen.add(other)
            path.append((other, iter(edges[other])))
    return finished
