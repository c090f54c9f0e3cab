"""The command line: verify, help, errors."""

import inspect
import json
import re
import time
from importlib import import_module

import pytest

from px4lockstep.bench.suite import Measurement
from px4lockstep.cli import (
    app,
    bench,
    campaign_commands,
    experiment_commands,
    params_commands,
    response_commands,
    spec_commands,
    verify,
)
from px4lockstep.verification.reference_cases import Result


def test_verify_prints_json_and_nothing_else(python):
    """A list of objects with case, integrator, error, bound and passed; exit code 0."""
    finished = python("-m", "px4lockstep", "verify", "--json")
    results = json.loads(finished.stdout)
    assert len(results) >= 60
    for result in results:
        assert sorted(result) == ["bound", "case", "error", "integrator", "passed"]
        assert result["passed"] is True
        assert 0.0 <= result["error"] <= result["bound"]


def test_verify_fails_with_exit_code_1_and_names_the_case(monkeypatch, capsys):
    """One result out of bounds is enough."""
    monkeypatch.setattr(
        verify, "all_results", lambda: [Result("good", "RK4", 0.1, 1.0), Result("bad", "RK4", 2.0, 1.0)]
    )
    assert verify.run_verify(as_json=False) == 1
    printed = capsys.readouterr().out
    assert "FAILED" in printed
    assert "1 passed, 1 failed" in printed
    assert verify.run_verify(as_json=True) == 1
    assert [result["passed"] for result in json.loads(capsys.readouterr().out)] == [True, False]


def test_help_starts_without_numba(python):
    """So that it is fast."""
    code = (
        "import sys\nsys.argv = ['px4lockstep', '--help']\nfrom px4lockstep.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert stop.code == 0\n"
        "assert 'numba' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    start_s = time.perf_counter()
    assert "verify" in python("-c", code).stdout
    assert time.perf_counter() - start_s < 5.0  # generous; the benchmark measures it


def test_every_command_has_a_function_that_accepts_its_options():
    """Each option without a default here has one in the function."""
    declared = [
        (*found, place)
        for place in (app, campaign_commands, experiment_commands, params_commands, response_commands, spec_commands)
        for found in re.findall(r'@command\(\w+, "(\w+)\.(\w+)".*\)\ndef (\w+)', inspect.getsource(place))
    ]
    assert len(declared) == 34
    for module, function, name, place in declared:
        work = inspect.signature(getattr(import_module(f"px4lockstep.cli.{module}"), function))
        options = inspect.signature(getattr(place, name)).parameters.values()
        work.bind(**{option.name: option.default for option in options})
        work.bind(**{option.name: option.default for option in options if option.default is not None})


@pytest.mark.parametrize("arguments", [["fly"], ["verify", "--jsn"]])
def test_a_mistyped_command_is_exit_code_2_without_a_traceback(python, arguments):
    """One plain line on standard error."""
    finished = python("-m", "px4lockstep", *arguments, check=False)
    assert finished.returncode == 2
    assert finished.stderr.startswith("error: no such ")
    assert finished.stderr.count("\n") == 1
    assert finished.stdout == ""


def test_help_shows_the_form_of_a_setting(python):
    """And no Python types."""
    text = python("-m", "px4lockstep", "run", "--help").stdout
    assert "TABLE.KEY=VALUE" in text
    assert "list[str]" not in text


def test_the_benchmarks_have_their_unit(capsys, monkeypatch):
    """Which Rich would take for a style."""
    monkeypatch.setattr(bench, "warm_up", lambda: None)
    monkeypatch.setattr(bench, "measure", lambda _: ([Measurement("hover", 0.0123, 60.0, None)], ()))
    monkeypatch.setenv(bench.FRESH, "1")
    assert bench.run_bench(as_json=False) == 0
    printed = capsys.readouterr().out
    assert "time [ms]" in printed
    assert "12.3" in printed


def test_version_is_that_of_the_package(python):
    """With --version."""
    from px4lockstep import __version__

    assert python("-m", "px4lockstep", "--version").stdout.strip() == __version__
