"""The folder of a run: complete, or marked as incomplete.

    runs/iris-20261116-021500/   spec.toml   recording.h5   log.parquet   summary.json   plots.png

`INCOMPLETE` is in it from the first moment to the last, so that a run that was killed can be told from one that ended.
While a flight runs, its log is in `log.rows`, and goes from there into `log.parquet` in the end. A run that is killed
leaves `log.rows` with all that was logged, which `read_log` reads as well. A mission of the user's own is copied beside
the aircraft file, so that a folder can go elsewhere. A flight that came to its end and was recorded has its recording.
`px4.log` has what real PX4 printed, if `px4lockstep run` flew it.
"""

import itertools
import json
import re
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.recording.file import NAME as RECORDING
from px4lockstep.flights.recording.file import write_recording
from px4lockstep.io import atomic_write, release_pages
from px4lockstep.log.csv import write_csv
from px4lockstep.log.log import Log
from px4lockstep.log.parquet import read_parquet, write_parquet
from px4lockstep.log.rows import hold_rows, read_rows
from px4lockstep.spec.build import Flight
from px4lockstep.spec.shipped import is_name, mission_file
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import to_toml

if TYPE_CHECKING:
    from px4lockstep.flights.run import Run

MARK = "INCOMPLETE"
LOG_ROWS, LOG_PARQUET, SUMMARY, PLOTS = "log.rows", "log.parquet", "summary.json", "plots.png"
PX4_LOG = "px4.log"
BOUNDARIES_HELD = 20_000
"""How many boundaries' rows stay in memory: 50 MB if there is one at each, some 4 MB at the usual periods."""


@dataclass
class RunFolder:
    """A run folder that is being written."""

    path: Path
    spec: Spec
    _given_back: int = 0

    @classmethod
    def create(cls, path: str | Path | None, flight: Flight, *, holds_log: bool = False) -> "RunFolder":
        """Make the folder, by default a new one in `runs/`, marked as incomplete, with the spec file and its mission.

        With `holds_log`, a flight that is yet to be flown keeps its log in the folder meanwhile.
        """
        spec = flight.spec
        for key in ("log_csv", "recording_out"):
            target = getattr(spec.run, key)
            if target and not Path(target).parent.is_dir():
                raise InputError(f"run.{key} = {target!r} can't be written: there is no such folder; make it")
        folder = Path(path) if path is not None else fresh_folder(spec.aircraft.name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise InputError(f"{folder} is not empty; a run needs a folder of its own")
            with (folder / MARK).open("x", encoding="utf-8") as mark:
                mark.write("This run is not complete: it is being flown, or it was stopped.\n")
        except OSError as error:
            raise InputError(f"the run folder {folder} can't be made: {error.strerror}") from error
        if holds_log:
            try:
                hold_rows(flight.simulation, folder / LOG_ROWS)
            except InputError:
                (folder / MARK).unlink()
                with suppress(OSError):  # it may be the one that the user is in
                    folder.rmdir()
                raise
        write_spec(spec, folder)
        return cls(folder, spec)

    def watch(self, simulation: Simulation) -> None:
        """Give the memory of what was logged back; the file has it."""
        if simulation.boundary - self._given_back >= BOUNDARIES_HELD:
            for array in simulation.buffers.values():
                release_pages(array)
            self._given_back = simulation.boundary

    def keep(self, run: "Run", *, release: bool = False) -> None:
        """Write recording, log and summary; the file that held the log goes, and the run still has it.

        `release` gives the memory of the recording back when it is written.
        """
        try:
            self._keep_recording(run)
        finally:  # a disk that is full for the one may have room for the others
            if release and run.simulation.is_done:
                run.simulation.release_streams()
            self._keep_log(run)

    def _keep_recording(self, run: "Run") -> None:
        recording = run.recording
        if recording is not None:
            write_recording(recording, self.path / RECORDING)
            if self.spec.run.recording_out:
                write_recording(recording, self.spec.run.recording_out)

    def _keep_log(self, run: "Run") -> None:
        write_parquet(run.log, self.path / LOG_PARQUET, self._columns)
        if self.spec.run.log_csv:
            write_csv(run.log, self.spec.run.log_csv, self._columns)
        shutil.rmtree(self.path / LOG_ROWS, ignore_errors=True)
        _write(self.path / SUMMARY, json.dumps(summary_of(run, self.path), indent=2) + "\n")

    def draw(self, run: "Run") -> None:
        """Write the picture; a log of less than two rows has none."""
        from px4lockstep.plots.flight import save_plot

        if run.log.rows > 1:
            save_plot(run.plot(), self.path / PLOTS)

    def close(self, run: "Run") -> None:
        """Take the mark away, if the flight came to its end: all that was asked for is written."""
        if run.simulation.is_done:
            (self.path / MARK).unlink()

    @property
    def is_marked(self) -> bool:
        """Whether the folder is marked as incomplete."""
        return is_incomplete(self.path)

    @property
    def _columns(self) -> list[str] | None:
        return None if self.spec.run.log_columns == "all" else list(self.spec.run.log_columns)


def write_spec(spec: Spec, folder: Path) -> None:
    """Write the spec into a folder, with a mission of the user's own beside it."""
    if spec.mission is not None and not is_name(str(spec.px4.mission_path)):
        name = mission_file(spec.mission)
        _write(folder / name, spec.mission.text)
        spec = spec.model_copy(update={"px4": spec.px4.model_copy(update={"mission_path": name})})
    _write(folder / SPEC, to_toml(spec))


def summary_of(run: "Run", folder: Path | None) -> dict[str, Any]:
    """Return the summary as `--json` prints it."""
    return {**run.summary.as_dict(), "run_dir": str(folder) if folder is not None else None}


def fresh_folder(name: str, root: str | Path = "runs") -> Path:
    """Make a folder, named after the aircraft and the time, and return it; no other run gets the same."""
    stem = re.sub(r"[^\w.-]", "_", name) + time.strftime("-%Y%m%d-%H%M%S")
    for count in itertools.count(1):
        path = Path(root) / (stem if count == 1 else f"{stem}-{count}")
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"the run folder {path} can't be made: {error.strerror}") from error
    return path


def is_incomplete(folder: str | Path) -> bool:
    """Return whether a run folder is marked as incomplete: it is being flown, or was stopped or killed."""
    return (Path(folder) / MARK).exists()


def check_folder(folder: str | Path) -> Path:
    """Return the path of a run folder."""
    path = Path(folder)
    if path.is_file():
        raise InputError(f"{path} is a file; give the run folder")
    if not path.is_dir():
        raise InputError(f"{path} has no log; there is no such folder")
    return path


def read_log(folder: str | Path) -> Log:
    """Return the log in a run folder; of a run that was killed, or is being flown, what it has logged."""
    path = check_folder(folder)
    if (path / LOG_PARQUET).exists():
        return read_parquet(path / LOG_PARQUET)
    if (path / LOG_ROWS).exists():
        return read_rows(path / LOG_ROWS)
    reason = "the run was stopped before it began" if is_incomplete(path) else f"there is no {LOG_PARQUET} in it"
    raise InputError(f"{path} has no log; {reason}")


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode())
