"""`campaign` on the command line: exit codes, JSON and nothing else, interrupts, one line per mistake."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from campaign_files import BROKEN, FILE, RUNS, rows, write_campaign

COMMAND = (sys.executable, "-m", "px4lockstep", "campaign")
EXAMPLES = Path(__file__).parents[2] / "examples"


def campaign(*arguments, cwd):
    """Run the command line."""
    return subprocess.run(
        (*COMMAND, *map(str, arguments)), cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A campaign, flown by the command line with all defaults."""
    root = tmp_path_factory.mktemp("campaign")
    write_campaign(root)
    finished = campaign("run", "small.toml", cwd=root)
    assert finished.returncode == 0, finished.stderr
    assert f"passed  │ {RUNS - 1}" in finished.stdout
    [made] = (root / "campaigns").iterdir()
    return made


def test_run_leaves_results_summary_and_picture(folder):
    """In a folder that is named after the campaign and the time."""
    assert folder.name.startswith("small-")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["campaign.json", "campaign.toml", "plots.png", "results", "summary.json"]
    assert len(rows(folder)) == RUNS
    assert json.loads((folder / "summary.json").read_text())["runs"] == RUNS


def test_show_prints_one_object_and_nothing_else(folder):
    """With what is documented."""
    finished = campaign("show", folder, "--json", cwd=folder)
    said = json.loads(finished.stdout)
    documented = Path(__file__).parents[2].joinpath("docs", "reference", "command_line.md").read_text("utf-8")
    assert all(f"`{name}`" in documented for name in said)
    assert (said["runs"], said["runs_asked"], said["complete"]) == (RUNS, RUNS, True)
    assert said["by_status"] == {"mission not finished": RUNS - 1, "error": 1}
    assert said["pass_rate"]["estimate"] == (RUNS - 1) / RUNS
    assert said["worst"][0]["index"] == BROKEN
    assert finished.stderr == ""


def test_show_says_what_the_summary_says_also_of_a_campaign_that_stopped_early(tmp_path):
    """After how many runs, with the name that it has when it is flown."""
    stop = '[stop]\nof = "energy_wh"\nhalf_width = 0.05\nmin_runs = 4\n'
    file = write_campaign(tmp_path, FILE.replace('"broken"', '"sound"') + stop)
    flown = json.loads(campaign("run", file, "--out", "out", "--no-plots", "--json", cwd=tmp_path).stdout)
    shown = json.loads(campaign("show", "out", "--json", cwd=tmp_path).stdout)
    assert shown == flown == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert 4 <= shown["stopped_after"] == shown["runs"] < RUNS
    assert "stopped early" in campaign("show", "out", cwd=tmp_path).stdout


def test_plot_draws_where_it_is_told(folder, tmp_path):
    """Or into the folder."""
    finished = campaign("plot", folder, "--out", tmp_path / "a.png", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"


def test_rerun_flies_the_same_flight_with_all_that_a_run_leaves(folder):
    """And says so; a run whose flight is another is exit code 1."""
    finished = campaign("rerun", folder, 3, "--no-plots", "--json", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert said["digest"] == said["expected_digest"] == rows(folder)[3]["digest"]
    assert said["matches"] is True
    assert (folder / "run-00003" / "recording.h5").exists()
    assert (folder / "run-00003" / "log.parquet").exists()
    again = campaign("rerun", folder, 3, cwd=folder)
    assert again.returncode == 2
    assert "run 3 was flown again before. Look there, or give another --out" in again.stderr


def test_rerun_says_if_the_flight_is_another(folder, tmp_path):
    """Here the plan was changed behind its back."""
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "results").symlink_to(folder / "results")
    plan = json.loads((folder / "campaign.json").read_text())
    plan["base"]["airframe"]["linear_drag"] = 0.06
    (copy / "campaign.json").write_text(json.dumps(plan))
    finished = campaign("rerun", copy, 3, "--no-plots", cwd=tmp_path)
    assert finished.returncode == 1
    assert "error: this is another flight than before" in finished.stderr


@pytest.mark.parametrize(
    ("engine", "number"),
    [("local", signal.SIGINT), ("local", signal.SIGTERM), ("dask", signal.SIGINT), ("dask", signal.SIGHUP)],
)
def test_an_interrupt_keeps_what_was_flown_and_says_how_to_go_on(engine, number, folder, tmp_path):
    """Runs in the air are finished, though a terminal sends it to all processes."""
    if engine == "dask":
        pytest.importorskip("distributed")
    file = write_campaign(tmp_path)
    command = (*COMMAND, "run", file, "--runs", "1000", "--out", tmp_path / "out", "--no-plots", "--json")
    process = subprocess.Popen(
        (*command, "--engine", engine),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120.0
    while not list(tmp_path.glob("out/results/part-0000[5-9]*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, number)
    try:
        out, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert process.returncode == 128 + number, err
    assert "--resume" in err
    assert "Traceback" not in err
    said = json.loads(out)
    assert said["complete"] is False
    assert said["runs"] == len(rows(tmp_path / "out")) >= 5
    by_index = {row["index"]: row for row in rows(folder)}
    # Sobol's points don't depend on how many runs there are; the list of names goes round.
    assert all(row["digest"] == by_index[row["index"]]["digest"] for row in rows(tmp_path / "out") if row["index"] < 12)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "gone.toml"), "File not found: gone.toml"),
        (("run", "small.toml", "--runs", "0"), "runs = 0 is out of range"),
        (("run", "small.toml", "--workers", "0"), "workers = 0 is not allowed"),
        (("run", "small.toml", "--engine", "ray"), "--engine ray is unknown; allowed are local, dask"),
        (("run", "small.toml", "--scheduler", "tcp://a:1"), "use --engine dask with it"),
        (("run", "small.toml", "--resume"), "--resume needs the campaign's folder"),
        (("run", ".", "--resume"), "is no campaign folder: it has no campaign.json"),
        (("show", "gone"), "gone is no campaign folder"),
        (("plot", "."), "is no campaign folder"),
        (("rerun", ".", "1"), "is no campaign folder"),
        (("rerun", ".", "x"), "should be a valid integer"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, said, tmp_path):
    """Without a traceback, and without a folder."""
    write_campaign(tmp_path)
    finished = campaign(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "campaigns").exists()


def test_a_run_that_there_is_not_is_a_mistake(folder):
    """Beyond the last, or not flown yet."""
    finished = campaign("rerun", folder, RUNS, cwd=folder)
    assert finished.returncode == 2
    assert f"run {RUNS} is not one of this campaign; they are 0 to {RUNS - 1}" in finished.stderr


def test_the_example_flies(tmp_path):
    """Some of its thousand flights: no row has an error, some pass, and what matters is the loss of thrust."""
    finished = campaign(
        "run", EXAMPLES / "motor_loss" / "campaign.toml", "--runs", 32, "--out", "out", "--json", cwd=tmp_path
    )
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert "error" not in said["by_status"]
    assert 8 <= said["passed"] <= 24  # 18 of these 32
    assert said["sensitivities"][0]["input"] == "scenario.events[0].fraction"
