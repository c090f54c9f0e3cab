"""Setpoint mode of the built-in autopilot: PX4's offboard, from tables, events and Python."""

import math

import numpy as np
import pytest

from px4lockstep.autopilots.base import Capabilities
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.branch import branch
from px4lockstep.flights.recording.contents import contents_of
from px4lockstep.flights.recording.file import read_recording
from px4lockstep.flights.replay import replay
from px4lockstep.flights.run import simulate
from px4lockstep.scenario.setpoint_rows import NONE, TRAJECTORY
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

NAN = (math.nan, math.nan, math.nan)
OFFBOARD, RETURN, HOLD = 14, 5, 4
CALM = {"environment.wind": "none", "timeline.dt_log_s": 0.02}
UP = (0.0, 0.0, -8.0)
TABLE = {
    "time_s": (2.0, 9.0, 11.0, 15.0, 17.0, 17.5, 19.0),
    "pos_ned": (UP, NAN, (math.nan, math.nan, -8.0), NAN, NAN, NAN, UP),
    "vel_ned": (NAN, (1.0, 0.0, 0.0), (0.0, 0.5, math.nan), NAN, NAN, NAN, NAN),
    "acc_ned": (NAN, NAN, NAN, (0.3, 0.0, 0.0), NAN, NAN, NAN),
    "yaw_rad": (0.5, math.nan, math.nan, math.nan, math.nan, math.nan, 0.0),
    "yaw_rate_rad_s": (math.nan, 0.2, math.nan, math.nan, math.nan, math.nan, math.nan),
    "attitude_rad": (NAN, NAN, NAN, NAN, (0.1, -0.05, 1.0), NAN, NAN),
    "omega_body": (NAN, NAN, NAN, NAN, NAN, (0.4, math.nan, 0.0), NAN),
    "thrust": (*[math.nan] * 4, 0.7, 0.7, math.nan),
}
"""All kinds of setpoints: position with heading, velocity with yaw rate, height with horizontal velocity, acceleration,
attitude, body rates, and position again."""


@pytest.fixture(scope="module")
def all_kinds():
    """A recorded flight of the X500 with all kinds of setpoints."""
    return simulate("x500", setpoints=TABLE, overrides=CALM | {"timeline.t_end_s": 26.0})


def at(run, time_s, name):
    """Return the values of a column of the log at a time."""
    return run.log[name][np.searchsorted(run.log.time_us, round(time_s * 1e6))]


def test_the_first_row_requests_the_mode_and_the_vehicle_takes_off(all_kinds):
    """It is armed at 1 s, as with a mission, which is not started; the climb follows PX4's takeoff ramp."""
    assert at(all_kinds, 1.9, "nav_state") == 0
    assert at(all_kinds, 2.1, "nav_state") == OFFBOARD
    assert all_kinds.log["request_mission"][-1] == 0
    assert at(all_kinds, 2.6, "pos_ned")[2] > -0.3  # the ramp takes MPC_TKO_RAMP_T = 3 s
    assert np.abs(at(all_kinds, 8.9, "pos_ned") - UP).max() < 0.5
    assert abs(at(all_kinds, 8.9, "yaw_sp") - 0.5) == 0.0


