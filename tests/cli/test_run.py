"""`px4lockstep run`, `plot` and `export`: outcome, files, exit codes, no traceback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from commands import run_command, start_command

import px4lockstep
from px4lockstep.errors import InputError
from px4lockstep.log.csv import read_csv
from px4lockstep.log.parquet import read_parquet
from px4lockstep.spec.shipped import shipped_aircraft, shipped_missions

COMMAND = (sys.executable, "-m", "px4lockstep")
FILES = ["log.parquet", "plots.png", "recording.h5", "spec.toml", "summary.json"]
SHORT = ("--set", "timeline.t_end_s=4.0", "--no-plots")


def run(*arguments, cwd):
    """Run the command line."""
    return run_command(*arguments, cwd=cwd)


def test_the_iris_flies_its_mission_and_writes_a_folder(tmp_path):
    """One object on standard output, exit code 0, and all files."""
    finished = run("run", "iris", "--json", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    summary = json.loads(finished.stdout)
    assert summary["mission_finished"]
    assert summary["landed"]
    assert not summary["crashed"]
    assert len(summary["waypoint_times_s"]) == 8
    assert summary["max_altitude_m"] == pytest.approx(12.03, abs=0.2)
    folder = tmp_path / summary["run_dir"]
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert json.loads((folder / "summary.json").read_text()) == summary
    assert read_parquet(folder / "log.parquet").rows == 7201

    again = run("run", str(folder / "spec.toml"), "--json", "--no-plots", cwd=tmp_path)
    assert json.loads(again.stdout)["digest"] == summary["digest"]

    exported = run("export", str(folder), "--format", "csv", "--columns", "pos_ned,motors", cwd=tmp_path)
    assert exported.returncode == 0
    assert np.array_equal(read_csv(folder / "export.csv")["pos_ned"], read_parquet(folder / "log.parquet")["pos_ned"])
    picture = run("plot", str(folder), "--out", "again.png", cwd=tmp_path)
    assert (picture.returncode, picture.stderr) == (0, "")
    assert (tmp_path / "again.png").read_bytes() == (folder / "plots.png").read_bytes()


def test_the_table_has_the_number_of_each_waypoint(tmp_path):
    """With the time at which it was reached; extremes are named as in the summary."""
    finished = run("run", "iris", "--no-plots", "--out", "out", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["waypoint_items"] == list(range(8))
    text = " ".join(finished.stdout.replace("│", " ").split())
    times = [f"{item}: {time_s:.2f} s" for item, time_s in enumerate(summary["waypoint_times_s"])]
    assert f"waypoints reached at {', '.join(times)} " in text
    assert f"max altitude {summary['max_altitude_m']:.2f} m max speed {summary['max_speed_m_s']:.2f} m/s" in text


def test_folders_whose_names_are_not_utf_8_are_plotted_and_compared(tmp_path):
    """`plot` and `diff` ended with a UnicodeEncodeError."""
    first, second = (os.fsdecode(name) for name in (b"one-\xff", b"two-\xfe"))
    for folder in (first, second):
        assert run("run", "iris", *SHORT, "--out", folder, cwd=tmp_path).returncode == 1  # too short for its mission
    drawn = run("plot", first, cwd=tmp_path)
    assert (drawn.returncode, drawn.stderr) == (0, "")
    assert (tmp_path / first / "plots.png").exists()
    compared = run("diff", first, second, "--out", "diff.png", cwd=tmp_path)
    assert (compared.returncode, compared.stderr) == (0, "")


def test_the_python_api_flies_the_same_flight(tmp_path):
    """`simulate` and the command line give the same digest; the saved log is the one that was flown."""
    flown = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 6.0})
    printed = run("run", "iris", "--json", "--set", "timeline.t_end_s=6.0", "--no-plots", cwd=tmp_path)
    assert json.loads(printed.stdout)["digest"] == flown.digest
    assert flown.log["pos_ned"].shape == (601, 3)
    folder = flown.save(tmp_path / "saved", plots=False)
    assert np.array_equal(read_parquet(folder / "log.parquet")["pos_ned"], flown.log["pos_ned"])
    with pytest.raises(InputError, match="not empty"):
        flown.save(folder)


def test_an_unfinished_mission_is_a_failure(tmp_path):
    """Exit code 1, with all files, and not marked: the run itself is complete."""
    finished = run("run", "iris", *SHORT, "--out", "short", cwd=tmp_path)
    assert finished.returncode == 1
    assert "iris: out of time" in finished.stdout
    assert "not finished" not in finished.stdout
    assert "the run ended at 4.00 s, at item 0 of a mission with items 0 to 7" in " ".join(
        finished.stdout.replace("│", " ").split()
    )
    assert not (tmp_path / "short" / "INCOMPLETE").exists()


def test_a_crash_is_a_failure_with_its_log(tmp_path):
    """A motor lost at 20 s."""
    event = '\n[[scenario.events]]\nat_s = 20.0\naction = "disable_motor"\nmotor = 1\n'
    iris = shipped_aircraft()["iris"].read_text("utf-8")
    (tmp_path / "broken.toml").write_text(iris + event, "utf-8")
    finished = run("run", "broken.toml", "--json", "--no-plots", cwd=tmp_path)
    assert finished.returncode == 1, finished.stderr
    summary = json.loads(finished.stdout)
    assert summary["crashed"]
    assert summary["outcome"] == "crashed"
    assert "motor 1 off 20.00 s" in summary["reason"]
    assert {"time_s": 20.0, "label": "motor 1 off", "is_fault": True} in summary["events"]
    assert summary["duration_s"] < 30.0


def test_a_crash_that_does_not_end_the_run_is_a_failure(tmp_path):
    """A quadrotor without two motors falls and lies there until the end. A branch of it fails as well."""
    iris = shipped_aircraft()["iris"].read_text("utf-8").replace("[scenario]", "[scenario]\nends_at_crash = false")
    event = '\n[[scenario.events]]\nat_s = 12.0\naction = "disable_motor"\nmotor = 1\n'
    (tmp_path / "lies.toml").write_text(iris + event, "utf-8")
    flown = run(
        "run", "lies.toml", "--json", "--no-plots", "--set", "timeline.t_end_s=20.0", "--out", "r", cwd=tmp_path
    )
    assert flown.returncode == 1, flown.stderr
    summary = json.loads(flown.stdout)
    assert (summary["outcome"], summary["crashed"], summary["duration_s"]) == ("crashed", True, 20.0)
    assert summary["reason"].startswith("hit the ground at 1")
    replayed = run("replay", "r", "--json", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert [json.loads(replayed.stdout)[name] for name in ("outcome", "reason")] == ["crashed", summary["reason"]]
    branched = run("branch", "r", "--at", "18", "--json", "--no-plots", "--out", "b", cwd=tmp_path)
    assert branched.returncode == 1, branched.stderr
    assert json.loads(branched.stdout)["branches"][0]["outcome"] == "crashed"


def test_an_aircraft_that_never_took_off_is_a_failure(tmp_path):
    """Its battery is disconnected before the mission, and a return is requested while it stands."""
    text = "".join(
        f"\n[[scenario.events]]\nat_s = {at_s}\naction = {action}\n"
        for at_s, action in ((8.0, '"disconnect_battery"'), (12.0, '"return"'))
    )
    iris = shipped_aircraft()["iris"].read_text("utf-8").replace("[scenario]", "[scenario]\nmission_time_s = 9.0")
    (tmp_path / "empty.toml").write_text(iris + text, "utf-8")
    finished = run("run", "empty.toml", "--no-plots", "--set", "timeline.t_end_s=20.0", cwd=tmp_path)
    assert finished.returncode == 1, finished.stderr
    assert "iris: never took off" in finished.stdout
    said = " ".join(finished.stdout.replace("│", " ").split())
    assert (
        "the mission was requested at 9.00 s, but the vehicle never rose above 0.5 m before the end at 20.00 s" in said
    )
    assert re.search(r"ended on the ground, 0\.\d\d m from home", said)


def test_an_aircraft_without_a_request_is_not_a_failure(tmp_path):
    """The twin stands, which is neither a failure nor flown; zeros have no sign."""
    finished = run("run", "twin", "--no-plots", cwd=tmp_path)
    assert finished.returncode == 0
    assert "twin: nothing asked" in finished.stdout
    assert "not requested" in finished.stdout
    assert "-0.00" not in finished.stdout


def test_plotting_without_the_mission_is_a_warning(tmp_path):
    """The folder's copy of the mission was deleted; the figure has no waypoints."""
    (tmp_path / "own.waypoints").write_text(shipped_missions()["simple"].read_text("utf-8"), "utf-8")
    flown = run("run", "iris", *SHORT, "--set", "px4.mission_path=own.waypoints", "--out", "out", cwd=tmp_path)
    assert flown.returncode == 1, flown.stderr
    (tmp_path / "own.waypoints").unlink()
    assert run("plot", "out", "--out", "whole.png", cwd=tmp_path).stderr == ""
    (tmp_path / "out" / "mission.waypoints").unlink()
    drawn = run("plot", "out", "--force", cwd=tmp_path)
    assert drawn.returncode == 0
    assert drawn.stderr.startswith("warning: the figure has no waypoints: ")
    assert "mission.waypoints" in drawn.stderr
    assert (tmp_path / "out" / "plots.png").read_bytes() != (tmp_path / "whole.png").read_bytes()
    (tmp_path / "out" / "spec.toml").unlink()
    assert "spec.toml can't be read" in run("plot", "out", "--force", cwd=tmp_path).stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_full_standard_output_is_an_error(tmp_path, more):
    """The flight is kept."""
    finished = run_command("run", "iris", *SHORT, "--out", "out", *more, cwd=tmp_path, stdout="/dev/full")
    assert finished.returncode == 1
    assert finished.stderr == "error: standard output can't be written: No space left on device\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [name for name in FILES if name != "plots.png"]


