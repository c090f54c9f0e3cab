"""Branches: the recorded flight up to a given time, then a flight with changes."""

import re
from dataclasses import replace

import pytest
from recorded_flights import SHORT, recorded

import px4lockstep
from px4lockstep.engine.run_memory import CHECKPOINT_US
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.branch import Trunk, branch
from px4lockstep.flights.recorded import source_of
from px4lockstep.flights.recording.differences import FlightRows, first_difference
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.flights.replay import replay


@pytest.mark.parametrize("at_s", [0.0, 3.0, 10.0, 11.2345])
def test_a_branch_without_changes_equals_its_trunk(at_s):
    """Including estimate and setpoints, wherever the branch starts."""
    recording = recorded("octa", with_faults=True)
    [one] = branch(recording, at_s)
    assert one.run.digest == recording.digest
    assert one.run.simulation.live_digest() == recording.live_digest
    assert one.changes == ()


def test_a_branch_restarts_from_the_last_checkpoint():
    """The trunk is re-flown from the checkpoint before the branch time, not from its start."""
    trunk = Trunk.of(recorded(), 13.5)
    assert trunk.at_us == 13_500_000
    assert trunk.flown_us == 13_500_000 - CHECKPOINT_US
    assert Trunk.of(recorded(), 10.0).flown_us == CHECKPOINT_US  # from the checkpoint before, so that a part is checked


def test_a_branch_with_an_event_equals_a_flight_with_that_event():
    """A future event has no effect before it happens."""
    event = {"at_s": 8.5, "action": "return"}
    [one] = branch(recorded(), 6.0, events=[event])
    whole = px4lockstep.simulate("iris", overrides=SHORT | {"scenario.events": [event]})
    assert one.run.digest == whole.digest
    assert one.run.digest != recorded().digest


@pytest.mark.parametrize(
    "overrides",
    [
        {"airframe.mass_kg": 1.7},
        {"environment.wind_mean_ned": [6.0, 0.0, 0.0]},
        {"autopilot.params": {"MPC_XY_CRUISE": 3.0, "MPC_Z_VEL_MAX_UP": 1.0}},
        {"estimator.pos_sigma_m": 0.2},
        {"plant.integrator.kind": "RK4"},
        {"aircraft.seed": 77},
        {"environment.gusts": [{"start_s": 7.0, "end_s": 8.0, "vel_ned": [5.0, 0.0, 0.0]}]},
    ],
    ids=lambda overrides: next(iter(overrides)),
)
def test_changes_act_from_the_branch_time_on(overrides):
    """The logs are identical before it and differ after it; the branch replays to its own digest."""
    recording = recorded()
    [one] = branch(recording, 6.0, overrides=overrides)
    simulation = one.run.simulation
    parted = first_difference(FlightRows.of(recording), FlightRows.of(simulation), recording.state_names)
    assert parted is not None
    assert 6_000_000 <= parted.time_us < 8_000_000
    assert {change.key.split(".")[0] for change in one.changes} == {key.split(".")[0] for key in overrides}
    again = Recording.of(simulation, source_of(one.run.flight))
    assert again.starts_us == 6_000_000
    assert replay(again).matches
    assert branch(again, 9.0)[0].run.digest == one.run.digest
    with pytest.raises(InputError, match="a branch that starts at 6000000 us; 1000000 us is before"):
        branch(again, 1.0)


def test_each_branch_has_its_own_noise():
    """The first has the recorded seed; all are reproducible."""
    first, second, third = branch(recorded(), 5.0, count=3)
    assert first.run.digest == recorded().digest
    assert len({first.run.digest, second.run.digest, third.run.digest}) == 3
    assert [branch.run.spec.aircraft.seed for branch in (first, second, third)] == [5, 6, 7]
    assert branch(recorded(), 5.0, count=3)[2].run.digest == third.run.digest


def test_a_branch_may_end_later():
    """Everything after the branch time may change, including the end."""
    [one] = branch(recorded(), 6.0, overrides={"timeline.t_end_s": 16.0})
    assert one.run.summary.duration_s == 16.0
    rows = len(recorded().log) - 1  # the end had an additional row
    assert one.run.simulation.log[:rows].tobytes() == recorded().log[:rows].tobytes()