def test_each_kind_of_setpoint_is_followed(all_kinds):
    """Setpoints reach the log unchanged, and the vehicle follows them; tolerances are those of the loops at rest."""
    run = all_kinds
    assert np.array_equal(at(run, 10.0, "vel_sp_ned"), (1.0, 0.0, 0.0))
    assert np.abs(at(run, 10.9, "vel_ned") - (1.0, 0.0, 0.0)).max() < 0.2
    assert at(run, 10.9, "omega_body")[2] == pytest.approx(0.2, abs=0.05)
    assert np.array_equal(at(run, 14.0, "pos_sp_ned"), (math.nan, math.nan, -8.0), equal_nan=True)
    assert np.abs(at(run, 14.9, "vel_ned") - (0.0, 0.5, 0.0)).max() < 0.2
    assert np.array_equal(at(run, 16.0, "acc_sp_ned"), (0.3, 0.0, 0.0))
    gained = at(run, 17.0, "vel_ned") - at(run, 15.5, "vel_ned")
    assert gained[0] == pytest.approx(0.45, abs=0.15)
    q = at(run, 17.2, "q_sp")
    assert 2.0 * math.atan2(q[3], q[0]) == pytest.approx(1.0, abs=0.02)  # roll and pitch are small
    roll_error = abs(at(run, 17.45, "q_bn")[1] - at(run, 17.45, "q_sp")[1])
    assert roll_error < 0.02
    assert at(run, 17.45, "thrust_sp_body")[2] == pytest.approx(-0.7, abs=0.02)  # scaled with the battery voltage
    assert at(run, 17.8, "rate_sp_body")[0] == 0.4
    assert at(run, 17.9, "omega_body")[0] == pytest.approx(0.4, abs=0.05)
    assert np.abs(at(run, 25.9, "pos_ned") - UP).max() < 1.0


def test_interpolated_rows_ramp():
    """A linear table moves the setpoint between its rows, and an angle the shorter way."""
    table = {
        "time_s": (2.0, 8.0, 12.0),
        "pos_ned": (UP, UP, (4.0, 0.0, -8.0)),
        "yaw_rad": (3.0, 3.0, -3.0),
        "interpolate": "linear",
    }
    run = simulate("x500", setpoints=table, overrides=CALM | {"timeline.t_end_s": 14.0})
    assert np.allclose(at(run, 9.0, "pos_sp_ned"), (1.0, 0.0, -8.0), atol=1e-12)
    assert at(run, 10.0, "yaw_sp") == pytest.approx(math.pi, abs=1e-9)
    assert np.array_equal(at(run, 13.0, "pos_sp_ned"), (4.0, 0.0, -8.0))


def test_a_function_gives_the_same_flight_as_a_table(all_kinds):
    """The values of a Python function enter at the same ticks."""
    times = [round(time_s * 1e6) for time_s in TABLE["time_s"]]

    def setpoint(time_us, inputs):
        row = int(np.searchsorted(times, time_us, side="right")) - 1
        return {name: column[row] for name, column in TABLE.items() if name != "time_s"} if row >= 0 else None

    run = simulate("x500", setpoints=setpoint, overrides=CALM | {"timeline.t_end_s": 26.0})
    assert run.digest == all_kinds.digest
    assert run.simulation.live_digest() == all_kinds.simulation.live_digest()
    assert run.spec.scenario.setpoints_from_python


def test_lost_setpoints_trigger_the_failsafe():
    """COM_OF_LOSS_T after the end of the table, COM_OBL_RC_ACT acts; without remote control PX4 returns."""
    table = {"time_s": (2.0,), "pos_ned": ((6.0, 0.0, -3.0),), "end_s": 9.0}
    run = simulate("x500", setpoints=table, overrides=CALM | {"timeline.t_end_s": 12.0})
    last_us = 9_000_000 - 4_000
    lost = run.log.time_us[np.flatnonzero(run.log["failsafe"] == 6)[0]]
    assert last_us + 1_000_000 <= lost <= last_us + 1_000_000 + 20_000  # a row of the log
    assert at(run, 11.0, "nav_state") == RETURN
    assert run.outcome.word == "setpoints not followed"
    assert "a failsafe (setpoints lost) took over" in str(run.outcome.reason)


def test_setpoints_that_return_are_followed_again():
    """A gap longer than COM_OF_LOSS_T holds the vehicle; the next row ends the failsafe, without a new request."""
    table = {"time_s": (2.0, 8.0, 10.0), "pos_ned": (UP, NAN, (2.0, 0.0, -8.0))}
    params = {"autopilot.params": {"COM_OBL_RC_ACT": 5, "COM_OF_LOSS_T": 0.5}}
    run = simulate("x500", setpoints=table, overrides=CALM | params | {"timeline.t_end_s": 14.0})
    modes = [int(at(run, time_s, "nav_state")) for time_s in (8.4, 8.6, 9.9, 10.1)]
    assert modes == [OFFBOARD, HOLD, HOLD, OFFBOARD]
    assert at(run, 13.0, "failsafe") == 0
    assert run.outcome.word == "flown"


