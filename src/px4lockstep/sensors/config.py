"""All sensors of a vehicle as a user chooses them."""

from dataclasses import dataclass, field, replace
from typing import Any

from px4lockstep.sensors.airspeed import Airspeed
from px4lockstep.sensors.barometer import Barometer
from px4lockstep.sensors.earth_field import check_date
from px4lockstep.sensors.gps import Gps
from px4lockstep.sensors.imu import Imu
from px4lockstep.sensors.magnetometer import Magnetometer

INERTIAL_ERRORS = ("noise_density", "bias_walk", "bias_sigma", "scale_sigma", "misalignment_sigma_rad", "resolution")
NO_NOISE: dict[str, Any] = dict.fromkeys(INERTIAL_ERRORS, 0.0)


@dataclass(frozen=True)
class SensorConfig:
    """The sensors of a vehicle; the defaults are a typical flight controller's.

    Args:
        imu: Gyroscope and accelerometer.
        mag: Magnetometer.
        baro: Barometer.
        gps: GPS receiver.
        airspeed: Airspeed sensor; None, as on a multirotor, for none.
        date: The decimal year, for the Earth's magnetic field.

    Raises:
        InputError: If there is no model of the field for the date.
    """

    imu: Imu = field(default_factory=Imu)
    mag: Magnetometer = field(default_factory=Magnetometer)
    baro: Barometer = field(default_factory=Barometer)
    gps: Gps = field(default_factory=Gps)
    airspeed: Airspeed | None = None
    date: float = 2026.0

    def __post_init__(self) -> None:
        """Check the date."""
        check_date("sensors.date", self.date)

    def without_errors(self) -> "SensorConfig":
        """Return these sensors without noise, bias, drift, vibration, rounding and latency.

        Their periods, their place, the iron around the magnetometer, the barometer's static error and what faults do
        stay as they are.
        """
        return replace(
            self,
            imu=Imu(replace(self.imu.gyro, **NO_NOISE), replace(self.imu.accel, **NO_NOISE), self.imu.pos_body_m),
            mag=replace(self.mag, noise_sigma_gauss=0.0, resolution_gauss=0.0),
            baro=replace(self.baro, noise_sigma_pa=0.0, offset_sigma_pa=0.0, drift_sigma_pa=0.0, resolution_pa=0.0),
            gps=replace(
                self.gps,
                latency_us=0,
                horizontal_sigma_m=0.0,
                vertical_sigma_m=0.0,
                horizontal_noise_m=0.0,
                vertical_noise_m=0.0,
                vel_sigma_m_s=0.0,
            ),
            airspeed=self.airspeed
            and replace(self.airspeed, noise_sigma_pa=0.0, offset_sigma_pa=0.0, resolution_pa=0.0),
        )
