"""A line on the terminal while a command works, and nothing of it in a file or a pipe."""

import io

import pytest

from px4lockstep.cli import progress
from px4lockstep.cli.console import Console
from px4lockstep.cli.run import run_spec
from px4lockstep.flights.folder import RunFolder


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_line_is_for_terminals_only(is_terminal, monkeypatch):
    """It is cleared at the end; `quiet` turns it off, as `--json` does."""
    written = io.StringIO()

    def console(**_):
        return Console(file=written, force_terminal=is_terminal, width=80)

    monkeypatch.setattr(progress, "Console", console)
    with progress.working("exporting", quiet=True):
        pass
    assert written.getvalue() == ""
    with progress.working("exporting"):
        pass
    assert ("exporting" in written.getvalue()) == is_terminal
    assert bool(written.getvalue()) == is_terminal


@pytest.mark.parametrize("as_json", [False, True])
def test_a_run_says_that_it_draws_its_figure(as_json, tmp_path, monkeypatch):
    """Drawing takes longer than most flights; `--json` prints nothing else."""
    written = io.StringIO()
    monkeypatch.setattr(progress, "Console", lambda **_: Console(file=written, force_terminal=True, width=80))
    monkeypatch.setattr(RunFolder, "draw", lambda *_: None)
    options = {"plots": True, "verbose": False, "as_json": as_json, "out": tmp_path / "run"}
    run_spec("x500", trust=False, settings=["timeline.t_end_s=0.1"], **options)
    assert ("drawing the figure" in written.getvalue()) == (not as_json)
