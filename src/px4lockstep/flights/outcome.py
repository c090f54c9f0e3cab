"""The outcome of a flight: one word, and the reason with times and places. It is decided only here.

Each rule in `RULES` looks at the facts of the flight and returns an outcome or None; the first outcome counts. If no
rule applies, the flight is `flown`: it reached its end without a crash and did everything that was requested. A failure
after the batteries ran empty is `battery empty`, unless the vehicle flew on, or had come down before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # campaign results need the words without importing the engine
    from px4lockstep.flights.facts import Facts
    from px4lockstep.flights.takeover import Takeover

FLOWN = "flown"
NOTHING_ASKED = "nothing asked"
NOT_KNOWN = "not known"
CRASHED = "crashed"
NEVER_TOOK_OFF = "never took off"
TIPPED_OVER = "tipped over"
OUT_OF_CONTROL = "out of control"
NOT_FINISHED = "mission not finished"
NOT_FOLLOWED = "setpoints not followed"
NOT_OBEYED = "command not obeyed"
OUT_OF_TIME = "out of time"
BATTERY_EMPTY = "battery empty"
LANDED_AWAY = "landed away"
STOPPED = "stopped"
FAILED = "failed"
IMPORTED = "imported"
"""The flight was not flown here, so there is no verdict."""

ENDINGS = IN_THE_AIR, ON_THE_GROUND, LANDED, RETURNED = "in the air", "on the ground", "landed", "returned"
"""How a flight ended; further endings are `crashed` and `landed away`. `on the ground`: it never took off."""

SUCCESSES = (FLOWN, NOTHING_ASKED, NOT_KNOWN)
"""Outcomes of flights that did not fail, with exit code 0."""
FORMERLY = {OUT_OF_TIME: NOT_FINISHED}
"""Outcomes that were part of another one in 0.1; a campaign that accepts that one accepts them, too.

`battery empty` is none of them: it may be a crash, a landing away from the target or a flight that never took off.
"""

MAX_CAUSES = 8
TAKEN_OFF_M = 0.5
TAKEOFF_S = 10.0
"""A run that ends sooner than this after the first request does not show whether the vehicle can take off."""
STANDING_DEG = 30.0
LOST_DEG = 60.0
HELD_S = 10.0
"""Time until the end during which a vehicle must follow its setpoints."""
SPEED_ERROR_M_S, SPEED_ERROR = 1.0, 0.5
"""Allowed velocity error: the larger one of a speed and a fraction of the demanded speed."""
MOVING_M_S = 0.5
SINK_M_S = 5.0
"""A vehicle in the air beyond these limits is out of control: PX4 tilts by at most 45° and sinks at most at 4 m/s."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of a flight: one of the words above, and the reason if it is not `FLOWN`."""

    word: str
    reason: str | None = None

    @property
    def is_success(self) -> bool:
        """Whether the flight did not fail."""
        return is_success(self.word)

    @property
    def is_stopped(self) -> bool:
        """Whether the run was stopped before its end."""
        return self.word == STOPPED

    @property
    def is_unfinished(self) -> bool:
        """Whether the run ended before its mission."""
        return self.word in (NOT_FINISHED, OUT_OF_TIME)

    def is_in(self, accepted: Sequence[str]) -> bool:
        """Return whether the outcome is one of those that a campaign accepts."""
        return self.word in accepted or FORMERLY.get(self.word) in accepted


Rule = Callable[["Facts"], Outcome | None]


def is_success(word: str) -> bool:
    """Return whether an outcome's word means that the flight did not fail."""
    return word in SUCCESSES


def judge(facts: "Facts") -> Outcome:
    """Return the outcome of a flight from its facts; the reason of a failure quotes what the autopilot said."""
    found = next((found for rule in RULES if (found := rule(facts)) is not None), Outcome(FLOWN))
    found = _of_empty_batteries(facts, found) or found
    return found if found.is_success else Outcome(found.word, f"{found.reason}{_said(facts, str(found.reason))}")


