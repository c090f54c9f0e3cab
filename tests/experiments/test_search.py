"""The search and the check on held-out seeds, with synthetic flights instead of a simulator."""

import math
import random

import pytest

from px4lockstep.campaigns.result_rows import Row
from px4lockstep.errors import InputError
from px4lockstep.experiments.evaluations import PENALTY, Evaluation, Evaluator, SearchStoppedError, cost_of
from px4lockstep.experiments.held_out import HeldOut
from px4lockstep.experiments.inputs import ranges_of
from px4lockstep.experiments.metric_words import terms_of
from px4lockstep.experiments.search import check_budget, population_of, search

A, B = "MC_ROLLRATE_P", "MC_PITCHRATE_P"
RANGES = ranges_of({A: "0.1:0.9", B: "0.01:1:log"})
BEST = (0.3, 0.1)
START = (0.8, 0.8)
SEEDS = (1, 2, 3)
TERMS = terms_of("tracking_rms")


class Synthetic:
    """An executor whose flights cost a quadratic function with noise of the seed; beyond A = 0.85 they crash.

    Rows arrive in an order that depends on `shuffle`, as with several workers.
    """

    def __init__(self, shuffle=0, status="flown"):
        self.shuffle, self.status, self.flown = random.Random(shuffle), status, []

    def rows(self, jobs):
        made = [self._row(*job) for job in jobs]
        self.shuffle.shuffle(made)
        yield from made

    def _row(self, index, inputs):
        self.flown.append(inputs)
        a, b = (inputs[own.key] for own in RANGES)
        noise = 0.02 * math.sin(inputs["aircraft.seed"])
        cost = 0.1 + (a - BEST[0]) ** 2 + 0.1 * math.log10(b / BEST[1]) ** 2 + noise
        status = "crashed" if a > 0.85 else self.status
        metrics = {"tracking_rms": 0.001 if status == "crashed" else cost}
        return Row(index, status, None, None, "oh no" if status == "error" else None, "d", 1, inputs, metrics)


def evaluator(watch=None, **options):
    return Evaluator(Synthetic(**options), RANGES, TERMS, 200, watch)


def evaluation(values, *costs):
    return Evaluation(values, (), costs)


def test_the_search_finds_the_minimum_within_its_budget():
    """From a start far away; within 0.05 of the best value on each axis of length 0.8 and 2 decades."""
    own = evaluator()
    history = search(own, START, SEEDS, 80, 0)
    assert history[0].values == START
    assert len(history) <= 80
    assert len(own.rows) == len(own.executor.flown) == len(history) * len(SEEDS)
    best = min(history, key=lambda each: each.rank)
    assert best.values[0] == pytest.approx(BEST[0], abs=0.05)
    assert math.log10(best.values[1] / BEST[1]) == pytest.approx(0.0, abs=0.15)


def test_the_result_does_not_depend_on_the_order_in_which_flights_finish():
    """So it does not depend on the number of workers: values, costs and rows are identical."""
    one, other = evaluator(shuffle=1), evaluator(shuffle=2)
    assert search(one, START, SEEDS, 40, 0) == search(other, START, SEEDS, 40, 0)
    assert one.rows == other.rows
    assert [row.index for row in one.rows] == list(range(len(one.rows)))


def test_no_flight_is_repeated():
    """A set that was flown with some of the seeds flies only with the others."""
    own = evaluator()
    first = own.evaluate([BEST, START, BEST], SEEDS[:1])
    assert len(own.rows) == 2
    assert first[0] == first[2]
    assert own.evaluate([BEST], SEEDS)[0].rows[0] is first[0].rows[0]
    assert len(own.rows) == 4


def test_a_set_with_a_crash_costs_infinitely_much():
    """Although its metric would be the smallest of all; the rank prefers fewer failures, then less cost."""
    crashed, flown = evaluator().evaluate([(0.9, 0.1), START], SEEDS)
    assert crashed.cost == math.inf
    assert crashed.failed == 3
    assert math.isnan(cost_of(crashed.rows[0], TERMS))
    assert flown.cost == flown.rank < 1.0
    ranks = [evaluation((), *costs).rank for costs in ((1.0, 9.0), (math.nan, 1.0), (math.nan, 2.0), (math.nan,) * 2)]
    assert ranks == sorted(ranks)
    assert ranks[1] == PENALTY + 1.0


