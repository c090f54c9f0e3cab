"""Setpoints of a flight as MAVLink messages to stock PX4, which follows them in offboard mode.

A trajectory setpoint is SET_POSITION_TARGET_LOCAL_NED, an attitude or body rates are SET_ATTITUDE_TARGET. A setpoint
that changes is sent at once, one that holds is repeated, so that PX4 does not take the stream for lost (COM_OF_LOSS_T).

The origin of PX4's local frame is the place where it booted, as PX4 measures it. Positions are relative to the true
place.

Reference: https://mavlink.io/en/messages/common.html#SET_POSITION_TARGET_LOCAL_NED, and for attitudes and body rates
https://mavlink.io/en/messages/common.html#SET_ATTITUDE_TARGET
"""

import math
from collections.abc import Sequence
from typing import Any

from px4lockstep.autopilots.px4_sitl.api import OFFBOARD, Api
from px4lockstep.math.quaternion import from_euler
from px4lockstep.scenario.setpoint_rows import ATTITUDE, NONE, RATES

AGAIN_US = 20_000
"""Interval at which a setpoint that does not change is repeated."""
LOCAL_NED = 1
"""MAV_FRAME_LOCAL_NED."""
YAW_BIT, YAW_RATE_BIT = 1 << 10, 1 << 11
"""Bits of POSITION_TARGET_TYPEMASK; those of positions, velocities and accelerations are the first nine."""
NO_ROLL_PITCH_RATE, NO_YAW_RATE, NO_ATTITUDE = 0b11, 1 << 2, 1 << 7
"""Bits of ATTITUDE_TARGET_TYPEMASK."""
LEVEL = (1.0, 0.0, 0.0, 0.0)

Fields = tuple[Any, ...]


def trajectory_fields(given: Any, origin_ned: Sequence[float]) -> Fields:
    """Return the fields of SET_POSITION_TARGET_LOCAL_NED from the frame on; what is ignored is NaN, too."""
    pos = [float(value) - start for value, start in zip(given.pos_ned, origin_ned, strict=True)]
    numbers = [*pos, *map(float, given.vel_ned), *map(float, given.acc_ned)]
    mask = sum(1 << i for i, number in enumerate(numbers) if math.isnan(number))
    yaw, yaw_rate = float(given.yaw_rad), float(given.yaw_rate_rad_s)
    mask |= YAW_BIT * math.isnan(yaw) | YAW_RATE_BIT * math.isnan(yaw_rate)
    return LOCAL_NED, mask, *numbers, yaw, yaw_rate


def attitude_fields(given: Any) -> Fields:
    """Return the fields of SET_ATTITUDE_TARGET from the mask on, for an attitude or body rates.

    A free body rate is NaN and not masked: PX4 ignores body rates if roll or pitch is masked.
    """
    thrust = float(given.thrust)
    if given.kind == RATES:
        return NO_ATTITUDE, LEVEL, *map(float, given.omega_body), thrust
    yaw_rate = float(given.yaw_rate_rad_s)
    mask = NO_ROLL_PITCH_RATE | NO_YAW_RATE * math.isnan(yaw_rate)
    attitude = from_euler(*map(float, given.attitude_rad))
    return mask, attitude, math.nan, math.nan, yaw_rate, thrust


class SetpointSender:
    """Sends the setpoint of each tick, and orders offboard mode at each request."""

    def __init__(self) -> None:
        self._requests = 0
        self._sent: tuple[int, Fields] = (NONE, ())
        self._sent_us = 0
        self._origin_ned: tuple[float, ...] | None = None

    def step(self, time_us: int, clock_us: int, inputs: Any, api: Api) -> None:
        """Send what is due at a tick; `clock_us` is PX4's time."""
        if self._origin_ned is None:
            self._origin_ned = tuple(inputs.plant["pos"].tolist())
        asked = inputs.setpoint
        given = asked.setpoint
        kind = int(given.kind)
        if kind != NONE:
            self._send(kind, given, clock_us, api)
        if asked.requests == self._requests:
            return
        self._requests = int(asked.requests)
        if kind == NONE:  # PX4 would reject it, and not answer any step while it is disarmed
            text = f"setpoint mode was requested at {time_us / 1e6:g} s without a setpoint; PX4 was not commanded to it"
            api.warnings.append(text)
        else:
            api.order(OFFBOARD)

    def _send(self, kind: int, given: Any, clock_us: int, api: Api) -> None:
        assert self._origin_ned is not None
        is_attitude = kind in (ATTITUDE, RATES)
        fields = attitude_fields(given) if is_attitude else trajectory_fields(given, self._origin_ned)
        if clock_us - self._sent_us < AGAIN_US and repr(fields) == repr(self._sent[1]):  # NaN equals NaN
            return
        name = "set_attitude_target" if is_attitude else "set_position_target_local_ned"
        api.send_setpoint(name, clock_us // 1000, *fields)
        self._sent, self._sent_us = (kind, fields), clock_us
