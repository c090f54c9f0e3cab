"""Branches of a flight of real PX4: forked processes that continue with changes."""

import json
import os
import shutil
import signal
import sys
from types import SimpleNamespace

import px4_runs
import pytest
from commands import start_command
from processes import children_of, is_gone, wait_until
from px4_double import OPTIONS, build_double

import px4lockstep
import px4lockstep.flights.folder
from px4lockstep.errors import InputError
from px4lockstep.flights.folder import read_log
from px4lockstep.flights.fork import is_of_px4
from px4lockstep.flights.recording.file import read_recording

pytestmark = pytest.mark.process

SETTINGS = ("autopilot.kind=px4", "timeline.t_end_s=12.0", "scenario.arm_time_s=0.2", "scenario.mission_time_s=0.4")


def run(*arguments, cwd, misbehave=""):
    """Run the command line, optionally with a double that misbehaves."""
    return px4_runs.run(*arguments, cwd=cwd, double=misbehave)


@pytest.fixture(scope="module")
def trunk(tmp_path_factory):
    """Fly the double in wind, and return the run folder."""
    root = tmp_path_factory.mktemp("fork")
    settings = [word for setting in (*SETTINGS, f"px4.libpath={build_double(root)}") for word in ("--set", setting)]
    finished = run("run", "iris", *settings, "--no-plots", "--out", "trunk", cwd=root)
    assert finished.returncode == 1, finished.stderr  # the mission takes longer
    return root / "trunk"


def test_a_branch_without_changes_equals_its_trunk(trunk):
    """The first of two; the other has its own noise from the branch time on."""
    options = ("--count", "2", "--no-plots", "--json", "--out", "same")
    finished = run("branch", trunk, "--at", "6", *options, cwd=trunk.parent)
    said = json.loads(finished.stdout)
    recorded = read_recording(trunk)
    assert said["at_s"] == 6.0
    assert said["branches"][0]["digest"] == said["trunk_digest"] == recorded.digest
    assert said["branches"][1]["digest"] != recorded.digest
    first, second = (read_recording(trunk.parent / "same" / f"branch-{i}") for i in (1, 2))
    assert first.live_digest == recorded.live_digest
    assert second.log[:600].tobytes() == recorded.log[:600].tobytes()


def test_changes_act_from_the_branch_time_on_and_the_branch_replays(trunk):
    """A mass, a PX4 parameter and an event; the replay needs no PX4."""
    changes = ("--set", "airframe.mass_kg=1.6", "--set", "px4.params=[{name='MPC_XY_CRUISE',value=3.0}]")
    options = ("--event", "at_s=8,action=land", "--no-plots", "--out", "landed")
    finished = run("branch", trunk, "--at", "6", *changes, *options, cwd=trunk.parent)
    assert "changed: airframe.mass_kg = 1.6, was 1.5" in finished.stdout, finished.stderr
    assert "changed: scenario.events[0].action = 'land'" in finished.stdout
    branch = trunk.parent / "landed" / "branch-1"
    recording = read_recording(branch)
    assert recording.starts_us == 6_000_000
    assert (recording.log["bus"]["autopilot"]["nav_state"][801:] == 18).all()
    assert px4lockstep.replay(branch).matches
    found = px4lockstep.diff(trunk, branch)
    assert found.first_difference is not None
    assert 6_000_000 <= found.first_difference.time_us <= 6_010_000


def test_a_parameter_of_the_airframe_changes_in_flight(trunk):
    """As one of the user does: PX4 gets it at the branch time."""
    options = ("--no-plots", "--json", "--out", "hover", "--set", "airframe.px4_params.MPC_THR_HOVER=0.6")
    finished = run("branch", trunk, "--at", "6", *options, cwd=trunk.parent)
    said = json.loads(finished.stdout)
    assert said["branches"][0]["digest"] != said["trunk_digest"]


