"""Outcomes of random aircraft agree with an independent checker that uses only the log."""

import ast
import importlib.util
from pathlib import Path

import pytest
import verdict_checker

ROOT = Path(__file__).resolve().parents[2]
KINDS = {
    "flown",
    "never took off",
    "mission not finished",
    "out of time",
    "crashed",
    "battery empty",
    "tipped over",
    "nothing asked",
    "landed away",
}


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("check_verdicts", ROOT / "tools" / "check_verdicts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(tool, indices):
    """Return the outcomes of the aircraft that can fly, after comparing them with the checker's."""
    found = [tool.compare(index) for index in indices]
    assert [one for one in found if one[1] != one[2]] == []
    return [word for _, word, _, _ in found if word is not None]


@pytest.mark.long
def test_the_checker_agrees_on_40_random_aircraft(tool):
    """On each of them, with every kind of outcome among them."""
    words = compare(tool, (*range(45), 63, 82, 88, 227, 275))
    assert len(words) == 40
    assert set(words) == KINDS


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_the_checker_agrees_on_500_random_aircraft(tool, part):
    """The table in docs/reference/verification.md: about 50 per part, without those that can't fly."""
    assert len(compare(tool, range(part * 65, part * 65 + 65))) > 40


def test_the_checker_is_independent():
    """It imports nothing from the package."""
    tree = ast.parse(Path(verdict_checker.__file__).read_text("utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert names == {"itertools", "math", "numpy"}
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
