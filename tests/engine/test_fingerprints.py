"""State fingerprints of a recorded run: identical compiled and interpreted, different if a state is rounded."""

import numpy as np
import pytest
from recorded_flights import SHORT

import px4lockstep
from px4lockstep.engine.fingerprints import fingerprint_of


def flown(until_us, *, record=True):
    """Return a simulation of the Iris that has run up to a given time."""
    spec = px4lockstep.load_spec("iris", SHORT)
    return px4lockstep.build(spec, record=record).simulation.run(until_us)


def test_each_boundary_has_the_fingerprint_of_the_state_reached():
    """The loop computes it compiled, this test interpreted."""
    simulation = flown(3_000_000)
    for _ in range(20):
        time_us = int(simulation.timeline.time_us[simulation.boundary + 1])
        simulation.run(time_us)
        assert len(simulation.fingerprints) == simulation.boundary + 1
        assert np.array_equal(simulation.fingerprints[-1], fingerprint_of(simulation.core))
    assert len(np.unique(simulation.fingerprints[-20:], axis=0)) == 20


@pytest.mark.parametrize("state", ["pos[1]", "att[3]", "rotor[0]", "v1[0]"])
@pytest.mark.parametrize("towards", [-np.inf, np.inf])
def test_a_rounding_difference_changes_only_the_fingerprint_of_its_state(state, towards):
    """The difference is the smallest possible one."""
    simulation = flown(3_000_000, record=False)
    index = simulation.plant.names.index(state)
    core, before = simulation.core.copy(), fingerprint_of(simulation.core)
    core["state"]["x"][index] = np.nextafter(core["state"]["x"][index], towards)
    assert np.flatnonzero(fingerprint_of(core) != before).tolist() == [index]


def test_a_run_that_is_not_recorded_has_no_fingerprints():
    """They would cost a little time."""
    assert len(flown(100_000, record=False).fingerprints) == 0
