"""MAVLink frames for stock PX4 at each step: `bus.sensors`, new GPS messages and, on request, the true state."""

import math
from typing import Any

from px4lockstep.autopilots.mavlink.hil import HilSender
from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.environment.projection import MapProjection
from px4lockstep.plant.layout import ATT_START, RIGID_BODY_STATES, VEL_START

LARGEST = 32_767.0 / 32_768.0
MAX_FORCE_M_S2 = 16.0 * STANDARD_GRAVITY_M_S2 * LARGEST
MAX_RATE_RAD_S = math.radians(2000.0) * LARGEST
"""PX4 stores the first IMU in 16 bits, in steps of 16 g/32,768 and 2000 °/s/32,768; larger values would wrap."""
TRUTH_STEPS = 5
"""Interval of the true state, in steps."""


class HilSensors:
    """Packs the readings of a simulation's sensors, an `engine.sensor_stage.SensorStage`, into MAVLink frames."""

    def __init__(self, stage: Any, home_alt_msl_m: float, home: tuple[float, float], *, ground_truth: bool) -> None:
        self._stage = stage
        self._home_alt_msl_m = home_alt_msl_m
        self._projection = MapProjection(*home)
        self._ground_truth = ground_truth
        self._sender = HilSender()
        self._steps = 0

    @property
    def fields_updated(self) -> int:
        """HIL_SENSOR's `fields_updated` of the last step."""
        return int(self._stage.out.fields_updated)

    def repeat(self) -> None:
        """Run the sensors for one more tick with the aircraft's state unchanged."""
        self._stage.repeat()

    def frames(self, hil_us: int, inputs: Any) -> bytes:
        """Return all frames of a step, starting with the IMU's, which sets PX4's clock."""
        self._steps += 1
        out, readings = self._stage.out, self._stage.readings.tolist()
        imu = readings[:6]
        if max(imu) > MAX_RATE_RAD_S or min(imu) < -MAX_RATE_RAD_S:  # the lower limit of the two, rarely exceeded
            readings[:3] = _clipped(imu[:3], MAX_FORCE_M_S2)
            readings[3:6] = _clipped(imu[3:], MAX_RATE_RAD_S)
        data = self._sender.sensor(hil_us, readings, int(out.fields_updated))
        if out.gps_updated:
            place, accuracy = (out.gps_lat_1e7, out.gps_lon_1e7, out.gps_alt_mm), (out.gps_eph_cm, out.gps_epv_cm)
            velocity = (out.gps_vel_cm_s, out.gps_vn_cm_s, out.gps_ve_cm_s, out.gps_vd_cm_s, out.gps_cog_cdeg)
            data += self._sender.gps(hil_us, *place, *accuracy, *velocity, out.gps_fix_type, out.gps_satellites)
        if self._ground_truth and self._steps % TRUTH_STEPS == 0:
            data += self._truth(hil_us, inputs)
        return data

    def _truth(self, hil_us: int, inputs: Any) -> bytes:
        """Return the frame with the true state, without sensor errors."""
        x, v_air_rel_vehicle = inputs.plant.x, inputs.bus.outputs.air_vel_body
        lat_deg, lon_deg = self._projection.to_global(float(x[0]), float(x[1]))
        place = (round(1e7 * lat_deg), round(1e7 * lon_deg), round(1e3 * (self._home_alt_msl_m - x[2])))
        velocity = [round(100.0 * value) for value in x[VEL_START:ATT_START]]
        forward, right, down = v_air_rel_vehicle
        airspeed = round(100.0 * math.sqrt(forward * forward + right * right + down * down))
        force = [round(1e3 * value / STANDARD_GRAVITY_M_S2) for value in self._stage.true_accel_m_s2.tolist()]
        attitude = x[ATT_START:RIGID_BODY_STATES].tolist()
        return self._sender.state(hil_us, attitude, *place, *velocity, airspeed, airspeed, *force)


def _clipped(values: list[float], limit: float) -> list[float]:
    return [min(max(value, -limit), limit) for value in values]
