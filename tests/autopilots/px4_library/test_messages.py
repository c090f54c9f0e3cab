"""Further topics of PX4, listed in `px4.uorb.subs`: every message is logged, one file per topic in the run folder."""

import json
from contextlib import closing

import numpy as np
import pytest
from exported_ulogs import check_ulog
from mission_files import wpl
from px4_double import OPTIONS
from px4_runs import SHORT, flight_of, run, settings, warnings_of
from pyarrow import parquet
from spec_files import write

import px4lockstep
from px4lockstep.engine.buffers import grow_in_memory
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.flights.run import Run, fly
from px4lockstep.log.messages import columns_of, read_messages

pytestmark = pytest.mark.process

STATUS = {"key": "allocation", "type": "ControlAllocatorStatus"}
ITEM = {"key": "item", "type": "NavigatorMissionItemMsg"}
ITEM_MSG = """
uint64 timestamp
uint16 sequence_current
uint16 nav_cmd
float32 latitude
float32 longitude
float32 time_inside
float32 acceptance_radius
float32 loiter_radius
float32 yaw
float32 altitude
uint8 frame
uint8 origin
bool loiter_exit_xtrack
bool force_heading
bool altitude_is_relative
bool autocontinue
bool vtol_back_transition
"""


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    """Make doubles fail on violations."""
    monkeypatch.setenv(OPTIONS, "strict")


def logging(*subs, **changes):
    """Return the settings of a short flight that logs topics."""
    return SHORT | {"px4.uorb.preset": "state_injection", "px4.uorb.subs": list(subs)} | changes


def test_every_message_of_a_further_topic_is_logged(tmp_path):
    """The double publishes its allocation status every other tick; the log grows over several calls of the loop."""
    flown = fly(flight_of(tmp_path, changes=logging(STATUS)), watch=lambda _: None)
    columns = flown.uorb["control_allocator_status_0"]
    assert list(columns)[:3] == ["time_us", "timestamp", "unallocated_torque[0]"]
    assert "actuator_saturation[15]" in columns
    assert len(columns) == 1 + 1 + 3 + 3 + 2 + 2 + 16
    assert np.array_equal(columns["time_us"], np.arange(8_000, 4_000_001, 8_000))
    assert np.array_equal(columns["timestamp"], columns["time_us"])
    assert columns["torque_setpoint_achieved"].dtype == bool
    lands = {bool(flag) for flag in columns["actuator_saturation[0]"] == 0}
    assert lands == {True, False}  # off on the ground, then in the air
    assert warnings_of(flown) == []


def test_the_file_has_a_column_per_field(tmp_path):
    """Any Parquet reader opens it; the metadata names topic, instance and layout, and the log itself is unchanged."""
    flown = fly(flight_of(tmp_path, changes=logging(STATUS)))
    saved = flown.save(tmp_path / "run", plots=False)
    table = parquet.read_table(saved / "uorb" / "control_allocator_status_0.parquet")
    columns = flown.uorb["control_allocator_status_0"]
    assert table.column_names == list(columns)
    assert all(np.array_equal(table[name].to_numpy(), column) for name, column in columns.items())
    about = {key.decode(): value.decode() for key, value in table.schema.metadata.items()}
    assert about == {
        "schema": "px4lockstep.uorb",
        "schema_version": "1",
        "topic": "control_allocator_status",
        "instance": "0",
        "message_hash": "0xdd16e2c4",
    }
    (tmp_path / "plain").mkdir()
    assert fly(flight_of(tmp_path / "plain", changes=SHORT)).digest == flown.digest


def test_a_topic_that_the_package_does_not_describe_needs_the_librarys_or_the_users_layout(tmp_path, monkeypatch):
    """From the library's field string or a folder of definitions; otherwise an error with the remedy."""
    (tmp_path / "msg").mkdir()
    (tmp_path / "msg" / "NavigatorMissionItem.msg").write_text(ITEM_MSG)
    found = []
    for name, told, changes in (
        ("fields", "strict,fields", {}),
        ("folder", "strict", {"px4.msg_dir": str(tmp_path / "msg")}),
    ):
        monkeypatch.setenv(OPTIONS, told)
        (tmp_path / name).mkdir()
        flown = fly(flight_of(tmp_path / name, changes=logging(ITEM, **changes)))
        found.append(flown.uorb["navigator_mission_item_0"])
    for items in found:
        assert items["sequence_current"].tolist() == [0]
        assert items["nav_cmd"].tolist() == [22]
        assert items["altitude_is_relative"].tolist() == [True]
    assert found[0].keys() == found[1].keys()
    (tmp_path / "neither").mkdir()
    with pytest.raises(InputError, match=r"navigator_mission_item: .*hash 0x8627c53f .*; set px4\.msg_dir"):
        flight_of(tmp_path / "neither", changes=logging(ITEM))


