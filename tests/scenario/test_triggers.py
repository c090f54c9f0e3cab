"""Triggers of events: to the microsecond, at a tick, on a condition; once, and in list order."""

import numpy as np
import pytest
from fleet import iris
from scenario_flight import flatten, outputs_at_each_boundary, simulation

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.plant.models import FreeFall, Oscillator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.scenario.signals import SIGNALS
from px4lockstep.vehicle.battery import Battery


def noting(seen, name):
    """Return an action in Python that records its name and the time."""

    def act(time_us, inputs, outputs):
        seen.append((name, time_us))

    return act


def test_an_event_fires_at_exactly_its_microsecond():
    """12.345678 s, between ticks of all axes: the previous boundary shows no change, its own does."""
    scenario = Scenario().at(12.345678).disable_motor(2)
    timeline = Timeline(13_000_000, log=Periodic(10_000), scenario=Explicit(scenario.times_us()))
    sim = Simulation(iris(), timeline, scenario=scenario, record=True).run()
    masks = sim.streams.scenario_by_boundary()["faults"]["motor_disabled_mask"]
    first = int(np.flatnonzero(masks)[0])
    assert timeline.time_us[first] == 12_345_678
    assert set(masks[first:].tolist()) == {0b10}


def test_an_event_acts_on_the_plant_from_its_boundary_on():
    """Held inputs change there, not at the next boundary."""
    held = []

    class Look:
        def step(self, time_us, inputs):
            held.append((time_us, inputs.held.faults.motor_disabled_mask, inputs.held.wind_ned[0]))

    scenario = Scenario().at_us(2_500).disable_motor(1).at_us(2_500).wind_step([3, 0, 0])
    simulation(scenario, 0.004, hooks=[Look()], hook_axes=("scenario", "log")).run()
    assert held == [(0, 0, 0.0), (2_000, 0, 0.0), (2_500, 1, 3.0), (4_000, 1, 3.0)]


def test_a_step_is_a_tick_of_the_autopilot():
    """Tick 3, counted from 0, of an axis with a period of 4 ms and a phase of 1 ms is at 13 ms."""
    seen = []
    timeline = Timeline(40_000, autopilot=Periodic(4_000, 1_000), log=Periodic(500))
    scenario = Scenario().at_step(0).do(noting(seen, "first")).at_step(3).arm().at_step(3).do(noting(seen, "third"))
    sim = Simulation(FreeFall(), timeline, scenario=scenario, record=True).run()
    assert seen == [("first", 1_000), ("third", 13_000)]
    assert timeline.time_us[np.flatnonzero(sim.streams.scenario_by_boundary()["arm"])[0]] == 13_000


def test_a_condition_is_checked_at_every_boundary_and_fires_once():
    """Free fall from rest passes 1 m/s after 102.0 ms. A second event that reverts the first fires once, too."""
    timeline = Timeline(200_000, log=Periodic(1_000))
    scenario = Scenario().when("speed_m_s", above=1.0).arm().at_us(150_000).disarm()
    timeline = Timeline(200_000, log=Periodic(1_000), scenario=Explicit(scenario.times_us()))
    sim = Simulation(FreeFall(), timeline, scenario=scenario, record=True).run()
    armed_us = timeline.time_us[np.flatnonzero(sim.streams.scenario_by_boundary()["arm"])]
    assert armed_us.tolist() == list(range(102_000, 150_000, 1_000))


START = {"pos_ned": (3.0, -4.0, -10.0), "vel_ned": (2.0, -1.0, 2.0), "q_bn": (np.cos(0.2), np.sin(0.2), 0.0, 0.0)}
VALUES = {
    "time_s": 0.0,
    "altitude_m": 10.0,
    "speed_m_s": 3.0,
    "distance_home_m": 5.0,
    "tilt_deg": np.degrees(0.4),
    "mission_item": 0.0,
}


@pytest.mark.parametrize("signal", VALUES)
def test_a_signal_has_its_documented_value(signal):
    """At the first boundary it is above a slightly lower and below a slightly higher threshold (1e-9), only."""
    value = VALUES[signal]
    aircraft = iris(**START)
    for options, fires in (
        ({"above": value - 1e-9}, True),
        ({"above": value + 1e-9}, False),
        ({"below": value + 1e-9}, True),
        ({"below": value - 1e-9}, False),
    ):
        _, outputs = outputs_at_each_boundary(Scenario().when(signal, **options).arm(), 0.001, aircraft=aircraft)
        assert outputs["arm"][0] == fires, options


@pytest.mark.parametrize(("signal", "measured"), [("battery_remaining", 0.4), ("battery_voltage_v", 12.6 - 1.8 * 0.6)])
def test_battery_signals_are_the_lowest_measured_values(signal, measured):
    """Not 0 before the first measurement, which follows the scenario at the first boundary; then within 1e-3."""
    aircraft = iris(batteries=(Battery(soc0=0.9), Battery(soc0=0.4)), pos_ned=(0.0, 0.0, -9.0))
    if signal == "battery_voltage_v":
        aircraft = iris(batteries=(Battery(soc0=0.4),), pos_ned=(0.0, 0.0, -9.0))
    for threshold, fires in ((measured + 1e-3, True), (measured - 1e-3, False)):
        scenario = Scenario().when(signal, below=threshold).arm()
        _, outputs = outputs_at_each_boundary(scenario, 0.004, aircraft=aircraft, command=0.0)
        assert outputs["arm"].tolist() == [0] + [int(fires)] * 4


