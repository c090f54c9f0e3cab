"""All sensors of a vehicle: their table, their records, and the compiled stage that steps them.

The stage runs once per autopilot tick, between the derived outputs and the estimator, and writes `bus.sensors`, a
`SENSOR_OUT`. The IMU samples at every tick; the others at the first tick at or after each whole number of their
periods, counted from the first tick, so that the sampling does not drift.

To add a sensor: write a module with its Part, records and kernel, then add it here to `OUTPUTS`, `SENSOR_CONFIG`,
`SENSOR_STATE`, `SensorConfig` and `step_sensors`. Log, recording, checkpoints, schema and reference follow from these.
"""

import functools
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import check_number, check_vector
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.environment.gravity import GRAVITY, Gravity, gravity_down_m_s2
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import callback, kernel, plain, record, zeros
from px4lockstep.jit.progress import reporter
from px4lockstep.jit.records import COUNT
from px4lockstep.part import Part, entry
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import MAX_MOTORS, RIGID_BODY_STATES, STATE
from px4lockstep.sensors import magnetometer
from px4lockstep.sensors.airspeed import AIRSPEED, AIRSPEED_STATE, Airspeed, step_airspeed
from px4lockstep.sensors.barometer import BAROMETER, BAROMETER_STATE, Barometer, step_barometer
from px4lockstep.sensors.gps import GPS, GPS_STATE, Gps, step_gps
from px4lockstep.sensors.imu import IMU, IMU_STATE, Imu, step_imu
from px4lockstep.sensors.magnetometer import FIRST_YEAR, LAST_YEAR, Magnetometer
from px4lockstep.sensors.sensor import SENSOR_INPUTS, Installation

ACCEL_FIELDS = 0x7
GYRO_FIELDS = 0x38
MAG_FIELDS = 0x1C0
BARO_FIELDS = 0x1A00  # absolute pressure, pressure altitude and temperature
AIRSPEED_FIELDS = 0x400
"""Bits of `fields_updated`, as in MAVLink HIL_SENSOR."""


class Output(NamedTuple):
    """A number or a vector in body axes that the sensors report; its log column is `sensor_<name>`."""

    name: str
    kind: str
    unit: str
    description: str
    shape: str = ""


OUTPUTS = (
    Output("accel_m_s2", "f8", "m/s^2", "specific force at the IMU, averaged over the tick", "body"),
    Output("gyro_rad_s", "f8", "rad/s", "body rates, averaged over the tick", "body"),
    Output("mag_gauss", "f8", "gauss", "magnetic field", "body"),
    Output("abs_pressure_hpa", "f8", "hPa", "static pressure of the barometer"),
    Output("diff_pressure_hpa", "f8", "hPa", "differential pressure of the airspeed sensor; 0 without one"),
    Output("pressure_alt_m", "f8", "m", "pressure altitude of the barometer"),
    Output("temperature_c", "f8", "degC", "temperature of the barometer"),
    Output("fields_updated", "i8", "1", "fields updated at this tick, as the bits of MAVLink HIL_SENSOR"),
    Output("gps_updated", "i8", "1", "1: a new GPS message at this tick, with or without a fix"),
    Output("gps_lat_1e7", "i8", "1e-7 deg", "latitude of the GPS"),
    Output("gps_lon_1e7", "i8", "1e-7 deg", "longitude of the GPS"),
    Output("gps_alt_mm", "i8", "mm", "altitude of the GPS above sea level"),
    Output("gps_eph_cm", "i8", "cm", "horizontal accuracy that the GPS reports; 65535 without a fix"),
    Output("gps_epv_cm", "i8", "cm", "vertical accuracy that the GPS reports; 65535 without a fix"),
    Output("gps_vel_cm_s", "i8", "cm/s", "ground speed of the GPS"),
    Output("gps_vn_cm_s", "i8", "cm/s", "velocity of the GPS, north"),
    Output("gps_ve_cm_s", "i8", "cm/s", "velocity of the GPS, east"),
    Output("gps_vd_cm_s", "i8", "cm/s", "velocity of the GPS, down"),
    Output("gps_cog_cdeg", "i8", "0.01 deg", "course over ground of the GPS, 0 to 35999 from north over east"),
    Output("gps_fix_type", "i8", "1", "3: 3D fix; 1: no fix"),
    Output("gps_satellites", "i8", "1", "number of satellites that the GPS reports"),
)
"""Outputs of the sensors. A value is held until the next sample."""

