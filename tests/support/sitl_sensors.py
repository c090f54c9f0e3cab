"""Sensors for tests of stock PX4's host: the truth and a little noise, with the interface of `SensorSuite`."""

import math
from types import SimpleNamespace

import numpy as np

from px4lockstep.environment.projection import MapProjection

FIELD_NED = (0.2148, 0.0131, 0.4303)
"""Gauss, near Zurich: 3.5° of declination."""
MAG_US, BARO_US, GPS_US = 20_000, 40_000, 200_000


def to_body(q, v):
    w, x, y, z = q
    r = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return r.T @ np.asarray(v)


class TruthSuite:
    """The truth, with noise on magnetometer and barometer, without which nobody arms."""

    def __init__(
        self,
        *,
        seed,
        period_us,
        home_lat_deg,
        home_lon_deg,
        home_alt_msl_m,
        rotor_pos_body_m=(),
        noise=1.0,
        leave_out=0,
        gps=True,
    ):
        self.period_us = period_us
        self.gps_latency_us = 0
        self._map = MapProjection(home_lat_deg, home_lon_deg)
        self._alt_m = home_alt_msl_m
        self._random = np.random.default_rng(seed)
        self._noise, self._leave_out, self._gps = noise, leave_out, gps
        self._vel = None
        self.times_us = []
        self.faults = []
        self.out = SimpleNamespace(
            mag_gauss=np.zeros(3),
            abs_pressure_hpa=0.0,
            diff_pressure_hpa=0.0,
            pressure_alt_m=0.0,
            temperature_c=15.0,
            gps_updated=0,
            gps_eph_cm=30,
            gps_epv_cm=40,
            gps_fix_type=3,
            gps_satellites=12,
        )

    @property
    def readings(self):
        out = self.out
        others = (out.abs_pressure_hpa, out.diff_pressure_hpa, out.pressure_alt_m, out.temperature_c)
        return np.array([*out.accel_m_s2, *out.gyro_rad_s, *out.mag_gauss, *others])

    def step(self, time_us, x, rotor_speeds, wind_ned, faults_mask, gravity_m_s2):
        assert isinstance(time_us, int)
        assert not self.times_us or time_us - self.times_us[-1] == self.period_us
        self.times_us.append(time_us)
        self.faults.append(faults_mask)
        out, q, dt_s = self.out, x[6:10], self.period_us / 1e6
        vel = x[3:6].copy()
        acc = np.zeros(3) if self._vel is None else (vel - self._vel) / dt_s
        self._vel = vel
        out.accel_m_s2 = self.true_accel_m_s2 = to_body(q, acc - np.array([0.0, 0.0, gravity_m_s2]))
        out.gyro_rad_s = x[10:13].copy()
        out.fields_updated = 0x3F
        if time_us % MAG_US == 0:
            noise = self._noise * 1e-3 * self._random.standard_normal(3)
            out.mag_gauss = to_body(q, FIELD_NED) + noise
            out.fields_updated |= 0x1C0
        if time_us % BARO_US == 0:
            altitude_m = self._alt_m - x[2] + self._noise * 0.1 * self._random.standard_normal()
            out.pressure_alt_m = altitude_m
            out.abs_pressure_hpa = 1013.25 * (1.0 - altitude_m / 44_330.8) ** (1.0 / 0.190263)
            out.fields_updated |= 0x1A00
        out.fields_updated &= ~self._leave_out
        out.gps_updated = int(self._gps and time_us % GPS_US == 0)
        if out.gps_updated:
            lat_deg, lon_deg = self._map.to_global(float(x[0]), float(x[1]))
            out.gps_lat_1e7, out.gps_lon_1e7 = round(1e7 * lat_deg), round(1e7 * lon_deg)
            out.gps_alt_mm = round(1e3 * (self._alt_m - x[2]))
            out.gps_vn_cm_s, out.gps_ve_cm_s, out.gps_vd_cm_s = (round(100.0 * value) for value in vel)
            out.gps_vel_cm_s = round(100.0 * math.hypot(vel[0], vel[1]))
            out.gps_cog_cdeg = round(100.0 * math.degrees(math.atan2(vel[1], vel[0]))) % 36_000
