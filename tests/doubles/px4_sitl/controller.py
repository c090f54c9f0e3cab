"""A cascade of position, velocity, attitude and rate control with motor mixing; gains are PX4's where it has them."""

import math

from estimator import GRAVITY, Estimator
from parameters import Parameters
from vectors import Quaternion, Vector, clipped, conjugate, length, product

MAX_TILT = math.radians(20.0)
MIX = ((-1.0, 1.0, 1.0), (1.0, -1.0, 1.0), (1.0, 1.0, -1.0), (-1.0, -1.0, -1.0))
"""What roll, pitch and yaw add to each motor: front right, rear left, front left, rear right."""


class Controller:
    """Flies to a position, or descends with a given speed."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters
        self.reset()

    def reset(self) -> None:
        self._vel_i: Vector = (0.0, 0.0, 0.0)
        self._rate_i: Vector = (0.0, 0.0, 0.0)
        self._rates_before: Vector | None = None
        self.thrust = 0.0

    def motors(
        self, now: Estimator, target: Vector, speed: float, descend: float | None, yaw: float, dt: float
    ) -> list[float]:
        """Return the four motor commands.

        Args:
            now: The estimate.
            target: Target position [m].
            speed: Maximum horizontal speed [m/s].
            descend: Descent speed [m/s], if the target's altitude is ignored.
            yaw: Target heading.
            dt: Time step.
        """
        vel_sp = [0.95 * (target[i] - now.pos[i]) for i in range(3)]
        fast = math.hypot(vel_sp[0], vel_sp[1])
        if fast > speed:
            vel_sp[0], vel_sp[1] = vel_sp[0] * speed / fast, vel_sp[1] * speed / fast
        vel_sp[2] = min(max(vel_sp[2], -2.0), 1.0) if descend is None else descend
        off = [vel_sp[i] - now.vel[i] for i in range(3)]
        gains_p, gains_i = (1.8, 1.8, 4.0), (0.4, 0.4, 2.0)
        self._vel_i = tuple(clipped(self._vel_i[i] + gains_i[i] * off[i] * dt, 5.0) for i in range(3))
        acc = [gains_p[i] * off[i] + self._vel_i[i] for i in range(3)]
        lift = max(GRAVITY - acc[2], 1.0)
        flat = math.hypot(acc[0], acc[1])
        most = lift * math.tan(MAX_TILT)
        if flat > most:
            acc[0], acc[1] = acc[0] * most / flat, acc[1] * most / flat
        force = (acc[0], acc[1], -lift)
        hover = self._parameters.get("MPC_THR_HOVER")  # the integral finds the rest
        self.thrust = min(max(hover * length(force) / GRAVITY, 0.05), 0.9)
        return self._mixed(self._torque(now, self._rate_setpoint(now, force, yaw), dt))

    def _rate_setpoint(self, now: Estimator, force: Vector, yaw: float) -> Vector:
        size = length(force)
        z = tuple(-part / size for part in force)  # down, in the body
        y = (-math.sin(yaw), math.cos(yaw), 0.0)
        x = (y[1] * z[2] - y[2] * z[1], y[2] * z[0] - y[0] * z[2], y[0] * z[1] - y[1] * z[0])
        x = tuple(part / length(x) for part in x)
        y = (z[1] * x[2] - z[2] * x[1], z[2] * x[0] - z[0] * x[2], z[0] * x[1] - z[1] * x[0])
        wanted = _quaternion(x, y, z)
        error = product(conjugate(now.q), wanted)
        sign = 2.0 if error[0] >= 0.0 else -2.0
        return (
            clipped(6.5 * sign * error[1], 3.0),
            clipped(6.5 * sign * error[2], 3.0),
            clipped(2.0 * sign * error[3], 1.0),
        )

    def _torque(self, now: Estimator, rates_sp: Vector, dt: float) -> Vector:
        before = self._rates_before or now.rates
        self._rates_before = now.rates
        gains_p, gains_i, gains_d = (0.10, 0.10, 0.15), (0.10, 0.10, 0.05), (0.002, 0.002, 0.0)
        off = [rates_sp[i] - now.rates[i] for i in range(3)]
        self._rate_i = tuple(clipped(self._rate_i[i] + gains_i[i] * off[i] * dt, 0.2) for i in range(3))
        return tuple(
            gains_p[i] * off[i] + self._rate_i[i] - gains_d[i] * clipped((now.rates[i] - before[i]) / dt, 100.0)
            for i in range(3)
        )

    def _mixed(self, torque: Vector) -> list[float]:
        yaw = clipped(torque[2], 0.1)
        raw = [self.thrust + row[0] * torque[0] + row[1] * torque[1] + row[2] * yaw for row in MIX]
        excess = max(0.0, max(raw) - 1.0)
        return [round(min(max(value - excess, 0.0), 1.0), 3) for value in raw]


def _quaternion(x: Vector, y: Vector, z: Vector) -> Quaternion:
    """Return the attitude with these axes in NED."""
    trace = x[0] + y[1] + z[2]
    if trace > 0.0:
        s = 2.0 * math.sqrt(1.0 + trace)
        return 0.25 * s, (y[2] - z[1]) / s, (z[0] - x[2]) / s, (x[1] - y[0]) / s
    # Upside down or turned by half: the largest of the others.
    if x[0] >= y[1] and x[0] >= z[2]:
        s = 2.0 * math.sqrt(1.0 + x[0] - y[1] - z[2])
        return (y[2] - z[1]) / s, 0.25 * s, (x[1] + y[0]) / s, (z[0] + x[2]) / s
    if y[1] >= z[2]:
        s = 2.0 * math.sqrt(1.0 + y[1] - x[0] - z[2])
        return (z[0] - x[2]) / s, (x[1] + y[0]) / s, 0.25 * s, (y[2] + z[1]) / s
    s = 2.0 * math.sqrt(1.0 + z[2] - x[0] - y[1])
    return (x[1] - y[0]) / s, (z[0] + x[2]) / s, (y[2] + z[1]) / s, 0.25 * s
