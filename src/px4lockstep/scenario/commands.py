"""Commands to a flight from outside, such as from a ground station, and their results.

A command takes effect at an autopilot tick. A flight stores each command with that time, so that it can be flown again
with the same commands: `CommandRow` is a line of `commands.jsonl`.
"""

import dataclasses
import json
import math
import sys
import typing
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Any

from px4lockstep.errors import InputError, suggestion
from px4lockstep.io import json_value
from px4lockstep.reading import json_number, parse_json
from px4lockstep.timebase import MAX_US

MAX_COMMANDS_BYTES = 1_000_000_000
"""Longest text of the commands of a flight, some 16 hours of setpoints at 50 Hz."""
LARGEST = sys.float_info.max
INFINITE = {"inf": math.inf, "-inf": -math.inf}
"""Infinite numbers in a file, in which they are texts, because JSON has none; NaN is null."""
ACCEPTED, TEMPORARILY_REJECTED, DENIED, UNSUPPORTED, FAILED = range(5)
"""Codes of results: the numbers of MAVLink's MAV_RESULT."""


@dataclass(frozen=True)
class Goal:
    """Where a vehicle is to be: at a place of the local frame [m], or on a circle around it at a speed."""

    pos_ned: tuple[float, float, float]
    radius_m: float = 0.0
    speed_m_s: float = 0.0


@dataclass(frozen=True)
class CommandResult:
    """The result of a command, and the reason in the words of PX4 if it was refused.

    `goal` is what an accepted command demands, with the vehicle's own values where the command has none. `failsafe` is
    the number of the one that had changed the mode when the command was given; the log may have no row in between. They
    decide whether the flight obeyed, and are no part of the result that the client gets.
    """

    code: int = ACCEPTED
    text: str = ""
    goal: "Goal | None" = dataclasses.field(default=None, compare=False)
    failsafe: int = dataclasses.field(default=0, compare=False)

    @property
    def is_accepted(self) -> bool:
        """Whether the command had its effect."""
        return self.code == ACCEPTED


def refused(text: str, code: int = TEMPORARILY_REJECTED) -> CommandResult:
    """Return the result of a command that PX4 refuses."""
    return CommandResult(code, text)


@dataclass(frozen=True)
class FlightCommand:
    """A command; its name in a file is that of its class."""

    @property
    def name(self) -> str:
        """Its name in a file."""
        return type(self).__name__


# -- arming and modes ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arm(FlightCommand):
    """Arm; `force` skips the checks."""

    force: bool = False


@dataclass(frozen=True)
class Disarm(FlightCommand):
    """Disarm; `force` stops the motors in flight, too."""

    force: bool = False


@dataclass(frozen=True)
class SetMode(FlightCommand):
    """Change the mode to a `nav_state` of PX4."""

    nav_state: int


@dataclass(frozen=True)
class Takeoff(FlightCommand):
    """Take off to an altitude above sea level [m]; NaN: MIS_TAKEOFF_ALT above the ground."""

    alt_amsl_m: float = math.nan
    yaw_rad: float = math.nan


@dataclass(frozen=True)
class Land(FlightCommand):
    """Land here."""


@dataclass(frozen=True)
class Return(FlightCommand):
    """Return to home or a rally point, and land there."""


@dataclass(frozen=True)
class Hold(FlightCommand):
    """Stop, and hold the position."""


@dataclass(frozen=True)
class GoTo(FlightCommand):
    """Fly to a place and hold there; NaN keeps the current value, and without any the vehicle stops.

    If it may not change the mode, it is refused in other modes than Hold.
    """

    lat_deg: float = math.nan
    lon_deg: float = math.nan
    alt_amsl_m: float = math.nan
    yaw_rad: float = math.nan
    speed_m_s: float = math.nan
    changes_mode: bool = True

    @property
    def stops(self) -> bool:
        """Whether it gives no place, altitude or heading."""
        has_place = math.isfinite(self.lat_deg) and math.isfinite(self.lon_deg)
        return not (has_place or math.isfinite(self.alt_amsl_m) or math.isfinite(self.yaw_rad))


@dataclass(frozen=True)
class ChangeAltitude(FlightCommand):
    """Change the altitude above sea level in Hold; NaN: the current one."""

    alt_amsl_m: float = math.nan


@dataclass(frozen=True)
class SetRoi(FlightCommand):
    """Look at a place during a mission; NaN: at none."""

    lat_deg: float = math.nan
    lon_deg: float = math.nan
    alt_amsl_m: float = math.nan


