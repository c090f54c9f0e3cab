"""Where the columns of a log come from in a ULog file: topics and fields, of PX4 from 2016 on.

A column has several sources; the first topic that the file has, with all fields, is used. `LINEAR` values are
interpolated between messages, `ATTITUDE` along the shortest rotation; `HELD` values are held until the next message,
and `SETPOINT`s too, but they become NaN when they are no longer published.
"""

from dataclasses import dataclass

LINEAR, ATTITUDE, HELD, SETPOINT = "linear", "attitude", "held", "setpoint"
TRUTH = "_groundtruth"


@dataclass(frozen=True)
class Source:
    """A topic and its fields, one for each component of a column, each multiplied by `scale`."""

    topic: str
    fields: tuple[str, ...]
    scale: float = 1.0


def _xyz(name: str, count: int = 3) -> tuple[str, ...]:
    return tuple(f"{name}[{i}]" for i in range(count))


def state_sources(suffix: str) -> dict[str, tuple[str, tuple[Source, ...]]]:
    """Return the sources of the state: of the truth with the suffix of its topics, of the estimate without one."""
    position, attitude = f"vehicle_local_position{suffix}", f"vehicle_attitude{suffix}"
    rates: tuple[Source, ...] = (
        Source(f"vehicle_angular_velocity{suffix}", _xyz("xyz")),
        Source(attitude, ("rollspeed", "pitchspeed", "yawspeed")),  # until 2019
    )
    if not suffix:
        rates += (Source("control_state", ("roll_rate", "pitch_rate", "yaw_rate")),)
        rates += (Source("sensor_combined", _xyz("gyro_rad")),)
    return {
        "pos_ned": (LINEAR, (Source(position, ("x", "y", "z")),)),
        "vel_ned": (LINEAR, (Source(position, ("vx", "vy", "vz")),)),
        "q_bn": (ATTITUDE, (Source(attitude, _xyz("q", 4)), *_old_attitude(suffix))),
        "omega_body": (LINEAR, rates),
    }


def _old_attitude(suffix: str) -> tuple[Source, ...]:
    return () if suffix else (Source("control_state", _xyz("q", 4)),)


ARMED = 2
"""`arming_state` of an armed vehicle, in all versions."""
PASCAL = 0.01
"""hPa per Pa."""
MAX_PRESSURE_HPA = 2_000.0
"""A higher number is a pressure in Pa; the highest on the ground is below 1,100 hPa, and 2,000 Pa are at 26 km."""

