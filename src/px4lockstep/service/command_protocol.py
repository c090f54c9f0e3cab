"""MAVLink's command protocol: COMMAND_LONG, COMMAND_INT and SET_MODE become commands of the vehicle.

A command of the vehicle is acknowledged when it takes effect, with PX4's result. Commands about messages are answered
at once, by `message_requests`.

Reference: https://mavlink.io/en/services/command.html
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from px4lockstep.autopilots.mavlink.modes import LISTED, MISSION, nav_state
from px4lockstep.scenario import commands
from px4lockstep.scenario.commands import (
    ACCEPTED,
    DENIED,
    FAILED,
    TEMPORARILY_REJECTED,
    UNSUPPORTED,
    CommandResult,
    FlightCommand,
)
from px4lockstep.service.message_requests import MESSAGE_COMMANDS, answer_message_command
from px4lockstep.service.request import Request
from px4lockstep.service.vehicle import Vehicle

NUMBERS = COMMAND_INT, COMMAND_LONG, SET_MODE = (75, 76, 11)
DO_SET_MODE, START_MISSION = 176, 300
CHANGES_MODE = 1
"""Bit of MAV_DO_REPOSITION_FLAGS."""
FORCE = 21196.0
"""Second parameter of MAV_CMD_COMPONENT_ARM_DISARM that skips checks, or stops the motors in flight."""
FORCE_REBOOT = 20190226.0
IS_CUSTOM = 1
"""Bit of `base_mode`: the mode is given as PX4's."""
UNKNOWN_PLACE = 2**31 - 1
"""Coordinate of COMMAND_INT that stands for NaN."""
DEGREES7 = 1e-7
MAX_ALT_M = 1e5
STANDARD_MODES = {mode.standard: mode.nav_state for mode in LISTED if mode.standard}


class Given(NamedTuple):
    """The parameters of a command; the position is in degrees and above sea level, NaN if not given."""

    params: tuple[float, ...]
    lat_deg: float
    lon_deg: float
    alt_amsl_m: float


def _arm(given: Given, _: Vehicle) -> Sequence[FlightCommand] | int:
    is_forced = given.params[1] == FORCE
    if given.params[0] == 1.0:
        return (commands.Arm(force=is_forced),)
    return (commands.Disarm(force=is_forced),) if given.params[0] == 0.0 else UNSUPPORTED


def _set_mode(given: Given, _: Vehicle) -> Sequence[FlightCommand] | int:
    base, main, sub = (int(value) if math.isfinite(value) else 0 for value in given.params[:3])
    number = nav_state((main & 0xFF) << 16 | (sub & 0xFF) << 24) if base & IS_CUSTOM else None
    return TEMPORARILY_REJECTED if number is None else (commands.SetMode(number),)


def _set_standard_mode(given: Given, _: Vehicle) -> Sequence[FlightCommand] | int:
    number = STANDARD_MODES.get(int(given.params[0]) if math.isfinite(given.params[0]) else 0)
    return FAILED if number is None else (commands.SetMode(number),)


def _start_mission(given: Given, vehicle: Vehicle) -> Sequence[FlightCommand] | int:
    count, first = vehicle.status.mission.count, given.params[0]
    if not (math.isfinite(first) and -1.0 <= first < count):
        return DENIED
    return (commands.SetCurrentItem(max(0, int(first))), commands.SetMode(MISSION), commands.Arm())


