"""Mission items: the meaning and allowed values of each command's seven parameters.

The table `RULES` maps the numbers in a file to a `MissionItem`. A parameter that has no effect is reported unless it is
absent (NaN) or neutral, so that no setting is silently ignored. An item that can't be flown is skipped and reported.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from px4lockstep.px4.commands import ALIASES, ENDS, NO_EFFECT, SKIPPED, Command
from px4lockstep.px4.mission_report import MissionReport

BY_NUMBER: dict[float, Command] = {float(command): command for command in Command}
BY_NUMBER |= {float(number): command for number, command in ALIASES.items()}
MSL_FRAMES = (0, 5)
RELATIVE_FRAMES = (3, 6)
MISSION_FRAME = 2
TERRAIN_FRAMES = (10, 11)


@dataclass(frozen=True)
class MissionItem:
    """A mission item. Fields that its command does not use have their default.

    `line` is the line in a text file, or the index in a plan, from 0.
    """

    command: Command
    lat_deg: float = math.nan
    lon_deg: float = math.nan
    alt_m: float = math.nan
    is_relative_alt: bool = True
    """The altitude is above home, not above sea level."""
    hold_s: float = 0.0
    acceptance_radius_m: float = 0.0
    """0 means the autopilot's default."""
    yaw_deg: float = math.nan
    """Heading, clockwise from north; NaN if not specified."""
    speed_m_s: float = math.nan
    """Ground speed from this item on; NaN for the default."""
    jump_to: int = -1
    jump_repeats: int = 0
    frame: int = 3
    """MAV_FRAME number in the file."""
    line: int = 0
    params: tuple[float, ...] = ()
    """The seven parameters of a ROI, camera, gimbal or payload command, as in the file; NaN if not specified."""
    where: str = field(default="", compare=False, repr=False)
    """Its place in the file, for messages: `line 3`, or `item 2 (survey), its item 5`."""

    def place(self, number: int) -> str:
        """Return its place in the file, or its number in the mission if it is not from a file."""
        return self.where or f"item {number}"


@dataclass(frozen=True)
class Rule:
    """A parameter's name, its field in `MissionItem`, and its allowed values: one of `values`, or within limits."""

    name: str
    allowed: str
    field: str = ""
    minimum: float = -math.inf
    maximum: float = math.inf
    values: tuple[float, ...] = ()
    whole: bool = False
    is_optional: bool = False
    """NaN is allowed, and keeps the field's default."""
    defaults: tuple[float, ...] = ()
    """Values that also keep the field's default."""
    takes_more: bool = False
    """A value above the largest of `values` counts as that one, with a remark."""
    ignored: str = ""
    """Why any other finite value has no effect; it is reported, but it is not an error."""

    def permits(self, value: float) -> bool:
        """Return whether a value other than NaN is allowed."""
        if self.values:
            return value in self.values
        return math.isfinite(value) and self.minimum <= value <= self.maximum and not (self.whole and value % 1.0)


def without_effect(name: str, values: tuple[float, ...] = (0.0,), because: str = "it is not used") -> Rule:
    """Return the rule for a parameter that has no effect."""
    allowed = " or ".join(f"{value:g}" for value in values)
    return Rule(name, f"{allowed}; {because}", values=values, is_optional=True, ignored=because)


LARGEST = 3.4e38
"""MAVLink sends parameters as float32."""
ANYTHING = Rule("parameter", "a finite number, or nan (null) for none", "", -LARGEST, LARGEST, is_optional=True)
UNUSED = without_effect("unused parameter")
LATITUDE = Rule("latitude", "-90 to 90 degrees", "lat_deg", -90.0, 90.0)
LONGITUDE = Rule("longitude", "-180 to 180 degrees", "lon_deg", -180.0, 180.0)
ALTITUDE = Rule("altitude", "a finite number of metres, -100,000 to 100,000", "alt_m", -1e5, 1e5)
THERE = (LATITUDE, LONGITUDE, ALTITUDE)
SOMEWHERE = tuple(replace(rule, is_optional=True) for rule in THERE)
NOWHERE = (without_effect("position", because="the command has no position"),) * 3
LONGEST = 1e7  # s, 116 days
HOLD = Rule("time", "0 s or more, at most 10,000,000 s", "hold_s", 0.0, LONGEST)
ACCEPTANCE = Rule(
    "acceptance radius",
    "above 0 m, or 0 for the default; at most 1,000,000 m",
    *("acceptance_radius_m", 0.0, 1e6),
    is_optional=True,
)
HEADING = Rule("heading", "-360 to 360 degrees, or nan (null) for none", "yaw_deg", -360.0, 360.0, is_optional=True)
HEADING_REQUIRED = replace(
    without_effect("heading required", (0.0, 1.0), "a multicopter always turns to its heading"), takes_more=True
)
LOITER_RADIUS = Rule("loiter radius", "a finite number of metres; it is for fixed-wing aircraft", is_optional=True)
FASTEST = 1e3  # m/s
SMALLEST = 5e-324  # above 0
NO_END = "-1 (unlimited) is not supported, because the mission would never end"
LOCATION_MODE = 3.0
"""MAV_ROI_LOCATION of DO_SET_ROI."""
COUNT = 65535.0  # PX4 stores targets and repeats as uint16

