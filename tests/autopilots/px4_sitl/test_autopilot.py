"""Stock PX4 as the autopilot, over real sockets, with its double: whole missions, and each way to go wrong."""

import os
import signal
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from fleet import iris
from px4_sitl_double import make_build, make_flight
from sitl_instances import Ended
from sitl_sensors import SILENT

from px4lockstep.autopilots.px4_sitl import api
from px4lockstep.autopilots.px4_sitl.autopilot import MAX_BOOT_US, Px4Sitl
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError, SimulationError
from px4lockstep.plant.models import Oscillator
from px4lockstep.scenario.scenario import Scenario

MISBEHAVE = "PX4_DOUBLE_MISBEHAVE"
BOOT_S = 6.0
LOITER, MISSION, RETURN, LAND = 4, 3, 5, 18
SHORT = {"end_s": 0.1, "boot_s": 0.3, "mission": None, "scenario": Scenario()}
"""No flight, only PX4 beginning to answer."""


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
    """Fly with a PX4 that does something wrong; return the error, the flight and the PX4."""
    monkeypatch.setenv(MISBEHAVE, misbehaviour)
    simulation, sitl = make_flight(build, folder, **{"end_s": 6.0, "answer_timeout_s": 0.5} | options)
    with pytest.raises(SimulationError) as caught:
        fly(simulation)
    return str(caught.value), simulation, sitl


# -- whole flights -----------------------------------------------------------------------------------------------


def test_the_mission_is_flown_to_its_end_and_replayed_to_the_bit(build, tmp_path, ended):
    """Armed, flown, landed and disarmed by PX4, from sensors alone; within 3 m of each item, which it estimates."""
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


def test_sensors_are_stepped_once_a_tick_from_1_s_on(build, tmp_path, monkeypatch):
    """The boot's ticks first, with the aircraft where it starts; then those of the flight."""
    simulation, sitl = make_flight(build, tmp_path, end_s=0.4)
    times_us, pack = [], sitl._hil_sensors._sender.sensor
    monkeypatch.setattr(sitl._hil_sensors._sender, "sensor", lambda *sent: times_us.append(sent[0]) or pack(*sent))
    fly(simulation)
    assert times_us[0] == 1_000_000
    assert set(np.diff(times_us)) == {4_000}
    assert len(times_us) == BOOT_S * 250 + 101  # a boundary at the end too
    assert simulation._sensors.record["state"]["ticks"][0] == len(times_us)


def test_a_return_and_a_landing_are_passed_on(build, tmp_path):
    """Each when the scenario asks for it, and PX4 does it."""
    scenario = Scenario().arm(at_s=0.5).start_mission(at_s=1.0).at(5.0).return_home().at(8.0).land()
    simulation, _ = make_flight(build, tmp_path, end_s=10.0, scenario=scenario)
    fly(simulation)
    modes = told(simulation, "nav_state")
    time_s = simulation.log["time_us"] / 1e6
    # A heartbeat a second tells it.
    assert [int(modes[time_s == second][0]) for second in (0.9, 4.9, 7.9, 9.9)] == [LOITER, MISSION, RETURN, LAND]


def test_a_disarm_in_flight_stops_the_motors(build, tmp_path):
    """The scenario's orders are not to be refused."""
    scenario = Scenario().arm(at_s=0.5).start_mission(at_s=1.0).at(5.0).disarm()
    simulation, _ = make_flight(build, tmp_path, end_s=5.6, scenario=scenario)
    fly(simulation)
    assert told(simulation, "armed")[-1] == 0
    assert simulation.log["inputs"]["command"]["motors"][-1].max() == 0.0


def test_a_landing_without_a_mission_needs_none(build, tmp_path):
    """Nothing is uploaded."""
    simulation, _ = make_flight(build, tmp_path, end_s=2.0, scenario=Scenario().arm(at_s=1.0), mission=None)
    fly(simulation)
    assert told(simulation, "armed")[-1] == 1
    assert told(simulation, "mission_count")[-1] == 0


@pytest.mark.parametrize("tick_us", [1_000, 2_000, 4_000])
def test_ticks_of_a_fast_imu_are_all_answered(build, tmp_path, tick_us):
    """The parameter that PX4 needs for them is set, also with its logger on."""
    simulation, sitl = make_flight(build, tmp_path, **SHORT, tick_us=tick_us, params={"SDLOG_BACKEND": 1})
    fly(simulation)
    assert sitl.missed == 0


