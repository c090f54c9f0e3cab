"""What engineers type first: events and missions of `run`, parts of a figure, files to start from, completion."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from matplotlib import image

import px4lockstep
import px4lockstep.cli
from px4lockstep.cli.events import parse_event
from px4lockstep.experiments.loops import LOOPS
from px4lockstep.log.exports import FORMATS
from px4lockstep.spec.shipped import shipped_aircraft, shipped_missions

MISSION = Path(px4lockstep.__file__).parent / "spec" / "missions" / "simple.waypoints"


def run(*arguments):
    """Run a command in this process and return its exit code."""
    return px4lockstep.cli._run([str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _work_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# -- run -------------------------------------------------------------------------------------------------------------


def test_run_adds_events_to_those_of_the_spec(tmp_path, capsys):
    """Repeated, with spaces, braces or quotes; the flight is that of a spec file with these events."""
    Path("a.toml").write_text(
        'extends = ["x500"]\n[timeline]\nt_end_s = 4.0\n[[scenario.events]]\nat_s = 2.5\naction = "wind_step"\n'
        "vel_ned = [1.0, 0.0, 0.0]\n"
    )
    events = [
        "at_s=3, action=disable_motor, motor=2",
        '{ at_s = 3.5, action = "wind_step", vel_ned = [0.0, 2.0, 0.0] }',
    ]
    words = [word for event in events for word in ("--event", event)]
    assert run("run", "a.toml", *words, "--no-plots", "--out", "out") == 1
    capsys.readouterr()
    flown = tomllib.loads(Path("out/spec.toml").read_text())["scenario"]["events"]
    assert [(event["at_s"], event["action"]) for event in flown] == [
        (2.5, "wind_step"),
        (3.0, "disable_motor"),
        (3.5, "wind_step"),
    ]
    labels = [event["label"] for event in json.loads(Path("out/summary.json").read_text())["events"]]
    assert "motor 2 off" in labels


def test_an_event_that_arms_replaces_the_default(capsys):
    """As in a spec file."""
    assert run("run", "x500", "--set", "timeline.t_end_s=2", "--event", "at_s=1.5,action=arm", "--no-plots") == 1
    spec = px4lockstep.read_run("latest").spec
    assert spec.scenario.arm_time_s is None
    armed = px4lockstep.read_run("latest").log
    assert armed.time_s[armed["armed"].argmax()] == pytest.approx(1.5, abs=0.03)


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("at_s=12,action=disable_motr,motor=2", "--event: scenario.events[0].action = 'disable_motr'"),
        ("at_s=12,action=disable_motor,motor=9", "motor = 9"),
        ("at_s=12,at_s=13,action=return", "a key is given twice. Write an event as at_s=40,action=return"),
        ("disable_motor", "'disable_motor' is not an override"),
    ],
)
def test_a_wrong_event_is_an_error(event, text, capsys):
    """It names the option, the key and the value; nothing is flown."""
    assert run("run", "x500", "--event", event) == 2
    assert text in capsys.readouterr().err
    assert not Path("runs").exists()


def test_an_event_may_have_commas_in_arrays_and_strings():
    """Only commas between keys separate."""
    assert parse_event('at_s=1, wind_ned=[1.0, 2.0, 3.0], text="a, b"') == {
        "at_s": 1,
        "wind_ned": [1.0, 2.0, 3.0],
        "text": "a, b",
    }


def test_run_flies_another_mission(tmp_path, capsys):
    """A file relative to the current folder, or a built-in one; a missing file is an error."""
    (tmp_path / "plans").mkdir()
    shutil.copy(MISSION, tmp_path / "plans" / "mine.waypoints")
    Path("elsewhere").mkdir()
    Path("elsewhere/a.toml").write_text('extends = ["x500"]\n[timeline]\nt_end_s = 0.5\n')
    assert run("run", "elsewhere/a.toml", "--mission", "plans/mine.waypoints", "--no-plots", "--out", "out") == 1
    assert Path("out/mission.waypoints").read_text() == MISSION.read_text()
    built_in = sorted(set(shipped_missions()) - {"simple"})[0]
    assert run("run", "elsewhere/a.toml", "--mission", built_in, "--no-plots", "--out", "other") == 1
    assert tomllib.loads(Path("other/spec.toml").read_text())["px4"]["mission_path"] == built_in
    capsys.readouterr()
    assert run("run", "x500", "--mission", "missing.plan") == 2
    assert "missing.plan" in capsys.readouterr().err


# -- plot ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """Return a run folder."""
    return px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 3.0}).save(
        tmp_path_factory.mktemp("a") / "run", plots=False
    )


def test_a_part_of_a_flight_is_plotted(flown, capsys):
    """To a file of its own, so that the figure of the whole flight stays."""
    shutil.copytree(flown, "run")
    assert run("plot", "run", "--from", "1", "--to", "2") == 0
    assert run("plot", "run", "--columns", "pos_ned,vel_ned", "--columns", "motors_1", "--out", "columns.png") == 0
    assert capsys.readouterr().out == "run/part.png\ncolumns.png\n"
    assert not Path("run/plots.png").exists()
    assert image.imread("columns.png").shape[:2] == (920, 1700)
    assert run("plot", "run", "run/log.parquet", "--labels", "a,b", "--columns", "vel_ned", "--from", "1") == 0
    assert run("plot", "run", "--from", "9", "--force") == 2
    assert "there are no rows from 9 s; the log has 0 to 3 s" in capsys.readouterr().err
    assert run("plot", "run", "--columns", "pos_nde", "--force") == 2
    assert "there is no column 'pos_nde'; did you mean 'pos_ned'" in capsys.readouterr().err
    assert run("plot", "run", "--columns", ",".join(["pos_ned"] * 21), "--force") == 2
    assert "21 columns can't be plotted; give 1 to 20" in capsys.readouterr().err


def test_a_part_shows_the_events_in_it_and_no_others(flown):
    """The state at the first row of a part is not an event."""
    saved = px4lockstep.read_run(flown)
    whole, part = saved.plot(), saved.plot(from_s=1.5, to_s=2.5)
    for figure, has, lacks in ((whole, ("armed 1.00 s", "mode"), ()), (part, ("mission",), ("armed",))):
        listed = figure.get_supxlabel()
        assert all(text in listed for text in has), listed
        assert not any(text in listed for text in lacks), listed
    assert part.axes[1].get_xlim() == pytest.approx((1.5, 2.5), abs=0.03)
    columns = saved.plot(columns=["pos_ned", "armed"], from_s=0.5)
    assert [axes.get_title(loc="left") for axes in columns.axes] == ["pos_ned", "armed"]
    *components, marks = columns.axes[0].lines
    assert len(components) == 3
    assert sorted({f"{x:.2f} s" for x in marks.get_xdata()}) == listed_marks(columns)


def listed_marks(figure):
    """Return the times of the events that a figure lists."""
    return re.findall(r"\d+\.\d+ s", figure.get_supxlabel())


# -- files to start from ---------------------------------------------------------------------------------------------


def uncommented(text):
    """Return a file with all its examples in use."""
    return re.sub(r"^#(?=\S|    \[)", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize("base", ["x500", "iris", "x500_octa", "lifter"])
def test_a_new_spec_is_valid_as_it_is_and_with_all_examples(base, capsys):
    """The flight of a new file is that of its base."""
    assert run("spec", "new", "my.toml", "--base", base) == 0
    assert capsys.readouterr().out.startswith("my.toml\nedit it")
    text = Path("my.toml").read_text()
    assert run("spec", "check", "my.toml") == 0
    ours, base_spec = px4lockstep.load_spec("my.toml"), px4lockstep.load_spec(base)
    changed = ours.model_copy(update={"aircraft": base_spec.aircraft})
    assert px4lockstep.to_toml(changed) == px4lockstep.to_toml(base_spec)
    everything = uncommented(text)
    assert everything.count("\n#") < text.count("\n#") - 12
    Path("all.toml").write_text(everything)
    spec = px4lockstep.load_spec("all.toml")
    assert spec.airframe.payload_kg == 0.3
    assert spec.scenario.events[0].action == "thrust_loss"
    assert spec.autopilot.params["MPC_XY_VEL_MAX"] == 8.0


def test_a_new_spec_extends_a_file_by_its_path(capsys):
    """As seen from the new file."""
    Path("fleet").mkdir()
    assert run("spec", "new", "base.toml") == 0
    assert run("spec", "new", "fleet/own.toml", "--base", "base.toml") == 0
    assert tomllib.loads(Path("fleet/own.toml").read_text())["extends"] == ["../base.toml"]
    assert run("spec", "check", "fleet/own.toml") == 0
    assert run("spec", "new", "base.toml") == 2
    assert "base.toml exists and is not overwritten" in capsys.readouterr().err
    assert run("spec", "new", "other.toml", "--base", "x50") == 2
    assert "unknown aircraft 'x50'. Did you mean 'x500'?" in capsys.readouterr().err
    assert not Path("other.toml").exists()


def test_a_new_campaign_is_valid_as_it_is_and_with_all_examples(capsys):
    """It flies in tests/campaigns; here it is loaded."""
    assert run("campaign", "init") == 0
    assert capsys.readouterr().out.startswith("campaign.toml\nedit it")
    campaign = px4lockstep.load_campaign("campaign.toml")
    assert (campaign.runs, len(campaign.vary)) == (100, 2)
    Path("all.toml").write_text(uncommented(Path("campaign.toml").read_text()))
    everything = px4lockstep.load_campaign("all.toml")
    assert (len(everything.vary), everything.file.campaign.sampling) == (3, "sobol")
    assert run("campaign", "init") == 2
    assert run("campaign", "init", "b.toml", "--base", "missing.toml") == 2
    assert not Path("b.toml").exists()


# -- completion ------------------------------------------------------------------------------------------------------


def completed(*words, capsys, monkeypatch):
    """Return what bash would be told to complete the last word with."""
    monkeypatch.setenv("_PX4LOCKSTEP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "\n".join(["px4lockstep", *words]))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    return capsys.readouterr().out.split()


def test_commands_options_and_values_are_completed(capsys, monkeypatch):
    """Aircraft, missions, runs, formats and files."""

    def complete(*words):
        return completed(*words, capsys=capsys, monkeypatch=monkeypatch)

    Path("runs/x500-1").mkdir(parents=True)
    Path("campaigns/c-1").mkdir(parents=True)
    for name in ("my.toml", "notes.txt", "flight.ulg", ".hidden.toml", "m.plan"):
        Path(name).touch()
    assert complete("r") == ["run", "report", "replay"]
    assert {"--event", "--mission", "--params", "--seed", "--set"} <= set(complete("run", "x500", "--"))
    assert set(shipped_aircraft()) < set(complete("run", ""))
    assert complete("run", "my") == ["my.toml"]
    assert complete("run", "x500_o") == ["x500_octa"]
    assert set(complete("run", "x500", "--mission", "")) >= {"m.plan", *shipped_missions()}
    assert complete("replay", "la") == ["latest"]
    assert complete("plot", "runs/x") == ["runs/x500-1"]
    assert complete("diff", "latest", "fl") == ["flight.ulg"]
    assert complete("export", "latest", "--format", "") == list(FORMATS)
    assert complete("step", "x500", "--loop", "") == list(LOOPS)
    assert complete("campaign", "show", "campaigns/") == ["campaigns/c-1"]
    assert complete("run", "missing/") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(shell, capsys, monkeypatch):
    """Printed by the command itself, as the documentation shows."""
    monkeypatch.setenv("_PX4LOCKSTEP_COMPLETE", f"source_{shell}")
    with pytest.raises(SystemExit) as ended:
        run()
    assert ended.value.code == 0
    script = capsys.readouterr().out
    assert f"_PX4LOCKSTEP_COMPLETE=complete_{shell}" in script
    monkeypatch.setenv("_PX4LOCKSTEP_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "px4lockstep camp")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    monkeypatch.setenv("COMP_WORDS", "px4lockstep\ncamp")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        run()
    assert "campaign" in capsys.readouterr().out


@pytest.mark.process
def test_bash_completes(tmp_path):
    """With its own script, as the tab key does."""
    bash = shutil.which("bash")
    script = """
        eval "$(_PX4LOCKSTEP_COMPLETE=source_bash px4lockstep)"
        COMP_WORDS=(px4lockstep run x500_h) COMP_CWORD=2
        $(complete -p px4lockstep | sed 's/.*-F \\([^ ]*\\).*/\\1/') px4lockstep
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([bash, "-c", script], env=env, capture_output=True, text=True, cwd=tmp_path, timeout=60)
    assert (done.stdout, done.stderr) == ("x500_hex\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("campaign", "gate.toml"),
            "no such command 'gate.toml'; commands: init, run, show, plot, rerun; see ",
        ),
        (("campaign", "rum"), "no such command 'rum'. Did you mean 'run'? See px4lockstep campaign --help"),
        (("nonsense",), "no such command 'nonsense'; see px4lockstep --help"),
    ],
)
def test_an_unknown_command_of_a_group_names_the_others(words, said, capsys):
    """A file is often given without the command; the program has too many commands for a line."""
    assert run(*words) == 2
    assert said in capsys.readouterr().err