@pytest.fixture(scope="module")
def by_events(tmp_path_factory):
    """A recorded flight by events, with a changed parameter; and its folder."""
    events = [
        {"at_s": 2.0, "action": "setpoint", "pos_ned": UP},
        {"at_s": 9.0, "action": "set_param", "name": "MPC_XY_VEL_MAX", "value": 0.5},
        {"at_s": 10.0, "action": "setpoint", "pos_ned": (8.0, 0.0, -8.0)},
        {"when": {"signal": "distance_home_m", "above": 2.0}, "action": "set_param"}
        | {"name": "MPC_XY_VEL_MAX", "value": 1.5},
        {"at_s": 17.0, "action": "return"},
        {"at_s": 19.0, "action": "offboard"},
        {"at_s": 24.0, "action": "setpoint", "pos_ned": UP},
    ]
    overrides = CALM | {"scenario.events": events, "timeline.t_end_s": 30.0, "run.record_estimate": True}
    run = simulate("x500", overrides=overrides)
    return run, run.save(tmp_path_factory.mktemp("runs") / "events", plots=False)


def test_events_give_setpoints_and_request_the_mode(by_events):
    """The setpoint is held until the next; a return leaves the mode, and `offboard` requests it again."""
    run, _ = by_events
    modes = [int(at(run, time_s, "nav_state")) for time_s in (1.9, 2.1, 16.9, 17.1, 18.9, 19.1, 29.9)]
    assert modes == [0, OFFBOARD, OFFBOARD, RETURN, RETURN, OFFBOARD, OFFBOARD]
    assert np.array_equal(at(run, 23.9, "pos_sp_ned"), (8.0, 0.0, -8.0))
    assert np.array_equal(at(run, 24.1, "pos_sp_ned"), UP)


def test_set_param_changes_a_parameter_in_flight(by_events):
    """The vehicle flies as fast as the parameter allows: 0.5 m/s, and 1.5 m/s after the second event."""
    run, _ = by_events
    near = (run.log.time_us > 11_000_000) & (run.log["pos_ned"][:, 0] < 1.9) & (run.log.time_us < 17_000_000)
    assert 0.4 < np.abs(run.log["vel_ned"][near, 0]).max() < 0.7
    assert 1.2 < at(run, 16.9, "vel_ned")[0] < 1.8


def test_a_recording_replays_to_the_same_digest_and_has_the_setpoints(by_events):
    """Of each autopilot tick. A flight without setpoints has no such stream."""
    folder = by_events[1]
    again = replay(folder)
    assert (again.matches, again.outcome.word) == (True, "flown")
    slower = replay(folder, overrides={"airframe.mass_kg": 2.1})  # its log has no modes
    assert slower.outcome.word in ("not known", "crashed", "out of control", "tipped over")
    streams = read_recording(folder).streams
    assert len(streams.setpoints) == len(streams.commands)
    assert np.array_equal(streams.setpoints["setpoint"]["pos_ned"][-1], UP)
    assert streams.setpoints["requests"][-1] == 4
    assert (
        "streams/setpoints" not in contents_of(simulate("iris", overrides={"timeline.t_end_s": 0.1}).recording).arrays
    )


def test_the_autopilot_flies_a_replay_with_the_recorded_setpoints():
    """Bit-identical, with the recorded estimate."""
    overrides = CALM | {"timeline.t_end_s": 5.0, "run.record_estimate": True}
    run = simulate("x500", setpoints={"time_s": (2.0,), "pos_ned": (UP,)}, overrides=overrides)
    again = replay(run.recording, autopilot=True)
    assert again.matches
    assert np.array_equal(again.simulation.log["bus"]["autopilot"]["pos_sp_ned"][-1], UP)