def ending_of(facts: "Facts") -> str | None:
    """Return how a flight ended, whether or not it succeeded; None for a plant without a position."""
    if facts.crashed_s is not None:
        return CRASHED
    if facts.is_down is None or not facts.is_down:
        return None if facts.is_down is None else IN_THE_AIR
    if facts.max_height_m is not None and facts.max_height_m <= TAKEN_OFF_M:
        return ON_THE_GROUND
    distance_m, allowed_m = facts.distance_to_goal_m, facts.allowed_m
    if not facts.is_return:
        distance_m = facts.distance_to_target_m
        allowed_m = allowed_m if facts.target is None else facts.target.allowed_m
    if distance_m is not None and distance_m > allowed_m:
        return LANDED_AWAY
    return RETURNED if facts.is_return else LANDED


def failed(reason: str) -> Outcome:
    """Return the outcome of a flight whose process died or that ended with an error."""
    return Outcome(FAILED, reason)


def _failed(facts: "Facts") -> Outcome | None:
    return None if facts.error is None else failed(str(facts.error))


def _crashed(facts: "Facts") -> Outcome | None:
    time_s = facts.crashed_s
    return None if time_s is None else Outcome(CRASHED, f"hit the ground at {time_s:.2f} s{_causes(facts, time_s)}")


def _stopped(facts: "Facts") -> Outcome | None:
    if facts.simulation.is_done:
        return None
    timeline = facts.simulation.timeline
    end = f" of {timeline.end_us / 1e6:.2f} s" if timeline.is_end_known else ""
    return Outcome(STOPPED, f"the run was stopped at {facts.time_s:.2f} s{end}{_causes(facts)}")


def _nothing_asked(facts: "Facts") -> Outcome | None:
    """Accept a flight without a request, unless the vehicle started upright and has tipped over or is out of control.

    A vehicle that nobody armed may fall: an aircraft without an autopilot, for example.
    """
    if facts.asks:
        return None
    tipped_over = _tipped_over(facts) if facts.was_upright else None
    lost = _out_of_control(facts) if facts.was_upright and facts.is_arming_asked else None
    return tipped_over or lost or Outcome(NOTHING_ASKED, "no mission, setpoints, return or landing was requested")


def _not_begun(facts: "Facts") -> Outcome | None:
    if facts.asked is not None:
        return None
    if facts.simulation.asks_for_setpoints:
        if "nav_state" not in facts.log:
            return None  # a rule below reports it
        reason = f"the run ended at {facts.time_s:.2f} s, and setpoint mode was never entered{_why_grounded(facts)}"
        return Outcome(NOT_FOLLOWED, f"{reason}{_causes(facts)}")
    return Outcome(
        OUT_OF_TIME, f"the run ended at {facts.time_s:.2f} s, before the mission was requested{_causes(facts)}"
    )


def _never_took_off(facts: "Facts") -> Outcome | None:
    """Reject a flight that never left the ground after a request; in a short run, it may have been about to."""
    height_m = facts.max_height_m
    if facts.asked is None or height_m is None or height_m > TAKEN_OFF_M:
        return None
    what, time_s = facts.asked
    if facts.time_s - time_s < TAKEOFF_S:
        asks_mission = facts.order is None and not facts.flies_setpoints and facts.guidance is None
        if asks_mission and facts.reports_mission and not facts.mission_finished:
            return None  # a rule below reports the progress of the mission
        since = f"{facts.time_s - time_s:.2f} s after {what} was requested"
        reason = f"the run ended {since}, before the vehicle rose above {TAKEN_OFF_M:g} m"
        return Outcome(OUT_OF_TIME, f"{reason}{_why_grounded(facts)}{_causes(facts)}")
    ratio = facts.thrust_to_weight
    weak = "" if ratio is None or ratio >= 1.0 else f"full thrust is {ratio:.2f} of its weight; "
    lies = f". It lay tilted by {facts.tilt_deg:.0f}° at the end" if facts.is_tilted else ""
    reason = (
        f"{weak}{what} was requested at {time_s:.2f} s, but the vehicle never rose above {TAKEN_OFF_M:g} m before the "
        f"end at {facts.time_s:.2f} s (max height {max(height_m, 0.0):z.2f} m){_why_grounded(facts)}{lies}"
    )
    return Outcome(NEVER_TOOK_OFF, f"{reason}{_causes(facts)}")