def test_parameters_reach_px4(build, tmp_path):
    """Ours, then the user's, which count."""
    simulation, _ = make_flight(build, tmp_path, end_s=0.1, mission=None, params={"SDLOG_BACKEND": 1, "MPC_XY_P": 0.5})
    fly(simulation)
    printed = (tmp_path / "px4.log").read_text()
    ours = ("SIM_BAT_ENABLE = 0", "CA_ROTOR2_KM = -0.05", "PWM_MAIN_FUNC4 = 104")
    for line in ("SDLOG_BACKEND = 1", "MPC_XY_P = 0.5", *ours):
        assert f"[param] {line}\n" in printed


def test_parameters_of_the_airframe_can_be_left_alone(build, tmp_path):
    """And the battery too."""
    simulation, sitl = make_flight(build, tmp_path, end_s=0.1, mission=None, derive_ca_params=False, battery=False)
    assert sitl.parameters() == {"SDLOG_BACKEND": "0", "EKF2_GPS_DELAY": "0", "SENS_GPS0_DELAY": "0"}
    simulation.close()


@pytest.mark.parametrize("lost", ["mag", "baro"])
def test_without_magnetometer_or_barometer_px4_goes_on(build, tmp_path, lost):
    """A fault of the scenario, by default a dropout."""
    scenario = Scenario().arm(at_s=1.0).start_mission(at_s=2.0).at(7.0).sensor_fault(lost)
    simulation, _ = make_flight(build, tmp_path, end_s=11.0, scenario=scenario)
    fly(simulation)
    assert told(simulation, "nav_state")[-1] == MISSION
    assert simulation.log_state[-1, 2] < -5.0


def test_without_messages_of_the_gps_px4_descends(build, tmp_path, monkeypatch):
    """A receiver that is gone, not one without a fix."""
    simulation, sitl = make_flight(build, tmp_path, end_s=11.0)
    simulation.run(7_000_000)
    monkeypatch.setattr(sitl._hil_sensors._sender, "gps", lambda *_: b"")
    fly(simulation)
    assert told(simulation, "nav_state")[-1] == LAND
    assert simulation.log_state[-1, 2] < -5.0


@pytest.mark.parametrize(("jump_us", "said"), [(1_000_000, "Attitude failure"), (10_000_000, "Failsafe activated")])
def test_a_jump_of_the_clock_is_what_px4_does_not_survive(build, tmp_path, jump_us, said):
    """Which is why a host's step is constant. After 1 s it falls, after 10 s it descends."""
    simulation, sitl = make_flight(build, tmp_path, end_s=20.0)
    simulation.run(9_000_000)
    height_m = -simulation.plant.x[2]
    sitl._offset_us += jump_us
    simulation.run(11_000_000)
    fall_m = height_m + simulation.plant.x[2]
    simulation.close()
    assert said in (tmp_path / "px4.log").read_text()
    assert fall_m > 5.0 if jump_us == 1_000_000 else 0.5 < fall_m < 5.0


def test_the_battery_is_told(build, tmp_path):
    """Over the API: PX4 warns of ours, at its own thresholds."""
    simulation, sitl = make_flight(build, tmp_path, end_s=1.5, mission=None, scenario=Scenario())
    simulation.run(500_000)
    sitl._api.send_battery(0, 10.0, 5.0, 0.05)
    simulation.run(700_000)
    simulation.close()
    assert "Low battery level" in (tmp_path / "px4.log").read_text()
    assert "Critical battery level" in (tmp_path / "px4.log").read_text()


def test_ground_truth_is_told(build, tmp_path, monkeypatch):
    """Where the aircraft is, in MAVLink's units; the first at the fifth step."""
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
    """And whoever waits is asked whether it is to go on."""
    waits = []
    monkeypatch.setenv(MISBEHAVE, "late=0.5")
    simulation, _ = make_flight(build, tmp_path, **SHORT, on_wait=waits.append)
    fly(simulation)
    assert len(waits) >= 3
    assert waits[0].startswith("waiting for PX4 to connect to TCP port 45")