def test_a_replay_with_the_autopilot_refuses_changed_parameters(by_events):
    """Its stream has no parameters."""
    with pytest.raises(InputError, match="set_param"):
        replay(by_events[1], autopilot=True)


@pytest.mark.parametrize("at_s", [8.0, 16.0, 22.0])
def test_a_branch_from_setpoint_mode_flies_on_identically(by_events, at_s):
    """Before and after parameters have changed; the state of the mode and the parameters are those of the trunk."""
    run, folder = by_events
    (unchanged,) = branch(folder, at_s=at_s)
    assert unchanged.run.digest == run.digest


def test_a_branch_cannot_change_a_past_setpoint(by_events):
    """The event has fired."""
    events = [dict(event.model_dump(exclude_none=True)) for event in by_events[0].spec.scenario.events]
    events[0]["pos_ned"] = (0.0, 0.0, -9.0)
    with pytest.raises(InputError, match="fired before"):
        branch(by_events[1], at_s=16.0, overrides={"scenario.events": events})


@pytest.mark.parametrize("first_s", [2.0, 12.0])
def test_a_branch_may_have_a_shorter_or_later_table(first_s):
    """The row that has begun is found again; until a later first row, no setpoints arrive, which is a loss."""
    table = {"time_s": tuple(2.0 + 0.02 * i for i in range(400)), "pos_ned": (UP,) * 400}
    trunk = simulate("x500", setpoints=table, overrides=CALM | {"timeline.t_end_s": 14.0})
    new = {"time_s": (first_s,), "pos_ned": ((3.0, 0.0, -8.0),)}
    (found,) = branch(trunk.recording, at_s=9.0, overrides={"scenario.setpoints": new})
    assert found.run.error is None
    assert at(found.run, 11.0, "nav_state") == (OFFBOARD if first_s < 9.0 else RETURN)
    assert np.array_equal(at(found.run, 13.9, "pos_sp_ned"), (3.0, 0.0, -8.0))


def test_a_branch_may_add_a_table_to_events(by_events):
    """The setpoint of the past event goes on until the first row of the table."""
    new = {"time_s": (14.0, 15.0), "pos_ned": ((1.0, 1.0, -8.0), (2.0, 2.0, -8.0))}
    (found,) = branch(by_events[1], at_s=12.0, overrides={"scenario.setpoints": new})
    wanted = [at(found.run, time_s, "pos_sp_ned").tolist() for time_s in (13.9, 14.1, 15.1)]
    assert wanted == [[8.0, 0.0, -8.0], [1.0, 1.0, -8.0], [2.0, 2.0, -8.0]]


def test_a_restored_snapshot_flies_on_identically(by_events):
    """Back to before the parameters changed, and again to the end."""
    simulation = build(by_events[0].spec).simulation.run(8_000_000)
    saved = simulation.snapshot()
    simulation.run()
    simulation.restore(saved)
    simulation.run()
    assert simulation.digest() == by_events[0].digest


def test_setpoints_that_are_not_reached_are_reported():
    """A vehicle that can only creep is still on its way; one that is never armed never enters the mode."""
    far = {"time_s": (2.0,), "pos_ned": ((90.0, 0.0, -5.0),)}
    slow = {"autopilot.params": {"MPC_XY_VEL_MAX": 2.0}, "timeline.t_end_s": 18.0}
    run = simulate("x500", setpoints=far, overrides=CALM | slow)
    assert run.outcome.word == "out of time"
    assert "from the last position setpoint" in str(run.outcome.reason)
    run = simulate("x500", setpoints=far, overrides={"timeline.t_end_s": 4.0, "scenario.arm_time_s": 5.0})
    assert (run.outcome.word, "never entered" in str(run.outcome.reason)) == ("setpoints not followed", True)


