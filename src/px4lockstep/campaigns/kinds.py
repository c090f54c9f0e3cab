"""What can be measured of a flight: the kinds of metrics, their options and their units.

A kind is a function of the flight and its options. NaN is the value of what a flight does not have: no touchdown, no
row in the window. Sums are `math.fsum`, which rounds once whatever the order; times are whole microseconds until they
are returned.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.flight_signals import Floats, Signals
from px4lockstep.scenario.landing import GROUND_MARGIN_M

if TYPE_CHECKING:
    from px4lockstep.flights.run import Run

NEVER_US = 2**62
WINDOW = ("after_s", "until_s")
"""Options of kinds that look at a part of the flight."""

WATT_MICROSECONDS_PER_WH = 3.6e9


class FlightSignals:
    """A run, and the signals of its log.

    Args:
        run: The run.
    """

    def __init__(self, run: "Run") -> None:
        self.run = run
        self.signals = Signals(run.log)


def in_us(option: str) -> str:
    """Return what the functions below call an option: times come in microseconds."""
    return f"{option.removesuffix('_s')}_us" if option in WINDOW else option


def window(signals: Signals, after_us: int, until_us: int) -> slice:
    """Return the rows between two times, both included."""
    start = int(np.searchsorted(signals.time_us, after_us, "left"))
    stop = int(np.searchsorted(signals.time_us, until_us, "right"))
    return slice(start, max(start, stop))


def defined(signals: Signals, signal: str, after_us: int, until_us: int) -> Floats:
    """Return a signal in a window, without the rows in which it is NaN."""
    values = signals[signal][window(signals, after_us, until_us)]
    return values[~np.isnan(values)]


def crashed(flown: FlightSignals) -> bool:
    """Return whether a crash ended the flight."""
    return flown.run.simulation.is_crashed


def mission_finished(flown: FlightSignals) -> bool:
    """Return whether the autopilot finished its mission."""
    return bool(flown.run.simulation.bus.autopilot.mission_finished)


def landed(flown: FlightSignals) -> bool:
    """Return whether the vehicle stands on the ground at the end."""
    return bool(flown.run.simulation.bus.scenario.landed)


def duration_s(flown: FlightSignals) -> float:
    """Return the simulated time of the flight."""
    return flown.run.summary.duration_s


def battery_used(flown: FlightSignals) -> float:
    """Return the charge that was used, of the capacity of all batteries."""
    used = flown.run.summary.battery_used
    return math.nan if used is None else used


def greatest(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return the greatest value of a signal."""
    values = defined(flown.signals, signal, after_us, until_us)
    return float(values.max()) if values.size else math.nan


