"""The new aircraft in wind and noise, with many seeds: every verdict is correct, and every landing settles level."""

from pathlib import Path

import pytest
from many_seeds import SEEDS, figures, table_row

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "aircraft.md"


@pytest.mark.parametrize("name", SEEDS)
def test_some_seeds_are_flown_and_judged_correctly(name):
    """Three flights, with a mean wind of 2, 5 and 8 m/s: the verdict of an independent checker; level at the end."""
    verdicts, largest = figures(name, (4, 10, 16))
    assert verdicts == [("flown", "flown")] * 3
    assert largest[3] < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_the_table_of_many_seeds_is_that_of_the_docs(name):
    """200 seeds of the X500, 50 of each other one: all verdicts are correct, and the docs have the figures."""
    row, verdicts = table_row(name, range(1, SEEDS[name] + 1))
    assert all(given == checked for given, checked in verdicts)
    assert row in PAGE.read_text("utf-8")