@dataclass(frozen=True)
class Orbit(FlightCommand):
    """Circle a place; a negative radius is counterclockwise.

    NaN keeps the value of the orbit that is flown. If there is none, it stands for 1 m, 1 m/s, and the current place
    and altitude, as in PX4.
    """

    radius_m: float = math.nan
    speed_m_s: float = math.nan
    yaw_behaviour: int = 0  # MAVLink's ORBIT_YAW_BEHAVIOUR
    lat_deg: float = math.nan
    lon_deg: float = math.nan
    alt_amsl_m: float = math.nan


@dataclass(frozen=True)
class ChangeSpeed(FlightCommand):
    """Fly at this ground speed [m/s] until the mode changes; below 0: the default."""

    speed_m_s: float


@dataclass(frozen=True)
class SetHome(FlightCommand):
    """Move home; NaN: to the current position."""

    lat_deg: float = math.nan
    lon_deg: float = math.nan
    alt_amsl_m: float = math.nan


# -- parameters, mission, fence, rally points ------------------------------------------------------------------------


@dataclass(frozen=True)
class SetParam(FlightCommand):
    """Change a parameter."""

    param: str
    value: float | int


@dataclass(frozen=True)
class Item:
    """An item of a mission, a fence or a list of rally points, as MAVLink's MISSION_ITEM_INT has it."""

    frame: int
    command: int
    params: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    x: float = 0.0  # latitude in degrees
    y: float = 0.0  # longitude in degrees
    z: float = 0.0
    autocontinue: int = 1


@dataclass(frozen=True)
class SetMission(FlightCommand):
    """Replace the mission; `opaque_id` identifies it for ground stations."""

    items: tuple[Item, ...] = ()
    opaque_id: int = 0


@dataclass(frozen=True)
class SetFence(FlightCommand):
    """Replace the geofence."""

    items: tuple[Item, ...] = ()
    opaque_id: int = 0


@dataclass(frozen=True)
class SetRally(FlightCommand):
    """Replace the rally points."""

    items: tuple[Item, ...] = ()
    opaque_id: int = 0


@dataclass(frozen=True)
class ClearMission(FlightCommand):
    """Delete the mission."""


@dataclass(frozen=True)
class StartMission(FlightCommand):
    """Fly the mission, from the current item if it was paused."""


@dataclass(frozen=True)
class SetCurrentItem(FlightCommand):
    """Make an item of the mission the current one."""

    item: int


# -- setpoints and sticks --------------------------------------------------------------------------------------------

NANS = (math.nan, math.nan, math.nan)
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Setpoint(FlightCommand):
    """A setpoint for setpoint mode (PX4's offboard); the fields are those of a setpoint of a scenario."""

    pos_ned: Vector = NANS
    vel_ned: Vector = NANS
    acc_ned: Vector = NANS
    attitude_rad: Vector = NANS
    omega_body: Vector = NANS
    yaw_rad: float = math.nan
    yaw_rate_rad_s: float = math.nan
    thrust: float = math.nan


@dataclass(frozen=True)
class Sticks(FlightCommand):
    """Positions of the sticks, each from -1 to 1: right, forward, up and clockwise are positive."""

    roll: float = 0.0
    pitch: float = 0.0
    yaw: float = 0.0
    throttle: float = 0.0


@dataclass(frozen=True)
class Heartbeat(FlightCommand):
    """A heartbeat of a ground station."""


@dataclass(frozen=True)
class FollowTarget(FlightCommand):
    """Where the target of follow mode is, and its velocity; NaN: unknown."""

    lat_deg: float
    lon_deg: float
    alt_amsl_m: float
    vel_ned: Vector = NANS


# -- the simulated world ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InjectFailure(FlightCommand):
    """Inject a failure: the numbers of MAVLink's FAILURE_UNIT and FAILURE_TYPE, and the instance (0: all)."""

    unit: int
    failure: int
    instance: int = 0


@dataclass(frozen=True)
class SetWind(FlightCommand):
    """Set a wind that is added to the wind model's."""

    vel_ned: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Reset(FlightCommand):
    """End this flight, and begin a new one from the start."""


COMMANDS: dict[str, type[FlightCommand]] = {kind.__name__: kind for kind in FlightCommand.__subclasses__()}
"""All commands by name."""


# -- rows of a file --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CommandRow:
    """A command that was given: when it took effect, when it arrived, and its result."""

    time_us: int
    command: FlightCommand
    result: CommandResult = CommandResult()
    arrival_s: float = 0.0
    """Wall-clock time of its arrival, since the start of the service."""

    def to_json(self) -> str:
        """Return it as a line of a file, the same for equal rows."""
        return json.dumps(self.data, separators=(",", ":"), allow_nan=False)

    @property
    def data(self) -> dict[str, Any]:
        """The object of its line."""
        line: dict[str, Any] = {"time_us": self.time_us, "arrival_s": round(self.arrival_s, 6)}
        line |= {"command": self.command.name, "values": _values(self.command)}
        line |= {"code": self.result.code, "text": self.result.text}
        goal, failsafe = self.result.goal, self.result.failsafe
        line |= {} if goal is None else {"goal": _values(goal)}
        return line | {"failsafe": failsafe} if failsafe else line


