"""Stock PX4 as the autopilot, over real sockets with its double: complete missions, and all failures."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from fleet import iris
from px4_sitl_double import make_build, make_flight
from sitl_instances import Ended

from px4lockstep.autopilots.px4_sitl import api, patience
from px4lockstep.autopilots.px4_sitl.autopilot import MAX_BOOT_US, Px4Sitl
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.autopilots.px4_sitl.patience import SILENT_S
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario

MISBEHAVE = "PX4_DOUBLE_MISBEHAVE"
BOOT_S = 6.0
LOITER, MISSION, RETURN, DESCEND, LAND = 4, 3, 5, 12, 18
POSITION_LOST = 4
SHORT = {"end_s": 0.1, "boot_s": 0.3, "mission": None, "scenario": Scenario()}
"""No flight: just until PX4 starts to answer."""


@pytest.fixture
def build(sitl_build):
    return sitl_build


@pytest.fixture
def ended(sitl_instance):
    return Ended(sitl_instance)


def fly(simulation, until_us=None):
    try:
        return simulation.run(until_us)
    finally:
        simulation.close()


def told(simulation, name):
    return simulation.log["bus"]["autopilot"][name]


def fails(build, folder, misbehaviour, monkeypatch, **options):
    """Fly with a PX4 that misbehaves; return the error, the simulation and the autopilot."""
    monkeypatch.setenv(MISBEHAVE, misbehaviour)
    simulation, sitl = make_flight(build, folder, **{"end_s": 6.0, "answer_timeout_s": 0.5} | options)
    with pytest.raises(SimulationError) as caught:
        fly(simulation)
    return str(caught.value), simulation, sitl


# -- whole flights -----------------------------------------------------------------------------------------------


def test_the_mission_is_completed_and_replays_bit_identically(build, tmp_path, ended):
    """PX4 arms, flies, lands and disarms from sensor data only, within 3 m of each item by its own estimate."""
    simulation, sitl = make_flight(build, tmp_path, instance=ended.instance)
    fly(simulation)
    items = told(simulation, "mission_item")
    assert items.tolist() == sorted(items)
    assert (items[0], items[-1], told(simulation, "mission_count")[-1]) == (0, 7, 8)
    assert told(simulation, "mission_finished")[[0, -1]].tolist() == [0, 1]
    assert told(simulation, "armed")[[0, 100, -1]].tolist() == [0, 1, 0]
    assert {LOITER, MISSION} == {int(mode) for mode in told(simulation, "nav_state")}
    pos = simulation.log_state[:, :3]
    for corner in ((11.1, 7.5, -12.0), (11.1, -7.5, -12.0), (-11.1, -7.5, -12.0), (-11.1, 7.5, -12.0)):
        assert np.linalg.norm(pos - corner, axis=1).min() < 3.0
    assert np.abs(pos[-1]).max() < 1.0
    assert sitl.missed == 0
    assert simulation.warnings == ()
    assert "Disarmed by landing" in (tmp_path / "px4.log").read_text()
    replayed = Simulation(iris(), simulation.timeline, replay=simulation.streams).run()
    assert replayed.digest() == simulation.digest()
    ended.check(sitl, tmp_path)


def test_sensor_data_is_sent_once_per_tick_from_1_s_on(build, tmp_path, monkeypatch):
    """First the boot, with the aircraft at its start position, then the flight."""
    simulation, sitl = make_flight(build, tmp_path, end_s=0.4)
    times_us, pack = [], sitl._hil_sensors._sender.sensor
    monkeypatch.setattr(sitl._hil_sensors._sender, "sensor", lambda *sent: times_us.append(sent[0]) or pack(*sent))
    fly(simulation)
    assert times_us[0] == 1_000_000
    assert set(np.diff(times_us)) == {4_000}
    assert len(times_us) == BOOT_S * 250 + 101  # a boundary at the end too
    assert simulation._sensors.record["state"]["ticks"][0] == len(times_us)


def test_return_and_landing_requests_are_forwarded(build, tmp_path):
    """PX4 carries them out when the scenario requests them."""
    scenario = Scenario().arm(at_s=0.5).start_mission(at_s=1.0).at(5.0).return_home().at(8.0).land()
    simulation, _ = make_flight(build, tmp_path, end_s=10.0, scenario=scenario)
    fly(simulation)
    modes = told(simulation, "nav_state")
    time_s = simulation.log["time_us"] / 1e6
    assert [int(modes[time_s == second][0]) for second in (0.9, 1.2, 4.9, 5.2, 7.9, 8.2)] == [
        LOITER,
        MISSION,
        MISSION,
        RETURN,
        RETURN,
        LAND,
    ]


def test_a_disarm_in_flight_stops_the_motors(build, tmp_path):
    """PX4 must not deny the scenario's requests."""
    scenario = Scenario().arm(at_s=0.5).start_mission(at_s=1.0).at(5.0).disarm()
    simulation, _ = make_flight(build, tmp_path, end_s=5.6, scenario=scenario)
    fly(simulation)
    assert told(simulation, "armed")[-1] == 0
    assert simulation.log["inputs"]["command"]["motors"][-1].max() == 0.0


