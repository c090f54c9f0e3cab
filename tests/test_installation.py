"""Distributions in a clean environment: they have all their data, and fly to the same digest with every Python."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

import px4lockstep
from px4lockstep.bench import first_flights
from px4lockstep.bench.first_flights import background_processes

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
def sources(tmp_path_factory):
    """Copy the sources."""
    folder = tmp_path_factory.mktemp("sources") / "px4lockstep"
    ignored = shutil.ignore_patterns(".git", ".venv*", ".cache", "*.egg-info", "build", "__pycache__", ".*_cache")
    shutil.copytree(ROOT, folder, ignore=ignored)
    return folder


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory):
    """Build the pure wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", "out", sources, cwd=folder)
    (made,) = (folder / "out").glob("*.whl")
    assert made.name.endswith("-py3-none-any.whl")
    return made


@pytest.mark.parametrize("python", PYTHONS)
def test_the_wheel_flies_in_a_clean_environment(wheel, python, tmp_path):
    """With its own dependencies and nothing from the checkout."""
    found = shutil.which(python)
    works = found and subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0
    if not works:
        pytest.skip(f"no {python} on this machine: the wheel is not tested with it")
    install_and_fly(wheel, found, tmp_path)


def test_the_source_distribution_flies_in_a_clean_environment(sources, tmp_path):
    """It has what the build needs, and no fragments of the tests."""
    run(sys.executable, "-m", "build", "--sdist", "-o", "out", sources, cwd=tmp_path)
    (made,) = (tmp_path / "out").glob("*.tar.gz")
    with tarfile.open(made) as archive:
        folders = {Path(name).parts[1] for name in archive.getnames() if "/" in name}
    assert {"packaging", "src", "LICENSE"} <= folders
    assert "tests" not in folders
    install_and_fly(made, sys.executable, tmp_path)


def install_and_fly(distribution, python, folder):
    """Install a distribution into a clean environment, and fly there as here."""
    run(python, "-m", "venv", "clean", cwd=folder)
    run(folder / "clean/bin/python", "-m", "pip", "install", "--quiet", str(distribution), cwd=folder)
    changes = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    command = (folder / "clean/bin/px4lockstep", "run", "iris", "--no-plots", "--json", *changes)
    printed = run(*command, cwd=folder, code=1)  # the mission is not finished after three seconds
    assert json.loads(printed)["digest"] == px4lockstep.simulate("iris", overrides=SHORT).digest
    assert "iris" in run(folder / "clean/bin/px4lockstep", "spec", "list", cwd=folder)


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


# -- the wheel with code compiled ahead of time ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled(sources, tmp_path_factory):
    """Build the wheel for this Python, and install it into a clean environment; return the folder."""
    folder = tmp_path_factory.mktemp("compiled")
    run(sys.executable, "-m", "build", "--wheel", "--config-setting=compile=generic", "-o", "out", sources, cwd=folder)
    (made,) = (folder / "out").glob("*.whl")
    assert f"-{sys.implementation.cache_tag.replace('cpython-', 'cp')}-" in made.name
    run(sys.executable, "-m", "venv", "clean", cwd=folder)
    run(folder / "clean/bin/python", "-m", "pip", "install", "--quiet", str(made), cwd=folder)
    return folder


