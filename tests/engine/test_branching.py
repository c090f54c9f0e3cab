"""Going on from the moment of another simulation: models and parameters of the one, the state of the other."""

import numpy as np
import pytest

from px4lockstep.engine.core import SIM
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.fleet import iris, octa

END_US = 400_000


def timeline(times_us=(), end_us=END_US, log_us=10_000):
    return Timeline(
        end_us,
        autopilot=Periodic(4_000),
        wind=Periodic(1_000),
        log=Periodic(log_us),
        scenario=Explicit(tuple(times_us)) if times_us else None,
    )


def falling(boundaries=None, plant=None, scenario=None, seed=1, **options):
    """A vehicle that falls in a wind."""
    plant = iris(pos_ned=(0.0, 0.0, -50.0)) if plant is None else plant
    boundaries = timeline() if boundaries is None else boundaries
    return Simulation(plant, boundaries, wind=Wind("ou"), scenario=scenario, seed=seed, record=True, **options)


def parted(time_us=200_000, **options):
    """Two snapshots of a run: before it, and at a time."""
    simulation = falling(**options)
    start = simulation.snapshot()
    return simulation.run(time_us).snapshot(), start


def words(dtype):
    """Yield the sizes of all numbers of a record."""
    base = dtype.base
    if base.names is None:
        yield base.itemsize
    else:
        for name in base.names:
            yield from words(base[name])


def test_records_are_words_of_eight_bytes():
    """Which is what they are merged by."""
    assert set(words(SIM)) == {8}
    assert SIM.itemsize % 8 == 0


def test_going_on_alike_is_the_same_run():
    """Bit for bit, log and streams included."""
    whole = falling().run()
    again = falling()
    again.continue_from(*parted())
    assert again.time_us == 200_000
    again.run()
    assert again.digest() == whole.digest()
    assert again.streams.winds.tobytes() == whole.streams.winds.tobytes()
    assert again.log.tobytes() == whole.log.tobytes()


def test_a_seed_changes_the_wind_from_then_on():
    """The wind that blew goes on from where it was."""
    other = falling(seed=2)
    other.continue_from(*parted())
    other.run()
    whole = falling().run()
    winds, before = other.streams.winds["vel_ned"], whole.streams.winds["vel_ned"]
    assert np.array_equal(winds[:200], before[:200])
    assert not np.array_equal(winds[200:], before[200:])
    # One step of a millisecond of a wind with a time constant of seconds: no jump.
    assert np.abs(winds[200] - winds[199]).max() < 0.5


def test_a_snapshot_of_a_simulation_that_does_not_record_goes_on_too():
    """Its streams are empty."""
    simulation = falling()
    snapshot, start = parted()
    plain = Simulation(iris(pos_ned=(0.0, 0.0, -50.0)), timeline(), wind=Wind("ou"), seed=1)
    plain.continue_from(snapshot, start)
    assert plain.run().digest() == simulation.run().digest()


def test_events_to_come_may_be_added_and_those_of_the_past_may_not():
    """By their numbers in the list."""
    first = Scenario().at(0.1).disable_motor(1)
    snapshot, start = parted(boundaries=timeline([100_000]), scenario=first)
    more = first.at(0.3).disable_motor(2)
    other = falling(timeline([100_000, 300_000]), scenario=more)
    other.continue_from(snapshot, start)
    masks = other.run().log["inputs"]["faults"]["motor_disabled_mask"]
    assert masks.tolist() == [0] * 10 + [1] * 20 + [3] * 11

    changed = falling(timeline([100_000, 300_000]), scenario=Scenario().at(0.1).disable_motor(2).at(0.3).land())
    with pytest.raises(InputError, match=r"scenario\.events\[0\] was changed; it has happened already"):
        changed.continue_from(snapshot, start)
    late = falling(timeline([100_000]), scenario=first.when("altitude_m", above=1e6).land().at(0.1).disable_motor(2))
    with pytest.raises(InputError, match="an event is at 100000 us, before the moment to go on from, 200000 us"):
        late.continue_from(snapshot, start)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: falling(timeline(log_us=20_000)), "a period, or the time of an event"),
        (lambda: falling(timeline([150_000, 150_500])), "a period, or the time of an event"),
        (lambda: falling(plant=octa(pos_ned=(0.0, 0.0, -50.0))), "the plant has other states"),
        (lambda: falling(plant=iris(pos_ned=(0.0, 0.0, -51.0))), "the initial state was changed"),
        (lambda: falling().run(1_000), "only a new simulation"),
        (lambda: Simulation(Oscillator(), timeline()), "the plant has other states"),
    ],
    ids=["period", "boundaries", "states", "initial state", "running", "plant"],
)
def test_what_does_not_fit_is_refused(other, message):
    """And nothing has changed."""
    simulation = other()
    before = simulation.snapshot().core
    with pytest.raises(InputError, match=message):
        simulation.continue_from(*parted())
    assert simulation.snapshot().core.tobytes() == before.tobytes()


def test_python_in_the_loop_can_not_go_on_elsewhere():
    """Its past is in its objects."""

    class Idle:
        def step(self, time_us, inputs, outputs):
            pass

    with pytest.raises(InputError, match="without Python in its loop"):
        falling(autopilot=Idle()).continue_from(*parted())
    assert len(falling(autopilot=Idle()).run().moments) == 0
    assert len(falling().run().moments) == 1