def test_a_landing_needs_no_mission(build, tmp_path):
    """Nothing is uploaded."""
    simulation, _ = make_flight(build, tmp_path, end_s=2.0, scenario=Scenario().arm(at_s=1.0), mission=None)
    fly(simulation)
    assert told(simulation, "armed")[-1] == 1
    assert told(simulation, "mission_count")[-1] == 0


@pytest.mark.parametrize("tick_us", [1_000, 2_000, 4_000])
def test_all_ticks_of_a_fast_imu_are_answered(build, tmp_path, tick_us):
    """The parameter that PX4 needs for this is set, even with its logger on."""
    simulation, sitl = make_flight(build, tmp_path, **SHORT, tick_us=tick_us, params={"SDLOG_BACKEND": 1})
    fly(simulation)
    assert sitl.missed == 0


def test_parameters_reach_px4(build, tmp_path):
    """The user's parameters override the derived ones."""
    simulation, _ = make_flight(build, tmp_path, end_s=0.1, mission=None, params={"SDLOG_BACKEND": 1, "MPC_XY_P": 0.5})
    fly(simulation)
    printed = (tmp_path / "px4.log").read_text()
    for line in ("MPC_XY_P = 0.5", "SIM_BAT_DRAIN = 0", "CA_ROTOR0_AZ = -1"):
        assert f"[param] {line}\n" in printed
    assert "SDLOG_BACKEND" not in printed  # it is PX4's default


def test_derived_parameters_can_be_disabled(build, tmp_path):
    """And the battery parameters, too."""
    simulation, sitl = make_flight(build, tmp_path, end_s=0.1, mission=None, derive_ca_params=False, battery=False)
    assert sitl.parameters() == {"SDLOG_BACKEND": 1, "EKF2_GPS_DELAY": 0.0, "SENS_GPS0_DELAY": 0.0}
    simulation.close()


@pytest.mark.parametrize("lost", ["mag", "baro"])
def test_px4_continues_without_magnetometer_or_barometer(build, tmp_path, lost):
    """A sensor fault in the scenario is a dropout by default."""
    scenario = Scenario().arm(at_s=1.0).start_mission(at_s=2.0).at(7.0).sensor_fault(lost)
    simulation, _ = make_flight(build, tmp_path, end_s=11.0, scenario=scenario)
    fly(simulation)
    assert told(simulation, "nav_state")[-1] == MISSION
    assert simulation.log_state[-1, 2] < -5.0


def test_px4_descends_without_gps_messages(build, tmp_path, monkeypatch):
    """The receiver is gone, not just its fix: a failsafe."""
    simulation, sitl = make_flight(build, tmp_path, end_s=11.0)
    simulation.run(7_000_000)
    monkeypatch.setattr(sitl._hil_sensors._sender, "gps", lambda *_: b"")
    fly(simulation)
    assert told(simulation, "nav_state")[-1] == DESCEND
    assert told(simulation, "failsafe")[[0, -1]].tolist() == [0, POSITION_LOST]
    assert simulation.log_state[-1, 2] < -5.0
    assert simulation.autopilot.texts == ("No valid global position", "Failsafe activated")