COLUMN_SOURCES: dict[str, tuple[str, tuple[Source, ...]]] = {
    "sensor_accel_m_s2": (LINEAR, (Source("sensor_combined", _xyz("accelerometer_m_s2")),)),
    "sensor_gyro_rad_s": (LINEAR, (Source("sensor_combined", _xyz("gyro_rad")),)),
    "sensor_mag_gauss": (
        LINEAR,
        (
            Source("vehicle_magnetometer", _xyz("magnetometer_ga")),
            Source("sensor_combined", _xyz("magnetometer_ga")),
        ),
    ),
    "sensor_abs_pressure_hpa": (
        LINEAR,
        (Source("vehicle_air_data", ("baro_pressure_pa",), PASCAL), Source("sensor_baro", ("pressure",))),
    ),
    "sensor_pressure_alt_m": (
        LINEAR,
        (Source("vehicle_air_data", ("baro_alt_meter",)), Source("sensor_combined", ("baro_alt_meter",))),
    ),
    "sensor_temperature_c": (
        LINEAR,
        (
            Source("vehicle_air_data", ("ambient_temperature",)),
            Source("vehicle_air_data", ("baro_temp_celcius",)),
            Source("sensor_combined", ("baro_temp_celcius",)),
        ),
    ),
    "failsafe": (HELD, (Source("vehicle_status", ("failsafe",)),)),
    "nav_state": (HELD, (Source("vehicle_status", ("nav_state",)),)),
    "armed": (HELD, (Source("vehicle_status", ("arming_state",)), Source("actuator_armed", ("armed",)))),
    "mission_item": (HELD, (Source("mission_result", ("seq_current",)),)),
    "mission_count": (HELD, (Source("mission_result", ("seq_total",)),)),
    "mission_finished": (HELD, (Source("mission_result", ("finished",)),)),
    "landed": (HELD, (Source("vehicle_land_detected", ("landed",)),)),
    "pos_sp_ned": (
        SETPOINT,
        (
            Source("trajectory_setpoint", _xyz("position")),
            Source("trajectory_setpoint", ("x", "y", "z")),
            Source("vehicle_local_position_setpoint", ("x", "y", "z")),
        ),
    ),
    "vel_sp_ned": (
        SETPOINT,
        (
            Source("trajectory_setpoint", _xyz("velocity")),
            Source("trajectory_setpoint", ("vx", "vy", "vz")),
            Source("vehicle_local_position_setpoint", ("vx", "vy", "vz")),
        ),
    ),
    "acc_sp_ned": (
        SETPOINT,
        (
            Source("trajectory_setpoint", _xyz("acceleration")),
            Source("vehicle_local_position_setpoint", _xyz("acceleration")),
            Source("vehicle_local_position_setpoint", ("acc_x", "acc_y", "acc_z")),
        ),
    ),
    "yaw_sp": (
        SETPOINT,
        (Source("trajectory_setpoint", ("yaw",)), Source("vehicle_local_position_setpoint", ("yaw",))),
    ),
    "yawspeed_sp": (
        SETPOINT,
        (Source("trajectory_setpoint", ("yawspeed",)), Source("vehicle_local_position_setpoint", ("yawspeed",))),
    ),
    "q_sp": (SETPOINT, (Source("vehicle_attitude_setpoint", _xyz("q_d", 4)),)),
    "rate_sp_body": (SETPOINT, (Source("vehicle_rates_setpoint", ("roll", "pitch", "yaw")),)),
    "torque_sp_body": (
        SETPOINT,
        (Source("vehicle_torque_setpoint", _xyz("xyz")), Source("actuator_controls_0", _xyz("control"))),
    ),
    "thrust_sp_body": (SETPOINT, (Source("vehicle_thrust_setpoint", _xyz("xyz")),)),
    "air_density_kg_m3": (LINEAR, (Source("vehicle_air_data", ("rho",)),)),
}
"""The columns that are plain copies of fields, besides those of the state: kind and sources, the best first."""

GPS: dict[str, tuple[tuple[str, float], ...]] = {
    "gps_lat_1e7": (("latitude_deg", 1e7), ("lat", 1.0)),
    "gps_lon_1e7": (("longitude_deg", 1e7), ("lon", 1.0)),
    "gps_alt_mm": (("altitude_msl_m", 1e3), ("alt", 1.0)),
    "gps_eph_cm": (("eph", 100.0),),
    "gps_epv_cm": (("epv", 100.0),),
    "gps_vel_cm_s": (("vel_m_s", 100.0),),
    "gps_vn_cm_s": (("vel_n_m_s", 100.0),),
    "gps_ve_cm_s": (("vel_e_m_s", 100.0),),
    "gps_vd_cm_s": (("vel_d_m_s", 100.0),),
    "gps_fix_type": (("fix_type", 1.0),),
    "gps_satellites": (("satellites_used", 1.0),),
}
"""Columns of the GPS, each with its fields and their scales, the newest first."""
GPS_ACCURACIES = ("gps_eph_cm", "gps_epv_cm")
GPS_TOPICS = ("vehicle_gps_position", "sensor_gps")
MOTOR_TOPICS = ("actuator_motors", "actuator_outputs_sim", "actuator_outputs")
BATTERY = {
    "battery_voltage_v": "voltage_v",
    "battery_current_a": "current_a",
    "battery_remaining": "remaining",
    "battery_warning": "warning",
}
"""Columns of the batteries and their fields in `battery_status`, whose instances are the batteries."""

EXTRA_TOPICS = ("actuator_servos", "battery_status", "esc_status", *GPS_TOPICS, *MOTOR_TOPICS)


def wanted_topics() -> list[str]:
    """Return the names of all topics that an import reads."""
    tables = (state_sources(""), state_sources(TRUTH), COLUMN_SOURCES)
    named = [source.topic for table in tables for _, sources in table.values() for source in sources]
    return list(dict.fromkeys([*named, *EXTRA_TOPICS]))
