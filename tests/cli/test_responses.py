"""`px4lockstep step` and `px4lockstep chirp`: tables, JSON, files, exit codes, no traceback."""

import json

import pytest
from commands import run_command

from px4lockstep import read_run
from px4lockstep.cli.responses import run_step

pytestmark = pytest.mark.process


def test_step_prints_a_table_and_writes_a_run_folder(tmp_path):
    """A run folder like that of `run`, which replays, with the result and its figure."""
    done = run_command("step", "x500", "--loop", "roll_rate", "--size", "20", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "x500: step of 20 °/s in roll rate" in done.stdout
    assert "settling to 5 %" in done.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"spec.toml", "recording.h5", "log.parquet", "summary.json", "plots.png", "step.json", "step.png"} <= names
    result = json.loads((tmp_path / "out" / "step.json").read_text())
    assert (result["loop"], result["size"], result["unit"]) == ("roll_rate", 20.0, "°/s")
    assert result["digest"] == read_run(tmp_path / "out").summary["digest"]
    replayed = run_command("replay", "out", cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr


def test_chirp_prints_measured_and_predicted_margins(tmp_path):
    """A default folder is named after aircraft and loop; JSON is one object and nothing else."""
    done = run_command("chirp", "x500", "--loop", "roll_rate", "--no-plots", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["phase_margin_deg"] == pytest.approx(result["model"]["phase_margin_deg"], rel=0.05)
    assert result["run_dir"].startswith("runs/x500-roll_rate-")
    assert (tmp_path / result["run_dir"] / "chirp.json").exists()
    assert not (tmp_path / result["run_dir"] / "chirp.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("step", "x500", "--loop", "rol"), "error: unknown loop 'rol'; did you mean 'roll'? allowed: roll_rate"),
        (("step", "x500", "--loop", "roll", "--size", "0"), "error: size = 0.0 is not allowed"),
        (("chirp", "x500", "--loop", "roll", "--to", "500"), "error: end_hz = 500.0 is not allowed"),
        (("step", "x500", "--loop", "roll", "--set", "autopilot.kind=px4"), "takes no setpoints"),
    ],
)
def test_bad_input_is_named_with_exit_code_2(tmp_path, words, message):
    """Nothing is flown or written."""
    done = run_command(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_flight_that_does_not_hover_has_exit_code_1(tmp_path):
    """The folder has the flight, to see why."""
    words = ("step", "x500", "--loop", "height", "--set", "airframe.mass_kg=6.0", "--no-plots", "--out", "out")
    done = run_command(*words, cwd=tmp_path)
    assert done.returncode == 1
    assert "the vehicle does not hover" in done.stderr
    assert (tmp_path / "out" / "summary.json").exists()


def test_the_table_of_a_settings_option(tmp_path, capsys):
    """`--set` and `--seed` reach the flight, and what is not reached is said."""
    options = {"plots": False, "as_json": False, "out": tmp_path / "out"}
    assert run_step("x500", "yaw_rate", 5.0, False, ["autopilot.params.MC_YAWRATE_P=0.02"], "3", **options) == 0
    assert "not reached" in capsys.readouterr().out
