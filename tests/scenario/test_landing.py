"""Landed: near the ground and slow; forced to false while a mission has yet to take off."""

import functools

import numpy as np
import pytest
from fleet import iris
from scenario_flight import outputs_at_each_boundary

from px4lockstep.engine.bus import AUTOPILOT_OUT, SCENARIO_OUT
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import interpreted, kernel, rows, view
from px4lockstep.plant.layout import STATE
from px4lockstep.plant.models import FreeFall, Oscillator
from px4lockstep.scenario.landing import LANDING, is_crash, is_landed
from px4lockstep.scenario.scenario import Scenario


@kernel
def each(landing, time_us, requests, status, down_m, down_m_s, landed):
    """Evaluate a flight at each boundary."""
    for i in range(len(time_us)):
        landed[i] = is_landed(landing[0], time_us[i], requests[i], status[i], -down_m[i], down_m_s[i])


def landed_along(boundaries, arm=1, armed=1):
    """Return `landed` for boundaries given as (seconds, mission, down, speed down), by default of an armed vehicle."""
    columns = [np.array(column) for column in zip(*boundaries, strict=True)]
    time_us, mission = np.round(columns[0] * 1e6).astype(np.int64), columns[1].astype(np.int64)
    down_m, down_m_s = (np.ascontiguousarray(column, np.float64) for column in columns[2:])
    landed = np.zeros(len(boundaries), np.int64)
    requests = np.zeros(len(boundaries), SCENARIO_OUT)
    status = np.zeros(len(boundaries), AUTOPILOT_OUT)
    requests["mission"], requests["arm"], status["armed"] = mission, arm, armed
    each(*map(rows, (np.zeros(1, LANDING), time_us, requests, status, down_m, down_m_s, landed)))
    return landed.tolist()


@pytest.mark.parametrize(
    ("down_m", "down_m_s", "expected"),
    [
        (0.0, 0.0, 1),
        (0.01, 0.0, 1),  # in the ground, as with penalty contact
        (-0.05, 0.0, 1),
        (-0.050001, 0.0, 0),
        (0.0, 0.199, 1),
        (0.0, 0.2, 0),
        (0.0, -0.199, 1),
        (0.0, -0.2, 0),
    ],
)
def test_landed_is_near_the_ground_and_slow(down_m, down_m_s, expected):
    """z ≥ −0.05 m and |v_z| < 0.2 m/s, with exact limits."""
    assert landed_along([(0.0, 0, down_m, down_m_s)]) == [expected]


def test_a_mission_forces_landed_to_false_until_take_off():
    """From 0.5 s after its start, to the microsecond, until the vehicle is above (not at) 1 m."""
    assert landed_along(
        [
            (1.0, 0, 0.0, 0.0),
            (2.0, 1, 0.0, 0.0),  # the mission is requested
            (2.499999, 1, 0.0, 0.0),
            (2.5, 1, 0.0, 0.0),  # forced
            (4.0, 1, -1.0, 0.0),
            (5.0, 1, 0.0, 0.0),  # came back without having been above 1 m
            (6.0, 1, -1.000001, 0.0),
            (7.0, 1, 0.0, 0.0),  # a landing is seen
        ]
    ) == [1, 1, 1, 0, 0, 0, 0, 1]


def test_a_second_mission_needs_another_take_off():
    """Requested again on the ground, it forces `landed` to false again."""
    flight = [(0.0, 1, -5.0, 0.0), (1.0, 1, 0.0, 0.0), (3.0, 2, 0.0, 0.0), (3.5, 2, 0.0, 0.0), (4.0, 2, -2.0, 0.0)]
    flight += [(5.0, 2, 0.0, 0.0)]
    assert landed_along(flight) == [0, 1, 1, 0, 0, 1]