def test_every_signal_is_tested():
    """A new signal needs a test."""
    assert {*VALUES, "battery_remaining", "battery_voltage_v"} == set(SIGNALS)


def test_simultaneous_events_fire_in_list_order():
    """The last wind wins; the reverse list gives the other one."""
    for winds in ((1.0, 2.0), (2.0, 1.0)):
        scenario = Scenario()
        for wind in winds:
            scenario = scenario.at_us(1_000).wind_step((wind, 0.0, 0.0))
        _, outputs = outputs_at_each_boundary(scenario, 0.002)
        assert outputs["wind_ned"][:, 0].tolist() == [0.0, winds[1], winds[1]]


def test_the_order_holds_across_native_and_python_events():
    """At one boundary, each function sees the effects of previous events and not those of later ones."""
    seen = []

    def look(time_us, inputs, outputs):
        seen.append((time_us, outputs.wind_ned[0]))
        outputs.wind_ned[0] += 10.0

    def is_windy(time_us, inputs):
        seen.append((time_us, inputs.bus.scenario.wind_ned[0]))
        return inputs.bus.scenario.wind_ned[0] > 5.0

    scenario = (
        Scenario()
        .when(is_windy)
        .arm()
        .at_us(1_000)
        .wind_step((1.0, 0.0, 0.0))
        .at_us(1_000)
        .do(look)
        .when(is_windy)
        .wind_step((2.0, 0.0, 0.0))
        .when("time_s", above=0.0005)
        .do(look)
        .at_us(1_000)
        .land()
    )
    sim = simulation(scenario, 0.003, record=True).run()
    assert seen == [
        (0, 0.0),
        (0, 0.0),
        (1_000, 0.0),  # the first condition: not yet
        (1_000, 1.0),
        (1_000, 11.0),
        (1_000, 2.0),
        (2_000, 12.0),  # it holds now; nothing is left after it
    ]
    assert sim.streams.scenario_by_boundary()["wind_ned"][:, 0].tolist() == [0.0, 12.0, 12.0, 12.0]
    assert sim.streams.scenario_by_boundary()["arm"].tolist() == [0, 0, 1, 1]
    assert sim.streams.scenario_by_boundary()["land"].tolist() == [0, 1, 1, 1]


def test_python_is_called_only_when_needed():
    """A function as an action costs one call, as a condition one for each boundary until it holds."""
    scenario = Scenario().at_us(5_000).do(lambda time_us, inputs, outputs: None)
    timeline = Timeline(20_000, physics=Periodic(1_000))
    assert Simulation(FreeFall(), timeline, scenario=scenario).run().statistics.python_calls == 1
    scenario = Scenario().when(lambda time_us, inputs: time_us == 7_000).arm()
    sim = Simulation(FreeFall(), timeline, scenario=scenario, validate="paranoid").run()
    assert sim.statistics.python_calls == 8
    assert sim.bus.scenario.arm == 1


def test_a_condition_must_return_a_bool():
    """One that forgets to return would silently never fire."""
    scenario = Scenario().when(lambda time_us, inputs: None).arm()
    with pytest.raises(InputError, match=r"condition of scenario.events\[0\] returned None") as caught:
        simulation(scenario).run()
    assert caught.value.__notes__ == ["raised by the scenario at t = 0.000000 s"]


def test_an_event_after_the_end_does_not_fire():
    """A run may be shorter than its scenario; `times_us` omits later events."""
    scenario = Scenario().arm(at_s=0.001).start_mission(at_s=2.0)
    assert scenario.times_us() == (1_000, 2_000_000)
    assert scenario.times_us(500_000) == (1_000,)
    _, outputs = outputs_at_each_boundary(scenario, 0.003)
    assert outputs["arm"][-1] == 1
    assert not outputs["mission"].any()


def test_an_event_that_is_not_a_boundary_is_rejected():
    """It could not fire at its time."""
    scenario = Scenario().at_us(1_500).arm()
    with pytest.raises(InputError, match="the event at 1500 us is not on an event boundary of the timeline; add it"):
        Simulation(Oscillator(), Timeline(3_000, log=Periodic(1_000)), scenario=scenario)


def test_without_events_only_landed_is_written():
    """An empty scenario is valid: the Iris stands on the ground."""
    _, outputs = outputs_at_each_boundary(Scenario(), 0.002, aircraft=iris(), command=0.0)
    assert {name for name, value in flatten(outputs[-1]).items() if value} == {"landed"}


@pytest.mark.parametrize("side", ["above", "below"])
def test_a_condition_does_not_hold_at_its_threshold(side):
    """10 m is neither above nor below 10 m; the first boundary has exactly the initial state."""
    scenario = Scenario().when("altitude_m", **{side: 10.0}).arm()
    _, outputs = outputs_at_each_boundary(scenario, 0.001, aircraft=iris(pos_ned=(0.0, 0.0, -10.0)))
    assert outputs["arm"][0] == 0
