"""Checkpoints: the state of one simulation, resumed with the configuration of another."""

import numpy as np
import pytest
from fleet import iris, octa

from px4lockstep.engine.checkpoints import overlay, recorded_otherwise
from px4lockstep.engine.core import SIM
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.errors import InputError, StateError
from px4lockstep.jit.records import CONFIGURATION, STATE, words_of
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

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
    """Return a simulation of a vehicle that falls in wind."""
    plant = iris(pos_ned=(0.0, 0.0, -50.0)) if plant is None else plant
    boundaries = timeline() if boundaries is None else boundaries
    return Simulation(plant, boundaries, wind=Wind("ou"), scenario=scenario, seed=seed, record=True, **options)


def parted(time_us=200_000, **options):
    """Return two snapshots of a run: at a given time, and before the start."""
    simulation = falling(**options)
    start = simulation.snapshot()
    return simulation.run(time_us).snapshot(), start


def names_of_words(dtype, place=""):
    """Yield the name of each word of a record, in order."""
    if dtype.subdtype is not None:
        for _ in range(dtype.itemsize // dtype.base.itemsize):
            yield from names_of_words(dtype.base, f"{place}[]")
    elif dtype.names is None:
        assert dtype.itemsize == 8
        yield place
    else:
        for name in dtype.names:
            yield from names_of_words(dtype[name], f"{place}.{name}")


MOTOR_FAILS = {"scenario.events": [{"at_s": 20.0, "action": "disable_motor", "motor": 1}]}


@pytest.mark.parametrize(
    ("name", "overrides"),
    [
        ("iris", {"environment.wind": "ou"}),
        ("iris", {"environment.wind": "dryden", "autopilot.hover_thrust_estimate": True}),
        ("iris", {"plant.integrator.kind": "RK4", "autopilot.land_detector": "estimate"}),
        ("hex", MOTOR_FAILS),
        ("octa", {"scenario.events": [{"at_s": 20.0, "action": "return"}], "timeline.t_end_s": 45.0}),  # on the way
    ],
)
def test_everything_that_a_flight_changes_is_declared_as_state(name, overrides):
    """At the end of a flight, every word of the configuration still has its initial value."""
    simulation = build(load_spec(name, overrides), record=True).simulation
    before = simulation.snapshot().records
    after = simulation.run().snapshot().records
    changed = np.flatnonzero(before.view(np.uint64) != after.view(np.uint64))
    configuration = np.intersect1d(changed, words_of(SIM, CONFIGURATION))
    names = list(names_of_words(SIM))
    assert sorted({names[word] for word in configuration}) == []
    assert len(np.intersect1d(changed, words_of(SIM, STATE))) > 400  # it sees the state


def test_resuming_with_the_same_configuration_is_the_same_run():
    """It is bit-identical, including log and streams."""
    whole = falling().run()
    again = falling()
    again.continue_from(*parted())
    assert again.time_us == 200_000
    again.run()
    assert again.digest() == whole.digest()
    assert again.streams.winds.tobytes() == whole.streams.winds.tobytes()
    assert again.log.tobytes() == whole.log.tobytes()


def test_a_new_seed_changes_the_wind_from_the_checkpoint_on():
    """The wind continues from its current velocity."""
    other = falling(seed=2)
    other.continue_from(*parted())
    other.run()
    whole = falling().run()
    winds, before = other.streams.winds["vel_ned"], whole.streams.winds["vel_ned"]
    assert np.array_equal(winds[:200], before[:200])
    assert not np.array_equal(winds[200:], before[200:])
    # One millisecond is short compared with the wind's time constant of seconds: there is no jump.
    assert np.abs(winds[200] - winds[199]).max() < 0.5


def test_a_simulation_that_is_not_recorded_can_resume_a_snapshot():
    """Its streams stay empty."""
    simulation = falling()
    snapshot, start = parted()
    plain = Simulation(iris(pos_ned=(0.0, 0.0, -50.0)), timeline(), wind=Wind("ou"), seed=1)
    plain.continue_from(snapshot, start)
    assert plain.run().digest() == simulation.run().digest()


def test_future_events_can_be_added_but_past_events_cannot_change():
    """Events are matched by their index."""
    first = Scenario().at(0.1).disable_motor(1)
    snapshot, start = parted(boundaries=timeline([100_000]), scenario=first)
    more = first.at(0.3).disable_motor(2)
    other = falling(timeline([100_000, 300_000]), scenario=more)
    other.continue_from(snapshot, start)
    masks = other.run().log["inputs"]["faults"]["motor_disabled_mask"]
    assert masks.tolist() == [0] * 10 + [1] * 20 + [3] * 11

    changed = falling(timeline([100_000, 300_000]), scenario=Scenario().at(0.1).disable_motor(2).at(0.3).land())
    with pytest.raises(InputError, match=r"scenario\.events\[0\] was changed, but it fired before the checkpoint"):
        changed.continue_from(snapshot, start)
    late = falling(timeline([100_000]), scenario=first.when("altitude_m", above=1e6).land().at(0.1).disable_motor(2))
    with pytest.raises(InputError, match="scheduled at 100000 us, before the checkpoint to resume at 200000 us"):
        late.continue_from(snapshot, start)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda: falling(timeline(log_us=20_000)), "a period, or the time of an event"),
        (lambda: falling(timeline([150_000, 150_500])), "a period, or the time of an event"),
        (lambda: falling(plant=octa(pos_ned=(0.0, 0.0, -50.0))), "the states of the plant were changed"),
        (lambda: falling(plant=iris(pos_ned=(0.0, 0.0, -51.0))), "the initial state was changed"),
        (lambda: Simulation(Oscillator(), timeline()), "the states of the plant were changed"),
    ],
    ids=["period", "boundaries", "states", "initial state", "plant"],
)
def test_what_does_not_fit_is_refused(other, message):
    """The records do not change."""
    simulation = other()
    before = simulation.snapshot().records
    with pytest.raises(InputError, match=message):
        simulation.continue_from(*parted())
    assert simulation.snapshot().records.tobytes() == before.tobytes()


