"""Replays: bit-identical to the recorded flight, or with changes and the first difference."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_flights import SHORT, record, recorded
from recording_files import tiny

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.differences import Difference
from px4lockstep.flights.recording.file import read_recording, write_recording
from px4lockstep.flights.replay import replay


@pytest.mark.parametrize("name", ["iris", "octa"])
def test_replay_is_bit_identical(name, tmp_path):
    """With wind, noise and faults, one of them conditional; through the file."""
    recording = recorded(name, with_faults=True)
    write_recording(recording, tmp_path / "flight.h5")
    replayed = replay(tmp_path / "flight.h5")
    assert replayed.digest == recording.digest
    assert replayed.matches
    assert replayed.first_difference is None
    assert replayed.changes == ()
    assert np.array_equal(replayed.simulation.log_state, recording.log_state)


def test_a_conditional_fault_replays_at_its_microsecond():
    """Its time is not in the file: it acts where the climb reaches 5 m, in the replay too."""
    recording = recorded("iris", with_faults=True)
    streams = recording.streams
    steps = np.flatnonzero(np.diff(streams.scenarios["wind_ned"][:, 0]) != 0.0) + 1
    [step] = streams.scenario_at[steps]
    time_us = int(streams.time_us[step])
    assert time_us not in (0, 6_030_500)
    simulation = replay(recording).simulation
    row = int(np.searchsorted(simulation.log["time_us"], time_us))
    wind = simulation.log["inputs"]["wind_ned"] - simulation.log["bus"]["wind"]["vel_ned"]
    assert abs(wind[row, 0] - 3.0) < 1e-12
    assert abs(wind[row - 1, 0]) < 1e-12
    fault_us = streams.time_us[streams.scenario_at[np.flatnonzero(streams.scenarios["faults"]["motor_weak_mask"])[0]]]
    assert fault_us == 6_030_500


def test_another_integrator_is_listed_and_differs_from_the_first_motion():
    """RK4 instead of the recorded RK45."""
    replayed = replay(recorded(), integrator="RK4")
    assert [str(change) for change in replayed.changes] == ["plant.integrator.kind = 'RK4', was 'RK45'"]
    assert not replayed.matches
    assert replayed.first_difference is not None
    assert replayed.first_difference.time_us == 1_000
    assert replayed.first_difference.as_dict().keys() == {"time_us", "field", "first", "second"}


TICK = 1_002
TICK_US = 4_000 * TICK
"""A tick of the autopilot between two rows of the log."""


def parted(by):
    """Return a recording that its replay does not match: one command was edited."""
    recording = recorded()
    commands = recording.streams.commands.copy()
    commands["motors"][TICK, 2] += by
    return replace(recording, streams=replace(recording.streams, commands=commands))


@pytest.mark.parametrize(("by", "field"), [(1e-3, "pos[0], pos[1], pos[2] and 16 more"), (1e-16, "omega[0], omega[2]")])
def test_a_replay_that_differs_reports_time_and_states(by, field):
    """Nothing was changed, but the states differ from one step after the edited command on."""
    replayed = replay(parted(by))
    assert not replayed.matches
    assert replayed.changes == ()
    assert TICK_US % 10_000 != 0
    found = replayed.first_difference
    assert found == Difference(TICK_US + 1_000, field, None, None)
    assert str(found) == f"t = {(TICK_US + 1_000) / 1e6:.6f} s in {field}"
    assert found.as_dict() == {"time_us": TICK_US + 1_000, "field": field, "first": None, "second": None}


def test_without_fingerprints_it_reports_the_row_of_the_log():
    """A recording of version 2 has none."""
    recording = parted(1e-3)
    replayed = replay(replace(recording, fingerprints=recording.fingerprints[:0]))
    assert replayed.first_difference.time_us == 4_010_000
    assert replayed.first_difference.first != replayed.first_difference.second


def test_changed_values_of_the_model_are_listed_and_act():
    """A battery with more resistance climbs later."""
    recording = recorded()
    replayed = replay(recording, settings=["power.batteries[0].r0=0.06"])
    assert [change.key for change in replayed.changes] == ["power.batteries[0].r0"]
    climbed = int(np.flatnonzero(recording.log_state[:, 2] < -0.5)[0])
    assert replayed.simulation.log_state[climbed, 2] > recording.log_state[climbed, 2] + 0.01


def test_a_physics_axis_may_be_added():
    """Boundaries are added; commands, wind and events keep their times."""
    recording = recorded("iris", with_faults=True)
    half = replay(recording, integrator="RK4", overrides={"timeline.dt_phys_s": 0.0005})
    whole = replay(recording, integrator="RK4")
    assert len(half.simulation.timeline) > 1.9 * len(whole.simulation.timeline)
    ours, theirs = (each.simulation.log["inputs"]["command"]["motors"] for each in (half, whole))
    assert np.array_equal(ours, theirs)
    # After a second in the air they are apart by the error of RK4, 1e-5 m; it grows from there without feedback.
    apart_m = np.abs(half.simulation.log_state[:501, :3] - whole.simulation.log_state[:501, :3])
    assert 0.0 < apart_m.max() < 5e-5


@pytest.mark.parametrize(
    "setting",
    [
        "aircraft.seed=3",
        "autopilot.params.MPC_XY_VEL_MAX=5.0",
        "environment.wind=none",
        "scenario.arm_time_s=1.0",
        "estimator.kind=none",
        "timeline.t_end_s=3.0",
        "timeline.dt_log_s=0.02",
        "px4.mission_path=long",
    ],
)
def test_recorded_inputs_can_not_be_changed(setting):
    """Such a change would have no effect."""
    with pytest.raises(InputError, match="takes commands, wind, scenario and their times from the recording"):
        replay(recorded(), settings=[setting])


def test_a_mistyped_change_names_the_key():
    """The message does not point into the recorded spec, which the user has never seen."""
    with pytest.raises(InputError, match=r"airframe\.mas = 1\.0: unknown key; did you mean 'mass_kg'"):
        replay(recorded(), overrides={"airframe.mas": 1.0})


def test_a_folder_without_a_recording_is_an_error(tmp_path):
    """The message tells a run folder without a recording from a folder that is not a run's."""
    with pytest.raises(InputError, match=r"is not a run folder: it has neither recording\.h5 nor spec\.toml"):
        read_recording(tmp_path)
    (tmp_path / "spec.toml").touch()
    with pytest.raises(
        InputError,
        match=r"has no recording\.h5: the flight was not recorded \(run\.mode = 'live'\) or did not reach its end",
    ):
        read_recording(tmp_path)
    with pytest.raises(InputError, match="can't be read: No such file"):
        read_recording(tmp_path / "nothing.h5")


