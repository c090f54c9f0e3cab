"""`px4lockstep spec`: list, show and check."""

import json
import os
import re
import tomllib

import pytest
from commands import run_command
from spec_files import write

from px4lockstep.spec.shipped import shipped_aircraft


def spec(*arguments, check=True, cwd=None):
    """Run `px4lockstep spec`; return standard output, or standard error if it fails as expected."""
    finished = run_command("spec", *arguments, cwd=cwd)
    assert finished.returncode == (0 if check else 2), finished.stderr
    assert "Traceback" not in finished.stderr
    return finished.stdout if check else finished.stderr


def test_built_in_aircraft_and_missions_are_listed():
    """By their names."""
    aircraft = ("hex", "iris", "iris_long", "lifter", "octa", "racer", "twin", "x500", "x500_hex", "x500_octa")
    lines = ["aircraft", *(f"  {name}" for name in aircraft), "missions", "  long", "  simple"]
    assert spec("list") == "\n".join(lines) + "\n"


def test_show_applies_settings():
    """They appear in the output."""
    shown = tomllib.loads(spec("show", "iris", "--set", "autopilot.land_detector=estimate", "--set", "aircraft.seed=9"))
    assert (shown["autopilot"]["land_detector"], shown["aircraft"]["seed"]) == ("estimate", 9)


@pytest.mark.parametrize("name", shipped_aircraft())
def test_built_in_aircraft_are_valid(name):
    """Without a warning."""
    assert spec("check", name) == f"{name}: OK\n"


def test_check_reports_all_errors_at_once_and_names_settings(tmp_path):
    """Those of the tables and those of the build."""
    write(tmp_path, "extends = ['iris']\n[home]\nlat_deg = 91\n")
    said = spec(
        "check", "field.toml", "--set", "airframe.mass_kg=60", "--set", "run.mode=liv", check=False, cwd=tmp_path
    )
    assert "field.toml has 2 errors:" in said
    assert "field.toml: home.lat_deg = 91 is out of range" in said
    assert "--set run.mode=liv: run.mode = 'liv' is unknown" in said
    said = spec("check", "iris", "--set", "airframe.mass_kg=60", "--set", "run.mode=liv", check=False)
    thrust = r"airframe\.propulsion can't reach a thrust.* \(values from \S+, --set airframe\.mass_kg=60\)"
    assert re.search(thrust, said)
    assert "--set run.mode=liv: run.mode = 'liv' is unknown" in said


def test_check_prints_each_warning_once():
    """And that the file is OK."""
    said = spec("check", "iris", "--set", "plant.integrator=RK4", "--set", "timeline.dt_wind_s=0.004").splitlines()
    assert len(said) == 2
    assert said[0].startswith("warning: the step size of 4000 us exceeds")
    assert said[1] == "iris: OK, 1 warning"


def test_check_and_run_warn_that_sensors_have_no_effect(tmp_path):
    """`spec check`, the table of `run` and summary.json show the same warning."""
    write(tmp_path, "extends = ['iris']\n[timeline]\nt_end_s = 1\n[[sensors]]\nkind = 'radar'\nid = 'r1'\n")
    warning = "[[sensors]] (radar 'r1') has no effect; the sensors of stock PX4 are in [px4.sitl.sensors]"
    said = spec("check", "field.toml", cwd=tmp_path).splitlines()
    assert f"warning: {warning}" in said
    assert said[-1] == "field.toml: OK, 3 warnings"
    words = ("run", "field.toml", "--no-plots", "--out", "out")
    finished = run_command(*words, cwd=tmp_path, env={**os.environ, "COLUMNS": "200"})
    assert warning in finished.stdout
    assert warning in json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))["warnings"]


def test_check_compiles_nothing(tmp_path, python):
    """The flight is built with interpreted kernels, so that it takes a second without a cache."""
    python("-m", "px4lockstep", "spec", "check", "iris", PX4LOCKSTEP_CACHE_DIR=tmp_path)
    assert list(tmp_path.rglob("*")) == []