def _why_grounded(facts: "Facts") -> str:
    """Return why the vehicle did not leave the ground, as far as the log shows it."""
    weight_n, thrusts_n, throttle = facts.weight_n, facts.thrusts_n, facts.max_throttle
    if facts.was_armed is False:
        return ". It was never armed"
    if weight_n is None or thrusts_n is None or throttle is None or thrusts_n.max() >= weight_n:
        return ""
    return f". Max thrust was {thrusts_n.max():.3g} N at {throttle:.0%} throttle; the weight is {weight_n:.3g} N"


def _tipped_over(facts: "Facts") -> Outcome | None:
    """Reject a flight that ends on the ground, not upright, whatever it did before."""
    if not facts.is_down or not facts.is_tilted:
        return None
    reason = (
        f"on the ground at the end, tilted by {facts.tilt_deg:.0f}° ({STANDING_DEG:g}° or more since "
        f"{facts.tilted_since_s:.2f} s){_where(facts)}"
    )
    return Outcome(TIPPED_OVER, f"{reason}{_causes(facts)}")


def _not_followed(facts: "Facts") -> Outcome | None:
    """Reject a flight whose setpoints were lost, or that did not follow the last ones."""
    if facts.simulation.asks_for_setpoints and "nav_state" not in facts.log:
        return Outcome(NOT_KNOWN, "the log does not show whether the setpoints were followed")
    if not facts.simulation.asks_for_setpoints and not facts.flies_setpoints:
        return None
    taken, last = facts.takeover, facts.last_setpoints
    if last is None and facts.simulation.setpoint_given["requests"][0] and facts.simulation.asks_for_setpoints:
        return Outcome(NOT_FOLLOWED, f"setpoint mode was requested, but never entered{_causes(facts)}")
    if last is None or not facts.flies_setpoints:
        return None
    if taken is not None:
        took = f"{taken.name} took over at {taken.time_s:.2f} s with {taken.mode}{_how_it_ended(facts)}"
        return Outcome(NOT_FOLLOWED, f"{took}{_causes(facts, named=taken)}")
    if last.wants_takeoff:
        reason = f"the vehicle was disarmed at {last.end_s:.2f} s; later setpoints demand a climb"
        return Outcome(NOT_FOLLOWED, f"{reason}{_causes(facts)}")
    if last.distance_m is not None and last.distance_m > facts.allowed_m:
        is_moving = facts.speed_m_s is not None and facts.speed_m_s > MOVING_M_S and not facts.is_down
        constant = f"the last position setpoint, which was constant for {last.held_s:.3g} s"
        where = constant if last.is_constant else f"the path of the position setpoints of the last {HELD_S:g} s"
        word = OUT_OF_TIME if is_moving and last.is_constant else NOT_FOLLOWED
        return Outcome(word, f"{last.distance_m:.1f} m from {where}{_causes(facts)}")
    if last.speed_m_s is None or last.speed_error_m_s is None:
        return None
    allowed_m_s = max(SPEED_ERROR_M_S, SPEED_ERROR * last.speed_m_s)
    if last.speed_error_m_s <= allowed_m_s:
        return None
    reason = (
        f"the velocity is off by {last.speed_error_m_s:.1f} m/s from the last setpoint, a constant "
        f"{last.speed_m_s:.1f} m/s for {HELD_S:g} s or more; {allowed_m_s:.1f} m/s is allowed"
    )
    return Outcome(NOT_FOLLOWED, f"{reason}{_causes(facts)}")


