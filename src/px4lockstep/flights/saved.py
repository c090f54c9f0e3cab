"""Open a run folder; its files are read on first use.

run = read_run("runs/first")
run.log["pos_ned"], run.summary["outcome"], run.spec.aircraft.name
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.errors import InputError
from px4lockstep.flights.figure import draw_folder
from px4lockstep.flights.folder import SUMMARY, check_folder, is_incomplete, read_log, read_summary
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.recording.file import NAME as RECORDING
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.tables import saved_rows
from px4lockstep.log.geographic import with_home
from px4lockstep.log.log import Log
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.plots.view import View
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class SavedRun(ShownInNotebook):
    """A flight in its run folder.

    Args:
        folder: The run folder.
    """

    folder: Path

    def __repr__(self) -> str:
        return f"<SavedRun {self.folder}{' (incomplete)' if self.is_incomplete else ''}>"

    @property
    def is_incomplete(self) -> bool:
        """Whether the run is still being flown, or was stopped or killed."""
        return is_incomplete(self.folder)

    @cached_property
    def log(self) -> Log:
        """The log; for a run that was killed, the rows that it wrote. See `Run.log`.

        Raises:
            InputError: If there is none.
        """
        log = read_log(self.folder)
        try:
            return with_home(log, load_spec(self.folder / SPEC, reads_mission=False).home.position)
        except InputError:  # without a spec, there is no home
            return log

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The summary, as `px4lockstep run --json` printed it.

        Raises:
            InputError: If it is missing or can't be read.
        """
        if not (self.folder / SUMMARY).exists():
            raise InputError(f"file not found: {self.folder / SUMMARY}; the run ended before it was written")
        return read_summary(self.folder)

    @cached_property
    def spec(self) -> Spec:
        """The resolved spec that was flown.

        Raises:
            InputError: If it is missing or invalid.
        """
        return load_spec(self.folder / SPEC)

    @cached_property
    def recording(self) -> Recording | None:
        """The recording; None if the flight was not recorded or did not reach its end.

        Raises:
            InputError: If it can't be read.
        """
        path = self.folder / RECORDING
        return read_recording(path) if path.exists() else None

    def _tables(self) -> Iterable[HtmlTable]:
        title = f"{self.folder.name}: {self.summary.get('outcome')}{' (incomplete)' if self.is_incomplete else ''}"
        rows = [*saved_rows(self.summary, self.folder), ("digest", str(self.summary.get("digest")))]
        return (HtmlTable(rows, title=title),)

    def _figure(self) -> "Figure | None":
        return self.plot() if self.log.rows > 1 else None

    def plot(
        self, *, from_s: float | None = None, to_s: float | None = None, columns: Sequence[str] | None = None
    ) -> "Figure":
        """Return a Matplotlib figure of the flight, which a notebook shows; see `Run.plot`.

        Raises:
            InputError: If there is no log, no such column, or no row in this time.
        """
        view = View(from_s, to_s, None if columns is None else tuple(columns))
        figure, _ = draw_folder(self.folder, self.log, view)
        return figure


def read_run(folder: str | Path) -> SavedRun:
    """Open a run folder.

    Args:
        folder: The folder that `px4lockstep run` or `Run.save` wrote, or `latest` for the newest one in `runs/`.

    Returns:
        The run: `log`, `summary`, `spec`, `recording` and `plot()`, each read on first use.

    Raises:
        InputError: If there is no such folder, or no run in `runs/`.
    """
    return SavedRun(check_folder(folder))
