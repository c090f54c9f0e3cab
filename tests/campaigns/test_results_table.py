"""Results as a table: order, missing values, and inconsistent columns."""

import math

import numpy as np
import pytest
from campaign_results import results_of, windy

from px4lockstep.campaigns.criteria import CriterionTable as Criterion
from px4lockstep.campaigns.results_table import MetricColumn, Results, is_numeric, numbers_of
from px4lockstep.errors import InputError


def test_rows_are_sorted_by_index():
    """Regardless of the order in which they arrived."""
    results = results_of({"index": np.array([2, 0, 1]), "a.b": np.array([20.0, 0.0, 10.0])}, inputs=["a.b"])
    assert results.columns["a.b"].tolist() == [0.0, 10.0, 20.0]


def test_only_true_counts_as_passed():
    """Neither an empty value nor NaN."""
    passed = np.array([True, False, None, math.nan, np.True_], object)
    assert results_of({"passed": passed}).is_passed.tolist() == [True, False, False, False, True]


def test_columns_become_numbers():
    """None and infinities become NaN."""
    results = results_of(
        {"m": np.array([True, None, False], object), "n": np.array([1.0, math.inf, 3.0])},
        metrics=[MetricColumn("m", is_bool=True), MetricColumn("n")],
    )
    np.testing.assert_array_equal(results.metric_values("m"), [1.0, math.nan, 0.0])
    np.testing.assert_array_equal(results.metric_values("n"), [1.0, math.nan, 3.0])
    np.testing.assert_array_equal(numbers_of(np.array([1, None], object)), [1.0, math.nan])


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([1, 2]), True),
        (np.array([True]), True),
        (np.array([1.0, None], object), True),
        (np.array(["1", "2"]), False),
        (np.array(["a", None], object), False),
        (np.array([[1.0, 2.0]]), False),
    ],
)
def test_which_columns_are_numeric(column, expected):
    assert is_numeric(column) is expected


def test_inconsistent_columns_are_refused():
    columns = windy(5).columns
    with pytest.raises(InputError, match="these results lack column wind; they have"):
        Results(columns, ("wind",), ())
    with pytest.raises(InputError, match="have 5 runs, but column energy_wh has 4"):
        Results(columns | {"energy_wh": np.zeros(4)}, (), (MetricColumn("energy_wh"),))
    with pytest.raises(
        InputError, match="a criterion refers to 'energy', which is not a metric of these results; metrics: en"
    ):
        Results(columns, (), (MetricColumn("energy_wh"),), (Criterion("energy", at_most=1.0),))
