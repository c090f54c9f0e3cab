"""A propeller from a test stand: thrust and torque, measured at some speeds.

    T = T_table(ω) ρ / ρ_nom fT,   Q = Q_table(ω) ρ / ρ_nom fQ

Between the points, each curve is a cubic with the slopes of parabolas through neighbouring points, limited so that it
is monotone (Fritsch, Carlson: Monotone Piecewise Cubic Interpolation, SIAM J. Numer. Anal. 17, 1980). Loads begin at 0
with slope 0, so that points of T = kT ω² give exactly that curve. Beyond the last point they grow with ω².

A table may also have the duty of each point, from which a first-order motor takes its speed, and the current at V_nom,
from which it takes its power instead of from the torque:

    ω* = ω_table(d),   I_bus = max(0, V_nom I_table(ω) ρ / ρ_nom + J ω̇ ω / η) / V
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.jit import interpreted, kernel, record
from px4lockstep.part import KEY, Found, NotNegative, Part, entry, misfit

MAX_POINTS = 16
MAX_TABLES = 4

CURVE = record([("points", "i8"), ("at c0 c1 c2 c3", "f8", MAX_POINTS)], limits={"points": MAX_POINTS})
"""A piecewise cubic: c0 + c1 s + c2 s² + c3 s³ from each point `at` on, s being the distance from it."""

TABLE = record(
    [
        ("thrust torque", CURVE),  # of the speed
        ("power", CURVE),  # of the speed, without points if there is no current
        ("speed", CURVE),  # of the duty, without points if there is no duty
    ]
)


@kernel
def curve_value(curve, at):
    """Return the value of a curve; the first and the last cubic continue outside."""
    i = curve.points - 2
    while i > 0 and at < curve.at[i]:
        i -= 1
    s = at - curve.at[i]
    return curve.c0[i] + s * (curve.c1[i] + s * (curve.c2[i] + s * curve.c3[i]))


@kernel
def load_value(curve, omega):
    """Return a load at a speed: the curve, and beyond its last point the square of the speed."""
    last = curve.at[curve.points - 1]
    if omega <= last:
        return curve_value(curve, omega)
    return curve.c0[curve.points - 1] * (omega / last) * (omega / last)


@kernel
def speed_value(curve, duty):
    """Return the speed at a duty, held outside the table."""
    return curve_value(curve, min(max(duty, curve.at[0]), curve.at[curve.points - 1]))


def monotone_slopes(x: tuple[float, ...], y: tuple[float, ...], first: float | None = None) -> list[float]:
    """Return the slopes of a monotone cubic at its points; `first` is that of the first point, if it is known."""
    h = [b - a for a, b in pairwise(x)]
    d = [(b - a) / step for (a, b), step in zip(pairwise(y), h, strict=True)]
    if len(d) == 1:
        inner, ends = [], (d[0], d[0])
    else:
        inner = [(h[k + 1] * d[k] + h[k] * d[k + 1]) / (h[k] + h[k + 1]) for k in range(len(d) - 1)]
        ends = (_end_slope(h[0], h[1], d[0], d[1]), _end_slope(h[-1], h[-2], d[-1], d[-2]))
    slopes = [ends[0] if first is None else first, *inner, ends[1]]
    for k, secant in enumerate(d):
        if secant == 0.0:
            slopes[k] = slopes[k + 1] = 0.0
            continue
        a, b = max(0.0, slopes[k] / secant), max(0.0, slopes[k + 1] / secant)
        shrink = min(1.0, 3.0 / math.sqrt(a * a + b * b)) if a or b else 1.0
        slopes[k], slopes[k + 1] = shrink * a * secant, shrink * b * secant
    return slopes


def _end_slope(h0: float, h1: float, d0: float, d1: float) -> float:
    """Return the slope of the parabola through three points at the one of them that is at an end."""
    return ((2.0 * h0 + h1) * d0 - h0 * d1) / (h0 + h1)


def write_curve(rec: Any, x: tuple[float, ...], y: tuple[float, ...], first: float | None = None) -> None:
    """Write a `CURVE` record; the last point has its value only."""
    slopes = monotone_slopes(x, y, first)
    rec["points"] = len(x)
    rec["at"][: len(x)], rec["c0"][: len(x)], rec["c1"][: len(x)] = x, y, slopes
    for k, (a, b) in enumerate(pairwise(x)):
        h, secant = b - a, (y[k + 1] - y[k]) / (b - a)
        rec["c2"][k] = (3.0 * secant - 2.0 * slopes[k] - slopes[k + 1]) / h
        rec["c3"][k] = (slopes[k] + slopes[k + 1] - 2.0 * secant) / (h * h)


class Table(Part, where="airframe.propulsion.table"):
    """A propeller from a test stand at `rho_nom`: one item per speed in each key."""

    speed_rad_s: tuple[float, ...] = entry(
        ..., "Speeds, strictly increasing from above 0.", "rad/s", min_length=2, max_length=MAX_POINTS - 1, gt=0.0
    )
    thrust_n: tuple[float, ...] = entry(..., "Thrust at each speed, increasing.", "N", gt=0.0)
    torque_nm: tuple[float, ...] = entry(..., "Torque at each speed, increasing.", "N m", gt=0.0)
    duty: tuple[NotNegative, ...] | None = entry(
        None, "Duty that gives each speed, strictly increasing; for `first_order` motors.", ge=0.0, le=1.0
    )
    current_a: tuple[NotNegative, ...] | None = entry(
        None, "Bus current at `V_nom` and each speed; for `first_order` motors.", "A", ge=0.0
    )

    def check(self) -> Found:
        """Check the number of items of each key, and that they increase."""
        for name in ("speed_rad_s", "thrust_n", "torque_nm", "duty", "current_a"):
            values = getattr(self, name)
            if values is None:
                continue
            if len(values) != len(self.speed_rad_s):
                text = f"{KEY} has {len(values)} items, speed_rad_s has {len(self.speed_rad_s)}; they must be as many"
                yield (name,), text
            elif not all(a < b for a, b in pairwise(values)):
                yield misfit(name, values, "is not strictly increasing; each value must exceed the previous one")

    @property
    def last_kt(self) -> float:
        """T / ω² of the last point."""
        return self.thrust_n[-1] / (self.speed_rad_s[-1] * self.speed_rad_s[-1])

    @property
    def last_torque_per_thrust_m(self) -> float:
        """Q / T of the last point."""
        return self.torque_nm[-1] / self.thrust_n[-1]

    @property
    def full_speed_rad_s(self) -> float | None:
        """Speed at duty 1, if the table has the duty of its points."""
        return None if self.duty is None else self.speed_rad_s[-1]

    def loads(self, omega: float) -> tuple[float, float]:
        """Return thrust and torque at a speed."""
        rec = np.zeros(1, TABLE).view(np.recarray)[0]
        self.write(rec, 1.0)
        value = interpreted(load_value)
        return float(value(rec.thrust, omega)), float(value(rec.torque, omega))

    def write(self, rec: npt.NDArray[Any], volts: float) -> None:
        """Write a `TABLE` record; `volts` is the voltage at which the current was measured."""
        speeds = (0.0, *self.speed_rad_s)
        write_curve(rec["thrust"], speeds, (0.0, *self.thrust_n), 0.0)
        write_curve(rec["torque"], speeds, (0.0, *self.torque_nm), 0.0)
        if self.current_a is not None:
            write_curve(rec["power"], speeds, (0.0, *(volts * amps for amps in self.current_a)), 0.0)
        if self.duty is not None:
            write_curve(rec["speed"], self.duty, self.speed_rad_s)
