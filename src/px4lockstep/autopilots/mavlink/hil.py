"""The messages exchanged at every step: sensors, GPS and the true state to PX4, motor commands from it.

Fields are in MAVLink's wire order, widest first; units are MAVLink's. Values are clipped to the range of their field,
because a wrapped number would be a jump for PX4.

Reference: https://mavlink.io/en/messages/common.html#HIL_SENSOR, and #HIL_GPS, #HIL_STATE_QUATERNION,
#HIL_ACTUATOR_CONTROLS.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from px4lockstep.autopilots.mavlink.frame import frame

HIL_ACTUATOR_CONTROLS, HIL_SENSOR, HIL_GPS, HIL_STATE_QUATERNION = 93, 107, 113, 115
CRC_EXTRA = {HIL_ACTUATOR_CONTROLS: 47, HIL_SENSOR: 108, HIL_GPS: 124, HIL_STATE_QUATERNION: 4}

ACTUATORS = struct.Struct("<QQ16fB")
SENSOR = struct.Struct("<Q13fIB")
GPS = struct.Struct("<QiiiHHHhhhHBB")
"""Without the extension fields id and yaw, whose 0 means the first GPS and an unknown yaw."""
STATE = struct.Struct("<QfffffffiiihhhHHhhh")
RANGES = {"i": (-(2**31), 2**31 - 1), "h": (-(2**15), 2**15 - 1), "H": (0, 2**16 - 1), "B": (0, 255)}
SENDER = (1, 200)
"""System and component ID."""

ARMED = 128
"""Armed bit of `mode`."""
LOCKSTEP = 1
"""Lockstep bit of `flags`."""


class Actuators(NamedTuple):
    """HIL_ACTUATOR_CONTROLS: PX4's answer to a step."""

    time_us: int
    controls: tuple[float, ...]
    is_armed: bool
    is_lockstep: bool

    @classmethod
    def of(cls, payload: bytes) -> "Actuators":
        """Read a payload, whose trailing zeros may be truncated."""
        values = ACTUATORS.unpack(payload.ljust(ACTUATORS.size, b"\0")[: ACTUATORS.size])
        return cls(values[0], values[2:18], bool(values[18] & ARMED), bool(values[1] & LOCKSTEP))


class HilSender:
    """Packs the simulator's messages into frames, and numbers them."""

    def __init__(self) -> None:
        self._sequence = 0

    def sensor(self, time_us: int, values: Sequence[float], fields_updated: int) -> bytes:
        """Return a HIL_SENSOR frame for the first sensors (id 0). It sets PX4's clock: times must strictly increase.

        Values are accelerometer [m/s²], gyro [rad/s], magnetometer [gauss] (3 each, FRD), absolute and differential
        pressure [hPa], pressure altitude [m] and temperature [°C]; each bit of `fields_updated` marks a new one.
        """
        return self._frame(HIL_SENSOR, SENSOR.pack(time_us, *values, fields_updated, 0))

    def gps(self, time_us: int, *fields: int) -> bytes:
        """Return a HIL_GPS frame: position, accuracy, ground speed, velocity, course, fix type and satellites.

        Units are 1e-7 ° for latitude and longitude, mm above sea level, cm, cm/s and 0.01 °.
        """
        return self._frame(HIL_GPS, GPS.pack(time_us, *map(_clipped, fields, GPS.format[2:])))

    def state(self, time_us: int, attitude: Sequence[float], *fields: int) -> bytes:
        """Return a HIL_STATE_QUATERNION frame, the true state, from q_bn and body rates [rad/s], and integers.

        The integers are the position as in HIL_GPS, velocity in NED, both airspeeds [cm/s] and specific force [mg].
        """
        payload = STATE.pack(time_us, *attitude, *map(_clipped, fields, STATE.format[9:]))
        return self._frame(HIL_STATE_QUATERNION, payload)

    def _frame(self, message: int, payload: bytes) -> bytes:
        sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFF
        return frame(message, CRC_EXTRA[message], payload, sequence, *SENDER)


def _clipped(value: int, kind: str) -> int:
    """Return a number clipped to the range of a field, given by its format character."""
    low, high = RANGES[kind]
    return min(max(int(value), low), high)