@pytest.mark.parametrize(("jump_us", "said"), [(1_000_000, "Attitude failure"), (10_000_000, "Failsafe activated")])
def test_px4_does_not_survive_a_jump_of_the_clock(build, tmp_path, jump_us, said):
    """This is why the host's step is constant. After 1 s it falls, after 10 s it descends."""
    simulation, sitl = make_flight(build, tmp_path, end_s=20.0)
    simulation.run(9_000_000)
    height_m = -simulation.plant.x[2]
    sitl._offset_us += jump_us
    simulation.run(11_000_000)
    fall_m = height_m + simulation.plant.x[2]
    simulation.close()
    assert said in (tmp_path / "px4.log").read_text()
    assert fall_m > 5.0 if jump_us == 1_000_000 else 0.5 < fall_m < 5.0


def test_the_battery_state_reaches_px4(build, tmp_path):
    """Over the API: PX4 warns at its own thresholds."""
    simulation, sitl = make_flight(build, tmp_path, end_s=1.5, mission=None, scenario=Scenario())
    simulation.run(500_000)
    sitl._api.send_battery(0, 10.0, 5.0, 0.05)
    simulation.run(700_000)
    simulation.close()
    assert "Low battery" in (tmp_path / "px4.log").read_text()
    assert "Critical battery" in (tmp_path / "px4.log").read_text()


def test_ground_truth_is_sent(build, tmp_path, monkeypatch):
    """In MAVLink's units, first at the fifth step."""
    told_frames = []
    simulation, sitl = make_flight(build, tmp_path, **SHORT, ground_truth=True)
    pack = sitl._hil_sensors._sender.state
    monkeypatch.setattr(sitl._hil_sensors._sender, "state", lambda *fields: told_frames.append(fields) or pack(*fields))
    fly(simulation)
    time_us, attitude_and_rates, *fields = told_frames[0]
    assert time_us == 1_016_000
    assert attitude_and_rates == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    place, vel, airspeeds, force = fields[:3], fields[3:6], fields[6:8], fields[8:]
    assert place == [473_977_420, 85_455_940, 488_000]
    assert force == [0, 0, -1000]
    assert (vel, airspeeds) == ([0, 0, 0], [0, 0])


# -- what goes wrong ---------------------------------------------------------------------------------------------


def test_a_px4_that_connects_late_is_waited_for(build, tmp_path, monkeypatch):
    """`on_wait` is called meanwhile."""
    waits = []
    monkeypatch.setenv(MISBEHAVE, "late=0.5")
    simulation, _ = make_flight(build, tmp_path, **SHORT, on_wait=waits.append)
    fly(simulation)
    assert len(waits) >= 3
    assert waits[0].startswith("waiting for PX4 to connect to TCP port 45")


def test_a_px4_that_never_connects_is_an_error(build, tmp_path, monkeypatch, ended):
    """With its output."""
    error, _, sitl = fails(
        build, tmp_path, "never-connect", monkeypatch, connect_timeout_s=3.0, instance=ended.instance
    )
    assert "PX4 was started but did not connect to TCP port 45" in error
    assert "in 3 s" in error
    assert "last output of PX4:\n" in error
    assert "Waiting for simulator" in error
    ended.check(sitl, tmp_path)


@pytest.mark.sitl
def test_a_px4_that_exits_at_once_is_reported_immediately(tmp_path, monkeypatch):
    """Without waiting for the timeout."""
    build = make_build(tmp_path / "build")
    (build / "bin" / "px4").write_text("#!/bin/sh\necho 'ERROR [px4] no such airframe'\nexit 3\n")
    error, simulation, _ = fails(build, tmp_path / "run", "", monkeypatch)
    assert "PX4 exited with code 3 before it connected" in error
    assert "no such airframe" in error
    assert simulation.statistics.wall_s < 30.0  # half of that time


@pytest.mark.sitl
def test_a_file_that_is_not_a_program_is_an_error(tmp_path, monkeypatch):
    """With the system's reason."""
    build = make_build(tmp_path / "build")
    (build / "bin" / "px4").chmod(0o644)
    error, _, _ = fails(build, tmp_path / "run", "", monkeypatch)
    assert "can't start PX4" in error
    assert "Permission denied" in error


