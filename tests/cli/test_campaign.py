"""The `campaign` commands: exit codes, JSON output, interrupts, one line per error."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from campaign_files import BROKEN, FILE, RUNS, rows, write_campaign
from commands import run_command, start_command

from px4lockstep.campaigns.results import read_results

COMMAND = (sys.executable, "-m", "px4lockstep", "campaign")
EXAMPLES = Path(__file__).parents[2] / "examples"


def campaign(*arguments, cwd):
    """Run the command line."""
    return run_command("campaign", *map(str, arguments), cwd=cwd)


def table(printed):
    """Return the rows of the first table by their labels, with wrapped lines joined."""
    found, label = {}, ""
    for cells in (line.split("│") for line in printed.splitlines() if line.count("│") == 3):
        label = cells[1].strip() or label
        found[label] = f"{found.get(label, '')} {cells[2].strip()}".strip()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Fly a campaign from the command line with all defaults; return its folder."""
    root = tmp_path_factory.mktemp("campaign")
    write_campaign(root)
    finished = campaign("run", "small.toml", cwd=root)
    assert finished.returncode == 0, finished.stderr
    shown = table(finished.stdout)
    assert shown["passed"].startswith(f"{RUNS - 1}: ")
    assert shown["outcomes"] == f"out of time {RUNS - 1}, error 1"
    assert shown["note"] == "Confidence intervals assume independent runs; with Sobol sampling they are conservative."
    assert "missing" in finished.stdout
    [made] = (root / "campaigns").iterdir()
    return made


def test_run_writes_results_summary_and_figure(folder):
    """In a folder named after the campaign and the time."""
    assert folder.name.startswith("small-")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["campaign.json", "campaign.toml", "plots.png", "results", "summary.json"]
    assert len(rows(folder)) == RUNS
    assert json.loads((folder / "summary.json").read_text())["runs"] == RUNS


def test_show_json_prints_one_object_and_nothing_else(folder):
    """With the documented fields."""
    finished = campaign("show", folder, "--json", cwd=folder)
    said = json.loads(finished.stdout)
    documented = Path(__file__).parents[2].joinpath("docs", "reference", "command_line.md").read_text("utf-8")
    assert all(f"`{name}`" in documented for name in said)
    assert (said["runs"], said["runs_asked"], said["complete"]) == (RUNS, RUNS, True)
    assert said["by_status"] == {"out of time": RUNS - 1, "error": 1}
    assert said["pass_rate"]["estimate"] == (RUNS - 1) / RUNS
    assert said["worst"][0]["index"] == BROKEN
    assert finished.stderr == ""


def test_show_of_a_campaign_that_stopped_early_agrees_with_its_summary(tmp_path):
    """Including the number of runs after which it stopped."""
    stop = '[stop]\nof = "energy_wh"\nhalf_width = 0.05\nmin_runs = 4\n'
    file = write_campaign(tmp_path, FILE.replace('"broken"', '"sound"') + stop)
    flown = json.loads(campaign("run", file, "--out", "out", "--no-plots", "--json", cwd=tmp_path).stdout)
    shown = json.loads(campaign("show", "out", "--json", cwd=tmp_path).stdout)
    assert shown == flown == json.loads((tmp_path / "out" / "summary.json").read_text())
    assert 4 <= shown["stopped_after"] == shown["runs"] < RUNS
    assert "stopped early" in campaign("show", "out", cwd=tmp_path).stdout


