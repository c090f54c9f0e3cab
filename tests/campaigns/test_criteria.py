"""Pass criteria: bounds that are met or violated, and invalid ones."""

import math
from pathlib import Path

import pytest
from campaign_runs import error_of
from hypothesis import given, settings
from hypothesis import strategies as st

from px4lockstep.campaigns.criteria import CriterionTable, check_criteria, passes
from px4lockstep.campaigns.metrics import MetricTable, metrics_of
from px4lockstep.errors import InputError

METRICS = metrics_of([MetricTable(name="rms_m", kind="tracking_rms")], Path())
repeatable = settings(deadline=None, derandomize=True)  # the first call may compile
VALUES = {"crashed": False, "mission_finished": True, "rms_m": 1.5}


def test_without_criteria_a_flight_neither_passes_nor_fails():
    assert passes((), VALUES) is None


@pytest.mark.parametrize(
    ("bounds", "is_kept"),
    [
        ({"at_most": 1.5}, True),
        ({"at_most": 1.4}, False),
        ({"at_least": 1.5}, True),
        ({"at_least": 1.6}, False),
        ({"at_least": 1, "at_most": 2}, True),
        ({"at_least": 0, "at_most": 1}, False),
        ({"equals": 1.5}, True),
        ({"equals": 2}, False),
    ],
)
def test_bounds_are_inclusive(bounds, is_kept):
    """A value at a bound meets it; NaN meets none."""
    criterion = CriterionTable(metric="rms_m", **bounds)
    check_criteria([criterion], METRICS)
    assert passes([criterion], VALUES) is is_kept
    assert passes([criterion], VALUES | {"rms_m": math.nan}) is False


@pytest.mark.parametrize(("wanted", "is_kept"), [(False, True), (True, False)])
def test_a_boolean_metric_is_compared_with_a_boolean(wanted, is_kept):
    criterion = CriterionTable(metric="crashed", equals=wanted)
    check_criteria([criterion], METRICS)
    assert passes([criterion], VALUES) is is_kept


@repeatable
@given(st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.floats(-2, 2) | st.just(math.nan)), max_size=5))
def test_a_flight_passes_if_it_meets_every_criterion(drawn):
    """A single violated criterion fails it, wherever it is in the list."""
    criteria = [
        CriterionTable(metric=f"m{i}", at_least=min(a, b), at_most=max(a, b)) for i, (a, b, _) in enumerate(drawn)
    ]
    values = {f"m{i}": value for i, (_, _, value) in enumerate(drawn)}
    kept = [min(a, b) <= value <= max(a, b) for a, b, value in drawn]
    assert passes(criteria, values) == (all(kept) if kept else None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "pass[1], on metric 'm', has no bound; add at_most, at_least or equals"),
        (
            {"at_most": 1.0, "at_least": 2.0},
            "pass[1], on metric 'm', has at_least = 2.0 and at_most = 1.0, which cannot both hold; "
            "at_least must not be above at_most",
        ),
        (
            {"at_most": 1.0, "equals": True},
            "pass[1], on metric 'm', has equals = true and at_most = 1.0; give either equals or the limits",
        ),
        ({"equals": "yes"}, "pass[1].equals = 'yes' is not allowed; it must be true, false or a finite number"),
        ({"equals": math.nan}, "pass[1].equals = nan is not allowed; it must be true, false or a finite number"),
    ],
)
def test_an_invalid_criterion_is_refused(values, message):
    """Before any flight, with its place and the remedy."""
    assert error_of(CriterionTable, "pass[1]", metric="m", **values) == message


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        (
            {"metric": "rms", "at_most": 1.0},
            r"pass\[1\].metric = 'rms' is not a metric; did you mean 'rms_m'\? Metrics: crashed, .*, rms_m$",
        ),
        ({"metric": "x", "at_most": 1.0}, r"pass\[1\].metric = 'x' is not a metric; metrics: crashed, "),
        (
            {"metric": "crashed", "at_most": 0.0},
            r"pass\[1\], on metric 'crashed', has a number as its bound, .* use equals = true or equals = false$",
        ),
        ({"metric": "crashed", "equals": 0}, r"pass\[1\], on metric 'crashed', has a number as its bound"),
        (
            {"metric": "rms_m", "equals": True},
            r"equals = true is invalid: metric 'rms_m' is a number; use at_most, at_least, or equals with a number$",
        ),
    ],
)
def test_a_criterion_must_fit_its_metric(criterion, message):
    """By name and type."""
    good = CriterionTable(metric="crashed", equals=False)
    with pytest.raises(InputError, match=message):
        check_criteria([good, CriterionTable(**criterion)], METRICS)