def test_a_px4_that_boots_slowly_is_waited_for(build, tmp_path, monkeypatch):
    """Its first answers take 60 ms each, but the host sends the next step after 25 ms: they are for earlier steps."""
    monkeypatch.setenv(MISBEHAVE, "slow=20")
    short = {"end_s": 0.04, "boot_s": 0.2, "mission": None, "scenario": Scenario()}
    simulation, sitl = make_flight(build, tmp_path, **short)
    fly(simulation)
    assert sitl.missed == 0


def test_a_px4_without_lockstep_is_an_error(build, tmp_path, monkeypatch):
    """It runs on its own clock."""
    error, _, _ = fails(build, tmp_path, "no-lockstep", monkeypatch)
    assert error.startswith("this PX4 was built without lockstep")


def test_an_unknown_parameter_is_an_error(build, tmp_path, monkeypatch):
    """If the user set it; before the flight starts."""
    error, simulation, _ = fails(build, tmp_path, "", monkeypatch, params={"MPC_XY_P": 0.5, "MCP_Z_P": 1.0})
    assert error == "this PX4 has no parameter MCP_Z_P; correct the name, or remove it"
    assert simulation.time_us == 0


def test_a_px4_that_never_answers_is_an_error(build, tmp_path, monkeypatch, ended):
    """After 30 s of simulated time; here after 0.3 s."""
    assert MAX_BOOT_US == 30_000_000
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.autopilot.MAX_BOOT_US", 300_000)
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.autopilot.BOOT_WAIT_S", 0.0001)
    error, _, sitl = fails(build, tmp_path, "stall", monkeypatch, instance=ended.instance)
    assert "PX4 connected but did not answer any sensor message in 0.304 s" in error
    ended.check(sitl, tmp_path)


def test_a_stalled_px4_is_an_error_and_motor_commands_are_held(build, tmp_path, monkeypatch, ended):
    """After three steps in a row; motor commands are never set to zero."""
    error, simulation, sitl = fails(build, tmp_path, f"stall@{BOOT_S + 4.0}", monkeypatch, instance=ended.instance)
    assert "PX4 did not answer 3 steps in a row within 0.5 s each; it hangs or is suspended" in error
    assert simulation.time_us == pytest.approx(4_000_000, abs=20_000)
    motors = simulation.streams.commands["motors"][-2:, :4]
    assert motors.min() > 0.3
    assert sitl.missed == 3
    ended.check(sitl, tmp_path)


def test_single_missed_steps_hold_the_commands_and_are_counted(build, tmp_path, monkeypatch):
    """PX4 never answers them later; the flight continues with a warning."""
    monkeypatch.setenv(MISBEHAVE, f"stall=2@{BOOT_S + 4.0}")
    simulation, sitl = make_flight(build, tmp_path, end_s=5.0, answer_timeout_s=0.5)
    fly(simulation)
    assert sitl.missed == 2
    assert simulation.warnings == ("PX4 did not answer 2 of 2751 steps in time; motor commands were held",)
    motors = simulation.streams.commands["motors"][1000:1004, :4]
    assert motors.min() > 0.3
    assert np.array_equal(motors[1], motors[0])


@pytest.mark.parametrize("silent_s", [SILENT_S, 1e-5])
def test_missing_every_second_step_names_the_parameter(build, tmp_path, monkeypatch, silent_s):
    """The user's parameters can cause this; on a slow machine, the other answers are late."""
    monkeypatch.setattr(patience, "SILENT_S", silent_s)
    params = {"SDLOG_BACKEND": 1, "IMU_INTEG_RATE": 200}
    options = SHORT | {"end_s": 1.0, "tick_us": 2_000, "params": params}
    error, _, _ = fails(build, tmp_path, "", monkeypatch, **options)
    assert "with sensors at 500 Hz and default parameters it answers only every second step" in error
    assert "set IMU_INTEG_RATE to 500 or SDLOG_BACKEND to 0" in error