def test_plot_writes_the_given_file(folder, tmp_path):
    finished = campaign("plot", folder, "--out", tmp_path / "a.png", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert (tmp_path / "a.png").read_bytes()[1:4] == b"PNG"


def test_rerun_writes_a_run_folder_and_reports_the_comparison_as_json(folder):
    """The flight is identical; a second rerun into the same folder is refused."""
    finished = campaign("rerun", folder, 3, "--no-plots", "--json", cwd=folder)
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert said["digest"] == said["expected_digest"] == rows(folder)[3]["digest"]
    assert said["matches"] is True
    assert (folder / "run-00003" / "recording.h5").exists()
    assert (folder / "run-00003" / "log.parquet").exists()
    again = campaign("rerun", folder, 3, cwd=folder)
    assert again.returncode == 2
    assert "run 3 has been rerun before. See its files, or give another --out" in again.stderr


def test_rerun_says_that_the_flight_is_identical(folder, tmp_path):
    """With the index of the run and the digest."""
    finished = campaign("rerun", folder, 2, "--out", tmp_path / "again", "--no-plots", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    digest = rows(folder)[2]["digest"]
    assert finished.stdout.endswith(f"\nidentical to run 2 of the campaign (digest {digest})\n")


def test_rerun_describes_how_a_flight_differs(folder, tmp_path):
    """Here the plan has been modified: the digest and the energy differ, the outcome and the crash do not."""
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "results").symlink_to(folder / "results")
    plan = json.loads((folder / "campaign.json").read_text())
    plan["base"]["airframe"]["linear_drag"] = 0.06
    (copy / "campaign.json").write_text(json.dumps(plan))
    finished = campaign("rerun", copy, 3, "--no-plots", cwd=tmp_path)
    assert finished.returncode == 1
    recorded = rows(folder)[3]
    assert finished.stderr.startswith("error: differs from run 3 of the campaign: digest ")
    assert f", recorded {recorded['digest']}; energy_wh " in finished.stderr
    assert finished.stderr.endswith(f", recorded {recorded['energy_wh']:.9g}\n")
    assert "outcome" not in finished.stderr
    assert "identical" not in finished.stdout


def test_rerun_of_a_run_without_a_digest_says_that_there_is_nothing_to_compare(folder, tmp_path):
    """Its worker was lost, say: the row has an error only."""
    copy = tmp_path / "copy"
    (copy / "results").mkdir(parents=True)
    (copy / "campaign.json").write_bytes((folder / "campaign.json").read_bytes())
    table = read_results(folder / "results")
    fields = [None if row["index"] == 4 else row["digest"] for row in table.to_pylist()]
    place = table.column_names.index("digest")
    changed = table.set_column(place, table.schema.field("digest"), pa.array(fields, pa.string()))
    errors = ["its worker exited" if row["index"] == 4 else row["error"] for row in table.to_pylist()]
    place = table.column_names.index("error")
    changed = changed.set_column(place, table.schema.field("error"), pa.array(errors, pa.string()))
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), copy / "results" / "part-00000.parquet")
    finished = campaign("rerun", copy, 4, "--no-plots", cwd=tmp_path)
    assert "run 4 of the campaign has no digest to compare with: its worker exited" in finished.stderr
    assert "identical" not in finished.stdout


def test_a_folder_name_is_printed_in_full(folder, tmp_path):
    """In a narrow terminal it is wrapped, never truncated."""
    link = tmp_path / ("campaign-" + "0123456789" * 9)
    link.symlink_to(folder)
    finished = run_command("campaign", "show", str(link), env={**os.environ, "COLUMNS": "80"})
    cells = [line.split("│")[2].strip() for line in finished.stdout.splitlines() if line.count("│") == 3]
    assert str(link) in "".join(cells)
    assert "…" not in "".join(cells)


def test_a_grid_with_few_runs_omits_the_explained_share(tmp_path):
    """Eight runs give a rank correlation, but are too few for groups."""
    text = (
        '[campaign]\nname = "sweep"\nbase = "iris"\nown_seeds = false\n'
        '[set]\n"timeline.t_end_s" = 4.0\n"scenario.arm_time_s" = 0.2\n"scenario.mission_time_s" = 0.4\n'
        '"plant.integrator" = "RK4"\n'
        '[[vary]]\nkey = "power.batteries[0].soc0"\ndistribution = "grid"\n'
        "values = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]\n"
        '[[metric]]\nname = "volts"\nkind = "min"\nsignal = "battery_true_voltage_v_1"\n'
    )
    (tmp_path / "sweep.toml").write_text(text, "utf-8")
    finished = campaign("run", "sweep.toml", "--out", "out", "--no-plots", cwd=tmp_path)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.count("most influential input") == 1
    shown = table(finished.stdout)["most influential input"]
    assert shown.startswith("power.batteries[0].soc0 for volts: rank correlation +1.00 (+1.00 to +1.00)")
    assert shown.endswith("), too few runs for the explained share")
    assert "% explained" not in finished.stdout
    assert "conservative" not in finished.stdout
    said = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert said["sensitivities"][0]["explained"] is None


