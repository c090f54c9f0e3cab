"""The scenario stage at a boundary: fire due events in list order, then detect landings and crashes.

An event fires once: at a time, at an autopilot tick, or at the first boundary at which its condition holds. For a
condition or an action in Python, the stage returns the number of the event, the engine calls the function, and the
stage resumes. While no event is due, a boundary costs the comparison of two times.
"""

from px4lockstep.jit import kernel, record
from px4lockstep.scenario.actions import CALL, EVENT, SET_PARAM, apply_action
from px4lockstep.scenario.landing import LANDING, is_crash, is_landed, watch_rest
from px4lockstep.scenario.setpoint_rows import SETPOINTS
from px4lockstep.scenario.signals import read_signal

MAX_EVENTS = 64

AT_TIME, AT_STEP, WHEN_ABOVE, WHEN_BELOW, WHEN_CALLED = range(5)  # WHEN_CALLED: a Python function decides

# Answer of Python for an event: its condition does not hold, or holds, or its action is done.
NOT_ASKED, ASKED, DECLINED, HOLDS, ACTED = range(5)

NOBODY = -1
NEVER = 2**62

SCENARIO = record(
    [
        ("count", "i8"),
        ("i_pos i_vel i_att", "i8"),  # start indices in the state; -1 if the plant has no such part
        ("n_batteries", "i8"),
        ("on_crash", "i8"),  # `bus.scenario.crashed` after a crash: 0 without ground, `CRASH_ENDS` or `CRASH_LIES`
        ("ends_after_landing", "i8"),
        ("rest_m", "f8"),  # height of the centre of mass at rest on the ground
        ("events", EVENT, MAX_EVENTS),
        ("setpoints", SETPOINTS),
        # The following fields change during a run.
        ("is_fired", "i8", MAX_EVENTS),
        ("fired_as", "i8", MAX_EVENTS),  # 1 for the first event that fired, 2 for the second
        ("next_us next_step", "i8"),  # earliest of the events not yet fired
        ("n_watched", "i8"),  # conditions not yet met
        ("asked", "i8"),  # number of the event that waits for Python
        ("answer", "i8"),
        ("has_changed", "i8"),  # the outputs may differ from those at the previous boundary
        ("landing", LANDING),
    ],
    state="is_fired fired_as next_us next_step n_watched asked answer has_changed landing",
    limits={"is_fired": 1, "fired_as": MAX_EVENTS, "n_watched": MAX_EVENTS, "asked": MAX_EVENTS - 1, "answer": ACTED},
)


@kernel
def look_ahead(scenario):
    """Find the earliest of the events not yet fired."""
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
    """Return whether an event without a Python condition fires at this boundary."""
    if event.trigger == AT_TIME:
        return t_us == event.time_us
    elif event.trigger == AT_STEP:
        return is_tick != 0 and ticks == event.step
    value = read_signal(scenario, event.signal, t_us, ticks, state, bus)
    return value > event.threshold if event.trigger == WHEN_ABOVE else value < event.threshold


@kernel
def fire(scenario, i):
    """Mark an event as fired."""
    scenario.is_fired[i] = 1
    earlier = 0
    for j in range(scenario.count):
        earlier += scenario.is_fired[j]
    scenario.fired_as[i] = earlier
    scenario.has_changed = 1
    look_ahead(scenario)


@kernel
def ask(scenario, i):
    """Mark an event as waiting for Python, and return its number."""
    scenario.asked = i
    scenario.answer = ASKED
    return i


@kernel
def run_events(scenario, t_us, ticks, is_tick, state, inputs, plant, bus):
    """Fire due events; return the number of an event that needs Python, or `NOBODY`."""
    first = 0
    if scenario.answer != NOT_ASKED:
        i = scenario.asked
        if scenario.answer == HOLDS:
            apply_action(scenario.events[i], state, inputs, plant, scenario.setpoints, bus.scenario)
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
                if event.action == CALL or event.action == SET_PARAM:
                    return ask(scenario, i)
                apply_action(event, state, inputs, plant, scenario.setpoints, bus.scenario)
                fire(scenario, i)
    return NOBODY


@kernel
def is_over(scenario, t_us):
    """Return whether a run that ends after the landing ends at this boundary."""
    return scenario.ends_after_landing != 0 and 0 < scenario.landing.over_us <= t_us


@kernel
def step_scenario(scenario, t_us, ticks, is_tick, state, inputs, plant, bus):
    """Run or resume the scenario at a boundary: write its part of the bus.

    `ticks` is the number of previous autopilot ticks; `inputs` are the plant inputs held since the previous boundary.
    Return the number of an event that needs Python, after which this must be called again, or `NOBODY`.
    """
    if t_us >= scenario.next_us or scenario.n_watched > 0 or (is_tick != 0 and ticks >= scenario.next_step):
        asked = run_events(scenario, t_us, ticks, is_tick, state, inputs, plant, bus)
        if asked != NOBODY:
            return asked
    if scenario.i_pos >= 0 and scenario.i_vel >= 0:
        height_m = -state.x[scenario.i_pos + 2] - scenario.rest_m
        down_m_s = state.x[scenario.i_vel + 2]
        landed = is_landed(scenario.landing, t_us, bus.scenario, bus.autopilot, height_m, down_m_s)
        if landed != bus.scenario.landed:
            bus.scenario.landed = landed
            scenario.has_changed = 1
        if scenario.ends_after_landing != 0:
            is_waiting = scenario.next_us != NEVER or scenario.next_step != NEVER
            out, armed = bus.scenario, bus.autopilot.armed
            watch_rest(scenario.landing, t_us, is_waiting, scenario.n_watched, out, armed, height_m, down_m_s)
        if is_crash(scenario.landing, state, height_m, scenario.i_vel) and scenario.on_crash != 0:
            bus.scenario.crashed = scenario.on_crash
            scenario.has_changed = 1
    return NOBODY
