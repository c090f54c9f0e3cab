"""What the sensors are told each tick, and what they say: the numbers of MAVLink's HIL_SENSOR and HIL_GPS."""

from px4lockstep.jit import record
from px4lockstep.plant.layout import ATT_START, MAX_MOTORS, OMEGA_START, RIGID_BODY_STATES, VEL_START

VEL, ATT, OMEGA = VEL_START, ATT_START, OMEGA_START

SENSOR_INPUTS = record(
    [
        ("time_us", "i8"),
        ("faults_mask", "i8"),  # SENSOR_FAULT_* bits
        ("gravity_m_s2", "f8"),
        ("x", "f8", RIGID_BODY_STATES),
        ("rotor_speed_rad_s", "f8", MAX_MOTORS),
        ("wind_ned", "f8", 3),
    ]
)

ACCEL_FIELDS = 0x7
GYRO_FIELDS = 0x38
MAG_FIELDS = 0x1C0
BARO_FIELDS = 0x1A00  # absolute pressure, pressure altitude and temperature
AIRSPEED_FIELDS = 0x400
"""Bits of HIL_SENSOR's `fields_updated`."""

SENSOR_OUT = record(
    [
        ("accel_m_s2", "f8", 3),  # specific force in body axes, averaged over the step
        ("gyro_rad_s", "f8", 3),  # averaged over the step
        ("mag_gauss", "f8", 3),  # body axes
        ("abs_pressure_hpa", "f8"),
        ("diff_pressure_hpa", "f8"),
        ("pressure_alt_m", "f8"),
        ("temperature_c", "f8"),
        ("fields_updated", "i8"),
        ("gps_updated", "i8"),  # 1: there is a new message, with or without a fix
        ("gps_lat_1e7", "i8"),
        ("gps_lon_1e7", "i8"),
        ("gps_alt_mm", "i8"),  # above sea level
        ("gps_eph_cm", "i8"),
        ("gps_epv_cm", "i8"),
        ("gps_vel_cm_s", "i8"),  # over the ground
        ("gps_vn_cm_s", "i8"),
        ("gps_ve_cm_s", "i8"),
        ("gps_vd_cm_s", "i8"),
        ("gps_cog_cdeg", "i8"),  # of the velocity, from north over east, 0 to 35999
        ("gps_fix_type", "i8"),  # 3: in space; 1: none
        ("gps_satellites", "i8"),
    ]
)
"""What is not updated at a tick holds its last value."""
READINGS = 13
"""The numbers that `SENSOR_OUT` begins with, all but the GPS's, in the order that MAVLink has them in."""
