"""A served flight is recorded: it is replayed, flown again and branched, with equal digests."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
from served import CALM, Flown, square

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.flights.recorded import recorded_spec
from px4lockstep.scenario.commands import (
    COMMANDS,
    Arm,
    ChangeAltitude,
    CommandResult,
    CommandRow,
    FollowTarget,
    GoTo,
    InjectFailure,
    Item,
    Land,
    Orbit,
    Return,
    SetCurrentItem,
    SetFence,
    SetMission,
    SetMode,
    SetParam,
    Setpoint,
    SetRally,
    SetRoi,
    SetWind,
    StartMission,
    Sticks,
    Takeoff,
    rows_of,
    text_of,
)
from px4lockstep.spec.spec import with_commands

OFFBOARD, POSITION, FOLLOW = 14, 2, 19


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Fly all kinds of commands; return the run folder."""
    with Flown(record=tmp_path_factory.mktemp("served"), seed=3) as flown:
        flown.fly(0.5037)
        flown.give(SetMode(OFFBOARD))
        assert not flown.give(Arm()).is_accepted
        flown.give_all(SetMode(4), SetMission(square(flown), 4), SetParam("MPC_XY_CRUISE", 4.0), Arm(), StartMission())
        flown.fly(11.0)
        lat_deg, lon_deg, _ = flown.place(0.0, 0.0, 0.0)
        flown.give_all(SetFence((Item(0, 5003, (200.0, 0.0, 0.0, 0.0), lat_deg, lon_deg),)))
        flown.give_all(SetRally((Item(3, 5100, x=lat_deg, y=lon_deg),)), SetCurrentItem(2), SetWind((2.0, 1.0, 0.0)))
        flown.fly(8.0)
        flown.give_all(GoTo(*flown.place(10.0, 5.0, 12.0)), SetParam("MPC_Z_VEL_P_ACC", 4.5))
        flown.fly(4.0)
        flown.give_all(ChangeAltitude(flown.home.alt_amsl_m + 13.0), SetRoi(*flown.place(0.0, 50.0, 0.0)))
        flown.give_all(Orbit(8.0, 2.0, 0, *flown.place(10.0, 5.0, 12.0)))
        flown.fly(4.0)
        flown.give_all(FollowTarget(*flown.place(12.0, 5.0, 0.0)), SetMode(FOLLOW))
        flown.fly(0.5)
        flown.give_all(FollowTarget(*flown.place(13.0, 5.0, 0.0), (1.0, 0.0, 0.0)), GoTo())
        for i in range(40):
            flown.vehicle.submit(Setpoint(pos_ned=(8.0, 0.1 * i, -10.0)))
            flown.vehicle.submit(Sticks(pitch=0.3))
            if i in (5, 20):
                flown.vehicle.submit(SetMode(OFFBOARD if i == 5 else POSITION))
            flown.fly(0.05)
        flown.give_all(InjectFailure(101, 4, 2), Return())
        flown.until(lambda status: not status.armed, 120.0)
    return flown.vehicle.folders[0]


@pytest.fixture(scope="module")
def run(folder):
    return px4lockstep.read_run(folder)


def test_a_served_flight_is_replayed_with_the_same_digest(folder, run):
    """Without the autopilot, from the recorded streams; the verdict is the same."""
    replayed = px4lockstep.replay(folder)
    assert replayed.digest == run.summary["digest"]
    assert run.summary["outcome"] == "flown"


def test_a_long_stream_of_setpoints_is_stored_as_it_comes_and_can_be_read_again(tmp_path):
    """20 s at 50 Hz: more characters than the timeline has boundaries, and more rows than stay in memory."""
    with Flown(record=tmp_path, plots=False) as flown:
        flown.take_off()
        for i in range(1_000):
            flown.vehicle.submit(Setpoint(pos_ned=(0.01 * i, 0.0, -3.0), yaw_rad=0.0))
            if i == 1:
                flown.vehicle.submit(SetMode(OFFBOARD))
            flown.fly(0.02)
        [folder] = tmp_path.iterdir()
        assert len((folder / "commands.jsonl").read_text("utf-8").splitlines()) == 1_003
    run = px4lockstep.read_run(folder)
    assert len(run.recording.streams.scenarios) < 20  # setpoints do not change the outputs of the scenario
    assert run.recording.commands == (folder / "commands.jsonl").read_text("utf-8")
    assert (
        px4lockstep.simulate(folder / "spec.toml", commands=folder / "commands.jsonl").digest == run.summary["digest"]
    )
    assert run.summary["outcome"] == "flown"


