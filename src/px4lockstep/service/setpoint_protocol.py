"""Setpoints of offboard mode, sticks, and targets to follow, from MAVLink's messages.

PX4's rules: a component that the type mask ignores is not controlled; velocities and accelerations in the frame
BODY_NED are turned by the yaw; local frames other than LOCAL_NED and BODY_NED are refused by a text.

Reference: https://mavlink.io/en/services/offboard_control.html
"""

import math
from collections.abc import Callable
from typing import Any

from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.scenario.commands import FollowTarget, Setpoint, Sticks
from px4lockstep.service.request import Request
from px4lockstep.service.telemetry import euler, yaw_of
from px4lockstep.service.vehicle import Vehicle

MANUAL_CONTROL, SET_ATTITUDE_TARGET, SET_POSITION_TARGET_LOCAL_NED, SET_POSITION_TARGET_GLOBAL_INT = 69, 82, 84, 86
FOLLOW_TARGET = 144
SETPOINTS = SET_ATTITUDE_TARGET, SET_POSITION_TARGET_LOCAL_NED, SET_POSITION_TARGET_GLOBAL_INT
NUMBERS = (MANUAL_CONTROL, FOLLOW_TARGET, *SETPOINTS)
LOCAL_NED, BODY_NED = 1, 8
GLOBAL_FRAMES, RELATIVE_FRAMES = (0, 5), (3, 6)
POSITION_BITS, VELOCITY_BITS, ACCELERATION_BITS, YAW_BIT, YAW_RATE_BIT = 0, 3, 6, 10, 11
NO_RATES, NO_THRUST, NO_ATTITUDE = 0b111, 1 << 6, 1 << 7
FULL = 1000.0
"""A stick of MANUAL_CONTROL at its end."""
Vector = tuple[float, float, float]
NANS = (math.nan, math.nan, math.nan)


class SetpointProtocol:
    """Turns messages into setpoints and sticks."""

    def __init__(self, vehicle: Vehicle, say: Callable[[str], None]) -> None:
        self._vehicle = vehicle
        self._say = say
        status = vehicle.status
        self._projection = MapProjection(status.home.lat_deg, status.home.lon_deg)
        self._home_ned, self._home_alt_m = status.home_ned, status.home.alt_amsl_m

    def take(self, request: Request) -> None:
        """Process a message."""
        message = request.message
        if request.number == MANUAL_CONTROL:
            if message.target in (0, request.channel.system):
                self._submit(_sticks(message))
        elif request.number == FOLLOW_TARGET:  # to everyone
            velocity = tuple(message.vel)
            self._submit(FollowTarget(1e-7 * message.lat, 1e-7 * message.lon, message.alt, velocity))
        elif not request.is_addressed():
            return
        elif request.number == SET_ATTITUDE_TARGET:
            self._submit(_attitude(message))
        elif request.number == SET_POSITION_TARGET_LOCAL_NED:
            self._submit(self._local(message))
        else:
            self._submit(self._global(message))

    def _submit(self, command: Setpoint | Sticks | FollowTarget | None) -> None:
        if command is not None:
            self._vehicle.submit(command)

    def _local(self, message: Any) -> Setpoint | None:
        frame, mask = message.coordinate_frame, message.type_mask
        pos, vel, acc = _vectors(message, mask)
        if frame == BODY_NED:
            yaw = yaw_of(self._vehicle.status.q_bn)
            if any(map(math.isfinite, pos)):
                self._say("SET_POSITION_TARGET_LOCAL_NED: position is not supported in the frame BODY_NED")
                return None
            vel, acc = _turned(vel, yaw), _turned(acc, yaw)
        elif frame != LOCAL_NED:
            self._say(f"SET_POSITION_TARGET_LOCAL_NED coordinate frame {frame} unsupported")
            return None
        return self._valid(_trajectory(message, mask, pos, vel, acc), "LOCAL_NED")

    def _global(self, message: Any) -> Setpoint | None:
        frame, mask = message.coordinate_frame, message.type_mask
        if frame not in (*GLOBAL_FRAMES, *RELATIVE_FRAMES):
            self._say(f"SET_POSITION_TARGET_GLOBAL_INT invalid coordinate frame {frame}")
            return None
        lat, lon = 1e-7 * message.lat_int, 1e-7 * message.lon_int
        try:
            north, east = self._projection.to_local(lat, lon)
        except InputError:  # on the other side of the earth, or nowhere
            self._say("SET_POSITION_TARGET_GLOBAL_INT invalid")
            return None
        base_m = self._vehicle.status.home.alt_amsl_m if frame in RELATIVE_FRAMES else 0.0
        down = self._home_alt_m - (message.alt + base_m) + self._home_ned[2]
        place = (north + self._home_ned[0], east + self._home_ned[1], down)
        pos: Vector = _masked(place, mask, POSITION_BITS)
        _, vel, acc = _vectors(message, mask | 0b111)
        return self._valid(_trajectory(message, mask, pos, vel, acc), "GLOBAL_INT")

    def _valid(self, setpoint: Setpoint, name: str) -> Setpoint | None:
        """Return a setpoint; refuse one that controls nothing, which does not count as a stream."""
        if any(map(math.isfinite, (*setpoint.pos_ned, *setpoint.vel_ned, *setpoint.acc_ned))):
            return setpoint
        self._say(f"SET_POSITION_TARGET_{name} invalid")
        return None


