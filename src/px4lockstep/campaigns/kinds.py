"""Built-in kinds of metrics, with their options and units.

A kind is a function of the flight and its options. Its value is NaN if the flight has none, for example without a
touchdown or without rows in the window. Sums are exact and rounded once, so their order does not matter. Times are
whole microseconds until they are returned.
"""

import functools
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.campaigns.exact_sum import exact_sum
from px4lockstep.campaigns.flight_signals import Floats, Signals
from px4lockstep.campaigns.tilt import IsBeyond
from px4lockstep.errors import InputError
from px4lockstep.scenario.landing import GROUND_MARGIN_M

if TYPE_CHECKING:
    from px4lockstep.flights.run import Run
    from px4lockstep.flights.saved import SavedRun

NEVER_US = 2**62
WINDOW = ("after_s", "until_s")
"""Options that limit a metric to a part of the flight."""

WATT_MICROSECONDS_PER_WH = 3.6e9

Reduce = Callable[[Floats], float]


class FlightSignals:
    """A run, in memory or in its folder, and the signals of its log."""

    def __init__(self, run: "Run | SavedRun") -> None:
        self.run = run
        self.signals = Signals(run.log)

    @property
    def simulation(self) -> Any:
        """The simulation of a flight in memory; raise for one that was read from its folder."""
        if not hasattr(self.run, "simulation"):
            raise InputError("it needs the simulation, which a flight that was read from its folder does not have")
        return self.run.simulation


def in_us(option: str) -> str:
    """Return the name of an option in the functions below, which use microseconds."""
    return f"{option.removesuffix('_s')}_us" if option in WINDOW else option


def window(signals: Signals, after_us: int, until_us: int) -> slice:
    """Return the rows between two times, inclusive."""
    if after_us <= 0 and until_us >= NEVER_US:
        return slice(0, len(signals.time_us))
    start = int(np.searchsorted(signals.time_us, after_us, "left"))
    stop = int(np.searchsorted(signals.time_us, until_us, "right"))
    return slice(start, max(start, stop))


def flag(of: str, flown: FlightSignals) -> bool:
    """Return a flag of the simulation at the end of the flight; of a flight in its folder, that of the last row."""
    if not hasattr(flown.run, "simulation"):
        return bool(flown.signals[of.rpartition(".")[2]][-1])
    return bool(functools.reduce(operator.getitem, of.split("."), flown.simulation.records)[0])


def number(of: str, flown: FlightSignals) -> float:
    """Return a number from the run's summary, NaN if it is None."""
    summary = flown.run.summary
    value = summary.get(of) if isinstance(summary, dict) else getattr(summary, of)
    return math.nan if value is None else float(value)


