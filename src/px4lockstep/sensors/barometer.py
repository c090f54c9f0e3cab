"""Barometer: the static pressure of the standard atmosphere with errors.

    z = p(h) + k 1/2 ρ |v_air|² + b + d + σ ξ
    d ← φ d + σ_d sqrt(1 - φ²) ξ_d,    φ = exp(-T / τ)

k is the static pressure error as a fraction of the dynamic pressure: airflow past the housing changes the pressure
inside. b is drawn once per run; d is a Gauss-Markov process that starts at 0 and stands for weather and a housing that
warms up. The pressure altitude is that of the standard atmosphere for z.

The lowest layer of the standard is extrapolated below sea level to -5 km, where `environment/atmosphere.py` holds the
values at sea level. The temperature is that of the standard, although a real board is warmer.

References:
    U.S. Standard Atmosphere, 1976, NOAA-S/T 76-1562, whose tables begin at -5 km.
    Defaults: TE Connectivity, MS5611-01BA03 datasheet: 10 to 1200 mbar, resolution 0.027 mbar at the oversampling of
    1024 that PX4's driver sets, taken as the noise; accuracy ±1.5 mbar at 25 °C and 750 mbar, taken as three standard
    deviations; results in steps of 0.01 mbar.
"""

from typing import Any, ClassVar

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.environment import atmosphere
from px4lockstep.environment.atmosphere import LAPSE_K_M, SEA_LEVEL_PRESSURE_PA, SEA_LEVEL_TEMPERATURE_K
from px4lockstep.environment.wind import gauss_markov
from px4lockstep.jit import kernel, record
from px4lockstep.jit.records import COUNT
from px4lockstep.math.exponential import log, pow
from px4lockstep.math.philox import normal3, stream_key
from px4lockstep.part import Found, entry, fill, misfit
from px4lockstep.plant.layout import SENSOR_FAULT_BARO
from px4lockstep.sensors import sensor
from px4lockstep.sensors.sensor import VEL, Installation, Sensor, drawn3

LOWEST_M = -5_000.0
ALTITUDE_EXPONENT = LAPSE_K_M * atmosphere.GAS_CONSTANT_J_KG_K / STANDARD_GRAVITY_M_S2
ZERO_C_K = 273.15

BAROMETER = record(
    [
        ("noise_key", "u8"),
        ("period_us", "i8"),
        ("home_alt_msl_m noise_sigma_pa offset_pa drift_decay drift_gain_pa static_error", "f8"),
        ("lowest_pa highest_pa resolution_pa", "f8"),
        ("fault", sensor.SENSOR_FAULT),
    ]
)
BAROMETER_STATE = record(
    [
        ("fault", sensor.SENSOR_FAULT_STATE),
        ("samples", "i8"),
        ("drift_pa pressure_pa pressure_alt_m temperature_c", "f8"),
    ],
    limits={"samples": COUNT},
)


@kernel
def static_pressure_pa(alt_msl_m):
    """Return the pressure of the standard atmosphere from -5 to 20 km."""
    if alt_msl_m >= 0.0:
        return atmosphere.pressure_pa(alt_msl_m)
    ratio = 1.0 - (LAPSE_K_M / SEA_LEVEL_TEMPERATURE_K) * max(alt_msl_m, LOWEST_M)
    return SEA_LEVEL_PRESSURE_PA * pow(ratio, atmosphere.PRESSURE_EXPONENT)


@kernel
def pressure_altitude_m(static_pa):
    """Return the altitude of a pressure above 0 in the standard atmosphere: the inverse of `static_pressure_pa`."""
    if static_pa < atmosphere.TROPOPAUSE_PRESSURE_PA:
        return atmosphere.TROPOPAUSE_M - log(static_pa / atmosphere.TROPOPAUSE_PRESSURE_PA) / atmosphere.SCALE_PER_M
    ratio = pow(static_pa / SEA_LEVEL_PRESSURE_PA, ALTITUDE_EXPONENT)
    return (SEA_LEVEL_TEMPERATURE_K / LAPSE_K_M) * (1.0 - ratio)


@kernel
def air_temperature_c(alt_msl_m):
    """Return the temperature of the standard atmosphere from -5 to 20 km."""
    if alt_msl_m >= 0.0:
        return atmosphere.temperature_k(alt_msl_m) - ZERO_C_K
    return SEA_LEVEL_TEMPERATURE_K - LAPSE_K_M * max(alt_msl_m, LOWEST_M) - ZERO_C_K


