"""Metrics: a number, or yes or no, for each flight of a campaign."""

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

OPTIONS = ("signal", "limit", "target", "band", "after_s", "until_s")
"""Of the kinds; which has which is in `kinds.KINDS`."""
DEFAULTS = ("crashed", "mission_finished")
"""The kinds that every campaign measures, under their own names."""
RESERVED = (*ABOUT, "pass_rate")
"""What a campaign calls its own columns and numbers."""


class MetricTable(Part):
    """What is measured of each flight: a kind with its options, or a function in a file."""

    name: str = entry(..., "What it is called, and its column in the results: letters, digits and _.")
    kind: str | None = entry(None, f"What is measured: {', '.join(map('`{}`'.format, KINDS))}.")
    signal: str | None = entry(None, f"The signal: a number of the log, or {', '.join(map('`{}`'.format, DERIVED))}.")
    limit: float | None = entry(None, "What the signal is above or below, in its unit.", **ANY_UNIT)
    target: float | None = entry(None, "What the signal is to settle at, in its unit.", **ANY_UNIT)
    band: float | None = entry(None, "How far from the target is near enough, in the signal's unit.", gt=0.0, le=1e19)
    after_s: Seconds | None = entry(None, "Where the part of the flight that counts begins. Left out: at 0.", "s")
    until_s: Seconds | None = entry(None, "Where it ends. Left out: with the flight.", "s")
    function: str | None = entry(
        None, "Or a function of the run in Python: `file.py:name`, relative to the campaign file."
    )
    unit: str | None = entry(None, "The unit of what a function returns.", max_length=20)

    @field_validator("name")
    @classmethod
    def _is_a_column(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", name):
            raise wrong(
                f"{KEY} = {show(name)} can't be the name of a column; it must be of letters, digits and _, "
                "without a digit in front"
            )
        if name in RESERVED:
            raise wrong(f"{KEY} = {show(name)} is taken by the results of every campaign; choose another name")
        return name

    @field_validator("kind")
    @classmethod
    def _is_known(cls, kind: str | None) -> str | None:
        if kind is not None and kind not in KINDS:
            hint = did_you_mean(kind, KINDS)
            known = f"{'Allowed' if hint else 'allowed'} are {', '.join(KINDS)}"
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
            raise wrong(f"{KEY} = {show(function)} names no function; it must be as in 'my_metrics.py:overshoot'")
        return function

    @model_validator(mode="after")
    def _fits_together(self) -> "MetricTable":
        if (self.kind is None) == (self.function is None):
            which = "neither kind nor function" if self.kind is None else "both kind and function"
            raise wrong(f"{KEY} ({self.name!r}) has {which}; it must have one of them")
        what = "a function" if self.kind is None else f"kind {self.kind!r}"
        needs, may = ((), ("unit",)) if self.kind is None else (KINDS[self.kind].needs, KINDS[self.kind].may)
        given = [option for option in (*OPTIONS, "unit") if getattr(self, option) is not None]
        for option in given:
            if option not in needs + may:
                has = ", ".join(needs + may) or "none"
                raise wrong(f"{KEY}.{option} = {show(getattr(self, option))} is no option of {what}; it has {has}")
        for option in needs:
            if option not in given:
                raise wrong(f"{KEY}.{option} is missing; {what} must have {', '.join(needs)}")
        after_s = self.after_s or 0.0
        if self.until_s is not None and self.until_s <= after_s:
            raise wrong(f"{KEY}.until_s = {show(self.until_s)} is out of range; it must be above after_s, {after_s}")
        return self


@dataclass(frozen=True)
class Metric:
    """A number, or yes or no, for each flight: `metric(simulate("iris"))`; it can be sent to another process."""

    name: str
    unit: str  # "1" if it has none
    description: str
    is_bool: bool
    measure: Callable[[FlightSignals], Any]

    def __call__(self, run: "Run") -> float | bool:
        """Return its value for a run; NaN if the run does not have one."""
        return self.of(FlightSignals(run))

    def of(self, flown: FlightSignals) -> float | bool:
        """Return its value for a flight, whose signals are kept for other metrics."""
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what comes of it is looked at
                value = self.measure(flown)
        except (InputError, ArithmeticError, ValueError) as error:
            raise MetricError(f"metric {self.name!r}: {self.description}: {error}") from error
        return self._checked(value)

    def _checked(self, value: Any) -> float | bool:
        if isinstance(value, bool | np.bool_):
            if not self.is_bool:
                raise self._no_value(value, "a number; write `-> bool` behind a function that says yes or no")
            return bool(value)
        if self.is_bool:
            raise self._no_value(value, "True or False, as it says")
        if not isinstance(value, numbers.Real):
            raise self._no_value(value, "a number; float(...) makes one of an array with one element")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isinf(number):
            raise self._no_value(value, "a finite number, or nan if the flight has none")
        # One zero and one nan: which of them a minimum or a root gives depends on the CPU.
        return math.nan if math.isnan(number) else number + 0.0

    def _no_value(self, value: Any, must_be: str) -> MetricError:
        shown = f"{value!r:.80}" if not isinstance(value, np.ndarray) else f"an array of shape {value.shape}"
        place = self.measure.place if isinstance(self.measure, UserFunction) else self.description
        kind = type(value).__name__
        what = f"{shown}, {'an' if kind[0] in 'aeiou' else 'a'} {kind}"
        return MetricError(f"metric {self.name!r}: {place}: the value is {what}; it must be {must_be}")


def metric_of(table: MetricTable, folder: Path, sources: Mapping[str, str] | None = None) -> Metric:
    """Return the metric of a table, with functions in files relative to a folder unless their texts were read."""
    if table.function is not None:
        function = UserFunction.read(table.name, table.function, folder, sources)
        return Metric(table.name, table.unit or "1", function.description, function.is_bool, function)
    assert table.kind is not None  # as the table has made sure
    kind = KINDS[table.kind]
    given = {option: getattr(table, option) for option in OPTIONS if getattr(table, option) is not None}
    description, arguments = kind.description, {}
    for option, value in given.items():
        arguments[in_us(option)] = seconds_to_us(value, option) if option in WINDOW else value
        description = description.replace(f"`{option}`", f"{value}")
    description += f", from {table.after_s} s on" if table.after_s is not None else ""
    description += f", until {table.until_s} s" if table.until_s is not None else ""
    unit = kind.unit or unit_of(table.signal or "")
    return Metric(table.name, unit, description, kind.is_bool, partial(kind.measure, **arguments))


def refuse_functions(tables: Sequence[MetricTable]) -> None:
    """Raise if a metric is a function in a file, of a campaign that the user has not chosen to trust."""
    for table in tables:
        if table.function is not None:
            named = f"metric {table.name!r}, function = {show(table.function)}"
            raise InputError(refusal(named, "leave the metric out"))


def metrics_of(
    tables: Sequence[MetricTable], folder: Path, sources: Mapping[str, str] | None = None
) -> tuple[Metric, ...]:
    """Return the metrics of a campaign: those that each has, then its own; as `metric_of` does.

    Raises:
        InputError: If two have the same name, or a function can't be had.
    """
    metrics = {name: metric_of(MetricTable(name=name, kind=name), folder) for name in DEFAULTS}
    for i, table in enumerate(tables):
        if table.name in metrics:
            by = "every campaign has one of that name" if table.name in DEFAULTS else "another has that name"
            raise InputError(f"metric[{i}].name = {table.name!r} is there twice: {by}; choose another, or leave it out")
        metrics[table.name] = metric_of(table, folder, sources)
    return tuple(metrics.values())


def measure(metrics: Iterable[Metric], run: "Run") -> dict[str, float | bool]:
    """Return the values of metrics for a run, by name; signals that they share are made once.

    Raises:
        MetricError: If one can't be computed.
    """
    flown = FlightSignals(run)
    return {metric.name: metric.of(flown) for metric in metrics}
