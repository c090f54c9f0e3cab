"""PX4 misbehaves in flight: the error says what, when and what to do, and the log is intact."""

import json
import re
import signal
from contextlib import closing

import numpy as np
import pytest
from px4_double import OPTIONS, build_double
from px4_runs import SHORT, flight_of, run, settings

from px4lockstep.errors import Px4Error, SimulationError, StateError
from px4lockstep.flights.folder import is_incomplete, read_log
from px4lockstep.flights.run import fly
from px4lockstep.px4.codes import CODES

pytestmark = pytest.mark.process

IN_LOOP = ("orb_queue_publish", "step_uorb", "orb_check", "orb_copy")
STEPS = 500
CALLS = {"orb_queue_publish": 11 * STEPS, "step_uorb": STEPS, "orb_check": 9 * STEPS, "orb_copy": 4 * STEPS}
"""About the number of calls in two seconds."""
ABOUT = {
    "orb_queue_publish": "battery_status|vehicle_\\w+|actuator_armed|home_position|geofence_status",
    "step_uorb": "time_us = [12]\\d{6}",
    "orb_check": "actuator_\\w+|vehicle_\\w+|trajectory_setpoint|position_setpoint_triplet|mission_result|mavlink_log",
    "orb_copy": "actuator_\\w+|vehicle_\\w+|trajectory_setpoint|position_setpoint_triplet|mission_result",
}
UNKNOWN_CODE = -77
CODES_IN_LOOP = [
    (function, code)
    for function in IN_LOOP
    for code in (*CODES[function], UNKNOWN_CODE)
    if (function, code) != ("orb_copy", -1)  # never published, which is not a failure
]


def failure_of(folder, monkeypatch, told, **changes):
    """Fly a double with the given misbehaviour in this process; return the error and the simulation."""
    monkeypatch.setenv(OPTIONS, told)
    simulation = flight_of(folder, changes=SHORT | changes).simulation
    with closing(simulation), pytest.raises(SimulationError) as caught:
        simulation.run()
    return str(caught.value), simulation


@pytest.mark.parametrize(("function", "code"), CODES_IN_LOOP)
def test_each_code_stops_the_run_with_its_meaning(tmp_path, monkeypatch, function, code):
    """Time, function, topic, code, meaning and remedy; the log ends there."""
    text, simulation = failure_of(tmp_path, monkeypatch, f"code.{function}={code}@{CALLS[function]}")
    time_us = simulation.time_us
    assert 1_000_000 < time_us < 3_000_000
    meaning, remedy = CODES[function].get(code, ("a code that interface version 3 does not define", "check that"))
    assert text.startswith(f"at t = {time_us / 1e6:.6f} s px4_lockstep_{function}(")
    assert f") returned {code}: {meaning}; {remedy}" in text
    assert text.endswith(". The log up to that time is intact")
    assert "\n" not in text
    about = text.partition("(")[2].partition(")")[0]
    assert re.fullmatch(ABOUT[function], about)
    rows = simulation.log["time_us"]
    assert rows[-1] <= time_us
    assert len(rows) == time_us // 10_000 + (time_us % 10_000 != 0)
    with pytest.raises(SimulationError, match=rf"returned {code}"):
        simulation.run()  # it stays failed


def test_a_message_that_was_never_published_is_not_a_failure(tmp_path, monkeypatch):
    """Except for motors."""
    text, _ = failure_of(tmp_path, monkeypatch, "code.orb_copy=-1")
    assert "no actuator_motors for 250 ticks while armed" in text


LOOK = "PX4 published it in actuator_motors: check its CA_ parameters"
FAILURES = {
    "motors=nan@1800": (
        "actuator_motors.control had been NaN for all motors for 25 ticks",
        "PX4 has switched them off",
    ),
    "motors=nan": ("actuator_motors.control had been NaN for all motors for 250 ticks", "check its parameters"),
    "motors=inf@600": ("motor command 1 is inf at t = 2.396000 s; it must be 0 to 1", LOOK),
    "motors=1.5@600": ("motor command 1 is 1.5 at t = 2.396000 s; it must be 0 to 1", LOOK),
    "motors=-0.1@600": ("motor command 1 is -0.10000000149011612 at t = 2.396000 s", LOOK),
    "silent.actuator_motors@600": ("no actuator_motors for 250 ticks while armed", "CA_ROTOR_COUNT set"),
    "code.step_uorb=-2@600": ("px4_lockstep_step_uorb(time_us = 2396000) returned -2", "publish fewer instances"),
    "code.orb_queue_publish=-4@6600": ("px4_lockstep_orb_queue_publish(", "px4lockstep uorb verify"),
    "code.orb_check=-3@5400": ("px4_lockstep_orb_check(", "create a new one"),
    "code.orb_copy=-2@3000": ("px4_lockstep_orb_copy(", "please report it"),
}


@pytest.mark.parametrize("told", FAILURES)
def test_the_command_line_reports_the_error_and_keeps_the_log(tmp_path, told):
    """Exit code 1, one line on standard error, the summary as JSON, a readable log marked as incomplete."""
    options = ("--json", "--no-plots", "--out", "out")
    finished = run("run", "iris", *settings(SHORT | {"timeline.t_end_s": 8.0}), *options, cwd=tmp_path, double=told)
    assert finished.returncode == 1
    assert finished.stderr.count("\n") == 1
    assert finished.stderr.startswith("error: ")
    for word in (*FAILURES[told], " t = ", "intact"):
        assert word in finished.stderr
    summary = json.loads(finished.stdout)
    assert summary["outcome"] == "failed"
    assert f"error: {summary['reason']}\n" == finished.stderr
    folder = tmp_path / "out"
    log = read_log(folder)
    assert log["time_us"][-1] >= 1_000_000
    assert np.isfinite(log["pos_ned"]).all()
    assert is_incomplete(folder)
    assert "ABI 3" in (folder / "px4.log").read_text()


