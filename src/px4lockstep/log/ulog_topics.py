"""The topics of an exported ULog file: their fields, the columns of the log that they come from, and their rates.

Fields of PX4's inputs and outputs are those of `px4.fields`. A field that the simulator does not know is 0, or NaN
where 0 would be a measurement. The estimate is in the plain topics, the true state in `…_groundtruth`. A flight without
an estimate, such as one of stock PX4, which estimates by itself, has the true state in both.
"""

from dataclasses import dataclass, field, replace

from px4lockstep.log.export_source import About
from px4lockstep.log.log import Log
from px4lockstep.px4.fields import HERE, INPUT_FIELDS, NAN, OUTPUT_FIELDS, Fields, battery_fields

STATE, STATUS, SLOW, SAMPLES = "state", "status", "slow", "samples"
"""When a topic has a message: at every row (within the user's rate), on change and once per second, 10 times per second
and on change, or at every row with new values (within the user's rate)."""

ESTIMATE = {name: f"est_{name}" for name in ("pos_ned", "vel_ned", "q_bn", "omega_body")} | {"is_valid": "est_valid"}
"""Columns of the estimate, by the names in `px4.fields`; those of the true state have these names themselves."""
NOW: Fields = {"timestamp": "time_us"}
IMU = ("sensor_gyro_rad_s", "sensor_accel_m_s2")
BARO = ("sensor_pressure_alt_m", "sensor_abs_pressure_hpa", "sensor_temperature_c")
GPS = tuple(
    f"sensor_gps_{name}" for name in ("lat_1e7", "lon_1e7", "alt_mm", "fix_type", "vn_cm_s", "ve_cm_s", "vd_cm_s")
)
POSITION_AND_VELOCITY_VALID = 0x3F
"""Bits of `solution_status_flags`: attitude, velocity, and relative and absolute position."""


@dataclass(frozen=True)
class Topic:
    """A topic, or one instance of it."""

    name: str
    fields: Fields
    needs: tuple[str, ...]  # columns without which the topic is omitted
    when: str = STATE
    watched: tuple[str, ...] = ()  # columns whose changes give a message
    names: dict[str, str] = field(default_factory=dict)  # columns by the names in `fields`, where they differ
    instance: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that must be in the log, by the names there."""
        return tuple(self.names.get(name, name) for name in self.needs)


def _output(topic: str, **more: str | float) -> Topic:
    """Return a topic that PX4's controllers publish."""
    fields = OUTPUT_FIELDS[topic]
    has_sample = topic not in ("vehicle_attitude_setpoint", "vehicle_rates_setpoint", "trajectory_setpoint")
    needs = tuple(dict.fromkeys(name.partition("[")[0] for name in fields.values()))
    return Topic(topic, {**(HERE if has_sample else NOW), **fields, **more}, needs)


def _of(name: str, needs: tuple[str, ...], **more: str | float) -> Topic:
    """Return a topic that an estimator publishes."""
    return Topic(name, {**INPUT_FIELDS[name], **more}, needs)


MOTION = (
    _of("vehicle_attitude", ("q_bn",)),
    _of("vehicle_angular_velocity", ("omega_body",), xyz_derivative=NAN),
    _of(
        "vehicle_local_position",
        ("pos_ned", "vel_ned", "q_bn"),
        **dict.fromkeys(("ax", "ay", "az"), NAN),
        **dict.fromkeys(("xy_global", "z_global"), "has_home"),
        dist_bottom=NAN,
    ),
    replace(
        _of("vehicle_global_position", ("pos_ned", "home"), alt_ellipsoid=NAN, terrain_alt=NAN, terrain_alt_valid=0.0),
        when=SLOW,
    ),
)
"""Topics of both the estimate and the true state."""