@pytest.mark.parametrize(
    ("engine", "number"),
    [
        ("local", signal.SIGINT),
        pytest.param("local", signal.SIGTERM, marks=pytest.mark.slow),
        ("dask", signal.SIGINT),
        pytest.param("dask", signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_an_interrupt_keeps_finished_runs_and_says_how_to_resume(engine, number, folder, tmp_path):
    """Runs in the air are finished, although a terminal sends the signal to all processes."""
    if engine == "dask":
        pytest.importorskip("distributed")
    file = write_campaign(tmp_path)
    command = ("campaign", "run", file, "--runs", "1000", "--out", tmp_path / "out", "--no-plots", "--json")
    process = start_command(*command, "--engine", engine, leads=True)
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
    # Sobol' points do not depend on the number of runs; the list of names starts over.
    assert all(row["digest"] == by_index[row["index"]]["digest"] for row in rows(tmp_path / "out") if row["index"] < 12)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "gone.toml"), "file not found: gone.toml"),
        (("run", "small.toml", "--runs", "0"), "runs = 0 is out of range"),
        (("run", "small.toml", "--workers", "0"), "workers = 0 is not allowed"),
        (("run", "small.toml", "--engine", "ray"), "--engine ray is unknown; allowed: local, dask"),
        (("run", "small.toml", "--scheduler", "tcp://a:1"), "a scheduler requires the engine dask; add --engine dask"),
        (("run", "iris"), 'iris is a built-in aircraft, not a campaign file; write a campaign file with base = "iris"'),
        (
            ("run", "small.toml", "--engine", "dask", "--scheduler", "tls://a:1"),
            "--scheduler tls://a:1 needs TLS certificates; add --tls-ca, --tls-cert, --tls-key (PEM files)",
        ),
        (("run", "small.toml", "--tls-ca", "ca.pem"), "add --engine dask --scheduler tls://HOST:8786"),
        (("run", "small.toml", "--resume"), "--resume needs the campaign folder"),
        (("run", ".", "--resume"), "is not a campaign folder: it has no campaign.json"),
        (("show", "gone"), "gone is not a campaign folder"),
        (("plot", "."), "is not a campaign folder"),
        (("rerun", ".", "1"), "is not a campaign folder"),
        (("rerun", ".", "x"), "should be a valid integer"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, said, tmp_path):
    """Without a traceback, and without creating a folder."""
    write_campaign(tmp_path)
    finished = campaign(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert not (tmp_path / "campaigns").exists()


def test_rerun_of_an_unknown_run_is_an_error(folder):
    """Beyond the last run."""
    finished = campaign("rerun", folder, RUNS, cwd=folder)
    assert finished.returncode == 2
    assert f"run {RUNS} does not exist; the runs of this campaign are 0 to {RUNS - 1}" in finished.stderr


def test_the_example_flies(tmp_path):
    """32 of its 1,000 runs: no errors, some pass, and the loss of thrust is the most influential input."""
    finished = campaign(
        "run", EXAMPLES / "motor_loss" / "campaign.toml", "--runs", 32, "--out", "out", "--json", cwd=tmp_path
    )
    assert finished.returncode == 0, finished.stderr
    said = json.loads(finished.stdout)
    assert "error" not in said["by_status"]
    assert 8 <= said["passed"] <= 24  # 20 of these 32
    assert said["sensitivities"][0]["input"] == "scenario.events[0].fraction"
