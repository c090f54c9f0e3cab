"""The run folder: complete, or marked as incomplete.

    runs/x500-20261116-021500/   spec.toml   recording.h5   log.parquet   summary.json   plots.png

The file `INCOMPLETE` is created first and removed last, which distinguishes a killed run from a finished one. During
the flight the log is in `log.rows`; at the end it is converted to `log.parquet`. A killed run leaves `log.rows` with
all rows that were logged, which `read_log` reads too. The user's own mission file is copied next to `spec.toml`, so
that the folder can be moved. A flight that was recorded and reached its end has `recording.h5`. `px4.log` has what real
PX4 printed, if `px4lockstep run` flew it, `px4.ulg` the log that stock PX4 wrote itself, with `px4.sitl.ulog`, `uorb/`
the messages of the topics that were logged, and `commands.jsonl` the commands that a served vehicle was given.
"""

import functools
import itertools
import re
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError, OutputError
from px4lockstep.flights.about import about_of
from px4lockstep.flights.latest import run_path
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.recording.file import NAME as RECORDING
from px4lockstep.flights.recording.file import write_recording
from px4lockstep.io import atomic_write, check_new, release_pages, to_json
from px4lockstep.log.csv import read_csv, side_file, write_csv
from px4lockstep.log.export_source import ExportOptions, ExportSource
from px4lockstep.log.exports import ExportFormat, check_formats
from px4lockstep.log.log import Log
from px4lockstep.log.messages import write_messages
from px4lockstep.log.parquet import read_parquet, write_parquet
from px4lockstep.log.rows import hold_rows, read_rows
from px4lockstep.reading import check_path, read_json
from px4lockstep.spec.build import Flight
from px4lockstep.spec.flight_tables import OUTPUTS
from px4lockstep.spec.shipped import is_name, mission_file
from px4lockstep.spec.spec import Spec
from px4lockstep.spec.toml_text import to_toml

if TYPE_CHECKING:
    from px4lockstep.aside import Aside
    from px4lockstep.flights.run import Run

MARK = "INCOMPLETE"
LOG_ROWS, LOG_PARQUET, SUMMARY, PLOTS = "log.rows", "log.parquet", "summary.json", "plots.png"
MIN_ROWS_DRAWN = 2
MAX_SUMMARY_BYTES = 10_000_000
PX4_LOG = "px4.log"
PX4_ULOG = "px4.ulg"
PX4_ULOGS = "px4/log/**/*.ulg"
"""Where stock PX4 writes its own log, in its working folder."""
UORB = "uorb"
COMMANDS = "commands.jsonl"
BOUNDARIES_HELD = 20_000
"""Boundaries between two releases of memory: 50 MB with a row at every boundary, some 4 MB at default periods."""


def _read_ulog(path: str | Path) -> Log:
    from px4lockstep.log.ulog_import import import_ulog

    return import_ulog(path)


READERS: dict[str, Callable[[str | Path], Log]] = {".csv": read_csv, ".parquet": read_parquet, ".ulg": _read_ulog}
"""The function that reads a log, by the ending of its file."""


