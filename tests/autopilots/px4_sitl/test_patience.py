"""A PX4 that runs but answers no steps: the run goes on, and a PX4 that hangs is still reported."""

import itertools
import os
import signal
import subprocess

import pytest
from px4_sitl_double import Client, ask_arm, ask_mode, make_flight, setpoint

from px4lockstep.autopilots.px4_sitl import patience
from px4lockstep.autopilots.px4_sitl.patience import GIVE_UP_US, MOST, PING_US, SILENT_S, Patience
from px4lockstep.errors import SimulationError
from px4lockstep.scenario.scenario import Scenario

MISBEHAVE = "PX4_DOUBLE_MISBEHAVE"
BOOT_S = 0.5
TICK_US = 4_000
OFFBOARD, HOLD = ask_mode(6), ask_mode(4, 3)


def fly(build, folder, instance, client, **options):
    """Fly without requests of the scenario; return the simulation and the autopilot."""
    options = {"boot_s": BOOT_S, "answer_timeout_s": 0.5, "instance": instance} | options
    options |= {"mission": None, "scenario": Scenario()}
    client.instance = instance
    simulation, sitl = make_flight(build, folder, hooks=[client], **options)
    try:
        simulation.run()
    finally:
        simulation.close()
    return simulation, sitl


def test_offboard_mode_without_setpoints_does_not_stop_the_run(sitl_build, tmp_path, sitl_instance):
    """While disarmed; PX4 answers again when a client selects another mode. One warning has the counts."""
    client = Client({1.0: OFFBOARD, 4.0: HOLD})
    simulation, sitl = fly(sitl_build, tmp_path, sitl_instance, client, end_s=6.0)
    assert simulation.is_done
    # 3 s of silence; without an end, it would be 5 s. On a busy machine, a few more answers are late.
    assert 3.0 / 0.004 - 10 < sitl.missed < 4.0 / 0.004
    [warning] = simulation.warnings
    assert warning.startswith(f"PX4 did not answer {sitl.missed} of 1626 steps in time; motor commands were held; it ")
    assert "as in offboard mode without setpoints" in warning
    assert simulation.log["bus"]["autopilot"]["nav_state"][-1] == 4
    assert simulation.log["inputs"]["command"]["motors"].max() == 0.0


def test_setpoints_end_the_silence_and_are_flown(sitl_build, tmp_path, sitl_instance):
    """The client sends them too late, arms, and climbs to 5 m."""
    client = Client({1.0: OFFBOARD, 4.0: ask_arm}, stream=(3.0, setpoint(0.0, 0.0, -5.0)))
    simulation, sitl = fly(sitl_build, tmp_path, sitl_instance, client, end_s=12.0, boot_s=4.0)
    # 2 s of silence; without an end, it would be 11 s. On a busy machine, a few more answers are late.
    assert 2.0 / 0.004 - 10 < sitl.missed < 3.0 / 0.004
    assert simulation.log["bus"]["autopilot"]["armed"][-1] == 1
    assert -simulation.log_state[-1, 2] == pytest.approx(5.0, abs=1.0)


def test_a_run_with_an_end_gives_up_after_a_minute(sitl_build, tmp_path, sitl_instance, monkeypatch):
    """Here after half a second; the error names the cause. A run without an end never does."""
    assert GIVE_UP_US == 60_000_000
    monkeypatch.setattr(patience, "GIVE_UP_US", 500_000)
    with pytest.raises(
        SimulationError, match=r"no motor commands for 0\.504 s of simulated time, although it runs: did a"
    ):
        fly(sitl_build, tmp_path / "one", sitl_instance, Client({1.0: OFFBOARD}), end_s=3.0)
    simulation, _ = fly(sitl_build, tmp_path / "two", sitl_instance, Client({1.0: OFFBOARD}), end_s=3.0, has_end=False)
    assert simulation.time_us == 3_000_000


def test_a_px4_that_hangs_during_silence_is_an_error(sitl_build, tmp_path, sitl_instance, monkeypatch):
    """Found by the next ping, also in a run without an end."""
    monkeypatch.setenv(MISBEHAVE, f"stall@{BOOT_S + 2.0}")
    client = Client({1.0: OFFBOARD})
    with pytest.raises(SimulationError, match=r"PX4 did not answer \d+ steps in a row .*it hangs or is suspended"):
        fly(sitl_build, tmp_path, sitl_instance, client, end_s=20.0, has_end=False)


class Suspends:
    """A hook that suspends PX4 for a while: `sh` lets it go on."""

    def __init__(self, seconds):
        self.seconds, self.sitl, self.child = seconds, None, None

    def step(self, time_us, inputs):
        if time_us == 1_000_000:
            pid = self.sitl.process_id
            os.kill(pid, signal.SIGSTOP)
            self.child = subprocess.Popen(["sh", "-c", f"sleep {self.seconds}; kill -CONT {pid}"])

    def snapshot(self):
        return None

    def restore(self, saved):
        pass


def test_a_px4_that_was_suspended_catches_up(sitl_build, tmp_path, sitl_instance):
    """For longer than one timeout: its late answers show that it runs again, and no further step is missed."""
    hook = Suspends(0.8)
    simulation, sitl = make_flight(
        sitl_build,
        tmp_path,
        mission=None,
        scenario=Scenario(),
        end_s=2.0,
        boot_s=BOOT_S,
        answer_timeout_s=0.5,
        hooks=[hook],
        instance=sitl_instance,
    )
    hook.sitl = sitl
    try:
        simulation.run()
    finally:
        simulation.close()
        if hook.child is not None:
            hook.child.wait()
    assert simulation.is_done
    assert 1 <= sitl.missed <= 2


# -- the rules alone ---------------------------------------------------------------------------------------------


def missed(waits, steps, *, is_armed=True, time_us=0):
    """Miss steps; return the times at which a ping was needed, each of which PX4 answers."""
    pings = []
    for _ in range(steps):
        time_us += TICK_US
        waits.miss(time_us)
        if waits.needs_ping(time_us, is_armed):
            pings.append(time_us)
            waits.runs(time_us)
    return pings


def test_an_armed_px4_gets_the_full_timeout_three_times():
    """The motors are held during silence, so it must be certain."""
    waits = Patience(2.0, TICK_US)
    assert missed(waits, 2) == []
    assert (waits.timeout_s, waits.is_stalled) == (2.0, False)
    assert len(missed(waits, 1)) == 1
    assert (waits.timeout_s, waits.is_stalled, waits.is_row) == (SILENT_S, True, True)


def test_a_disarmed_px4_gets_it_once():
    """Nothing can fall; its clients should not wait."""
    waits = Patience(2.0, TICK_US)
    assert len(missed(waits, 1, is_armed=False)) == 1
    assert waits.timeout_s == SILENT_S
    waits.answered()
    assert waits.timeout_s == 2.0


def test_a_ping_is_needed_every_two_seconds_of_silence():
    """Of simulated time."""
    waits = Patience(2.0, TICK_US)
    pings = missed(waits, 2 + 3 * PING_US // TICK_US)
    assert [after - before for before, after in itertools.pairwise(pings)] == [PING_US] * (len(pings) - 1)
    assert len(pings) == 3


def test_missing_every_second_step_keeps_the_short_timeout():
    """Otherwise such a PX4 would be waited for in every second step."""
    waits = Patience(2.0, TICK_US)
    for _ in range(10):
        missed(waits, 1)
        waits.answered()
    assert (waits.timeout_s, waits.is_row, waits.missed) == (SILENT_S, False, 10)
    for _ in range(MOST):
        waits.answered()
    assert waits.timeout_s == 2.0
