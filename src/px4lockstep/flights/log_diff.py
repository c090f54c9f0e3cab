"""Compare two flights by their logs alone, such as a simulation with a real flight.

found = diff_logs("runs/sim", "flight.ulg")
found.differences, found.alignment, found.plot()
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.flights.alignment import Alignment, alignment_by_clock, alignment_of, common_rows
from px4lockstep.flights.figure import drawn_name
from px4lockstep.flights.folder import read_log
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.tables import LOG_DIFF_HEADS, log_diff_columns, log_diff_rows, log_diff_title
from px4lockstep.log.log import Log
from px4lockstep.log.ulog_import import ImportedLog
from px4lockstep.plots.html import HtmlTable, ShownInNotebook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 2.0**-23
"""Relative distance of two neighbouring float32: ULog stores most values as float32."""
ANGLES = ("q_bn", "est_q_bn", "q_sp")
WRAPPED = ("yaw_sp",)
"""Angles in radians whose whole turns do not count."""


@dataclass(frozen=True)
class ColumnDifference:
    """How far a column of two logs is apart, over the common rows.

    Vectors in NED and body axes are compared by the length of their difference, attitudes by the angle between them,
    and numbered values (motors, batteries) by their largest difference. Values that are NaN in both logs are equal.
    """

    name: str
    unit: str
    rms: float  # of the values that are numbers in both logs, as `largest`; NaN if there are none
    largest: float
    at_s: float  # time of the largest difference; with one-sided rows, of the first of them
    is_rounding: bool  # whether it is no larger than the rounding of float32
    one_sided_rows: int = 0  # rows with a value that is NaN or infinite in one log only
    widths: tuple[int, int] | None = None  # numbers of motors, batteries and so on, if they differ

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "column": self.name,
            "unit": self.unit,
            "rms": self.rms,
            "max": self.largest,
            "at_s": self.at_s,
            "is_rounding": self.is_rounding,
            "one_sided_rows": self.one_sided_rows,
            "widths": None if self.widths is None else list(self.widths),
        }


@dataclass(frozen=True, repr=False)
class LogDiff(ShownInNotebook):
    """The comparison of two logs; `first` and `second` are at their common times."""

    names: tuple[str, str]
    whole: tuple[Log, Log]
    first: Log
    second: Log
    alignment: Alignment

    def __repr__(self) -> str:
        count = sum(not each.is_rounding for each in self.differences)
        told = f"{count} of {len(self.differences)} columns differ, {self.first.rows:,} common rows"
        return f"<LogDiff of {self.names[0]} and {self.names[1]}: {told}>"

    def _tables(self) -> Iterable[HtmlTable]:
        named = HtmlTable([("RUN_A", self.names[0]), ("RUN_B", self.names[1])])
        columns = HtmlTable(log_diff_columns(self), LOG_DIFF_HEADS, log_diff_title(self))
        return named, columns, HtmlTable(log_diff_rows(self))

    def _figure(self) -> "Figure | None":
        return self.plot()

    @cached_property
    def differences(self) -> tuple[ColumnDifference, ...]:
        """The differences of all columns that both logs have, in the order of the schema."""
        found = (self._difference(name) for name in self.first.names if name not in ("time_us", "time_s", "euler_bn"))
        return tuple(each for each in found if each is not None)

    @property
    def is_same(self) -> bool:
        """Whether there are columns to compare, and none differs by more than the rounding of float32."""
        return bool(self.differences) and all(each.is_rounding for each in self.differences)

    @property
    def only_in(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that only the first log has, and those that only the second has."""
        ours, theirs = self.whole
        only = [tuple(name for name in a.names if name not in b) for a, b in ((ours, theirs), (theirs, ours))]
        return only[0], only[1]

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "identical": self.is_same,
            "offset_s": self.alignment.offset_us / 1e6,
            "aligned_by": self.alignment.way,
            "from_s": float(self.first.time_s[0]),
            "to_s": float(self.first.time_s[-1]),
            "rows": self.first.rows,
            "differences": [each.as_dict() for each in self.differences],
            "only_in": [list(each) for each in self.only_in],
        }

    def plot(self) -> "Figure":
        """Return a figure with both flights overlaid, at the times of the first."""
        from px4lockstep.plots.overlay import plot_overlay

        title = f"{self.names[0]} and {self.names[1]}, shifted by {self.alignment}"
        return plot_overlay(dict(zip(self.names, (self.first, self.second), strict=True)), title=title)

    def _is_message(self, name: str) -> npt.NDArray[np.bool_]:
        """Return for each row whether to compare a column there.

        If the messages of a topic are at rows of the other log, as in an export, only these rows are compared:
        between them, the value is not known.
        """
        is_message = np.ones(self.first.rows, np.bool_)
        for log, offset_us in zip(self.whole, (0, self.alignment.offset_us), strict=True):
            if isinstance(log, ImportedLog):
                rows_us = self.first.time_us.astype(np.int64)
                messages_us = log.messages_us.get(log.report.sources.get(name, ""), rows_us) + offset_us
                inside = messages_us[(messages_us >= rows_us[0]) & (messages_us <= rows_us[-1])]
                is_at_row = np.isin(rows_us, inside)
                if len(inside) and is_at_row.sum() == len(inside):
                    is_message &= is_at_row
        return is_message

    def _difference(self, name: str) -> ColumnDifference | None:
        ours, theirs = (log[name].astype(np.float64) for log in (self.first, self.second))
        unit = self.first.unit(name)
        if name in ANGLES:
            ours, theirs = _unit_quaternions(ours), _unit_quaternions(theirs)
            unit = "deg"
        ours, theirs = (values.reshape(len(values), -1) for values in (ours, theirs))
        is_both = np.isfinite(ours) & np.isfinite(theirs)
        is_one_sided = ~is_both & (ours != theirs) & ~(np.isnan(ours) & np.isnan(theirs))
        ours, theirs = np.where(is_both, ours, 0.0), np.where(is_both, theirs, 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            if name in WRAPPED:
                theirs = theirs + np.round((ours - theirs) / (2.0 * np.pi)) * 2.0 * np.pi
            if name in ANGLES:
                apart, scale = _angle_deg(ours, theirs), np.full(len(ours), np.degrees(2.0))
            else:
                apart, scale = np.abs(ours - theirs), np.maximum(np.abs(ours), np.abs(theirs))
                is_vector = self.first.column(name).shape in ("ned", "body")
                apart, scale = (
                    np.linalg.norm(each, axis=1) if is_vector else each.max(axis=1, initial=0.0)
                    for each in (apart, scale)
                )
            is_message = self._is_message(name)
            rows = np.flatnonzero(is_both.any(axis=1) & is_message)
            one_sided = np.flatnonzero(is_one_sided.any(axis=1) & is_message)
            widths = self._widths(name)
            if not len(rows) and not len(one_sided) and widths is None:
                return None
            apart, scale = apart[rows], scale[rows]
            worst = int(np.argmax(apart)) if len(rows) else 0
            at = one_sided[0] if len(one_sided) else rows[worst] if len(rows) else 0
            is_close = apart <= ROUNDING * np.maximum(scale, np.finfo(np.float32).tiny)
            return ColumnDifference(
                name,
                unit,
                float(np.sqrt(np.mean(apart * apart))) if len(rows) else np.nan,
                float(apart[worst]) if len(rows) else np.nan,
                float(self.first.time_s[at]),
                bool((is_close & np.isfinite(apart)).all()) and not len(one_sided) and widths is None,
                len(one_sided),
                widths,
            )

    def _widths(self, name: str) -> tuple[int, int] | None:
        """Return the numbers of components of a column in the two logs if they differ."""
        ours, theirs = (log.part(name, slice(0, 0)).shape[1:] for log in self.whole)
        return None if ours == theirs else (math.prod(ours), math.prod(theirs))


def diff_logs(
    first: str | Path, second: str | Path, *, way: str | None = None, offset_s: float | None = None
) -> LogDiff:
    """Compare two flights by their logs: run folders, `latest`, ULog files, logs as CSV or Parquet.

    Args:
        first: The flight whose rows and times are used.
        second: The other flight.
        way: `arming`, `takeoff` or `start`: what happens at the same time in both. By default, the first of these that
            both logs contain.
        offset_s: Time to add to the times of the second flight, instead.

    Raises:
        InputError: If a log can't be read, or the flights have no time in common.
    """
    first, second = run_path(first), run_path(second)
    ours, theirs = read_log(first), read_log(second)
    names = [drawn_name(source) for source in (first, second)]
    if names[0] == names[1]:
        names = ["first", "second"]
    by_clock = alignment_by_clock([first, second], [ours, theirs]) if way is None and offset_s is None else None
    alignment = by_clock or alignment_of(ours, theirs, way, offset_s)
    return LogDiff((names[0], names[1]), (ours, theirs), *common_rows(ours, theirs, alignment), alignment)


def _unit_quaternions(q: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return quaternions of length 1; all components are NaN where they are not a rotation."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        found = q / np.linalg.norm(q, axis=1)[:, np.newaxis]
    return np.where(np.isfinite(found).all(axis=1)[:, np.newaxis], found, np.nan)


def _angle_deg(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the angle between attitudes, given as quaternions of length 1."""
    # From the length of the difference, which is exact for small angles, unlike the arc cosine of the product.
    half = np.minimum(np.linalg.norm(ours - theirs, axis=1), np.linalg.norm(ours + theirs, axis=1)) / 2.0
    angle: npt.NDArray[np.float64] = np.degrees(4.0 * np.arcsin(np.clip(half, 0.0, 1.0)))
    return angle
