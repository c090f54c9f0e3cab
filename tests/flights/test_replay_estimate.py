"""Recordings with the estimate: `run.record_estimate`, and replays in which the autopilot flies with it."""

import h5py
import numpy as np
import pytest

from px4lockstep.engine.bus import ESTIMATE
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.replay import replay
from px4lockstep.flights.run import simulate
from px4lockstep.plant.models import FreeFall

NOISY = {
    "timeline.t_end_s": 6.0,
    "scenario.arm_time_s": 0.2,
    "scenario.mission_time_s": 0.4,
    "estimator.kind": "noisy_delayed",
    "estimator.pos_sigma_m": 0.1,
    "aircraft.seed": 5,
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A noisy flight of the Iris, recorded with its estimate, and its folder."""
    run = simulate("iris", overrides=NOISY | {"run.record_estimate": True})
    folder = run.save(tmp_path_factory.mktemp("runs") / "noisy", plots=False)
    return run, folder


def test_every_tick_has_its_estimate(run):
    """One row per autopilot tick; at ticks with a row of the log, bit-identical to the log's estimate."""
    flown, folder = run
    streams = read_recording(folder).streams
    ticks_us = streams.time_us[(streams.due & 1) != 0]
    assert len(streams.estimates) == len(ticks_us) == len(streams.commands)
    rows = np.searchsorted(ticks_us, flown.log.time_us)
    at = np.flatnonzero(np.isin(flown.log.time_us, ticks_us))
    assert len(at) > 200
    assert np.array_equal(streams.estimates["pos_ned"][rows[at]], flown.log["est_pos_ned"][at])
    assert np.abs(flown.log["est_pos_ned"] - flown.log["pos_ned"]).max() > 0.1


def test_the_estimate_is_optional_in_the_file_and_does_not_change_the_flight(run, tmp_path):
    """Same digests without it; the array is marked optional, so older versions skip it."""
    flown, folder = run
    plain = simulate("iris", overrides=NOISY)
    assert (plain.digest, plain.simulation.live_digest()) == (flown.digest, flown.simulation.live_digest())
    plain.save(tmp_path / "plain", plots=False)
    with h5py.File(folder / "recording.h5") as file, h5py.File(tmp_path / "plain" / "recording.h5") as other:
        assert file["streams/estimates"].attrs["optional"] == 1
        assert file.attrs["version"] == other.attrs["version"]
        assert "estimates" not in other["streams"]


def test_a_replay_has_the_recorded_estimate(run):
    """Bit-identical flight, and the estimate of the live flight in its log."""
    flown, folder = run
    replayed = replay(folder)
    assert replayed.matches
    log = replayed.simulation.log["bus"]["estimate"]
    assert np.array_equal(log, flown.simulation.log["bus"]["estimate"])


def test_the_autopilot_flies_again_with_the_recorded_estimate(run):
    """Unchanged: bit-identical flight and setpoints. A changed gain is a change, and the flight differs."""
    flown, folder = run
    again = replay(folder, autopilot=True)
    assert again.matches
    assert again.simulation.live_digest() == flown.simulation.live_digest()
    changed = replay(folder, autopilot=True, overrides={"autopilot.params.MC_ROLLRATE_P": 0.16})
    assert not changed.matches
    assert [change.key for change in changed.changes] == ["autopilot.params.MC_ROLLRATE_P"]
    estimates = changed.simulation.log["bus"]["estimate"]
    assert np.array_equal(estimates, flown.simulation.log["bus"]["estimate"])


def test_the_recorded_estimate_is_used_whatever_the_seed():
    """The estimator's noise is in the recording: an edited estimate changes what the autopilot does."""
    flown = simulate("iris", overrides=NOISY | {"run.record_estimate": True}).recording
    flown.streams.estimates.flags.writeable = True
    flown.streams.estimates["pos_ned"][600:] += 1.0
    again = replay(flown, autopilot=True)
    assert again.first_difference.time_us >= int(flown.streams.time_us[flown.streams.due & 1 != 0][600])


def test_keys_of_other_stages_are_still_recorded(run):
    """Wind and seed come from the recording, also if the autopilot flies."""
    with pytest.raises(InputError, match=r"aircraft\.seed = 6.*would have no effect"):
        replay(run[1], autopilot=True, overrides={"aircraft.seed": 6})
    with pytest.raises(InputError, match=r"autopilot\.params\.MC_ROLLRATE_P.*would have no effect"):
        replay(run[1], overrides={"autopilot.params.MC_ROLLRATE_P": 0.16})


def test_without_a_recorded_estimate_the_autopilot_can_not_fly():
    """The error names the key that records it."""
    plain = simulate("iris", overrides={"timeline.t_end_s": 0.1}).recording
    with pytest.raises(InputError, match=r"has no estimate for the autopilot; fly it again with run\.record_estimate"):
        replay(plain, autopilot=True)


def test_a_branch_has_the_estimate_of_its_trunk(run):
    """The same rows without a change. A trunk without the estimate: the branch has none, either."""
    flown, folder = run
    [kept] = branch(folder, at_s=3.0)
    assert np.array_equal(kept.run.recording.streams.estimates, flown.recording.streams.estimates)
    trunk = simulate("iris", overrides=NOISY).recording
    [lacking] = branch(trunk, at_s=3.0, overrides={"run.record_estimate": True})
    assert len(lacking.run.recording.streams.estimates) == 0


class Clock:
    """An estimator in Python that estimates the time as north position, plus an error."""

    def __init__(self, error=0.0):
        self.error = error

    def step(self, time_us, inputs, outputs):
        """Write the estimate."""
        outputs.pos_ned[0] = time_us + self.error


def test_a_python_estimator_is_recorded_and_replayed():
    """Its estimate is replayed without it; another estimator may take its place."""
    timeline = Timeline(10_000, autopilot=Periodic(1_000), log=Periodic(1_000))
    flown = Simulation(FreeFall(), timeline, estimator=Clock(), record=True, record_estimate=True).run()
    assert flown.streams.estimates["pos_ned"][:, 0].tolist() == list(range(0, 10_001, 1_000))
    replayed = Simulation(FreeFall(), timeline, replay=flown.streams).run()
    assert np.array_equal(replayed.log["bus"]["estimate"], flown.log["bus"]["estimate"])
    other = Simulation(FreeFall(), timeline, replay=flown.streams, estimator=Clock(7.0)).run()
    assert other.log["bus"]["estimate"]["pos_ned"][-1, 0] == 10_007.0


def test_an_estimate_of_the_wrong_length_is_rejected():
    """Neither empty nor one row per tick."""
    timeline = Timeline(10_000, autopilot=Periodic(1_000))
    streams = Simulation(FreeFall(), timeline, estimator=Clock(), record=True, record_estimate=True).run().streams
    object.__setattr__(streams, "estimates", np.zeros(3, ESTIMATE))
    with pytest.raises(InputError, match=r"stream 'estimates' has 3 rows; the timeline needs 11"):
        Simulation(FreeFall(), timeline, replay=streams)


def test_the_estimate_can_only_be_recorded_with_an_estimator_and_a_recording():
    """Both are required."""
    timeline = Timeline(10_000, autopilot=Periodic(1_000))
    for options in ({"record": True}, {"estimator": Clock()}):
        with pytest.raises(InputError, match="record_estimate needs a recorded run with an estimator"):
            Simulation(FreeFall(), timeline, record_estimate=True, **options)
