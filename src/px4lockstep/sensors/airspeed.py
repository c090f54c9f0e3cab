"""An airspeed sensor: the differential pressure of a pitot tube along the body's x axis.

    z = 1/2 ρ u |u| + b + σ ξ,    u = velocity through the air along x

Without compressibility, which adds a fraction M² / 4: 2 % at 100 m/s. The tube's direction is exact, and air that comes
from behind gives a negative pressure. A multirotor has none by default. The scenario has no fault for it.

Reference:
    Defaults: Measurement Specialties (TE Connectivity), 4525DO datasheet: 14 bits, total error band less than 1 % of
    the span, taken as three standard deviations of the offset. ±1 psi (6895 Pa) are 80 % of the counts, as PX4's driver
    ms4525do has it. Noise: two of its steps, assumed; the datasheet has none.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from px4lockstep.checks import check_number, check_positive
from px4lockstep.environment.atmosphere import density_kg_m3
from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import normal3, stream_key
from px4lockstep.math.quaternion import rotate_inverse
from px4lockstep.sensors.faults import ONE_DRAW
from px4lockstep.sensors.layout import ATT, VEL
from px4lockstep.sensors.sampling import digitized, is_due
from px4lockstep.sensors.triad import BIAS_LANE, drawn3
from px4lockstep.timebase import check_us

STREAM = "sensors.airspeed"
NOISE_LANE = np.int64(0)
PSI_PA = 6894.757
STEP_PA = 2.0 * PSI_PA / (0.8 * 16384.0)

AIRSPEED = record(
    [
        ("noise_key", "u8"),
        ("is_on", "i8"),
        ("period_us", "i8"),
        ("home_alt_msl_m", "f8"),
        ("noise_sigma_pa", "f8"),
        ("offset_pa", "f8"),
        ("limit_pa", "f8"),
        ("resolution_pa", "f8"),
        # what changes as a run goes on
        ("samples", "i8"),
        ("pressure_pa", "f8"),
    ]
)


@kernel
def step_airspeed(airspeed, inputs, elapsed_us):
    """Take a sample if one is due; return whether there is one."""
    if airspeed.is_on == 0 or not is_due(airspeed.period_us, elapsed_us, airspeed.samples):
        return False
    sample = airspeed.samples
    airspeed.samples += 1
    x, wind = inputs.x, inputs.wind_ned
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    forward, _, _ = rotate_inverse(q_bn, (x[VEL] - wind[0], x[VEL + 1] - wind[1], x[VEL + 2] - wind[2]))
    dynamic_pa = 0.5 * density_kg_m3(airspeed.home_alt_msl_m - x[2]) * forward * abs(forward)
    noise, _, _ = normal3(airspeed.noise_key, sample, NOISE_LANE, ONE_DRAW)
    measured_pa = dynamic_pa + airspeed.offset_pa + airspeed.noise_sigma_pa * noise
    airspeed.pressure_pa = digitized(measured_pa, -airspeed.limit_pa, airspeed.limit_pa, airspeed.resolution_pa)
    return True


@dataclass(frozen=True)
class Airspeed:
    """An airspeed sensor as a user chooses it.

    Args:
        period_us: From sample to sample; not shorter than a tick of the autopilot.
        noise_sigma_pa: White noise of each sample.
        offset_sigma_pa: Offset, drawn once per run.
        limit_pa: Of the range, to both sides.
        resolution_pa: One step of the result; 0 for none.

    Raises:
        InputError: If a value is out of range.
    """

    period_us: int = 20_000
    noise_sigma_pa: float = 2.0 * STEP_PA
    offset_sigma_pa: float = 2.0 * PSI_PA * 0.01 / 3.0
    limit_pa: float = PSI_PA
    resolution_pa: float = STEP_PA

    field: ClassVar[str] = "sensors.airspeed"

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_us(f"{self.field}.period_us", self.period_us, minimum=1)
        for name in ("noise_sigma_pa", "offset_sigma_pa", "resolution_pa"):
            check_number(f"{self.field}.{name}", getattr(self, name), 0.0, allowed="a finite number of 0 or more")
        check_positive(f"{self.field}.limit_pa", self.limit_pa)

    def write(self, rec: Any, seed: int, home_alt_msl_m: float) -> None:
        """Write an `AIRSPEED` record before its first sample."""
        key = stream_key(seed, STREAM)
        rec["noise_key"] = key
        rec["is_on"] = 1
        rec["period_us"] = self.period_us
        rec["home_alt_msl_m"] = home_alt_msl_m
        rec["noise_sigma_pa"] = self.noise_sigma_pa
        rec["offset_pa"] = self.offset_sigma_pa * drawn3(key, BIAS_LANE)[0]
        rec["limit_pa"] = self.limit_pa
        rec["resolution_pa"] = self.resolution_pa