def test_only_a_new_simulation_with_the_same_objects_can_resume():
    """A checkpoint does not contain the state of users' objects; a snapshot does."""

    class Idle:
        def step(self, time_us, inputs, outputs):
            pass

    with pytest.raises(StateError, match="only a new simulation"):
        falling().run(1_000).continue_from(*parted())
    with pytest.raises(InputError, match="the checkpoint to resume has none, this flight has autopilot"):
        falling(autopilot=Idle()).continue_from(*parted())
    assert len(falling(autopilot=Idle()).run().checkpoints) == 0
    assert len(falling().run().checkpoints) == 1


def test_a_shorter_array_of_records_is_resumed():
    """As in recordings from before the array grew: the rest keeps its initial values."""
    ours, theirs = (np.zeros(1, [("items", [("left", "i8")], (count,)), ("mode", "i8")]) for count in (4, 2))
    ours["items"]["left"], theirs["items"]["left"], theirs["mode"] = [[1, 2, 3, 4]], [[7, 8]], 5
    assert recorded_otherwise(ours, theirs) == "items.left"
    overlay(ours, theirs, "checkpoint")
    assert ours["items"]["left"].tolist() == [[7, 8, 3, 4]]
    assert ours["mode"] == 5
    assert recorded_otherwise(ours, theirs) is None
    with pytest.raises(InputError, match=r"checkpoint.items is .* with shape \(4,\)"):
        overlay(theirs, ours, "checkpoint")


def test_a_shorter_vector_is_rejected():
    """Its components have a meaning of their own."""
    ours, theirs = (np.zeros(1, [("pos_ned", "f8", count)]) for count in (3, 2))
    with pytest.raises(InputError, match=r"checkpoint.pos_ned is float64 with shape \(2,\)"):
        overlay(ours, theirs, "checkpoint")
