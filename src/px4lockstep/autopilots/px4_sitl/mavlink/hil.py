"""The messages of every step: sensors, GPS and the true state to PX4, motors from it.

Fields are in MAVLink's order on the wire, the wide ones first; units are MAVLink's. What does not fit into a field is
clipped to its range: PX4 reads a wrapped number as a jump.

Reference: https://mavlink.io/en/messages/common.html#HIL_SENSOR, and #HIL_GPS, #HIL_STATE_QUATERNION,
#HIL_ACTUATOR_CONTROLS.
"""

import struct
from collections.abc import Sequence
from typing import NamedTuple

from px4lockstep.autopilots.px4_sitl.mavlink.frame import frame

HIL_ACTUATOR_CONTROLS, HIL_SENSOR, HIL_GPS, HIL_STATE_QUATERNION = 93, 107, 113, 115
CRC_EXTRA = {HIL_ACTUATOR_CONTROLS: 47, HIL_SENSOR: 108, HIL_GPS: 124, HIL_STATE_QUATERNION: 4}

ACTUATORS = struct.Struct("<QQ16fB")
SENSOR = struct.Struct("<Q13fIB")
GPS = struct.Struct("<QiiiHHHhhhHBB")
"""Without the extensions id and yaw, which are 0: the first GPS, and a yaw that is not known."""
STATE = struct.Struct("<QfffffffiiihhhHHhhh")
RANGES = {"i": (-(2**31), 2**31 - 1), "h": (-(2**15), 2**15 - 1), "H": (0, 2**16 - 1), "B": (0, 255)}
SENDER = (1, 200)
"""System and component."""

ARMED = 128
"""The bit of `mode` that says so."""
LOCKSTEP = 1
"""The bit of `flags` that says so."""


class Actuators(NamedTuple):
    """HIL_ACTUATOR_CONTROLS: what PX4 answers to a step."""

    time_us: int
    controls: tuple[float, ...]
    is_armed: bool
    is_lockstep: bool

    @classmethod
    def of(cls, payload: bytes) -> "Actuators":
        """Read a payload, whose zeros at the end may be missing."""
        values = ACTUATORS.unpack(payload.ljust(ACTUATORS.size, b"\0")[: ACTUATORS.size])
        return cls(values[0], values[2:18], bool(values[18] & ARMED), bool(values[1] & LOCKSTEP))


class HilSender:
    """Packs the messages of a simulator, and counts them."""

    def __init__(self) -> None:
        self._sequence = 0

    def sensor(self, time_us: int, values: Sequence[float], fields_updated: int) -> bytes:
        """Return the frame of HIL_SENSOR, of the first sensors (id 0), which set PX4's clock: its time rises strictly.

        Values are accelerometer [m/s²], gyro [rad/s], magnetometer [gauss] (3 each, FRD), absolute and differential
        pressure [hPa], pressure altitude [m] and temperature [°C]; a bit of `fields_updated` says that one is new.
        """
        return self._frame(HIL_SENSOR, SENSOR.pack(time_us, *values, fields_updated, 0))

    def gps(self, time_us: int, *fields: int) -> bytes:
        """Return the frame of HIL_GPS: place, accuracy, speed over ground, velocity, course, fix and satellites.

        Units are 1e-7 ° for latitude and longitude, mm above sea level, cm, cm/s and 0.01 °.
        """
        return self._frame(HIL_GPS, GPS.pack(time_us, *map(_clipped, fields, GPS.format[2:])))

    def state(self, time_us: int, attitude: Sequence[float], *fields: int) -> bytes:
        """Return the frame of HIL_STATE_QUATERNION, the truth, from q_bn with the rates [rad/s], and whole numbers.

        These are the place as in HIL_GPS, velocity in NED, both airspeeds [cm/s] and the specific force [mg].
        """
        payload = STATE.pack(time_us, *attitude, *map(_clipped, fields, STATE.format[9:]))
        return self._frame(HIL_STATE_QUATERNION, payload)

    def _frame(self, message: int, payload: bytes) -> bytes:
        sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFF
        return frame(message, CRC_EXTRA[message], payload, sequence, *SENDER)


def _clipped(value: int, kind: str) -> int:
    """Return a number within the range of a field, which is given by its letter in a format."""
    low, high = RANGES[kind]
    return min(max(int(value), low), high)