def test_the_search_leaves_a_region_of_crashes():
    """Its start crashes with all seeds."""
    history = search(evaluator(), (0.9, 0.5), SEEDS, 30, 0)
    assert history[0].cost == math.inf
    assert min(history, key=lambda each: each.rank).cost < 0.4


def test_a_missing_metric_is_a_failure():
    row = Row(0, "flown", None, None, None, "d", 1, {}, {"tracking_rms": math.nan})
    assert math.isnan(cost_of(row, TERMS))
    assert math.isnan(cost_of(Row(0, "flown", None, None, None, "d", 1, {}, {}), TERMS))
    weighted = terms_of(["2*tracking_rms", "energy_wh"])
    row = Row(0, "flown", None, None, None, "d", 1, {}, {"tracking_rms": 1.5, "energy_wh": 0.25})
    assert cost_of(row, weighted) == 3.25


def test_a_flight_with_an_error_ends_the_search_with_its_message():
    """It is a mistake in a metric or a setting, not a bad parameter set."""
    with pytest.raises(InputError, match=r"a flight with autopilot\.params\.MC_ROLLRATE_P = .*: oh no"):
        search(evaluator(status="error"), START, SEEDS, 30, 0)


def test_a_search_can_be_stopped():
    """After the flights in progress."""
    seen = []

    def watch(done):
        seen.append(done)
        return done.done < 10

    with pytest.raises(SearchStoppedError):
        search(evaluator(watch), START, SEEDS, 30, 0)
    assert (seen[-1].done, seen[-1].runs) == (10, 200)


@pytest.mark.parametrize(("inputs", "budget", "size"), [(1, 60, 6), (2, 60, 10), (4, 60, 15), (4, 12, 6), (3, 400, 14)])
def test_a_small_budget_has_small_generations(inputs, budget, size):
    assert population_of(inputs, budget) == size


@pytest.mark.parametrize("budget", [11, 100_001])
def test_the_budget_has_limits(budget):
    with pytest.raises(InputError, match=f"budget = {budget} is out of range; it must be 12 to 100,000"):
        check_budget(budget)


# -- held-out seeds --------------------------------------------------------------------------------------------------


def held_out(before, after):
    return HeldOut(tuple(range(len(before))), evaluation((1.0,), *before), evaluation((2.0,), *after))


def test_an_improvement_needs_an_interval_below_zero():
    """Mean change -0.2 with a standard deviation of 0.1 over 4 seeds: half-width 3.182 * 0.1 / 2 = 0.159."""
    check = held_out([1.0, 1.0, 1.0, 1.0], [0.7 + 0.0134, 0.9 - 0.0134, 0.7 + 0.0134, 0.9 - 0.0134])
    assert check.is_improved
    assert (check.wins, check.losses) == (4, 0)
    assert check.change.half_width == pytest.approx(0.159, abs=0.001)
    assert check.verdict.startswith("improved: cost 1 to 0.8 (-20.0 %), change -0.2, 95 % interval -0.359 to -0.0409; ")


def test_a_difference_within_the_noise_is_no_improvement():
    """Although the mean is lower."""
    check = held_out([1.0, 1.0, 1.0, 1.0], [0.2, 1.3, 0.4, 1.2])
    assert check.change.estimate < 0.0
    assert not check.is_improved
    assert check.verdict.startswith("not improved: cost 1 to 0.775 (-22.5 %)")
    assert check.verdict.endswith("better with 2 of 4 held-out seeds, worse with 2")


def test_fewer_failures_are_an_improvement_and_more_are_not():
    """Whatever the cost of the others."""
    nan = math.nan
    better, worse = held_out([nan, 1.0, 1.0], [2.0, 2.0, 2.0]), held_out([1.0, 1.0, 1.0], [0.1, 0.1, nan])
    assert better.is_improved
    assert better.verdict.startswith("improved: 0 of 3 flights failed, 1 before; better with 1 of 3")
    assert not worse.is_improved
    assert (worse.wins, worse.losses) == (2, 1)
    all_failed = held_out([nan] * 3, [nan] * 3)
    assert not all_failed.is_improved
    assert "all flights with the held-out seeds failed" in all_failed.verdict
    assert all_failed.as_dict()["cost_before"] is None


def test_the_starting_values_are_no_improvement():
    same = evaluation((1.0,), 1.0, 1.0)
    check = HeldOut((1, 2), same, same)
    assert not check.is_improved
    assert check.verdict == "not improved: no parameter set was better than the starting values"
