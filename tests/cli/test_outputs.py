"""Outputs: in the run folder unless the command line says otherwise, never over a file, and kept on a full disk."""

import errno
import json
import os
from types import SimpleNamespace

import pytest

import px4lockstep
import px4lockstep.cli
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.errors import InputError, OutputError
from px4lockstep.flights.folder import RunFolder, read_log
from px4lockstep.io import atomic_write

pytestmark = pytest.mark.fast  # the command line, in this process

SHORT = {"timeline.t_end_s": 2.0}
FLIGHT = ("--set", "timeline.t_end_s=2.0", "--no-plots", "--out", "out")


def run(*arguments):
    """Run a command in this process and return its exit code."""
    return px4lockstep.cli._run([str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# -- where files go --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../victim/notes.txt", "{victim}/notes.txt", "sub/notes.txt", "./notes.txt"])
def test_a_spec_file_can_not_write_outside_the_run_folder(tmp_path, capsys, path):
    """Whatever path it names, outputs go to the run folder, with a warning; existing files are unchanged."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "notes.txt").write_text("mine")
    (tmp_path / "spec").mkdir()
    path = path.format(victim=victim)
    text = f"extends = ['iris']\n[timeline]\nt_end_s = 2.0\n[run]\nlog_csv = '{path}'\nrecording_out = '{path}.h5'\n"
    (tmp_path / "spec" / "x.toml").write_text(text)
    assert run("run", "spec/x.toml", "--no-plots", "--out", "out", "--json") == 1  # the mission is not finished
    assert [file.read_text() for file in victim.iterdir()] == ["mine"]
    assert sorted(file.name for file in (tmp_path / "spec").iterdir()) == ["x.toml"]
    assert (tmp_path / "out" / "notes.txt").read_text().startswith("time_us,time_s,")
    assert (tmp_path / "out" / "notes.txt.h5").read_bytes() == (tmp_path / "out" / "recording.h5").read_bytes()
    warnings = json.loads(capsys.readouterr().out)["warnings"]
    assert (f"run.log_csv = {path!r} was set in a file, so it is written to the run folder" in str(warnings)) != (
        path[:2] == "./"
    )
    again = px4lockstep.load_spec("out/spec.toml")  # the resolved spec means the same
    assert (again.run.log_csv, again.run.recording_out) == ("notes.txt", "notes.txt.h5")


def test_the_command_line_and_python_choose_where_files_go(tmp_path):
    """Relative to the current folder. The resolved spec, flown again, writes into its own run folder."""
    (tmp_path / "sub").mkdir()
    assert run("run", "iris", *FLIGHT, "--set", "run.log_csv=sub/log.csv") == 1
    assert (tmp_path / "sub" / "log.csv").exists()
    assert px4lockstep.load_spec("out/spec.toml").run.log_csv == "log.csv"
    override = {"run.recording_out": str(tmp_path / "sub" / "x.h5")}
    px4lockstep.simulate("iris", overrides=SHORT | override).save("saved", plots=False)
    assert (tmp_path / "sub" / "x.h5").exists()


@pytest.mark.parametrize("name", ["summary.json", "summary", "spec.toml", "INCOMPLETE", "log.rows", "recording.h5"])
def test_an_output_can_not_replace_a_file_of_the_run(tmp_path, name):
    """Such as the summary."""
    (tmp_path / "x.toml").write_text(f"extends = ['iris']\n[run]\nlog_csv = '{name}'\n")
    flight = px4lockstep.build(px4lockstep.load_spec("x.toml"))
    with pytest.raises(
        InputError, match=rf"run\.log_csv = '{name}' can't be written: the run writes another file there"
    ):
        RunFolder.create("out", flight)
    assert not (tmp_path / "out").exists()


# -- files that exist ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a run folder."""
    return px4lockstep.simulate("iris", overrides=SHORT).save(tmp_path_factory.mktemp("flown") / "run", plots=False)


COMMANDS = {
    "run, a log": (("run", "iris", *FLIGHT, "--set", "run.log_csv=x.csv"), "x.csv", 1),
    "run, a recording": (("run", "iris", *FLIGHT, "--set", "run.recording_out=x.h5"), "x.h5", 1),
    "branch": (("branch", "{run}", "--at", "1", "--no-plots", "--set", "run.log_csv=x.csv"), "x.csv", 1),
    "export": (("export", "{run}", "--columns", "pos_ned", "--out", "x.csv"), "x.csv", 0),
    "plot": (("plot", "{run}", "--out", "x.png"), "x.png", 0),
    "diff": (("diff", "{run}", "{run}", "--out", "x.png"), "x.png", 0),
    "compare": (("compare", "{run}", "--integrators", "RK4", "--out", "."), "compare.csv", 0),
}


@pytest.mark.parametrize(("command", "name", "code"), COMMANDS.values(), ids=COMMANDS)
def test_no_command_overwrites_a_file_without_force(tmp_path, capsys, flown, command, name, code):
    """The error comes before any work; with `--force` the file is replaced. A link counts as a file."""
    arguments = [argument.format(run=flown) for argument in command]
    (tmp_path / name).write_text("mine")
    assert run(*arguments) == 2
    assert f"{name} exists and is not overwritten; use --force to overwrite it" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to("/nowhere/at/all")
    assert run(*arguments) == 2
    assert run(*arguments, "--force") == code
    assert not (tmp_path / name).is_symlink()
    assert (tmp_path / name).stat().st_size > 10


def test_a_campaigns_figure_is_not_overwritten_either(tmp_path, monkeypatch, capsys):
    """Without `--force`."""
    monkeypatch.setattr("px4lockstep.cli.campaign.CampaignFolder.open", lambda folder: SimpleNamespace(path=folder))
    (tmp_path / "plots.png").write_text("mine")
    assert run("campaign", "plot", ".") == 2
    assert "plots.png exists and is not overwritten" in capsys.readouterr().err


def test_branches_do_not_share_an_output(flown, tmp_path):
    """Each would overwrite that of the previous one."""
    with pytest.raises(InputError, match=r"run\.log_csv = .* names one file for 2 branches"):
        px4lockstep.branch(flown, 1.0, settings=["run.log_csv=x.csv"], count=2)


# -- a full disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(monkeypatch):
    """Simulate a disk that is full for the n-th atomically written file from now on, up to the last one."""
    full = {"from": None, "to": None, "count": 0}
    synchronize = os.fsync

    def fsync(handle):
        if full["from"] is not None and not os.path.isdir(f"/proc/self/fd/{handle}"):
            full["count"] += 1
            if full["from"] <= full["count"] <= full["to"]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronize(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return full


def fill_in_flight(monkeypatch, disk, first, last):
    """Let the disk be full once the flight has begun."""
    watch = RunFolder.watch

    def fill(folder, simulation):
        disk.update({"from": first, "to": last})
        watch(folder, simulation)

    monkeypatch.setattr(RunFolder, "watch", fill)


@pytest.mark.parametrize("command", ["run", "branch"])
@pytest.mark.parametrize(
    ("last", "left"),
    [
        (1, ["INCOMPLETE", "log.parquet", "spec.toml", "summary.json"]),
        (2, ["INCOMPLETE", "log.rows", "spec.toml", "summary.json"]),
        (9, ["INCOMPLETE", "log.rows", "spec.toml"]),
    ],
    ids=["recording", "recording and log", "everything"],
)
def test_a_disk_full_after_the_flight_keeps_the_log(tmp_path, monkeypatch, capsys, flown, disk, command, last, left):
    """Exit code 1, with the outcome; the log exists in one form or the other."""
    fill_in_flight(monkeypatch, disk, 1, last)
    place = ("branch", flown, "--at", "1") if command == "branch" else ("run", "iris", *FLIGHT[:2])
    assert run(*place, "--no-plots", "--out", "out", "--json") == 1
    said = capsys.readouterr()
    files = ["recording.h5", "log.parquet", "summary.json"][: min(last, 3)]
    reasons = "; ".join(f"out/{name} can't be written: No space left on device" for name in files)
    assert f"error: {reasons}; the log of the flight is in out/log." in said.err
    assert "outcome" in said.out
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert [name for name in names if name != "mission.waypoints"] == left  # a branch has a copy of its mission
    assert read_log("out").rows == 201


@pytest.mark.parametrize("first", [1, 2])
def test_a_disk_full_before_the_flight_is_bad_input(tmp_path, capsys, disk, first):
    """Nothing is flown, and nothing is left."""
    disk.update({"from": first, "to": 9})
    assert run("run", "iris", *FLIGHT) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_another_output_that_can_not_be_written_is_exit_code_1(tmp_path, capsys, flown, disk):
    """As documented in docs/reference/command_line.md."""
    disk.update({"from": 1, "to": 9})
    assert run("export", flown, "--out", "x.csv") == 1
    assert "x.csv can't be written: No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("first", [1, 2, 3])
def test_a_campaign_that_can_not_start_leaves_nothing(tmp_path, disk, first):
    """It is bad input, since no run was flown."""
    campaign = SimpleNamespace(to_json=lambda: "{}")
    disk.update({"from": first, "to": 9})
    with pytest.raises(InputError, match="No space left on device") as caught:
        CampaignFolder.create("out", campaign, "text")
    assert not isinstance(caught.value, OutputError)
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_whose_rows_can_not_be_written_is_exit_code_1(tmp_path, monkeypatch, capsys, disk):
    """Runs were flown; rows written before are kept."""

    def fly(*_, **__):
        disk.update({"from": 2, "to": 9})
        for name in ("a", "b"):
            with atomic_write(name) as file:
                file.write(b"row")

    monkeypatch.setattr("px4lockstep.cli.campaign.started_campaign", fly)
    assert run("campaign", "run", "x.toml") == 1
    assert "b can't be written: No space left on device" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
