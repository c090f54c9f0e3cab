"""The verdict on a flight: a word, and the reason in words with times and places. It is made here and nowhere else.

`RULES` is the whole of it: each rule looks at the facts of the flight and returns a verdict or None, and the first
verdict counts. A flight that no rule objects to is flown: to its end, without a crash, and what was asked for is done.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # tables of results need the words, and no engine
    from px4lockstep.flights.facts import Facts

FLOWN = "flown"
NOTHING_ASKED = "nothing asked"
NOT_KNOWN = "not known"
CRASHED = "crashed"
NEVER_TOOK_OFF = "never took off"
TIPPED_OVER = "tipped over"
OUT_OF_CONTROL = "out of control"
NOT_FINISHED = "mission not finished"
LANDED_AWAY = "landed away"
STOPPED = "stopped"
FAILED = "failed"

SUCCESSES = (FLOWN, NOTHING_ASKED, NOT_KNOWN)
"""The words of flights that did not fail, which exit with 0."""

MAX_CAUSES = 8
TAKEN_OFF_M = 0.5
TAKEOFF_S = 10.0
"""A run that ends sooner after the first request says nothing of whether the vehicle can take off."""
STANDING_DEG = 30.0
LOST_DEG = 60.0
SINK_M_S = 5.0
"""In the air, beyond these a vehicle is not under control: PX4 tilts by 45° and sinks at 4 m/s at most."""


@dataclass(frozen=True)
class Outcome:
    """The verdict on a flight: one of the words above, and the reason if it is not `FLOWN`."""

    word: str
    reason: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether the flight did not fail."""
        return is_success(self.word)


Rule = Callable[["Facts"], Outcome | None]


def is_success(word: str) -> bool:
    """Return whether a word is that of a flight that did not fail."""
    return word in SUCCESSES


def judge(facts: "Facts") -> Outcome:
    """Return the verdict that the facts of a flight lead to."""
    return next((found for rule in RULES if (found := rule(facts)) is not None), Outcome(FLOWN))


def failed(reason: str) -> Outcome:
    """Return the verdict on a flight whose process did not live to make one."""
    return Outcome(FAILED, reason)


def _failed(facts: "Facts") -> Outcome | None:
    return None if facts.error is None else failed(str(facts.error))


def _crashed(facts: "Facts") -> Outcome | None:
    time_s = facts.crashed_s
    return None if time_s is None else Outcome(CRASHED, f"it hit the ground at {time_s:.2f} s{_causes(facts, time_s)}")


def _stopped(facts: "Facts") -> Outcome | None:
    if facts.simulation.is_done:
        return None
    end_s = facts.simulation.timeline.end_us / 1e6
    return Outcome(STOPPED, f"the run was stopped at {facts.time_s:.2f} s of {end_s:.2f} s{_causes(facts)}")


def _nothing_asked(facts: "Facts") -> Outcome | None:
    """Accept a flight without a task, unless the vehicle stood upright before it and lies on its side now."""
    if facts.asks:
        return None
    tipped_over = _tipped_over(facts) if facts.was_upright else None
    return tipped_over or Outcome(NOTHING_ASKED, "no mission, return or landing was requested")


def _not_begun(facts: "Facts") -> Outcome | None:
    if facts.asked is not None:
        return None
    return Outcome(NOT_FINISHED, f"the run ended before the mission was asked for{_causes(facts)}")


def _never_took_off(facts: "Facts") -> Outcome | None:
    """Object to a flight that was asked for, and never left the ground; in a short run, it may have been about to."""
    height_m = facts.max_height_m
    if facts.asked is None or height_m is None or height_m > TAKEN_OFF_M:
        return None
    what, time_s = facts.asked
    if facts.time_s - time_s < TAKEOFF_S:
        if facts.order is None and facts.reports_mission and not facts.mission_finished:
            return None  # a rule below says how far it came
        since = f"{facts.time_s - time_s:.2f} s after {what} was requested"
        reason = f"the run ended {since}, and it had not risen above {TAKEN_OFF_M:g} m by then"
        return Outcome(NOT_FINISHED, f"{reason}{_why_grounded(facts)}{_causes(facts)}")
    lies = f". It lay tilted by {facts.tilt_deg:.0f}° at the end" if facts.is_tilted else ""
    reason = (
        f"{what} was requested at {time_s:.2f} s, and it never rose above {TAKEN_OFF_M:g} m until the end at "
        f"{facts.time_s:.2f} s: {max(height_m, 0.0):z.2f} m was highest{_why_grounded(facts)}{lies}"
    )
    return Outcome(NEVER_TOOK_OFF, f"{reason}{_causes(facts)}")


def _why_grounded(facts: "Facts") -> str:
    """Say why it did not leave the ground, as far as that can be seen."""
    weight_n, thrusts_n, throttle = facts.weight_n, facts.thrusts_n, facts.max_throttle
    if facts.was_armed is False:
        return ". It was never armed"
    if weight_n is None or thrusts_n is None or throttle is None or thrusts_n.max() >= weight_n:
        return ""
    return f". Its rotors gave at most {thrusts_n.max():.3g} N, at {throttle:.0%} throttle; it weighs {weight_n:.3g} N"


