"""The scenario at a boundary: events that are due, in the order of their list; then if the vehicle landed or crashed.

An event fires once: at a time, at a tick of the autopilot, or at the first boundary at which its condition holds. What
can't be compiled, a condition or an action in Python, is asked for: the stage returns the event's number, the engine
answers, and the stage goes on where it was. While nothing is due, a boundary costs the comparison of two times.
"""

from px4lockstep.jit import kernel, record
from px4lockstep.scenario.actions import CALL, EVENT, apply_action
from px4lockstep.scenario.landing import LANDING, is_crash, is_landed
from px4lockstep.scenario.signals import read_signal

MAX_EVENTS = 64

AT_TIME, AT_STEP, WHEN_ABOVE, WHEN_BELOW, WHEN_CALLED = range(5)  # called: a Python function says so

# What Python says to an event that it was asked for: its condition does not hold, or does, or its action is done.
NOT_ASKED, ASKED, DECLINED, HOLDS, ACTED = range(5)

NOBODY = -1
NEVER = 2**62

SCENARIO = record(
    [
        ("count", "i8"),
        ("i_pos i_vel i_att", "i8"),  # where parts of the state start; -1 if the plant has none
        ("n_batteries", "i8"),
        ("on_crash", "i8"),  # what `bus.scenario.crashed` becomes: 0 without ground, `CRASH_ENDS` or `CRASH_LIES`
        ("rest_m", "f8"),  # height of the centre of mass when it stands
        ("events", EVENT, MAX_EVENTS),
        # From here on, what changes as a run goes on.
        ("is_fired", "i8", MAX_EVENTS),
        ("next_us next_step", "i8"),  # of the events not yet fired
        ("n_watched", "i8"),  # conditions not yet met
        ("asked", "i8"),  # the event that Python is asked for
        ("answer", "i8"),
        ("has_changed", "i8"),  # the outputs may differ from those at the boundary before
        ("landing", LANDING),
    ],
    state="is_fired next_us next_step n_watched asked answer has_changed landing",
    limits={"is_fired": 1, "n_watched": MAX_EVENTS, "asked": MAX_EVENTS - 1, "answer": ACTED},
)


@kernel
def look_ahead(scenario):
    """Find what is next among the events not yet fired."""
    scenario.next_us = NEVER
    scenario.next_step = NEVER
    scenario.n_watched = 0
    for i in range(scenario.count):
        if scenario.is_fired[i] == 0:
            event = scenario.events[i]
            if event.trigger == AT_TIME:
                scenario.next_us = min(scenario.next_us, event.time_us)
            elif event.trigger == AT_STEP:
                scenario.next_step = min(scenario.next_step, event.step)
            else:
                scenario.n_watched += 1


@kernel
def is_due(scenario, event, t_us, ticks, is_tick, state, bus):
    """Return whether an event happens at this boundary, as far as compiled code can tell."""
    if event.trigger == AT_TIME:
        return t_us == event.time_us
    elif event.trigger == AT_STEP:
        return is_tick != 0 and ticks == event.step
    value = read_signal(scenario, event.signal, t_us, ticks, state, bus)
    return value > event.threshold if event.trigger == WHEN_ABOVE else value < event.threshold


@kernel
def fire(scenario, i):
    """Note that an event has happened."""
    scenario.is_fired[i] = 1
    scenario.has_changed = 1
    look_ahead(scenario)


@kernel
def ask(scenario, i):
    """Note that Python is asked for an event, and return its number."""
    scenario.asked = i
    scenario.answer = ASKED
    return i


@kernel
def run_events(scenario, t_us, ticks, is_tick, state, inputs, plant, bus):
    """Fire what is due; return the number of an event that needs Python, or `NOBODY`."""
    first = 0
    if scenario.answer != NOT_ASKED:
        i = scenario.asked
        if scenario.answer == HOLDS:
            apply_action(scenario.events[i], state, inputs, plant, bus.scenario)
        if scenario.answer != DECLINED:
            fire(scenario, i)
        scenario.answer = NOT_ASKED
        first = i + 1
    for i in range(first, scenario.count):
        if scenario.is_fired[i] == 0:
            event = scenario.events[i]
            if event.trigger == WHEN_CALLED:
                return ask(scenario, i)
            if is_due(scenario, event, t_us, ticks, is_tick, state, bus):
                if event.action == CALL:
                    return ask(scenario, i)
                apply_action(event, state, inputs, plant, bus.scenario)
                fire(scenario, i)
    return NOBODY


@kernel
def step_scenario(scenario, t_us, ticks, is_tick, state, inputs, plant, bus):
    """Run the scenario at a boundary, or go on with it: write its part of the bus.

    `ticks` is how many times the autopilot has ticked before, `inputs` what is held for the plant since the boundary
    before. Return the number of an event that needs Python, to be called again after, or `NOBODY`.
    """
    if t_us >= scenario.next_us or scenario.n_watched > 0 or (is_tick != 0 and ticks >= scenario.next_step):
        asked = run_events(scenario, t_us, ticks, is_tick, state, inputs, plant, bus)
        if asked != NOBODY:
            return asked
    if scenario.i_pos >= 0 and scenario.i_vel >= 0:
        height_m = -state.x[scenario.i_pos + 2] - scenario.rest_m
        down_m_s = state.x[scenario.i_vel + 2]
        landed = is_landed(scenario.landing, t_us, bus.scenario, bus.autopilot.nav_state, height_m, down_m_s)
        if landed != bus.scenario.landed:
            bus.scenario.landed = landed
            scenario.has_changed = 1
        if is_crash(scenario.landing, state, height_m, scenario.i_vel) and scenario.on_crash != 0:
            bus.scenario.crashed = scenario.on_crash
            scenario.has_changed = 1
    return NOBODY
