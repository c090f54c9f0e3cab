"""Metrics in one word, and terms of a cost."""

import re

import pytest

from px4lockstep.campaigns.metrics import MetricTable
from px4lockstep.errors import InputError
from px4lockstep.experiments.metric_words import metric_of_words, metrics_of_words, terms_of


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("tracking_rms", {"name": "tracking_rms", "kind": "tracking_rms"}),
        ("max:tilt_deg", {"name": "max_tilt_deg", "kind": "max", "signal": "tilt_deg"}),
        ("max tilt_deg", {"name": "max_tilt_deg", "kind": "max", "signal": "tilt_deg"}),
        (
            "rms:tilt_deg,after_s=12.5",
            {"name": "rms_tilt_deg_after_s_12_5", "kind": "rms", "signal": "tilt_deg", "after_s": 12.5},
        ),
        (
            "time_over:tilt_deg,limit=20",
            {"name": "time_over_tilt_deg_limit_20", "kind": "time_over", "signal": "tilt_deg", "limit": 20},
        ),
        ("crashed", {"name": "crashed_share", "kind": "crashed"}),
        ("my/own.py:overshoot", {"name": "overshoot", "function": "my/own.py:overshoot"}),
    ],
)
def test_a_metric_in_one_word(text, fields):
    """Every campaign has `crashed`, so it gets another name."""
    assert metric_of_words(text) == MetricTable(**fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tilt_deg", "metric 'tilt_deg' is a signal; say which statistic of it, such as max:tilt_deg"),
        ("trackin_rms", "'trackin_rms' is unknown; did you mean 'tracking_rms'?"),
        ("max:tilt", "unknown signal 'tilt'"),
        ("max", "max' needs signal"),
        ("max:tilt_deg,limit=3", "is not an option of kind 'max'"),
        ("max:tilt deg", "metric 'max:tilt deg' is not valid; write a kind (tracking_rms)"),
        ("max:tilt_deg,after_s", "is not an override"),
    ],
)
def test_a_wrong_metric_is_an_error_that_names_it(text, message):
    with pytest.raises(InputError) as caught:
        metric_of_words(text)
    assert message.lower() in str(caught.value).lower()


def test_several_metrics_without_repetitions():
    tables = metrics_of_words(["tracking_rms", {"name": "e", "kind": "energy_wh"}, "tracking_rms"])
    assert [table.name for table in tables] == ["tracking_rms", "e"]
    assert [table.name for table in metrics_of_words("energy_wh")] == ["energy_wh"]


def test_the_terms_of_a_cost_have_weights():
    terms = terms_of(["tracking_rms", "0.5 * max:tilt_deg", "-2*final:altitude_m"])
    assert [term.weight for term in terms] == [1.0, 0.5, -2.0]
    assert list(map(str, terms)) == ["tracking_rms", "0.5 * max_tilt_deg", "-2 * final_altitude_m"]


@pytest.mark.parametrize("cost", ["0*tracking_rms", "x*tracking_rms", "inf*tracking_rms", [], ["energy_wh"] * 2])
def test_a_wrong_cost_is_an_error(cost):
    with pytest.raises(InputError, match=re.compile("^(the )?cost ")):
        terms_of(cost)
