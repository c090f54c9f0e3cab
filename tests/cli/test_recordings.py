"""`replay`, `branch` and `diff` on the command line: tables, exit codes, JSON, one line per error."""

import json

import pytest
from commands import run_command

SHORT = ("timeline.t_end_s=6.0", "scenario.arm_time_s=0.2", "scenario.mission_time_s=0.4")


def run(*arguments, cwd):
    """Run the command line."""
    return run_command(*map(str, arguments), cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a run folder, flown by the command line."""
    root = tmp_path_factory.mktemp("recordings")
    settings = [word for setting in SHORT for word in ("--set", setting)]
    finished = run("run", "iris", *settings, "--no-plots", "--out", "first", cwd=root)
    assert finished.returncode == 1, finished.stderr  # the mission is not finished in 6 s
    return root / "first"


def test_replay_gives_the_digest_of_the_run(folder):
    """With exit code 0 and the documented JSON."""
    finished = run("replay", folder, "--json", cwd=folder.parent)
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    summary = json.loads((folder / "summary.json").read_text())
    assert said["digest"] == said["recorded_digest"] == summary["digest"]
    assert said["matches"] is True
    assert said["first_difference"] is None
    assert said["changes"] == []


def test_replay_lists_changes_and_how_far_it_departs(folder):
    """The first difference, the largest and the final position difference; requested changes are not a failure."""
    changes = ("--integrator", "RK4", "--set", "airframe.mass_kg=1.51")
    finished = run("replay", folder, *changes, cwd=folder.parent)
    assert finished.returncode == 0, finished.stderr
    assert "airframe.mass_kg = 1.51, was 1.5" in finished.stdout
    assert "plant.integrator.kind = 'RK4', was 'RK45'" in finished.stdout
    assert "replay: differs from the recorded flight" in finished.stdout
    said = json.loads(run("replay", folder, *changes, "--json", cwd=folder.parent).stdout)
    largest_m, at_s = said["max_position_difference_m"], said["max_position_difference_at_s"]
    assert 0.0 < said["final_position_difference_m"] <= largest_m < 10.0
    assert 0.0 < at_s <= said["duration_s"]
    text = " ".join(finished.stdout.split())
    assert f"first difference │ t = {said['first_difference']['time_us'] / 1e6:.6f} s in " in text
    assert f"max position difference │ {largest_m:.3g} m at t = {at_s:.2f} s" in text
    assert f"final position difference │ {said['final_position_difference_m']:.3g} m at t = 6.00 s" in text


def test_an_identical_replay_departs_by_nothing(folder):
    """In JSON; the table has no rows about differences."""
    said = json.loads(run("replay", folder, "--json", cwd=folder.parent).stdout)
    assert said["max_position_difference_m"] == said["final_position_difference_m"] == 0.0
    text = run("replay", folder, cwd=folder.parent).stdout
    assert "bit-identical to the recorded flight" in text
    assert "position difference" not in text


def test_branches_write_run_folders_that_replay_and_diff(folder):
    """Two of them from 3 s on; the first differs from the trunk at its event."""
    out = folder.parent / "branches"
    event = "at_s=4.5,action=land"
    finished = run(
        "branch",
        folder,
        "--at",
        "3",
        "--event",
        event,
        "--count",
        "2",
        "--out",
        out,
        "--no-plots",
        "--json",
        cwd=folder,
    )
    said = json.loads(finished.stdout)
    assert said["at_s"] == 3.0
    assert said["trunk_digest"] == json.loads((folder / "summary.json").read_text())["digest"]
    assert [one["run_dir"] for one in said["branches"]] == [str(out / "branch-1"), str(out / "branch-2")]
    assert said["branches"][0]["changes"][0] == {"key": "scenario.events[0].at_s", "before": None, "after": 4.5}
    replayed = run("replay", out / "branch-2", "--json", cwd=folder)
    assert json.loads(replayed.stdout)["matches"] is True

    differing = run("diff", folder, out / "branch-1", "--json", cwd=folder)
    assert differing.returncode == 1
    found = json.loads(differing.stdout)
    assert found["identical"] is False
    assert found["first_difference"]["time_us"] >= 4_500_000
    assert (out / "branch-1" / "diff.png").read_bytes()[:4] == b"\x89PNG"
    same = run("diff", folder, folder, "--no-plots", cwd=folder)
    assert same.returncode == 0
    assert "the flights are bit-identical" in same.stdout


def test_tables_have_the_full_paths_of_folders(folder):
    """In 80 columns, however long the paths are."""
    out = folder.parent / ("branches_with_a_name_that_is_longer_than_a_column" * 2)
    options = ("--at", "5", "--count", "2", "--no-plots", "--out", out)
    branched = run("branch", folder, *options, cwd=folder.parent)
    for number in (1, 2):
        assert f"branch {number}: {out}/branch-{number}\n" in branched.stdout, branched.stderr
    found = run("diff", folder, out / "branch-2", "--no-plots", cwd=folder.parent)
    assert f"RUN_A: {folder}\nRUN_B: {out}/branch-2\n" in found.stdout, found.stderr
    assert "…" not in branched.stdout + found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("replay", "nowhere"), "can't be read: No such file or directory"),
        (("replay", "."), ". is not a run folder: it has neither recording.h5 nor spec.toml"),
        (("replay", "first", "--integrator", "RK5"), "plant.integrator.kind = 'RK5'"),
        (("replay", "first", "--set", "aircraft.seed=3"), "takes commands, wind, scenario"),
        (("replay", "first", "--set", "airframe.mass"), "is not an override; it must be table.key=value"),
        (("branch", "first"), "--at"),
        (("branch", "first", "--at", "soon"), "invalid value for '--at'"),
        (("branch", "first", "--at", "60"), "not before the end of the flight, 6.0 s"),
        (("branch", "first", "--at", "3", "--event", "land"), "--event land"),
        (("branch", "first", "--at", "3", "--event", "at_s=4,action=lnd"), "did you mean 'land'?"),
        (("branch", "first", "--at", "3", "--event", "at_s=1,action=land"), "before the branch time, 3.0 s"),
        (("branch", "first", "--at", "3", "--count", "0"), "count = 0 is not allowed"),
        (("branch", "first", "--at", "3", "--set", "home.lat_deg=1.0"), "can't change in flight"),
        (("branch", "first", "--at", "3", "--out", "first"), "is not empty"),
        (("diff", "first", "nowhere"), "nowhere"),
        (("diff", "first", "first", "--out", "picture.txt"), "the file name must end in .png"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_bad_input_is_one_line_and_exit_code_2(folder, arguments, message):
    """No traceback, and nothing on standard output."""
    finished = run(*arguments, cwd=folder.parent)
    assert finished.returncode == 2, finished.stderr
    assert finished.stdout == ""
    assert message in finished.stderr
    assert finished.stderr.startswith("error: ")
    assert "Traceback" not in finished.stderr


def test_run_mode_replay_replays(folder):
    """With the aircraft of the file; changes of recorded inputs are refused. A flight that failed fails again."""
    settings = [word for setting in SHORT for word in ("--set", setting)]
    replaying = ("--set", "run.mode=replay", "--set", f"run.recording_in={folder}")
    finished = run("run", "iris", *settings, *replaying, "--json", cwd=folder.parent)
    assert finished.returncode == 1, finished.stderr  # too short for its mission, as for `run`
    said = json.loads(finished.stdout)
    assert said["outcome"] == "out of time"
    assert said["matches"] is True
    assert said["digest"] == json.loads((folder / "summary.json").read_text())["digest"]
    refused = run("run", "iris", *settings, *replaying, "--seed", "9", cwd=folder.parent)
    assert refused.returncode == 2
    assert "aircraft.seed = 9, was 1: a replay takes" in refused.stderr


def test_live_writes_no_recording_and_recording_out_a_second_one(folder):
    """As the file says."""
    live = run(
        "run",
        "iris",
        "--set",
        "timeline.t_end_s=1.0",
        "--set",
        "run.mode=live",
        "--no-plots",
        "--out",
        "live",
        cwd=folder.parent,
    )
    assert "recording.h5" not in [path.name for path in (folder.parent / "live").iterdir()], live.stderr
    elsewhere = ("--set", "timeline.t_end_s=1.0", "--set", "run.recording_out=kept.h5", "--no-plots", "--out", "kept")
    run("run", "iris", *elsewhere, cwd=folder.parent)
    assert (folder.parent / "kept.h5").read_bytes() == (folder.parent / "kept" / "recording.h5").read_bytes()