SETPOINTS = (
    _output("vehicle_attitude_setpoint", thrust_body="thrust_sp_body", yaw_sp_move_rate="yawspeed_sp"),
    _output("vehicle_rates_setpoint", thrust_body="thrust_sp_body"),
    _output("trajectory_setpoint", jerk=NAN),
    Topic(
        "vehicle_local_position_setpoint",
        {
            **NOW,
            **{name: f"pos_sp_ned[{i}]" for i, name in enumerate("xyz")},
            **{f"v{name}": f"vel_sp_ned[{i}]" for i, name in enumerate("xyz")},
            "acceleration": "acc_sp_ned",
            "thrust": NAN,
            "yaw": "yaw_sp",
            "yawspeed": "yawspeed_sp",
        },
        ("pos_sp_ned", "vel_sp_ned"),
    ),
    _output("vehicle_thrust_setpoint"),
    _output("vehicle_torque_setpoint"),
    Topic("actuator_motors", {**HERE, "control": "motor_controls"}, ("motors",)),
    Topic("actuator_servos", {**HERE, "control": "servo_controls"}, ("servos",)),
    Topic("actuator_outputs", {**NOW, "noutputs": "output_count", "output": "outputs_us"}, ("motors",), SLOW),
)

STATUS_TOPICS = (
    Topic(
        "vehicle_status",
        {**INPUT_FIELDS["vehicle_status"], "takeoff_time": "takeoff_us", "failsafe": "has_failsafe"},
        ("armed", "nav_state"),
        STATUS,
        ("armed", "nav_state", "failsafe", "landed"),
    ),
    Topic("actuator_armed", INPUT_FIELDS["actuator_armed"], ("armed",), STATUS, ("armed",)),
    Topic("vehicle_land_detected", INPUT_FIELDS["vehicle_land_detected"], ("landed",), STATUS, ("landed",)),
    Topic(
        "failsafe_flags",
        {
            **NOW,
            **dict.fromkeys(("local_position_invalid", "local_velocity_invalid", "global_position_invalid"), "is_lost"),
            "geofence_breached": "is_geofence",
            "fd_motor_failure": "is_motor_failure",
            "battery_warning": "worst_battery_warning",
            "auto_mission_missing": "has_no_mission",
        },
        ("failsafe",),
        STATUS,
        ("failsafe", "est_valid", "battery_warning", "mission_count"),
        ESTIMATE,
    ),
    Topic(
        "mission_result",
        {
            **NOW,
            **OUTPUT_FIELDS["mission_result"],
            "timestamp": "time_us",
            "seq_reached": "mission_reached",
            "valid": "has_mission",
            "failure": 0.0,
        },
        ("mission_item", "mission_count", "mission_finished"),
        STATUS,
        ("mission_item", "mission_count", "mission_finished"),
    ),
    Topic(
        "home_position",
        {
            **INPUT_FIELDS["home_position"],
            "timestamp": "time_us",
            "update_count": 1.0,
            **dict.fromkeys(("roll", "pitch", "yaw"), NAN),
        },
        ("home",),
        STATUS,
    ),
    Topic(
        "estimator_status",
        {
            **HERE,
            "solution_status_flags": "solution_flags",
            **dict.fromkeys(("pos_horiz_accuracy", "pos_vert_accuracy"), INPUT_FIELDS["vehicle_local_position"]["eph"]),
            "output_tracking_error": NAN,
            **{f"{what}_test_ratio": NAN for what in ("hdg", "vel", "pos", "hgt", "tas", "hagl", "beta")},
            **{
                f"mag_{what}": NAN
                for what in ("inclination_deg", "inclination_ref_deg", "strength_gs", "strength_ref_gs")
            },
        },
        ("is_valid",),
        STATUS,
        ("est_valid",),
        ESTIMATE,
    ),
)