@pytest.mark.parametrize(("missing", "name"), [("gyro", "gyro"), ("accel", "accelerometer")])
def test_a_permanent_imu_dropout_stops_the_flight(build, tmp_path, monkeypatch, missing, name):
    """Without gyro or accelerometer, PX4 never answers again."""
    scenario = Scenario().at(2.0).sensor_fault(missing)
    error, _, _ = fails(build, tmp_path, "", monkeypatch, scenario=scenario)
    assert "PX4 did not answer 3 steps in a row" in error
    assert f"a fault in the scenario has stopped the {name}, and PX4 never answers without it" in error


@pytest.mark.parametrize(
    ("misbehaviour", "said"),
    [
        ("exit=7@9", "PX4 exited with code 7"),
        ("signal=11@9", "PX4 was killed by SIGSEGV"),
        ("signal=9@9", "PX4 was killed by SIGKILL"),
    ],
)
def test_a_px4_crash_is_reported_immediately(build, tmp_path, monkeypatch, ended, misbehaviour, said):
    """With its exit code or signal; the log up to that time is preserved."""
    options = {"answer_timeout_s": 30.0, "instance": ended.instance}
    error, simulation, sitl = fails(build, tmp_path, f"{misbehaviour},child", monkeypatch, **options)
    assert error.startswith(said)
    assert simulation.time_us == pytest.approx(3_000_000, abs=20_000)
    assert len(simulation.log) == 150
    ended.check(sitl, tmp_path)


def test_a_px4_that_closes_the_link_is_terminated(build, tmp_path, monkeypatch, ended):
    """It would spin forever."""
    error, _, sitl = fails(build, tmp_path, "close@8", monkeypatch, instance=ended.instance)
    assert error.startswith("PX4 has closed the link. It will not reconnect: stop it, and restart the flight")
    ended.check(sitl, tmp_path)


def test_a_px4_that_ignores_sigterm_is_killed(build, tmp_path, monkeypatch, ended):
    """After the grace period."""
    monkeypatch.setenv(MISBEHAVE, "ignore-term")
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.process.END_S", 0.2)
    simulation, sitl = make_flight(build, tmp_path, **SHORT, instance=ended.instance)
    fly(simulation)
    ended.check(sitl, tmp_path)


@pytest.fixture(scope="module")
def good_digest(sitl_build, tmp_path_factory):
    """Return the digest of a flight without failures."""
    simulation, _ = make_flight(sitl_build, tmp_path_factory.mktemp("good"), end_s=4.0)
    fly(simulation)
    return simulation.digest()


@pytest.mark.parametrize("misbehaviour", ["flood@8", "garbage@8", "twice@8"])
def test_other_data_on_the_links_does_not_change_the_flight(build, tmp_path, monkeypatch, good_digest, misbehaviour):
    """Floods of old answers, invalid bytes, duplicate answers: the flight is bit-identical.

    The double flies the same for the same sensor data, however long the boot took.
    """
    monkeypatch.setenv(MISBEHAVE, misbehaviour)
    simulation, sitl = make_flight(build, tmp_path, end_s=4.0)
    fly(simulation)
    assert sitl.missed == 0
    assert simulation.digest() == good_digest


def test_a_flood_on_the_api_does_not_delay_the_steps(build, tmp_path, monkeypatch):
    """150 messages per step are more than are read, and the system drops some: orders are repeated until confirmed."""
    monkeypatch.setenv(MISBEHAVE, "flood-api@6")
    simulation, sitl = make_flight(build, tmp_path, end_s=7.0)
    fly(simulation)
    assert sitl.missed == 0
    assert told(simulation, "armed")[-1] == 1
    assert -simulation.log_state[-1, 2] > 1.0


def test_answers_to_other_steps_are_discarded(build, tmp_path, monkeypatch):
    """A PX4 that is one step behind is not in lockstep."""
    error, _, _ = fails(build, tmp_path, "late-answer@8", monkeypatch)
    assert "PX4 did not answer 3 steps in a row" in error


def test_motor_commands_that_are_not_finite_are_an_error(build, tmp_path, monkeypatch):
    """Before they reach the plant."""
    error, _, _ = fails(build, tmp_path, "nan@8", monkeypatch)
    assert error.startswith("PX4 sent nan for motor 1 in HIL_ACTUATOR_CONTROLS; is PWM_MAIN_FUNC1")


