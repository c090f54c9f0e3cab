"""Columns of logs as lines of a plot: few enough points for a browser, with all peaks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.log.resampling import held
from px4lockstep.log.schema import BY_NAME, components
from px4lockstep.view.flown import ViewedFlight

Array = npt.NDArray[Any]

BINS = 600
"""Parts of the time axis, with the smallest and largest value of each."""


class Lines(NamedTuple):
    """Lines of a plot: times [s], and for each line its name, the number of its flight and its values."""

    time_s: Array
    names: tuple[str, ...]
    flights: tuple[int, ...]
    values: tuple[Array, ...]


def columns_of(flights: Sequence[ViewedFlight]) -> tuple[str, ...]:
    """Return the columns that can be plotted: those of all logs, in the order of the schema, without the time."""
    names = [name for flight in flights for name in flight.log.names]
    return tuple(name for name in BY_NAME if name in names and not name.startswith("time_"))


def lines_of(flights: Sequence[ViewedFlight], name: str, from_us: int, to_us: int) -> Lines:
    """Return a column of all flights that have it, from one time to another."""
    edges_us = np.linspace(from_us, max(to_us, from_us + 1), BINS + 1)
    quarter_us = 0.25 * (edges_us[1] - edges_us[0])
    time_us = np.stack((edges_us[:-1] + quarter_us, edges_us[1:] - quarter_us), axis=1).ravel()
    names, numbers, values = [], [], []
    for i, flight in enumerate(flights):
        if name not in flight.log:
            continue
        rows_us = flight.log.time_us.astype(np.int64) + flight.shift_us
        table = flight.table(name)
        ends = components(BY_NAME[name], table.shape[1]) if flight.log[name].ndim == 2 else (name,)
        for k, end in enumerate(ends):
            short = end.removeprefix(f"{name}_")
            names.append(f"{flight.name}: {short}" if len(flights) > 1 else short)
            numbers.append(i)
            values.append(_binned(rows_us, table[:, k], edges_us, time_us))
    return Lines(time_us / 1e6, tuple(names), tuple(numbers), tuple(values))


def values_at(flights: Sequence[ViewedFlight], name: str, time_us: int) -> str:
    """Return the values of a column at a time as text, one part per flight that has it; with headings as plotted."""
    parts = []
    for flight in flights:
        if name in flight.log:
            rows_us = flight.log.time_us.astype(np.int64) + flight.shift_us
            row = int(np.clip(np.searchsorted(rows_us, time_us, side="right") - 1, 0, len(rows_us) - 1))
            parts.append(" ".join(f"{value:.4g}" for value in flight.plotted(name, row)))
    return " | ".join(parts)


def _binned(rows_us: Array, values: Array, edges_us: Array, time_us: Array) -> Array:
    """Return values at times, two in each bin: those held then, or the smallest and largest where rows are dense.

    The largest comes first where the values fall.

    Outside the rows, they are NaN.
    """
    found = held(rows_us, values, time_us.astype(np.int64)).astype(np.float64)
    found[(time_us < rows_us[0]) | (time_us > rows_us[-1])] = np.nan
    starts = np.searchsorted(rows_us, edges_us)
    dense = np.flatnonzero(np.diff(starts) > 2)
    if len(dense):
        ends = np.stack((starts[dense], starts[dense + 1]), axis=1).ravel()
        padded = np.append(values, values[-1])  # the last bin ends after the last row
        low, high = (extreme.reduceat(padded, ends)[::2] for extreme in (np.minimum, np.maximum))
        rises = values[starts[dense]] <= values[starts[dense + 1] - 1]
        found[2 * dense], found[2 * dense + 1] = np.where(rises, low, high), np.where(rises, high, low)
    return found
