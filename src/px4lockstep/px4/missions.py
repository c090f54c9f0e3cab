"""Load and check missions: "QGC WPL 110" text files and QGroundControl plans.

A mission that loads can be flown: every jump has a valid target, every item is reachable, and the mission ends. Items
that can't be flown are left out, and reported by `Mission.not_flown`. All errors are collected in one report.

A text file may begin with the home position, as ground stations write it: a WAYPOINT in frame 0, without parameters,
marked as current or followed by a TAKEOFF. It is not flown.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from px4lockstep.errors import ErrorLines, InputError
from px4lockstep.px4.commands import NO_EFFECT, ROI, Command
from px4lockstep.px4.fence import Fence, RallyPoint, read_fence, read_rally
from px4lockstep.px4.mission_checks import checked_items
from px4lockstep.px4.mission_items import MissionItem
from px4lockstep.px4.mission_report import MissionReport
from px4lockstep.px4.plans import MAX_ITEMS, ItemRow, plan_rows, report_autocontinue
from px4lockstep.reading import json_number, parse_json, read_text

__all__ = ["Command", "Mission", "MissionItem", "load_mission", "parse_mission", "parse_plan", "parse_wpl"]

HEADER = "QGC WPL 110"
WHAT = f"a mission ({HEADER}, or a .plan)"
MAX_BYTES = 10_000_000
ANY_HEADING = (Command.TAKEOFF, Command.LAND)
"""Commands whose heading PX4 ignores for a multicopter."""
COLUMNS = ("index", "current", "frame", "command", "p1", "p2", "p3", "p4", "x", "y", "z", "autocontinue")


@dataclass(frozen=True, repr=False)
class Mission:
    """Mission items, numbered from 0, and their source."""

    items: tuple[MissionItem, ...]
    source: str
    planned_home: tuple[float, float, float] | None = None
    """Planned home position: latitude, longitude (degrees) and altitude above sea level (m)."""
    text: str = field(default="", repr=False)
    """Contents of the file."""
    warnings: tuple[str, ...] = ()
    """What is not flown, commands without an effect, and values that are taken for something else."""
    not_flown: tuple[str, ...] = ()
    """Items that are left out and parameters that are ignored; part of the warnings."""
    fence: Fence = field(default_factory=Fence)
    """Zones of a plan's geofence."""
    rally_points: tuple[RallyPoint, ...] = ()
    is_plan: bool = False
    """It was read from a plan, which a ground station sends to PX4, not from a file for the library's loader."""

    def __repr__(self) -> str:
        return f"<Mission {self.source}: {len(self.items)} items>"

    def lost_by_library(self) -> tuple[str, ...]:
        """Return what the mission loader of `libpx4_lockstep` would drop from each item; empty if nothing.

        It reads the command, position and heading of every line, the hold time of WAYPOINT, and the acceptance radius
        of WAYPOINT and TAKEOFF. It skips lines without a heading, which PX4 ignores for TAKEOFF and LAND.
        """
        lost = []
        for number, item in enumerate(self.items):
            name = f"{self.source} {item.place(number)}: {item.command.name}"
            if item.command in (Command.LOITER_TIME, Command.DELAY) and item.hold_s > 0.0:
                lost.append(f"{name} would lose its {item.hold_s:g} s; use a WAYPOINT with a hold time")
            if item.command is Command.DO_JUMP:
                lost.append(f"{name} would lose its target and repeats; write out the repeated items")
            if item.command is Command.DO_CHANGE_SPEED:
                lost.append(f"{name} would lose its speed; set MPC_XY_CRUISE")
            if item.command in ROI:
                lost.append(f"{name} would lose its parameters; set the headings of the waypoints (p4)")
            if item.command in (Command.CONDITION_GATE, Command.LOITER_TO_ALT):
                lost.append(f"{name} would lose its parameters; use a WAYPOINT")
            elif item.command.has_position and item.command not in ANY_HEADING and math.isnan(item.yaw_deg):
                lost.append(f"{name} has no heading, and PX4's loader skips such items; set p4, in degrees")
        return tuple(lost)

    def library_text(self) -> str:
        """Return the mission as the loader of `libpx4_lockstep` reads it: QGC WPL 110, frames 0 and 3, no nan.

        Commands without an effect are left out, because their parameters would be lost.
        """
        lines = [HEADER]
        for number, item in enumerate(item for item in self.items if item.command not in NO_EFFECT):
            frame = 3 if item.is_relative_alt else 0
            params = (item.hold_s, item.acceptance_radius_m, 0.0, item.yaw_deg, item.lat_deg, item.lon_deg, item.alt_m)
            numbers = "\t".join("0" if math.isnan(value) else repr(value) for value in params)
            lines.append(f"{number}\t0\t{frame}\t{item.command.value}\t{numbers}\t1")
        return "\n".join(lines) + "\n"


def load_mission(path: str | PathLike[str], *, strict: bool = False) -> Mission:
    """Load a mission from a file: a plan if the name ends with `.plan` or the text starts like JSON, else QGC WPL 110.

    Args:
        path: Path of the file.
        strict: Whether an item that can't be flown, or a parameter without an effect, is an error.

    Returns:
        The mission. `not_flown` lists what was left out.

    Raises:
        InputError: If the file can't be read or the mission is invalid; one report lists all errors.
    """
    mission = parse_mission(read_text(path, MAX_BYTES, WHAT), str(path))
    if strict and mission.not_flown:
        raise InputError("\n".join(mission.not_flown))
    return mission


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
    report = MissionReport()
    _check_count(sum(1 for line in lines[1:] if line.strip()), source)
    written = [(number, line) for number, line in enumerate(lines[1:], 2) if line.strip()]
    rows = (
        _row_of_line(line, f"{source} line {number}", number, index, report)
        for index, (number, line) in enumerate(written)
    )
    home = _home_of([line for _, line in written[:2]])
    if home is None:
        return _mission(rows, 0, source, report, [], text=text)
    where = f"{source} line {written[0][0]}"
    report.remark(where, "this WAYPOINT is the home position that ground stations write; it is not flown")
    planned = None if home[:2] == [0.0, 0.0] else _position(home)
    return _mission(rows, 1, source, report, [], text=text, planned_home=planned)