def test_a_px4_that_does_not_arm_is_reported_with_its_status_texts(build, tmp_path, monkeypatch):
    """Arming is retried for a while, because PX4 may not be ready yet; long texts come in chunks."""
    monkeypatch.setattr(api, "PATIENCE_US", 2_000_000)
    error, simulation, _ = fails(build, tmp_path, "deny-arm", monkeypatch)
    assert error == (
        "PX4 was commanded to arm for 2 s of simulated time, but it answered: temporarily rejected; it said: "
        f'"Preflight Fail: told to{", and that at length" * 3}"'
    )
    # Requested from 1 s on, every half second: the first request more than 2 s later fails.
    assert 3_000_000 <= simulation.time_us <= 3_000_000 + api.AGAIN_US


def test_a_mission_that_px4_rejects_is_an_error(build, tmp_path, monkeypatch):
    """Before the flight starts."""
    error, simulation, _ = fails(build, tmp_path, "refuse-mission", monkeypatch)
    assert "PX4 rejected the mission with MAV_MISSION_RESULT 4" in error
    assert simulation.time_us == 0


def test_a_px4_without_an_api_is_an_error(build, tmp_path, monkeypatch):
    """The mission can't be uploaded."""
    monkeypatch.setattr(api, "PATIENCE_US", 1_000_000)
    monkeypatch.setattr(api, "PATIENCE_S", 0.5)
    error, _, _ = fails(build, tmp_path, "mute", monkeypatch)
    assert "it sent nothing over its UDP API; does its start script start MAVLink?" in error


def test_two_px4s_fly_simultaneously(build, tmp_path):
    """In one process, step by step; each has its own instance, and the flights are the same."""
    flights = [make_flight(build, tmp_path / name, end_s=3.0) for name in ("one", "two")]
    for until_us in range(0, 3_000_001, 100_000):
        for simulation, _ in flights:
            simulation.run(until_us)
    for simulation, _ in flights:
        fly(simulation)
    (first, one), (second, two) = flights
    assert one.instance != two.instance
    assert first.digest() == second.digest()


def test_an_interrupt_leaves_no_process(build, tmp_path, ended):
    """Raised while waiting for PX4, like Ctrl-C."""

    def stop(what):
        raise KeyboardInterrupt

    simulation, sitl = make_flight(build, tmp_path, on_wait=stop, instance=ended.instance)
    with pytest.raises(KeyboardInterrupt):
        fly(simulation)
    ended.check(sitl, tmp_path)


def test_a_closed_flight_can_not_continue(build, tmp_path):
    """PX4 has been terminated."""
    simulation, _ = make_flight(build, tmp_path, end_s=1.0, mission=None, scenario=Scenario())
    simulation.run(100_000)
    simulation.close()
    simulation.close()
    with pytest.raises(SimulationError, match="stock PX4 was closed before the end of the run; the log is intact"):
        simulation.run()


def test_it_works_in_a_temporary_folder_by_default(build):
    """The folder is removed afterwards."""
    simulation, sitl = make_flight(build, None, **SHORT)
    simulation.run(50_000)
    folder = Path(sitl._temporary.name)
    assert (folder / "px4.log").exists()
    fly(simulation)
    assert not folder.exists()