def test_a_px4_that_never_connects_is_an_error(build, tmp_path, monkeypatch, ended):
    """With what it printed."""
    error, _, sitl = fails(
        build, tmp_path, "never-connect", monkeypatch, connect_timeout_s=3.0, instance=ended.instance
    )
    assert "PX4 was started and has not connected to TCP port 45" in error
    assert "in 3 s" in error
    assert "PX4 printed last:\n" in error
    assert "Waiting for simulator" in error
    ended.check(sitl, tmp_path)


@pytest.mark.sitl
def test_a_px4_that_ends_at_once_is_an_error_at_once(tmp_path, monkeypatch):
    """Not only when the time is over."""
    build = make_build(tmp_path / "build")
    (build / "bin" / "px4").write_text("#!/bin/sh\necho 'ERROR [px4] no such airframe'\nexit 3\n")
    error, simulation, _ = fails(build, tmp_path / "run", "", monkeypatch)
    assert "PX4 has ended with exit code 3 before it connected" in error
    assert "no such airframe" in error
    assert simulation.statistics.wall_s < 30.0  # half of that time


@pytest.mark.sitl
def test_a_program_that_is_none_is_an_error(tmp_path, monkeypatch):
    """The system's reason is told."""
    build = make_build(tmp_path / "build")
    (build / "bin" / "px4").chmod(0o644)
    error, _, _ = fails(build, tmp_path / "run", "", monkeypatch)
    assert "PX4 can't be started" in error
    assert "Permission denied" in error


def test_a_px4_that_boots_slowly_is_waited_for(build, tmp_path, monkeypatch):
    """It takes 60 ms for each of its first answers, and the next step comes after 25: they are to steps of before."""
    monkeypatch.setenv(MISBEHAVE, "slow=20")
    short = {"end_s": 0.04, "boot_s": 0.2, "mission": None, "scenario": Scenario()}
    simulation, sitl = make_flight(build, tmp_path, **short)
    fly(simulation)
    assert sitl.missed == 0


def test_a_px4_without_lockstep_is_an_error(build, tmp_path, monkeypatch):
    """Its clock is its own."""
    error, _, _ = fails(build, tmp_path, "no-lockstep", monkeypatch)
    assert error.startswith("this PX4 was built without lockstep")


def test_a_parameter_that_px4_does_not_have_is_an_error(build, tmp_path, monkeypatch):
    """Of the user's; before the flight begins."""
    error, simulation, _ = fails(build, tmp_path, "", monkeypatch, params={"MPC_XY_P": 0.5, "MCP_Z_P": 1.0})
    assert error == "this PX4 has no parameter MCP_Z_P; correct the name, or leave it out"
    assert simulation.time_us == 0


def test_a_px4_that_never_answers_is_an_error(build, tmp_path, monkeypatch, ended):
    """After 30 s of its time; here 0.3 s."""
    assert MAX_BOOT_US == 30_000_000
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.autopilot.MAX_BOOT_US", 300_000)
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.autopilot.BOOT_WAIT_S", 0.0001)
    error, _, sitl = fails(build, tmp_path, "stall", monkeypatch, instance=ended.instance)
    assert "PX4 has connected and answered none of the sensors of 0.304 s" in error
    ended.check(sitl, tmp_path)


def test_a_px4_that_stalls_is_an_error_and_its_motors_held(build, tmp_path, monkeypatch, ended):
    """Three steps in a row; the motors are those of before, never zero."""
    error, simulation, sitl = fails(build, tmp_path, f"stall@{BOOT_S + 4.0}", monkeypatch, instance=ended.instance)
    assert "PX4 has not answered 3 steps in a row, each within 0.5 s; it hangs, or was stopped" in error
    assert simulation.time_us == pytest.approx(4_000_000, abs=20_000)
    motors = simulation.streams.commands["motors"][-2:, :4]
    assert motors.min() > 0.3
    assert sitl.missed == 3
    ended.check(sitl, tmp_path)


def test_single_steps_without_an_answer_are_held_and_counted(build, tmp_path, monkeypatch):
    """PX4 never answers them later; the flight goes on, and the summary tells."""
    monkeypatch.setenv(MISBEHAVE, f"stall=2@{BOOT_S + 4.0}")
    simulation, sitl = make_flight(build, tmp_path, end_s=5.0, answer_timeout_s=0.5)
    fly(simulation)
    assert sitl.missed == 2
    assert simulation.warnings == ("PX4 has not answered 2 of 2751 steps in time; its motors were held",)
    motors = simulation.streams.commands["motors"][1000:1004, :4]
    assert motors.min() > 0.3
    assert np.array_equal(motors[1], motors[0])