RULES: dict[Command, tuple[Rule, ...]] = {
    Command.WAYPOINT: (
        *(HOLD, ACCEPTANCE),
        without_effect("pass radius", because="it is for fixed-wing aircraft"),
        *(HEADING, *THERE),
    ),
    Command.LOITER_UNLIMITED: (UNUSED, UNUSED, LOITER_RADIUS, HEADING, *THERE),
    Command.LOITER_TIME: (
        HOLD,
        HEADING_REQUIRED,
        *(LOITER_RADIUS, HEADING, *THERE),
    ),
    Command.RETURN_TO_LAUNCH: (UNUSED, UNUSED, UNUSED, UNUSED, *NOWHERE),
    Command.LAND: (
        without_effect("abort altitude", because="landings are never aborted"),
        without_effect("precision landing", because="it is not supported"),
        *(UNUSED, HEADING, *THERE),
    ),
    Command.TAKEOFF: (
        without_effect("pitch", because="a minimum pitch is for fixed-wing aircraft"),
        *(ACCEPTANCE, UNUSED, HEADING, *THERE),
    ),
    Command.LOITER_TO_ALT: (
        HEADING_REQUIRED,
        Rule("loiter radius", "a finite number of metres", "acceptance_radius_m", -LARGEST, LARGEST, is_optional=True),
        *(UNUSED, ANYTHING, *THERE),
    ),
    Command.DELAY: (
        Rule("time", "0 s or more, at most 10,000,000 s", "hold_s", 0.0, LONGEST),
        *(without_effect(part, (0.0, -1.0)) for part in ("hour", "minute", "second")),
        *NOWHERE,
    ),
    Command.DO_JUMP: (
        Rule("jump target", "the number of an item", "jump_to", 0.0, COUNT, whole=True),
        Rule("repeats", f"a whole number from 0 to 65535; {NO_END}", "jump_repeats", 0.0, COUNT, whole=True),
        *(UNUSED, UNUSED, *NOWHERE),
    ),
    Command.DO_CHANGE_SPEED: (
        Rule("speed type", "1 (ground speed), or 0 (airspeed), which PX4 treats alike", values=(0.0, 1.0)),
        Rule(
            "speed",
            "above 0 m/s, or -1 or -2 for the default; at most 1,000 m/s",
            *("speed_m_s", SMALLEST, FASTEST),
            defaults=(-1.0, -2.0),
        ),
        without_effect("throttle", (-1.0, 0.0), "a multicopter has no cruise throttle"),
        without_effect("relative"),
        *NOWHERE,
    ),
    Command.DO_SET_ROI_LOCATION: (*(ANYTHING,) * 4, *THERE),
    Command.DO_SET_ROI_WPNEXT_OFFSET: (
        *(ANYTHING,) * 6,
        Rule("yaw offset", "-360 to 360 degrees", "yaw_deg", -360.0, 360.0, is_optional=True),
    ),
    Command.DO_SET_ROI_NONE: (ANYTHING,) * 7,
    Command.DO_SET_ROI: (
        Rule("mode", "0 (none), 1 (next waypoint) or 3 (location)", values=(0.0, 1.0, 3.0)),
        *(*(ANYTHING,) * 3, *SOMEWHERE),
    ),
    Command.CONDITION_GATE: (*(ANYTHING,) * 4, *THERE),
    **dict.fromkeys(NO_EFFECT, (ANYTHING,) * 7),
}


