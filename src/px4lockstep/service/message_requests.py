"""Commands about messages: request one, or the interval of its stream, or change it.

Reference: https://mavlink.io/en/mavgen_python/howto_requestmessages.html
"""

import math

from px4lockstep.autopilots.mavlink.layouts import layout
from px4lockstep.autopilots.mavlink.modes import LISTED, custom_mode
from px4lockstep.scenario.commands import ACCEPTED, DENIED, FAILED
from px4lockstep.service.request import Request
from px4lockstep.service.status import VehicleStatus
from px4lockstep.service.streams import ALL, OFF
from px4lockstep.service.telemetry import MESSAGES

GET_MESSAGE_INTERVAL, SET_MESSAGE_INTERVAL, REQUEST_MESSAGE, REQUEST_PROTOCOL_VERSION = 510, 511, 512, 519
MESSAGE_COMMANDS = (GET_MESSAGE_INTERVAL, SET_MESSAGE_INTERVAL, REQUEST_MESSAGE, REQUEST_PROTOCOL_VERSION)
CAPABILITIES = 0xE8DF
"""Those of PX4, without files: missions, parameters encoded by bytes, COMMAND_INT, setpoints, fence, rally points."""
FLIGHT_VERSION = 0x01120080
"""1.18.0 beta, the version of PX4 whose behaviour is reproduced."""


def answer_message_command(request: Request, status: VehicleStatus) -> int:
    """Carry out a command about messages; return the result."""
    command, message = request.message.command, request.message
    if command == REQUEST_PROTOCOL_VERSION:
        return _send(request, "PROTOCOL_VERSION", 0, status)
    name = _names().get(_whole(message.param1))
    if command == REQUEST_MESSAGE:
        return DENIED if name is None else _send(request, name, _whole(message.param2), status)
    streams = request.channel.streams
    if command == SET_MESSAGE_INTERVAL:
        if name not in ALL:
            return FAILED
        streams.set_interval(name, message.param2, status.time_us)
        return ACCEPTED
    interval_us = streams.interval_us(name) if name in ALL else 0
    request.answer("MESSAGE_INTERVAL", message_id=_whole(message.param1) & 0xFFFF, interval_us=max(OFF, interval_us))
    return ACCEPTED


def _names() -> dict[int, str]:
    """Return the messages that can be requested or streamed, by number."""
    return {layout(name).number: name for name in (*ALL, "AUTOPILOT_VERSION", "AVAILABLE_MODES")}


def _whole(value: float) -> int:
    return int(value) if math.isfinite(value) else -1


def _send(request: Request, name: str, index: int, status: VehicleStatus) -> int:
    if name == "AUTOPILOT_VERSION":
        _send_version(request)
    elif name == "AVAILABLE_MODES":
        return _send_modes(request, index)
    else:
        payload = MESSAGES[name](status) if name in MESSAGES else None
        if payload is None:
            return DENIED
        request.channel.send_payload(name, payload, request.client)
    return ACCEPTED


def _send_version(request: Request) -> None:
    request.answer(
        "AUTOPILOT_VERSION",
        capabilities=CAPABILITIES,
        flight_sw_version=FLIGHT_VERSION,
        middleware_sw_version=FLIGHT_VERSION,
        uid=request.channel.system,
        uid2=(request.channel.system, *(0,) * 17),
    )


def _send_modes(request: Request, index: int) -> int:
    """Send the mode with a number from 1, or all for 0."""
    if not 0 <= index <= len(LISTED):
        return DENIED
    for number, mode in enumerate(LISTED, 1):
        if index in (0, number):
            request.answer(
                "AVAILABLE_MODES",
                number_modes=len(LISTED),
                mode_index=number,
                standard_mode=mode.standard,
                custom_mode=custom_mode(mode.nav_state),
                properties=mode.properties,
                mode_name=mode.name.encode(),
            )
    return ACCEPTED
