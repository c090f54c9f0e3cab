"""All sensors together, stepped once per tick of the autopilot in compiled code.

The IMU samples at every tick; the others at the first tick at or after each whole number of their periods, counted from
the first tick, so that nothing drifts. All that changes is in one record, `SENSORS`.
"""

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.checks import Vector3, check_number, check_vector
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import kernel, plain, record, rows, specialize, view
from px4lockstep.plant.layout import MAX_MOTORS, RIGID_BODY_STATES
from px4lockstep.sensors.airspeed import AIRSPEED, step_airspeed
from px4lockstep.sensors.barometer import BAROMETER, step_barometer
from px4lockstep.sensors.config import SensorConfig
from px4lockstep.sensors.gps import GPS, step_gps
from px4lockstep.sensors.imu import IMU, step_imu
from px4lockstep.sensors.layout import (
    ACCEL_FIELDS,
    AIRSPEED_FIELDS,
    BARO_FIELDS,
    GYRO_FIELDS,
    MAG_FIELDS,
    READINGS,
    SENSOR_INPUTS,
    SENSOR_OUT,
)
from px4lockstep.sensors.magnetometer import MAGNETOMETER, step_magnetometer
from px4lockstep.timebase import check_us

SENSORS = record(
    [
        ("start_us", "i8"),  # of the first tick; -1 before it
        ("inputs", SENSOR_INPUTS),
        ("imu", IMU),
        ("mag", MAGNETOMETER),
        ("baro", BAROMETER),
        ("gps", GPS),
        ("airspeed", AIRSPEED),
        ("out", SENSOR_OUT),
    ]
)
TIMES = struct.Struct("=qq")  # of the first tick and of the last one, which the record begins with
GIVEN, GIVEN_AT = struct.Struct("=qqd"), 8
"""Time, faults and gravity, which the inputs begin with, and where that is."""


@kernel
def show_imu(imu, out):
    """Write the samples of this tick; return the bits of what is new."""
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
def step_sensors(suites):
    """Run one tick of all sensors of the record in an array of length 1."""
    sensors = suites[0]
    inputs, out = sensors.inputs, sensors.out
    if sensors.start_us < 0:
        sensors.start_us = inputs.time_us
    elapsed_us = inputs.time_us - sensors.start_us
    step_imu(sensors.imu, inputs)
    fields = show_imu(sensors.imu, out)
    if step_magnetometer(sensors.mag, inputs, elapsed_us):
        fields |= MAG_FIELDS
        for i in range(3):
            out.mag_gauss[i] = sensors.mag.triad.value[i]
    baro = sensors.baro
    if step_barometer(baro, inputs, elapsed_us):
        fields |= BARO_FIELDS
        out.abs_pressure_hpa = 0.01 * baro.pressure_pa
        out.pressure_alt_m = baro.pressure_alt_m
        out.temperature_c = baro.temperature_c
    if step_airspeed(sensors.airspeed, inputs, elapsed_us):
        fields |= AIRSPEED_FIELDS
        out.diff_pressure_hpa = 0.01 * sensors.airspeed.pressure_pa
    out.fields_updated = fields
    out.gps_updated = 1 if step_gps(sensors.gps, inputs, elapsed_us, out) else 0


@functools.cache
def _compiled() -> Callable[..., Any]:
    return specialize(step_sensors, np.zeros(1, SENSORS))