def why_skipped(frame: float, code: float, params: Sequence[float]) -> str | None:
    """Return why an item can't be flown, if the rest of the mission can be flown without it."""
    command = BY_NUMBER.get(code)
    if command is None:
        if not (math.isfinite(code) and code % 1.0 == 0.0):
            return None  # an error
        name, reason = SKIPPED.get(int(code), ("", "PX4's missions have no such command"))
        return f"command {code:.12g}{f' ({name})' if name else ''} is skipped; {reason}"
    if frame in TERRAIN_FRAMES and command.has_place and command not in (*ENDS, Command.TAKEOFF):
        return f"{command.name} is skipped; PX4 does not accept altitudes above terrain (frame {frame:g})"
    if command is Command.DELAY and (params[0] == -1.0 or any(value > 0.0 for value in params[1:4])):
        return "DELAY is skipped; it waits for a time of day"
    if command is Command.DO_CHANGE_SPEED and params[0] in (2.0, 3.0):
        return "DO_CHANGE_SPEED is skipped; it changes the speed of climb or descent"
    if command is Command.DO_CHANGE_SPEED and params[3] == 1.0:
        return "DO_CHANGE_SPEED is skipped; its speed is relative"
    if command is Command.DO_SET_ROI and params[0] in (2.0, 4.0):
        return f"DO_SET_ROI is skipped; only the modes 0, 1 and 3 are supported, not {params[0]:g}"
    return None


def read_item(
    where: str, line: int, frame: float, code: float, params: Sequence[float], report: MissionReport
) -> MissionItem | None:
    """Return the item for numbers in a file, NaN where absent; report errors, and return None if there are any.

    Values that are ignored, or not as the protocol defines them but with one possible meaning, are reported too.
    """
    command = BY_NUMBER.get(code)
    if command is None:
        report.error(where, f"command {code:g} must be the number of a MAV_CMD")
        return None
    before = report.errors.total
    fields: dict[str, Any] = {}
    for number, (rule, value) in enumerate(zip(RULES[command], params, strict=True), 1):
        if (math.isnan(value) and rule.is_optional) or value in rule.defaults:
            continue
        given = f"{command.name} {rule.name} (p{number}) = {value:.12g}"
        if rule.takes_more and math.isfinite(value) and value > max(rule.values):
            report.remark(where, f"{given} is taken as {max(rule.values):g} (true)")
        elif rule.ignored and math.isfinite(value) and not rule.permits(value):
            report.add_not_flown(where, f"{given} has no effect; {rule.ignored}")
        elif math.isnan(value) or not rule.permits(value):
            report.error(where, f"{given} must be {rule.allowed}")
        elif rule.field:
            fields[rule.field] = int(value) if rule.whole else value
    _check_place(where, command, frame, params, report)
    if report.errors.total > before:
        return None
    if command is Command.DO_SET_ROI and params[0] != LOCATION_MODE:
        fields = {}
    elif command.has_place:
        fields["is_relative_alt"] = frame in RELATIVE_FRAMES
    if command.is_raw:
        fields["params"] = tuple(params)
    return MissionItem(command, frame=int(frame), line=line, **fields)


def _check_place(where: str, command: Command, frame: float, params: Sequence[float], report: MissionReport) -> None:
    """Check the frame and the position of an item."""
    needs_place = command.has_place and not (command is Command.DO_SET_ROI and params[0] != LOCATION_MODE)
    allowed = MSL_FRAMES + RELATIVE_FRAMES + (() if needs_place else (MISSION_FRAME,))
    if frame not in allowed:
        report.error(
            where,
            f"frame {frame:g} can't be used with {command.name}; use 3 or 6 (altitude above home), "
            f"0 or 5 (above sea level){'' if needs_place else ', or 2 (no position)'}",
        )
    if not needs_place:
        return
    if params[4] == params[5] == 0.0:
        report.error(
            where,
            f"{command.name} at latitude 0, longitude 0 is in the Gulf of Guinea; "
            "if it should mean the current position, enter its coordinates",
        )
    if command is Command.DO_SET_ROI:
        if any(map(math.isnan, params[4:])):
            report.error(where, "DO_SET_ROI has no location; give its latitude, longitude and altitude")
        report.remark(where, "PX4 loses the location of DO_SET_ROI (201); use DO_SET_ROI_LOCATION (195)")
