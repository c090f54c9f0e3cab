"""What can be measured of a flight: the kinds of metrics, their options and their units.

A kind is a function of the flight and its options. NaN is the value of what a flight does not have: no touchdown, no
row in the window. Sums are `math.fsum`, which rounds once whatever the order; times are whole microseconds until they
are returned.
"""

import math
import operator
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

Reduce = Callable[[Floats], float]
IsBeyond = Callable[[Floats, float], npt.NDArray[np.bool_]]


class FlightSignals:
    """A run, and the signals of its log."""

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


def flag(of: str, flown: FlightSignals) -> bool:
    """Return whether something is so at the end of the flight: an attribute of the simulation."""
    return bool(operator.attrgetter(of)(flown.run.simulation))


def number(of: str, flown: FlightSignals) -> float:
    """Return a number of the run's summary, NaN if it is None."""
    value = getattr(flown.run.summary, of)
    return math.nan if value is None else float(value)


def reduced(reduce: Reduce, flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return a number of a signal in a window, without the rows in which it is NaN."""
    values = flown.signals[signal][window(flown.signals, after_us, until_us)]
    values = values[~np.isnan(values)]
    return float(reduce(values)) if values.size else math.nan


def _mean(values: Floats) -> float:
    return math.fsum(values.tolist()) / len(values)


def _rms(values: Floats) -> float:
    return math.sqrt(_mean(values * values))


def final(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return a signal in the last row."""
    values = flown.signals[signal][window(flown.signals, after_us, until_us)]
    return float(values[-1]) if values.size else math.nan


def time_beyond(
    is_beyond: IsBeyond, flown: FlightSignals, signal: str, limit: float, after_us: int = 0, until_us: int = NEVER_US
) -> float:
    """Return how long a signal was above or below a limit; a row holds until the next."""
    holds, time_us = is_beyond(flown.signals[signal], limit), flown.signals.time_us
    if not len(holds) or time_us[-1] < after_us:
        return math.nan  # the flight did not get there
    lengths_us = np.diff(np.clip(time_us, after_us, until_us))
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
    """A kind of metric."""

    measure: Callable[..., float | bool]
    unit: str  # "1" for those without, empty for that of the signal
    description: str  # an option's name in backquotes stands for its value
    needs: tuple[str, ...] = ()  # the options that must be given
    may: tuple[str, ...] = ()  # the options that can be left out
    is_bool: bool = False


def _of_signal(reduce: Reduce, signal: str, unit: str, description: str, may: tuple[str, ...] = ()) -> MetricKind:
    """Return a kind that is a number of one signal."""
    return MetricKind(partial(reduced, reduce, signal=signal), unit, description, (), may)


def _of_any(measure: Callable[..., float], description: str) -> MetricKind:
    """Return a kind that is a number of whichever signal, in its unit."""
    return MetricKind(measure, "", description, ("signal",), WINDOW)


def _of_summary(of: str, unit: str, description: str) -> MetricKind:
    return MetricKind(partial(number, of), unit, description)


def _yes_or_no(of: str, description: str) -> MetricKind:
    return MetricKind(partial(flag, of), "1", description, is_bool=True)


def _time(is_beyond: IsBeyond, description: str) -> MetricKind:
    return MetricKind(partial(time_beyond, is_beyond), "s", description, ("signal", "limit"), WINDOW)


TRACKING = "tracking_error_m"
SETTLING = "time that `signal` takes to stay within `band` of `target`"
SETTLING_NEEDS = ("signal", "target", "band", "after_s")

KINDS = {
    "crashed": _yes_or_no("bus.scenario.crashed", "whether the vehicle has hit the ground"),
    "mission_finished": _yes_or_no("bus.autopilot.mission_finished", "whether the autopilot finished its mission"),
    "landed": _yes_or_no("bus.scenario.landed", "whether the vehicle is on the ground at the end"),
    "duration_s": _of_summary("duration_s", "s", "simulated time from the start to where the run ended"),
    "max_altitude_m": _of_signal(np.max, "altitude_m", "m", "greatest height above the origin"),
    "max_speed_m_s": _of_signal(np.max, "speed_m_s", "m/s", "greatest speed, climbing included"),
    "battery_used": _of_summary("battery_used", "1", "charge used, as a fraction of the capacity of all batteries"),
    "energy_wh": MetricKind(energy_wh, "Wh", "energy that the batteries gave"),
    "tracking_rms": _of_signal(_rms, TRACKING, "m", "root mean square of the tracking error", WINDOW),
    "tracking_max": _of_signal(np.max, TRACKING, "m", "greatest tracking error", WINDOW),
    "touchdown_speed": MetricKind(touchdown_speed, "m/s", "speed downwards at the first contact with the ground"),
    "settling": MetricKind(settling, "s", SETTLING, SETTLING_NEEDS, ("until_s",)),
    "time_over": _time(operator.gt, "time with `signal` above `limit`"),
    "time_under": _time(operator.lt, "time with `signal` below `limit`"),
    "max": _of_any(partial(reduced, np.max), "greatest `signal`"),
    "min": _of_any(partial(reduced, np.min), "least `signal`"),
    "mean": _of_any(partial(reduced, _mean), "mean of `signal`"),
    "rms": _of_any(partial(reduced, _rms), "root mean square of `signal`"),
    "final": _of_any(final, "`signal` in the last row"),
}
