"""Messages that report a vehicle's status: their payloads, by the names of MAVLink.

Values are in wire order and in MAVLink's units. They depend on the status only: two links that send a message at the
same time send the same payload.

Reference: https://mavlink.io/en/messages/common.html
"""

import functools
import math
from collections.abc import Callable, Sequence

from px4lockstep.autopilots.mavlink.layouts import layout
from px4lockstep.autopilots.mavlink.modes import LAND, MISSION, RETURN, STANDARD, TAKEOFF, base_mode, custom_mode
from px4lockstep.sensors.magnetometer import earth_field_ned_gauss
from px4lockstep.service.status import GeoPoint, VehicleStatus

QUADROTOR, PX4 = 2, 12
TYPES = {3: 15, 4: QUADROTOR, 6: 13, 8: 14}
"""MAV_TYPE by number of rotors: tricopter, quadrotor, hexarotor, octorotor."""
UNINIT, STANDBY, ACTIVE, CRITICAL = 0, 3, 4, 5
"""MAV_STATE."""
MAVLINK_VERSION = 3
PRESENT, ENABLED, HEALTHY = 0x0200C02F, 0x0201C02F, 0x0320C83F
"""Sensors of SYS_STATUS, as measured on PX4 when it is ready."""
ARMABLE, GPS_SENSOR = 0x10000000, 0x20
IN_MISSION = (MISSION, RETURN, TAKEOFF, LAND)
"""Modes in which PX4 reports that it is in mission mode."""
NO_MISSION = 65_535
"""Total of MISSION_CURRENT without a mission."""
FIX_3D, SATELLITES = 3, 16
EPOCH_US = 1_767_225_600_000_000
"""Beginning of the simulated clock: 2026-01-01."""
FIELD_DATE = 2026.0
GLOBAL, LOCAL_NED, GLOBAL_INT = 0, 1, 5
ESTIMATOR_FLAGS = 959
"""Attitude, velocity and absolute position are good."""
LARGEST = 3.4028234663852886e38
"""Largest float32."""
EARTH_RADIUS_M = 6_371_000.0
RAD_S_TO_RPM = 60.0 / (2.0 * math.pi)
MAX_CELLS = 10
ESCS = 4
"""Motors in one ESC_STATUS."""

Payload = Callable[[VehicleStatus], bytes | None]
"""Returns the payload of a message; None if there is nothing to send."""


def euler(q_bn: Sequence[float]) -> tuple[float, float, float]:
    """Return roll, pitch and yaw."""
    w, x, y, z = q_bn
    roll = math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
    pitch = math.asin(max(-1.0, min(1.0, 2.0 * (w * y - z * x))))
    return roll, pitch, math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def yaw_of(q_bn: Sequence[float]) -> float:
    """Return the yaw."""
    w, x, y, z = q_bn
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def to_body(q_bn: Sequence[float], vector: Sequence[float]) -> tuple[float, float, float]:
    """Return a vector of NED in body axes."""
    w, x, y, z = q_bn
    a, b, c = vector
    return (
        (1 - 2 * (y * y + z * z)) * a + 2 * (x * y + w * z) * b + 2 * (x * z - w * y) * c,
        2 * (x * y - w * z) * a + (1 - 2 * (x * x + z * z)) * b + 2 * (y * z + w * x) * c,
        2 * (x * z + w * y) * a + 2 * (y * z - w * x) * b + (1 - 2 * (x * x + y * y)) * c,
    )


def _pack(name: str, *values: float) -> bytes:
    """Return a payload; numbers beyond the range of float32, of a vehicle out of control, are its largest ones."""
    payload = layout(name).payload
    try:
        return payload.pack(*values)
    except OverflowError:
        return payload.pack(*(_real(value) if isinstance(value, float) else value for value in values))


def _real(value: float) -> float:
    return value if math.isnan(value) else max(-LARGEST, min(LARGEST, value))


def _whole(value: float, largest: int = 2**31 - 1) -> int:
    """Return a value as a signed integer with a largest number; NaN as 0."""
    return max(-largest - 1, min(largest, round(value))) if math.isfinite(value) else 0


def _short(value: float) -> int:
    return _whole(value, 2**15 - 1)


