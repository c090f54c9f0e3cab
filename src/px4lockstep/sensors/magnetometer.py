"""A magnetometer: the Earth's field in body axes, bent by the iron of the vehicle.

    z = S R(q)ᵀ B + h + σ ξ,    B: the field at home, NED;    S: soft iron;    h: hard iron

then a fault, the limits and the steps of the register (`triad.py`). The field of the motors' currents is left out.

References:
    The field: `earth_field.py`. V. Renaudin, M. H. Afzal, G. Lachapelle, Complete triaxis magnetometer calibration in
    the magnetic domain, Journal of Sensors (2010) 967245: hard and soft iron.
    Defaults: STMicroelectronics, LIS3MDL datasheet DocID024204 rev. 4: ±4 G, 6842 steps per gauss. Noise: 4.1 mG is
    assumed, a few of them as magnetometers of this class have. Iron: none is left after a calibration.
"""

from typing import Any, ClassVar

from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import stream_key
from px4lockstep.math.quaternion import rotate_inverse
from px4lockstep.part import Found, Matrix, Part, Vector, entry
from px4lockstep.plant.layout import SENSOR_FAULT_MAG
from px4lockstep.sensors.earth_field import field_ned_gauss
from px4lockstep.sensors.faults import OnFault, check_size, on_fault_entry
from px4lockstep.sensors.layout import ATT, Installation
from px4lockstep.sensors.sampling import is_due, period_entry
from px4lockstep.sensors.triad import TRIAD, TRIAD_STATE, measure, write_triad

STREAM = "sensors.mag"

MAGNETOMETER = record([("period_us", "i8"), ("field_ned_gauss", "f8", 3), ("triad", TRIAD)])
MAGNETOMETER_STATE = TRIAD_STATE


@kernel
def step_magnetometer(mag, state, inputs):
    """Take a sample if one is due; return whether there is one."""
    if not is_due(mag.period_us, inputs.elapsed_us, state.samples):
        return False
    x, field = inputs.x, mag.field_ned_gauss
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    bx, by, bz = rotate_inverse(q_bn, (field[0], field[1], field[2]))
    is_faulty = inputs.faults_mask & SENSOR_FAULT_MAG != 0
    return measure(mag.triad, state, bx, by, bz, is_faulty, inputs.elapsed_us)


class Magnetometer(Part):
    """Magnetometer."""

    where: ClassVar[str] = "px4.sitl.sensors.mag"

    period_us: int = period_entry(20_000)
    noise_sigma_gauss: float = entry(
        0.0041,
        "Standard deviation of the white noise of each axis. PX4 treats a value that never changes as a failure.",
        "gauss",
        ge=0.0,
    )
    hard_iron_gauss: Vector = entry((0.0, 0.0, 0.0), "Hard iron: a field that is added, in body axes.", "gauss")
    soft_iron: Matrix = entry(
        ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
        "Soft iron: the matrix that the field in body axes is multiplied by.",
    )
    limit_gauss: float = entry(4.0, "Upper end of the measuring range; the lower end is its negative.", "gauss", gt=0.0)
    resolution_gauss: float = entry(1.0 / 6842.0, "Resolution of the result. 0: not rounded.", "gauss", ge=0.0)
    on_fault: OnFault = on_fault_entry()
    fault_size: Vector = entry(
        (0.2, 0.2, 0.2),
        "Size of a fault for each axis: a bias, a drift per second, or the standard deviation of noise.",
        "gauss",
    )
    field_ned_gauss: Vector | None = entry(
        None, "The Earth's magnetic field, NED. Left out: from the World Magnetic Model at home.", "gauss"
    )

    def check(self) -> Found:
        """Check the fault."""
        yield from check_size(self.on_fault, "fault_size", self.fault_size)

    def write(self, rec: Any, at: Installation) -> None:
        """Write a `MAGNETOMETER` record.

        Raises:
            InputError: If there is no model of the field.
        """
        own = self.field_ned_gauss
        home = at.home_lat_deg, at.home_lon_deg, at.home_alt_msl_m
        rec["period_us"] = self.period_us
        rec["field_ned_gauss"] = field_ned_gauss(*home, at.date) if own is None else own
        write_triad(
            rec["triad"],
            stream_key(at.seed, STREAM),
            gain=self.soft_iron,
            bias=self.hard_iron_gauss,
            noise_sigma=self.noise_sigma_gauss,
            walk=0.0,
            period_us=self.period_us,
            limit=self.limit_gauss,
            resolution=self.resolution_gauss,
            on_fault=self.on_fault,
            fault_size=self.fault_size,
        )

    def without_errors(self) -> "Magnetometer":
        """Return this sensor without noise and rounding; the iron around it stays."""
        return self.model_copy(update={"noise_sigma_gauss": 0.0, "resolution_gauss": 0.0})