def test_the_same_commands_on_the_same_spec_give_the_same_digest(folder, run):
    """From the files of the run folder; the results of the commands are the same, too."""
    commands = folder / "commands.jsonl"
    again = px4lockstep.simulate(folder / "spec.toml", commands=commands)
    assert again.digest == run.summary["digest"]
    assert again.simulation.live_digest() == run.recording.live_digest
    recorded = rows_of(commands.read_text("utf-8"), "commands")
    assert [(row.time_us, row.result) for row in again.simulation.given_commands] == [
        (row.time_us, row.result) for row in recorded
    ]
    assert {row.result.code for row in recorded} == {0, 1}
    assert again.outcome.word == "flown"


@pytest.mark.parametrize("at_s", [0.0, 5.0, 21.5, 26.1, 29.0])
def test_a_branch_without_changes_flies_the_same_commands(folder, run, at_s):
    """Also after a checkpoint: mission, fence and parameters are those of that time."""
    [one] = px4lockstep.branch(folder, at_s)
    assert one.run.digest == run.summary["digest"]


def test_a_branch_with_a_change_differs_and_goes_on_with_the_commands(folder, run):
    [one] = px4lockstep.branch(folder, 15.0, overrides={"environment.wind_mean_ned": [4.0, 0.0, 0.0]})
    assert one.run.digest != run.summary["digest"]
    assert len(one.run.simulation.given_commands) == len(run.recording.commands.splitlines())


def test_a_branch_without_the_later_commands(folder):
    """It goes on as it was told before: here, it flies its mission and stays in the air."""
    [one] = px4lockstep.branch(folder, 15.0, commands=False)
    assert max(row.time_us for row in one.run.simulation.given_commands) < 15_000_000
    assert -one.run.log["pos_ned"][-1, 2] > 5.0
    assert one.run.outcome.word == "mission not finished" or one.run.simulation.bus.autopilot.mission_finished


def test_a_changed_command_is_noticed(folder, run):
    """A flight with another command is another flight."""
    recording = run.recording
    spec = recorded_spec(recording)
    rows = [
        dataclasses.replace(row, command=SetWind((2.5, 1.0, 0.0))) if isinstance(row.command, SetWind) else row
        for row in spec.commands
    ]
    flown = px4lockstep.fly(px4lockstep.build(with_commands(spec, rows), record=True))
    assert flown.digest != recording.digest


def test_every_command_survives_its_file():
    """A line is the same after it was read; NaN is null, and infinite numbers are texts."""
    examples = [
        kind() if not any(field.default is dataclasses.MISSING for field in dataclasses.fields(kind)) else None
        for kind in COMMANDS.values()
    ]
    rows = [CommandRow(4000 * i, command, CommandResult(), 0.5) for i, command in enumerate(examples) if command]
    rows.append(CommandRow(10**6, SetMission((Item(6, 16, (0.0, 1.0, 0.0, float("nan")), 47.0, 8.0, 5.0),), 3)))
    rows.append(CommandRow(10**6, SetParam("MPC_XY_P", 1.5), CommandResult(2, "refused: ü")))
    text = text_of(rows)
    assert text_of(rows_of(text, "file")) == text
    assert all(json.loads(line) for line in text.splitlines())