def test_the_library_that_a_run_folder_names_needs_trust(trunk, untrusted):
    """The spec of a run folder is as untrusted as any file; `--set` is the user's choice."""
    options = ("--at", "6", "--no-plots", "--json", "--out")
    finished = run("branch", trunk, *options, "refused", cwd=trunk.parent)
    assert finished.returncode == 2
    assert f"error: {trunk / 'spec.toml'}: px4.libpath = '{trunk.parent}/" in finished.stderr
    builtin = trunk.parent / "builtin"
    shutil.copytree(trunk, builtin)
    text = (builtin / "spec.toml").read_text("utf-8")
    (builtin / "spec.toml").write_text(text.replace('kind = "px4"', 'kind = "builtin"'), "utf-8")
    assert run("branch", builtin, *options, "refused", cwd=trunk.parent).returncode == 2
    library = next(trunk.parent.glob("*.so"))
    for chosen in (("--set", f"px4.libpath={library}"), ("--trust",)):
        said = json.loads(run("branch", trunk, *options, f"by{chosen[0]}", *chosen, cwd=trunk.parent).stdout)
        assert said["branches"][0]["digest"] == said["trunk_digest"]


def test_workers_of_determinism_inherit_trust(python, untrusted, tmp_path):
    """They fly a copy of the spec from a folder that is not trusted."""
    script = (
        "import sys\nfrom px4lockstep.flights.determinism import Variant, determinism\n"
        "values = {'autopilot.kind': 'px4', 'px4.libpath': sys.argv[1], 'timeline.t_end_s': 0.5}\n"
        "found = determinism('iris', variants=[Variant('one')], overrides=values)\n"
        "assert found.identical, found.flights\n"
    )
    python("-c", script, build_double(tmp_path))


def test_real_px4_can_not_resume_from_a_checkpoint(trunk):
    """Its state is inside the PX4 library, not in a file."""
    with pytest.raises(InputError, match=r"branch its flights with px4lockstep\.fork"):
        px4lockstep.branch(trunk, 6.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--at", "60"), "not before the end of the flight"),
        (("--at", "6", "--set", "home.lat_deg=1.0"), "can't change in flight"),
        (("--at", "6", "--event", "at_s=1,action=land"), "before the branch"),
        (("--at", "6", "--count", "0"), "must be 1 to"),
    ],
)
def test_the_parent_reports_bad_input(trunk, arguments, message):
    """In one line, with exit code 2."""
    finished = run("branch", trunk, *arguments, "--no-plots", "--out", "none", cwd=trunk.parent)
    assert finished.returncode == 2, finished.stderr
    assert message in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (trunk.parent / "none").exists()


@pytest.mark.parametrize("key", ["px4.lockstep.navigator_rate_hz=5", "autopilot.angular_acceleration=false"])
def test_settings_that_px4_reads_at_its_start_can_not_change(trunk, key):
    """Such a change would be listed but have no effect."""
    finished = run("branch", trunk, "--at", "6", "--set", key, "--no-plots", "--out", "none", cwd=trunk.parent)
    assert finished.returncode == 2
    assert "PX4 reads this only at its start" in finished.stderr


def test_the_limits_of_the_fence_can_not_change(trunk):
    """The host sets up the fence at the start."""
    key = "px4.params=[{name='GF_MAX_HOR_DIST',value=3.0}]"
    finished = run("branch", trunk, "--at", "6", "--set", key, "--no-plots", "--out", "none", cwd=trunk.parent)
    assert finished.returncode == 2
    assert "GF_MAX_HOR_DIST can't change in flight" in finished.stderr


def test_a_branch_in_which_px4_fails_keeps_its_log_and_the_others_are_flown(trunk):
    """Both fail here: the double stops at a step after the branch time."""
    options = ("--count", "2", "--no-plots", "--json", "--out", "failed")
    finished = run("branch", trunk, "--at", "6", *options, cwd=trunk.parent, misbehave="code.step_uorb=-3@2000")
    assert finished.returncode == 1, finished.stderr
    branches = json.loads(finished.stdout)["branches"]
    assert [one["outcome"] for one in branches] == ["failed", "failed"]
    assert "px4_lockstep_step_uorb" in branches[0]["reason"]
    assert px4lockstep.flights.folder.read_log(trunk.parent / "failed" / "branch-2").rows > 600