def _tipped_over(facts: "Facts") -> Outcome | None:
    """Object to a vehicle that is on the ground and not upright, whatever it did before."""
    if not facts.is_down or not facts.is_tilted:
        return None
    reason = (
        f"it lay on the ground at the end, tilted by {facts.tilt_deg:.0f}°, and by {STANDING_DEG:g}° or more since "
        f"{facts.tilted_since_s:.2f} s{_where(facts)}"
    )
    return Outcome(TIPPED_OVER, f"{reason}{_causes(facts)}")


def _not_finished(facts: "Facts") -> Outcome | None:
    unfinished = _unfinished(facts)
    return Outcome(NOT_FINISHED, f"{unfinished}{_causes(facts)}") if unfinished else None


def _unfinished(facts: "Facts") -> str:
    """Say what was asked for and not done; empty if all was, or if the autopilot does not report it."""
    order, is_landing = facts.order, facts.target is not None
    if order is None:
        if not facts.reports_mission:
            return ""
        if not facts.mission_count and not facts.mission_finished:
            return facts.simulation.autopilot.why_no_mission
        if not facts.mission_finished:
            items = f"a mission with items 0 to {facts.mission_count - 1}"
            return f"the run ended on item {facts.mission_item} of {items}"
    if not is_landing or facts.is_at_rest is not False:
        return ""
    asked = "the mission ends with a landing" if order is None else f"{order.name} was ordered at {order.time_s:.2f} s"
    how = (
        f"was sliding on the ground at {facts.speed_m_s:.1f} m/s"
        if facts.is_down
        else f"was in the air, {facts.height_m:.2f} m above the ground"
    )
    return f"{asked}, and the vehicle had not landed when the run ended: it {how}{_where(facts)}"


def _out_of_control(facts: "Facts") -> Outcome | None:
    """Object to a vehicle that is falling or tumbling in the air at the end."""
    tilt_deg, sink_m_s = facts.tilt_deg, facts.sink_m_s
    if facts.is_down or tilt_deg is None or sink_m_s is None or (tilt_deg < LOST_DEG and sink_m_s <= SINK_M_S):
        return None
    how = (
        f"tilted by {tilt_deg:.0f}°, sinking at {sink_m_s:.1f} m/s" if sink_m_s > 0.0 else f"tilted by {tilt_deg:.0f}°"
    )
    reason = f"it was in the air at the end, {facts.height_m:.2f} m high, {how}"
    return Outcome(OUT_OF_CONTROL, f"{reason}{_causes(facts)}")


def _landed_away(facts: "Facts") -> Outcome | None:
    """Object to a landing at another place than asked for."""
    target, distance_m = facts.target, facts.distance_to_target_m
    if target is None or distance_m is None or not facts.is_at_rest or distance_m <= target.allowed_m:
        return None
    asked = (
        ""
        if facts.order is None
        else f" ({facts.order.name} was ordered at {facts.order.time_s:.2f} s{_on_ground(facts)})"
    )
    off = f"; the estimate was off by {facts.estimate_error_m:.1f} m" if facts.estimate_error_m > 1.0 else ""
    reason = f"it stands {distance_m:.1f} m from {target.name}{asked}; {target.allowed_m:.1f} m is allowed{off}"
    return Outcome(LANDED_AWAY, f"{reason}{_causes(facts)}")


def _on_ground(facts: "Facts") -> str:
    """Say if an order came when the vehicle was on the ground."""
    return ", on the ground" if facts.is_ordered_on_ground else ""


def _not_known(facts: "Facts") -> Outcome | None:
    if facts.order is not None or facts.reports_mission:
        return None
    return Outcome(NOT_KNOWN, "the autopilot does not report whether it finished the mission")


RULES: Sequence[Rule] = (
    _failed,
    _crashed,
    _stopped,
    _nothing_asked,
    _not_begun,
    _never_took_off,
    _tipped_over,
    _not_finished,
    _out_of_control,
    _landed_away,
    _not_known,
)
"""In the order in which they are asked."""


def _where(facts: "Facts") -> str:
    target, distance_m = facts.target, facts.distance_to_target_m
    return "" if target is None or distance_m is None else f", {distance_m:.1f} m from {target.name}"


def _causes(facts: "Facts", until_s: float | None = None) -> str:
    """Tell what went wrong before, and what the autopilot did about it."""
    causes = [
        f"{event.label} {event.time_us / 1e6:.2f} s"
        for event in facts.faults
        if event.label != CRASHED and (until_s is None or event.time_us / 1e6 <= until_s)
    ]
    if not causes:
        return ""
    more = f" and {len(causes) - MAX_CAUSES} more" if len(causes) > MAX_CAUSES else ""
    return f"; before that: {', '.join(causes[:MAX_CAUSES])}{more}"