class SensorSuite:
    """The sensors of one run.

    Args:
        config: What they are.
        seed: Of the run: noise is a function of it, the sensor, the sample and the axis.
        period_us: One tick of the autopilot.
        home_lat_deg: Latitude of the origin.
        home_lon_deg: Its longitude.
        home_alt_msl_m: Its altitude above sea level.
        rotor_pos_body_m: Where the rotors are; vibration of the gyroscope needs it.

    Raises:
        InputError: If a value can't be used, or a sensor is faster than the autopilot.
    """

    def __init__(
        self,
        config: SensorConfig,
        *,
        seed: int,
        period_us: int,
        home_lat_deg: float,
        home_lon_deg: float,
        home_alt_msl_m: float,
        rotor_pos_body_m: Sequence[Vector3] = (),
    ) -> None:
        self.period_us = check_us("autopilot period", period_us, minimum=1)
        self.gps_latency_us = config.gps.latency_us
        MapProjection(home_lat_deg, home_lon_deg)  # checks them
        check_number(
            "home altitude", home_alt_msl_m, -5_000.0, 20_000.0, "from -5000 to 20000 m, where there is a model"
        )
        rotors = tuple(check_vector(f"rotor_pos_body_m[{i}]", pos) for i, pos in enumerate(rotor_pos_body_m))
        if len(rotors) > MAX_MOTORS:
            raise InputError(f"rotor_pos_body_m has {len(rotors)} rotors; at most {MAX_MOTORS} are allowed")
        home = float(home_lat_deg), float(home_lon_deg), float(home_alt_msl_m)
        self.record: npt.NDArray[Any] = np.zeros(1, SENSORS)
        """All that there is: parameters, biases, what waits, what was said last. A copy of it is a snapshot."""
        rec = plain(self.record)[0]
        rec["start_us"] = -1
        config.imu.write(rec["imu"], seed, period_us, rotors)
        config.mag.write(rec["mag"], seed, home, config.date)
        config.baro.write(rec["baro"], seed, home[2])
        config.gps.write(rec["gps"], seed, home)
        if config.airspeed is not None:
            config.airspeed.write(rec["airspeed"], seed, home[2])
        for sensor in (config.mag, config.baro, config.gps, config.airspeed):
            if sensor is not None and sensor.period_us < period_us:
                raise InputError(
                    f"{sensor.field}.period_us = {sensor.period_us} is shorter than a tick of the autopilot, "
                    f"{period_us} us; use at least that"
                )
        self._look()

    def _look(self) -> None:
        """Make the views of the record."""
        self.out: Any = view(self.record["out"], writable=False)
        """What the sensors say at this tick: a view of `layout.SENSOR_OUT`."""
        self.readings: npt.NDArray[np.float64] = self.record["out"].view(np.uint8)[: 8 * READINGS].view(np.float64)
        """The first numbers of it, all but the GPS's, in one array."""
        self.readings.flags.writeable = False
        self.true_accel_m_s2: Any = plain(self.record)[0]["imu"]["mean_accel_m_s2"].view()
        """Specific force at the IMU over the last step, body axes, without errors and faults."""
        self.true_accel_m_s2.flags.writeable = False
        inputs = plain(self.record)[0]["inputs"]
        self._x, self._speeds, self._wind = (inputs[name] for name in ("x", "rotor_speed_rad_s", "wind_ned"))
        self._bytes = memoryview(self.record.view(np.uint8))  # type: ignore[arg-type]  # of NumPy before 2.1
        self._argument = rows(self.record)
        self._step = _compiled()

    def step(
        self,
        time_us: int,
        x_state: npt.NDArray[np.float64],
        rotor_speeds: npt.NDArray[np.float64],
        wind_ned: npt.NDArray[np.float64],
        faults_mask: int,
        gravity_m_s2: float,
    ) -> None:
        """Run one tick and write `out`. The first has no step before it; the next is one period later, and so on.

        Args:
            time_us: The time.
            x_state: The plant's state, which begins with position and velocity (NED), q_bn and body rates.
            rotor_speeds: Of each rotor [rad/s].
            wind_ned: Velocity of the air over the ground.
            faults_mask: `SENSOR_FAULT_*` bits.
            gravity_m_s2: Acceleration of gravity, down.

        Raises:
            InputError: If the time is not that of the next tick, or an array has the wrong length.
        """
        start_us, last_us = TIMES.unpack_from(self._bytes)
        if start_us < 0:
            check_us("time_us", time_us)
            self._check_lengths(len(x_state), len(rotor_speeds), len(wind_ned))
        elif time_us != last_us + self.period_us:
            raise InputError(
                f"time_us = {time_us} is not the next tick of the sensors, {last_us + self.period_us}; "
                "step them once per tick of the autopilot"
            )
        GIVEN.pack_into(self._bytes, GIVEN_AT, time_us, faults_mask, gravity_m_s2)
        self._x[:] = x_state[:RIGID_BODY_STATES]
        self._speeds[: len(rotor_speeds)] = rotor_speeds
        self._wind[:] = wind_ned
        self._step(self._argument)

    def __getstate__(self) -> tuple[int, int, npt.NDArray[Any]]:
        return self.period_us, self.gps_latency_us, self.record

    def __setstate__(self, saved: tuple[int, int, npt.NDArray[Any]]) -> None:
        self.period_us, self.gps_latency_us, self.record = saved
        self._look()

    def snapshot(self) -> npt.NDArray[Any]:
        """Return a copy of all that there is."""
        return self.record.copy()

    def restore(self, saved: npt.NDArray[Any]) -> None:
        """Go back to what `snapshot` returned."""
        self.record[:] = saved

    def _check_lengths(self, states: int, rotors: int, wind: int) -> None:
        if states < RIGID_BODY_STATES or rotors > MAX_MOTORS or wind != 3:
            raise InputError(
                f"the sensors were given {states} states, {rotors} rotor speeds and a wind of {wind} numbers; they "
                f"need a rigid body's {RIGID_BODY_STATES} states or more, at most {MAX_MOTORS} rotors and a wind of 3"
            )
