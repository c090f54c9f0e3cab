"""A magnetometer: the Earth's field in body axes, bent by the iron of the vehicle.

    z = S R(q)ᵀ B + h + σ ξ,    B: the field at home, NED;    S: soft iron;    h: hard iron

then a fault, the limits and the steps of the register (`triad.py`). The field of the motors' currents is left out.

References:
    The field: `earth_field.py`. V. Renaudin, M. H. Afzal, G. Lachapelle, Complete triaxis magnetometer calibration in
    the magnetic domain, Journal of Sensors (2010) 967245: hard and soft iron.
    Defaults: STMicroelectronics, LIS3MDL datasheet DocID024204 rev. 4: ±4 G, 6842 steps per gauss. Noise: 4.1 mG is
    assumed, a few of them as magnetometers of this class have. Iron: none is left after a calibration.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from px4lockstep.checks import Vector3, check_number, check_positive, check_vector
from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, record
from px4lockstep.math.philox import stream_key
from px4lockstep.math.quaternion import rotate_inverse
from px4lockstep.plant.layout import SENSOR_FAULT_MAG
from px4lockstep.sensors.earth_field import field_ned_gauss
from px4lockstep.sensors.faults import check_fault
from px4lockstep.sensors.layout import ATT
from px4lockstep.sensors.sampling import is_due
from px4lockstep.sensors.triad import TRIAD, measure, write_triad
from px4lockstep.timebase import check_us

STREAM = "sensors.mag"

MAGNETOMETER = record(
    [
        ("period_us", "i8"),
        ("field_ned_gauss", "f8", 3),
        ("triad", TRIAD),  # changes as a run goes on
    ]
)


@kernel
def step_magnetometer(mag, inputs, elapsed_us):
    """Take a sample if one is due; return whether there is one."""
    if not is_due(mag.period_us, elapsed_us, mag.triad.samples):
        return False
    x, field = inputs.x, mag.field_ned_gauss
    q_bn = (x[ATT], x[ATT + 1], x[ATT + 2], x[ATT + 3])
    bx, by, bz = rotate_inverse(q_bn, (field[0], field[1], field[2]))
    return measure(mag.triad, bx, by, bz, inputs.faults_mask & SENSOR_FAULT_MAG != 0, inputs.time_us)


@dataclass(frozen=True)
class Magnetometer:
    """A magnetometer as a user chooses it, in gauss.

    Args:
        period_us: From sample to sample; not shorter than a tick of the autopilot.
        noise_sigma_gauss: White noise of each sample and axis. PX4 takes values that never change for a broken sensor.
        hard_iron_gauss: Added, in body axes.
        soft_iron: The matrix that the field is multiplied by, three rows.
        limit_gauss: Of the range, to both sides.
        resolution_gauss: One step of the register; 0 for none.
        on_fault: What a fault of the scenario does: see `faults.py`.
        fault_size: Of a bias, of a drift per second, or the standard deviation of noise, for each axis.
        field_ned_gauss: The Earth's field; None takes it from the World Magnetic Model at home.

    Raises:
        InputError: If a value is out of range.
    """

    period_us: int = 20_000
    noise_sigma_gauss: float = 0.0041
    hard_iron_gauss: Vector3 = (0.0, 0.0, 0.0)
    soft_iron: tuple[Vector3, Vector3, Vector3] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    limit_gauss: float = 4.0
    resolution_gauss: float = 1.0 / 6842.0
    on_fault: str = "dropout"
    fault_size: Vector3 = (0.2, 0.2, 0.2)
    field_ned_gauss: Vector3 | None = None

    field: ClassVar[str] = "sensors.mag"

    def __post_init__(self) -> None:
        """Check kinds and ranges."""
        check_us(f"{self.field}.period_us", self.period_us, minimum=1)
        for name in ("noise_sigma_gauss", "resolution_gauss"):
            check_number(f"{self.field}.{name}", getattr(self, name), 0.0, allowed="a finite number of 0 or more")
        check_positive(f"{self.field}.limit_gauss", self.limit_gauss)
        check_vector(f"{self.field}.hard_iron_gauss", self.hard_iron_gauss)
        if not isinstance(self.soft_iron, list | tuple) or len(self.soft_iron) != 3:
            raise InputError(f"{self.field}.soft_iron = {self.soft_iron!r} is not a matrix; give three rows of three")
        for i, row in enumerate(self.soft_iron):
            check_vector(f"{self.field}.soft_iron[{i}]", row)
        if self.field_ned_gauss is not None:
            check_vector(f"{self.field}.field_ned_gauss", self.field_ned_gauss)
        check_fault(self.field, self.on_fault, self.fault_size)

    def write(self, rec: Any, seed: int, home: Vector3, date: float) -> None:
        """Write a `MAGNETOMETER` record before its first sample; home is latitude and longitude [deg] and altitude [m].

        Raises:
            InputError: If there is no model of the field.
        """
        rec["period_us"] = self.period_us
        rec["field_ned_gauss"] = field_ned_gauss(*home, date) if self.field_ned_gauss is None else self.field_ned_gauss
        write_triad(
            rec["triad"],
            stream_key(seed, STREAM),
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
