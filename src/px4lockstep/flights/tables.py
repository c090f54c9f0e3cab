"""Results of flights as rows of text, for tables on the terminal and in notebooks."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.errors import counted
from px4lockstep.flights.summary import STOPPED_AT, Summary

if TYPE_CHECKING:
    from px4lockstep.flights.diff import Diff
    from px4lockstep.flights.log_diff import LogDiff
    from px4lockstep.flights.replay import Replay
    from px4lockstep.flights.run import Run

Rows = list[tuple[str, ...]]

LABELS = {
    "duration_s": "simulated [s]",
    "mission_finished": "mission finished",
    "waypoint_times_s": "waypoints reached at [s]",
    "max_altitude_m": "max altitude [m]",
    "max_speed_m_s": "max speed [m/s]",
    "battery_used": "battery used [1]",
    "final_pos_ned": "final north, east, down [m]",
}
"""Names of results with their units."""


def run_rows(run: "Run", folder: Path | None = None) -> Rows:
    """Return names and values of a flight: reason, times, extremes, warnings."""
    summary = run.summary
    simulated = f"{summary.duration_s:.3f} s in {summary.wall_s:.3f} s: {summary.realtime_factor:.0f} x real time"
    if summary.paced_s is not None:
        simulated += f", paced to {run.spec.run.realtime_factor:g} x by sleeping for {summary.paced_s:.3f} s"
    rows = [
        ("why", summary.reason),
        ("simulated", simulated),
        ("mission", _mission(run)),
        ("waypoints reached at", _waypoints(run) if summary.mission_asked else None),
        ("ended", _ending(run)),
        ("faults", _faults(summary) if run.outcome.is_success else None),
        (f"{run.simulation.autopilot.capabilities.speaker} said", _said(run)),
        ("max altitude", f"{_number(summary.max_altitude_m)} m"),
        ("max speed", f"{_number(summary.max_speed_m_s)} m/s"),
        ("battery used", f"{_number(None if summary.battery_used is None else 100.0 * summary.battery_used)} %"),
        ("PX4 rates", _rates(summary)),
        *summary.own_parts.items(),
        ("folder", None if folder is None else str(folder)),
        *(("warning", warning) for warning in summary.warnings if not _is_reason(warning, run)),
    ]
    return [(name, value) for name, value in rows if value is not None]


def saved_rows(summary: dict[str, Any], folder: Path) -> Rows:
    """Return names and values of the summary in a run folder."""
    items = zip(summary.get("waypoint_items") or (), summary.get("waypoint_times_s") or (), strict=False)
    used = summary.get("battery_used")
    rows = [
        ("why", summary.get("reason")),
        ("simulated", _with_unit(summary.get("duration_s"), "s", 3)),
        ("waypoints reached at", ", ".join(f"{item}: {time_s:.2f} s" for item, time_s in items) or None),
        ("ended", summary.get("ending")),
        ("max altitude", _with_unit(summary.get("max_altitude_m"), "m")),
        ("max speed", _with_unit(summary.get("max_speed_m_s"), "m/s")),
        ("battery used", _with_unit(None if used is None else 100.0 * used, "%")),
        ("folder", str(folder)),
        *(("warning", str(warning)) for warning in summary.get("warnings") or ()),
    ]
    return [(name, str(value)) for name, value in rows if value is not None]


def _with_unit(value: Any, unit: str, digits: int = 2) -> str | None:
    return f"{value:z.{digits}f} {unit}" if isinstance(value, int | float) else None


def replay_title(replayed: "Replay") -> str:
    """Return whether a replay is identical."""
    outcome = "bit-identical to the recorded flight" if replayed.matches else "differs from the recorded flight"
    return f"replay: {outcome}"


def replay_rows(replayed: "Replay") -> Rows:
    """Return names and values of a replay: integrator, outcome, changes, differences."""
    counts, duration_s = replayed.simulation.statistics, replayed.duration_s
    factor = replayed.simulation.flown_us / 1e6 / counts.wall_s if counts.wall_s > 0.0 else 0.0
    reason = "" if replayed.outcome.reason is None else f": {replayed.outcome.reason}"
    rows: Rows = [
        ("integrator", f"{replayed.simulation.integrator.kind}, recorded with {replayed.recording.integrator}"),
        ("simulated", f"{duration_s:.3f} s in {counts.wall_s:.3f} s: {factor:.0f} x real time"),
        ("outcome", f"{replayed.outcome.word}{reason}"),
        *(("changed", str(change)) for change in replayed.changes),
    ]
    difference, departure = replayed.first_difference, replayed.departure
    if difference is not None:
        whose = "" if difference.first is None else " (recorded vs replayed)"
        rows.append(("first difference", f"{difference}{whose}"))
    if departure is not None and not replayed.matches:
        rows.append(("max position difference", f"{departure.max_m:.3g} m at t = {departure.max_at_s:.2f} s"))
        rows.append(("final position difference", f"{departure.final_m:.3g} m at t = {departure.end_s:.2f} s"))
    return rows


def diff_title(found: "Diff") -> str:
    """Return whether two flights are identical."""
    return "the flights are bit-identical" if found.is_same else "the flights differ"


def diff_metrics(found: "Diff") -> Rows:
    """Return the results of two flights: name, value of the first, value of the second."""
    shown = {name: pair for name, pair in found.metrics.items() if name != "digest"}
    return [(LABELS.get(name, name), *map(_shown, pair)) for name, pair in shown.items()]


def diff_rows(found: "Diff") -> Rows:
    """Return what was changed, and how far two flights are apart."""
    rows: Rows = [("changed", str(change)) for change in found.changes] or [
        ("changed", "nothing in specs and missions")
    ]
    if found.first_difference is not None:
        rows.append(("first difference", str(found.first_difference)))
    if found.first_live_difference is not None:
        rows.append(("first difference of estimate or setpoints", str(found.first_live_difference)))
    if found.largest_distance_m:
        rows.append(("max position difference", f"{found.largest_distance_m:.3g} m"))
    return rows


def log_diff_title(found: "LogDiff") -> str:
    """Return whether two logs are equal."""
    return "the logs are equal up to the rounding of float32" if found.is_same else "the logs differ"


LOG_DIFF_HEADS = ("column", "unit", "RMS", "max", "at [s]")


def log_diff_columns(found: "LogDiff") -> Rows:
    """Return the columns of two logs that differ by more than rounding."""
    return [
        (each.name, each.unit, _finite(each.rms), _finite(each.largest), f"{each.at_s:.3f}")
        for each in found.differences
        if not each.is_rounding
    ]


def log_diff_rows(found: "LogDiff") -> Rows:
    """Return how two logs were compared, and what only one of them has."""
    first, equal = found.first, [each.name for each in found.differences if each.is_rounding]
    rows: Rows = [
        ("offset of RUN_B", str(found.alignment)),
        ("compared", f"{counted(first.rows, 'row')}, {first.time_s[0]:.3f} to {first.time_s[-1]:.3f} s"),
    ]
    for each in found.differences:
        if each.one_sided_rows:
            count = counted(each.one_sided_rows, "row")
            rows.append((each.name, f"NaN or infinite in one log only, in {count}, first at {each.at_s:.3f} s"))
        if each.widths is not None:
            widths = f"{each.widths[0]} in RUN_A, {each.widths[1]} in RUN_B"
            rows.append((each.name, f"{widths}; the others are not compared"))
    rows += [("equal up to rounding", ", ".join(equal))] if equal and not found.is_same else []
    for name, only in zip(("RUN_A", "RUN_B"), found.only_in, strict=True):
        rows += [(f"only in {name}", ", ".join(only))] if only else []
    return rows


def _finite(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4g}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return str(value)


def _is_reason(warning: str, run: "Run") -> bool:
    """Return whether a warning repeats the reason of a run that was stopped."""
    return run.outcome.is_stopped and warning.startswith(STOPPED_AT)


def _mission(run: "Run") -> str | None:
    """Return the state of the mission; None if the outcome already says that it is not finished."""
    summary = run.summary
    if not summary.mission_asked:
        return "not requested"
    if summary.mission_finished:
        return "finished"
    if run.facts.order is not None:
        return "replaced by a requested return or landing"
    return None if run.outcome.is_unfinished else "not finished"


def _waypoints(run: "Run") -> str:
    """Return the items of the mission that were reached, with their numbers and times."""
    times = zip(run.summary.waypoint_items, run.summary.waypoint_times_s, strict=True)
    return ", ".join(f"{item}: {time_s:.2f} s" for item, time_s in times) or "none reached"


def _ending(run: "Run") -> str | None:
    """Return how the flight ended: in the air with mode and height, or where on the ground."""
    summary, facts = run.summary, run.facts
    if summary.ending is None or summary.crashed:
        return summary.ending
    if not facts.is_down:
        mode = "" if facts.mode is None else f", mode {facts.mode}"
        return f"{summary.ending}{mode}, {_number(facts.height_m)} m above the ground"
    tilt = "" if summary.tilt_deg is None or summary.standing else f", tilted by {summary.tilt_deg:.0f}°"
    away_m, place = summary.distance_to_target_m, "target"
    if facts.is_return and facts.goal is not None:
        away_m, place = facts.distance_to_goal_m, facts.goal.name
    return f"{summary.ending}{tilt}" + ("" if away_m is None else f", {away_m:.2f} m from {place}")


def _faults(summary: Summary) -> str | None:
    """Return the faults of a flight that succeeded nevertheless; None if there were none."""
    faults = [f"{event.label} {event.time_us / 1e6:.2f} s" for event in summary.events if event.is_fault]
    return ", ".join(faults) if faults else None


def _said(run: "Run") -> str | None:
    """Return what the autopilot said in a flight that succeeded nevertheless; otherwise the reason quotes it."""
    texts = run.summary.autopilot_texts
    return ", ".join(f'"{text}"' for text in texts) if texts and run.outcome.is_success else None


def _rates(summary: Summary) -> str | None:
    if summary.px4_rates_hz is None:
        return None
    return ", ".join(f"{module} {rate_hz:.4g}" for module, rate_hz in summary.px4_rates_hz.items()) + " Hz"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:z.2f}"
