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
STATE = struct.Struct("<Q4f3f3i3h2H3h")

ARMED = 128
"""The bit of `mode` that says so."""
LOCKSTEP = 1
"""The bit of `flags` that says so."""

I16, U16, I32 = (-(2**15), 2**15 - 1), (0, 2**16 - 1), (-(2**31), 2**31 - 1)


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

    def __init__(self, system: int = 1, component: int = 200) -> None:
        self._sender = (system, component)
        self._sequence = 0

    def sensor(self, time_us: int, values: Sequence[float], fields_updated: int) -> bytes:
        """Return the frame of HIL_SENSOR, of the first sensors (id 0), which set PX4's clock.

        Args:
            time_us: Rises strictly.
            values: Accelerometer [m/s²], gyro [rad/s], magnetometer [gauss] (3 each, FRD), absolute and differential
                pressure [hPa], pressure altitude [m], temperature [°C].
            fields_updated: A bit for each of the values that is new.
        """
        return self._frame(HIL_SENSOR, SENSOR.pack(time_us, *values, fields_updated, 0))

    def gps(
        self,
        time_us: int,
        position: Sequence[int],
        accuracy: Sequence[int],
        velocity: Sequence[int],
        fix_type: int,
        satellites: int,
    ) -> bytes:
        """Return the frame of HIL_GPS.

        Args:
            time_us: Of the step.
            position: Latitude and longitude [1e-7 °], altitude above sea level [mm].
            accuracy: Horizontal and vertical [cm].
            velocity: Over ground, north, east, down [cm/s], course [0.01 °].
            fix_type: 3 is a fix in three dimensions.
            satellites: How many are seen.
        """
        speed, north, east, down, course = velocity
        payload = GPS.pack(
            time_us,
            *(_clipped(value, I32) for value in position),
            *(_clipped(value, U16) for value in accuracy),
            _clipped(speed, U16),
            _clipped(north, I16),
            _clipped(east, I16),
            _clipped(down, I16),
            _clipped(course, U16),
            fix_type,
            satellites,
        )
        return self._frame(HIL_GPS, payload)

    def state(
        self,
        time_us: int,
        q_bn: Sequence[float],
        omega_body: Sequence[float],
        position: Sequence[int],
        vel_ned_cm_s: Sequence[int],
        airspeed_cm_s: int,
        acc_body_mg: Sequence[int],
    ) -> bytes:
        """Return the frame of HIL_STATE_QUATERNION, the truth.

        Args:
            time_us: Of the step.
            q_bn: Attitude.
            omega_body: Rates [rad/s].
            position: Latitude and longitude [1e-7 °], altitude above sea level [mm].
            vel_ned_cm_s: Velocity.
            airspeed_cm_s: Indicated and true.
            acc_body_mg: Specific force [mg].
        """
        payload = STATE.pack(
            time_us,
            *q_bn,
            *omega_body,
            *(_clipped(value, I32) for value in position),
            *(_clipped(value, I16) for value in vel_ned_cm_s),
            _clipped(airspeed_cm_s, U16),
            _clipped(airspeed_cm_s, U16),
            *(_clipped(value, I16) for value in acc_body_mg),
        )
        return self._frame(HIL_STATE_QUATERNION, payload)

    def _frame(self, message: int, payload: bytes) -> bytes:
        sequence, self._sequence = self._sequence, (self._sequence + 1) & 0xFF
        return frame(message, CRC_EXTRA[message], payload, sequence, *self._sender)


def _clipped(value: int, limits: tuple[int, int]) -> int:
    return min(max(int(value), limits[0]), limits[1])