def test_a_mission_requested_after_the_autopilot_disarmed_begins_when_it_is_armed_again():
    """Disarmed by itself at 2 s, with the old request to arm; requested at 3 s, armed again at 5 s."""
    flight = [(0.0, 1, -5.0, 0.0), (1.0, 1, 0.0, 0.0), (2.0, 1, 0.0, 0.0), (3.0, 2, 0.0, 0.0), (4.0, 2, 0.0, 0.0)]
    flight += [(5.0, 2, 0.0, 0.0), (5.499999, 2, 0.0, 0.0), (5.5, 2, 0.0, 0.0)]
    arm, armed = [1, 1, 1, 1, 1, 2, 2, 2], [1, 1, 0, 0, 0, 0, 1, 1]
    assert landed_along(flight, arm, armed) == [0, 1, 1, 1, 1, 1, 1, 0]


def test_an_autopilot_that_never_reports_armed_can_take_off():
    """As a controller of a user may be."""
    assert landed_along([(1.0, 1, 0.0, 0.0), (1.5, 1, 0.0, 0.0)], armed=0) == [1, 0]


def test_landed_is_on_the_bus_at_every_boundary():
    """The Iris on the ground with its motors off: true, then forced to false 0.5 s after the mission starts."""
    scenario = Scenario().arm(at_s=0.0).start_mission(at_s=0.003)
    timeline = Timeline(600_000, log=Periodic(10_000), scenario=Explicit((3_000, 503_000)))
    sim = Simulation(iris(), timeline, scenario=scenario, record=True).run()
    landed = sim.streams.scenario_by_boundary()["landed"].astype(bool)
    assert landed.tolist() == (timeline.time_us < 503_000).tolist()


def test_landed_is_false_in_the_air_and_true_after_a_drop():
    """A drop from 6 cm through the loop agrees with z and v_z of the log at every row."""
    _, outputs = outputs_at_each_boundary(Scenario(), 0.5, aircraft=iris(pos_ned=(0.0, 0.0, -0.06)), command=0.0)
    assert outputs["landed"][0] == 0
    assert outputs["landed"][-1] == 1


def test_a_plant_without_position_never_lands():
    """A position with one component is not a height."""
    timeline = Timeline(1_000, log=Periodic(100))
    assert Simulation(Oscillator(), timeline, scenario=Scenario()).run().bus.scenario.landed == 0
    assert Simulation(FreeFall(), timeline, scenario=Scenario()).run().bus.scenario.landed == 1


@pytest.mark.parametrize(
    ("vel_ned", "expected"),
    [((0.0, 0.0, 3.0), 0), ((0.0, 0.0, 3.000001), 1), ((2.0, -2.0, 1.0), 0), ((2.0, -2.0, 1.001), 1)],
)
def test_a_crash_is_ground_contact_faster_than_3_m_s(vel_ned, expected):
    """In any direction, at the previous boundary; exactly 3 m/s is not a crash."""
    landing, state = np.zeros(1, LANDING), np.zeros(1, STATE)
    state["x"][0, 3:6] = vel_ned
    ask = functools.partial(interpreted(is_crash), view(landing, writable=True), view(state, writable=True))
    assert ask(0.1, 3) == 0
    state["x"][0, 3:6] = 0.0  # the ground has stopped it
    assert ask(0.0, 3) == expected
    assert ask(0.0, 3) == 0  # it lies there


@pytest.mark.parametrize("log_us", [1_000, 7_000])
def test_a_crash_is_the_last_row_of_the_log_once(log_us):
    """Whether or not the log is due at its boundary."""
    timeline = Timeline(300_000, log=Periodic(log_us), physics=Periodic(1_000))
    aircraft = iris(pos_ned=(0.0, 0.0, -1.0), vel_ned=(0.0, 0.0, 10.0))
    sim = Simulation(aircraft, timeline, scenario=Scenario(), integrator=Integrator("RK4")).run()
    assert sim.is_crashed
    crash_us = int(sim.log["time_us"][-1])
    assert 90_000 < crash_us < 110_000
    assert crash_us % 7_000 != 0
    due_us = range(0, crash_us, log_us)
    assert sim.log["time_us"].tolist() == [*due_us, crash_us]
    assert sim.log["bus"]["scenario"]["crashed"].tolist() == [0] * len(due_us) + [1]