def reduced(reduce: Reduce, flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return a statistic of a signal in a window, ignoring rows in which it is NaN."""
    values = flown.signals[signal][window(flown.signals, after_us, until_us)]
    values = values[~np.isnan(values)]
    return float(reduce(values)) if values.size else math.nan


def _mean(values: Floats) -> float:
    return exact_sum(values) / len(values)


def _rms(values: Floats) -> float:
    return math.sqrt(_mean(values * values))


def final(flown: FlightSignals, signal: str, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return the value of a signal in the last row."""
    values = flown.signals[signal][window(flown.signals, after_us, until_us)]
    return float(values[-1]) if values.size else math.nan


def time_beyond(
    is_beyond: IsBeyond, flown: FlightSignals, signal: str, limit: float, after_us: int = 0, until_us: int = NEVER_US
) -> float:
    """Return the time a signal was above or below a limit; the value of a row holds until the next row."""
    holds, time_us = flown.signals.are_beyond(signal, is_beyond, limit), flown.signals.time_us
    if not len(holds) or time_us[-1] < after_us:
        return math.nan  # the flight ended before the window
    is_whole = after_us <= time_us[0] and time_us[-1] <= until_us
    lengths_us = flown.signals.lengths_us if is_whole else np.diff(np.clip(time_us, after_us, until_us))
    return int(lengths_us[holds[:-1]].sum()) / 1e6


def settling(
    flown: FlightSignals, signal: str, target: float, band: float, after_us: int, until_us: int = NEVER_US
) -> float:
    """Return the time until a signal stays within a band around a target; NaN after a crash."""
    signals = flown.signals
    start = int(np.searchsorted(signals.time_us, after_us, "right")) - 1  # the row in effect at after_us
    rows = slice(max(start, 0), window(signals, after_us, until_us).stop)
    values, time_us = signals[signal][rows], signals.time_us[rows]
    if not values.size or time_us[-1] < after_us:
        return math.nan
    if "crashed" in signals.log and signals["crashed"][rows][-1] != 0.0:
        return math.nan
    outside = np.flatnonzero(~(np.abs(values - target) <= band))
    if not outside.size:
        return 0.0
    last = int(outside[-1])
    return (int(time_us[last + 1]) - after_us) / 1e6 if last + 1 < len(values) else math.nan


def energy_wh(flown: FlightSignals) -> float:
    """Return the energy drawn from the batteries, by the trapezoidal rule over the rows."""
    signals = flown.signals
    power_w = signals["power_w"]
    mean_w = 0.5 * (power_w[:-1] + power_w[1:])
    return exact_sum(mean_w * signals.lengths_us) / WATT_MICROSECONDS_PER_WH


def touchdown_speed(flown: FlightSignals) -> float:
    """Return the descent speed in the last row before the first ground contact, including a crash.

    In the row of the contact itself, the ground has already slowed the vehicle. A vehicle that never rose above the
    height at which landing is detected was never in the air.
    """
    signals = flown.signals
    height_m = signals["altitude_m"] - float(flown.simulation.plant.traits["rest_m"])
    is_up = height_m > GROUND_MARGIN_M
    if not is_up.any():
        return math.nan
    first = int(is_up.argmax())
    is_down = (height_m[first:] <= 0.0) | (signals["landed"][first:] != 0.0)
    return float(signals["vel_ned_d"][first + int(is_down.argmax()) - 1]) if is_down.any() else math.nan


def fence_margin_m(flown: FlightSignals, after_us: int = 0, until_us: int = NEVER_US) -> float:
    """Return the smallest distance from the zones of the plan's fence, negative if it was breached; NaN without one."""
    area, pos_ned = flown.simulation.autopilot.area, flown.run.log["pos_ned"]
    margins_m = area.margins_m(pos_ned[window(flown.signals, after_us, until_us)])
    return float(margins_m.min()) if area.zones and len(margins_m) else math.nan


@dataclass(frozen=True)
class MetricKind:
    """A kind of metric."""

    measure: Callable[..., float | bool]
    unit: str  # "1" if dimensionless, empty for the unit of the signal
    description: str  # an option's name in backquotes stands for its value
    needs: tuple[str, ...] = ()  # required options
    may: tuple[str, ...] = ()  # further options
    is_bool: bool = False


def _of_signal(reduce: Reduce, signal: str, unit: str, description: str, may: tuple[str, ...] = ()) -> MetricKind:
    """Return a kind that is a statistic of one fixed signal."""
    return MetricKind(functools.partial(reduced, reduce, signal=signal), unit, description, (), may)


def _of_any(measure: Callable[..., float], description: str) -> MetricKind:
    """Return a kind that is a statistic of any signal, in its unit."""
    return MetricKind(measure, "", description, ("signal",), WINDOW)


def _of_summary(of: str, unit: str, description: str) -> MetricKind:
    return MetricKind(functools.partial(number, of), unit, description)


def _yes_or_no(of: str, description: str) -> MetricKind:
    return MetricKind(functools.partial(flag, of), "1", description, is_bool=True)


def _time(is_beyond: IsBeyond, description: str) -> MetricKind:
    return MetricKind(functools.partial(time_beyond, is_beyond), "s", description, ("signal", "limit"), WINDOW)


TRACKING = "tracking_error_m"
SETTLING = "time until `signal` stays within `band` of `target`"
SETTLING_NEEDS = ("signal", "target", "band", "after_s")

KINDS = {
    "crashed": _yes_or_no("bus.scenario.crashed", "whether the vehicle crashed"),
    "mission_finished": _yes_or_no("bus.autopilot.mission_finished", "whether the autopilot finished its mission"),
    "landed": _yes_or_no("bus.scenario.landed", "whether the vehicle is on the ground at the end"),
    "duration_s": _of_summary("duration_s", "s", "simulated time from start to end of the run"),
    "max_altitude_m": _of_signal(np.max, "altitude_m", "m", "max height above the origin"),
    "max_speed_m_s": _of_signal(np.max, "speed_m_s", "m/s", "max speed, including vertical speed"),
    "battery_used": _of_summary("battery_used", "1", "charge used, as a fraction of the capacity of all batteries"),
    "energy_wh": MetricKind(energy_wh, "Wh", "energy drawn from the batteries"),
    "tracking_rms": _of_signal(_rms, TRACKING, "m", "RMS tracking error", WINDOW),
    "tracking_max": _of_signal(np.max, TRACKING, "m", "max tracking error", WINDOW),
    "touchdown_speed": MetricKind(touchdown_speed, "m/s", "descent speed at the first ground contact"),
    "fence_margin_m": MetricKind(
        fence_margin_m, "m", "smallest distance from the zones of the geofence, negative if breached", may=WINDOW
    ),
    "settling": MetricKind(settling, "s", SETTLING, SETTLING_NEEDS, ("until_s",)),
    "time_over": _time(operator.gt, "time with `signal` above `limit`"),
    "time_under": _time(operator.lt, "time with `signal` below `limit`"),
    "max": _of_any(functools.partial(reduced, np.max), "max `signal`"),
    "min": _of_any(functools.partial(reduced, np.min), "min `signal`"),
    "mean": _of_any(functools.partial(reduced, _mean), "mean of `signal`"),
    "rms": _of_any(functools.partial(reduced, _rms), "RMS of `signal`"),
    "final": _of_any(final, "`signal` in the last row"),
}