READINGS = 13
"""Count of the leading numbers, all but those of the GPS, in the order of MAVLink HIL_SENSOR."""

SENSOR_OUT = record([(out.name, out.kind, *((3,) if out.shape == "body" else ())) for out in OUTPUTS])

SENSOR_CONFIG = record(
    [
        ("period_us", "i8"),  # period of the ticks
        ("rotor_start n_rotors", "i8"),  # start index and number of the rotor speeds in the state
        ("gravity", GRAVITY),
        ("imu", IMU),
        ("mag", magnetometer.MAGNETOMETER),
        ("baro", BAROMETER),
        ("gps", GPS),
        ("airspeed", AIRSPEED),
    ]
)
SENSOR_STATE = record(
    [
        ("ticks", "i8"),
        ("inputs", SENSOR_INPUTS),
        ("imu", IMU_STATE),
        ("mag", magnetometer.MAGNETOMETER_STATE),
        ("baro", BAROMETER_STATE),
        ("gps", GPS_STATE),
        ("airspeed", AIRSPEED_STATE),
    ],
    limits={"ticks": COUNT},
)
"""All values that change during a run; zero before the first tick."""

SENSORS = record(
    [
        ("address", "i8"),  # address of the compiled stage in this process; 0: off
        ("config", SENSOR_CONFIG),
        ("state", SENSOR_STATE),
        ("out", SENSOR_OUT),
    ]
)


@kernel
def look(config, state, held, ticks, inputs):
    """Write the inputs of the sensors at a tick."""
    inputs.elapsed_us = ticks * config.period_us
    inputs.faults_mask = held.faults.sensor_fault_mask
    inputs.gravity_m_s2 = gravity_down_m_s2(config.gravity, state.x[2])
    for i in range(RIGID_BODY_STATES):
        inputs.x[i] = state.x[i]
    for i in range(config.n_rotors):
        inputs.rotor_speed_rad_s[i] = state.x[config.rotor_start + i]
    for i in range(3):
        inputs.wind_ned[i] = held.wind_ned[i]


@kernel
def show_imu(imu, out):
    """Write the samples of this tick; return the bits of the updated fields."""
    fields = 0
    if imu.has_accel:
        fields |= ACCEL_FIELDS
        for i in range(3):
            out.accel_m_s2[i] = imu.accel.value[i]
    if imu.has_gyro:
        fields |= GYRO_FIELDS
        for i in range(3):
            out.gyro_rad_s[i] = imu.gyro.value[i]
    return fields


@kernel
def step_sensors(plant_state, held, sensors):
    """Run one tick of all sensors, from the state and the held inputs of the plant."""
    config, state, out = sensors.config, sensors.state, sensors.out
    inputs = state.inputs
    look(config, plant_state, held, state.ticks, inputs)
    state.ticks += 1
    step_imu(config.imu, state.imu, inputs)
    fields = show_imu(state.imu, out)
    if magnetometer.step_magnetometer(config.mag, state.mag, inputs):
        fields |= MAG_FIELDS
        for i in range(3):
            out.mag_gauss[i] = state.mag.value[i]
    if step_barometer(config.baro, state.baro, inputs):
        fields |= BARO_FIELDS
        out.abs_pressure_hpa = 0.01 * state.baro.pressure_pa
        out.pressure_alt_m = state.baro.pressure_alt_m
        out.temperature_c = state.baro.temperature_c
    if step_airspeed(config.airspeed, state.airspeed, inputs):
        fields |= AIRSPEED_FIELDS
        out.diff_pressure_hpa = 0.01 * state.airspeed.pressure_pa
    out.fields_updated = fields
    out.gps_updated = 1 if step_gps(config.gps, state.gps, inputs, out) else 0