def test_every_second_step_without_an_answer_names_the_parameter(build, tmp_path, monkeypatch):
    """A user's parameters can bring it back."""
    params = {"SDLOG_BACKEND": 1, "IMU_INTEG_RATE": 200}
    error, _, _ = fails(build, tmp_path, "", monkeypatch, **SHORT | {"end_s": 1.0}, tick_us=2_000, params=params)
    assert "with sensors at 500 Hz its default parameters leave every second step out" in error
    assert "set IMU_INTEG_RATE to 500 or SDLOG_BACKEND to 0" in error


@pytest.mark.parametrize(("missing", "name"), [("gyro", "gyro"), ("accel", "accelerometer")])
def test_sensors_without_imu_stop_the_flight(build, tmp_path, monkeypatch, missing, name):
    """Gyro or accelerometer lost for good: PX4 never answers again."""
    scenario = Scenario().at(2.0).sensor_fault(missing)
    error, _, _ = fails(build, tmp_path, "", monkeypatch, scenario=scenario)
    assert "PX4 has not answered 3 steps in a row" in error
    assert f"the sensors had no {name}, a fault of the scenario; without it PX4 never answers" in error


@pytest.mark.parametrize(
    ("misbehaviour", "said"),
    [
        ("exit=7@9", "PX4 has ended with exit code 7"),
        ("signal=11@9", "SIGSEGV has ended PX4"),
        ("signal=9@9", "SIGKILL has ended PX4"),
    ],
)
def test_a_px4_that_dies_is_an_error_at_once(build, tmp_path, monkeypatch, ended, misbehaviour, said):
    """With how it ended; the log up to then is there."""
    options = {"answer_timeout_s": 30.0, "instance": ended.instance}
    error, simulation, sitl = fails(build, tmp_path, f"{misbehaviour},child", monkeypatch, **options)
    assert error.startswith(said)
    assert simulation.time_us == pytest.approx(3_000_000, abs=20_000)
    assert len(simulation.log) == 150
    ended.check(sitl, tmp_path)


def test_a_px4_that_closes_the_link_is_ended(build, tmp_path, monkeypatch, ended):
    """It would spin for ever."""
    error, _, sitl = fails(build, tmp_path, "close@8", monkeypatch, instance=ended.instance)
    assert error.startswith("PX4 has closed the link. It does not connect again: end it, and start the flight anew")
    ended.check(sitl, tmp_path)


def test_a_px4_that_ignores_sigterm_is_killed(build, tmp_path, monkeypatch, ended):
    """After it was asked."""
    monkeypatch.setenv(MISBEHAVE, "ignore-term")
    monkeypatch.setattr("px4lockstep.autopilots.px4_sitl.process.END_S", 0.2)
    simulation, sitl = make_flight(build, tmp_path, **SHORT, instance=ended.instance)
    fly(simulation)
    ended.check(sitl, tmp_path)


@pytest.fixture(scope="module")
def good_digest(sitl_build, tmp_path_factory):
    """Of a flight in which nothing goes wrong."""
    simulation, _ = make_flight(sitl_build, tmp_path_factory.mktemp("good"), end_s=4.0)
    fly(simulation)
    return simulation.digest()


@pytest.mark.parametrize("misbehaviour", ["flood@8", "garbage@8", "twice@8"])
def test_what_else_comes_over_the_links_changes_nothing(build, tmp_path, monkeypatch, good_digest, misbehaviour):
    """Floods of old answers, bytes that are no frames, answers that come twice: the same flight to the bit.

    The double flies the same for the same sensors; how many there are before the flight does not depend on it.
    """
    monkeypatch.setenv(MISBEHAVE, misbehaviour)
    simulation, sitl = make_flight(build, tmp_path, end_s=4.0)
    fly(simulation)
    assert sitl.missed == 0
    assert simulation.digest() == good_digest


def test_a_flood_on_the_api_does_not_hold_up_the_steps(build, tmp_path, monkeypatch):
    """150 messages a step are more than are taken, and the system drops some: orders are sent again until they act."""
    monkeypatch.setenv(MISBEHAVE, "flood-api@6")
    simulation, sitl = make_flight(build, tmp_path, end_s=7.0)
    fly(simulation)
    assert sitl.missed == 0
    assert told(simulation, "armed")[-1] == 1
    assert -simulation.log_state[-1, 2] > 1.0


