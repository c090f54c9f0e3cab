"""What all sensors share: what they are told at a tick, and how they are installed."""

from dataclasses import dataclass

from px4lockstep.checks import Vector3
from px4lockstep.jit import record
from px4lockstep.plant.layout import ATT_START, MAX_MOTORS, OMEGA_START, RIGID_BODY_STATES, VEL_START

VEL, ATT, OMEGA = VEL_START, ATT_START, OMEGA_START

SENSOR_INPUTS = record(
    [
        ("elapsed_us", "i8"),  # since the first tick of the sensors
        ("faults_mask", "i8"),  # SENSOR_FAULT_* bits
        ("gravity_m_s2", "f8"),
        ("x", "f8", RIGID_BODY_STATES),
        ("rotor_speed_rad_s", "f8", MAX_MOTORS),
        ("wind_ned", "f8", 3),
    ]
)


@dataclass(frozen=True)
class Installation:
    """What a sensor needs to know of the run and the vehicle to write its record.

    Args:
        seed: Random seed of the run.
        period_us: One tick of the autopilot.
        home_lat_deg: Latitude of the origin.
        home_lon_deg: Longitude of the origin.
        home_alt_msl_m: Altitude of the origin above sea level.
        date: Decimal year, for the Earth's magnetic field.
        rotor_pos_body_m: Position of each rotor, for vibration.
    """

    seed: int
    period_us: int
    home_lat_deg: float
    home_lon_deg: float
    home_alt_msl_m: float
    date: float
    rotor_pos_body_m: tuple[Vector3, ...] = ()
