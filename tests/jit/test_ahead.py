"""Code compiled ahead of time: used where it fits, ignored where it does not, and never slower than none."""

import json
import shutil
import textwrap

import pytest

from px4lockstep.errors import InputError
from px4lockstep.jit import ahead

KERNELS = """
    from px4lockstep.jit import kernel

    @kernel
    def third(x):
        return x / 3.0

    @kernel
    def entry(x):
        return third(x) + 0.1
"""
DRIVER = """
    import sys
    from pathlib import Path

    from px4lockstep.jit import ahead

    ahead.FOLDER = Path(sys.argv[1])

    from demo_ahead.kernels import entry

    print(entry(2.0).hex(), "hit" if entry.stats.cache_hits else "miss", ahead.was_loaded(), ahead.describe())
"""
RESULT = (2.0 / 3.0 + 0.1).hex()


@pytest.fixture
def wheel(tmp_path, python, monkeypatch):
    """Return a small package with code that was compiled ahead of time, and a way to run it."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("CI", raising=False)
    (tmp_path / "demo_ahead").mkdir()
    (tmp_path / "demo_ahead/__init__.py").write_text("")
    (tmp_path / "demo_ahead/kernels.py").write_text(textwrap.dedent(KERNELS))
    (tmp_path / "driver.py").write_text(textwrap.dedent(DRIVER))

    class Wheel:
        code = tmp_path / "ahead"
        cache = tmp_path / "cache"
        source = tmp_path / "demo_ahead/kernels.py"

        @classmethod
        def run(cls, **environment):
            variables = {"PX4LOCKSTEP_CACHE_DIR": cls.cache, "PYTHONPATH": tmp_path, **environment}
            result, found, used, state = python(tmp_path / "driver.py", cls.code, **variables).stdout.split(maxsplit=3)
            assert result == RESULT
            return found, used == "True", state.strip()

    assert Wheel.run(NUMBA_CPU_NAME="generic", PX4LOCKSTEP_CACHE_DIR=tmp_path / "build")[:2] == ("miss", False)
    [root] = (tmp_path / "build").iterdir()
    shutil.copytree(root, Wheel.code)
    (Wheel.code / ahead.ABOUT).write_text(json.dumps(ahead.versions()))
    return Wheel


def test_an_empty_cache_compiles_nothing(wheel):
    """The code is loaded in a process for this CPU, gives the same bits, and nothing is written."""
    assert wheel.run() == ("hit", True, "OK")
    assert not wheel.cache.exists()


def test_code_for_this_cpu_comes_first(wheel):
    """`now` compiles it although the wheel has code; then it is used."""
    assert wheel.run(PX4LOCKSTEP_NATIVE="now") == ("miss", False, "OK")
    assert wheel.run() == ("hit", False, "OK")


@pytest.mark.parametrize("name", ["Numba", "llvmlite", "Python", "machine"])
def test_another_version_is_ignored_and_named(wheel, name):
    """The code may not fit; `doctor` prints the reason."""
    about = ahead.versions()
    (wheel.code / ahead.ABOUT).write_text(json.dumps({**about, name: "another"}))
    assert ahead.problem(wheel.code) == f"built for {name} another, not {about[name]}"
    if name == "Numba":
        assert wheel.run() == ("miss", False, f"ignored: built for Numba another, not {about['Numba']}")


def test_an_edited_source_is_compiled(wheel):
    """The stamp differs, as in the user's cache; the result would be another one if the old code were loaded."""
    wheel.source.write_text(textwrap.dedent(KERNELS).replace("/ 3.0", "* 0.0 + 2.0 / 3.0"))
    assert wheel.run()[:2] == ("miss", False)


def test_moved_and_touched_files_do_not_matter(wheel, tmp_path):
    """Neither the path nor the file times are part of the stamp."""
    wheel.source.touch()
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.move(tmp_path / "demo_ahead", moved)
    assert wheel.run(PYTHONPATH=moved) == ("hit", True, "OK")


def test_damaged_code_is_compiled(wheel):
    """For example, on a damaged disk."""
    for file in wheel.code.rglob("*.nb?"):
        file.write_bytes(file.read_bytes()[:20])
    assert wheel.run() == ("miss", False, "OK")


def test_a_damaged_description_is_a_reason(tmp_path):
    """It never makes a run fail."""
    (tmp_path / ahead.ABOUT).write_text("{")
    assert ahead.problem(tmp_path).startswith("about.json can't be read")
    assert ahead.problem(tmp_path / "none") == "there is none"


def test_a_chosen_cpu_is_respected(wheel):
    """A named CPU target gets its own code; the generic one is the wheel's."""
    assert wheel.run(NUMBA_CPU_NAME="x86-64-v2", NUMBA_CPU_FEATURES="")[:2] == ("miss", False)
    assert wheel.run(NUMBA_CPU_NAME="generic")[:2] == ("hit", True)


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "background"),
        ({"CI": "true"}, "off"),
        ({"CI": "false"}, "background"),
        ({"CI": "1", "PX4LOCKSTEP_NATIVE": "background"}, "background"),
        ({"PX4LOCKSTEP_NATIVE": "now"}, "now"),
    ],
)
def test_the_policy_follows_the_environment(monkeypatch, variables, expected):
    """A CI job starts with an empty cache each time, so compiling in the background is lost work there."""
    for name in ("CI", "PX4LOCKSTEP_NATIVE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ahead.native_policy() == expected


def test_a_misspelled_policy_is_an_error(monkeypatch):
    """It names the values that are allowed."""
    monkeypatch.setenv("PX4LOCKSTEP_NATIVE", "later")
    with pytest.raises(InputError, match="PX4LOCKSTEP_NATIVE = 'later' is not allowed; use 'background', 'now' or"):
        ahead.native_policy()
