"""`px4lockstep export`: formats, options, sources, and errors with exit code 2."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from exported_ulogs import check_ulog, read_ulog

import px4lockstep
import px4lockstep.cli
from px4lockstep.flights.folder import RunFolder
from px4lockstep.log.exports import FORMATS

SHORT = {"timeline.t_end_s": 3.0}
DATA = Path(__file__).parent.parent / "log" / "data"


def run(*arguments):
    """Run a command in this process and return its exit code."""
    return px4lockstep.cli._run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a run folder."""
    return px4lockstep.simulate("iris", overrides=SHORT).save(tmp_path_factory.mktemp("flown") / "run", plots=False)


@pytest.fixture
def folder(flown, tmp_path, monkeypatch):
    """Return a copy of a run folder in the current folder."""
    monkeypatch.chdir(tmp_path)
    return shutil.copytree(flown, tmp_path / "run")


def test_a_run_folder_is_exported_as_ulog_into_itself(folder, capsys):
    """The name of the file is printed; a second export needs `--force` and gives the same bytes."""
    assert run("export", "run", "--format", "ulog") == 0
    assert capsys.readouterr() == ("run/export.ulg\n", "")
    check_ulog(folder)
    content = (folder / "export.ulg").read_bytes()
    assert run("export", "run", "--format", "ulog") == 2
    assert "run/export.ulg exists and is not overwritten; use --force" in capsys.readouterr().err
    assert run("export", "run", "--format", "ulog", "--force") == 0
    assert (folder / "export.ulg").read_bytes() == content


def test_the_help_names_every_format(capsys):
    """It is written out, because help does not load the table."""
    assert run("export", "--help") == 0
    told = " ".join(capsys.readouterr().out.split())
    line = told.partition("--format")[2].partition("--out")[0]
    assert [name for name in FORMATS if name not in line] == []


def test_the_rate_limits_the_file(folder):
    """10 Hz of 100 Hz."""
    assert run("export", "run", "--format", "ulog", "--rate", "10", "--out", "slow.ulg") == 0
    data = read_ulog("slow.ulg").get_dataset("vehicle_attitude").data
    assert np.diff(data["timestamp"]).tolist() == [100_000] * 30
    assert not (folder / "export.ulg").exists()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--format", "ulgo"), "unknown --format 'ulgo'; did you mean 'ulog'?; allowed: csv, parquet, ulog"),
        (("--format", "ulog", "--columns", "pos_ned"), "--columns is not an option of ulog; it is for csv, parquet"),
        (("--rate", "10"), "--rate is not an option of csv; it is for ulog"),
        (("--format", "ulog", "--rate", "-1"), "rate -1 Hz is out of range; it must be 1e-06"),
        (("--format", "ulog", "--rate", "fast"), "--rate"),
        (("--format", "ulog", "--out", "gone/x.ulg"), "there is no folder gone"),
        (("--columns", "pos"), "there is no column 'pos'"),
    ],
)
def test_a_wrong_option_is_an_error_and_writes_nothing(folder, capsys, options, text):
    """With what is allowed, and exit code 2."""
    before = sorted(path.name for path in folder.iterdir())
    assert run("export", "run", *options) == 2
    told = capsys.readouterr()
    assert text in told.err
    assert "Traceback" not in told.err
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("name", ["version_1.csv", "version_1.parquet"])
def test_a_log_file_is_exported_next_to_it(name, tmp_path, capsys):
    """Of an earlier version, without a spec: a warning says what is missing."""
    shutil.copy(DATA / name, tmp_path)
    assert run("export", tmp_path / name, "--format", "ulog") == 0
    assert "exported without home, parameters and mission: a log file has no spec" in capsys.readouterr().err
    log = px4lockstep.read_log(tmp_path / name)
    data = read_ulog(tmp_path / "export.ulg").get_dataset("vehicle_attitude_groundtruth").data
    assert np.array_equal(data["timestamp"], log.time_us)
    assert run("export", tmp_path / name, "--format", "parquet", "--out", tmp_path / name, "--force") == 2
    assert "is the run's own log" in capsys.readouterr().err


def test_a_run_that_was_killed_is_exported_up_to_then(tmp_path, capsys):
    """From the rows of the flight, with a warning."""
    flight = px4lockstep.build(px4lockstep.load_spec("iris", SHORT))
    folder = RunFolder.create(tmp_path / "killed", flight, holds_log=True)
    flight.simulation.run(until_us=1_500_000)
    assert run("export", folder.path, "--format", "ulog") == 0
    assert "is incomplete; its log has 1.49 s of the flight" in capsys.readouterr().err
    found = read_ulog(folder.path / "export.ulg")
    assert len(found.get_dataset("vehicle_attitude").data["timestamp"]) == 150
    assert "armed" in [text.message for text in found.logged_messages]
    assert found.initial_parameters["MPC_XY_CRUISE"] == 5.0


def test_a_damaged_spec_is_a_warning(folder, capsys):
    """The log is exported; what needs the spec is missing."""
    (folder / "spec.toml").write_text("nonsense = 1\n")
    assert run("export", "run", "--format", "ulog") == 0
    assert "warning: exported without home, parameters and mission:" in capsys.readouterr().err
    names = {data.name for data in read_ulog(folder / "export.ulg").data_list}
    assert "vehicle_local_position" in names
    assert "vehicle_global_position" not in names


def test_csv_and_parquet_do_not_need_the_spec(folder, capsys):
    """So its problems are none of theirs."""
    (folder / "spec.toml").unlink()
    for name in ("csv", "parquet"):
        assert run("export", "run", "--format", name, "--all-columns") == 0
        assert capsys.readouterr().err == ""
        assert px4lockstep.read_log(folder / f"export.{name}").rows == 301


def test_the_tools_of_pyulog_work(folder):
    """`ulog_info`, `ulog_messages`, `ulog_params` and `ulog2csv`, as on a log of PX4."""
    assert run("export", "run", "--format", "ulog") == 0
    tools = Path(sys.executable).parent
    env = {**os.environ, "PATH": str(tools)}

    def use(tool, *arguments):
        done = subprocess.run([tools / tool, *arguments], capture_output=True, text=True, env=env, check=True)
        assert done.stderr == ""
        return done.stdout

    assert "vehicle_attitude_groundtruth (0, 49)" in use("ulog_info", "run/export.ulg")
    assert "0:00:01.000 INFO: armed" in use("ulog_messages", "run/export.ulg")
    assert "MPC_XY_CRUISE,5.0" in use("ulog_params", "run/export.ulg")
    use("ulog2csv", "--output", ".", "run/export.ulg")
    table = np.genfromtxt("export_battery_status_0.csv", delimiter=",", names=True)
    assert len(table) == 31
    assert np.all(table["voltage_v"] > 9.0)