@pytest.mark.parametrize(
    ("table", "end_s", "word", "reason"),
    [
        # The setpoint runs away at 50 m/s; or moves at 3 m/s, and the vehicle lags behind it.
        ({"time_s": (2.0, 8.0, 28.0), "pos_ned": (UP, UP, (1e3, 0, -8))}, 28.0, "setpoints not followed", "the path"),
        ({"time_s": (2.0, 8.0, 20.0), "pos_ned": (UP, UP, (36.0, 0.0, -8.0))}, 20.0, "flown", ""),
        ({"time_s": (2.0, 8.0), "vel_ned": ((0, 0, -1), (3, 0, 0)), "interpolate": "hold"}, 19.0, "flown", ""),
        (
            {"time_s": (2.0, 8.0), "vel_ned": ((0, 0, -1), (25, 0, 0)), "interpolate": "hold"},
            19.0,
            "setpoints not followed",
            "m/s from the last setpoint",
        ),
        # It lands on the way and is disarmed: setpoints below the ground are reached, a climb is not.
        ({"time_s": (2.0, 8.0), "pos_ned": ((0, 0, -2), (0, 0, 3)), "interpolate": "hold"}, 25.0, "flown", ""),
        (
            {"time_s": (2.0, 8.0, 24.0), "pos_ned": ((0, 0, -2), (0, 0, 3), UP), "interpolate": "hold"},
            25.0,
            "setpoints not followed",
            "demand a climb",
        ),
    ],
)
def test_setpoints_of_the_last_seconds_must_be_followed(table, end_s, word, reason):
    """Positions are judged by their path, constant velocities by the mean velocity at the end."""
    run = simulate("x500", setpoints={"interpolate": "linear"} | table, overrides=CALM | {"timeline.t_end_s": end_s})
    assert (run.outcome.word, reason in str(run.outcome.reason)) == (word, True)
    again = replay(run.recording)
    assert (again.matches, again.outcome) == (True, run.outcome)


def test_a_request_for_setpoint_mode_that_is_ignored_fails_the_flight():
    """After the mission has landed, the vehicle is disarmed, and the mode is not entered."""
    table = {"time_s": (90.0,), "vel_ned": ((0.0, 0.0, -1.0),)}
    overrides = CALM | {"timeline.t_end_s": 91.0, "scenario.mission_time_s": 2.0}
    run = simulate("x500", setpoints=table, overrides=overrides)
    assert run.summary.mission_finished
    assert (run.outcome.word, "never entered" in str(run.outcome.reason)) == ("setpoints not followed", True)


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"action": "setpoint"}, "no value for 'setpoint'"),
        ({"action": "setpoint", "omega_body": (0.0, 0.0, 0.0)}, "thrust is missing"),
        ({"action": "estimate_bias", "pos_ned": NAN}, "nan is for `setpoint`"),
        ({"action": "set_param", "name": "MPC_XY_P"}, "value is missing"),
        ({"action": "set_param", "name": "MPC_XY_P", "value": 90.0}, "out of range"),
        ({"action": "set_param", "name": "MC_AIRMODE", "value": 1}, "does not use it"),
        ({"action": "set_param", "name": "MPC_XYZ", "value": 1}, "MPC_XYZ"),
    ],
)
def test_events_that_cannot_be_flown_are_errors(event, message):
    """The report names the event."""
    with pytest.raises(InputError) as error:
        simulate("x500", overrides={"scenario.events": [{"at_s": 3.0} | event]})
    assert message in str(error.value)
    assert "scenario.events[0]" in str(error.value)


def test_only_an_autopilot_with_a_setpoint_mode_takes_setpoints():
    """Real PX4 as a library takes none; stock PX4 reads parameters at the start."""
    table = {"scenario.setpoints": {"time_s": (2.0,), "pos_ned": (UP,)}}
    with pytest.raises(InputError, match="real PX4 takes no setpoints, because PX4's own modules publish"):
        load_spec("x500", table | {"autopilot.kind": "px4"})
    assert load_spec("x500", table | {"autopilot.kind": "px4-sitl"}).scenario.gives_setpoints
    events = [{"at_s": 3.0, "action": "set_param", "name": "MPC_XY_P", "value": 1.0}]
    with pytest.raises(InputError, match="can't change in flight"):
        load_spec("x500", {"scenario.events": events, "autopilot.kind": "px4-sitl"})
    with pytest.raises(InputError, match="there is no function"):
        simulate("x500", overrides={"scenario.setpoints_from_python": True})


