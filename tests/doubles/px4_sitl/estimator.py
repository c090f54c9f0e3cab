"""Attitude, velocity and position from sensor messages only.

Gyro and accelerometer are integrated. On the ground the accelerometer levels the attitude; in flight the GPS velocity
does (a tilt error shows as velocity drift). The magnetometer gives the heading, the barometer the altitude.
"""

import math

from vectors import Quaternion, Vector, clipped, cross, length, normalized, product, rotated, turn, wrapped, yaw_of

GRAVITY = 9.80665
EARTH_M = 6_371_000.0
DECLINATION = math.radians(3.5)
"""Declination at the home position of the built-in aircraft, near Zurich, in 2026; PX4 has a table of the world."""
AT_REST_US = 500_000
"""Initial time on the ground in which it levels and estimates the biases."""


class Estimator:
    """The estimate, initialized by the first messages."""

    def __init__(self) -> None:
        self.q: Quaternion = (1.0, 0.0, 0.0, 0.0)
        self.rates: Vector = (0.0, 0.0, 0.0)
        self.vel: Vector = (0.0, 0.0, 0.0)
        self.pos: Vector = (0.0, 0.0, 0.0)
        self.home: tuple[float, float, float] | None = None
        self.ground_hpa: float | None = None
        self.has_heading = False
        self._bias: Vector = (0.0, 0.0, 0.0)
        self._bias_down = 0.0
        self._n_rest = 0

    def imu(self, acc: Vector, gyro: Vector, dt: float, is_at_rest: bool) -> None:
        """Integrate one step."""
        if is_at_rest:
            self._n_rest = min(self._n_rest + 1, 1000)
            k = 1.0 / self._n_rest
            self._bias = tuple(b + k * (g - b) for b, g in zip(self._bias, gyro, strict=True))
        self.rates = tuple(g - b for g, b in zip(gyro, self._bias, strict=True))
        self.q = normalized(product(self.q, turn(tuple(dt * rate for rate in self.rates))))
        force = rotated(self.q, acc)
        if is_at_rest:  # the specific force points up
            size = max(length(force), 1e-3)
            off = cross((force[0] / size, force[1] / size, force[2] / size), (0.0, 0.0, -1.0))
            gain = 0.02 if self._n_rest > 200 else 0.2
            self._tilt((gain * off[0], gain * off[1], 0.0))
            self._bias_down += 0.01 * (force[2] + GRAVITY - self._bias_down)
            self.vel, self.pos = (0.0, 0.0, 0.0), (0.0, 0.0, self.pos[2])
            return
        acceleration = (force[0], force[1], force[2] + GRAVITY - self._bias_down)
        self.pos = tuple(
            p + dt * v + 0.5 * dt * dt * a for p, v, a in zip(self.pos, self.vel, acceleration, strict=True)
        )
        self.vel = tuple(v + dt * a for v, a in zip(self.vel, acceleration, strict=True))

    def mag(self, field: Vector, dt: float) -> None:
        """Correct the heading with the magnetic field."""
        level = rotated(self.q, field)
        heading_error = wrapped(DECLINATION - math.atan2(level[1], level[0]))
        self._tilt((0.0, 0.0, heading_error if not self.has_heading else clipped(0.5 * dt, 1.0) * heading_error))
        self.has_heading = True

    def baro(self, pressure_hpa: float, dt: float, is_at_rest: bool) -> None:
        """Update the altitude above ground from the standard atmosphere."""
        if self.ground_hpa is None:
            self.ground_hpa = pressure_hpa
        if is_at_rest:
            self.ground_hpa += 0.05 * (pressure_hpa - self.ground_hpa)
        down = -44_330.8 * ((self.ground_hpa / 1013.25) ** 0.190263 - (pressure_hpa / 1013.25) ** 0.190263)
        off = down - self.pos[2]
        gain = min(dt, 0.2)
        self.pos = (self.pos[0], self.pos[1], self.pos[2] + 1.5 * gain * off)
        if not is_at_rest:
            self.vel = (self.vel[0], self.vel[1], self.vel[2] + 0.8 * gain * off)
            self._bias_down -= 0.1 * gain * off

    def gps(self, lat: float, lon: float, alt: float, velocity: Vector, dt: float, is_at_rest: bool) -> None:
        """Update position and velocity; the first fix is home."""
        if self.home is None:
            self.home = (lat, lon, alt)
        if is_at_rest:
            k = 0.05
            self.home = tuple(h + k * (now - h) for h, now in zip(self.home, (lat, lon, alt), strict=True))
            return
        north, east = self.local(lat, lon)
        gain = min(dt, 0.5)
        e_n, e_e = velocity[0] - self.vel[0], velocity[1] - self.vel[1]
        self.vel = (self.vel[0] + 1.5 * gain * e_n, self.vel[1] + 1.5 * gain * e_e, self.vel[2])
        self._tilt((0.6 * gain * e_e / GRAVITY, -0.6 * gain * e_n / GRAVITY, 0.0))
        self.pos = (
            self.pos[0] + 0.7 * gain * (north - self.pos[0]),
            self.pos[1] + 0.7 * gain * (east - self.pos[1]),
            self.pos[2],
        )

    def local(self, lat: float, lon: float) -> tuple[float, float]:
        """Return north and east of home [m]."""
        assert self.home is not None
        east = math.radians(lon - self.home[1]) * EARTH_M * math.cos(math.radians(self.home[0]))
        return math.radians(lat - self.home[0]) * EARTH_M, east

    def globally(self, pos: Vector) -> tuple[float, float]:
        """Return latitude and longitude."""
        assert self.home is not None
        lon = self.home[1] + math.degrees(pos[1] / (EARTH_M * math.cos(math.radians(self.home[0]))))
        return self.home[0] + math.degrees(pos[0] / EARTH_M), lon

    @property
    def yaw(self) -> float:
        return yaw_of(self.q)

    def _tilt(self, rotation_ned: Vector) -> None:
        self.q = normalized(product(turn(rotation_ned), self.q))