def fly(folder, cache, **environment):
    """Fly briefly with a cache folder; return the digest and what was printed on standard error."""
    changes = [word for key, value in SHORT.items() for word in ("--set", f"{key}={value}")]
    finished = subprocess.run(
        [folder / "clean/bin/px4lockstep", "run", "iris", "--json", *changes],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(cache), "PX4LOCKSTEP_CACHE_DIR": str(cache), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 1, finished.stderr  # the mission is not finished after three seconds
    return json.loads(finished.stdout)["digest"], finished.stderr


def doctor(folder, cache):
    """Return what the doctor says about compiled code."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(cache), "PX4LOCKSTEP_CACHE_DIR": str(cache)}
    command = (folder / "clean/bin/px4lockstep", "doctor", "--json")
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    return json.loads(printed)


def test_the_first_flight_compiles_nothing(compiled, tmp_path):
    """With an empty cache: same digest as just in time, no notice, nothing written."""
    digest, said = fly(compiled, tmp_path / "cache", PX4LOCKSTEP_NATIVE="off")
    assert digest == px4lockstep.simulate("iris", overrides=SHORT).digest
    assert "compil" not in said
    assert not list((tmp_path / "cache").rglob("*.nb?"))
    found = doctor(compiled, tmp_path / "cache")
    assert found["ahead_of_time"] == "OK"
    assert found["loop"].startswith("compiled ahead of time")


def test_native_code_is_compiled_once_in_the_background(compiled, tmp_path):
    """A killed process does no harm; the next one completes its work, and later flights use it."""
    cache = tmp_path / "cache"
    cache.mkdir()
    expected = px4lockstep.simulate("iris", overrides=SHORT).digest
    digest, said = fly(compiled, cache, PX4LOCKSTEP_NATIVE="background")
    assert (digest, "compil" in said) == (expected, False)
    [attempts] = eventually(lambda: list(cache.rglob("background-*")))
    assert eventually(lambda: attempts.stat().st_size == 1)
    assert not list(cache.rglob("loop.advance*.nbc"))
    for pid in background_processes(str(cache)):
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: not background_processes(str(cache)))
    interrupt_two_flights(compiled, cache, attempts)
    assert eventually(lambda: not background_processes(str(cache)))
    assert doctor(compiled, cache)["loop"] == "compiled"
    for entry in ("loop.advance", "suite.step_sensors", "special_rotor.write_special_rates", "tilt.write_tilts"):
        assert list(cache.rglob(f"{entry}*.nbc")), entry
    assert fly(compiled, cache, PX4LOCKSTEP_NATIVE="background")[0] == expected
    assert attempts.stat().st_size == 2


def interrupt_two_flights(folder, cache, attempts):
    """Fly twice at the same time and press Ctrl-C: one process compiles, at the lowest priority, and goes on."""
    command = [
        folder / "clean/bin/px4lockstep",
        "run",
        "iris",
        "--no-plots",
        "--set",
        "run.realtime_factor=1.0",
        "--out",
    ]
    variables = {"PATH": os.environ["PATH"], "HOME": str(cache), "PX4LOCKSTEP_CACHE_DIR": str(cache)}
    options = {"env": variables | {"PX4LOCKSTEP_NATIVE": "background"}, "stdout": subprocess.DEVNULL}
    options |= {"stderr": subprocess.DEVNULL, "start_new_session": True}
    flights = [subprocess.Popen([*command, cache / f"run {i}"], **options) for i in range(2)]
    for i, flight in enumerate(flights):
        assert eventually(lambda i=i: (cache / f"run {i}" / "spec.toml").exists())
        assert eventually(lambda: attempts.stat().st_size == 2)
        os.killpg(flight.pid, signal.SIGINT)
        assert flight.wait() == 130
    working = background_processes(str(cache))
    assert working
    assert {os.getpriority(os.PRIO_PROCESS, pid) for pid in working} == {19}


@pytest.mark.parametrize("variables", [{"CI": "true"}, {"PX4LOCKSTEP_NATIVE": "off"}], ids=["CI", "off"])
def test_nothing_is_compiled_in_the_background_if_that_is_switched_off(compiled, tmp_path, variables):
    """For machines that fly once, and containers."""
    fly(compiled, tmp_path / "cache", **variables)
    assert not background_processes(str(tmp_path / "cache"))
    assert not list((tmp_path / "cache").rglob("background-*"))


def test_the_first_flight_takes_at_most_8_times_the_import_of_numba(compiled, tmp_path, monkeypatch):
    """With the figure, and with empty caches; the process in the background is not counted, and none is left."""
    caches = []
    monkeypatch.setattr(first_flights, "REPEATS", 3)
    monkeypatch.setattr(first_flights, "_environment", lambda _: str(compiled / "clean/bin/python"))
    monkeypatch.setattr(
        first_flights, "background_processes", lambda cache: caches.append(cache) or background_processes(cache)
    )
    yardstick, found = first_flights.measure_first_flights(["first_flight"])
    assert found["first_flight"].cpu_s <= 8.0 * yardstick.cpu_s
    assert len(set(caches)) == 3
    assert eventually(lambda: not any(map(background_processes, caches)))


def eventually(result, limit_s=1_200.0):
    """Wait until a function returns something true; compiling at low priority takes minutes on a busy machine."""
    end_s = time.monotonic() + limit_s
    while not result() and time.monotonic() < end_s:
        time.sleep(0.2)
    return result()


def test_code_of_another_numba_is_ignored(compiled, tmp_path):
    """The doctor says so, and the flight compiles as with the pure wheel."""
    (about,) = (compiled / "clean").rglob("ahead_of_time/about.json")
    kept = about.read_text()
    try:
        about.write_text(json.dumps({**json.loads(kept), "Numba": "0.1.0"}))
        found = doctor(compiled, tmp_path)
        assert found["ahead_of_time"].startswith("ignored: built for Numba 0.1.0, not ")
        assert found["loop"] == "will be compiled at the first flight"
    finally:
        about.write_text(kept)
