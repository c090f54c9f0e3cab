"""`px4lockstep params` and `run --params`."""

import json

import pytest
from commands import run_command
from vehicle_files import line_of, write_vehicle

from px4lockstep.px4.parameters import known_parameters
from px4lockstep.spec.load import load_spec


def test_a_pattern_or_a_part_of_a_name_selects_parameters():
    """Upper or lower case; without one, all are listed."""
    for words, expected in (
        (("mpc_xy_vel_?_acc",), ["MPC_XY_VEL_D_ACC", "MPC_XY_VEL_I_ACC", "MPC_XY_VEL_P_ACC"]),
        (("thr_hov",), ["MPC_THR_HOVER"]),
        (("list", "thr_hov"), ["MPC_THR_HOVER"]),
        ((), sorted(known_parameters())),
    ):
        listed = run_command("params", *words, "--json")
        assert (listed.returncode, listed.stderr) == (0, "")
        assert [row["name"] for row in json.loads(listed.stdout)] == expected
    (row,) = json.loads(run_command("params", "MPC_THR_HOVER", "--json").stdout)
    assert row.pop("description")
    assert row == {
        "name": "MPC_THR_HOVER",
        "type": "float",
        "default": 0.5,
        "min": 0.1,
        "max": 0.8,
        "unit": "norm",
        "used_by": ["builtin", "px4", "px4-sitl"],
    }


def test_the_table_has_default_range_unit_use_and_description():
    """One line for each parameter."""
    shown = run_command("params", "RTL_RETURN_ALT")
    assert shown.returncode == 0, shown.stderr
    (line,) = [line for line in shown.stdout.splitlines() if "RTL_RETURN_ALT" in line]
    columns = [word.strip() for word in line.strip("│").split("│")]
    assert columns[:4] == ["RTL_RETURN_ALT", "60", "0 …", "m"]
    assert columns[4:] == ["all", "Altitude above home at which a return flies"]


def test_a_name_that_matches_nothing_is_an_error():
    """With a close name."""
    wrong = run_command("params", "MPC_XY_CRUSE")
    assert wrong.returncode == 2
    assert "no parameter matches 'MPC_XY_CRUSE'; did you mean 'MPC_XY_CRUISE'?" in wrong.stderr


@pytest.fixture(scope="module")
def flown(tmp_path_factory):
    """A short flight with a parameter file, and that file."""
    folder = tmp_path_factory.mktemp("flown")
    path = write_vehicle(folder, MPC_XY_CRUISE=7.3)
    short = ("--set", "timeline.t_end_s=1.0", "--no-plots", "--json")
    done = run_command("run", "iris", "--params", path.name, "--out", "run", *short, cwd=folder)
    return folder, path, done


def test_run_takes_a_parameter_file(flown):
    """The spec in the run folder has its values, and one warning counts those without effect."""
    folder, _, done = flown
    summary = json.loads(done.stdout)
    (warning,) = [text for text in summary["warnings"] if "params_file" in text]
    assert "parameters have no effect on the built-in autopilot: BAT1_V_DIV" in warning
    spec = load_spec(folder / "run" / "spec.toml")
    assert spec.autopilot.file_params["MPC_XY_CRUISE"] == 7.3


def test_the_option_overrides_the_file_of_the_spec(flown, tmp_path):
    """And `--set` overrides its values."""
    _, path, _ = flown
    (tmp_path / "slow.params").write_text(line_of("MPC_XY_CRUISE", 4.0) + "\n")
    (tmp_path / "own.toml").write_text(f'extends = ["iris"]\n[autopilot]\nparams_file = "{path}"\n')
    values = []
    option, setting = ("--params", "slow.params"), ("--set", "autopilot.params.MPC_XY_CRUISE=3.0")
    for more in ((), option, (*option, *setting)):
        out = f"run{len(values)}"
        short = ("--set", "timeline.t_end_s=0.1", "--no-plots", "--out", out)
        flown_now = run_command("run", "own.toml", *more, *short, cwd=tmp_path)
        assert flown_now.returncode == 1, flown_now.stderr  # too short for its mission
        diff = run_command("params", "diff", "iris", out, "--json", cwd=tmp_path)
        values.append(json.loads(diff.stdout)["differ"]["MPC_XY_CRUISE"]["b"])
    assert values == [7.3, 4.0, 3.0]


def test_diff_shows_only_values_that_differ(flown):
    """Between a file, a run folder and a built-in aircraft; names that only one has are counted."""
    folder, path, _ = flown
    same = run_command("params", "diff", "run", path.name, cwd=folder)
    assert same.returncode == 1  # the geometry of the file is not flown
    assert "MPC_XY_CRUISE" not in same.stdout
    differs = run_command("params", "diff", "iris", "run", cwd=folder)
    assert differs.returncode == 1, differs.stderr
    lines = differs.stdout.splitlines()
    assert [line.split("│")[1:5] for line in lines if "MPC_" in line] == [
        [f" {word} " for word in ("MPC_XY_CRUISE", "5   ", "7.3", "m/s ")]
    ]
    assert "2 parameters differ" in lines  # and NAV_DLL_ACT
    recording = run_command("params", "diff", "run", "run/recording.h5", cwd=folder)
    assert (recording.returncode, recording.stdout) == (0, "0 parameters differ\n")


@pytest.mark.parametrize("name", ["nothing.params", "nowhere", "."])
def test_diff_of_something_else_is_an_error(name, tmp_path):
    """Not a traceback."""
    wrong = run_command("params", "diff", "iris", name, cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: ")
    assert "Traceback" not in wrong.stderr


def test_errors_of_a_file_have_lines(tmp_path):
    """All of them, and exit code 2."""
    (tmp_path / "bad.params").write_text("1 1 MPC_XY_P 9 9\n1 1 CA_METHOD 2 6\n1 1 CA_METHOD x 6\n")
    wrong = run_command("run", "iris", "--params", "bad.params", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "bad.params line 1: MPC_XY_P = 9 is out of range" in wrong.stderr
    assert "bad.params line 3: CA_METHOD = x is not a number" in wrong.stderr