@pytest.mark.parametrize("arguments", [("spec", "schema"), ("run", "iris", *SHORT), ("run", "iris", "--json", *SHORT)])
def test_a_closed_pipe_is_not_an_error_message(tmp_path, arguments):
    """As in `px4lockstep run iris | head -0`."""
    process = subprocess.Popen(
        (*COMMAND, *arguments), cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell a process's peak memory")
def test_twenty_minutes_fit_into_half_a_gigabyte(tmp_path):
    """At the default log period, with recording, log and figure; compiled before, since that takes more."""
    code = (
        "import re, sys\nfrom pathlib import Path\nfrom px4lockstep.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "sys.stderr.write(re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())[1])\n"
    )
    run("run", "iris", *SHORT, cwd=tmp_path)
    period = px4lockstep.load_spec("iris").timeline.dt_log_s
    command = (sys.executable, "-c", code, "run", "iris_long", "--out", "out", "--set", f"timeline.dt_log_s={period}")
    finished = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert all((tmp_path / "out" / name).exists() for name in FILES)
    assert read_parquet(tmp_path / "out" / "log.parquet").rows == 126_001
    assert int(finished.stderr) * 1024 < 500e6


def test_seeds_and_settings_change_the_flight(tmp_path):
    """And nothing else does."""
    digests = [
        json.loads(run("run", "iris", "--json", *SHORT, *more, cwd=tmp_path).stdout)["digest"]
        for more in ((), (), ("--seed", "7"), ("--set", "estimator.kind=none"))
    ]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (("run", "irsi"), ("irsi", "iris")),
        (("run", "iris", "--set", "enviroment.wind=ou"), ("enviroment", "environment")),
        (("run", "iris", "--set", "environment.wind=gale"), ("gale", "dryden")),
        (("run", "iris", "--set", "airframe.mass_kg=-1"), ("airframe.mass_kg", "-1")),
        (("run", "iris", "--set", "airframe.mass_kg=nan"), ("airframe.mass_kg",)),
        (("run", "iris", "--set", "nonsense"), ("nonsense",)),
        (("run", "iris", "--set", "timeline.t_end_s=1e9"), ("t_end_s",)),
        (("run", "iris", "--set", "px4.mission_path=gone.waypoints"), ("gone.waypoints",)),
        (("run", "iris", "--set", "plant.integrator=RK5"), ("RK5",)),
        (("run", "gone.toml"), ("gone.toml",)),
        (("run", "."), (".",)),
        (("run", "binary.toml"), ("binary.toml",)),
        (("run", "iris", "--out", "binary.toml"), ("binary.toml",)),
        (("spec", "show", "octo"), ("octo", "octa")),
        (("spec", "check", "gone.toml"), ("gone.toml",)),
        (("plot", "gone"), ("gone", "run folder not found")),
        (("export", "gone"), ("gone", "run folder not found")),
        (("export", ".", "--format", "xlsx"), ("xlsx", "csv")),
        (("run", "iris", "--set", "run.log_csv=/gone/x.csv"), ("run.log_csv", "/gone/x.csv")),
        (("run", "iris", "--seed", "abc"), ("aircraft.seed = 'abc'", "whole number")),
        (("run", "iris", "--sed", "3"), ("--sed", "--seed", "px4lockstep run --help")),
        (("run", "iris", "--sheed", "3"), ("no such option: --sheed (Possible options: --seed); see",)),
        (("run", "iris", "--stop", "3"), ("no such option: --stop; see",)),
        (("run", "iris", "--out"), ("--out",)),
        (("run",), ("SPEC",)),
        (("rnu", "iris"), ("'rnu'", "'run'")),
        (("spec", "lst"), ("'lst'", "'list'")),
        (("plot", "binary.toml"), ("binary.toml is not a log; give a run folder",)),
        (("run", "iris", "--set", "nonsense.x=1"), ("unknown key; allowed:",)),
        (("run", "iris", "--set", "autopilot.params.MC_AIRMODE=1"), ("PX4 has it, but",)),
    ],
)
def test_bad_input_is_a_message_and_exit_code_2(tmp_path, arguments, fragments):
    """With the place and what is allowed, without a traceback or partial files."""
    (tmp_path / "binary.toml").write_bytes(bytes(range(256)))
    finished = run(*arguments, cwd=tmp_path)
    assert finished.returncode == 2, finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stdout == ""
    assert finished.stderr.startswith("error: ")
    assert finished.stderr.count("\n") == 1
    for fragment in fragments:
        assert fragment in finished.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["binary.toml"]