@dataclass
class RunFolder:
    """A run folder that is being written."""

    path: Path
    spec: Spec
    exports: tuple[ExportFormat, ...] = ()
    _given_back: int = 0

    @classmethod
    def create(
        cls,
        path: str | Path | None,
        flight: Flight,
        *,
        holds_log: bool = False,
        force: bool = False,
        exports: Iterable[str] = (),
    ) -> "RunFolder":
        """Create the folder, by default in `runs/`, marked as incomplete, with the spec file and its mission.

        With `holds_log`, a flight that is yet to be flown keeps its log in the folder. With `force`, outputs outside
        the folder may overwrite files; the folder itself must always be empty. `exports` are formats in addition to
        those of the spec.
        """
        spec = flight.spec
        formats = check_formats(dict.fromkeys([*spec.run.exports, *exports]))
        check_outputs(spec, path, force, formats)
        folder = Path(path) if path is not None else fresh_folder(spec.aircraft.name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                remedy = "remove it, or use another name"
                raise InputError(f"{folder} is not empty; a run needs a new or empty folder: {remedy}")
            (folder / MARK).touch(exist_ok=False)  # if two processes race, the one that creates it owns the folder
        except OSError as error:
            raise InputError(f"the run folder {folder} can't be created: {error.strerror}") from error
        try:
            write_text(folder / MARK, "This run is incomplete: it is still being flown, or it was stopped.\n")
            if holds_log:
                hold_rows(flight.simulation, folder / LOG_ROWS)
                flight.simulation.given_commands.hold(folder / COMMANDS)
            write_spec(spec, folder)
        except InputError as error:  # nothing was flown, so nothing stays
            shutil.rmtree(folder / LOG_ROWS, ignore_errors=True)
            with suppress(OSError):  # the folder may be the current directory
                for file in folder.iterdir():
                    file.unlink()
                folder.rmdir()
            raise InputError(str(error)) from error
        return cls(folder, spec, formats)

    def watch(self, simulation: Simulation) -> None:
        """Release the memory of rows that are in the file."""
        if simulation.boundary - self._given_back >= BOUNDARIES_HELD:
            _release(simulation)
            self._given_back = simulation.boundary

    def keep(self, run: "Run", *, release: bool = False) -> None:
        """Write recording, log and summary, and remove `log.rows`; the log stays readable through the run.

        With `release`, free the memory of the recording afterwards. If one file can't be written, the others still
        are: a full disk may have space for the smaller ones.
        """
        failed: list[OutputError] = []
        first = (self._keep_commands, self._keep_recording, self._keep_log, self._keep_csv)
        for write in (*first, self._keep_exports, self._keep_ulog, self._keep_summary):
            try:
                write(run)
            except OutputError as error:
                failed.append(error)
            if write == self._keep_recording:
                if run.simulation.boundary >= BOUNDARIES_HELD:  # a shorter flight is read again at once
                    _release(run.simulation)
                if release and run.simulation.is_done:
                    run.simulation.release_streams()
        if failed:
            log = self.path / (LOG_ROWS if (self.path / LOG_ROWS).exists() else LOG_PARQUET)
            reasons = "; ".join(dict.fromkeys(map(str, failed)))
            raise OutputError(f"{reasons}; the log of the flight is in {log} and the folder stays marked {MARK}")

    def _keep_commands(self, run: "Run") -> None:
        given = run.simulation.given_commands
        if len(given) and not given.are_in(self.path / COMMANDS):
            write_text(self.path / COMMANDS, given.text)

    def _keep_recording(self, run: "Run") -> None:
        recording = run.recording
        if recording is not None:
            write_recording(recording, self.path / RECORDING)
            if self.spec.run.recording_out not in (None, RECORDING):
                write_recording(recording, self.path / str(self.spec.run.recording_out))

    def _keep_log(self, run: "Run") -> None:
        write_parquet(run.log, self.path / LOG_PARQUET, self._columns)
        write_messages(run.simulation.autopilot.message_log, self.path / UORB)
        shutil.rmtree(self.path / LOG_ROWS, ignore_errors=True)

    def _keep_csv(self, run: "Run") -> None:
        if self.spec.run.log_csv:
            write_csv(run.log, self.path / self.spec.run.log_csv, self._columns, digest=run.digest)

    def _keep_exports(self, run: "Run") -> None:
        if self.exports:
            about, log = about_of(run.spec, run.flight.mission), run.log.select(self._columns)
            source = ExportSource(log, about, summary_of(run, self.path), self.path)
            failed = []
            for each in self.exports:
                try:
                    each.write(source, self.path / each.file_name, ExportOptions())
                except OutputError as error:
                    failed.append(str(error))
                except InputError as error:  # columns or parameters that this flight does not have
                    failed.append(f"{self.path / each.file_name} can't be written: {error}")
            if failed:
                raise OutputError("; ".join(failed))

    def _keep_ulog(self, _: "Run") -> None:
        """Move the log that stock PX4 wrote, the largest if it wrote several, to `px4.ulg`."""
        try:
            found = sorted(self.path.glob(PX4_ULOGS), key=lambda path: path.stat().st_size)
            if found:
                found[-1].rename(self.path / PX4_ULOG)
        except OSError as error:
            raise OutputError(f"{self.path / PX4_ULOG} can't be written: {error.strerror}") from error

    def _keep_summary(self, run: "Run") -> None:
        write_text(self.path / SUMMARY, to_json(summary_of(run, self.path), indent=2) + "\n")

    def start_drawing(self, run: "Run") -> "Aside | None":
        """Start drawing the figure in a forked child, if that is possible, for `draw`.

        A process in which PX4 runs is not forked.
        """
        from px4lockstep.aside import Aside

        simulation = run.simulation  # `run.log` would read the whole file of rows while the streams are in memory, too
        capabilities = simulation.autopilot.capabilities
        if capabilities.needs_child or capabilities.is_process or len(simulation.log) < MIN_ROWS_DRAWN:
            return None
        return Aside.start(functools.partial(_drawn, run))

    def draw(self, run: "Run", drawing: "Aside | None" = None) -> None:
        """Write the figure, unless the log has fewer than two rows: the one of `start_drawing`, if it succeeds."""
        from px4lockstep.plots.flight import save_plot

        data = None if drawing is None else drawing.result()
        if data is not None:
            with atomic_write(self.path / PLOTS) as file:
                file.write(data)
        elif run.log.rows >= MIN_ROWS_DRAWN:
            save_plot(run.plot(), self.path / PLOTS)

    def close(self, run: "Run") -> None:
        """Remove the mark `INCOMPLETE` if the flight reached its end."""
        if run.simulation.is_done:
            (self.path / MARK).unlink()

    @property
    def is_marked(self) -> bool:
        """Whether the folder is marked as incomplete."""
        return is_incomplete(self.path)

    @property
    def _columns(self) -> list[str] | None:
        return None if self.spec.run.log_columns == "all" else list(self.spec.run.log_columns)


def _release(simulation: Simulation) -> None:
    """Release the memory of all rows that are in files."""
    for array in simulation.buffers.values():
        release_pages(array)


def _drawn(run: "Run") -> bytes:
    """Return the figure of a run as a file, in a process that does nothing else."""
    from px4lockstep.plots.lean_import import import_lean

    import_lean()
    from px4lockstep.plots.shown import png_of

    figure = run.plot()
    return png_of(figure, figure.get_dpi())


def check_outputs(
    spec: Spec, folder: str | Path | None, force: bool, exports: Iterable[ExportFormat] | None = None
) -> None:
    """Check that `run.log_csv` and `run.recording_out` are unused names in the run folder, or writable paths.

    Exports are written under their own names, by default those of `run.exports`.
    """
    taken = [MARK, SPEC, LOG_ROWS, LOG_PARQUET, SUMMARY, PLOTS, PX4_LOG, PX4_ULOG, UORB, COMMANDS]
    exports = check_formats(spec.run.exports) if exports is None else exports
    taken += [str(file) for each in exports for file in each.files(Path(each.file_name))]
    taken += [] if spec.mission is None else [mission_file(spec.mission)]
    for key, value in ((key, getattr(spec.run, key)) for key in OUTPUTS if getattr(spec.run, key) is not None):
        target, what = Path(value), f"run.{key} = {value!r} can't be written"
        is_inside = target.name == value or (folder is not None and target.parent.resolve() == Path(folder).resolve())
        own = target.name if is_inside else value
        written = (own, str(side_file(own))) if key == "log_csv" else (own,)
        if not set(written).isdisjoint(taken) or (own == RECORDING and key != "recording_out"):
            raise InputError(f"{what}: the run writes another file there; use another name")
        taken += written
        if target.name != value:
            if not target.is_absolute() or not target.parent.is_dir():
                raise InputError(f"{what}: the folder does not exist; create it first")
            for file in written:
                check_new(file, force=force)


def write_spec(spec: Spec, folder: Path) -> None:
    """Write the spec into a folder, and next to it the mission unless it is a built-in one."""
    if spec.mission is not None and not is_name(str(spec.px4.mission_path)):
        name = mission_file(spec.mission)
        write_text(folder / name, spec.mission.text)
        spec = spec.model_copy(update={"px4": spec.px4.model_copy(update={"mission_path": name})})
    write_text(folder / SPEC, to_toml(spec))


def summary_of(run: "Run", folder: Path | None) -> dict[str, Any]:
    """Return the summary for `--json`."""
    return {**run.summary.as_dict(), "run_dir": str(folder) if folder is not None else None}


def fresh_folder(name: str, root: str | Path = "runs") -> Path:
    """Create a folder named after the aircraft and the time, unique even among parallel runs; return its path."""
    stem = re.sub(r"[^\w.-]", "_", name) + time.strftime("-%Y%m%d-%H%M%S")
    for count in itertools.count(1):
        path = Path(root) / (stem if count == 1 else f"{stem}-{count}")
        try:
            path.mkdir(parents=True)
            break
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"the run folder {path} can't be created: {error.strerror}") from error
    return path


