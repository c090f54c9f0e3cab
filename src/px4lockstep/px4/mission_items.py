"""Mission items: the meaning and allowed values of each command's seven parameters.

The table `RULES` maps the numbers in a file to a `MissionItem`. A parameter that has no effect must be absent (NaN) or
have a neutral value, so that no setting is silently ignored.

Reference: MAVLink's `MAV_CMD`, as PX4 reads it for a multicopter (`MavlinkMissionManager::parse_mavlink_mission_item`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from px4lockstep.errors import ErrorLines


class Command(IntEnum):
    """The supported commands, with MAVLink's numbers; the full names are `MAV_CMD_NAV_…`, or `MAV_CMD_…` for `DO_…`."""

    WAYPOINT = 16
    LOITER_UNLIMITED = 17
    LOITER_TIME = 19
    RETURN_TO_LAUNCH = 20
    LAND = 21
    TAKEOFF = 22
    DELAY = 93
    DO_JUMP = 177
    DO_CHANGE_SPEED = 178

    @property
    def has_position(self) -> bool:
        """Whether it has a position to fly to."""
        return RULES[self][4] is LATITUDE


BY_NUMBER: dict[float, Command] = {command.value: command for command in Command}
ENDS = (Command.LOITER_UNLIMITED, Command.RETURN_TO_LAUNCH, Command.LAND)
"""Commands that end a mission."""
AT_ONCE = (Command.DO_JUMP, Command.DO_CHANGE_SPEED)
"""Commands that take no time."""

_OTHERS = """
    18 NAV_LOITER_TURNS, 31 NAV_LOITER_TO_ALT, 82 NAV_SPLINE_WAYPOINT, 84 NAV_VTOL_TAKEOFF, 85 NAV_VTOL_LAND,
    112 CONDITION_DELAY, 114 CONDITION_DISTANCE, 115 CONDITION_YAW, 176 DO_SET_MODE, 179 DO_SET_HOME,
    183 DO_SET_SERVO, 189 DO_LAND_START, 195 DO_SET_ROI_LOCATION, 197 DO_SET_ROI_NONE, 201 DO_SET_ROI,
    203 DO_DIGICAM_CONTROL, 205 DO_MOUNT_CONTROL, 206 DO_SET_CAM_TRIGG_DIST, 530 SET_CAMERA_MODE,
    1000 DO_GIMBAL_MANAGER_PITCHYAW, 2000 IMAGE_START_CAPTURE, 2001 IMAGE_STOP_CAPTURE, 2500 VIDEO_START_CAPTURE,
    2501 VIDEO_STOP_CAPTURE, 3000 DO_VTOL_TRANSITION, 4501 CONDITION_GATE
"""
NOT_SUPPORTED = {int(number): name for number, name in map(str.split, _OTHERS.split(","))}
"""Unsupported commands that ground stations write, for the error message."""

MSL_FRAMES = (0, 5)
RELATIVE_FRAMES = (3, 6)
MISSION_FRAME = 2


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
    """A value above the largest of `values` counts as that one, with a warning."""

    def permits(self, value: float) -> bool:
        """Return whether a value other than NaN is allowed."""
        if self.values:
            return value in self.values
        return math.isfinite(value) and self.minimum <= value <= self.maximum and not (self.whole and value % 1.0)


def without_effect(name: str, values: tuple[float, ...] = (0.0,), because: str = "") -> Rule:
    """Return the rule for a parameter that has no effect."""
    allowed = " or ".join(f"{value:g}" for value in values)
    return Rule(name, f"{allowed}; {because or 'it is not used'}", values=values, is_optional=True)


UNUSED = without_effect("unused parameter")
LATITUDE = Rule("latitude", "-90 to 90 degrees", "lat_deg", -90.0, 90.0)
LONGITUDE = Rule("longitude", "-180 to 180 degrees", "lon_deg", -180.0, 180.0)
ALTITUDE = Rule("altitude", "a finite number of metres, -100,000 to 100,000", "alt_m", -1e5, 1e5)
THERE = (LATITUDE, LONGITUDE, ALTITUDE)
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
    Command.DELAY: (
        Rule("time", "0 s or more; a time of day is not supported; at most 10,000,000 s", "hold_s", 0.0, LONGEST),
        *(without_effect(part, (0.0, -1.0), "a time of day is not supported") for part in ("hour", "minute", "second")),
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
        without_effect("relative", because="only absolute speeds are supported"),
        *NOWHERE,
    ),
}


def read_item(
    where: str, line: int, frame: float, code: float, params: Sequence[float], report: ErrorLines, warnings: list[str]
) -> MissionItem | None:
    """Return the item for numbers in a file, NaN where absent; report errors, and return None if there are any.

    Values that are not as the protocol defines them, but have one possible meaning, are added to the warnings.
    """
    command = BY_NUMBER.get(code)
    if command is None:
        name = f" ({NOT_SUPPORTED[int(code)]})" if code in NOT_SUPPORTED else ""
        supported = ", ".join(f"{known.value} {known.name}" for known in Command)
        report.append(f"{where}: command {code:g}{name} is not supported; supported commands are {supported}")
        return None
    before = report.total
    fields: dict[str, Any] = {}
    for number, (rule, value) in enumerate(zip(RULES[command], params, strict=True), 1):
        if (math.isnan(value) and rule.is_optional) or value in rule.defaults:
            continue
        given = f"{where}: {command.name} {rule.name} (p{number}) = {value:.12g}"
        if rule.takes_more and math.isfinite(value) and value > max(rule.values):
            warnings.append(f"{given} is taken as {max(rule.values):g} (true)")
        elif math.isnan(value) or not rule.permits(value):
            report.append(f"{given} must be {rule.allowed}")
        elif rule.field:
            fields[rule.field] = int(value) if rule.whole else value
    allowed = MSL_FRAMES + RELATIVE_FRAMES + (() if command.has_position else (MISSION_FRAME,))
    if frame not in allowed:
        report.append(
            f"{where}: frame {frame:g} can't be used with {command.name}; use 3 or 6 (altitude above home), "
            f"0 or 5 (above sea level){'' if command.has_position else ', or 2 (no position)'}"
        )
    if command.has_position and params[4] == params[5] == 0.0:
        report.append(
            f"{where}: {command.name} at latitude 0, longitude 0 is in the Gulf of Guinea; "
            "if it should mean the current position, enter its coordinates"
        )
    if report.total > before:
        return None
    if command.has_position:
        fields["is_relative_alt"] = frame in RELATIVE_FRAMES
    return MissionItem(command, frame=int(frame), line=line, **fields)