def test_an_answer_to_another_step_is_none(build, tmp_path, monkeypatch):
    """A PX4 that is one step behind is not in lockstep."""
    error, _, _ = fails(build, tmp_path, "late-answer@8", monkeypatch)
    assert "PX4 has not answered 3 steps in a row" in error


def test_motors_that_are_no_numbers_are_an_error(build, tmp_path, monkeypatch):
    """Before they reach the plant."""
    error, _, _ = fails(build, tmp_path, "nan@8", monkeypatch)
    assert error.startswith("PX4 has sent nan for motor 1, in HIL_ACTUATOR_CONTROLS; is PWM_MAIN_FUNC1")


@pytest.mark.parametrize(
    ("options", "reason"),
    [({"misbehaviour": "deny-arm"}, "told to"), ({"sensors": SILENT}, "Compass sensor 0")],
)
def test_a_px4_that_does_not_arm_is_an_error_with_what_it_said(build, tmp_path, monkeypatch, options, reason):
    """It is asked again for a while: it may not be ready yet."""
    monkeypatch.setattr(api, "PATIENCE_US", 2_000_000)
    options = {"misbehaviour": ""} | options
    error, simulation, _ = fails(build, tmp_path, monkeypatch=monkeypatch, **options)
    assert "PX4 was asked to arm for 2 s of simulated time, and it answered: temporarily rejected; it said: " in error
    assert reason in error
    # Asked from 1 s on, and again every half second: the first that is later than 2 s after.
    assert 3_000_000 <= simulation.time_us <= 3_000_000 + api.AGAIN_US


def test_a_mission_that_is_refused_is_an_error(build, tmp_path, monkeypatch):
    """Before the flight begins."""
    error, simulation, _ = fails(build, tmp_path, "refuse-mission", monkeypatch)
    assert "PX4 was sent the mission" in error
    assert "refused as MAV_MISSION_RESULT 4" in error
    assert simulation.time_us == 0


def test_a_px4_without_an_api_is_an_error(build, tmp_path, monkeypatch):
    """The mission can't be told."""
    monkeypatch.setattr(api, "PATIENCE_US", 1_000_000)
    error, _, _ = fails(build, tmp_path, "mute", monkeypatch)
    assert "it has told nothing of itself over its API, UDP; does its start script start MAVLink?" in error


def test_an_instance_that_is_taken_is_an_error(build, tmp_path, monkeypatch, sitl_instance):
    """By another simulator; left out, the next one is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 4560 + sitl_instance))
        other.listen(1)
        error, _, _ = fails(build, tmp_path / "a", "", monkeypatch, instance=sitl_instance)
        assert error.startswith(
            f"TCP port {4560 + sitl_instance} is taken, which PX4 of instance {sitl_instance} needs"
        )
        assert "choose another px4.sitl.instance" in error


def test_two_fly_side_by_side(build, tmp_path):
    """In one process, boundary by boundary; each has an instance of its own, and the flight is the same."""
    flights = [make_flight(build, tmp_path / name, end_s=3.0) for name in ("one", "two")]
    for until_us in range(0, 3_000_001, 100_000):
        for simulation, _ in flights:
            simulation.run(until_us)
    for simulation, _ in flights:
        fly(simulation)
    (first, one), (second, two) = flights
    assert one.instance != two.instance
    assert first.digest() == second.digest()


def test_an_interrupt_leaves_nothing(build, tmp_path, ended):
    """Raised while PX4 is waited for, as Ctrl-C is."""

    def stop(what):
        raise KeyboardInterrupt

    simulation, sitl = make_flight(build, tmp_path, on_wait=stop, instance=ended.instance)
    with pytest.raises(KeyboardInterrupt):
        fly(simulation)
    ended.check(sitl, tmp_path)


def test_a_flight_that_was_closed_does_not_go_on(build, tmp_path):
    """PX4 is gone."""
    simulation, _ = make_flight(build, tmp_path, end_s=1.0, mission=None, scenario=Scenario())
    simulation.run(100_000)
    simulation.close()
    simulation.close()
    with pytest.raises(SimulationError, match="stock PX4 was closed before the end of the run; the log is intact"):
        simulation.run()


def test_it_works_in_a_temporary_folder_if_none_is_given(build):
    """Which is gone after."""
    simulation, sitl = make_flight(build, None, **SHORT)
    simulation.run(50_000)
    folder = Path(sitl._temporary.name)
    assert (folder / "px4.log").exists()
    fly(simulation)
    assert not folder.exists()


def test_a_px4_of_the_users_is_waited_for_and_left_alone(build, tmp_path, monkeypatch, sitl_instance):
    """Started by the command that is printed, in the folder of its build; it is the user's to end."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))  # where the command makes PX4's folder
    begun = []

    def start(text):
        if not begun:
            command = ["bash", "-c", text.partition("by\n")[2]]
            with (tmp_path / "printed").open("wb") as printed:
                begun.append(
                    subprocess.Popen(command, cwd=build, stdout=printed, stderr=printed, start_new_session=True)
                )

    options = {"wait_for_user": True, "instance": sitl_instance, "connect_timeout_s": 20.0}
    simulation, _ = make_flight(None, tmp_path, **SHORT, on_wait=start, **options)
    try:
        fly(simulation)
        assert begun[0].poll() is None
        assert simulation.is_done
    finally:
        for process in begun:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert f"Simulator connected on TCP port {4560 + sitl_instance}" in (tmp_path / "printed").read_text()


