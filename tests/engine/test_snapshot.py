"""What a snapshot refuses."""

import pytest

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.plants.models import FreeFall, Oscillator

TIMELINE = Timeline(1_000, log=Periodic(100))


class Slotted:
    __slots__ = ()

    def step(self, time_us, inputs, outputs):
        pass


class OwnMethods(Slotted):
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0

    def step(self, time_us, inputs, outputs):
        self.count += 1

    def snapshot(self):
        return self.count

    def restore(self, saved):
        self.count = saved


def test_a_snapshot_of_another_simulation_is_refused():
    """Another timeline, plant or set of sources."""
    saved = Simulation(Oscillator(), TIMELINE).snapshot()
    with pytest.raises(InputError, match="another timeline"):
        Simulation(Oscillator(), Timeline(1_000, log=Periodic(200))).restore(saved)
    with pytest.raises(InputError, match="another plant"):
        Simulation(FreeFall(), TIMELINE).restore(saved)
    with pytest.raises(InputError, match="other sources"):
        Simulation(Oscillator(), TIMELINE, scenario=OwnMethods()).restore(saved)


def test_an_object_whose_state_cannot_be_copied_is_an_error():
    """Never a snapshot that silently lacks something."""
    with pytest.raises(InputError, match=r"snapshot\(\) and restore\(saved\)"):
        Simulation(Oscillator(), TIMELINE, scenario=Slotted()).snapshot()


def test_an_object_may_bring_its_own_methods():
    """They are used instead of copying attributes."""
    scenario = OwnMethods()
    sim = Simulation(Oscillator(), TIMELINE, scenario=scenario)
    saved = sim.run(until_us=500).snapshot()
    assert scenario.count == 5
    sim.run()
    assert scenario.count == 11
    sim.restore(saved)
    assert scenario.count == 5