def test_a_topic_that_the_library_does_not_have_is_an_error_before_the_flight(tmp_path):
    """With the closest name."""
    typo = {"key": "typo", "type": "ControlAllocatorStatu"}
    with pytest.raises(
        InputError, match=r"control_allocator_statu: this PX4 has no such topic; .*did you mean 'control"
    ):
        flight_of(tmp_path, changes=logging(typo))


def test_a_topic_that_px4_never_published_is_a_warning(tmp_path):
    """Its file is empty, not missing."""
    flown = fly(flight_of(tmp_path, changes=logging({"key": "hover", "type": "HoverThrustEstimate"})))
    warning = "PX4 published nothing on the logged topics hover_thrust_estimate_0 (px4.uorb.subs)"
    assert warnings_of(flown) == [warning]
    saved = flown.save(tmp_path / "run", plots=False)
    assert parquet.read_table(saved / "uorb" / "hover_thrust_estimate_0.parquet").num_rows == 0


def test_topics_that_the_simulator_uses_are_logged_on_request(tmp_path):
    """At every tick, and the flight still uses them; nested messages have columns with dots."""
    subs = (
        {"key": "motors", "type": "ActuatorMotors", "log": True},
        {"key": "triplet", "type": "PositionSetpointTriplet", "log": True},
        {"key": "rates", "type": "VehicleRatesSetpoint"},
    )
    flown = fly(flight_of(tmp_path, changes=logging(*subs)))
    assert list(flown.uorb) == ["actuator_motors_0", "position_setpoint_triplet_0"]
    motors, log = flown.uorb["actuator_motors_0"], flown.log
    assert len(motors["time_us"]) == 1_001
    row = int(np.searchsorted(log["time_us"], 3_600_000))
    tick = int(np.searchsorted(motors["time_us"], 3_600_000))
    assert np.float32(log["motors"][row, 0]) == motors["control[0]"][tick] > 0.0
    assert "current.lat" in flown.uorb["position_setpoint_triplet_0"]
    saved = flown.save(tmp_path / "run", plots=False, exports=["ulog"])
    exported = check_ulog(saved, without=["actuator_motors"])
    assert np.array_equal(exported.get_dataset("actuator_motors").data["control[0]"], motors["control[0]"])
    triplet = exported.get_dataset("position_setpoint_triplet").data
    assert np.array_equal(triplet["current.lat"], flown.uorb["position_setpoint_triplet_0"]["current.lat"])


def test_all_messages_of_a_queue_are_logged_and_texts_are_strings(tmp_path, monkeypatch):
    """The navigator publishes two commands at once; what follows the end of a text is undefined."""
    monkeypatch.setenv(OPTIONS, "strict,gimbal")
    lines = ("0 1 3 22 0 0 0 0 47.397742 8.545594 2 1", "1 0 2 20 0 0 0 0 0 0 0 1")
    subs = ({"key": "commands", "type": "VehicleCommand"}, {"key": "texts", "type": "MavlinkLog"})
    own = {"px4.mission_path": str(write(tmp_path, wpl(*lines), "up.waypoints")), "timeline.t_end_s": 12.0}
    flown = fly(flight_of(tmp_path, changes=logging(*subs, **own)))
    commands, texts = flown.uorb["vehicle_command_0"], flown.uorb["mavlink_log_0"]
    assert commands["command"].tolist()[1:3] == [20, 1001]  # after one at the start of the mission
    assert commands["time_us"][1] == commands["time_us"][2] > 1_000_000
    assert texts["text"].tolist()[:1] == ["Mission finished, loitering\t"]
    saved = flown.save(tmp_path / "run", plots=False)
    table = parquet.read_table(saved / "uorb" / "mavlink_log_0.parquet")
    assert table["text"].to_pylist() == texts["text"].tolist()


def test_buffers_move_in_flight_to_the_memory_of_a_campaign(tmp_path):
    """Which reuses arrays that are larger than needed; the messages before and after the move are there."""
    simulation = flight_of(tmp_path, changes=logging(STATUS)).simulation
    with closing(simulation):
        simulation.run(1_000_000)
        simulation.use_buffers(grow_in_memory)
        simulation.run()
    times_us = simulation.autopilot.message_log.received()["control_allocator_status_0"]["time_us"]
    assert times_us.tolist() == list(range(8_000, 4_000_001, 8_000))


