"""`px4lockstep import`, and `diff`, `plot` and `export` of ULog files."""

import json

import pytest
from commands import run_command
from ulog_files import flight

from px4lockstep import import_ulog


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with two ULog files."""
    folder = tmp_path_factory.mktemp("ulogs")
    (folder / "one.ulg").write_bytes(flight(4.0))
    (folder / "two.ulg").write_bytes(flight(4.0, truth=True, start_us=9_000_000))
    (folder / "bad.ulg").write_bytes(b"not a log")
    return folder


def test_a_file_becomes_a_run_folder_for_other_commands(folder, monkeypatch):
    """One import is printed, one is JSON; the folder is plotted, exported and compared."""
    monkeypatch.chdir(folder)
    printed = run_command("import", "one.ulg", "--out", "one")
    assert printed.returncode == 0, printed.stderr
    assert "state: PX4's estimate" in printed.stdout
    assert "modes: manual, hold" in printed.stdout
    assert "missing: " in printed.stdout
    assert "note: the state (pos_ned, vel_ned, q_bn, omega_body) is PX4's estimate" in printed.stderr
    told = run_command("import", "two.ulg", "--out", "two", "--rate", "50", "--no-plots", "--json")
    summary = json.loads(told.stdout)
    assert (summary["outcome"], summary["run_dir"], summary["imported"]["state_is_estimate"]) == (
        "imported",
        "two",
        False,
    )
    assert summary["imported"]["row_times"] == "every 20000 us"
    assert not (folder / "two" / "plots.png").exists()
    for command in (("export", "one", "--format", "csv"), ("plot", "one", "two.ulg"), ("plot", "one.ulg")):
        finished = run_command(*command)
        assert finished.returncode == 0, (command, finished.stderr)
    for name in ("one/plots.png", "one/export.csv", "overlay.png", "plots.png"):
        assert (folder / name).stat().st_size > 1_000, name
    same = run_command("diff", "one", "two.ulg", "--json")  # the truth of the second is the estimate of the first
    assert same.returncode == 0, same.stderr
    found = json.loads(same.stdout)
    assert (found["aligned_by"], found["offset_s"], found["identical"]) == ("arming", 0.0, True)
    assert found["only_in"][1][0] == "est_pos_ned"
    assert (folder / "one" / "diff.png").stat().st_size > 10_000
    for source in ("one", "one.ulg"):  # an estimate does not become the truth by an export
        assert run_command("export", source, "--format", "ulog", "--out", "again.ulg", "--force").returncode == 0
        again = import_ulog(folder / "again.ulg")
        assert again.report.state_is_estimate
        assert "est_pos_ned" not in again
    differs = run_command("diff", "one", "two.ulg", "--no-plots", "--offset", "0.5")
    assert differs.returncode == 1, differs.stderr
    assert "offset of RUN_B: +0.500000 s, as given" in differs.stdout
    assert "vel_ned" in differs.stdout


def test_wrong_files_and_options_are_exit_code_2(folder, monkeypatch):
    """One line, no traceback, nothing written."""
    monkeypatch.chdir(folder)
    for command, said in (
        (("import", "bad.ulg", "--out", "bad"), "bad.ulg is not a ULog file"),
        (("import", "missing.ulg", "--out", "bad"), "file not found: missing.ulg"),
        (("import", "one.ulg", "--out", "bad", "--rate", "1e-20"), "rate 1e-20 Hz is out of range"),
        (("diff", "one.ulg", "bad.ulg", "--out", "bad.png"), "bad.ulg is not a ULog file"),
        (("diff", "one.ulg", "two.ulg", "--align", "noon", "--out", "bad.png"), "unknown alignment 'noon'"),
    ):
        finished = run_command(*command)
        assert finished.returncode == 2, command
        assert said in finished.stderr
        assert finished.stderr.count("\n") == 1
        assert not any(folder.glob("bad*[!g]"))
        assert not (folder / "bad.png").exists()
