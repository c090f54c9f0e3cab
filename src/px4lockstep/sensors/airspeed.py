"""Airspeed sensor: the differential pressure of a pitot tube along the body's x axis.

    z = 1/2 ρ u |u| + b + σ ξ,    u = `v_vehicle_rel_air` along x

Compressibility is neglected; it would add a fraction M² / 4, or 2 % at 100 m/s. The alignment of the tube is exact, and
air from behind gives a negative pressure. A multirotor has no airspeed sensor by default. Scenarios have no fault for
it.

Reference:
    Defaults: Measurement Specialties (TE Connectivity), 4525DO datasheet: 14 bits, total error band less than 1 % of
    the span, taken as three standard deviations of the offset. ±1 psi (6895 Pa) is 80 % of the counts, as in PX4's
    driver ms4525do. Noise: two steps, assumed, because the datasheet does not specify it.
"""

from typing import Any, ClassVar

from px4lockstep.environment.atmosphere import density_kg_m3
from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.philox import normal3, stream_key
from px4lockstep.math.quaternion import rotate_inverse
from px4lockstep.part import entry, fill
from px4lockstep.sensors import sensor
from px4lockstep.sensors.sensor import ATT, VEL, Installation, Sensor, digitized, drawn3, is_due

PSI_PA = 6894.757
STEP_PA = 2.0 * PSI_PA / (0.8 * 16384.0)

AIRSPEED = record(
    [
        ("noise_key", "u8"),
        ("is_on period_us", "i8"),
        ("home_alt_msl_m noise_sigma_pa offset_pa limit_pa resolution_pa", "f8"),
    ]
)
AIRSPEED_STATE = record([("samples", "i8"), ("pressure_pa", "f8")], limits={"samples": COUNT})


@kernel
def step_airspeed(airspeed, state, inputs):
    """Take a sample if one is due; return whether there is a new one."""
    if airspeed.is_on == 0 or not is_due(airspeed.period_us, inputs.elapsed_us, state.samples):
        return False
    sample = state.samples
    state.samples += 1
    x, wind = inputs.x, inputs.wind_ned
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    v_vehicle_rel_air = (x[VEL] - wind[0], x[VEL + 1] - wind[1], x[VEL + 2] - wind[2])
    forward, _, _ = rotate_inverse(q_bn, v_vehicle_rel_air)
    dynamic_pa = 0.5 * density_kg_m3(airspeed.home_alt_msl_m - x[2]) * forward * abs(forward)
    noise, _, _ = normal3(airspeed.noise_key, sample, sensor.NOISE_LANE, sensor.ONE_DRAW)
    measured_pa = dynamic_pa + airspeed.offset_pa + airspeed.noise_sigma_pa * noise
    state.pressure_pa = digitized(measured_pa, -airspeed.limit_pa, airspeed.limit_pa, airspeed.resolution_pa)
    return True


class Airspeed(Sensor, where="px4.sitl.sensors.airspeed"):
    """Airspeed sensor, a pitot tube along the body's x axis. Without this table there is none."""

    errors: ClassVar[str] = "noise_sigma_pa offset_sigma_pa resolution_pa"

    period_us: int = sensor.period_entry(20_000)
    noise_sigma_pa: float = entry(2.0 * STEP_PA, "Standard deviation of the white noise of each sample.", "Pa", ge=0.0)
    offset_sigma_pa: float = entry(2.0 * PSI_PA * 0.01 / 3.0, sensor.OFFSET_SIGMA, "Pa", ge=0.0)
    limit_pa: float = entry(PSI_PA, sensor.LIMIT, "Pa", gt=0.0)
    resolution_pa: float = entry(STEP_PA, sensor.RESOLUTION, "Pa", ge=0.0)

    def write(self, rec: Any, at: Installation) -> None:
        """Write an `AIRSPEED` record."""
        key = stream_key(at.seed, "sensors.airspeed")
        offset_pa = self.offset_sigma_pa * drawn3(key, sensor.BIAS_LANE)[0]
        fill(rec, self, noise_key=key, is_on=1, home_alt_msl_m=at.home_alt_msl_m, offset_pa=offset_pa)
