"""MAVLink's parameter protocol, with PX4's answers: values encoded by their bytes, PARAM_ERROR for refusals.

Reference: https://mavlink.io/en/services/parameter.html
"""

import struct
import zlib
from collections.abc import Sequence

from px4lockstep.scenario.commands import CommandResult, SetParam
from px4lockstep.service.channel import Channel
from px4lockstep.service.request import Request
from px4lockstep.service.vehicle import Vehicle

NUMBERS = PARAM_REQUEST_READ, PARAM_REQUEST_LIST, PARAM_SET = (20, 21, 23)
INT32, REAL32, UINT32 = 6, 9, 5
"""MAV_PARAM_TYPE."""
NO_SUCH, OUT_OF_RANGE, WRONG_TYPE = 1, 2, 7
"""MAV_PARAM_ERROR."""
HASH = "_HASH_CHECK"
"""Not a parameter: a checksum over all of them, by which a ground station knows whether its copy is valid."""
NO_INDEX = 65_535
VALUE = struct.Struct("<4sHH16sB")
"""PARAM_VALUE: value, count, index, name, type."""
FORMATS = {INT32: struct.Struct("<i"), REAL32: struct.Struct("<f"), UINT32: struct.Struct("<I")}


WITHOUT_EFFECT: dict[str, float | int] = {
    "CAL_ACC0_ID": 1310988,
    "CAL_GYRO0_ID": 1310988,
    "CAL_MAG0_ID": 197388,
    "COM_DL_LOSS_T": 10,
    "COM_RC_IN_MODE": 1,
    "NAV_DLL_ACT": 0,
    "SYS_AUTOSTART": 4001,
    "SYS_FAILURE_EN": 1,
}
"""Parameters that clients look for, with the values of PX4's simulator, for a vehicle that has no use for them. The
built-in autopilot has those of a lost ground station, PX4 as a library may not."""


class ParameterProtocol:
    """Answers questions about parameters, and changes them; every link learns of a change."""

    def __init__(self, vehicle: Vehicle, channels: Sequence[Channel]) -> None:
        self._vehicle = vehicle
        self._channels = channels
        self._own: dict[str, float | int] = WITHOUT_EFFECT | {"MAV_SYS_ID": channels[0].system}

    @property
    def _values(self) -> dict[str, float | int]:
        """All parameters, sorted by name as PX4 has them."""
        return dict(sorted({**self._own, **self._vehicle.parameters}.items()))

    def take(self, request: Request) -> None:
        """Process a message of the protocol."""
        if not request.is_addressed(may_be_broadcast=False):
            return
        if request.number == PARAM_REQUEST_LIST:
            self._send_all(request)
            return
        message = request.message
        values = self._values
        name = message.param_id
        if request.number == PARAM_REQUEST_READ and message.param_index >= 0:
            name = next((each for i, each in enumerate(values) if i == message.param_index), "")
        if name == HASH:
            if request.number == PARAM_REQUEST_READ:
                self._send_hash(request)
        elif name not in values:
            self._refuse(request, NO_SUCH)
        elif request.number == PARAM_REQUEST_READ:
            request.channel.send_payload("PARAM_VALUE", self._payload(name), request.client)
        else:
            self._set(request, name)

    def _set(self, request: Request, name: str) -> None:
        kind = _kind(self._values[name])
        if request.message.param_type != kind:
            self._refuse(request, WRONG_TYPE)
            return
        (value,) = FORMATS[kind].unpack(request.payload[:4].ljust(4, b"\0"))

        def on_result(result: CommandResult) -> None:
            if result.is_accepted:
                for channel in self._channels:
                    channel.send_payload("PARAM_VALUE", self._payload(name))
            else:
                self._refuse(request, OUT_OF_RANGE)

        if name not in self._vehicle.parameters:
            self._own[name] = value
            on_result(CommandResult())
            return
        self._vehicle.submit(SetParam(name, value), on_result)

    def _send_all(self, request: Request) -> None:
        values = self._values
        self._send_hash(request)
        for index, (name, value) in enumerate(values.items()):
            payload = _payload(name, _kind(value), value, index, len(values))
            request.channel.send_payload("PARAM_VALUE", payload, request.client)

    def _payload(self, name: str) -> bytes:
        """Return the payload of PARAM_VALUE."""
        values = self._values
        return _payload(name, _kind(values[name]), values[name], list(values).index(name), len(values))

    def _send_hash(self, request: Request) -> None:
        values = self._values
        crc = 0
        for name in values:
            crc = zlib.crc32(name.encode() + FORMATS[_kind(values[name])].pack(values[name]), crc)
        payload = _payload(HASH, UINT32, crc, NO_INDEX, len(values))
        request.channel.send_payload("PARAM_VALUE", payload, request.client)

    @staticmethod
    def _refuse(request: Request, error: int) -> None:
        message = request.message
        index = getattr(message, "param_index", -1)
        name = message.param_id.encode()
        request.answer("PARAM_ERROR", **request.sender, param_id=name, param_index=index, error=error)


def _kind(value: float | int) -> int:
    return INT32 if isinstance(value, int) else REAL32


def _payload(name: str, kind: int, value: float | int, index: int, count: int) -> bytes:
    """Return the payload of PARAM_VALUE; the value's bytes, because not every integer is a float's."""
    return VALUE.pack(FORMATS[kind].pack(value), count, index, name.encode(), kind)