def test_an_interrupt_keeps_the_log(tmp_path):
    """Exit code 130, log and summary, marked as incomplete."""
    hours = ("--set", "timeline.t_end_s=5000", "--set", "timeline.dt_log_s=0.5")  # takes seconds to compute
    process = start_command("run", "iris_long", "--no-plots", "--out", "stopped", *hours, cwd=tmp_path)
    wait_for(tmp_path / "stopped" / "spec.toml")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert (tmp_path / "stopped" / "INCOMPLETE").exists()
    assert read_parquet(tmp_path / "stopped" / "log.parquet").rows > 0


def test_a_killed_run_is_marked(tmp_path):
    """All its files are complete."""
    process = start_command("run", "iris_long", "--no-plots", "--out", "killed", cwd=tmp_path)
    wait_for(tmp_path / "killed" / "spec.toml")
    process.kill()
    process.communicate()
    assert (tmp_path / "killed" / "INCOMPLETE").exists()
    assert not list((tmp_path / "killed").glob("log.parquet"))


def wait_for(path):
    """Wait until a file exists."""
    for _ in range(1200):
        if path.exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def test_specs_can_be_listed_shown_checked_and_described(tmp_path):
    """For people and for editors."""
    listed = run("spec", "list", cwd=tmp_path).stdout
    assert all(name in listed for name in ("iris", "octa", "twin", "hex", "simple", "long"))
    assert "[airframe]" in run("spec", "show", "iris", cwd=tmp_path).stdout
    assert run("spec", "check", "hex", cwd=tmp_path).stdout.endswith("hex: OK\n")
    assert json.loads(run("spec", "schema", cwd=tmp_path).stdout)["type"] == "object"


def test_the_doctor_describes_the_installation(tmp_path):
    """As text and as JSON."""
    found = json.loads(run("doctor", "--json", cwd=tmp_path).stdout)
    assert found["loop"] == "compiled"
    assert "PX4_LOCKSTEP_LIB" in found["px4_library"]
    assert "PX4_SITL_DIR" in found["px4_sitl"]
    assert "cpu_target" in run("doctor", cwd=tmp_path).stdout
