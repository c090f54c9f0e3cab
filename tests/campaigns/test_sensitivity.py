"""Sensitivities of inputs whose effect is known."""

import math

import numpy as np
import pytest
from campaign_results import MASS, MISSION, WIND, many, results_of, windy

from px4lockstep.campaigns.results_table import MetricColumn
from px4lockstep.campaigns.sensitivity import centred_ranks, sensitivities_of, sensitivity


def found(results):
    return {(own.input, own.metric): own for own in sensitivities_of(results)}


def test_the_most_influential_inputs_come_first():
    """Wind from both sides, with no correlation, then mass, then the mission, which has no effect."""
    own = [one for one in sensitivities_of(windy(1000)) if one.metric == "tracking_rms_m"]
    assert [one.input for one in own] == [WIND, MASS, MISSION]
    wind, mass, mission = own
    assert abs(wind.correlation.estimate) < 0.1
    assert wind.explained > 0.5
    assert 0.3 < mass.correlation.low < mass.correlation.high < 0.6
    assert mission.correlation is None
    assert wind.is_clear()
    assert mass.is_clear()
    assert not mission.is_clear()


def test_each_metric_is_most_sensitive_to_its_own_input():
    own = found(many(3, 3, runs=400))
    for metric in range(3):
        strengths = [own[f"vehicle.part[{i}].value", f"metric_{metric}"].strength for i in range(3)]
        assert int(np.argmax(strengths)) == metric


def test_a_monotonic_curve_has_a_correlation_of_1_or_minus_1():
    """Regardless of its shape."""
    x = np.random.default_rng(1).normal(size=50)
    assert sensitivity("x", "y", x, np.exp(3.0 * x)).correlation.estimate == 1.0
    assert sensitivity("x", "y", x, -x * x * x).correlation.estimate == -1.0


def test_ties_share_the_mean_of_their_ranks():
    assert centred_ranks(np.array([5.0, 1.0, 5.0, 9.0])).tolist() == [0.0, -1.5, 0.0, 1.5]


def test_the_interval_of_a_correlation_has_its_nominal_coverage():
    """Normal pairs of correlation 0.6, whose rank correlation is 6/π asin(0.3); 2,000 experiments of 60 runs."""
    truth, experiments = 6.0 / math.pi * math.asin(0.3), 2_000
    random = np.random.default_rng(2)
    covered = 0
    for _ in range(experiments):
        x = random.normal(size=60)
        interval = sensitivity("x", "y", x, 0.6 * x + 0.8 * random.normal(size=60)).correlation
        covered += interval.low <= truth <= interval.high
    assert covered / experiments == pytest.approx(0.95, abs=4.0 * math.sqrt(0.95 * 0.05 / experiments))


def test_inputs_without_an_effect_are_rarely_significant():
    """By chance, 5 % of correlations and 5 % of p-values are significant: at most 10 % of pairs."""
    random = np.random.default_rng(3)
    pairs = [sensitivity("x", "y", random.normal(size=100), random.normal(size=100)) for _ in range(2_000)]
    by_chance = np.mean([own.p_value < 0.05 for own in pairs])
    assert by_chance == pytest.approx(0.05, abs=4.0 * math.sqrt(0.05 * 0.95 / 2_000))
    assert 0.05 < np.mean([own.is_clear() for own in pairs]) < 0.10


def test_runs_without_a_value_are_ignored():
    """The result is the same as without these rows."""
    full = many(1, 1)
    key, metric = full.inputs[0], full.metrics[0]
    gaps = full.columns[metric.name].copy()
    gaps[::3] = math.nan
    kept = {name: full.columns[name][~np.isnan(gaps)] for name in (key, metric.name)}
    with_gaps = found(results_of({key: full.columns[key], metric.name: gaps}, [key], [metric]))
    assert with_gaps == found(results_of(kept, [key], [metric]))
    assert with_gaps[key, metric.name].correlation.count == 40


def test_constant_inputs_and_metrics_are_omitted():
    x = np.arange(20.0)
    results = results_of(
        {"a": x, "b": np.ones(20), "m": x, "n": np.zeros(20), "o": np.full(20, math.nan)},
        inputs=["a", "b"],
        metrics=[MetricColumn("m"), MetricColumn("n"), MetricColumn("o")],
    )
    assert list(found(results)) == [("a", "m")]


@pytest.mark.parametrize("runs", [1, 2, 3, 4, 9, 10])
def test_too_few_runs_give_no_estimate(runs):
    """A correlation is unbounded below four runs; the explained share is unknown below ten."""
    x = np.arange(float(runs))
    y = np.arange(float(runs))[::-1] + (x == 1.0) * 2.5
    own = sensitivity("x", "y", x, y)
    if runs == 1:
        assert own is None
        return
    if runs < 4:
        assert (own.correlation.low, own.correlation.high) == (-1.0, 1.0)
    if runs < 10:
        assert (own.explained, own.p_value) == (None, None)
        assert own.strength == abs(own.correlation.estimate)
        assert own.as_dict()["explained"] is own.as_dict()["p_value"] is None
    else:
        assert own.explained is not None
        assert own.p_value is not None


def test_a_clear_correlation_of_few_runs_is_significant_without_an_explained_share():
    """A grid of eight values with a monotonic effect; strings with as few runs have no estimate at all."""
    x = np.arange(8.0)
    own = sensitivity("x", "y", x, x + (x == 3.0) * 1.5)
    assert own.explained is None
    assert own.correlation.estimate > 0.9
    assert own.is_clear()
    names = sensitivity("x", "y", x, x, is_number=False)
    assert (names.correlation, names.explained, names.strength) == (None, None, 0.0)
    assert not names.is_clear()


def test_strings_and_vectors_form_groups():
    """A metric that depends only on the value is fully explained."""
    kinds = np.array(["a", "b", "c"], object)[np.arange(60) % 3]
    vectors = np.empty(60, object)
    vectors[:] = [(0.0, float(i % 3)) for i in range(60)]
    y = (np.arange(60) % 3) ** 2.0
    own = found(results_of({"k": kinds, "v": vectors, "y": y}, inputs=["k", "v"], metrics=[MetricColumn("y")]))
    assert own["k", "y"].explained == own["v", "y"].explained == 1.0
    assert own["k", "y"].p_value < 1e-10
