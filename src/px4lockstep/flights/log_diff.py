"""Compare two flights by their logs alone, such as a simulation with a real flight.

found = diff_logs("runs/sim", "flight.ulg")
found.differences, found.alignment, found.plot()
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.flights.alignment import Alignment, alignment_by_clock, alignment_of, common_rows
from px4lockstep.flights.figure import drawn_name
from px4lockstep.flights.folder import read_log
from px4lockstep.log.log import Log
from px4lockstep.log.ulog_import import ImportedLog

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
    and numbered values (motors, batteries) by their largest difference.
    """

    name: str
    unit: str
    rms: float
    largest: float
    at_s: float  # time of the largest difference
    is_rounding: bool  # whether it is no larger than the rounding of float32

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "column": self.name,
            "unit": self.unit,
            "rms": self.rms,
            "max": self.largest,
            "at_s": self.at_s,
            "is_rounding": self.is_rounding,
        }


@dataclass(frozen=True)
class LogDiff:
    """The comparison of two logs; `first` and `second` are at their common times."""

    names: tuple[str, str]
    whole: tuple[Log, Log]
    first: Log
    second: Log
    alignment: Alignment

    @cached_property
    def differences(self) -> tuple[ColumnDifference, ...]:
        """The differences of all columns that both logs have, in the order of the schema."""
        found = (self._difference(name) for name in self.first if name not in ("time_us", "time_s", "euler_bn"))
        return tuple(each for each in found if each is not None)

    @property
    def is_same(self) -> bool:
        """Whether there are columns to compare, and none differs by more than the rounding of float32."""
        return bool(self.differences) and all(each.is_rounding for each in self.differences)

    @property
    def only_in(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that only the first log has, and those that only the second has."""
        ours, theirs = self.whole
        return tuple(name for name in ours if name not in theirs), tuple(name for name in theirs if name not in ours)

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
        if name in WRAPPED:
            theirs = theirs + np.round((ours - theirs) / (2.0 * np.pi)) * 2.0 * np.pi
        if name in ANGLES:
            apart, scale, unit = _angle_deg(ours, theirs), np.full(len(ours), np.degrees(2.0)), "deg"
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                apart, scale = np.abs(ours - theirs), np.maximum(np.abs(ours), np.abs(theirs))
                if apart.ndim == 2:
                    is_vector = self.first.column(name).shape in ("ned", "body")
                    reduce = (lambda values: np.linalg.norm(values, axis=1)) if is_vector else _largest
                    apart, scale = reduce(apart), reduce(scale)
        is_there = np.isfinite(apart) & self._is_message(name)
        if not is_there.any():
            return None
        apart, scale = apart[is_there], scale[is_there]
        worst = int(np.argmax(apart))
        return ColumnDifference(
            name,
            unit,
            float(np.sqrt(np.mean(apart * apart))),
            float(apart[worst]),
            float(self.first.time_s[np.flatnonzero(is_there)[worst]]),
            bool((apart <= ROUNDING * np.maximum(scale, np.finfo(np.float32).tiny)).all()),
        )


def diff_logs(
    first: str | Path, second: str | Path, *, way: str | None = None, offset_s: float | None = None
) -> LogDiff:
    """Compare two flights by their logs: run folders, ULog files, logs as CSV or Parquet.

    Args:
        first: The flight whose rows and times are used.
        second: The other flight.
        way: `arming`, `takeoff` or `start`: what happens at the same time in both. By default, the first of these that
            both logs tell.
        offset_s: Time to add to the times of the second flight, instead.

    Raises:
        InputError: If a log can't be read, or the flights have no time in common.
    """
    ours, theirs = read_log(first), read_log(second)
    names = [drawn_name(Path(source)) for source in (first, second)]
    if names[0] == names[1]:
        names = ["first", "second"]
    by_clock = (
        alignment_by_clock([Path(first), Path(second)], [ours, theirs]) if way is None and offset_s is None else None
    )
    alignment = by_clock or alignment_of(ours, theirs, way, offset_s)
    return LogDiff((names[0], names[1]), (ours, theirs), *common_rows(ours, theirs, alignment), alignment)


def _largest(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the largest of each row, ignoring NaN; NaN if all are."""
    filled = np.where(np.isnan(values), -np.inf, values).max(axis=1)
    return np.where(np.isneginf(filled), np.nan, filled)


def _angle_deg(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the angle between attitudes; NaN where one is not a rotation."""
    lengths = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ours, theirs = first / lengths[0][:, np.newaxis], second / lengths[1][:, np.newaxis]
    # From the length of the difference, which is exact for small angles, unlike the arc cosine of the product.
    half = np.minimum(np.linalg.norm(ours - theirs, axis=1), np.linalg.norm(ours + theirs, axis=1)) / 2.0
    angle: npt.NDArray[np.float64] = np.degrees(4.0 * np.arcsin(np.clip(half, 0.0, 1.0)))
    return angle
