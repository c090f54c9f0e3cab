"""A flight in a few numbers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import LockstepError
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.outcome import failed, judge
from px4lockstep.jit import JIT_ENABLED
from px4lockstep.log.events import FlightEvent, events_of, mission_times_us
from px4lockstep.log.log import Log

SLOW_S = 0.5
"""A simulated second of real PX4 takes some milliseconds."""


@dataclass(frozen=True)
class Summary:
    """What came of a flight.

    Args:
        outcome: `flown`, `nothing asked`, `crashed`, `mission not finished` and so on: see `flights.outcome`.
        reason: Why it is not `flown`, in words with times; None if it is.
        digest: Of the flight: see `engine.digest`.
        duration_s: Simulated time from the start to where the run ended.
        wall_s: How long the loop took for it.
        realtime_factor: How much was flown, by how long that took; of a branch what came after it left its trunk.
        mission_asked: Whether the scenario asks for the mission.
        mission_finished: Whether the autopilot says so.
        landed: Whether the vehicle is on the ground at the end, whatever its attitude.
        crashed: Whether it has hit the ground.
        waypoint_times_s: When each item of the mission was done, to the row of the log.
        max_altitude_m: Above the origin, of the log's rows; None for a plant without a position, as below.
        max_speed_m_s: Over the ground, climbing included.
        battery_used: Charge used, as a fraction of the capacity of all batteries; None without any.
        final_pos_ned: Where it ended [m].
        events: What happened, in the order of time: modes, failsafes, faults, batteries, landing, crash.
        warnings: What a user should know.
        px4_rates_hz: How often each module of real PX4 ran; None if it did not fly.
        tilt_deg: Angle between the body's z axis and down at the end.
        standing: Whether it is at rest on the ground at the end, tilted by less than 30 degrees.
        distance_to_target_m: Horizontal distance at the end from where it was to land; None if that is nowhere.
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

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        return told | {"events": _as_dicts(self.events)}


def summarize(
    simulation: Simulation,
    log: Log | None = None,
    error: LockstepError | None = None,
    digest: str | None = None,
    facts: Facts | None = None,
) -> Summary:
    """Return the summary of a run so far, finished or not.

    Args:
        simulation: The run.
        log: Its log, with all columns, if it is at hand.
        error: What the run could not go on for, if so.
        digest: Of the flight, if it is at hand.
        facts: What the verdict rests on, if it is at hand.
    """
    log = Log.of(simulation) if log is None else log
    events = events_of(log)
    facts = facts or Facts(simulation, log, error)
    outcome = judge(facts)
    # A run that was stopped is at the next boundary; the last that has run is the one before.
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
    )


def summarize_log(log: Log | None, reason: str, capacities_ah: Sequence[float]) -> dict[str, Any]:
    """Return what is known of a run that left only its log, under the names of `Summary`; what is not known is None."""
    told: dict[str, Any] = dict.fromkeys(field.name for field in fields(Summary))
    outcome = failed(reason)
    told |= {"outcome": outcome.word, "reason": outcome.reason, "waypoint_times_s": [], "events": [], "warnings": []}
    if log is None or not log.rows:
        return told
    told["duration_s"] = int(log.time_us[-1] - log.time_us[0]) / 1e6
    told["waypoint_times_s"] = [time_us / 1e6 for time_us in mission_times_us(log)]
    told["events"] = _as_dicts(events_of(log))
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
    """Return max altitude, max speed and used charge of a log, by their names in `Summary`; None for what it lacks."""
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _warnings(simulation: Simulation, events: tuple[FlightEvent, ...]) -> tuple[str, ...]:
    counts = simulation.statistics
    found = list(simulation.warnings)
    if not simulation.is_done:
        at_s, end_s = simulation.time_us / 1e6, simulation.timeline.end_us / 1e6
        found.append(f"the run stopped at {at_s:.6f} s of {end_s:.6f} s")
    if counts.clamped_commands:
        found.append(f"{_count(counts.clamped_commands, 'command')} out of range, clamped")
    # The charge of a battery that runs empty is clamped to 0 once, which the events report.
    projected = counts.projected_states - sum(event.label.endswith(" empty") for event in events)
    if projected > 0:
        found.append(f"{_count(projected, 'state')} clamped to the allowed range after a step")
    if counts.forced_steps:
        first_us, first = simulation.core["solver"]["first_forced_us"], "first " if counts.forced_steps > 1 else ""
        at = f" ({first}at t = {first_us / 1e6:.6f} s)" if first_us >= 0.0 else ""
        steps = _count(counts.forced_steps, "integration step")
        found.append(f"{steps} at the minimum step size exceeded the error tolerance{at}")
    slowest = counts.slowest
    if (
        simulation.autopilot.capabilities.needs_child and JIT_ENABLED and slowest.wall_s > SLOW_S
    ):  # interpreted, all is slow
        steps = f"its {slowest.ticks} steps from t = {slowest.start_us / 1e6:.6f} s on took {slowest.wall_s:.1f} s"
        found.append(f"PX4 was slow, or the machine was busy: {steps}; the flight is the same")
    return tuple(found)
