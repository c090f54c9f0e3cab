"""The figure of a run, identical whether drawn from memory or from its run folder, and that of several runs."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.errors import InputError, counted
from px4lockstep.flights.alignment import alignment_by_clock, alignment_of, shifted
from px4lockstep.flights.folder import SUMMARY, read_log, read_summary
from px4lockstep.flights.headline import facts_of, title_of
from px4lockstep.flights.imported import draw_imported, import_report
from px4lockstep.flights.parameters import flown_area
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.replay import replay_of
from px4lockstep.log.log import Log
from px4lockstep.plots.view import WHOLE, View
from px4lockstep.plots.waypoints import mission_waypoints
from px4lockstep.px4.missions import Mission
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Summarized = Mapping[str, Any] | None
"""The summary of a flight; None if the run is incomplete and has none."""


def draw_flight(log: Log, spec: Spec, mission: Mission | None, summary: Summarized, view: View = WHOLE) -> "Figure":
    """Return the figure of a flight, titled with its outcome, with the waypoints relative to home."""
    home_deg = spec.home.lat_deg, spec.home.lon_deg
    waypoints = mission_waypoints(mission, *home_deg) if mission is not None else {}
    title = title_of(spec.aircraft.name, summary)
    facts = facts_of(spec, None if summary is None else summary.get("digest"))
    return view.draw(log, title, facts=facts, waypoints=waypoints, area=flown_area(spec, mission))


def draw_folder(folder: str | Path, log: Log, view: View = WHOLE) -> tuple["Figure", str | None]:
    """Return the figure of the flight in a run folder, and why its waypoints are missing, if they are."""
    report = import_report(folder)
    if report is not None:
        is_estimate = bool(report.get("state_is_estimate"))
        return draw_imported(log, drawn_name(Path(folder)), is_estimate=is_estimate, view=view), None
    spec_path = Path(folder) / SPEC
    try:
        spec = load_spec(spec_path, reads_mission=False)
    except InputError as error:
        raise InputError(f"{spec_path} can't be read as the spec of a run: {error}") from error
    mission, problem = None, None
    try:
        mission = spec.mission
    except InputError as error:  # the mission file was moved or removed
        problem = str(error)
    summary = read_summary(Path(folder)) if (Path(folder) / SUMMARY).exists() else None
    return draw_flight(log, spec, mission, summary, view), problem


def draw_sources(sources: Sequence[Path], labels: Sequence[str] = (), view: View = WHOLE) -> "Figure":
    """Return the figure of several flights: run folders, logs (CSV, Parquet, ULog) and recordings, which are replayed.

    Without labels, they are the names of folders and files, with those of their folders where they would be equal. If
    one is imported, the others are shifted to the times of the first: see `flights.alignment`.
    """
    from px4lockstep.plots.columns import plot_columns
    from px4lockstep.plots.overlay import plot_overlay

    paths = list(sources)
    if labels and len(labels) != len(paths):
        flights = counted(len(paths), "flight")
        raise InputError(f"--labels has {counted(len(labels), 'label')} for {flights}; give one for each")
    names = list(labels) or [drawn_name(path) for path in paths]
    if not labels and len(set(names)) < len(names):
        names = [os.fsencode(path).decode(errors="replace") for path in paths]
    if len(set(names)) < len(names):
        raise InputError(f"labels must differ, but are {', '.join(names)}; set them with --labels")
    logs = [_log_of(path) for path in paths]
    is_aligned = any(_is_imported(path) for path in paths)
    if is_aligned:  # flights of different clocks
        for i, log in enumerate(logs[1:], 1):
            by_clock = alignment_by_clock([paths[0], paths[i]], [logs[0], log])
            logs[i] = shifted(log, by_clock or alignment_of(logs[0], log))
    named = {name: view.cut(log) for name, log in zip(names, logs, strict=True)}
    return plot_overlay(named) if view.columns is None else plot_columns(named, view.columns)


def drawn_name(path: Path) -> str:
    """Return the name of a folder, or of a file without its extension, as text that can be drawn."""
    name = path.resolve().name if path.is_dir() else path.stem
    return os.fsencode(name).decode(errors="replace")


def _is_imported(path: Path) -> bool:
    return path.suffix.lower() == ".ulg" if path.is_file() else import_report(path) is not None


def _log_of(path: Path) -> Log:
    if path.is_file() and path.suffix == ".h5":
        return Log.of(replay_of(read_recording(path)).run())
    return read_log(path)