def _values(of: FlightCommand | Goal) -> Any:
    """Return the fields of a command or goal as JSON has them, with infinite numbers as texts."""
    return json_value(dataclasses.asdict(of), keeps_infinity=True)


def text_of(rows: typing.Iterable[CommandRow]) -> str:
    """Return rows as the text of a file."""
    return "".join(f"{row.to_json()}\n" for row in rows)


def rows_of(text: str, source: str) -> tuple[CommandRow, ...]:
    """Return the rows in the text of a file.

    Raises:
        InputError: If a line is not a row, or its time is before that of the line above; the message names the line.
    """
    rows: list[CommandRow] = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{source} line {number}"
        row = row_of_data(parse_json(line, where, "a command"), where)
        if rows and row.time_us < rows[-1].time_us:
            raise InputError(f"{where}: time_us = {row.time_us} is before the line above, {rows[-1].time_us}")
        rows.append(row)
    return tuple(rows)


def row_of_data(data: Any, where: str) -> CommandRow:
    """Return the row of a line's object; errors begin with `where`."""
    if not isinstance(data, dict):
        raise InputError(f"{where} must be an object with time_us, command and values")
    time_us, name, values = data.get("time_us"), data.get("command"), data.get("values", {})
    if not isinstance(time_us, int) or isinstance(time_us, bool) or not 0 <= time_us <= MAX_US:
        raise InputError(f"{where}: time_us = {time_us!r:.40} must be a whole number of microseconds, at least 0")
    if not isinstance(name, str) or name not in COMMANDS:
        hint = suggestion(name, COMMANDS) if isinstance(name, str) else ""
        hint = hint or f"; allowed: {', '.join(COMMANDS)}"
        raise InputError(f"{where}: command = {name!r:.40} is unknown{hint}")
    code, text, arrival_s = data.get("code", ACCEPTED), data.get("text", ""), json_number(data.get("arrival_s", 0.0))
    if code not in range(5) or not isinstance(text, str) or arrival_s is None or not math.isfinite(arrival_s):
        raise InputError(f"{where}: code must be 0 to 4, text a text and arrival_s a number")
    command = _made(COMMANDS[name], values, f"{where}: {name}")
    goal = None if data.get("goal") is None else _made(Goal, data["goal"], f"{where}: goal")
    failsafe = data.get("failsafe", 0)
    if not isinstance(failsafe, int):
        raise InputError(f"{where}: failsafe = {failsafe!r:.40} must be a whole number")
    return CommandRow(time_us, command, CommandResult(int(code), text, goal, int(failsafe)), arrival_s)


@cache
def _types(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _made(kind: type, values: Any, where: str) -> Any:
    """Return a dataclass made of the values of a file."""
    fields = {field.name: _types(kind)[field.name] for field in dataclasses.fields(kind)}
    if not isinstance(values, dict) or not values.keys() <= fields.keys():
        raise InputError(f"{where} must have values by name, of {', '.join(fields) or 'none'}")
    made = {name: _value(fields[name], value, f"{where}.{name}") for name, value in values.items()}
    missing = [f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING and f.name not in made]
    if missing:
        raise InputError(f"{where} lacks {', '.join(missing)}")
    return kind(**made)


def _value(kind: Any, value: Any, where: str) -> Any:
    """Return a value of a file as a field has it."""
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        is_open = inner[-1] is Ellipsis
        if not isinstance(value, list) or not (is_open or len(value) == len(inner)):
            raise InputError(f"{where} = {value!r:.40} must be a list{'' if is_open else f' of {len(inner)} values'}")
        return tuple(_value(inner[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if dataclasses.is_dataclass(kind):
        return _made(typing.cast("type", kind), value, where)
    allowed = typing.get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if bool in allowed or isinstance(value, bool):
        if bool not in allowed or not isinstance(value, bool):
            raise InputError(f"{where} = {value!r:.40} must be {'true or false' if bool in allowed else 'a number'}")
        return value
    if float in allowed and value is None:
        return math.nan
    if float in allowed and isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    if isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise InputError(f"{where} = {value!r:.40} is out of range; use null for a number that is not given")
    if isinstance(value, int) and int in allowed:
        return value
    if isinstance(value, int | float) and float in allowed:
        return float(value)
    if isinstance(value, str) and str in allowed:
        return value
    raise InputError(f"{where} = {value!r:.40} must be {' or '.join(each.__name__ for each in allowed)}")
