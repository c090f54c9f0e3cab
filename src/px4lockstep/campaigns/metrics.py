"""Metrics: a number or a boolean for each flight of a campaign."""

import math
import numbers
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import field_validator, model_validator

from px4lockstep.campaigns.flight_signals import DERIVED, unit_of
from px4lockstep.campaigns.functions import UserFunction
from px4lockstep.campaigns.kinds import KINDS, WINDOW, FlightSignals, in_us
from px4lockstep.campaigns.result_rows import ABOUT
from px4lockstep.errors import InputError, MetricError, did_you_mean
from px4lockstep.part import KEY, Part, Seconds, entry, show, wrong
from px4lockstep.part.limits import ANY_UNIT
from px4lockstep.timebase import seconds_to_us
from px4lockstep.trust import refusal

if TYPE_CHECKING:
    from px4lockstep.flights.run import Run
    from px4lockstep.flights.saved import SavedRun

OPTIONS = ("signal", "limit", "target", "band", "after_s", "until_s")
"""Options of all kinds; `kinds.KINDS` has those of each."""
DEFAULTS = ("crashed", "mission_finished")
"""Kinds that are metrics of every campaign, under their own names."""
DEFAULT_LABELS = {"mission_finished": "mission finished"}
LABEL_LENGTH: dict[str, Any] = {"min_length": 1, "max_length": 60}
RESERVED = (*ABOUT, "pass_rate")
"""Names of the columns and statistics that every campaign has."""