def is_incomplete(folder: str | Path) -> bool:
    """Return whether a run folder is marked as incomplete: still being flown, stopped or killed."""
    return (Path(folder) / MARK).exists()


def check_folder(folder: str | Path) -> Path:
    """Return the path of a run folder, or that of `latest`; raise if there is no such folder."""
    check_path(folder)
    path = run_path(folder)
    if path.is_file():
        raise InputError(f"{path} is a file; give its run folder instead")
    if not path.is_dir():
        raise InputError(f"run folder not found: {path}")
    return path


def read_summary(folder: Path) -> dict[str, Any]:
    """Return the summary in a run folder."""
    summary = read_json(folder / SUMMARY, MAX_SUMMARY_BYTES, "the summary of a run")
    if not isinstance(summary, dict):
        raise InputError(f"{folder / SUMMARY} is not a summary of a run: it must be a JSON object")
    return summary


def read_log(source: str | Path) -> Log:
    """Return the log in a run folder or in a file; for a run that was killed or is being flown, the rows until now.

    Args:
        source: A run folder, `latest` for the newest one in `runs/`, a log as CSV or Parquet, of this version or an
            earlier one, or PX4's ULog (.ulg).

    Raises:
        InputError: If it is not a run folder or a log, or can't be read.
    """
    check_path(source)
    source = run_path(source)
    if source.is_file():
        read = READERS.get(source.suffix.lower())
        if read is None:
            raise InputError(f"{source} is not a log; give a run folder, or a file that ends in .csv, .parquet or .ulg")
        return read(source)
    path = check_folder(source)
    if (path / LOG_PARQUET).exists():
        return read_parquet(path / LOG_PARQUET)
    if (path / LOG_ROWS).exists():
        return read_rows(path / LOG_ROWS)
    if is_incomplete(path):
        raise InputError(f"{path} has no log: the run was stopped before the flight began")
    reason = f"has no {LOG_PARQUET}" if (path / SPEC).exists() else f"is not a run folder: it has no {LOG_PARQUET}"
    raise InputError(f"{path} {reason}")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic_write(path) as file:
        file.write(text.encode())