@kernel
def step_barometer(baro, state, inputs):
    """Take a sample if one is due; return whether there is a new one."""
    elapsed_us = inputs.elapsed_us
    if not sensor.is_due(baro.period_us, elapsed_us, state.samples):
        return False
    sample = state.samples
    state.samples += 1
    noise, drift, _ = normal3(baro.noise_key, sample, sensor.NOISE_LANE, sensor.ONE_DRAW)
    state.drift_pa = baro.drift_decay * state.drift_pa + baro.drift_gain_pa * drift
    is_faulty = inputs.faults_mask & SENSOR_FAULT_BARO != 0
    kind = sensor.kind_of_fault(baro.fault, state.fault, is_faulty, elapsed_us)
    if kind == sensor.DROPOUT:
        return False
    if kind == sensor.FREEZE and sample > 0:
        return True
    x, wind = inputs.x, inputs.wind_ned
    alt_msl_m = baro.home_alt_msl_m - x[2]
    un, ue, ud = x[VEL] - wind[0], x[VEL + 1] - wind[1], x[VEL + 2] - wind[2]
    dynamic_pa = 0.5 * atmosphere.density_kg_m3(alt_msl_m) * (un * un + ue * ue + ud * ud)
    error_pa, _, _ = sensor.error_of_fault(baro.fault, state.fault, kind, baro.noise_key, sample, elapsed_us)
    error_pa += baro.static_error * dynamic_pa + baro.offset_pa + state.drift_pa + baro.noise_sigma_pa * noise
    measured_pa = static_pressure_pa(alt_msl_m) + error_pa
    state.pressure_pa = sensor.digitized(measured_pa, baro.lowest_pa, baro.highest_pa, baro.resolution_pa)
    state.pressure_alt_m = pressure_altitude_m(state.pressure_pa)
    state.temperature_c = air_temperature_c(alt_msl_m)
    return True


class Barometer(Sensor, where="px4.sitl.sensors.baro"):
    """Barometer with noise, offset, drift and static pressure error."""

    errors: ClassVar[str] = "noise_sigma_pa offset_sigma_pa drift_sigma_pa resolution_pa"
    size_key: ClassVar[str] = "fault_size_pa"

    period_us: int = sensor.period_entry(20_000)
    noise_sigma_pa: float = entry(
        2.7,
        "Standard deviation of the white noise of each sample. PX4 treats a constant value as a failure.",
        "Pa",
        ge=0.0,
    )
    offset_sigma_pa: float = entry(50.0, sensor.OFFSET_SIGMA, "Pa", ge=0.0)
    drift_sigma_pa: float = entry(5.0, "Steady-state standard deviation of the drift.", "Pa", ge=0.0)
    drift_tau_s: float = entry(600.0, "Correlation time of the drift.", "s", gt=0.0)
    static_error: float = entry(
        0.0, "Static pressure error as a fraction of the dynamic pressure; negative for suction.", ge=-1.0, le=1.0
    )
    lowest_pa: float = entry(1_000.0, "Lower end of the measuring range.", "Pa", gt=0.0)
    highest_pa: float = entry(120_000.0, "Upper end of the measuring range.", "Pa", gt=0.0)
    resolution_pa: float = entry(1.0, sensor.RESOLUTION, "Pa", ge=0.0)
    on_fault: sensor.OnFault = sensor.on_fault_entry()
    fault_size_pa: float = entry(
        100.0, "Size of a fault: a bias, a drift per second, or the standard deviation of noise.", "Pa"
    )

    def check(self) -> Found:
        """Check the measuring range and the size of the fault."""
        if self.lowest_pa >= self.highest_pa:
            yield misfit("lowest_pa", self.lowest_pa, f"is not below highest_pa = {self.highest_pa}; it must be lower")
        yield from super().check()

    def write(self, rec: Any, at: Installation) -> None:
        """Write a `BAROMETER` record."""
        key = stream_key(at.seed, "sensors.baro")
        decay, root = gauss_markov(self.period_us, self.drift_tau_s)
        offset_pa = self.offset_sigma_pa * drawn3(key, sensor.BIAS_LANE)[0]
        drift = {"drift_decay": decay, "drift_gain_pa": self.drift_sigma_pa * root}
        fill(rec, self, noise_key=key, home_alt_msl_m=at.home_alt_msl_m, offset_pa=offset_pa, **drift)
        self.write_fault(rec["fault"])
