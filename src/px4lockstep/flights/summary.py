"""The summary of a flight: its outcome and a few numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.area import Area
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import MAX_BOUNDARIES
from px4lockstep.errors import LockstepError, counted
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.outcome import ending_of, failed, judge
from px4lockstep.jit import JIT_ENABLED
from px4lockstep.log.events import FlightEvent, events_of, mission_items, mission_times_us
from px4lockstep.log.log import Log
from px4lockstep.reprs import ShortRepr

STOPPED_AT = "the run stopped at"
SLOW_S = 0.5
"""Wall time of one simulated second from which a warning calls real PX4 slow; normally it takes a few milliseconds."""


@dataclass(frozen=True, repr=False)
class Summary(ShortRepr):
    """The outcome and key figures of a flight. Numbers that the plant does not have are None.

    Args:
        outcome: `flown`, `nothing asked`, `crashed`, `out of time` and so on: see `flights.outcome`.
        reason: Why it is not `flown`, with times; None if it is.
        digest: Digest of the flight: see `engine.digest`.
        duration_s: Simulated time from the start to the end of the run.
        wall_s: Wall time of the run loop, without sleeping for `run.realtime_factor` or waiting for the user.
        realtime_factor: Simulated time flown per wall time; for a branch, after it left its trunk.
        mission_asked: Whether the scenario requests the mission.
        mission_finished: Whether the autopilot reports the mission as finished.
        landed: Whether the vehicle is on the ground at the end, in any attitude.
        crashed: Whether it has crashed.
        waypoint_times_s: When each mission item was reached, to the row of the log.
        max_altitude_m: Max altitude above the origin, over the rows of the log.
        max_speed_m_s: Max speed over the rows of the log, vertical component included.
        battery_used: Used charge as a fraction of the capacity of all batteries; None without batteries.
        final_pos_ned: Final position [m].
        events: Events in order of time: modes, failsafes, faults, batteries, landing, crash.
        warnings: Warnings for the user.
        px4_rates_hz: Rate of each module of real PX4; None for other autopilots.
        tilt_deg: Angle between the body's z axis and down at the end.
        standing: Whether the vehicle is at rest on the ground at the end, tilted by less than 30 degrees.
        distance_to_target_m: Horizontal distance from the landing target at the end; None without a target.
        waypoint_items: Number of the mission item, from 0, for each of `waypoint_times_s`.
        autopilot_texts: The autopilot's own last warnings and errors, at most 6, oldest first.
        ending: `landed`, `returned`, `landed away`, `in the air`, `on the ground` (it never took off) or `crashed`.
        paced_s: Wall time spent sleeping because of `run.realtime_factor`; None without it.
        px4_clock_us: Time of stock PX4's own clock, as in its ULog, at time 0; None for other autopilots.
        own_parts: Your own parts by stage, each with its module and class and the hash of its file.
    """

    outcome: str
    reason: str | None
    digest: str
    duration_s: float
    wall_s: float
    realtime_factor: float
    mission_asked: bool
    mission_finished: bool
    landed: bool
    crashed: bool
    waypoint_times_s: tuple[float, ...]
    max_altitude_m: float | None
    max_speed_m_s: float | None
    battery_used: float | None
    final_pos_ned: tuple[float, float, float] | None
    events: tuple[FlightEvent, ...]
    warnings: tuple[str, ...]
    px4_rates_hz: dict[str, float] | None = None
    tilt_deg: float | None = None
    standing: bool | None = None
    distance_to_target_m: float | None = None
    waypoint_items: tuple[int, ...] = ()
    autopilot_texts: tuple[str, ...] = ()
    ending: str | None = None
    paced_s: float | None = None
    px4_clock_us: int | None = None
    own_parts: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the summary for JSON."""
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return told | {"events": _as_dicts(self.events)}


def summarize(
    simulation: Simulation,
    log: Log | None = None,
    error: LockstepError | None = None,
    digest: str | None = None,
    facts: Facts | None = None,
) -> Summary:
    """Return the summary of a run, finished or not.

    Args:
        simulation: The run.
        log: Its log with all columns, if already computed.
        error: The error that ended the run, if any.
        digest: Digest of the flight, if already computed.
        facts: Facts that decide the outcome, if already computed.
    """
    log = Log.of(simulation) if log is None else log
    events = events_of(log, simulation.autopilot.area)
    facts = facts or Facts(simulation, log, error)
    outcome = judge(facts)
    # For a run that was stopped, `time_us` is the next boundary.
    duration_us = simulation.time_us - simulation.timeline.start_us
    wall_s = simulation.statistics.wall_s
    position = simulation.plant["pos"]
    extremes = _extremes(log, simulation.plant.traits["capacity_ah"])
    return Summary(
        outcome=outcome.word,
        reason=outcome.reason,
        digest=simulation.digest() if digest is None else digest,
        duration_s=duration_us / 1e6,
        wall_s=wall_s,
        realtime_factor=simulation.flown_us / 1e6 / wall_s if wall_s > 0.0 else 0.0,
        mission_asked=simulation.asks_for_mission,
        mission_finished=bool(simulation.bus.autopilot.mission_finished),
        landed=bool(simulation.bus.scenario.landed),
        crashed=facts.crashed_s is not None,
        waypoint_times_s=tuple(time_us / 1e6 for time_us in mission_times_us(log)),
        max_altitude_m=extremes["max_altitude_m"],
        max_speed_m_s=extremes["max_speed_m_s"],
        battery_used=extremes["battery_used"],
        final_pos_ned=(float(position[0]), float(position[1]), float(position[2])) if position.size == 3 else None,
        events=events,
        warnings=_warnings(simulation, events),
        px4_rates_hz=None if simulation.autopilot.rates_hz is None else dict(simulation.autopilot.rates_hz),
        tilt_deg=facts.tilt_deg,
        standing=facts.is_standing,
        distance_to_target_m=facts.distance_to_target_m,
        waypoint_items=mission_items(log),
        autopilot_texts=simulation.autopilot.texts,
        ending=ending_of(facts),
        px4_clock_us=simulation.autopilot.clock_us,
    )