def test_an_autopilot_in_python_reads_the_setpoint_of_its_tick():
    """From a table of the spec; without the capability, the table is an error."""
    seen = {}

    class Follower:
        capabilities = Capabilities(takes_setpoints=True)

        def step(self, time_us, inputs, outputs):
            asked = inputs.setpoint
            seen[time_us] = int(asked.requests), int(asked.setpoint.kind), asked.setpoint.pos_ned.tolist()

    overrides = {"scenario.setpoints": {"time_s": (0.008,), "pos_ned": (UP,)}, "timeline.t_end_s": 0.02}
    simulate("x500", autopilot=Follower(), overrides=overrides)
    assert seen[4_000][:2] == (0, NONE)
    assert seen[8_000] == seen[16_000] == (1, TRAJECTORY, list(UP))
    Follower.capabilities = Capabilities()
    with pytest.raises(InputError, match="takes no setpoints"):
        simulate("x500", autopilot=Follower(), overrides=overrides)


@pytest.mark.parametrize(
    "given", [{"pos": UP}, {"pos_ned": (0.0, 0.0)}, {"thrust": 0.5}, {"pos_ned": (0, 0, 2e6)}, {"thrust": 10**400}, 7]
)
def test_a_function_that_returns_something_else_is_an_error(given):
    """At the first tick at which it does."""
    with pytest.raises(InputError, match="the setpoint function"):
        simulate("x500", setpoints=lambda time_us, inputs: given, overrides={"timeline.t_end_s": 1.0})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"pos_ned": ((0.0, 0.0, math.nan),)}, "leaves an axis without a setpoint"),
        ({"pos_ned": ((0.0, math.nan, -2.0),)}, "north without east"),
        ({"omega_body": ((0.0, 0.0, 0.0),)}, "thrust[0] is missing"),
        ({"attitude_rad": ((0.0, 0.0, math.nan),), "thrust": (0.5,)}, "incomplete"),
        ({"attitude_rad": ((0.0, 0.0, 0.0),), "thrust": (1.5,)}, "thrust"),
        ({"pos_ned": (UP,), "thrust": (0.5,)}, "without an attitude"),
        ({"pos_ned": (UP, UP)}, "has 2 rows; time_s has 1"),
        ({"pos_ned": (UP,), "end_s": 1.0}, "is not after the first row"),
        ({"pos": (UP,)}, "unknown"),
    ],
)
def test_setpoints_that_cannot_be_flown_are_errors(table, message):
    """The error names the key and the row."""
    with pytest.raises(InputError) as error:
        simulate("x500", setpoints={"time_s": (2.0,)} | table)
    assert message in str(error.value)
    assert "scenario.setpoints" in str(error.value)


def test_setpoints_of_another_type_are_an_error():
    """Neither a function nor a table."""
    with pytest.raises(InputError, match=r"setpoints = \[1, 2\] is not allowed; it must be a function"):
        simulate("x500", setpoints=[1, 2])


def test_a_function_with_other_arguments_is_refused_before_the_flight():
    """With what it must accept."""
    with pytest.raises(InputError, match=r"the setpoint function <lambda>\(time_us\) can't be called with \(time_us, "):
        simulate("x500", setpoints=lambda time_us: None)


def test_an_error_in_a_function_names_it_its_line_and_the_time():
    """Not a stage of the loop, which the user does not know."""

    def divides(time_us, inputs):
        return {"pos_ned": (0.0, 0.0, -5.0 / (time_us < 500_000))}

    text = r"the setpoint function divides failed at t = .* s: test_setpoints\.py, line \d+: ZeroDivisionError"
    with pytest.raises(SimulationError, match=text):
        simulate("x500", setpoints=divides)
