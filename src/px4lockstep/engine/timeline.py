"""The timeline: axes in integer microseconds, merged into one strictly increasing sequence of event boundaries.

An event boundary ("boundary" for short) is a time at which a stage, an event or the log may be due; between two of them
the plant is integrated with constant inputs. Each axis is periodic (period and phase) or a list of explicit times.
Their union, with the start and the end, is `time_us`; `due[k]` is a bit mask of the axes that are due at boundary k.
The end is a boundary, and the log is due there.

The boundaries in a time span depend on that span only, so a simulation generates them in chunks (`window`, `chunk_us`)
during the run, and the end may be a distant upper bound: without `has_end`, the run ends on request; with
`ends_after_landing`, it ends when the vehicle has landed (see `scenario.landing`). `time_us` and `due` of the whole
timeline are generated on first access.

A physics axis divides the intervals for a fixed-step integrator. The loop still integrates from boundary to boundary;
this axis only adds boundaries. The other periods must then be whole multiples of the physics period, so no step is
longer than that period, and only phases, events and the end cause shorter ones.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError, TimeError
from px4lockstep.reprs import ShortRepr
from px4lockstep.timebase import check_us, period_to_us, seconds_to_us

AUTOPILOT, WIND, LOG, SCENARIO, PHYSICS = 1, 2, 4, 8, 16
AXIS_BITS = {"autopilot": AUTOPILOT, "wind": WIND, "log": LOG, "scenario": SCENARIO, "physics": PHYSICS}

MAX_BOUNDARIES = 100_000_000
"""More than a day at one millisecond. More boundaries are due to a mistyped period, and would fill the disk."""
CHUNK_BOUNDARIES = 65_536
"""Approximate number of boundaries generated at a time: a minute at one millisecond."""
CACHED_CHUNKS = 8
"""Chunks that a timeline keeps, for the next run on it."""


@dataclass(frozen=True)
class Periodic:
    """An axis that ticks at `start + phase`, and every `period` after that."""

    period_us: int
    phase_us: int = 0

    @classmethod
    def seconds(cls, period_s: Any, name: str = "period_s", phase_s: Any = 0.0) -> "Periodic":
        """Return an axis from seconds; error messages name the field."""
        return cls(period_to_us(period_s, name), seconds_to_us(phase_s, f"phase of {name}"))


@dataclass(frozen=True)
class Explicit:
    """An axis that ticks at the given times, in any order; duplicates are ignored."""

    times_us: tuple[int, ...]

    @classmethod
    def seconds(cls, times_s: Iterable[Any], name: str = "times_s") -> "Explicit":
        """Return an axis from seconds; error messages name the field and the index."""
        return cls(tuple(seconds_to_us(time_s, f"{name}[{i}]") for i, time_s in enumerate(times_s)))


Axis = Periodic | Explicit


def count_ticks(due: npt.NDArray[np.uint16]) -> dict[str, int]:
    """Return the number of boundaries at which each axis is due."""
    return {name: int(np.count_nonzero(due & np.uint16(bit))) for name, bit in AXIS_BITS.items()}


@dataclass(frozen=True, repr=False)
class Timeline(ShortRepr):
    """The event boundaries of a run.

    Args:
        end_us: The last boundary.
        autopilot: When the estimator and the autopilot run. Must be periodic: PX4 needs a constant step.
        wind: When the wind changes.
        log: When the log is sampled; the end is always sampled.
        scenario: Times of events, which become boundaries. The scenario itself runs at every boundary.
        physics: Steps of a fixed-step integrator.
        start_us: The first boundary.
        has_end: Whether the run is to end at `end_us`; otherwise that is only a limit.
        ends_after_landing: Whether a run with a `Scenario` ends after the landing, at `end_us` at the latest.

    Raises:
        TimeError: If a time is not an integer in range, the end is not after the start, an explicit time is outside
            the run, or a period is neither a whole multiple nor a whole fraction of the physics period.
        InputError: If there is no axis, or there would be more than `MAX_BOUNDARIES`.
    """

    end_us: int
    autopilot: Periodic | None = None
    wind: Axis | None = None
    log: Axis | None = None
    scenario: Axis | None = None
    physics: Periodic | None = None
    start_us: int = 0
    has_end: bool = True
    ends_after_landing: bool = False

    def __post_init__(self) -> None:
        """Check all arguments."""
        start_us = check_us("timeline.start_us", self.start_us)
        end_us = check_us("timeline.end_us", self.end_us)
        if end_us <= start_us:
            raise TimeError(f"timeline.end_us = {end_us} is not after timeline.start_us = {start_us}")
        axes = self.axes
        if not axes:
            raise InputError(f"the timeline has no axis; give at least one of {', '.join(AXIS_BITS)}")
        for name, axis in axes.items():
            self._check_axis(name, axis)
        self._check_count(axes)
        self._check_physics(axes)

    @property
    def axes(self) -> dict[str, Axis]:
        """The axes of this timeline, by name."""
        return {name: axis for name in AXIS_BITS if (axis := getattr(self, name)) is not None}

    @property
    def is_end_known(self) -> bool:
        """Whether the run will end at `end_us`, unless it crashes or is stopped."""
        return self.has_end and not self.ends_after_landing

    def with_events(self, times_us: tuple[int, ...]) -> "Timeline":
        """Return this timeline with an additional, explicit scenario axis."""
        if self.scenario is not None:
            raise InputError("the timeline already has a scenario axis; use a timeline without one")
        return replace(self, scenario=Explicit(times_us))

    def until(self, end_us: int) -> "Timeline":
        """Return a timeline that ends earlier: the same boundaries up to `end_us`, and `end_us` itself."""
        explicit = {name: axis.times_us for name, axis in self.axes.items() if isinstance(axis, Explicit)}
        axes: dict[str, Any] = {
            name: Explicit(tuple(t for t in times if t <= end_us)) for name, times in explicit.items()
        }
        return replace(self, end_us=end_us, has_end=True, ends_after_landing=False, **axes)

    # -- boundaries ------------------------------------------------------------------------------------------------

    @cached_property
    def _whole(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16]]:
        return self._generate(self.start_us, self.end_us + 1)

    @property
    def time_us(self) -> npt.NDArray[np.uint64]:
        """The times of all boundaries, read-only."""
        return self._whole[0]

    @property
    def due(self) -> npt.NDArray[np.uint16]:
        """The axes that are due at each boundary, as bits, read-only."""
        return self._whole[1]

    def window(self, from_us: int, to_us: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16]]:
        """Return times and due axes of the boundaries from `from_us` up to, but not including, `to_us`; read-only."""
        if from_us == self.start_us and to_us > self.end_us:
            return self._whole
        if "_whole" in vars(self):
            rows = slice(*np.searchsorted(self.time_us, np.array([from_us, to_us], np.uint64)))
            return self.time_us[rows], self.due[rows]
        return self._generate(from_us, min(to_us, self.end_us + 1))

    @cached_property
    def _chunks(self) -> dict[tuple[int, int], tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16]]]:
        return {}

    def chunk(self, from_us: int, to_us: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16]]:
        """Return the same as `window`, and keep the first few: the runs of a campaign have the same timeline."""
        found = self._chunks.get((from_us, to_us)) or self.window(from_us, to_us)
        if len(self._chunks) < CACHED_CHUNKS:
            self._chunks[from_us, to_us] = found
        return found

    @cached_property
    def _ticks(self) -> dict[tuple[int, int], dict[str, int]]:
        return {}

    def chunk_ticks(self, from_us: int, to_us: int) -> dict[str, int]:
        """Return the number of boundaries of a chunk at which each axis is due, and keep those of the first few."""
        found = self._ticks.get((from_us, to_us)) or count_ticks(self.chunk(from_us, to_us)[1])
        if len(self._ticks) < CACHED_CHUNKS:
            self._ticks[from_us, to_us] = found
        return found

    def _generate(self, from_us: int, to_us: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint16]]:
        axes = self.axes
        time_us = self._joined(list(axes.values()), from_us, to_us)
        due = np.zeros(time_us.size, np.uint16)
        for name, axis in axes.items():
            self._mark(due, time_us, axis, np.uint16(AXIS_BITS[name]))
        if to_us > self.end_us:
            due[-1] |= np.uint16(LOG)
        time_us.flags.writeable = due.flags.writeable = False
        return time_us, due

    def chunk_us(self, boundaries: int) -> int:
        """Return a time span with about the given number of boundaries, not counting explicit times."""
        periods = [axis.period_us for axis in self.axes.values() if isinstance(axis, Periodic)]
        per_us = sum(1.0 / period_us for period_us in periods)
        whole_us = self.end_us + 1 - self.start_us
        return min(whole_us, max(1, int(boundaries / per_us))) if per_us else whole_us

    def is_boundary(self, time_us: int) -> bool:
        """Return whether a time is a boundary."""
        return bool(self.window(time_us, time_us + 1)[0].size) if self.start_us <= time_us <= self.end_us else False

    def __len__(self) -> int:
        return int(self.time_us.size)

    def count(self, axis: str) -> int:
        """Return the number of boundaries at which an axis is due."""
        return count_ticks(self.due)[axis]

    def most_ticks(self, axis: str) -> int:
        """Return an upper bound on the number of boundaries at which an axis is due; the log is due at the end."""
        return self._most_ticks[axis]

    @cached_property
    def _most_ticks(self) -> dict[str, int]:
        axes = self.axes
        return {name: (self._count_ticks(axes[name]) if name in axes else 0) + (name == "log") for name in AXIS_BITS}

    @cached_property
    def greatest_step_us(self) -> int:
        """The longest interval between two boundaries, which is the largest step of a fixed-step integrator."""
        span_us = self.chunk_us(CHUNK_BOUNDARIES)
        last, greatest = self.start_us, 0
        for from_us in range(self.start_us, self._repeats_us() + 1, span_us):
            time_us, _ = self.window(from_us, from_us + span_us)
            if time_us.size:
                steps = np.diff(time_us, prepend=np.uint64(last))
                last, greatest = int(time_us[-1]), max(greatest, int(steps.max()))
        return greatest

    def _repeats_us(self) -> int:
        """Return a time after which no new interval occurs, at most the end: all axes have begun, and repeat."""
        periodic = [axis for axis in self.axes.values() if isinstance(axis, Periodic)]
        explicit = [axis.times_us for axis in self.axes.values() if isinstance(axis, Explicit)]
        if not periodic:
            return self.end_us
        begun_us = max(
            self.start_us, *(self.start_us + axis.phase_us for axis in periodic), *itertools.chain(*explicit)
        )
        return min(self.end_us, begun_us + 2 * math.lcm(*(axis.period_us for axis in periodic)))

    def _check_axis(self, name: str, axis: Axis) -> None:
        if name in ("autopilot", "physics") and not isinstance(axis, Periodic):
            raise InputError(f"timeline.{name} must be Periodic, not {type(axis).__name__}")
        if isinstance(axis, Periodic):
            check_us(f"timeline.{name}.period_us", axis.period_us, minimum=1)
            check_us(f"timeline.{name}.phase_us", axis.phase_us)
        elif isinstance(axis, Explicit):
            for i, time_us in enumerate(axis.times_us):
                where = f"timeline.{name}.times_us[{i}]"
                if not self.start_us <= check_us(where, time_us) <= self.end_us:
                    raise TimeError(f"{where} = {time_us} is outside the run, {self.start_us} to {self.end_us}")
        else:
            raise InputError(f"timeline.{name} must be Periodic or Explicit, not {type(axis).__name__}")

    def _check_count(self, axes: dict[str, Axis]) -> None:
        counts = {name: self._count_ticks(axis) for name, axis in axes.items()}
        most = max(counts, key=lambda name: counts[name])
        if sum(counts.values()) > MAX_BOUNDARIES:
            raise InputError(
                f"the timeline would have up to {sum(counts.values()):,} event boundaries, {counts[most]:,} of them "
                f"from timeline.{most}; the limit is {MAX_BOUNDARIES:,}. Use a longer period or an earlier end"
            )

    def _check_physics(self, axes: dict[str, Axis]) -> None:
        if self.physics is None:
            return
        for name, axis in axes.items():
            if not isinstance(axis, Periodic):
                continue
            if fits := whole_multiples_us(axis.period_us, self.physics.period_us):
                raise TimeError(
                    f"timeline.{name}.period_us = {axis.period_us} is neither a whole multiple nor a whole fraction of "
                    f"timeline.physics.period_us = {self.physics.period_us}; use {' or '.join(map(str, fits))}"
                )

    def _count_ticks(self, axis: Axis) -> int:
        if isinstance(axis, Explicit):
            return len(axis.times_us)
        return max(0, (self.end_us - self.start_us - axis.phase_us) // axis.period_us + 1)

    def _joined(self, axes: list[Axis], from_us: int, to_us: int) -> npt.NDArray[np.uint64]:
        """Return the ticks of all axes in a span, with the start and the end, sorted and without duplicates.

        It works in place: a long run has millions of ticks, and the process would not release temporary arrays.
        """
        ends = [time_us for time_us in (self.start_us, self.end_us) if from_us <= time_us < to_us]
        spans = [self._ticks_in(axis, from_us, to_us) for axis in axes]
        time_us = np.empty(sum(count for _, count, _ in spans) + len(ends), np.uint64)
        stop = len(ends)
        time_us[:stop] = ends
        for first_us, count, axis in spans:
            ticks = time_us[stop : stop + count]
            stop += count
            if isinstance(axis, Explicit):
                ticks[:] = [tick_us for tick_us in axis.times_us if from_us <= tick_us < to_us]
            elif count:
                ticks[0] = first_us
                ticks[1:] = axis.period_us
                np.cumsum(ticks, out=ticks)
        time_us.sort(kind="stable")  # a stable sort exploits that each axis is sorted
        is_new = np.empty(time_us.size, np.bool_)
        is_new[:1] = True
        np.not_equal(time_us[1:], time_us[:-1], out=is_new[1:])
        return time_us[is_new]

    def _ticks_in(self, axis: Axis, from_us: int, to_us: int) -> tuple[int, int, Axis]:
        """Return the first tick of a periodic axis in a span, the number of ticks of the axis there, and the axis."""
        if isinstance(axis, Explicit):
            return from_us, sum(from_us <= time_us < to_us for time_us in axis.times_us), axis
        first_us = self.start_us + axis.phase_us
        first_us += max(0, -((first_us - from_us) // axis.period_us)) * axis.period_us
        return first_us, max(0, -((first_us - to_us) // axis.period_us)), axis

    def _mark(self, due: npt.NDArray[np.uint16], time_us: npt.NDArray[np.uint64], axis: Axis, bit: np.uint16) -> None:
        """Set the bit of an axis at the boundaries where it ticks."""
        if not time_us.size:
            return
        if isinstance(axis, Explicit):
            inside = [tick_us for tick_us in axis.times_us if time_us[0] <= tick_us <= time_us[-1]]
            due[np.searchsorted(time_us, np.array(inside, np.uint64))] |= bit
            return
        first_us, period_us = np.uint64(self.start_us + axis.phase_us), np.uint64(axis.period_us)
        start = int(np.searchsorted(time_us, first_us))
        for row in range(start, due.size, CHUNK_BOUNDARIES):  # in chunks, to avoid large temporary arrays
            rows = slice(row, row + CHUNK_BOUNDARIES)
            due[rows] |= bit * ((time_us[rows] - first_us) % period_us == 0)


def whole_multiples_us(period_us: int, step_us: int) -> list[int]:
    """Return the nearest multiples of the physics step if a period is neither a multiple nor a fraction of it."""
    if period_us % step_us == 0 or step_us % period_us == 0:
        return []
    below_us = period_us // step_us * step_us
    return [near_us for near_us in (below_us, below_us + step_us) if near_us]
