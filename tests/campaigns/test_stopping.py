"""The stop rule: its decision, its independence of the order of arrival, and its cost in coverage."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interval_coverage import stopped_coverage, wilson_coverage

from px4lockstep.campaigns.statistics import interval_of_mean, interval_of_proportion
from px4lockstep.campaigns.stopping import StopRule, StopTable, check_target
from px4lockstep.errors import InputError

CHANCES = np.arange(0.5, 0.9925, 0.005)


def rows_of(passed):
    return [{"passed": bool(own)} for own in passed]


def metric_rows(values):
    return [{"passed": True, "height_m": value} for value in values]


def stops_after(rule, rows):
    """Return after how many of these rows a rule stops; None if it does not."""
    return next((count for count, row in enumerate(rows, start=1) if rule.push(row)), None)


def test_it_stops_at_the_first_run_with_a_narrow_enough_interval():
    """By the definition: intervals of the first n rows, from min_runs on."""
    passed = np.random.default_rng(1).uniform(size=2000) < 0.9
    widths = [interval_of_proportion(int(passed[:n].sum()), n).half_width for n in range(1, 2001)]
    expected = next(n for n, width in enumerate(widths, start=1) if n >= 100 and width <= 0.03)
    assert stops_after(StopRule(StopTable(half_width=0.03)), rows_of(passed)) == expected
    assert 100 < expected < 1000


def test_it_stops_on_the_mean_of_a_metric():
    """Rows without a value count as runs, but not for the interval."""
    values = np.random.default_rng(2).normal(10.0, 1.0, 2000).tolist()
    values[3], values[5], values[7] = None, math.nan, math.inf
    there = [math.nan if value is None else value for value in values]
    expected = next(n for n in range(50, 2001) if interval_of_mean(there[:n]).half_width <= 0.1)
    rule = StopRule(StopTable(of="height_m", half_width=0.1, min_runs=50))
    assert stops_after(rule, metric_rows(values)) == expected
    interval = rule.interval()
    assert interval.count == expected - 3
    direct = interval_of_mean(there[:expected])
    assert (interval.estimate, interval.low) == pytest.approx((direct.estimate, direct.low), rel=1e-13)


def test_a_run_with_an_error_did_not_pass():
    """Whether its column is false or empty: 50 of 100 passed, with an interval of ± 0.1."""
    for empty in (None, False, math.nan):
        rule = StopRule(StopTable(half_width=0.4))
        assert stops_after(rule, [{"passed": True}, {"passed": empty}] * 50) == 100
        assert rule.interval() == interval_of_proportion(50, 100)


def test_a_boolean_metric_is_a_proportion():
    """As numbers, equal values would have no spread and stop the campaign at once."""
    rule = StopRule(StopTable(of="crashed", half_width=0.01, min_runs=5))
    found = stops_after(rule, [{"passed": True, "crashed": np.bool_(False)}] * 1000)
    assert found == next(n for n in range(5, 1000) if interval_of_proportion(0, n).half_width <= 0.01)
    assert found == 189


def test_it_continues_after_a_resume():
    """A resumed campaign pushes the existing rows, then the new ones."""
    rows = rows_of(np.random.default_rng(3).uniform(size=1000) < 0.95)
    whole = stops_after(StopRule(StopTable(half_width=0.02)), rows)
    halves = StopRule(StopTable(half_width=0.02))
    assert whole is not None
    assert stops_after(halves, rows[:120]) is None
    assert 120 + stops_after(halves, rows[120:]) == whole


def test_it_does_not_stop_with_too_few_runs():
    assert stops_after(StopRule(StopTable(half_width=0.001)), rows_of([True] * 500)) is None


@given(seed=st.integers(0, 10_000), workers=st.integers(1, 16))
def test_the_order_in_which_runs_arrive_does_not_matter(seed, workers):
    """Rows that are sorted by index as they arrive, as in a campaign, stop where sorted rows do."""
    random = np.random.default_rng(seed)
    rows = metric_rows(random.normal(size=300).tolist())
    table = StopTable(of="height_m", half_width=0.17, min_runs=20)
    expected = stops_after(StopRule(table), rows)
    arrival = np.argsort(np.arange(300) + random.uniform(0.0, workers, 300))
    rule, waiting, upto, found = StopRule(table), {}, 0, None
    for index in arrival.tolist():
        waiting[index] = rows[index]
        while found is None and upto in waiting:
            found = upto + 1 if rule.push(waiting.pop(upto)) else None
            upto += 1
    assert found == expected


def test_workers_do_not_import_scipy(python):
    """These modules are imported with the tables of a campaign; SciPy only when something is estimated."""
    modules = "results_table, statistics, stopping, sensitivity"
    code = f"import sys; from px4lockstep.campaigns import {modules}; print(*sys.modules)"
    loaded = python("-c", code).stdout.split()
    assert "px4lockstep.campaigns.stopping" in loaded
    assert [name for name in ("scipy", "matplotlib", "pyarrow") if name in loaded] == []


# -- coverage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("half_width", "mean", "least", "flown"),
    [
        pytest.param(0.02, 0.951, 0.937, [2397, 860, 448, 143], marks=pytest.mark.slow),
        (0.05, 0.951, 0.921, [380, 138, 103, 100]),
    ],
)
def test_coverage_of_a_pass_rate_that_stopped_early_as_documented(half_width, mean, least, flown):
    """Exact, over pass rates from 50 to 99 %: no worse than with the same number of runs fixed in advance."""
    coverage, runs = stopped_coverage(CHANCES, half_width, min_runs=100)
    assert round(coverage.mean(), 3) == mean
    assert round(coverage.min(), 3) == least
    assert np.interp([0.5, 0.9, 0.95, 0.99], CHANCES, runs).round().tolist() == flown
    fixed = [wilson_coverage(CHANCES[i : i + 1], round(runs[i]))[0] for i in range(len(CHANCES))]
    assert coverage.mean() > np.mean(fixed) - 0.002
    assert coverage.min() > min(fixed) - 0.002


EXPERIMENTS = 2_000


def stopped_mean(draw, truth, half_width):
    """Return the coverage of the interval of a mean at the stop."""
    covered = 0
    for _ in range(EXPERIMENTS):
        rule = StopRule(StopTable(of="height_m", half_width=half_width))
        assert stops_after(rule, metric_rows(draw(1000).tolist())) is not None
        covered += rule.interval().low <= truth <= rule.interval().high
    return covered / EXPERIMENTS


@pytest.mark.long
def test_stopping_early_costs_no_coverage_for_a_normal_metric():
    """About 200 runs; 0.949 in 100,000 experiments. Tolerance: four standard errors of 2,000."""
    random = np.random.default_rng(5)
    counted = stopped_mean(lambda count: random.normal(size=count), 0.0, 1.96 / math.sqrt(200.0))
    assert counted == pytest.approx(0.949, abs=4.0 * math.sqrt(0.949 * 0.051 / EXPERIMENTS))


@pytest.mark.long
def test_stopping_early_costs_one_or_two_percent_of_coverage_for_a_skewed_metric():
    """The sample mean of exponential values is low when their spread is low, so the interval at the stop is too low.

    The coverage is 0.931 in 100,000 experiments, and 0.945 with 200 runs fixed in advance.
    """
    random = np.random.default_rng(6)
    counted = stopped_mean(lambda count: random.exponential(size=count), 1.0, 1.96 / math.sqrt(200.0))
    assert counted == pytest.approx(0.931, abs=4.0 * math.sqrt(0.931 * 0.069 / EXPERIMENTS))


# -- the table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"half_width": 0.0},
        {"half_width": 0.02, "confidence": 1.0},
        {"half_width": 0.02, "confidence": 95},
        {"half_width": 0.02, "min_runs": 1},
        {"half_width": 0.02, "min_runs": 100.0},
        {"half_width": 0.02, "of": ""},
        {"half_width": 0.02, "width": 0.04},
    ],
)
def test_invalid_tables_are_refused(bad):
    with pytest.raises(InputError):
        StopTable(**bad)


def test_a_rule_on_an_unknown_quantity_is_refused():
    with pytest.raises(InputError, match=r"there are no pass criteria; add a \[\[pass\]\]"):
        check_target(StopTable(half_width=0.02), ["height_m"], has_criteria=False)
    with pytest.raises(InputError, match=r"stop.of = 'hight_m' is not a metric; use pass_rate or height_m"):
        check_target(StopTable(of="hight_m", half_width=0.02), ["height_m"], has_criteria=True)
    with pytest.raises(
        InputError, match=r"stop.half_width = 2.0 covers every pass rate from 0 to 1; use less than 0.5"
    ):
        check_target(StopTable(half_width=2.0), [], has_criteria=True)
    check_target(StopTable(of="height_m", half_width=2.0), ["height_m"], has_criteria=False)
