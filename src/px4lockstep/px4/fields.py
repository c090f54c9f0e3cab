"""Mapping of message fields to the host's numbers: the inputs and outputs of PX4.

A field is written from a number whenever its message is published, or has a constant value; all other fields stay 0.
Arrays are copied element by element; `current.valid` is a field of a nested message. The numbers are those of the
host's records `INPUTS` and `OUTPUTS` (`autopilots.px4_library`), and constants of a flight: origin and vehicle type.
"""

import math

HERE = {"timestamp": "time_us", "timestamp_sample": "time_us"}
STAMPED = {"timestamp": "stamp_us"}
ALWAYS = 1.0
NAN = math.nan

Fields = dict[str, str | float]
"""Name of a number, or a constant, by field."""


def _same(value: str | float, names: str) -> Fields:
    """Return fields with the same value, from names separated by spaces."""
    return dict.fromkeys(names.split(), value)


def _axes(vector: str, names: str) -> Fields:
    """Return the fields for the components of a vector, in order."""
    return {name: f"{vector}[{i}]" for i, name in enumerate(names.split())}


INPUT_FIELDS: dict[str, Fields] = {
    "vehicle_attitude": {**HERE, "q": "q_bn", "delta_q_reset": 0.0},
    "vehicle_local_position": {
        **HERE,
        **_same("is_valid", "xy_valid z_valid v_xy_valid v_z_valid"),
        **_axes("pos_ned", "x y z"),
        **_axes("vel_ned", "vx vy vz"),
        "z_deriv": "vel_ned[2]",
        **_same("heading", "heading unaided_heading"),
        **_same(ALWAYS, "heading_good_for_control xy_global z_global"),
        "ref_timestamp": 1.0,
        "ref_lat": "home_lat_deg",
        "ref_lon": "home_lon_deg",
        "ref_alt": "home_alt_m",
        **_same(0.1, "eph epv evh evv"),
        **_same(NAN, "vxy_max vz_max hagl_min hagl_max_z hagl_max_xy"),
    },
    "vehicle_global_position": {
        **_same("stamp_us", "timestamp timestamp_sample"),
        "lat": "lat_deg",
        "lon": "lon_deg",
        "alt": "alt_m",
        "alt_ellipsoid": "alt_m",
        **_same("is_valid", "lat_lon_valid alt_valid"),
        **_same(0.1, "eph epv"),
        "terrain_alt": "home_alt_m",
        "terrain_alt_valid": ALWAYS,
    },
    "vehicle_angular_velocity": {**HERE, "xyz": "omega_body", "xyz_derivative": "omega_dot_body"},
    "vehicle_land_detected": {
        "timestamp": "time_us",
        **_same("landed", "ground_contact maybe_landed landed"),
        **_same("in_air", "vertical_movement horizontal_movement rotational_movement"),
        "at_rest": "landed",
    },
    "vehicle_status": {
        "timestamp": "time_us",
        "armed_time": "armed_since_us",
        "nav_state_timestamp": "mode_since_us",
        "arming_state": "arming_state",
        **_same("nav_state", "nav_state nav_state_user_intention"),
        "vehicle_type": 1.0,  # rotary wing
        "system_type": "mav_type",
        **_same(1.0, "system_id component_id"),
        "pre_flight_checks_pass": ALWAYS,
    },
    "vehicle_control_mode": {
        "timestamp": "time_us",
        "flag_armed": "armed",
        "flag_control_auto_enabled": "is_auto",
        "flag_control_manual_enabled": "is_manual",
        "flag_multicopter_position_control_enabled": "is_auto",
        **{
            f"flag_control_{each}_enabled": ALWAYS
            for each in ("position", "velocity", "altitude", "climb_rate", "attitude", "rates", "allocation")
        },
        "source_id": "nav_state",
    },
    "actuator_armed": {"timestamp": "time_us", "armed": "armed", "prearmed": "armed", "ready_to_arm": ALWAYS},
    "home_position": {
        **STAMPED,
        "lat": "home_lat_deg",
        "lon": "home_lon_deg",
        "alt": "home_alt_m",
        **_same(ALWAYS, "valid_alt valid_hpos valid_lpos"),
        "update_count": "home_count",
    },
    "geofence_status": {**STAMPED, "status": 1.0},
}
"""Published fields by topic, except for batteries."""

OUTPUT_FIELDS: dict[str, dict[str, str]] = {
    "actuator_motors": {"control": "motors"},
    "actuator_servos": {"control": "servos"},
    "vehicle_torque_setpoint": {"xyz": "torque_sp_body"},
    "vehicle_thrust_setpoint": {"xyz": "thrust_sp_body"},
    "vehicle_attitude_setpoint": {"q_d": "q_sp"},
    "vehicle_rates_setpoint": {"roll": "rate_sp_body[0]", "pitch": "rate_sp_body[1]", "yaw": "rate_sp_body[2]"},
    "trajectory_setpoint": {
        "position": "pos_sp_ned",
        "velocity": "vel_sp_ned",
        "acceleration": "acc_sp_ned",
        "yaw": "yaw_sp",
        "yawspeed": "yawspeed_sp",
    },
    "position_setpoint_triplet": {"current.valid": "triplet_valid", "current.type": "triplet_type"},
    "mission_result": {
        "valid": "mission_valid",
        "finished": "mission_finished",
        "failure": "mission_failure",
        "seq_current": "mission_item",
        "seq_total": "mission_count",
        "timestamp": "mission_us",
    },
    "vehicle_command": {"command": "command", "param2": "command_mode"},
}
"""Read fields by topic."""
TEXT_FIELDS = {"mavlink_log": {"severity": "severity"}}
"""Read fields of PX4's texts, which a flight does not need; the text itself is not a number."""


MAV_TYPES = {3: 15.0, 4: 2.0, 6: 13.0, 8: 14.0}
"""MAV_TYPE by number of rotors: MAV_TYPE_TRICOPTER etc."""
OTHER_MAV_TYPE = 2.0
MAX_CAPACITY_MAH = 65_535.0
"""Maximum of the uint16 field."""


def battery_fields(index: int = 0, capacity_mah: float = 0.0, cells: int = 0) -> Fields:
    """Return the published fields of a battery, numbered from 0."""
    measured = {name: f"battery[{index}].{name}" for name in ("connected", "voltage_v", "current_a", "remaining")}
    return {
        "timestamp": "time_us",
        **measured,
        "current_average_a": f"battery[{index}].current_a",
        "warning": f"battery[{index}].warning",
        "scale": 1.0,
        "time_remaining_s": NAN,
        "temperature": NAN,
        "cell_count": float(cells),
        "capacity": min(capacity_mah, MAX_CAPACITY_MAH),
        "id": float(index + 1),
    }