def test_a_user_is_told_how_to_start_it(build, tmp_path, sitl_instance):
    """When it begins to wait: a command for a shell, with all parameters; and where it is, when the time is over."""
    told = []
    options = {"wait_for_user": True, "connect_timeout_s": 0.3, "instance": sitl_instance, "params": {"MPC_XY_P": 0.5}}
    simulation, sitl = make_flight(None, tmp_path, on_wait=told.append, **options)
    before = sitl.how_to_start()
    error = r"no PX4 has connected to TCP port \d+ in 0\.3 s .* Px4Sitl\.how_to_start\(\) has it"
    with pytest.raises(SimulationError, match=error):
        fly(simulation)
    lines = told[0].partition("; start it, in the folder of its build (build/px4_sitl_default), by\n")[2]
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
        (None, "stock PX4 is not known; give the folder that it was built in"),
        ("nowhere", "px4.sitl.build_dir = 'nowhere' is no folder; build PX4 by `make px4_sitl_default`"),
        (".", r"px4.sitl.build_dir = '.' has no bin/px4 and etc"),
    ],
)
def test_a_build_that_is_not_there_is_an_error(tmp_path, monkeypatch, folder, said):
    """When the simulation is made."""
    monkeypatch.delenv("PX4_SITL_DIR", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        make_flight(folder, tmp_path)


def test_the_build_is_found_in_the_sources_and_by_the_environment(tmp_path, monkeypatch):
    """As for PX4's library."""
    make_build(tmp_path / "PX4-Autopilot" / "build" / "px4_sitl_default")
    monkeypatch.setenv("PX4_SITL_DIR", str(tmp_path / "PX4-Autopilot"))
    _, sitl = make_flight(None, tmp_path)
    assert sitl._build == (tmp_path / "PX4-Autopilot" / "build" / "px4_sitl_default").resolve()


def test_another_plant_is_refused(build):
    """There is nothing that sensors could be of."""
    timeline = Timeline(1_000, autopilot=Periodic(100))
    with pytest.raises(InputError, match="stock PX4 needs an Aircraft, not Oscillator"):
        Simulation(Oscillator(), timeline, autopilot=Px4Sitl(options=SitlOptions(build_dir=build)))


def test_it_can_neither_be_copied_nor_put_back(build, tmp_path):
    """Its state is in another process."""
    simulation, sitl = make_flight(build, tmp_path, mission=None, scenario=Scenario())
    with pytest.raises(InputError, match="stock PX4 can't be copied"):
        simulation.snapshot()
    with pytest.raises(InputError, match="stock PX4 can't be put back"):
        sitl.restore(None)


def test_a_folder_that_is_there_is_an_error(build, tmp_path, monkeypatch):
    """Parameters and missions of a flight before would be PX4's."""
    (tmp_path / "px4").mkdir()
    error, _, _ = fails(build, tmp_path, "", monkeypatch)
    assert "can't be made: File exists" in error