def _masked(values: Vector, mask: int, first: int) -> Vector:
    """Return a vector without the components whose bits are set."""
    x, y, z = (math.nan if mask >> (first + i) & 1 else value for i, value in enumerate(values))
    return x, y, z


def _vectors(message: Any, mask: int) -> tuple[Vector, Vector, Vector]:
    m = message
    place = (m.x, m.y, m.z) if hasattr(m, "x") else NANS
    velocity = _masked((m.vx, m.vy, m.vz), mask, VELOCITY_BITS)
    acceleration = _masked((m.afx, m.afy, m.afz), mask, ACCELERATION_BITS)
    return _masked(place, mask, POSITION_BITS), velocity, acceleration


def _turned(vector: Vector, yaw: float) -> Vector:
    x, y, z = vector
    return math.cos(yaw) * x - math.sin(yaw) * y, math.sin(yaw) * x + math.cos(yaw) * y, z


def _trajectory(message: Any, mask: int, pos: Vector, vel: Vector, acc: Vector) -> Setpoint:
    yaw = math.nan if mask >> YAW_BIT & 1 else message.yaw
    rate = math.nan if mask >> YAW_RATE_BIT & 1 else message.yaw_rate
    return Setpoint(pos, vel, acc, yaw_rad=yaw, yaw_rate_rad_s=rate)


def _attitude(message: Any) -> Setpoint | None:
    m = message
    mask = m.type_mask
    if mask & NO_THRUST:
        return None
    thrust = m.thrust
    rates = (m.body_roll_rate, m.body_pitch_rate, m.body_yaw_rate)
    if mask & NO_ATTITUDE:
        roll, pitch, yaw = (0.0 if mask >> i & 1 else rate for i, rate in enumerate(rates))
        return Setpoint(omega_body=(roll, pitch, yaw), thrust=thrust)
    q = m.q
    norm = math.sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    if not 0.5 < norm < 2.0:
        return None
    return Setpoint(attitude_rad=euler([part / norm for part in q]), thrust=thrust)


def _sticks(message: Any) -> Sticks:
    m = message
    roll, pitch, yaw = (_limited(value / FULL) for value in (m.y, m.x, m.r))
    return Sticks(roll, pitch, yaw, _limited(2.0 * m.z / FULL - 1.0))


def _limited(value: float) -> float:
    return max(-1.0, min(1.0, value))