SENSORS = (
    Topic(
        "sensor_combined",
        {
            **NOW,
            "gyro_rad": "sensor_gyro_rad_s",
            "accelerometer_m_s2": "sensor_accel_m_s2",
            **dict.fromkeys(("gyro_integral_dt", "accelerometer_integral_dt"), "autopilot_period_us"),
        },
        IMU,
        SAMPLES,
        IMU,
    ),
    Topic(
        "vehicle_air_data",
        {
            **HERE,
            "baro_alt_meter": "sensor_pressure_alt_m",
            "baro_pressure_pa": "baro_pressure_pa",
            "ambient_temperature": "sensor_temperature_c",
            "rho": "air_density_kg_m3",
        },
        BARO,
        SLOW,
    ),
    Topic("vehicle_magnetometer", {**HERE, "magnetometer_ga": "sensor_mag_gauss"}, ("sensor_mag_gauss",), SLOW),
)
UNKNOWN_TO_GPS: Fields = dict.fromkeys(
    ("s_variance_m_s", "c_variance_rad", "hdop", "vdop", "heading", "heading_offset", "heading_accuracy"), NAN
)
GPS_TOPIC = Topic(
    "vehicle_gps_position",
    {
        **HERE,
        **UNKNOWN_TO_GPS,
        "latitude_deg": "gps_lat_deg",
        "longitude_deg": "gps_lon_deg",
        **dict.fromkeys(("altitude_msl_m", "altitude_ellipsoid_m"), "gps_alt_m"),
        "eph": "gps_eph_m",
        "epv": "gps_epv_m",
        "vel_m_s": "gps_speed_m_s",
        **{f"vel_{axis}_m_s": f"gps_v{axis}_m_s" for axis in "ned"},
        "cog_rad": "gps_cog_rad",
        "fix_type": "sensor_gps_fix_type",
        "vel_ned_valid": "gps_has_fix",
        "satellites_used": "sensor_gps_satellites",
    },
    GPS,
    SAMPLES,
    GPS,
)
IDEAL_GPS = Topic(
    "vehicle_gps_position",
    {
        **HERE,
        **UNKNOWN_TO_GPS,
        "latitude_deg": "lat_deg",
        "longitude_deg": "lon_deg",
        **dict.fromkeys(("altitude_msl_m", "altitude_ellipsoid_m"), "alt_m"),
        **dict.fromkeys(("eph", "epv"), NAN),
        "vel_m_s": "ground_speed_m_s",
        **{f"vel_{axis}_m_s": f"vel_ned[{i}]" for i, axis in enumerate("ned")},
        "cog_rad": NAN,
        "fix_type": 3.0,
        "vel_ned_valid": 1.0,
    },
    ("pos_ned", "vel_ned", "home"),
    SLOW,
)
"""The true position, for flights in which nothing reads sensors: maps in Flight Review need this topic."""


def has_estimate(log: Log, about: About) -> bool:
    """Return whether a log has the estimate with which the vehicle flew."""
    return not about.estimates_itself and all(column in log for column in ESTIMATE.values())


def topics_of(log: Log, about: About) -> list[Topic]:
    """Return the topics that a log has the columns for."""
    estimate = ESTIMATE if has_estimate(log, about) else {}
    found = [replace(topic, names=estimate) for topic in MOTION]
    found += SETPOINTS
    if not about.state_is_estimate:
        found += [replace(topic, name=f"{topic.name}_groundtruth") for topic in MOTION]
    found += [GPS_TOPIC if "sensor_gps_lat_1e7" in log else IDEAL_GPS, *SENSORS]
    found += [_battery(i, about) for i in range(_width(log, "battery_voltage_v"))]
    found += [topic for topic in STATUS_TOPICS if estimate or topic.name != "estimator_status"]
    given = {*log.names, *(("home",) if about.home is not None else ())}
    return [topic for topic in found if given.issuperset(topic.columns)]


def _battery(index: int, about: About) -> Topic:
    """Return the topic of a battery, numbered from 0."""
    capacity_mah, cells = 0.0, 0
    if index < len(about.batteries):
        battery = about.batteries[index]
        capacity_mah, cells = 1e3 * battery.capacity_ah, battery.cells or 0
    unknown = dict.fromkeys(("discharged_mah", "internal_resistance_estimate", "ocv_estimate"), NAN)
    fields = {**battery_fields(index, capacity_mah, cells), **unknown}
    return Topic("battery_status", fields, ("battery_voltage_v",), SLOW, ("battery_warning",), instance=index)


def _width(log: Log, name: str) -> int:
    return log.part(name, slice(0, 0)).shape[1] if name in log else 0
