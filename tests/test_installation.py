"""The wheel in a clean environment: it has all its data, and flies to the same digest with every Python version."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import px4lockstep

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")
SHORT = {"timeline.t_end_s": 3.0, "scenario.arm_time_s": 0.2, "scenario.mission_time_s": 0.4}


def run(*command, cwd, code=0):
    """Run a command without the variables of this environment; return what it printed."""
    lent = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in lent}
    finished = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert finished.returncode == code, finished.stderr[-2000:]
    return finished.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns(".git", ".venv", ".cache", "*.egg-info", "build", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder / "sources", ignore=ignored)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", "out", "./sources", cwd=folder)
    (made,) = (folder / "out").glob("*.whl")
    return made


@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_flies_in_a_clean_environment(wheel, python, tmp_path):
    """With its own dependencies and nothing from the checkout."""
    found = shutil.which(python)
    works = found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
    if not works:
        pytest.skip(f"no {python} on this machine: the wheel is not tested with it")
    run(found, "-m", "venv", "clean", cwd=tmp_path)
    run(tmp_path / "clean/bin/python", "-m", "pip", "install", "--quiet", str(wheel), cwd=tmp_path)
    changes = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    command = (tmp_path / "clean/bin/px4lockstep", "run", "iris", "--no-plots", "--json", *changes)
    printed = run(*command, cwd=tmp_path, code=1)  # the mission is not finished after three seconds
    assert json.loads(printed)["digest"] == px4lockstep.simulate("iris", overrides=SHORT).digest
    assert "iris" in run(tmp_path / "clean/bin/px4lockstep", "spec", "list", cwd=tmp_path)


def test_the_px4_distribution_needs_numpy_only(tmp_path):
    """`px4lockstep-px4` reads missions and parameters; the simulator is missing, and the error says what to install."""
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        tmp_path,
        ROOT / "packaging/px4",
        cwd=tmp_path,
    )
    (wheel,) = tmp_path.glob("px4lockstep_px4-*.whl")
    assert px4lockstep.__version__ in wheel.name
    run(sys.executable, "-m", "venv", "clean", cwd=tmp_path)
    python = tmp_path / "clean/bin/python"
    run(python, "-m", "pip", "install", "--quiet", str(wheel), cwd=tmp_path)
    installed = {entry["name"] for entry in json.loads(run(python, "-m", "pip", "list", "--format=json", cwd=tmp_path))}
    assert installed - {"pip", "setuptools"} == {"numpy", "px4lockstep-px4"}
    code = """
import px4lockstep
import px4lockstep.px4 as px4
print(len(px4.shipped_layouts()) > 10, px4.resolve({"MC_ROLL_P": 7})["MC_ROLL_P"])
for name in px4.__all__:
    getattr(px4, name)
try:
    px4lockstep.simulate
except ImportError as error:
    print(error)
"""
    first, second = run(python, "-c", code, cwd=tmp_path).splitlines()
    assert first == "True 7.0"
    assert "pip install px4lockstep" in second