def _not_obeyed(facts: "Facts") -> Outcome | None:
    """Reject a flight whose last command from outside was overridden by a failsafe, or whose goal it did not reach."""
    last, taken = facts.guidance, facts.takeover
    if last is None:
        return None
    asked = f"{last.name} was commanded at {last.time_s:.2f} s"
    if taken is not None:
        took = f"{asked}, but {taken.name} took over at {taken.time_s:.2f} s with {taken.mode}{_how_it_ended(facts)}"
        return Outcome(NOT_OBEYED, f"{took}{_causes(facts, named=taken)}")
    if not last.miss:
        return None
    is_moving = facts.speed_m_s is not None and facts.speed_m_s > MOVING_M_S and not facts.is_down
    reason = f"{asked}, but {last.miss}{_causes(facts)}"
    return Outcome(OUT_OF_TIME if is_moving and last.is_on_the_way else NOT_OBEYED, reason)


def _missed(facts: "Facts") -> Outcome | None:
    """Reject a flight with a request that had failed when a later one replaced it, or a finished mission not held."""
    missed = facts.missed
    if missed is None:
        return None
    word = NOT_FINISHED if missed.name == "mission" else NOT_FOLLOWED if missed.name == "setpoints" else NOT_OBEYED
    return Outcome(LANDED_AWAY if missed.is_landed_away else word, f"{missed.asked}, but {missed.why}{_causes(facts)}")


def _not_finished(facts: "Facts") -> Outcome | None:
    if facts.flies_setpoints or facts.guidance is not None:
        return None
    unfinished = _unfinished(facts)
    named = facts.takeover if facts.order is None else None
    is_refused = facts.order is None and not facts.mission_count
    word = OUT_OF_TIME if named is None and not is_refused and facts.is_under_way else NOT_FINISHED
    return Outcome(word, f"{unfinished}{_causes(facts, named=named)}") if unfinished else None


def _unfinished(facts: "Facts") -> str:
    """Return what was requested but not done; empty if everything was, or if the autopilot does not report it."""
    order, is_landing = facts.order, facts.target is not None
    if order is None:
        if not facts.reports_mission:
            return ""
        if not facts.mission_count and not facts.mission_finished:
            return facts.simulation.autopilot.why_no_mission
        if not facts.mission_finished:
            items = f"a mission with items 0 to {facts.mission_count - 1}"
            taken = facts.takeover
            if taken is None:
                return f"the run ended at {facts.time_s:.2f} s, at item {facts.mission_item} of {items}"
            took = f"{taken.name} took over at {taken.time_s:.2f} s, at item {taken.item} of {items}, with {taken.mode}"
            return f"{took}{_how_it_ended(facts)}"
    if not is_landing or facts.is_at_rest is not False:
        return ""
    asked = (
        "the mission ends with a landing" if order is None else f"{order.name} was requested at {order.time_s:.2f} s"
    )
    how = (
        f"was sliding on the ground at {facts.speed_m_s:.1f} m/s"
        if facts.is_down
        else f"was in the air, {facts.height_m:.2f} m above the ground"
    )
    return (
        f"{asked}, but the vehicle had not landed when the run ended at {facts.time_s:.2f} s: it {how}{_where(facts)}"
    )


def _how_it_ended(facts: "Facts") -> str:
    """Return how a flight ended that a failsafe took over."""
    ending, goal, distance_m = ending_of(facts), facts.goal, facts.distance_to_goal_m
    if ending is None or goal is None or distance_m is None:
        return ""
    if ending == IN_THE_AIR:
        return f"; it was in the air at the end, {facts.height_m:.2f} m above the ground"
    return f"; it {'returned' if ending == RETURNED else 'landed'}, {distance_m:.1f} m from {goal.name}"


def _out_of_control(facts: "Facts") -> Outcome | None:
    """Reject a flight that ends in the air, falling or tumbling."""
    tilt_deg, sink_m_s = facts.tilt_deg, facts.sink_m_s
    if facts.is_down or tilt_deg is None or sink_m_s is None or (tilt_deg < LOST_DEG and sink_m_s <= SINK_M_S):
        return None
    how = (
        f"tilted by {tilt_deg:.0f}°, sinking at {sink_m_s:.1f} m/s" if sink_m_s > 0.0 else f"tilted by {tilt_deg:.0f}°"
    )
    reason = f"in the air at the end at {facts.time_s:.2f} s, {facts.height_m:.2f} m above the ground, {how}"
    return Outcome(OUT_OF_CONTROL, f"{reason}{_causes(facts)}")


