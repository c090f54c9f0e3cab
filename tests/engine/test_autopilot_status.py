"""A Python autopilot that reports its status, has resources to close, and gives warnings."""

import numpy as np
import pytest
from fleet import iris

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.flights.facts import Facts
from px4lockstep.flights.outcome import judge
from px4lockstep.log.log import Log
from px4lockstep.scenario.scenario import Scenario


class Reporting:
    """Arms at 20 ms; its mission finishes at 60 ms or never."""

    warnings = ("it was windy",)

    def __init__(self, ends=True):
        self.ends = ends
        self.closed = 0

    def attach(self, status, plant, period_us, seed):
        self.status, self.got = status, (type(plant).__name__, period_us, seed)
        status.mission_count = 2

    def step(self, time_us, inputs, outputs):
        self.status.armed = int(time_us >= 20_000)
        self.status.mission_finished = int(self.ends and time_us >= 60_000)
        outputs.motors[:4] = 0.1

    def close(self):
        self.closed += 1

    def snapshot(self):
        return self.closed

    def restore(self, saved):
        self.closed = saved


class Silent:
    """Commands the motors without reporting a status."""

    def step(self, time_us, inputs, outputs):
        outputs.motors[:4] = 0.1


def fly(autopilot, aircraft=None, **options):
    scenario = Scenario().start_mission(at_s=0.0)
    timeline = Timeline(100_000, autopilot=Periodic(4_000), log=Periodic(20_000))
    return Simulation(aircraft or iris(), timeline, scenario=scenario, autopilot=autopilot, seed=7, **options)


def test_the_status_is_in_the_log():
    """It has the same columns as the built-in autopilot; without a status there are no such columns."""
    own = Reporting()
    log = Log.of(fly(own).run())
    assert own.got == ("Aircraft", 4_000, 7)
    assert log["armed"].tolist() == [0, 1, 1, 1, 1, 1]
    assert log["mission_finished"].tolist() == [0, 0, 0, 1, 1, 1]
    with pytest.raises(InputError, match="reports no status"):
        Log.of(fly(Silent()).run()).column("armed")


def test_the_outcome_uses_the_reported_mission():
    """Without a status the result is unknown, which is not a failure. An aircraft on the ground flew no mission."""
    words = ((Reporting(), "flown"), (Reporting(ends=False), "out of time"), (Silent(), "not known"))
    for autopilot, word in words:
        simulation = fly(autopilot, aircraft=iris(pos_ned=(0.0, 0.0, -5.0))).run()
        outcome = judge(Facts(simulation, Log.of(simulation)))
        assert outcome.word == word
        assert outcome.is_success == (word != "out of time")
        grounded = fly(autopilot).run()
        assert judge(Facts(grounded, Log.of(grounded))).word == "out of time"


def test_the_autopilot_is_closed_with_the_simulation():
    """Its warnings are part of the simulation's warnings."""
    own = Reporting()
    simulation = fly(own).run()
    assert "it was windy" in simulation.warnings
    simulation.close()
    assert own.closed == 1
    fly(Silent()).close()


def test_its_flight_is_replayed_bit_identically():
    """The replay uses its recorded commands, as for every flight."""
    flown = fly(Reporting(), record=True).run()
    replayed = Simulation(iris(), flown.timeline, replay=flown.streams).run()
    assert replayed.digest() == flown.digest()
    assert np.array_equal(replayed.log_state, flown.log_state)


def test_the_autopilot_is_part_of_a_snapshot():
    """Like every user object."""
    own = Reporting()
    simulation = fly(own)
    saved = simulation.snapshot()
    own.closed = 5
    simulation.restore(saved)
    assert own.closed == 0
