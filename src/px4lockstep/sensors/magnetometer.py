"""Magnetometer: the Earth's field in body axes, distorted by the iron of the vehicle.

    z = S R(q)ᵀ B + h + σ ξ,    B: the field at home, NED;    S: soft iron;    h: hard iron

followed by faults, limits and quantization (`triad.py`). The field of the motor currents is not modelled.

The Earth's field is that of the World Magnetic Model (WMM), from `pygeomag`, at home and at one date, for the whole
flight; it changes by about 0.2 mG over 1 km. It is rounded to 1e-8 G (1 pT), far below the accuracy of the model
(1.4 mG, one standard deviation), so that rounding in the library's elementary functions does not affect a flight.

References:
    A. Chulliat and others, The US/UK World Magnetic Model for 2025-2030, NCEI, NOAA (2025); WMM2020, WMM2015 and
    WMM2010 before it. The coefficients come with pygeomag. V. Renaudin, M. H. Afzal, G. Lachapelle, Complete triaxis
    magnetometer calibration in the magnetic domain, Journal of Sensors (2010) 967245: hard and soft iron.
    Defaults: STMicroelectronics, LIS3MDL datasheet DocID024204 rev. 4: ±4 G, 6842 steps per gauss. Noise: 4.1 mG,
    assumed; magnetometers of this class have a few mG. Iron: none, as after a calibration.
"""

from typing import Any, ClassVar

import numpy as np

from px4lockstep.checks import Vector3
from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import stream_key
from px4lockstep.math.quaternion import rotate_inverse
from px4lockstep.part import Matrix, Vector, entry, fill
from px4lockstep.plant.layout import SENSOR_FAULT_MAG
from px4lockstep.sensors import sensor
from px4lockstep.sensors.sensor import ATT, Installation, Sensor
from px4lockstep.sensors.triad import TRIAD, TRIAD_STATE, measure

FIRST_YEAR = 2010.0
LAST_YEAR = 2030.0
"""Range of years covered by the models of the library; the last is excluded."""
NT_PER_GAUSS = 1e5
DECIMALS_OF_NT = 3

MAGNETOMETER = record([("period_us", "i8"), ("field_ned_gauss", "f8", 3), ("triad", TRIAD)])
MAGNETOMETER_STATE = TRIAD_STATE


@kernel
def step_magnetometer(mag, state, inputs):
    """Take a sample if one is due; return whether there is a new one."""
    if not sensor.is_due(mag.period_us, inputs.elapsed_us, state.samples):
        return False
    x, field = inputs.x, mag.field_ned_gauss
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    bx, by, bz = rotate_inverse(q_bn, (field[0], field[1], field[2]))
    is_faulty = inputs.faults_mask & SENSOR_FAULT_MAG != 0
    return measure(mag.triad, state, bx, by, bz, is_faulty, inputs.elapsed_us)


def earth_field_ned_gauss(lat_deg: float, lon_deg: float, alt_msl_m: float, date: float) -> Vector3:
    """Return the field at a position and date (north, east, down); it changes by 0.02 mG per 100 m of altitude."""
    from pygeomag import GeoMag  # imported here because only flights with sensors need it

    found = GeoMag(base_year=date).calculate(glat=lat_deg, glon=lon_deg, alt=alt_msl_m / 1e3, time=date)
    north, east, down = (round(part, DECIMALS_OF_NT) / NT_PER_GAUSS for part in (found.x, found.y, found.z))
    return north, east, down


class Magnetometer(Sensor, where="px4.sitl.sensors.mag"):
    """Magnetometer with noise, hard iron and soft iron."""

    errors: ClassVar[str] = "noise_sigma_gauss resolution_gauss"

    period_us: int = sensor.period_entry(20_000)
    noise_sigma_gauss: float = entry(
        0.0041,
        "Standard deviation of the white noise of each axis. PX4 treats a constant value as a failure.",
        "gauss",
        ge=0.0,
    )
    hard_iron_gauss: Vector = entry((0.0, 0.0, 0.0), "Hard iron: field that is added, in body axes.", "gauss")
    soft_iron: Matrix = entry(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        "Soft iron: matrix that multiplies the field in body axes.",
    )
    limit_gauss: float = entry(4.0, sensor.LIMIT, "gauss", gt=0.0)
    resolution_gauss: float = entry(1.0 / 6842.0, sensor.RESOLUTION, "gauss", ge=0.0)
    on_fault: sensor.OnFault = sensor.on_fault_entry()
    fault_size: Vector = entry((0.2, 0.2, 0.2), sensor.FAULT_SIZE, "gauss")
    field_ned_gauss: Vector | None = entry(
        None, "Earth's magnetic field (north, east, down). Default: the World Magnetic Model at home.", "gauss"
    )

    def write(self, rec: Any, at: Installation) -> None:
        """Write a `MAGNETOMETER` record."""
        home = at.home_lat_deg, at.home_lon_deg, at.home_alt_msl_m
        field = earth_field_ned_gauss(*home, at.date) if self.field_ned_gauss is None else self.field_ned_gauss
        fill(rec, self, field_ned_gauss=field)
        noise = {"noise_key": stream_key(at.seed, "sensors.mag"), "noise_sigma": self.noise_sigma_gauss}
        limits = {"limit": self.limit_gauss, "resolution": self.resolution_gauss}
        fill(rec["triad"], self, gain=np.ravel(self.soft_iron), bias=self.hard_iron_gauss, **noise, **limits)
        self.write_fault(rec["triad"]["fault"])