def _landed_away(facts: "Facts") -> Outcome | None:
    """Reject a landing too far from its target."""
    target, distance_m = facts.target, facts.distance_to_target_m
    if target is None or distance_m is None or not facts.is_at_rest or distance_m <= target.allowed_m:
        return None
    asked = (
        ""
        if facts.order is None
        else f" ({facts.order.name} was requested at {facts.order.time_s:.2f} s{_on_ground(facts)})"
    )
    off = f"; the estimate was off by {facts.estimate_error_m:.1f} m" if facts.estimate_error_m > 1.0 else ""
    landed = f"landed at {facts.down_s:.2f} s, {distance_m:.1f} m from {target.name}{asked}"
    return Outcome(LANDED_AWAY, f"{landed}; {target.allowed_m:.1f} m is allowed{off}{_causes(facts)}")


def _on_ground(facts: "Facts") -> str:
    """Return a note if the vehicle was on the ground at the time of the request."""
    return ", while on the ground" if facts.is_ordered_on_ground else ""


def _not_known(facts: "Facts") -> Outcome | None:
    if facts.order is not None or facts.reports_mission or facts.flies_setpoints or facts.guidance is not None:
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
    _out_of_control,
    _not_followed,
    _not_obeyed,
    _not_finished,
    _landed_away,
    _missed,
    _not_known,
)
"""The rules in the order in which they are applied."""


BLAMED_ON_BATTERIES: tuple[str, ...] = (CRASHED, NEVER_TOOK_OFF, TIPPED_OVER, OUT_OF_CONTROL, NOT_FINISHED, LANDED_AWAY)
BLAMED_ON_BATTERIES += (NOT_FOLLOWED, NOT_OBEYED)


def _of_empty_batteries(facts: "Facts", found: Outcome) -> Outcome | None:
    """Return the outcome of a failure that empty batteries caused: they were empty before the vehicle came down."""
    if found.word not in BLAMED_ON_BATTERIES:
        return None
    empty_s, until_s = facts.empty_s, facts.down_s
    if found.word == NEVER_TOOK_OFF and facts.asked is not None:
        until_s = facts.asked[1]
    if found.word == CRASHED and facts.crashed_s is not None:
        until_s = facts.crashed_s
    if empty_s is None or empty_s > until_s:
        return None
    return Outcome(BATTERY_EMPTY, f"out of charge at {empty_s:.2f} s; {found.reason}")


def _said(facts: "Facts", reason: str) -> str:
    """Return the autopilot's own texts as the end of a reason, without those that the reason already has."""
    autopilot = facts.simulation.autopilot
    quoted = ", ".join(f'"{text}"' for text in autopilot.texts if text not in reason)
    return f"; {autopilot.capabilities.speaker} said: {quoted}" if quoted else ""


def _where(facts: "Facts") -> str:
    target, distance_m = facts.target, facts.distance_to_target_m
    return "" if target is None or distance_m is None else f", {distance_m:.1f} m from {target.name}"


def _causes(facts: "Facts", until_s: float | None = None, named: "Takeover | None" = None) -> str:
    """Return the faults before the end, and the autopilot's reactions, as the end of a reason.

    The events of `named` are already part of the reason.
    """
    causes = [
        f"{event.label} {event.time_us / 1e6:.2f} s"
        for event in facts.faults
        if event.label != CRASHED and (until_s is None or event.time_us / 1e6 <= until_s)
        if named is None or not named.has(event)
    ]
    if not causes:
        return ""
    more = f" and {len(causes) - MAX_CAUSES} more" if len(causes) > MAX_CAUSES else ""
    return f"; before that: {', '.join(causes[:MAX_CAUSES])}{more}"