def _degrees7(degrees: float) -> int:
    return _whole(1e7 * degrees)


def _millimetres(metres: float) -> int:
    return _whole(1e3 * metres)


# -- state of the system ---------------------------------------------------------------------------------------------


def heartbeat(s: VehicleStatus) -> bytes:
    """Return HEARTBEAT; the state is critical in a failsafe, and uninitialized while arming would be refused."""
    if s.failsafe:
        state = CRITICAL
    elif s.armed:
        state = ACTIVE
    else:
        state = STANDBY if s.is_armable else UNINIT
    kind = TYPES.get(len(s.motors), QUADROTOR)
    packed = (custom_mode(s.nav_state), kind, PX4, base_mode(s.nav_state, s.armed), state, MAVLINK_VERSION)
    return _pack("HEARTBEAT", *packed)


def current_mode(s: VehicleStatus) -> bytes:
    """Return CURRENT_MODE."""
    mode = custom_mode(s.nav_state)
    return _pack("CURRENT_MODE", mode, mode, STANDARD.get(s.nav_state, 0))


def sys_status(s: VehicleStatus) -> bytes:
    """Return SYS_STATUS, with the first battery."""
    health = HEALTHY | (ARMABLE if s.is_armable else 0)
    if not s.has_position:
        health &= ~GPS_SENSOR
    if s.batteries:
        battery = s.batteries[0]
        power = (_millivolts(battery.voltage_v), _centiamperes(battery.current_a), _percent(battery.remaining))
    else:
        power = (NO_MISSION, -1, -1)
    zeros = (0,) * 6
    values = (PRESENT, ENABLED, health, 0, power[0], power[1], *zeros, power[2], 0, 0, 0)
    return _pack("SYS_STATUS", *values)


def extended_sys_state(s: VehicleStatus) -> bytes:
    """Return EXTENDED_SYS_STATE."""
    return _pack("EXTENDED_SYS_STATE", 0, s.landed_state)


def mission_current(s: VehicleStatus) -> bytes:
    """Return MISSION_CURRENT."""
    mission = s.mission
    mode = 1 if s.nav_state in IN_MISSION else 2
    total = mission.count or NO_MISSION
    ids = (mission.mission_id, mission.fence_id, mission.rally_id)
    return _pack("MISSION_CURRENT", max(0, mission.current), total, mission.state, mode, *ids)


def home_position(s: VehicleStatus) -> bytes:
    """Return HOME_POSITION."""
    home = s.home
    place = (_degrees7(home.lat_deg), _degrees7(home.lon_deg), _millimetres(home.alt_amsl_m))
    return _pack("HOME_POSITION", *place, *s.home_ned, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, s.time_us)


