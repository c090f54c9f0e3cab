"""`sweep` and `tune` on the command line: short flights of a real X500 that was detuned."""

import csv
import json
import re

import pytest
from commands import run_command

from px4lockstep.flights.folder import MARK
from px4lockstep.px4.params_files import load_params
from px4lockstep.spec.load import load_spec

HOP = """QGC WPL 110
0 1 3 22 0 0 0 0 47.397742 8.545594 4 1
1 0 3 16 0 0 0 0 47.397832 8.545594 4 1
2 0 3 21 0 0 0 0 47.397832 8.545594 0 1
"""
"""Take off to 4 m, fly 10 m north and land: about 20 s."""
SHORT = ("--set", "px4.mission_path=hop.waypoints")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiments")
    (folder / "hop.waypoints").write_text(HOP)
    return folder


def command(home, *words, code=0):
    finished = run_command(*words, cwd=home)
    assert finished.returncode == code, finished.stderr
    return finished


@pytest.fixture(scope="module")
def swept(home):
    """Sweep the rate gain over a value with which the X500 crashes and two with which it flies."""
    inputs = ("MC_ROLLRATE_P=0.01,0.1,0.2", "--metric", "tracking_rms", "--metric", "max:tilt_deg")
    return command(home, "sweep", "x500", *inputs, "--seeds", "2", *SHORT, "--out", "swept")


def test_a_sweep_prints_a_table_and_writes_a_figure(home, swept):
    """A point whose flights crash has no metric."""
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in swept.stdout.splitlines() if "│" in line]
    assert [row[0] for row in rows] == ["0.01", "0.1", "0.2"]
    assert rows[0][1:3] == ["-", "-"]
    assert re.fullmatch(r"2 (crashed|tipped over)", rows[0][3])
    assert all(re.fullmatch(r"0\.\d+ ± 0\.\d+", row[1]) for row in rows[1:])
    assert [row[3:] for row in rows[1:]] == [["2 flown", "2 to 3"], ["2 flown", "4 to 5"]]
    assert "2 flights failed; their metrics do not count" in swept.stdout
    names = sorted(path.name for path in (home / "swept").iterdir())
    assert names == ["campaign.json", "campaign.toml", "results", "summary.json", "sweep.csv", "sweep.png"]
    table = list(csv.DictReader((home / "swept" / "sweep.csv").read_text().splitlines()))
    assert [row["tracking_rms"] == "" for row in table] == [True, False, False]


def test_a_sweep_is_resumed_and_its_flights_are_rerun(home, swept):
    """The results of a resumed sweep are those of the uninterrupted one."""
    before = json.loads((home / "swept" / "summary.json").read_text())
    for part in (home / "swept" / "results").iterdir():
        part.unlink()
    (home / "swept" / MARK).write_text("")
    refused = command(home, "sweep", "swept", "--resume", "--metric", "max:tilt_deg", "--seeds", "3", code=2)
    assert "a sweep is resumed as it was started; omit --metric, --seeds" in refused.stderr
    resumed = command(home, "sweep", "swept", "--resume", "--json", "--no-plots")
    assert json.loads(resumed.stdout) == before
    rerun = command(home, "campaign", "rerun", "swept", "3", "--no-plots")
    assert "identical to run 3 of the campaign" in rerun.stdout


def test_wrong_input_of_a_sweep_has_exit_code_2(home):
    """With one line, without a traceback."""
    finished = command(home, "sweep", "x500", "MC_ROLLRATE_P=0.1:0.2", code=2)
    assert finished.stderr.startswith("error: MC_ROLLRATE_P = '0.1:0.2' is not a range; write A:B:N")


def test_tuning_a_detuned_x500_improves_it_on_20_held_out_seeds(home):
    """MPC_XY_P is 0.95 by default; with 0.3 the vehicle lags behind its setpoint."""
    detuned = ("--set", "autopilot.params.MPC_XY_P=0.3")
    search = ("MPC_XY_P=0.3:1.8", "--seeds", "2", "--budget", "12", *detuned)
    found = json.loads(command(home, "tune", "x500", *search, *SHORT, "--out", "tuned", "--json").stdout)
    assert found["start"] == {"MPC_XY_P": 0.3}
    assert len(found["evaluations"]) == 12
    check = found["held_out"]
    assert check["improved"]
    assert check["seeds"] == list(range(3, 23))  # training used seeds 1 and 2
    assert check["wins"] >= 18
    assert check["cost_after"] < 0.8 * check["cost_before"]
    assert check["change"]["high"] < 0.0
    folder = home / "tuned"
    values = dict(load_params(folder / "tuned.params").values)
    assert values == found["found"]
    (home / "own.toml").write_text('extends = ["x500"]\n' + (folder / "tuned.toml").read_text())
    assert load_spec(home / "own.toml").autopilot.params == values
    assert (folder / "tune.png").exists()
    shown = json.loads(command(home, "campaign", "show", "tuned", "--json").stdout)
    assert shown["runs"] == 12 * 2 + 2 * 20
    assert shown["complete"]


def test_tuning_that_does_not_help_says_so(home):
    """All values of the range are worse than the start, so the starting values are kept; exit code 1."""
    search = ("MPC_XY_P=0.1:0.12", "--seeds", "1", "--budget", "12", "--held-out", "2", "--no-plots")
    finished = command(home, "tune", "x500", *search, *SHORT, code=1)
    assert "not improved: no parameter set was better than the starting values" in finished.stdout
    assert "MPC_XY_P = 0.95" in finished.stdout


def test_the_latest_campaign_is_the_sweep_to_resume(tmp_path):
    """As for every command that takes a campaign folder."""
    done = run_command("sweep", "latest", "--resume", cwd=tmp_path)
    assert done.returncode == 2
    assert "there is no latest campaign" in done.stderr
