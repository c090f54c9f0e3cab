"""Reports of one flight, and of the comparison of two."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from px4lockstep.errors import InputError
from px4lockstep.flights.changes import changes_between
from px4lockstep.flights.diff import Diff, diff
from px4lockstep.flights.figure import drawn_name
from px4lockstep.flights.folder import SUMMARY, check_folder, read_log
from px4lockstep.flights.headline import facts_of
from px4lockstep.flights.imported import import_report
from px4lockstep.flights.log_diff import LogDiff, diff_logs
from px4lockstep.flights.outcome import IMPORTED, is_success
from px4lockstep.flights.recorded import SPEC
from px4lockstep.flights.recording.file import NAME as RECORDING
from px4lockstep.flights.saved import SavedRun
from px4lockstep.flights.summary import summary_of_log
from px4lockstep.flights.tables import (
    LOG_DIFF_HEADS,
    diff_metrics,
    diff_rows,
    diff_title,
    log_diff_columns,
    log_diff_rows,
    log_diff_title,
    saved_rows,
)
from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log
from px4lockstep.plots.waypoints import mission_waypoints
from px4lockstep.reading import read_text
from px4lockstep.reports.flight_charts import flight_chart, overlay_chart, track_chart
from px4lockstep.reports.page import BAD, GOOD, NONE, PageTable, ReportPage, beside, details, paragraph
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.shipped import shipped_aircraft
from px4lockstep.spec.spec import Spec

MAX_SPEC_BYTES = 10_000_000
ULOG, INCOMPLETE = ".ulg", "incomplete"


def run_page(source: Path) -> ReportPage:
    """Return the report of a run folder, or of a ULog file of PX4."""
    log, name = _readable(source), drawn_name(source)
    run = SavedRun(check_folder(source)) if source.is_dir() else None
    spec = _spec_of(source)
    summary = _summary_of(source, log, spec)
    outcome, reason = str(summary.get("outcome")), summary.get("reason")
    is_incomplete = run is not None and run.is_incomplete
    title = f"{spec.aircraft.name}: {name}" if spec is not None else name
    page = ReportPage(
        title,
        INCOMPLETE if is_incomplete else outcome,
        NONE if is_incomplete or outcome in (IMPORTED, INCOMPLETE) else GOOD if is_success(outcome) else BAD,
        str(reason or ""),
        () if spec is None else facts_of(spec, str(summary.get("digest") or "")).split("   ·   "),
    )
    rows = saved_rows(summary, source)
    table = PageTable([*rows, *([("digest", str(summary["digest"]))] if summary.get("digest") else [])])
    page.add("Results", beside(table.html(), page.chart(track_chart({"flown": log}, _waypoints(spec)))))
    page.add("Charts", page.chart(flight_chart(log, events_of(log))))
    _add_replay(page, [source], name)
    events = events_of(log)
    if events:
        rows = [(f"{event.time_us / 1e6:.3f} s", event.label, "fault" if event.is_fault else "") for event in events]
        faults = [event.is_fault for event in events]
        page.add("Events", PageTable(rows, ("time", "event", ""), faults, is_long=len(rows) > 20))
    _add_spec(page, source, spec)
    _add_versions(page, [source])
    return page


def diff_page(first: Path, second: Path) -> ReportPage:
    """Return the report of the comparison of two flights; without recordings, of their logs."""
    logs = [_readable(source) for source in (first, second)]
    if all((source / RECORDING).is_file() for source in (first, second)):
        page, parts_at_s = _exact_page(diff(first, second), first, second)
    else:
        found = diff_logs(first, second)
        page, parts_at_s = _logs_page(found), None
        logs = [found.first, found.second]
    names = _names(first, second)
    page.add("Charts", page.chart(overlay_chart(_both(names, *logs), parts_at_s)))
    _add_replay(page, [first, second], " and ".join(names))
    for name, source in zip(names, (first, second), strict=True):
        _add_spec(page, source, _spec_of(source), f"Spec of {name}")
    _add_versions(page, [first, second])
    return page


def _exact_page(found: Diff, first: Path, second: Path) -> tuple[ReportPage, float | None]:
    names = _names(first, second)
    parts_at_s = None if found.first_difference is None else found.first_difference.time_us / 1e6
    reason = "" if parts_at_s is None else f"they diverge at {parts_at_s:.6f} s"
    page = ReportPage(f"{names[0]} and {names[1]}", diff_title(found), GOOD if found.is_same else NONE, reason)
    digests = [f"digest {name}: {digest}" for name, digest in zip(names, found.metrics["digest"], strict=True)]
    table = PageTable(diff_metrics(found), ("", *names)).html() + "".join(map(paragraph, digests))
    page.add("Results", beside(table, page.chart(track_chart(_both(names, found.first.log, found.second.log), {}))))
    page.add("Differences", PageTable(diff_rows(found)))
    return page, parts_at_s


def _logs_page(found: LogDiff) -> ReportPage:
    page = ReportPage(f"{found.names[0]} and {found.names[1]}", log_diff_title(found), GOOD if found.is_same else NONE)
    table = PageTable(log_diff_columns(found), LOG_DIFF_HEADS).html() + PageTable(log_diff_rows(found)).html()
    page.add("Differences", beside(table, page.chart(track_chart(_both(found.names, found.first, found.second), {}))))
    return page


def _both(names: Sequence[str], first: Log, second: Log) -> dict[str, Log]:
    return dict(zip(names, (first, second), strict=True))


def _readable(source: Path) -> Log:
    log = read_log(source)
    if "pos_ned" not in log or log.rows < 2:
        raise InputError(f"a report needs a log with positions, which {source} lacks, or which has fewer than 2 rows")
    return log


def _names(first: Path, second: Path) -> tuple[str, str]:
    names = drawn_name(first), drawn_name(second)
    return names if names[0] != names[1] else ("first", "second")


def _spec_of(source: Path) -> Spec | None:
    """Return the spec of a run folder; None if it has none, like that of an imported flight."""
    if not source.is_dir() or not (source / SPEC).exists():
        return None
    return load_spec(source / SPEC, reads_mission=False)


def _summary_of(source: Path, log: Log, spec: Spec | None) -> dict[str, Any]:
    if source.is_dir() and (source / SUMMARY).exists():
        return SavedRun(source).summary
    if source.suffix.lower() == ULOG:
        return summary_of_log(log, IMPORTED, None)
    capacities_ah = [] if spec is None else [battery.capacity_ah for battery in spec.power.batteries]
    return summary_of_log(log, INCOMPLETE, "it has no summary", capacities_ah)


def _waypoints(spec: Spec | None) -> dict[int, tuple[float, float]]:
    """Return the waypoints of a spec; none if it has no mission, or its file was moved or removed."""
    try:
        mission = None if spec is None else spec.mission
    except InputError:
        return {}
    return {} if spec is None or mission is None else mission_waypoints(mission, spec.home.lat_deg, spec.home.lon_deg)


def _add_replay(page: ReportPage, sources: Sequence[Path], names: str) -> None:
    """Add the 3D replay of run folders, if viser is installed; log files have no aircraft to show."""
    if not all(source.is_dir() for source in sources):
        return
    from px4lockstep.view.replay import replay_html

    try:
        html = replay_html([SavedRun(source) for source in sources])
    except InputError as error:
        page.add("3D replay", paragraph(f"Not in this report: {error}"))
        return
    page.add("3D replay", page.frame(html, f"3D replay of {names}"))


def _add_spec(page: ReportPage, source: Path, spec: Spec | None, heading: str = "Spec") -> None:
    """Add the spec of a run with its changes from the built-in aircraft of the same name, or what was imported."""
    if spec is None:
        report = import_report(source) if source.is_dir() else None
        if report is not None:
            page.add("Import", PageTable([(str(key), str(value)) for key, value in report.items()], is_long=True))
        return
    parts: list[str | PageTable] = []
    if spec.aircraft.name in shipped_aircraft():
        changes = changes_between(load_spec(spec.aircraft.name, reads_mission=False), spec)
        words = f"Changes from the built-in aircraft {spec.aircraft.name}: "
        parts.append(paragraph(words + ("none." if not changes else f"{len(changes)}.")))
        if changes:
            rows = [(change.key, _shown(change.before), _shown(change.after)) for change in changes]
            parts.append(PageTable(rows, ("key", "built-in", "this flight"), is_long=len(rows) > 20))
    parts.append(details("spec.toml, complete", read_text(source / SPEC, MAX_SPEC_BYTES, "a spec")))
    page.add(heading, *parts)


def _shown(value: Any) -> str:
    return "absent" if value == "absent" else repr(value)


def _add_versions(page: ReportPage, sources: Sequence[Path]) -> None:
    """Add versions, autopilot and digests in the recordings of run folders."""
    rows = []
    for source in sources:
        run = SavedRun(source) if source.is_dir() else None
        recording = None if run is None else run.recording
        if recording is None:
            continue
        name = f"{drawn_name(source)}: " if len(sources) > 1 else ""
        rows += [(f"{name}{what}", version) for what, version in recording.source.versions.items()]
        rows.append((f"{name}autopilot", recording.source.autopilot))
        rows.append((f"{name}integrator", recording.integrator))
        rows.append((f"{name}digest", recording.digest))
        rows.append((f"{name}digest of estimate and setpoints", recording.live_digest))
    rows.append(("folder" if len(sources) == 1 else "folders", ", ".join(os.fspath(source) for source in sources)))
    page.add("Versions", PageTable(rows))
