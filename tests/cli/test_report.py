"""The command `px4lockstep report`."""

import pytest
from commands import run_command

from px4lockstep import simulate

pytestmark = pytest.mark.process


def test_the_command_writes_a_report_and_keeps_existing_files(tmp_path):
    """To report.html of the newest run; a second time only with --force."""
    simulate("x500", overrides={"timeline.t_end_s": 1.0}).save(tmp_path / "runs" / "one", plots=False)
    done = run_command("report", "latest", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "runs/one/report.html\n")
    again = run_command("report", "latest", cwd=tmp_path)
    assert again.returncode == 2
    assert "exists and is not overwritten; use --force" in again.stderr
    assert run_command("report", "latest", "--force", cwd=tmp_path).returncode == 0
    both = run_command("report", "latest", "runs/one", "--out", "both.html", cwd=tmp_path)
    assert (both.returncode, both.stdout) == (0, "both.html\n")


def test_a_wrong_source_is_an_error_without_a_traceback(tmp_path):
    done = run_command("report", "nothing", cwd=tmp_path)
    assert done.returncode == 2
    assert "run folder not found: nothing" in done.stderr
    assert "Traceback" not in done.stderr