def system_time(s: VehicleStatus) -> bytes:
    """Return SYSTEM_TIME."""
    return _pack("SYSTEM_TIME", EPOCH_US + s.time_us, s.time_us // 1000)


def battery_status(s: VehicleStatus) -> bytes | None:
    """Return BATTERY_STATUS of the first battery."""
    return None if not s.batteries else battery_payload(s, 0)


def battery_payload(s: VehicleStatus, number: int) -> bytes:
    """Return BATTERY_STATUS of a battery; its voltage is that of the first cells, as PX4 reports an unknown number."""
    battery = s.batteries[number]
    left = max(0, _whole(1e3 * battery.voltage_v))
    voltages: list[int] = []
    for _ in range(MAX_CELLS):
        voltages.append(min(left, 65_534) if left or not voltages else 65_535)
        left -= min(left, 65_534)
    values = (-1, -1, 32_767, *voltages, _centiamperes(battery.current_a), number, 1, 1, _percent(battery.remaining))
    charge = battery.warning + 1 if battery.warning < 4 else 0  # MAV_BATTERY_CHARGE_STATE: 1 OK, 2 low, 3 critical
    return _pack("BATTERY_STATUS", *values, 0, charge, 0, 0, 0, 0, 0, 0)


# -- motion ----------------------------------------------------------------------------------------------------------


def attitude(s: VehicleStatus) -> bytes:
    """Return ATTITUDE."""
    return _pack("ATTITUDE", s.time_us // 1000, *euler(s.q_bn), *s.omega_body)


def attitude_quaternion(s: VehicleStatus) -> bytes:
    """Return ATTITUDE_QUATERNION."""
    values = (s.time_us // 1000, *s.q_bn, *s.omega_body)
    return _pack("ATTITUDE_QUATERNION", *values, 0.0, 0.0, 0.0, 0.0)


def local_position_ned(s: VehicleStatus) -> bytes | None:
    """Return LOCAL_POSITION_NED."""
    if not s.has_position:
        return None
    return _pack("LOCAL_POSITION_NED", s.time_us // 1000, *s.pos_ned, *s.vel_ned)


def global_position_int(s: VehicleStatus) -> bytes | None:
    """Return GLOBAL_POSITION_INT."""
    if not s.has_position:
        return None
    place = s.position
    velocity = (_short(100.0 * speed) for speed in s.vel_ned)
    return _pack(
        "GLOBAL_POSITION_INT",
        s.time_us // 1000,
        _degrees7(place.lat_deg),
        _degrees7(place.lon_deg),
        _millimetres(place.alt_amsl_m),
        _millimetres(place.alt_amsl_m - s.home.alt_amsl_m),
        *velocity,
        _whole(math.degrees(yaw_of(s.q_bn)) * 100.0) % 36_000,
    )


def gps_raw_int(s: VehicleStatus) -> bytes:
    """Return GPS_RAW_INT, with a fix while the estimate has a position."""
    place, (north, east, _) = s.position, s.vel_ned
    is_there = s.has_position
    speed, course = math.hypot(north, east), math.degrees(math.atan2(east, north)) % 360.0
    return _pack(
        "GPS_RAW_INT",
        s.time_us,
        *(_degrees7(place.lat_deg), _degrees7(place.lon_deg), _millimetres(place.alt_amsl_m)),
        *(0, 0, min(65_534, _whole(100.0 * speed)), min(35_999, _whole(100.0 * course))),
        *(FIX_3D if is_there else 1, SATELLITES if is_there else 0),
        *(_millimetres(place.alt_amsl_m), 1000, 1500, 200, 0, 0),
    )


def vfr_hud(s: VehicleStatus) -> bytes:
    """Return VFR_HUD."""
    speed = math.hypot(s.vel_ned[0], s.vel_ned[1])
    heading, throttle = _whole(math.degrees(yaw_of(s.q_bn))) % 360, max(0, _short(100.0 * _mean(s.motors)))
    return _pack("VFR_HUD", math.nan, speed, s.position.alt_amsl_m, -s.vel_ned[2], heading, throttle)


def altitude(s: VehicleStatus) -> bytes:
    """Return ALTITUDE."""
    amsl, local = s.position.alt_amsl_m, -s.pos_ned[2]
    relative = amsl - s.home.alt_amsl_m
    return _pack("ALTITUDE", s.time_us, amsl, amsl, local, relative, math.nan, math.nan)


def odometry(s: VehicleStatus) -> bytes:
    """Return ODOMETRY, in NED."""
    unknown = (math.nan, *(0.0,) * 20)
    motion = (*s.pos_ned, *s.q_bn, *s.vel_ned, *s.omega_body)
    return _pack("ODOMETRY", s.time_us, *motion, *unknown, *unknown, LOCAL_NED, LOCAL_NED, 0, 8, 0)


def estimator_status(s: VehicleStatus) -> bytes:
    """Return ESTIMATOR_STATUS."""
    flags = ESTIMATOR_FLAGS if s.has_position else 0x21
    return _pack("ESTIMATOR_STATUS", s.time_us, *(0.01,) * 4, 0.0, 0.0, 0.2, 0.3, flags)


# -- sensors ---------------------------------------------------------------------------------------------------------


@functools.cache
def _field_ned_gauss(lat_deg: int, lon_deg: int) -> tuple[float, float, float]:
    """Return the Earth's magnetic field at whole degrees, which is enough for telemetry."""
    return earth_field_ned_gauss(float(lat_deg), float(lon_deg), 0.0, FIELD_DATE)


def _field_body(s: VehicleStatus) -> tuple[float, float, float]:
    return to_body(s.q_bn, _field_ned_gauss(_whole(s.home.lat_deg), _whole(s.home.lon_deg)))


def highres_imu(s: VehicleStatus) -> bytes:
    """Return HIGHRES_IMU."""
    pressure_hpa, alt_m = s.pressure_pa / 100.0, s.position.alt_amsl_m
    values = (*s.acc_body, *s.omega_body, *_field_body(s), pressure_hpa, 0.0, alt_m, s.temperature_c)
    return _pack("HIGHRES_IMU", s.time_us, *values, 0x1FFF, 0)


def scaled_imu(s: VehicleStatus) -> bytes:
    """Return SCALED_IMU."""
    acc = (_short(1e3 * value / 9.80665) for value in s.acc_body)
    gyro = (_short(1e3 * value) for value in s.omega_body)
    field = (_short(1e3 * value) for value in _field_body(s))
    return _pack("SCALED_IMU", s.time_us // 1000, *acc, *gyro, *field, _short(100.0 * s.temperature_c))


def scaled_pressure(s: VehicleStatus) -> bytes:
    """Return SCALED_PRESSURE."""
    temperature = _short(100.0 * s.temperature_c)
    values = (s.time_us // 1000, s.pressure_pa / 100.0, 0.0, temperature, 0)
    return _pack("SCALED_PRESSURE", *values)


def vibration(s: VehicleStatus) -> bytes:
    """Return VIBRATION, which is not simulated."""
    return _pack("VIBRATION", s.time_us, 0.0, 0.0, 0.0, 0, 0, 0)


# -- setpoints and actuators -----------------------------------------------------------------------------------------


def attitude_target(s: VehicleStatus) -> bytes:
    """Return ATTITUDE_TARGET; before there is a setpoint, level with the current yaw."""
    half = 0.5 * yaw_of(s.q_bn)
    q_sp = s.q_sp if any(s.q_sp) else (math.cos(half), 0.0, 0.0, math.sin(half))
    values = (s.time_us // 1000, *q_sp, *s.rate_sp_body, s.thrust_sp, 0)
    return _pack("ATTITUDE_TARGET", *values)


def position_target_local_ned(s: VehicleStatus) -> bytes:
    """Return POSITION_TARGET_LOCAL_NED; the mask marks components that are not controlled."""
    values: tuple[float, ...] = (*s.pos_sp_ned, *s.vel_sp_ned, *s.acc_sp_ned, s.yaw_sp_rad, s.yawspeed_sp_rad_s)
    if not s.armed:
        values = (math.nan,) * len(values)
    mask = 0
    for bit, value in zip((0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11), values, strict=True):
        mask |= (not math.isfinite(value)) << bit
    return _pack("POSITION_TARGET_LOCAL_NED", s.time_us // 1000, *values, mask, LOCAL_NED)


def position_target_global_int(s: VehicleStatus) -> bytes | None:
    """Return POSITION_TARGET_GLOBAL_INT, in automatic flight to a position."""
    if not s.armed or not all(map(math.isfinite, s.pos_sp_ned)):
        return None
    ahead = [target - value for target, value in zip(s.pos_sp_ned, s.pos_ned, strict=True)]
    lat_deg, lon_deg = _moved(s.position, ahead[0], ahead[1])
    where = (_degrees7(lat_deg), _degrees7(lon_deg), s.position.alt_amsl_m - ahead[2])
    return _pack("POSITION_TARGET_GLOBAL_INT", s.time_us // 1000, *where, *(0.0,) * 8, 0, GLOBAL_INT)


def orbit_execution_status(s: VehicleStatus) -> bytes | None:
    """Return ORBIT_EXECUTION_STATUS while the vehicle orbits."""
    if s.orbit is None:
        return None
    place, radius_m = s.orbit
    where = (_degrees7(place.lat_deg), _degrees7(place.lon_deg), place.alt_amsl_m)
    return _pack("ORBIT_EXECUTION_STATUS", s.time_us, radius_m, *where, GLOBAL)


def servo_output_raw(s: VehicleStatus) -> bytes:
    """Return SERVO_OUTPUT_RAW: 1000 to 2000 from no to full duty, 900 while disarmed."""
    pulses = [900 if not s.armed else max(0, _short(1000.0 + 1000.0 * duty)) for duty in s.motors[:16]]
    pulses += [0] * (16 - len(pulses))
    values = (s.time_us & 0xFFFFFFFF, *pulses[:8], 0, *pulses[8:])
    return _pack("SERVO_OUTPUT_RAW", *values)


def actuator_output_status(s: VehicleStatus) -> bytes:
    """Return ACTUATOR_OUTPUT_STATUS."""
    count = min(32, len(s.motors))
    return _pack("ACTUATOR_OUTPUT_STATUS", s.time_us, count, *s.motors[:32], *(0.0,) * (32 - count))


def esc_info(s: VehicleStatus) -> bytes:
    """Return ESC_INFO of the first four motors."""
    count = len(s.motors)
    online = (1 << min(count, ESCS)) - 1
    return _pack("ESC_INFO", s.time_us, *(0,) * 4, 0, *(0,) * 4, *(32_767,) * 4, 0, count, 0, online)


def esc_status(s: VehicleStatus) -> bytes:
    """Return ESC_STATUS of the first four motors."""
    speeds = [_whole(RAD_S_TO_RPM * speed) for speed in s.rotor_rad_s[:ESCS]]
    speeds += [0] * (ESCS - len(speeds))
    volts = s.batteries[0].voltage_v if s.batteries else 0.0
    currents = [*s.motor_currents_a[:ESCS], *(0.0,) * (ESCS - len(s.motor_currents_a))]
    return _pack("ESC_STATUS", s.time_us, *speeds, *(volts,) * ESCS, *currents, 0)


# -- on request only -------------------------------------------------------------------------------------------------


def flight_information(s: VehicleStatus) -> bytes:
    """Return FLIGHT_INFORMATION, without the times of arming and takeoff."""
    return _pack("FLIGHT_INFORMATION", 0, 0, 0, s.time_us // 1000, 0)


def gps_global_origin(s: VehicleStatus) -> bytes:
    """Return GPS_GLOBAL_ORIGIN: the origin of the local frame."""
    place, (north, east, down) = s.home, s.home_ned
    lat_deg, lon_deg = _moved(place, -north, -east)
    where = (_degrees7(lat_deg), _degrees7(lon_deg), _millimetres(place.alt_amsl_m + down))
    return _pack("GPS_GLOBAL_ORIGIN", *where, s.time_us)


def _moved(place: GeoPoint, north_m: float, east_m: float) -> tuple[float, float]:
    """Return latitude and longitude a small distance away from a place."""
    north_deg, east_deg = math.degrees(north_m / EARTH_RADIUS_M), math.degrees(east_m / EARTH_RADIUS_M)
    return place.lat_deg + north_deg, place.lon_deg + east_deg / math.cos(math.radians(place.lat_deg))


def protocol_version(_: VehicleStatus) -> bytes:
    """Return PROTOCOL_VERSION."""
    return _pack("PROTOCOL_VERSION", 200, 100, 203, *(0,) * 16)


def _millivolts(value: float) -> int:
    return max(0, min(65_534, round(1e3 * value))) if math.isfinite(value) else 65_535


def _centiamperes(value: float) -> int:
    return _short(100.0 * value) if math.isfinite(value) else -1


def _percent(value: float) -> int:
    return max(0, min(100, round(100.0 * value))) if math.isfinite(value) else -1


def _mean(values: Sequence[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total / max(1, len(values))


MESSAGES: dict[str, Payload] = {
    function.__name__.upper(): function
    for function in (
        *(heartbeat, current_mode, sys_status, extended_sys_state, mission_current, home_position, system_time),
        *(battery_status, attitude, attitude_quaternion, local_position_ned, global_position_int, gps_raw_int),
        *(vfr_hud, altitude, odometry, estimator_status, highres_imu, scaled_imu, scaled_pressure, vibration),
        *(attitude_target, position_target_local_ned, position_target_global_int, orbit_execution_status),
        *(servo_output_raw, actuator_output_status, esc_info, esc_status, flight_information, protocol_version),
        gps_global_origin,
    )
}
"""The functions above, by the names of their messages."""
