"""`latest` for a run or a campaign: the newest folder, in every command that takes one, and in Python."""

import json
import os
import shutil

import pytest
import typer

import px4lockstep
import px4lockstep.cli
from px4lockstep.cli.app import app
from px4lockstep.flights.latest import campaign_path, run_path, spec_source

SHORT = {"timeline.t_end_s": 2.5}


def run(*arguments):
    """Run a command in this process and return its exit code."""
    return px4lockstep.cli._run([str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a folder with runs/old and runs/new, of different seeds; the old one was written to last."""
    root = tmp_path_factory.mktemp("flown")
    for i, name in enumerate(("old", "new")):
        changes = {**SHORT, "aircraft.seed": i + 1}
        folder = px4lockstep.simulate("x500", overrides=changes).save(root / "runs" / name, plots=False)
        os.utime(folder / "spec.toml", ns=(i * 10**9, i * 10**9))
    (root / "runs" / "old" / "notes.txt").write_text("written after the newer flight")
    (root / "runs" / "empty").mkdir()
    return root


@pytest.fixture
def here(flown, tmp_path, monkeypatch):
    """Work in a copy of it."""
    shutil.copytree(flown, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_the_newest_run_is_the_one_that_was_flown_last(here):
    """Not the one whose folder changed last."""
    assert run_path("latest") == (here / "runs" / "new").relative_to(here)
    assert str(px4lockstep.read_run("latest").folder) == "runs/new"
    assert px4lockstep.read_log("latest").rows == px4lockstep.read_log("runs/new").rows
    assert px4lockstep.read_recording("latest").source.seed == 2
    assert px4lockstep.replay("latest").matches
    assert not px4lockstep.diff("runs/old", "latest").is_same
    assert px4lockstep.diff_logs("latest", "runs/new").is_same
    assert spec_source("latest") == run_path("latest") / "spec.toml"
    assert spec_source("runs/old") == run_path("runs/old") / "spec.toml"
    assert (spec_source("x500"), spec_source("runs/empty")) == ("x500", "runs/empty")


def test_branches_and_imported_flights_are_runs(here):
    """A folder of several branches has its runs one level below; an imported flight has no spec."""
    branch = here / "runs" / "new-branch" / "branch-2"
    shutil.copytree(here / "runs" / "old", branch)
    os.utime(branch / "spec.toml", ns=(5 * 10**9, 5 * 10**9))
    assert run_path("latest") == branch.relative_to(here)
    imported = here / "runs" / "imported"
    imported.mkdir()
    (imported / "summary.json").write_text("{}")
    assert run_path("latest") == imported.relative_to(here)


def test_a_folder_named_latest_is_given_as_a_path(here):
    """With ./ before it."""
    shutil.copytree(here / "runs" / "old", here / "latest")
    assert run("export", "./latest", "--columns", "pos_ned") == 0
    assert (here / "latest" / "export.csv").exists()
    assert not (here / "runs" / "new" / "export.csv").exists()


RUN_COMMANDS = {
    "run": ["run", "latest", "--no-plots", "--out", "again"],
    "replay": ["replay", "latest"],
    "branch": ["branch", "latest", "--at", "1.5", "--no-plots"],
    "diff": ["diff", "latest", "runs/new", "--no-plots"],
    "compare": ["compare", "latest", "--integrators", "RK4", "--no-plots"],
    "view": ["view", "latest", "--html", "replay.html"],
    "report": ["report", "latest", "--out", "report.html"],
    "plot": ["plot", "latest"],
    "export": ["export", "latest"],
    "spec show": ["spec", "show", "latest"],
    "spec check": ["spec", "check", "latest"],
    "params diff": ["params", "diff", "latest", "runs/old"],
}


@pytest.mark.parametrize("name", RUN_COMMANDS)
def test_every_command_that_takes_a_run_takes_the_latest(name, here, capsys):
    """A short flight does not finish its mission, so flying again and branching exit with 1."""
    assert run(*RUN_COMMANDS[name]) == (1 if name in ("run", "branch") else 0), capsys.readouterr().err
    printed = capsys.readouterr().out
    if name == "run":
        digests = {json.loads((here / each / "summary.json").read_text())["digest"] for each in ("again", "runs/new")}
        assert len(digests) == 1
    if name == "branch":
        assert list((here / "runs").glob("new-branch-*/spec.toml"))
    if name in ("plot", "export"):
        assert printed.startswith("runs/new/")
    if name == "spec show":
        assert "seed = 2" in printed


def test_the_table_above_has_every_command_that_takes_a_run():
    """Arguments called RUN or SPEC; those not in the table resolve theirs like `run`, and fly longer."""

    def commands(group, path=()):
        for name, inner in group.commands.items():
            yield from commands(inner, (*path, name)) if hasattr(inner, "commands") else [((*path, name), inner)]

    taking = {
        " ".join(path)
        for path, command in commands(typer.main.get_command(app))
        for param in command.params
        if param.param_type_name == "argument" and (param.metavar or "").startswith(("RUN", "SPEC"))
    }
    assert taking - {"determinism", "serve", "sweep", "tune", "step", "chirp"} <= set(RUN_COMMANDS)
    assert len(taking) >= 10


def test_without_a_run_the_error_says_where_it_looked(tmp_path, monkeypatch, capsys):
    """And what to do."""
    monkeypatch.chdir(tmp_path)
    for words in (["replay", "latest"], ["export", "latest"], ["run", "latest"], ["params", "diff", "latest", "x500"]):
        assert run(*words) == 2
        error = capsys.readouterr().err
        assert f"there is no latest run: no run folder in {tmp_path}/runs; fly one with px4lockstep run" in error
    assert run("campaign", "show", "latest") == 2
    assert f"there is no latest campaign: no campaign folder in {tmp_path}/campaigns" in capsys.readouterr().err
    with pytest.raises(px4lockstep.InputError, match="there is no latest run"):
        px4lockstep.read_run("latest")


def test_the_latest_campaign_is_the_newest_folder_in_campaigns(tmp_path, monkeypatch):
    """By its plan, which is written once."""
    monkeypatch.chdir(tmp_path)
    for i, name in enumerate("ba"):
        plan = tmp_path / "campaigns" / name / "campaign.json"
        plan.parent.mkdir(parents=True)
        plan.touch()
        os.utime(plan, ns=(i * 10**9, i * 10**9))
    assert str(campaign_path("latest")) == "campaigns/a"
    assert str(campaign_path("elsewhere")) == "elsewhere"