def _takeoff(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    return (commands.Takeoff(given.alt_amsl_m, given.params[3]),)


def _reposition(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    speed_m_s = given.params[0] if given.params[0] > 0.0 else math.nan
    place = (given.lat_deg, given.lon_deg, given.alt_amsl_m)
    flags = int(given.params[1]) if math.isfinite(given.params[1]) else 0
    return (commands.GoTo(*place, given.params[3], speed_m_s, changes_mode=bool(flags & CHANGES_MODE)),)


def _change_altitude(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    return (commands.ChangeAltitude(given.params[0]),)


def _set_roi(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    return (commands.SetRoi(given.lat_deg, given.lon_deg, given.alt_amsl_m),)


def _orbit(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    radius_m, speed_m_s, behaviour = given.params[:3]
    number = int(behaviour) if math.isfinite(behaviour) else 0
    return (commands.Orbit(radius_m, speed_m_s, number, given.lat_deg, given.lon_deg, given.alt_amsl_m),)


def _change_speed(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    return (commands.ChangeSpeed(given.params[1]),)


def _set_home(given: Given, _: Vehicle) -> Sequence[FlightCommand]:
    if given.params[0] == 1.0:
        return (commands.SetHome(),)
    return (commands.SetHome(given.lat_deg, given.lon_deg, given.alt_amsl_m),)


def _set_current(given: Given, _: Vehicle) -> Sequence[FlightCommand] | int:
    number = given.params[0]
    return (commands.SetCurrentItem(int(number)),) if math.isfinite(number) and number >= 0.0 else DENIED


def _inject(given: Given, _: Vehicle) -> Sequence[FlightCommand] | int:
    if not all(map(math.isfinite, given.params[:2])):
        return DENIED
    instance = int(given.params[2]) if math.isfinite(given.params[2]) else 0
    return (commands.InjectFailure(int(given.params[0]), int(given.params[1]), instance),)


def _reboot(given: Given, vehicle: Vehicle) -> Sequence[FlightCommand] | int:
    """Reset the vehicle; in flight only if forced. A crashed vehicle can always be reset."""
    if given.params[0] != 1.0:
        return DENIED
    status = vehicle.status
    may = not status.armed or status.is_crashed or given.params[5] == FORCE_REBOOT
    return (commands.Reset(),) if may else TEMPORARILY_REJECTED


def _always(*wanted: FlightCommand) -> Callable[[Given, Vehicle], Sequence[FlightCommand] | int]:
    """Return a function that returns these commands, whatever the parameters."""
    return lambda *_: wanted


KINDS: dict[int, Callable[[Given, Vehicle], Sequence[FlightCommand] | int]] = {
    20: _always(commands.Return()),
    21: _always(commands.Land()),
    22: _takeoff,
    34: _orbit,
    DO_SET_MODE: _set_mode,
    178: _change_speed,
    179: _set_home,
    186: _change_altitude,
    192: _reposition,
    195: _set_roi,
    197: _always(commands.SetRoi()),
    224: _set_current,
    245: _always(),  # PREFLIGHT_STORAGE: parameters are kept as long as the vehicle
    246: _reboot,
    262: _set_standard_mode,
    START_MISSION: _start_mission,
    400: _arm,
    401: _always(),  # RUN_PREARM_CHECKS: they run all the time
    420: _inject,
}
"""What a MAV_CMD does: commands of the vehicle, or the result of a refusal."""


UNANSWERED = (84,)
"""NAV_VTOL_TAKEOFF, which a multicopter with PX4 does not answer."""
REFUSALS = {DO_SET_MODE: "Unsupported mode", START_MISSION: "Mission start denied! No valid mission"}
"""Texts with which the protocol itself refuses a command; the vehicle has others."""


class CommandProtocol:
    """Takes commands from clients."""

    def __init__(self, vehicle: Vehicle, say: Callable[[str], None]) -> None:
        self._vehicle = vehicle
        self._say = say

    def take(self, request: Request) -> None:
        """Process a message of the protocol."""
        message = request.message
        if request.number == SET_MODE:
            if message.target_system == request.channel.system:
                custom = message.custom_mode
                params = (float(message.base_mode), float(custom >> 16 & 0xFF), float(custom >> 24), *(math.nan,) * 4)
                self._carry_out(request, DO_SET_MODE, Given(params, math.nan, math.nan, math.nan))
        elif request.is_addressed() and message.command not in UNANSWERED:
            if message.command in MESSAGE_COMMANDS:
                self._acknowledge(request, message.command, answer_message_command(request, self._vehicle.status))
            else:
                self._carry_out(request, message.command, self._given(request))

    @staticmethod
    def _given(request: Request) -> Given:
        message = request.message
        first = (message.param1, message.param2, message.param3, message.param4)
        if request.number == COMMAND_LONG:
            place = (message.param5, message.param6, message.param7)
            return Given((*first, *place), *place)
        lat, lon = (math.nan if each == UNKNOWN_PLACE else DEGREES7 * each for each in (message.x, message.y))
        # PX4 ignores the frame: the altitude is above sea level.
        return Given((*first, float(message.x), float(message.y), message.z), lat, lon, message.z)

    def _carry_out(self, request: Request, number: int, given: Given) -> None:
        kind = KINDS.get(number)
        wanted: Sequence[FlightCommand] | int = UNSUPPORTED if kind is None else kind(given, self._vehicle)
        if isinstance(wanted, int) or not wanted:
            if wanted and number in REFUSALS:
                self._say(REFUSALS[number])
            self._acknowledge(request, number, wanted if isinstance(wanted, int) else ACCEPTED)
            return
        results: list[CommandResult] = []

        def on_result(result: CommandResult) -> None:
            results.append(result)
            if len(results) == len(wanted):
                worst = next((each for each in results if each.code != ACCEPTED), result)
                self._acknowledge(request, number, worst.code)

        for command in wanted:
            self._vehicle.submit(command, on_result)

    @staticmethod
    def _acknowledge(request: Request, number: int, result: int) -> None:
        request.answer("COMMAND_ACK", command=number, result=result, **request.sender)
