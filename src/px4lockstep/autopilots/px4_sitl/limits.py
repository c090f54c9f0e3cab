"""Limits of stock PX4 and MAVLink that are checked before a flight."""

from collections.abc import Mapping

from px4lockstep.autopilots.px4_sitl.api import MAX_A, MAX_V
from px4lockstep.autopilots.px4_sitl.parameters import MAX_NAME
from px4lockstep.errors import InputError
from px4lockstep.sensors.suite import SensorConfig
from px4lockstep.vehicle.aircraft import Aircraft

MIN_MAG_GAUSS, MIN_BARO_PA = 1e-5, 0.1
"""Noise below which PX4, as measured, never arms."""
PER_RESOLUTION = 0.25
"""Noise below this fraction of the resolution seldom changes a rounded reading; PX4 rejects 100 equal ones in a row."""


def check_parameters(params: Mapping[str, float | int]) -> None:
    """Check that MAVLink can carry the names of the user's parameters."""
    for name in params:
        if len(name) > MAX_NAME:
            raise InputError(f"parameter {name!r} has {len(name)} characters; PX4's names have at most {MAX_NAME}")


def check_sensors(sensors: SensorConfig, params: Mapping[str, float | int]) -> None:
    """Check that PX4 will accept magnetometer and barometer."""
    mag, baro = sensors.mag, sensors.baro
    for key, noise, resolution, least, unit, switch in (
        ("mag.noise_sigma_gauss", mag.noise_sigma_gauss, mag.resolution_gauss, MIN_MAG_GAUSS, "gauss", "SYS_HAS_MAG"),
        ("baro.noise_sigma_pa", baro.noise_sigma_pa, baro.resolution_pa, MIN_BARO_PA, "Pa", "SYS_HAS_BARO"),
    ):
        least = max(least, PER_RESOLUTION * resolution)
        if noise < least and params.get(switch) != 0:
            raise InputError(
                f"px4.sitl.sensors.{key} = {noise:g} is too small: PX4 takes constant readings for a failure and never "
                f"arms. Use at least {least:.2g} {unit}, or set the parameter {switch} to 0"
            )


def check_batteries(aircraft: Aircraft) -> str | None:
    """Check that MAVLink can carry the batteries' voltages; return a warning about their currents, if there is one."""
    for i, battery in enumerate(aircraft.batteries):
        if battery.full_voltage_v > MAX_V:
            raise InputError(
                f"power.batteries[{i}] has {battery.full_voltage_v:g} V, but MAVLink can send stock PX4 at most "
                f"{MAX_V:g} V; set px4.sitl.battery = false to let PX4 simulate its own battery"
            )
    current_a = full_throttle_a(aircraft) / max(1, len(aircraft.batteries))
    if current_a <= MAX_A:
        return None
    return (
        f"at full throttle a battery delivers about {current_a:.0f} A, but MAVLink can send stock PX4 at most "
        f"{MAX_A:.0f} A; it sees larger currents as {MAX_A:.0f} A"
    )


def full_throttle_a(aircraft: Aircraft) -> float:
    """Return the current of all motors at full throttle and nominal voltage, in steady state."""
    total_a = 0.0
    for unit, kt in zip(aircraft.propulsion_units, aircraft.thrust_constants, strict=True):
        omega = unit.full_speed_rad_s(kt)
        current_a = min((unit.V_nom - unit.motor.ke * omega) / unit.motor.r_ohm, unit.motor.max_current_a)
        total_a += current_a / unit.esc.eta
    return total_a