@pytest.mark.parametrize(
    ("overrides", "events", "message"),
    [
        ({"home.lat_deg": 40.0}, [], r"home\.lat_deg = 40\.0, was 47\.\d+: this can't change in flight"),
        ({"timeline.dt_log_s": 0.02}, [], "this can't change in flight"),
        ({"power.batteries[0].soc0": 0.5}, [], "the initial state was changed"),
        ({"scenario.arm_time_s": 0.3}, [], "before the checkpoint to resume, was changed"),
        ({}, [{"at_s": 3.0, "action": "land"}], "an event at 3.0 s is before the branch time, 6.0 s"),
        ({}, [{"at_s": 8.0, "action": "lands"}], "'lands' is unknown"),
        ({}, [{"at_step": 10, "action": "land"}], "scheduled at step 10, but the autopilot ran 1500 ticks before the"),
        ({"px4.mission_path": "long"}, [], r"px4\.mission_path = .*: this can't change in flight"),
        ({"timeline.t_end_s": 5.0}, [], "the end, 5000000 us, is not after the checkpoint"),
    ],
    ids=["home", "period", "state", "past event", "late event", "unknown action", "past step", "mission", "end"],
)
def test_changes_that_are_impossible_in_flight_are_refused(overrides, events, message):
    """The message has the key and the reason."""
    with pytest.raises(InputError, match=message):
        branch(recorded(), 6.0, overrides=overrides, events=events)


@pytest.mark.parametrize(("at_s", "message"), [(14.0, "not before the end"), (-1.0, "at_s"), (99.0, "not before")])
def test_a_branch_time_outside_the_flight_is_refused(at_s, message):
    """The message has the end of the flight."""
    with pytest.raises(InputError, match=message):
        branch(recorded(), at_s)


def test_a_count_out_of_range_is_refused():
    """Zero, and more than a disk can hold."""
    for count in (0, 10_001):
        with pytest.raises(InputError, match=r"must be 1 to 10000"):
            branch(recorded(), 5.0, count=count)


def test_a_recording_that_is_not_reproduced_is_an_error():
    """As after a change of the models; here the mass differs from the one that was flown."""
    recording = recorded()
    text = recording.source.spec.replace("mass_kg = 1.5", "mass_kg = 1.50001")
    assert text != recording.source.spec
    other = replace(recording, source=replace(recording.source, spec=text))
    version = re.escape(px4lockstep.__version__)
    told = rf"can't be reproduced: the flight first differs .*\. It was recorded with px4lockstep {version}"
    with pytest.raises(SimulationError, match=told):
        branch(other, 12.0)


def test_checkpoints_do_not_depend_on_how_the_run_is_split():
    """Every ten seconds, from the first boundary on."""
    spec = px4lockstep.load_spec("iris", SHORT)
    simulation = px4lockstep.build(spec, record=True).simulation
    for time_us in range(700_000, 14_000_000, 700_000):
        simulation.run(time_us)
    simulation.run()
    assert simulation.checkpoints.tobytes() == recorded().checkpoints.tobytes()
    assert len(simulation.checkpoints) == 2


def test_a_flight_that_differs_from_its_log_is_an_error():
    """As after a change of the models; here a row of the log was edited."""
    recording = recorded()
    state = recording.log_state.copy()
    state[500, 0] += 1e-9
    with pytest.raises(SimulationError, match=r"first differs from the recording at t = 5\.000000 s in pos\[0\]"):
        branch(replace(recording, log_state=state), 8.0)


def test_a_branch_that_fails_keeps_its_log_and_the_others_are_flown():
    """The failed branch has its error."""
    broken, other = branch(recorded(), 6.0, overrides={"airframe.linear_drag": 1e9}, count=2)
    for one in (broken, other):
        assert one.run.error is not None
        assert one.run.summary.outcome == "failed"
        assert one.run.log.rows > 600


def test_branches_count_up_from_a_given_seed():
    """Each further branch has the next seed."""
    branches = branch(recorded(), 9.0, overrides={"aircraft.seed": 40}, count=3)
    assert [one.run.spec.aircraft.seed for one in branches] == [40, 41, 42]
    assert len({one.run.digest for one in branches}) == 3


def test_the_realtime_factor_of_a_branch_excludes_its_trunk():
    """Only the time after the branch counts."""
    [one] = branch(recorded(), 12.0)
    assert one.run.simulation.flown_us == 2_000_000
    summary = one.run.summary
    assert summary.realtime_factor == pytest.approx(2.0 / summary.wall_s)


def test_integrators_can_not_be_compared_on_a_branch():
    """The past of a branch may have been flown with another aircraft."""
    [one] = branch(recorded(), 6.0, overrides={"airframe.mass_kg": 1.6})
    with pytest.raises(InputError, match=r"a branch that starts at 6\.0 s"):
        px4lockstep.compare(one.run.recording, ["RK4"])