def test_a_replay_has_the_outcome_of_the_flight():
    """From the recorded mission status; it is not known after changes."""
    flown = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 12.0, "run.mode": "record"})
    replayed = replay(flown.recording)
    assert replayed.outcome == flown.outcome
    assert replayed.outcome.word == "out of time"
    assert replay(flown.recording, overrides={"airframe.mass_kg": 1.51}).outcome.word == "not known"


def test_a_crash_replays():
    """The run ends where it ended."""
    recording = record("iris", {"scenario.events": [{"at_s": 9.0, "action": "disable_motor", "motor": 1}]})
    assert bool(recording.log["bus"]["scenario"]["crashed"][-1])
    assert replay(recording).matches


def test_replaying_with_another_spec_lists_or_refuses_changes():
    """The same rules as for changes by key."""
    recording = recorded()
    same = px4lockstep.load_spec("iris", SHORT)
    assert replay(recording, spec=same).matches
    softer = px4lockstep.load_spec("iris", SHORT | {"power.batteries[0].r0": 0.06})
    assert [change.key for change in replay(recording, spec=softer).changes] == ["power.batteries[0].r0"]
    for overrides in ({"aircraft.seed": 9}, {"px4.mission_path": "long"}):
        with pytest.raises(InputError, match="so this would have no effect"):
            replay(recording, spec=px4lockstep.load_spec("iris", SHORT | overrides))
    with pytest.raises(InputError, match="describes another aircraft: it has 23 states"):
        replay(recording, spec=px4lockstep.load_spec("octa", SHORT))
    with pytest.raises(InputError, match="not both"):
        replay(recording, spec=same, overrides={"airframe.mass_kg": 1.6})
    with pytest.raises(InputError, match="can't be flown"):
        px4lockstep.simulate("iris", overrides=SHORT | {"run.mode": "replay", "run.recording_in": "x.h5"})


def test_the_largest_seed_is_recorded(tmp_path):
    """It has 64 bits."""
    recording = record("iris", {"aircraft.seed": 2**64 - 1, "timeline.t_end_s": 1.0})
    write_recording(recording, tmp_path / "x.h5")
    assert read_recording(tmp_path / "x.h5").source.seed == 2**64 - 1
    assert replay(tmp_path / "x.h5").matches


def test_a_recording_with_another_initial_state_is_refused():
    """One bit is enough: its spec is then not the one that was flown."""
    recording = tiny()
    initial_state = recording.initial_state.copy()
    initial_state[2] = np.nextafter(initial_state[2], 1.0)
    with pytest.raises(InputError, match="describes another aircraft: its initial state differs"):
        replay(replace(recording, initial_state=initial_state))