def _home_of(lines: list[str]) -> list[float] | None:
    """Return the home position that ground stations write on the first of two lines; None if it is an item."""
    if len(lines) < 2:
        return None
    first, second = (_row_of_line(line, "", 0, index, MissionReport()) for index, line in enumerate(lines))
    if first is None or first.code != Command.WAYPOINT or first.frame != 0.0:
        return None
    is_plain = all(value == 0.0 or math.isnan(value) for value in first.params[:4])
    is_current = _number_of_word(lines[0].split()[1]) == 1.0
    is_before_takeoff = second is not None and second.code == Command.TAKEOFF
    return first.params[4:] if is_plain and (is_current or is_before_takeoff) else None


def _check_count(count: int, source: str) -> None:
    if count > MAX_ITEMS:
        raise InputError(f"{source} has {count:,} items; PX4 supports at most {MAX_ITEMS:,}")


def _row_of_line(line: str, where: str, number: int, index: int, report: MissionReport) -> ItemRow | None:
    """Split a line into its columns, and check index, current and autocontinue."""
    words = line.split()
    if len(words) != len(COLUMNS):
        report.error(where, f"{len(words)} columns; there must be {len(COLUMNS)}: {', '.join(COLUMNS)}")
        return None
    numbers = [_number_of_word(word) for word in words]
    bad = [f"{name} = {word!r:.80}" for name, word, n in zip(COLUMNS, words, numbers, strict=True) if n is None]
    if bad:
        report.error(where, f"{', '.join(bad)} must be a number")
        return None
    values = [value for value in numbers if value is not None]
    if values[0] != index:
        report.error(where, f"index {words[0]:.80} must be {index}; number the items from 0, without gaps")
    if values[1] not in ((0.0, 1.0) if index == 0 else (0.0,)):
        report.error(where, f"current = {words[1]:.80} must be 0 (the first item may have 1); missions start at item 0")
    if values[11] != 1.0:
        report_autocontinue(words[11], where, report)
    return ItemRow(where, number, values[2], values[3], values[4:11])


def _number_of_word(word: str) -> float | None:
    """Return the number in a column, or None; unlike Python, do not accept 1_000."""
    try:
        return float(word) if word.isascii() and "_" not in word else None
    except ValueError:
        return None


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
    report = MissionReport()
    for part, version, known in (("plan", plan.get("version", 1), 1), ("mission", mission.get("version", 2), 2)):
        if version != known:
            report.error(source, f"the {part}'s version is {version!r:.80}; it must be {known}, the only supported one")
    warnings: list[str] = []
    parts = {
        "fence": read_fence(plan.get("geoFence"), source, report.errors, warnings),
        "rally_points": read_rally(plan.get("rallyPoints"), source, report.errors),
    }
    home = _planned_home(mission.get("plannedHomePosition"), source, report.errors)
    rows = plan_rows(items, source, report)
    return _mission(rows, 0, source, report, warnings, planned_home=home, text=text, is_plan=True, **parts)


def _planned_home(value: Any, source: str, report: ErrorLines) -> tuple[float, float, float] | None:
    """Return the planned home position of a plan, if it has one."""
    if value is None:
        return None
    numbers = [json_number(part) for part in value] if isinstance(value, list) else []
    home = _position([number for number in numbers if number is not None]) if None not in numbers else None
    if home is None:
        report.append(
            f"{source}: plannedHomePosition = {value!r:.80} must be latitude, longitude (degrees) and altitude (m)"
        )
    return home


def _position(values: list[float]) -> tuple[float, float, float] | None:
    """Return latitude, longitude and altitude if they are valid."""
    match values:
        case [lat, lon, alt] if abs(lat) <= 90.0 and abs(lon) <= 180.0 and math.isfinite(alt):
            return lat, lon, alt
    return None


def mission_of_rows(rows: Iterable[ItemRow], source: str, report: MissionReport, *, is_plan: bool) -> Mission:
    """Return the mission of items that are not from a file; raise all errors in one report."""
    return _mission(rows, 0, source, report, [], is_plan=is_plan)


def _mission(
    rows: Iterable[ItemRow | None], first: int, source: str, report: MissionReport, more: list[str], **parts: Any
) -> Mission:
    """Return the mission of some rows, from the first one that is an item; raise all errors in one report."""
    items = checked_items(rows, first, source, report)
    _check_count(len(items), source)
    if report.errors:
        raise InputError("\n".join(report.errors.shown()))
    warnings = (*report.not_flown, *_without_effect(items, source), *report.remarks, *more)
    return Mission(items, source, warnings=warnings, not_flown=report.not_flown, **parts)


def _without_effect(items: tuple[MissionItem, ...], source: str) -> tuple[str, ...]:
    """Return a line for each group of commands without an effect: how many there are, and which."""
    counts = Counter(NO_EFFECT[item.command] for item in items if item.command in NO_EFFECT)
    lines = []
    for group, count in counts.items():
        names = dict.fromkeys(item.command for item in items if NO_EFFECT.get(item.command) == group)
        listed = ", ".join(f"{command.value} {command.name}" for command in names)
        has = "commands have" if count > 1 else "command has"
        lines.append(f"{source}: {count} {group} {has} no effect ({listed})")
    return tuple(lines)