def test_a_branch_in_which_px4_crashes_is_reported_and_the_others_are_flown(trunk):
    """With its signal; the folder is marked as incomplete and has what PX4 printed."""
    options = ("--count", "2", "--no-plots", "--json", "--out", "died")
    finished = run("branch", trunk, "--at", "6", *options, cwd=trunk.parent, misbehave="signal=11@2000,print=80@1999")
    assert (finished.returncode, finished.stderr) == (1, "")
    branches = json.loads(finished.stdout)["branches"]
    assert [one["outcome"] for one in branches] == ["failed", "failed"]
    assert "PX4's library crashed: SIGSEGV (signal 11, " in branches[1]["reason"]
    for number in (1, 2):
        folder = trunk.parent / "died" / f"branch-{number}"
        assert px4lockstep.flights.folder.is_incomplete(folder)
        assert (folder / "px4.log").read_text() == STARTED + "\n" + 79 * "."
    shown = run("branch", trunk, "--at", "6", "--out", "shown", cwd=trunk.parent, misbehave="signal=11@2000")
    assert (shown.returncode, shown.stderr) == (1, "")
    assert "failed" in shown.stdout


def test_a_crash_before_the_branch_time_is_an_error(trunk):
    """With what PX4 printed; no branch is written."""
    options = ("--no-plots", "--json", "--out", "none")
    finished = run("branch", trunk, "--at", "6", *options, cwd=trunk.parent, misbehave="signal=11@1000")
    assert (finished.returncode, finished.stdout) == (1, "")
    assert "segmentation fault) has ended its process before the branch time\n" in finished.stderr
    assert "  last output of PX4:\n    INFO  [lockstep] conformance double, ABI 3\n" in finished.stderr
    assert not (trunk.parent / "none").exists()


STARTED = "INFO  [lockstep] conformance double, ABI 3\nINFO  [lockstep] mission of 8 items loaded\n"


def test_what_px4_prints_is_in_the_folder_of_each_branch(trunk):
    """From its start; each branch has its own log, and standard error stays empty."""
    options = ("--count", "2", "--no-plots", "--out", "printed")
    finished = run("branch", trunk, "--at", "6", *options, cwd=trunk.parent, misbehave="print=80@2990")
    assert finished.stderr == ""
    assert 79 * "." not in finished.stdout
    for number in (1, 2):
        said = (trunk.parent / "printed" / f"branch-{number}" / "px4.log").read_text()
        assert said == STARTED + 12 * ("\n" + 79 * ".")  # the last of 3,001 steps


@pytest.mark.skipif(sys.platform != "linux", reason="a child ends with its parent on Linux; /proc")
def test_no_process_survives_when_the_command_is_killed(trunk):
    """The branch is a grandchild, in a step that takes an hour."""
    command = ("branch", str(trunk), "--at", "6", "--out", "left")
    environment = {**os.environ, OPTIONS: "sleep_us=3600000000@2000"}
    folder = trunk.parent / "left" / "branch-1"
    process = start_command(*command, cwd=trunk.parent, env=environment)
    try:
        wait_until(lambda: (folder / "px4.log").exists())
        (child,) = children_of(process.pid)
        (branch,) = children_of(child)
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: is_gone(child) and is_gone(branch))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, *(pytest.param(n, marks=pytest.mark.slow) for n in (signal.SIGTERM, signal.SIGHUP))]
)
def test_a_stopped_branch_keeps_its_log(trunk, number):
    """With its summary, marked as incomplete; the next is not flown. The group gets the signal, as from a terminal."""
    out = trunk.parent / f"stopped-{number}"
    command = ("branch", str(trunk), "--at", "6", "--count", "2", "--out", str(out))
    environment = {**os.environ, OPTIONS: "sleep_us=5000@1600"}
    process = start_command(*command, env=environment, leads=True)
    try:
        wait_until(lambda: (out / "branch-1" / "log.rows").exists() and read_log(out / "branch-1").rows > 650)
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 128 + number, errors
    assert "Traceback" not in errors
    assert [path.name for path in out.iterdir()] == ["branch-1"]
    assert json.loads((out / "branch-1" / "summary.json").read_text())["outcome"] == "stopped"
    assert (out / "branch-1" / "INCOMPLETE").exists()
    assert 650 < read_log(out / "branch-1").rows < 1201


def test_a_recording_of_an_unknown_autopilot_is_not_of_px4():
    """As of a later version: it is an error of the command, not a KeyError."""
    recording = SimpleNamespace(source=SimpleNamespace(autopilot="quantum 9.0"))
    assert not is_of_px4(recording)