def test_a_failed_run_keeps_what_was_received(tmp_path, monkeypatch):
    """Up to the step that failed."""
    monkeypatch.setenv(OPTIONS, "code.step_uorb=-3@500")
    flight = flight_of(tmp_path, changes=logging(STATUS))
    with pytest.raises(SimulationError) as caught, closing(flight.simulation):
        flight.simulation.run()
    saved = Run(flight, caught.value).save(tmp_path / "run", plots=False)
    times_us = parquet.read_table(saved / "uorb" / "control_allocator_status_0.parquet")["time_us"].to_numpy()
    assert times_us[-1] == 1_992_000
    assert len(times_us) == 249


def test_a_code_of_the_library_names_the_logged_topic(tmp_path, monkeypatch):
    """Its subscriber is checked right after the step."""
    monkeypatch.setenv(OPTIONS, "code.orb_check=-3")
    simulation = flight_of(tmp_path, changes=logging(STATUS)).simulation
    with (
        closing(simulation),
        pytest.raises(SimulationError, match=r"orb_check\(control_allocator_status\) returned -3"),
    ):
        simulation.run()


def test_the_command_line_writes_the_messages_also_after_a_crash(tmp_path):
    """PX4 flies in a child process, whose parent completes the folder from what the child had received."""
    asked = settings(SHORT | {"px4.uorb.preset": "state_injection"})
    asked += ["--set", "px4.uorb.subs=[{key='allocation',type='ControlAllocatorStatus'}]", "--json", "--no-plots"]
    times_us = {}
    for name, told in (("whole", "strict"), ("crashed", "signal=11@500")):
        finished = run("run", "iris", *asked, "--out", name, cwd=tmp_path, double=told)
        assert finished.returncode == 1, finished.stderr  # the mission takes longer
        assert json.loads(finished.stdout)["outcome"] == ("failed" if name == "crashed" else "out of time")
        folder = tmp_path / name
        assert not (folder / "log.rows").exists()
        assert [path.name for path in (folder / "uorb").iterdir()] == ["control_allocator_status_0.parquet"]
        table = parquet.read_table(folder / "uorb" / "control_allocator_status_0.parquet")
        times_us[name] = table["time_us"].to_numpy().tolist()
    assert times_us["whole"] == list(range(8_000, 4_000_001, 8_000))
    assert times_us["crashed"] == list(range(8_000, 1_992_001, 8_000))


def test_a_branch_has_the_messages_of_its_trunk_and_its_own(tmp_path):
    """As its log does; without changes it has the same file."""
    flight = flight_of(tmp_path, changes=logging(STATUS) | {"run.mode": "record"})
    trunk = fly(flight).save(tmp_path / "trunk", plots=False)
    options = ("--at", "2", "--no-plots", "--trust", "--out", "out")
    finished = run("branch", trunk, *options, cwd=tmp_path, double="strict")
    assert "identical to the recording" in finished.stdout, finished.stderr
    ours, theirs = (
        (folder / "uorb" / "control_allocator_status_0.parquet").read_bytes()
        for folder in (trunk, tmp_path / "out" / "branch-1")
    )
    assert ours == theirs


def test_rows_of_another_process_that_are_damaged_are_an_error(tmp_path):
    """A description that is not one, and fewer rows than counted."""
    folder = tmp_path / "rows"
    folder.mkdir()
    assert read_messages(folder).topics == ()
    row = [["time_us", "<i8"], ["message", [["timestamp", "<u8"], ["xyz", "<f4", [3]], ["", "|V4"]]]]
    head = [{"topic": "a", "instance": 0, "message_hash": 1, "row": row}]
    (folder / "messages.json").write_text(json.dumps(head))
    np.array([2], np.int64).tofile(folder / "uorb.counts")
    (folder / "uorb.a_0").write_bytes(bytes(2 * 32))
    found = read_messages(folder).received()["a_0"]
    assert list(columns_of(found)) == ["time_us", "timestamp", "xyz[0]", "xyz[1]", "xyz[2]"]
    (folder / "uorb.a_0").write_bytes(bytes(32))
    with pytest.raises(InputError, match="a_0 is truncated to 1 of 2 messages"):
        read_messages(folder)
    for wrong in ([["time_us", "|O"], ["message", "<i8"]], [["x", "<i8"]], "nonsense", 3):
        (folder / "messages.json").write_text(json.dumps([head[0] | {"row": wrong}]))
        with pytest.raises(InputError, match="can't be read"):
            read_messages(folder)


def test_replays_have_no_messages(tmp_path):
    """PX4 does not run in a replay, which is identical."""
    flown = fly(flight_of(tmp_path, changes=logging(STATUS) | {"run.mode": "record"}))
    replayed = px4lockstep.replay(flown.recording)
    assert replayed.matches
    assert replayed.simulation.autopilot.message_log.topics == ()