def test_a_user_started_px4_is_waited_for_and_not_terminated(build, tmp_path, monkeypatch, sitl_instance):
    """Started in its build folder with the printed command; the user stops it. The wait is no time of the run."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the command creates PX4's folder
    begun = []

    def start(text):
        if not begun:
            command = ["bash", "-c", text.partition("with\n")[2]]
            with (tmp_path / "printed").open("wb") as printed:
                begun.append(
                    subprocess.Popen(command, cwd=build, stdout=printed, stderr=printed, start_new_session=True)
                )

    options = {"wait_for_user": True, "instance": sitl_instance, "connect_timeout_s": 20.0}
    simulation, sitl = make_flight(None, tmp_path, **SHORT, on_wait=start, **options)
    try:
        start_s = time.perf_counter()
        fly(simulation)
        assert sitl.waited_s > 0.1
        assert simulation.statistics.wall_s < time.perf_counter() - start_s - sitl.waited_s
        assert begun[0].poll() is None
        assert simulation.is_done
    finally:
        for process in begun:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert f"Simulator connected on TCP port {4560 + sitl_instance}" in (tmp_path / "printed").read_text()


def test_the_start_command_is_shown(build, tmp_path, sitl_instance):
    """When the wait begins, as a shell command with all parameters; the timeout error refers to it."""
    told = []
    options = {"wait_for_user": True, "connect_timeout_s": 0.3, "instance": sitl_instance, "params": {"MPC_XY_P": 0.5}}
    simulation, sitl = make_flight(None, tmp_path, on_wait=told.append, **options)
    before = sitl.how_to_start()
    error = r"no PX4 connected to TCP port \d+ within 0\.3 s .* use Px4Sitl\.how_to_start\(\)"
    with pytest.raises(SimulationError, match=error):
        fly(simulation)
    lines = told[0].partition("; start it in its build folder (build/px4_sitl_default) with\n")[2]
    assert lines
    assert lines == before == sitl.how_to_start()
    assert max(map(len, lines.splitlines())) <= 120
    (build / "bin" / "as_told").write_text('#!/bin/sh\nenv; echo "$@"\n')
    (build / "bin" / "as_told").chmod(0o755)
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    command = lines.replace("bin/px4", "bin/as_told")
    run = subprocess.run(command, shell=True, cwd=build, capture_output=True, text=True, env=env)
    printed = run.stdout.splitlines()
    expected = {f"PX4_PARAM_{name}={value}" for name, value in sitl.parameters().items()} | {"PX4_SYS_AUTOSTART=10016"}
    assert "PX4_PARAM_MPC_XY_P=0.5" in expected
    assert expected <= set(printed)
    assert printed[-1].startswith(f"-d -i {sitl_instance} -w /")
    assert printed[-1].endswith(f" {build}/etc")


# -- before a flight ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (None, "stock PX4 not found; set px4.sitl.build_dir or the environment variable PX4_SITL_DIR"),
        ("nowhere", "px4.sitl.build_dir = 'nowhere' is not a folder; build PX4 with `make px4_sitl_default`"),
        (".", r"px4.sitl.build_dir = '.' lacks bin/px4 and etc"),
    ],
)
def test_a_missing_build_is_an_error(tmp_path, monkeypatch, folder, said):
    """When the simulation is created."""
    monkeypatch.delenv("PX4_SITL_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        make_flight(folder, tmp_path)


def test_the_build_is_found_in_the_source_tree_and_by_the_variable(tmp_path, monkeypatch):
    """As for PX4's library."""
    make_build(tmp_path / "PX4-Autopilot" / "build" / "px4_sitl_default")
    monkeypatch.setenv("PX4_SITL_DIR", str(tmp_path / "PX4-Autopilot"))
    _, sitl = make_flight(None, tmp_path)
    assert sitl._build == (tmp_path / "PX4-Autopilot" / "build" / "px4_sitl_default").resolve()


def test_another_plant_is_rejected(build):
    """It has no sensors."""
    timeline = Timeline(1_000, autopilot=Periodic(100))
    with pytest.raises(InputError, match="stock PX4 needs an Aircraft, not Oscillator"):
        Simulation(Oscillator(), timeline, autopilot=Px4Sitl(options=SitlOptions(build_dir=build)))


def test_it_can_neither_be_copied_nor_restored(build, tmp_path):
    """Its state is in another process."""
    simulation, sitl = make_flight(build, tmp_path, mission=None, scenario=Scenario())
    with pytest.raises(InputError, match="stock PX4 can't be copied"):
        simulation.snapshot()
    with pytest.raises(InputError, match="stock PX4 can't be restored"):
        sitl.restore(None)


def test_an_existing_folder_is_an_error(build, tmp_path, monkeypatch):
    """PX4 would use the parameters and missions of the previous flight."""
    (tmp_path / "px4").mkdir()
    error, _, _ = fails(build, tmp_path, "", monkeypatch)
    assert f"can't create PX4's folder {tmp_path}" in error
    assert "File exists" in error
