"""Compare two flights: changes of their specs, first difference, results.

found = diff("runs/good", "runs/bad")
found.changes, found.first_difference, found.metrics
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import LOG
from px4lockstep.errors import counted
from px4lockstep.flights.changes import Change, changes_between
from px4lockstep.flights.figure import drawn_name
from px4lockstep.flights.folder import read_log, read_summary
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recorded import recorded_spec
from px4lockstep.flights.recording.differences import Difference, FlightRows, first_difference, first_live_difference
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.replay import replay_of
from px4lockstep.flights.tables import diff_metrics, diff_rows, diff_title
from px4lockstep.log.log import Log
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.plots.overlay import distance_between
from px4lockstep.reprs import short
from px4lockstep.spec.stages import STAGES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METRICS = (
    "digest",
    "outcome",
    "duration_s",
    "mission_finished",
    "landed",
    "crashed",
    "waypoint_times_s",
    "max_altitude_m",
    "max_speed_m_s",
    "battery_used",
    "final_pos_ned",
)
"""The fields of a summary that are compared: those that are equal for two runs of one flight."""


@dataclass(frozen=True, repr=False)
class RunFolderContents:
    """The contents of a run folder."""

    folder: Path
    recording: Recording
    log: Log
    summary: dict[str, Any]

    def __repr__(self) -> str:
        return f"<RunFolderContents {self.folder}: {self.summary.get('outcome')}>"

    @classmethod
    def of(cls, folder: str | Path) -> "RunFolderContents":
        """Read a run folder."""
        path = run_path(folder)
        recording, log = read_recording(path), read_log(path)
        return cls(path, recording, log, read_summary(path))


@dataclass(frozen=True, repr=False)
class Diff(ShownInNotebook):
    """The comparison of two flights."""

    first: RunFolderContents
    second: RunFolderContents
    changes: tuple[Change, ...]

    def __repr__(self) -> str:
        told = "bit-identical" if self.is_same else f"first difference at {self.first_difference}"
        names = " and ".join(str(run.folder) for run in (self.first, self.second))
        return f"<Diff of {names}: {short(told)}, {counted(len(self.changes), 'change')}>"

    def _tables(self) -> Iterable[HtmlTable]:
        heads = ("", *(str(run.folder) for run in (self.first, self.second)))
        return HtmlTable(diff_metrics(self), heads, diff_title(self)), HtmlTable(diff_rows(self))

    def _figure(self) -> "Figure | None":
        return self.plot()

    @cached_property
    def first_difference(self) -> Difference | None:
        """The first time and field of state, commands, wind or faults at which the flights differ."""
        return _exact_difference(self.first.recording, self.second.recording)

    @cached_property
    def first_live_difference(self) -> Difference | None:
        """The first log row and field of estimate or setpoints that differs: often the cause of the rest."""
        return first_live_difference(self.first.recording, self.second.recording)

    @property
    def is_same(self) -> bool:
        """Whether the flights are bit-identical."""
        return self.first_difference is None and self.first_live_difference is None

    @cached_property
    def metrics(self) -> dict[str, tuple[Any, Any]]:
        """The results of both flights, by name."""
        named = {name: (self.first.summary.get(name), self.second.summary.get(name)) for name in METRICS}
        return {name: pair for name, pair in named.items() if pair != (None, None)}

    @cached_property
    def largest_distance_m(self) -> float | None:
        """Largest distance between the flights at the same time [m]; None without positions or common rows."""
        _, apart_m = distance_between(self.first.log, self.second.log)
        return float(apart_m.max()) if len(apart_m) else None

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {
            "identical": self.is_same,
            "changes": [change.as_dict() for change in self.changes],
            "first_difference": self.first_difference and self.first_difference.as_dict(),
            "first_live_difference": self.first_live_difference and self.first_live_difference.as_dict(),
            "metrics": {name: list(pair) for name, pair in self.metrics.items()},
            "largest_distance_m": self.largest_distance_m,
        }

    def plot(self) -> "Figure":
        """Return a figure with both flights overlaid."""
        from px4lockstep.plots.overlay import plot_overlay

        names = [drawn_name(run.folder) for run in (self.first, self.second)]
        if names[0] == names[1]:
            names = ["first", "second"]
        parts_at_s = None if self.first_difference is None else self.first_difference.time_us / 1e6
        told = "bit-identical" if parts_at_s is None else f"they diverge at {parts_at_s:.6f} s"
        logs = dict(zip(names, (self.first.log, self.second.log), strict=True))
        return plot_overlay(logs, title=f"{names[0]} and {names[1]}: {told}", parts_at_s=parts_at_s)


def diff(first: str | Path, second: str | Path) -> Diff:
    """Compare the flights of two run folders; `latest` is the newest one in `runs/`.

    Raises:
        InputError: If a folder can't be read.
    """
    ours, theirs = RunFolderContents.of(first), RunFolderContents.of(second)
    changes = changes_between(recorded_spec(ours.recording), recorded_spec(theirs.recording))
    if ours.recording.source.mission != theirs.recording.source.mission:
        one, other = (_title(run.recording.source.mission) for run in (ours, theirs))
        changes = (*changes, Change("mission", one, other, STAGES["mission"]))
    return Diff(ours, theirs, changes)


def _title(mission: str | None) -> str:
    return "none" if mission is None else f"{len(mission.splitlines())} lines"


def _exact_difference(first: Recording, second: Recording) -> Difference | None:
    """Return the first difference of two flights: the log row, then the exact boundary by replaying both."""
    if first.state_names != second.state_names:
        return Difference(int(first.streams.time_us[0]), "states", len(first.state_names), len(second.state_names))
    found = first_difference(FlightRows.of(first), FlightRows.of(second), first.state_names)
    return found and (_between_rows(replay_of(first), replay_of(second), found) or found)


def _between_rows(first: Simulation, second: Simulation, found: Difference) -> Difference | None:
    """Fly two replays to the last log row that matches, and compare them at every boundary from there on."""
    rows_us = first.timeline.time_us[(first.timeline.due & np.uint16(LOG)) != 0]
    before_us = rows_us[rows_us < found.time_us]
    last_us = int(before_us[-1]) if len(before_us) else first.timeline.start_us
    if max(first.time_us, second.time_us) > last_us:
        return None  # a branch can't be replayed before its start
    times_us = np.union1d(first.timeline.time_us, second.timeline.time_us)
    for time_us in times_us[np.searchsorted(times_us, last_us) :].tolist():
        ours, theirs = (FlightRows.now(simulation.run(time_us)) for simulation in (first, second))
        # Inputs were set at the previous boundary. States are compared only at boundaries that both flights have.
        parted = first_difference(ours.holding(last_us), theirs.holding(last_us))
        if parted is None and first.time_us == second.time_us:
            parted = first_difference(ours, theirs, first.plant.names)
        if parted is not None or last_us > found.time_us:
            return parted
        last_us = time_us
    return None
