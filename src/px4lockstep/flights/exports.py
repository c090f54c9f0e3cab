"""Read the flight of a run folder or a log file for an export; `log.exports` has the formats."""

from pathlib import Path

from px4lockstep.errors import InputError
from px4lockstep.flights.about import about_of
from px4lockstep.flights.folder import SUMMARY, read_log, read_summary
from px4lockstep.flights.imported import import_report
from px4lockstep.flights.recorded import SPEC
from px4lockstep.log.export_source import About, ExportSource, HomePosition
from px4lockstep.log.geographic import with_home
from px4lockstep.log.ulog_import import ImportedLog
from px4lockstep.spec.load import load_spec


def read_source(path: Path) -> tuple[ExportSource, str | None]:
    """Return the flight in a run folder or log file, and why its spec is not used, if it can't be read."""
    log = read_log(path)
    if not path.is_dir():
        is_estimate = isinstance(log, ImportedLog) and log.report.state_is_estimate
        about = About(state_is_estimate=is_estimate)
        return ExportSource(log, about), "a log file has no spec; export its run folder instead"
    summary = read_summary(path) if (path / SUMMARY).exists() else {}
    report = import_report(path)
    if report is not None:
        origin = report.get("origin_deg_m")
        home = HomePosition(*map(float, origin)) if isinstance(origin, list) and len(origin) == 3 else None
        about = About(path.resolve().name, home, state_is_estimate=bool(report.get("state_is_estimate")))
        return ExportSource(log if home is None else with_home(log, home), about, summary, path), None
    try:
        spec = load_spec(path / SPEC, reads_mission=False)
    except InputError as error:
        return ExportSource(log, summary=summary, folder=path), str(error)
    try:
        mission = spec.mission
    except InputError:  # the mission file was moved or removed
        mission = None
    return ExportSource(with_home(log, spec.home.position), about_of(spec, mission), summary, path), None