class MetricTable(Part):
    """A metric of each flight: a built-in kind with its options, or a function in a file."""

    name: str = entry(..., "Name of the metric and of its column in the results: letters, digits and _.")
    kind: str | None = entry(None, f"Built-in kind: {', '.join(map('`{}`'.format, KINDS))}.")
    signal: str | None = entry(None, f"Signal: a number in the log, or {', '.join(map('`{}`'.format, DERIVED))}.")
    limit: float | None = entry(None, "Limit of `time_over` and `time_under`, in the unit of the signal.", **ANY_UNIT)
    target: float | None = entry(None, "Value at which the signal settles, in its unit.", **ANY_UNIT)
    band: float | None = entry(None, "Allowed deviation from the target, in the unit of the signal.", gt=0.0, le=1e19)
    after_s: Seconds | None = entry(None, "Start of the time window. Default: 0.", "s")
    until_s: Seconds | None = entry(None, "End of the time window. Default: end of the flight.", "s")
    function: str | None = entry(
        None, "Python function of the run, instead of a kind: `file.py:name`, relative to the campaign file."
    )
    unit: str | None = entry(None, "Unit of the function's value.", max_length=20)
    label: str | None = entry(None, "Name of the metric in figures and reports. Default: its name.", **LABEL_LENGTH)

    @field_validator("name")
    @classmethod
    def _is_a_column(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", name):
            raise wrong(
                f"{KEY} = {show(name)} is not a valid column name; use letters, digits and _, and do not start with "
                "a digit"
            )
        if name in RESERVED:
            raise wrong(f"{KEY} = {show(name)} is reserved for the results of every campaign; choose another name")
        return name

    @field_validator("kind")
    @classmethod
    def _is_known(cls, kind: str | None) -> str | None:
        if kind is not None and kind not in KINDS:
            hint = did_you_mean(kind, KINDS)
            known = f"{'Allowed' if hint else 'allowed'}: {', '.join(KINDS)}"
            raise wrong(f"{KEY} = {show(kind)} is unknown; {hint}{known}")
        return kind

    @field_validator("signal")
    @classmethod
    def _is_a_signal(cls, signal: str | None) -> str | None:
        try:
            if signal is not None:
                unit_of(signal)
        except InputError as error:
            raise wrong(f"{KEY}: {error}") from None
        return signal

    @field_validator("function")
    @classmethod
    def _is_a_place(cls, function: str | None) -> str | None:
        file, _, name = (function or "file.py:name").rpartition(":")
        if not file or not name.isidentifier():
            raise wrong(f"{KEY} = {show(function)} does not name a function; write it as 'my_metrics.py:overshoot'")
        return function

    @model_validator(mode="after")
    def _fits_together(self) -> "MetricTable":
        if (self.kind is None) == (self.function is None):
            which = "neither kind nor function" if self.kind is None else "both kind and function"
            raise wrong(f"{KEY} ({self.name!r}) has {which}; give exactly one of them")
        what = "a function" if self.kind is None else f"kind {self.kind!r}"
        needs, may = ((), ("unit",)) if self.kind is None else (KINDS[self.kind].needs, KINDS[self.kind].may)
        given = [option for option in (*OPTIONS, "unit") if getattr(self, option) is not None]
        for option in given:
            if option not in needs + may:
                has = ", ".join(needs + may) or "none"
                raise wrong(
                    f"{KEY}.{option} = {show(getattr(self, option))} is not an option of {what}; allowed: {has}"
                )
        for option in needs:
            if option not in given:
                raise wrong(f"{KEY}.{option} is missing; {what} needs {', '.join(needs)}")
        after_s = self.after_s or 0.0
        if self.until_s is not None and self.until_s <= after_s:
            raise wrong(f"{KEY}.until_s = {show(self.until_s)} is out of range; it must be above after_s, {after_s}")
        return self


@dataclass(frozen=True)
class Metric:
    """A number or a boolean for each flight: `metric(simulate("x500"))`. It can be sent to another process."""

    name: str
    unit: str  # "1" if dimensionless
    description: str
    is_bool: bool
    measure: Callable[[FlightSignals], Any]

    def __call__(self, run: "Run | SavedRun") -> float | bool:
        """Return the value for a run; NaN if the run has none."""
        return self.of(FlightSignals(run))

    def of(self, flown: FlightSignals) -> float | bool:
        """Return the value for a flight, sharing its signals with other metrics."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
                value = self.measure(flown)
        except (InputError, ArithmeticError, ValueError) as error:
            raise MetricError(f"metric {self.name!r}: {self.description}: {error}") from error
        return self._checked(value)

    def _checked(self, value: Any) -> float | bool:
        if isinstance(value, bool | np.bool_):
            if not self.is_bool:
                raise self._no_value(value, "a number; annotate a boolean function with `-> bool`")
            return bool(value)
        if self.is_bool:
            raise self._no_value(value, "True or False, because the metric is boolean")
        if not isinstance(value, numbers.Real):
            raise self._no_value(value, "a number; use float(...) for an array with one element")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            raise self._no_value(value, "a finite number, or nan if the flight has no value")
        # Normalize the signs of zero and NaN, which depend on the CPU after a minimum or a root.
        return math.nan if math.isnan(number) else number + 0.0

    def _no_value(self, value: Any, must_be: str) -> MetricError:
        shown = f"{value!r:.80}" if not isinstance(value, np.ndarray) else f"an array of shape {value.shape}"
        place = self.measure.place if isinstance(self.measure, UserFunction) else self.description
        kind = type(value).__name__
        what = f"{shown}, {'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        return MetricError(f"metric {self.name!r}: {place}: the value is {what}; it must be {must_be}")


def metric_of(table: MetricTable, folder: Path, sources: Mapping[str, str] | None = None) -> Metric:
    """Return the metric of a table; a function comes from `sources` if given, else from a file in the folder."""
    if table.function is not None:
        function = UserFunction.read(table.name, table.function, folder, sources)
        return Metric(table.name, table.unit or "1", function.description, function.is_bool, function)
    assert table.kind is not None  # checked by the table
    kind = KINDS[table.kind]
    given = {option: getattr(table, option) for option in OPTIONS if getattr(table, option) is not None}
    description, arguments = kind.description, {}
    for option, value in given.items():
        arguments[in_us(option)] = seconds_to_us(value, option) if option in WINDOW else value
        description = description.replace(f"`{option}`", f"{value}")
    description += f", from {table.after_s} s" if table.after_s is not None else ""
    description += f", until {table.until_s} s" if table.until_s is not None else ""
    unit = kind.unit or unit_of(table.signal or "")
    return Metric(table.name, unit, description, kind.is_bool, partial(kind.measure, **arguments))


def refuse_functions(tables: Sequence[MetricTable]) -> None:
    """Raise if a metric is a function in a file; call it for campaigns that the user does not trust."""
    for table in tables:
        if table.function is not None:
            named = f"metric {table.name!r}, function = {show(table.function)}"
            raise InputError(refusal(named, "remove the metric"))


def metrics_of(
    tables: Sequence[MetricTable], folder: Path, sources: Mapping[str, str] | None = None
) -> tuple[Metric, ...]:
    """Return the metrics of a campaign: the default metrics, then its own; see `metric_of`.

    Raises:
        InputError: If two metrics have the same name, or a function can't be loaded.
    """
    metrics = {name: metric_of(MetricTable(name=name, kind=name), folder) for name in DEFAULTS}
    for i, table in enumerate(tables):
        if table.name in metrics:
            by = "every campaign has this metric" if table.name in DEFAULTS else "another metric has this name"
            raise InputError(f"metric[{i}].name = {table.name!r} is a duplicate: {by}; rename it, or remove it")
        metrics[table.name] = metric_of(table, folder, sources)
    return tuple(metrics.values())


def measure(metrics: Iterable[Metric], run: "Run | SavedRun") -> dict[str, float | bool]:
    """Return the values of metrics for a run, by name; shared signals are computed once.

    Raises:
        MetricError: If a metric can't be computed, for example because an imported flight lacks its column.
    """
    flown = FlightSignals(run)
    return {metric.name: metric.of(flown) for metric in metrics}