def test_wild_numbers_and_texts_of_a_client_do_not_spoil_the_recording(tmp_path):
    """What was refused is read as it was sent, and refused again: one message can't make a flight unreadable."""
    wild = (GoTo(1e30, 0.0), SetCurrentItem(10**38), Takeoff(math.inf), Takeoff(-math.inf), SetMode(2**40))
    wild += (SetParam("MPC_XY_CRUISE", math.inf), SetParam("A\u2028\x85\udc80", 1.0), InjectFailure(10**38, 0))
    wild += (Setpoint(pos_ned=(math.inf, 0.0, 1e30)), SetMission((Item(3, 16, (math.inf, 1e30, 0.0, 0.0), z=1e25),)))
    with Flown(record=tmp_path, plots=False) as flown:
        assert not any(flown.give(command).is_accepted for command in wild)
        flown.give_all(Arm())
    folder = flown.vehicle.folders[0]
    rows = recorded_spec(px4lockstep.read_run(folder).recording).commands
    assert [repr(row.command) for row in rows[:-1]] == list(map(repr, wild))  # nan differs from itself
    again = px4lockstep.simulate(folder / "spec.toml", commands=folder / "commands.jsonl")
    assert again.digest == px4lockstep.replay(folder).digest
    results = [row.result for row in again.simulation.given_commands]
    assert results == [row.result for row in flown.vehicle.rows]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1"),
        ("[" * 100_000, "line 1"),
        ('{"time_us":99999999999999999999,"command":"Arm"}', "time_us"),
        ('{"time_us":0,"command":"SetMode","values":{"nav_state":1e30}}', "must be int"),
        ('{"time_us":0,"command":"SetMode","values":{"nav_state":1' + 400 * "0" + "}}", "out of range"),
        ('{"time_us":0,"command":"SetMode","values":{"nav_state":"inf"}}', "must be int"),
        ('{"time_us":0,"command":"Arm","arrival_s":1' + 400 * "0" + "}", "arrival_s a number"),
        ('{"time_us":0,"command":"Arm","arrival_s":NaN}', "arrival_s a number"),
        ('{"time_us":0,"command":"GoTo","values":{"lat_deg":Infinity}}', "line 1"),
        ("[]", "must be an object"),
        ('{"time_us":1.5,"command":"Arm"}', "time_us = 1.5"),
        ('{"time_us":0,"command":"Amr"}', "did you mean 'Arm'"),
        ('{"time_us":0,"command":"Arm","values":{"now":1}}', "values by name"),
        ('{"time_us":0,"command":"Arm","values":{"force":1}}', "true or false"),
        ('{"time_us":0,"command":"SetMode"}', "lacks nav_state"),
        ('{"time_us":0,"command":"SetWind","values":{"vel_ned":[1]}}', "list of 3 values"),
        ('{"time_us":0,"command":"SetParam","values":{"param":3,"value":1}}', "must be str"),
        ('{"time_us":0,"command":"Arm","code":9}', "code must be 0 to 4"),
        ('{"time_us":8000,"command":"Arm"}\n{"time_us":4000,"command":"Arm"}', "before the line above"),
    ],
)
def test_a_wrong_file_is_rejected_with_its_line(line, message):
    with pytest.raises(InputError, match=message):
        rows_of(line, "commands.jsonl")


def test_a_command_between_two_ticks_is_an_error(tmp_path):
    """Times in a file are those of ticks."""
    path = Path(tmp_path) / "commands.jsonl"
    path.write_text('{"time_us":4001,"command":"Arm"}\n', "utf-8")
    with pytest.raises(InputError, match="4001 us, which is not a tick"):
        px4lockstep.simulate("x500", commands=path, overrides={"timeline.t_end_s": 1.0})


def test_commands_of_a_scenario_and_of_a_file_are_both_obeyed():
    """A spec with its own events is served with them; here they arm and land."""
    overrides = {**CALM, "scenario.events": [{"at_s": 1.0, "action": "arm"}, {"at_s": 14.0, "action": "land"}]}
    with Flown(overrides=overrides) as flown:
        flown.fly(1.5)
        assert flown.status.armed
        flown.give_all(Takeoff())
        flown.until(lambda status: status.nav_state == 4, 11.0)
        flown.until(lambda status: status.nav_state == 18, 10.0)
        flown.until(lambda status: not status.armed, 20.0)
        assert flown.run.outcome.word == "flown"


def test_a_landing_by_command_counts_as_requested():
    with Flown(overrides=CALM) as flown:
        flown.take_off()
        flown.give_all(Land())
        flown.fly(1.0)
        outcome = flown.run.outcome
    assert outcome.word == "out of time"
    assert "a landing was requested" in outcome.reason
