"""Scenarios in recorded, replayed, interrupted and copied runs."""

import pytest
from fleet import iris
from scenario_flight import EVERYTHING, Throttle, Truth, everything, simulation

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError, SimulationError, StateError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.scenario.scenario import Scenario

NATIVE = (
    Scenario()
    .at_us(4_000)
    .thrust_loss(1, 0.3)
    .at_us(7_001)
    .disable_motor(2)
    .when("speed_m_s", above=0.1)
    .wind_step((3.0, 0.0, 0.0))
    .at_step(4)
    .disconnect_battery()
    .at_us(24_000)
    .restore_motor(2)
)


def test_a_replay_reproduces_the_digest_with_faults():
    """Faults and wind come from the stream, and so does every byte of the scenario's part of the bus."""
    recorded = everything(record=True).run()
    replayed = Simulation(
        iris(pos_ned=(0.0, 0.0, -50.0)), recorded.timeline, integrator=Integrator("RK4"), replay=recorded.streams
    ).run()
    assert replayed.digest() == recorded.digest()
    assert replayed.log["bus"]["scenario"].tobytes() == recorded.log["bus"]["scenario"].tobytes()
    assert recorded.bus.scenario.faults.motor_stuck_mask == 0b110
    assert replayed.statistics.python_calls == 0


def test_recording_and_validation_change_nothing():
    """All digests are equal."""
    digests = {everything(**options).run().digest() for options in ({}, {"record": True}, {"validate": "paranoid"})}
    assert len(digests) == 1


def as_functions(scenario):
    """Return the same events with functions instead of times, conditions and, where short, actions."""

    def weaken(time_us, inputs, outputs):
        outputs.faults.motor_weak_mask |= 1
        outputs.faults.thrust_loss[0] = 0.3

    def blow(time_us, inputs, outputs):
        outputs.wind_ned[:] = (3.0, 0.0, 0.0)

    def is_fast(time_us, inputs):
        n, e, d = inputs.plant["vel"]
        return bool((n * n + e * e + d * d) ** 0.5 > 0.1)

    return (
        Scenario()
        .at_us(4_000)
        .do(weaken)
        .when(lambda time_us, inputs: time_us == 7_001)
        .disable_motor(2)
        .when(is_fast)
        .do(blow)
        .when(lambda time_us, inputs: time_us == 16_000)
        .do(lambda time_us, inputs, outputs: setattr(outputs.faults, "battery_disconnected", 1))
        .at_us(7_001)
        .do(lambda time_us, inputs, outputs: None)
        .at_us(24_000)
        .restore_motor(2)
    )


def test_functions_give_the_digest_of_data():
    """The loop returns to Python in the middle of its first stage, without any effect on the results."""
    native = simulation(NATIVE, 0.05, record=True).run()
    python = simulation(as_functions(NATIVE), 0.05, record=True).run()
    assert python.digest() == native.digest()
    assert python.streams.scenario_by_boundary().tobytes() == native.streams.scenario_by_boundary().tobytes()
    data = simulation(Scenario(events=NATIVE.to_data()), 0.05).run()
    assert data.digest() == native.digest()
    assert native.statistics.python_calls < python.statistics.python_calls


@pytest.mark.parametrize("until_us", [0, 12_345, 20_000, 60_000, 70_001, 100_000])
def test_a_snapshot_resumes_in_the_middle_of_a_scenario(until_us):
    """Fired events do not fire again, others still do; in the same simulation and in another."""
    through = everything().run()
    sim = everything().run(until_us=until_us)
    saved = sim.snapshot()
    other = everything()
    other.restore(saved)
    sim.run()
    sim.restore(saved)
    for resumed in (sim, other):
        assert resumed.run().digest() == through.digest()
        assert resumed.log["bus"]["scenario"].tobytes() == through.log["bus"]["scenario"].tobytes()


def test_running_in_pieces_changes_nothing():
    """The end of a call is not an event."""
    sim = everything()
    for until_us in range(0, 100_001, 3_001):
        sim.run(until_us=until_us)
    assert sim.run().digest() == everything().run().digest()


def test_a_snapshot_of_another_scenario_is_rejected():
    """One different number in one event is enough."""
    saved = simulation(NATIVE, 0.05).snapshot()
    data = NATIVE.to_data()
    data[0]["fraction"] = 0.31
    with pytest.raises(InputError, match="a different configuration: scenario"):
        simulation(Scenario(events=data), 0.05).restore(saved)


class Counting:
    """Condition with state: it holds at the fifth call."""

    def __init__(self):
        self.asked = 0

    def __call__(self, time_us, inputs):
        self.asked += 1
        return self.asked == 5

    def land(self, time_us, inputs, outputs):
        outputs.land = self.asked


def test_the_state_of_functions_is_in_the_snapshot():
    """Of a callable object and of a method's object; plain functions have none."""
    counting = Counting()
    scenario = Scenario().when(counting).disarm().at_us(12_000).do(counting.land).at_us(1_000).do(lambda *_: None)
    found = {"scenario.events[0].condition": counting, "scenario.events[1].action": counting}
    assert scenario.python_objects() == found
    sim = simulation(scenario, 0.02).run(until_us=3_000)
    saved = sim.snapshot()
    assert counting.asked == 3
    sim.run()
    assert (counting.asked, sim.bus.scenario.land) == (5, 5)
    sim.restore(saved)
    assert counting.asked == 3
    sim.run()
    assert (counting.asked, sim.bus.scenario.land) == (5, 5)


def test_one_scenario_serves_many_simulations():
    """Running does not change it."""
    first, second = simulation(NATIVE, 0.05), simulation(NATIVE, 0.05)
    first.run(until_us=20_000)
    assert second.run().digest() == first.run().digest()


def test_a_function_that_raises_ends_the_run_with_an_error():
    """Like any stage in Python."""

    def fail(time_us, inputs, outputs):
        raise ValueError("no")

    sim = simulation(Scenario().at_us(5_000).do(fail), 0.02)
    with pytest.raises(SimulationError, match=r"the scenario failed at t = 0\.005000 s: .*ValueError: no\."):
        sim.run()
    with pytest.raises(StateError, match="failed"):
        sim.snapshot()


def test_functions_can_only_write_the_scenarios_outputs():
    """Time and state are those of the boundary; the bus, the plant and held inputs are read-only."""

    def act(time_us, inputs, outputs):
        assert time_us == inputs.bus.time_us == 5_000
        for attempt in (
            lambda: inputs.plant.x.__setitem__(0, 1.0),
            lambda: inputs.held.wind_ned.__setitem__(0, 1.0),
            lambda: inputs.bus.command.motors.__setitem__(0, 1.0),
        ):
            with pytest.raises(ValueError, match="read-only"):
                attempt()
        outputs.land = 1

    assert simulation(Scenario().at_us(5_000).do(act), 0.006).run().bus.scenario.land == 1


def test_a_scenario_and_a_replay_exclude_each_other():
    """As for any replayed source."""
    recorded = simulation(NATIVE, 0.05, record=True).run()
    with pytest.raises(InputError, match="scenario is given, but the replay provides it too"):
        Simulation(iris(), recorded.timeline, scenario=NATIVE, replay=recorded.streams)


def test_the_flight_of_these_tests_covers_everything():
    """Otherwise the tests would show less than they claim."""
    sim = everything().run()
    assert sim._core["scenario"]["is_fired"][0].sum() == len(EVERYTHING.events)
    assert isinstance(sim._sources["autopilot"], Throttle)
    assert isinstance(sim._sources["estimator"], Truth)