@functools.cache
def stage_address() -> int:
    """Return the address of the stage; it is compiled on first use, which flights without sensors never reach."""
    with reporter.together():
        return callback(step_sensors, "void", (STATE, INPUT, SENSORS))


class SensorConfig(Part, where="px4.sitl.sensors"):
    """Sensors of stock PX4; the defaults are those of a typical flight controller."""

    imu: Imu = entry(Imu(), "Gyroscope and accelerometer.")
    mag: Magnetometer = entry(Magnetometer(), "Magnetometer.")
    baro: Barometer = entry(Barometer(), "Barometer.")
    gps: Gps = entry(Gps(), "GPS receiver.")
    airspeed: Airspeed | None = entry(None, "Airspeed sensor. Default: none, as on a multirotor.")
    date: float = entry(2026.0, "Date as a decimal year, for the Earth's magnetic field.", ge=FIRST_YEAR, lt=LAST_YEAR)

    @property
    def sensors(self) -> dict[str, Any]:
        """Sensors by key."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Part)}

    def write(self, rec: Any, at: Installation) -> None:
        """Write the records of all sensors into a `SENSOR_CONFIG` record."""
        for name, sensor in self.sensors.items():
            if not isinstance(sensor, Imu) and sensor.period_us < at.period_us:
                raise InputError(
                    f"{sensor.where}.period_us = {sensor.period_us} is shorter than an autopilot tick; "
                    f"use at least {at.period_us} us"
                )
            sensor.write(rec[name], at)

    def without_errors(self) -> "SensorConfig":
        """Return the sensors without noise, bias, drift, vibration, rounding and latency.

        Periods, positions, the iron around the magnetometer, the static error of the barometer and the effects of
        faults are unchanged.
        """
        return self.model_copy(update={name: sensor.without_errors() for name, sensor in self.sensors.items()})


@dataclass(frozen=True)
class SensorSuite:
    """Sensors of a simulation, and the position of home.

    Args:
        config: The sensors.
        home_lat_deg: Latitude of the origin.
        home_lon_deg: Longitude of the origin.

    Raises:
        InputError: If the position of home is invalid.
    """

    config: SensorConfig = field(default_factory=SensorConfig)
    home_lat_deg: float = HOME_LAT_DEG
    home_lon_deg: float = HOME_LON_DEG

    def __post_init__(self) -> None:
        """Check the position of home."""
        MapProjection(self.home_lat_deg, self.home_lon_deg)

    def record(self, plant: Any, rotors: slice, seed: int, period_us: int) -> npt.NDArray[Any]:
        """Return an array of one `SENSORS` record before the first tick; `rotors` is the slice of rotor speeds.

        A plant without altitude or gravity is at sea level in standard gravity.
        """
        allowed = "from -5000 to 20000 m, the range of the model"
        alt_msl_m = check_number("home altitude", getattr(plant, "home_alt_msl_m", 0.0), -5_000.0, 20_000.0, allowed)
        places = tuple(
            check_vector(f"rotors[{i}].pos_body_m", rotor.pos_body_m)
            for i, rotor in enumerate(getattr(plant, "rotors", ()))
        )
        made = zeros(SENSORS)
        rec = plain(made)[0]
        config = rec["config"]
        config["period_us"] = period_us
        config["rotor_start"], config["n_rotors"] = rotors.start, min(rotors.stop - rotors.start, MAX_MOTORS)
        getattr(plant, "gravity", Gravity()).write(config["gravity"])
        centre = plant.loading.centre_body_m if hasattr(plant, "loading") else (0.0, 0.0, 0.0)
        home = self.home_lat_deg, self.home_lon_deg, alt_msl_m
        at = Installation(seed, period_us, *home, self.config.date, places, centre)
        self.config.write(config, at)
        rec["address"] = stage_address()
        return made


@functools.cache
def no_sensors() -> npt.NDArray[Any]:
    """Return the record of a simulation without sensors, whose stage is off, so that nothing writes to it."""
    return np.zeros(1, SENSORS)