def summarize_log(
    log: Log | None, reason: str, capacities_ah: Sequence[float], area: Area | None = None
) -> dict[str, Any]:
    """Return the summary of a run that failed and left only its log, as a dict."""
    outcome = failed(reason)
    return summary_of_log(log, outcome.word, outcome.reason, capacities_ah, area)


def summary_of_log(
    log: Log | None, outcome: str, reason: str | None, capacities_ah: Sequence[float] = (), area: Area | None = None
) -> dict[str, Any]:
    """Return the summary of a flight of which there is only a log, as a dict; values that are not known are None."""
    told: dict[str, Any] = dict.fromkeys(field.name for field in fields(Summary))
    told |= {"outcome": outcome, "reason": reason, "waypoint_times_s": [], "events": [], "warnings": []}
    told |= {"waypoint_items": [], "autopilot_texts": []}
    if log is None or not log.rows:
        return told
    told["duration_s"] = int(log.time_us[-1] - log.time_us[0]) / 1e6
    told["waypoint_times_s"] = [time_us / 1e6 for time_us in mission_times_us(log)]
    told["waypoint_items"] = list(mission_items(log))
    told["events"] = _as_dicts(events_of(log, area))
    if "request_mission" in log:
        told["mission_asked"] = bool(log["request_mission"].any())
    for name in ("mission_finished", "landed", "crashed"):
        if name in log:
            told[name] = bool(log[name][-1])
    if "pos_ned" in log:
        told["final_pos_ned"] = log["pos_ned"][-1].tolist()
    return told | _extremes(log, np.array(capacities_ah))


def _as_dicts(events: Sequence[FlightEvent]) -> list[dict[str, Any]]:
    return [{"time_s": event.time_us / 1e6, "label": event.label, "is_fault": event.is_fault} for event in events]


def _extremes(log: Log, capacities_ah: npt.NDArray[np.float64]) -> dict[str, float | None]:
    """Return max altitude, max speed and used charge of a log, by their names in `Summary`; None if unknown."""
    found: dict[str, float | None] = dict.fromkeys(("max_altitude_m", "max_speed_m_s", "battery_used"))
    if log.rows and "pos_ned" in log:
        found["max_altitude_m"] = float(0.0 - log["pos_ned"][:, 2].min())
    if log.rows and "vel_ned" in log:
        found["max_speed_m_s"] = float(np.linalg.norm(log["vel_ned"], axis=1).max())
    if log.rows and "soc" in log:
        used = log["soc"][0] - log["soc"][-1]
        capacity = capacities_ah[: len(used)]
        found["battery_used"] = float((used * capacity).sum() / capacity.sum())
    return found


def _warnings(simulation: Simulation, events: tuple[FlightEvent, ...]) -> tuple[str, ...]:
    counts, timeline = simulation.statistics, simulation.timeline
    found = list(simulation.warnings)
    if not simulation.is_done:
        end = f" of {timeline.end_us / 1e6:.6f} s" if timeline.is_end_known else ""
        found.append(f"{STOPPED_AT} {simulation.time_us / 1e6:.6f} s{end}")
    if not timeline.has_end and simulation.time_us >= timeline.end_us:
        found.append(
            f"the run without an end reached the limit of {MAX_BOUNDARIES:,} event boundaries at "
            f"{simulation.time_us / 1e6:.0f} s; use longer periods, such as timeline.dt_wind_s"
        )
    if counts.clamped_commands:
        found.append(f"{counted(counts.clamped_commands, 'command')} out of range, clamped")
    # The charge of a battery that runs empty is clamped to 0 once, which the events report.
    projected = counts.projected_states - sum(event.label.endswith(" empty") for event in events)
    if projected > 0:
        found.append(f"{counted(projected, 'state')} clamped to the allowed range after a step")
    if counts.forced_steps:
        first_us, first = simulation.core["solver"]["first_forced_us"], "first " if counts.forced_steps > 1 else ""
        at = f" ({first}at t = {first_us / 1e6:.6f} s)" if first_us >= 0.0 else ""
        steps = counted(counts.forced_steps, "integration step")
        found.append(f"{steps} at the minimum step size exceeded the error tolerance{at}")
    slowest = counts.slowest
    is_slow = simulation.autopilot.capabilities.needs_child and slowest.wall_s > SLOW_S
    if is_slow and JIT_ENABLED:  # everything is slow without the JIT
        steps = (
            f"its {counted(slowest.ticks, 'step')} from t = {slowest.start_us / 1e6:.6f} s took {slowest.wall_s:.1f} s"
        )
        found.append(f"PX4 was slow or the machine was busy: {steps}; this does not change the flight")
    return tuple(found)