def test_a_slow_px4_flies_the_same_flight_with_a_warning(tmp_path):
    """Digest, recording and log do not depend on wall-clock time; the warning says when it was slow."""
    options = ("--json", "--no-plots")
    said = {}
    for name, told in (("fast", "strict"), ("slow", "strict,sleep_us=20000@951")):  # 1.0 s for the last 0.2 s
        finished = run("run", "iris", *settings(SHORT), *options, "--out", name, cwd=tmp_path, double=told)
        said[name] = json.loads(finished.stdout)
    assert said["slow"]["digest"] == said["fast"]["digest"]
    for file in ("recording.h5", "log.parquet"):
        assert (tmp_path / "slow" / file).read_bytes() == (tmp_path / "fast" / file).read_bytes()
    assert said["fast"]["warnings"] == []
    (warning,) = said["slow"]["warnings"]
    found = re.fullmatch(r"PX4 was slow .*: its 251 steps from t = 3\.000000 s took (\S+) s; this does not .*", warning)
    assert found is not None, warning
    assert float(found[1]) >= 1.0
    assert said["slow"]["wall_s"] > 1.0


def test_a_px4_without_mission_results_is_given_as_the_reason(tmp_path, monkeypatch):
    """The cause would be hard to find from stopped motors."""
    monkeypatch.setenv(OPTIONS, "silent.mission_result")
    run = fly(flight_of(tmp_path, changes=SHORT))
    assert run.summary.outcome == "mission not finished"
    assert run.summary.reason.startswith("PX4 did not report on the mission: it published no mission_result")


def test_a_large_px4_output_is_completely_in_its_log(tmp_path):
    """A megabyte in flight, and none of it elsewhere."""
    options = ("--json", "--no-plots", "--out", "out")
    finished = run("run", "iris", *settings(SHORT), *options, cwd=tmp_path, double="print=100000@992")
    assert finished.stderr == ""
    assert json.loads(finished.stdout)["outcome"] == "out of time"
    assert (tmp_path / "out" / "px4.log").stat().st_size == 10 * 100_000 + len(STARTED)


STARTED = "INFO  [lockstep] conformance double, ABI 3\nINFO  [lockstep] mission of 8 items loaded\n"


def test_a_px4_crash_preserves_the_log(tmp_path):
    """The run folder is marked as incomplete; it has the log and PX4's last output (report: `cli/test_watched.py`)."""
    changes = {"timeline.t_end_s": 40.0, "timeline.dt_log_s": 0.004}
    options = ("--json", "--no-plots", "--out", "out")
    told = f"signal={int(signal.SIGSEGV)}@7500,print=80@7499"
    finished = run("run", "iris", *settings(changes), *options, cwd=tmp_path, double=told)
    assert finished.returncode == 1
    folder = tmp_path / "out"
    assert is_incomplete(folder)
    log = read_log(folder)
    assert log.rows == 7_499  # all before the step that it died in
    assert np.array_equal(np.diff(log["time_us"]), np.full(log.rows - 1, 4_000))
    assert np.isfinite(log["pos_ned"]).all()
    assert (folder / "px4.log").read_text().startswith(STARTED + "\n" + 79 * ".")


@pytest.mark.parametrize(
    ("told", "code", "said"),
    [
        ("null_handle", 1, "returned NULL: PX4 did not start"),
        ("abi_version=2", 2, "has interface version 2, but px4lockstep needs 3"),
        ("sizes=0/0/40", 2, "has records of (0, 0, 40) bytes"),
        ("code.param_set_f32=-4", 1, "px4_lockstep_param_set_f32(CA_ROTOR0_PX"),
        ("code.control_alloc_update_params=-2", 1, "px4_lockstep_control_alloc_update_params"),
        ("code.load_mission_qgc_wpl=-5", 1, "returned -5: PX4's mission storage failed"),
        ("code.orb_create_publisher_ex=-2", 1, "px4_lockstep_orb_create_publisher_ex(battery_status"),
        ("code.orb_create_subscriber=-3", 1, "px4_lockstep_orb_create_subscriber(actuator_motors"),
    ],
)
def test_a_px4_that_does_not_start_leaves_no_folder(tmp_path, told, code, said):
    """And it can't be started a second time by accident."""
    finished = run("run", "iris", *settings(SHORT), "--json", "--out", "out", cwd=tmp_path, double=told)
    assert finished.returncode == code
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "out").exists()


def test_a_second_flight_in_a_process_is_rejected(tmp_path, monkeypatch):
    """During the first and after it, because parameters and topics persist."""
    monkeypatch.setenv(OPTIONS, "strict")
    library = build_double(tmp_path)
    simulation = flight_of(None, changes=SHORT, library=library).simulation
    with closing(simulation):
        with pytest.raises(Px4Error, match="PX4 is already running in this process"):
            flight_of(None, changes=SHORT, library=library)
        with pytest.raises(StateError, match="real PX4 can't be copied"):
            simulation.snapshot()
    with pytest.raises(Px4Error, match="a second flight would differ from the first"):
        flight_of(None, changes=SHORT, library=library)