def least(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return the least value of a signal."""
    values = defined(flown.signals, signal, after_us, until_us)
    return float(values.min()) if values.size else math.nan


def mean(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return the mean of a signal over its rows."""
    values = defined(flown.signals, signal, after_us, until_us)
    return math.fsum(values.tolist()) / len(values) if values.size else math.nan


def rms(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return the root of the mean square of a signal over its rows."""
    values = defined(flown.signals, signal, after_us, until_us)
    return math.sqrt(math.fsum((values * values).tolist()) / len(values)) if values.size else math.nan


def final(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return a signal in the last row."""
    values = flown.signals[signal][window(flown.signals, after_us, until_us)]
    return float(values[-1]) if values.size else math.nan


def time_over(flown: FlightSignals, signal: str, limit: float, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return how long a signal was above a limit; a row holds until the next."""
    return _held_s(flown.signals, flown.signals[signal] > limit, after_us, until_us)


def time_under(flown: FlightSignals, signal: str, limit: float, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return how long a signal was below a limit."""
    return _held_s(flown.signals, flown.signals[signal] < limit, after_us, until_us)


def _held_s(signals: Signals, holds: npt.NDArray[np.bool_], after_us: int, until_us: int) -> float:
    if not len(holds) or signals.time_us[-1] < after_us:
        return math.nan  # the flight did not get there
    lengths_us = np.diff(np.clip(signals.time_us, after_us, until_us))
    return int(lengths_us[holds[:-1]].sum()) / 1e6


def settling(
    flown: FlightSignals, signal: str, target: float, band: float, after_us: int, until_us: int = NEVER_US
) -> float:
    """Return how long a signal took until it stayed within a band around a target; what crashed has not settled."""
    signals = flown.signals
    start = int(np.searchsorted(signals.time_us, after_us, "right")) - 1  # the row that holds at after_us
    rows = slice(max(start, 0), window(signals, after_us, until_us).stop)
    values, time_us = signals[signal][rows], signals.time_us[rows]
    if not values.size or time_us[-1] < after_us or signals["crashed"][rows][-1] != 0.0:
        return math.nan
    outside = np.flatnonzero(~(np.abs(values - target) <= band))
    if not outside.size:
        return 0.0
    last = int(outside[-1])
    return (int(time_us[last + 1]) - after_us) / 1e6 if last + 1 < len(values) else math.nan


def energy_wh(flown: FlightSignals) -> float:
    """Return the energy that the batteries gave, by the trapezoidal rule over the rows."""
    signals = flown.signals
    power_w = signals["power_w"]
    mean_w = 0.5 * (power_w[:-1] + power_w[1:])
    return math.fsum((mean_w * np.diff(signals.time_us)).tolist()) / WATT_MICROSECONDS_PER_WH


def touchdown_speed(flown: FlightSignals) -> float:
    """Return the speed downwards in the last row before the first contact with the ground, be it a crash.

    The row of the contact itself has a vehicle that the ground has slowed already. What has not been higher than a
    landing is recognized at has not been in the air.
    """
    signals = flown.signals
    height_m = signals["altitude_m"] - float(flown.run.simulation.plant.traits["rest_m"])
    is_up = height_m > GROUND_MARGIN_M
    if not is_up.any():
        return math.nan
    first = int(is_up.argmax())
    is_down = (height_m[first:] <= 0.0) | (signals["landed"][first:] != 0.0)
    return float(signals["vel_ned_d"][first + int(is_down.argmax()) - 1]) if is_down.any() else math.nan


@dataclass(frozen=True)
class MetricKind:
    """A kind of metric.

    Args:
        measure: Returns its value.
        unit: Of the value; "1" for those without, empty for that of the signal.
        description: What it is, in words; an option's name in backquotes stands for its value.
        needs: The options that must be given.
        may: The options that can be left out.
        signals: The signals that it looks at besides the one that is an option.
        is_bool: Whether its value is yes or no.
    """

    measure: Callable[..., float | bool]
    unit: str
    description: str
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    is_bool: bool = False

    @property
    def options(self) -> tuple[str, ...]:
        """All options that it has."""
        return self.needs + self.may


TRACKING = "tracking_error_m"

KINDS = {
    "crashed": MetricKind(crashed, "1", "whether a crash ended the flight", is_bool=True),
    "mission_finished": MetricKind(mission_finished, "1", "whether the autopilot finished its mission", is_bool=True),
    "landed": MetricKind(landed, "1", "whether the vehicle stands on the ground at the end", is_bool=True),
    "duration_s": MetricKind(duration_s, "s", "simulated time from the start to where the run ended"),
    "max_altitude_m": MetricKind(
        partial(greatest, signal="altitude_m"), "m", "greatest height above the origin", signals=("altitude_m",)
    ),
    "max_speed_m_s": MetricKind(
        partial(greatest, signal="speed_m_s"), "m/s", "greatest speed, climbing included", signals=("speed_m_s",)
    ),
    "battery_used": MetricKind(battery_used, "1", "charge used, as a fraction of the capacity of all batteries"),
    "energy_wh": MetricKind(energy_wh, "Wh", "energy that the batteries gave", signals=("power_w",)),
    "tracking_rms": MetricKind(
        partial(rms, signal=TRACKING), "m", "root mean square of the tracking error", (), WINDOW, (TRACKING,)
    ),
    "tracking_max": MetricKind(
        partial(greatest, signal=TRACKING), "m", "greatest tracking error", (), WINDOW, (TRACKING,)
    ),
    "touchdown_speed": MetricKind(
        touchdown_speed,
        "m/s",
        "speed downwards at the first contact with the ground",
        signals=("altitude_m", "landed", "vel_ned_d"),
    ),
    "settling": MetricKind(
        settling,
        "s",
        "time that `signal` takes to stay within `band` of `target`",
        ("signal", "target", "band", "after_s"),
        ("until_s",),
        ("crashed",),
    ),
    "time_over": MetricKind(time_over, "s", "time with `signal` above `limit`", ("signal", "limit"), WINDOW),
    "time_under": MetricKind(time_under, "s", "time with `signal` below `limit`", ("signal", "limit"), WINDOW),
    "max": MetricKind(greatest, "", "greatest `signal`", ("signal",), WINDOW),
    "min": MetricKind(least, "", "least `signal`", ("signal",), WINDOW),
    "mean": MetricKind(mean, "", "mean of `signal`", ("signal",), WINDOW),
    "rms": MetricKind(rms, "", "root mean square of `signal`", ("signal",), WINDOW),
    "final": MetricKind(final, "", "`signal` in the last row", ("signal",), WINDOW),
}
