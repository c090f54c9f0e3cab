"""Statistics and figures of campaigns: of a synthetic one with known answers, and of unusual ones."""

import json
import math

import matplotlib as mpl
import numpy as np
import pytest
from campaign_results import MASS, MISSION, WIND, many, results_of, windy
from grey import confusions

from px4lockstep.campaigns.criteria import CriterionTable as Criterion
from px4lockstep.campaigns.figure import main_metric, plot_campaign
from px4lockstep.campaigns.panels import bounds_of, window
from px4lockstep.campaigns.results_table import MetricColumn
from px4lockstep.campaigns.statistics import interval_of_mean, interval_of_proportion
from px4lockstep.campaigns.summary import summary_of, worst_runs
from px4lockstep.errors import InputError
from px4lockstep.plots.flight import save_plot

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def campaign():
    return windy(400)


def small(values, criteria=(), is_bool=False, passed=None, inputs=1, **columns):
    """Return a campaign with one metric."""
    values = np.asarray(values)
    keys = [f"in[{i}]" for i in range(inputs)]
    own = {"m": values, **{key: np.linspace(0.0, 1.0, len(values)) for key in keys}, **columns}
    if passed is not None:
        own["passed"] = np.asarray(passed, object)
    return results_of(own, keys, [MetricColumn("m", "m", is_bool)], criteria)


# -- statistics --------------------------------------------------------------------------------------------------


def test_the_summary_of_a_campaign(campaign):
    """It agrees with the columns and can be written as JSON."""
    numbers = summary_of(campaign)
    json.dumps(numbers, allow_nan=False)
    passed = int(campaign.is_passed.sum())
    assert numbers["runs"] == 400
    assert numbers["by_status"] == {"flown": 388, "crashed": 7, "error": 5}
    assert numbers["passed"] == passed
    assert numbers["pass_rate"] == interval_of_proportion(passed, 400).as_dict()
    crashed, tracking, _ = numbers["metrics"]
    assert (crashed["count"], crashed["missing"], crashed["mean"]) == (395, 5, 7 / 395)
    assert crashed["mean_interval"] == interval_of_proportion(7, 395).as_dict()
    values = campaign.metric_values("tracking_rms_m")
    assert tracking["mean_interval"] == interval_of_mean(values).as_dict()
    assert (tracking["min"], tracking["max"]) == (np.nanmin(values), np.nanmax(values))
    assert tracking["std"] == pytest.approx(np.nanstd(values, ddof=1), rel=1e-12)
    assert [tracking[name] for name in ("p5", "median", "p95")] == np.nanquantile(values, [0.05, 0.5, 0.95]).tolist()
    assert numbers["sensitivities"][0]["input"] == WIND
    assert all(own["input"] != MISSION for own in numbers["sensitivities"])
    assert numbers["notes"] == [
        "Confidence intervals assume independent runs; with Sobol sampling they are conservative."
    ]


def test_the_worst_runs(campaign):
    """Errors first, then runs that violate most bounds, then those farthest beyond one."""
    worst = worst_runs(campaign, 400)
    assert worst[0] == {"index": 0, "status": "error", "why": "the mission has no items"}
    assert [run["index"] for run in worst[:5]] == [0, 97, 194, 291, 388]
    tracking = campaign.metric_values("tracking_rms_m")
    failed = [run for run in worst[5:] if not run["why"].startswith("passed")]
    assert len(failed) == int((~campaign.is_passed).sum()) - 5
    for run in failed:
        value = tracking[run["index"]]
        crash = ["crashed"] if run["status"] == "crashed" else []
        over = [f"tracking_rms_m = {value:.6g} m, at most 1.5"] if value > 1.5 else []
        assert run["why"] == "; ".join(crash + over)
    broken = [run["why"].count(";") for run in failed]
    assert broken == sorted(broken, reverse=True)
    alone = [tracking[run["index"]] for run in failed if run["status"] == "flown"]
    assert len(alone) > 2
    assert alone == sorted(alone, reverse=True)


def test_if_all_passed_the_worst_runs_are_those_closest_to_a_bound():
    results = small([1.0, 3.0, 2.0], [Criterion("m", at_least=0.0, at_most=4.0)], passed=[True] * 3)
    worst = worst_runs(results, 2)
    assert worst == [
        {"index": 0, "status": "flown", "why": "passed, with m = 1 m, at least 0"},
        {"index": 1, "status": "flown", "why": "passed, with m = 3 m, at most 4"},
    ]


def test_a_missing_metric_is_a_reason_to_fail():
    results = small([1.0, math.nan], [Criterion("m", equals=1.0)], passed=[True, False])
    assert worst_runs(results, 1) == [{"index": 1, "status": "flown", "why": "m has no value"}]


def test_without_criteria_runs_neither_pass_nor_fail():
    """The worst runs are the failed flights."""
    status = np.array(["flown", "crashed", "flown"], object)
    numbers = summary_of(small([1.0, 2.0, 3.0], status=status))
    assert (numbers["passed"], numbers["pass_rate"]) == (None, None)
    assert numbers["worst"] == [{"index": 1, "status": "crashed", "why": "crashed"}]


def test_the_summary_of_no_run_and_of_one():
    """What can't be estimated is None."""
    none = summary_of(small(np.zeros(0), [Criterion("m", at_most=1.0)]))
    assert (none["runs"], none["by_status"], none["worst"]) == (0, {}, [])
    assert none["metrics"][0]["mean"] is None
    [one] = summary_of(small([2.0]))["metrics"]
    assert (one["mean"], one["median"], one["std"]) == (2.0, 2.0, None)
    assert (one["mean_interval"]["low"], one["mean_interval"]["high"]) == (None, None)


# -- figures -----------------------------------------------------------------------------------------------------


def titles(figure):
    return [axes.get_title(loc="left") for axes in figure.axes]


def inputs_of(figure):
    """Return the inputs over which a metric is drawn."""
    return [axes.get_xlabel() for axes in figure.axes if not axes.get_title(loc="left")]


def test_the_figure_of_a_campaign(campaign, tmp_path):
    """Each panel has its title; the bytes are identical every time."""
    figure = plot_campaign(campaign)
    assert confusions(figure) == []
    rate = summary_of(campaign)["pass_rate"]
    ends = f"{100 * rate['low']:.1f} to {100 * rate['high']:.1f} %"
    assert titles(figure) == [
        f"Pass rate {100 * rate['estimate']:.1f} %, 95 % interval {ends}",
        "Runs by status",
        "Influence on tracking_rms_m",
        "crashed",
        "tracking_rms_m [m]",
        "energy_wh [Wh]",
        "",
        "",
        "",
    ]
    assert inputs_of(figure) == [WIND, MASS, MISSION]
    passed = rate_passed(campaign)
    assert figure.get_suptitle() == f"iris_wind: 400 runs, Sobol sampling, {passed} passed, {400 - passed} failed"
    for name in ("one.png", "two.png"):
        save_plot(plot_campaign(campaign), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def rate_passed(campaign):
    return int(campaign.is_passed.sum())


@pytest.mark.parametrize(
    ("variation", "title"),
    [
        (("grid",), "campaign: 8 runs, grid"),
        (("list",), "campaign: 8 runs, list"),
        (("grid", "list"), "campaign: 8 runs, grid and list"),
        (("grid", "sobol"), "campaign: 8 runs, grid and Sobol sampling"),
        (("latin_hypercube",), "campaign: 8 runs, Latin hypercube sampling"),
        (("seeds",), "campaign: 8 runs, random seeds"),
        ((), "campaign: 8 runs"),
        (None, "campaign: 8 runs, Sobol sampling"),
    ],
)
def test_the_title_says_how_inputs_vary(variation, title):
    """The note on sampling appears only if an input is sampled that way."""
    columns = {"a": np.arange(8.0), "m": np.arange(8.0)}
    options = {"sampling": "sobol", "variation": variation}
    results = results_of(columns, ["a"], [MetricColumn("m")], **options)
    figure = plot_campaign(results)
    assert figure.get_suptitle() == title
    assert ("with Sobol sampling they are conservative" in figure.get_supxlabel()) == ("Sobol" in title)
    assert bool(summary_of(results)["notes"]) == ("Sobol" in title or "hypercube" in title)


def test_an_explained_share_that_is_unknown_is_not_drawn():
    """Eight runs are too few for groups. The panel says so, and its label does not explain the grey bars."""
    few = results_of({"a": np.arange(8.0), "m": np.arange(8.0)}, ["a"], [MetricColumn("m")])
    many_runs = results_of({"a": np.arange(50.0), "m": np.arange(50.0)}, ["a"], [MetricColumn("m")])
    for results, is_known in ((few, False), (many_runs, True)):
        figure = plot_campaign(results)
        axes = figure.axes[titles(figure).index("Influence on m")]
        assert ("explained share: too few runs" in [text.get_text() for text in axes.texts]) != is_known
        assert ("± √(explained share)" in axes.get_xlabel()) == is_known


def test_a_histogram_counts_each_run_with_a_value_once(campaign):
    """Failed and passed together; the bound is a line at its value, and no bin contains values on both sides of it."""
    figure = plot_campaign(campaign)
    axes = figure.axes[titles(figure).index("tracking_rms_m [m]")]
    bad, good = axes.containers
    assert sum(bar.get_height() for bar in [*bad, *good]) == 395
    assert sum(bar.get_height() for bar in bad) == int((~campaign.is_passed).sum()) - 5
    [line] = axes.lines
    assert set(line.get_xdata()) == {1.5}
    for bar in good:
        assert bar.get_x() + bar.get_width() <= 1.5 + 1e-9 or bar.get_x() >= 1.5 - 1e-9


def test_passed_and_failed_differ_in_greyscale(campaign):
    """By at least a fifth of the range from black to white, and by hatching."""
    figure = plot_campaign(campaign)
    bad, good = figure.axes[titles(figure).index("energy_wh [Wh]")].containers
    greys = [np.dot(mpl.colors.to_rgb(bars[0].get_facecolor()), (0.299, 0.587, 0.114)) for bars in (bad, good)]
    assert abs(greys[0] - greys[1]) > 0.2
    assert bad[0].get_hatch()
    assert not good[0].get_hatch()


@pytest.mark.parametrize(("inputs", "metrics"), [(1, 1), (1, 20), (20, 1), (20, 20), (4, 5)])
def test_any_number_of_inputs_and_metrics(inputs, metrics, tmp_path):
    """Omitted panels are noted; the first metric, with the criterion, is drawn over its input."""
    figure = plot_campaign(many(inputs, metrics))
    save_plot(figure, tmp_path / "campaign.png")
    drawn = titles(figure)
    assert inputs_of(figure).count("vehicle.part[0].value") == 1
    assert sum(title.startswith("metric_") for title in drawn) == min(metrics, 8)
    assert len(inputs_of(figure)) == min(inputs, 4)
    below = figure.get_supxlabel()
    assert ("of 20 metrics are drawn" in below) == (metrics == 20)
    assert ("of 20 inputs are drawn" in below) == (inputs == 20)


AT_MOST_1 = [Criterion("m", at_most=1.0)]
ODD = {
    "none failed": small(np.linspace(0.0, 0.9, 50), AT_MOST_1, passed=[True] * 50),
    "all failed": small(np.linspace(2.0, 3.0, 50), AT_MOST_1, passed=[False] * 50),
    "one run": small([0.5], AT_MOST_1, passed=[True]),
    "one failed run": small([1.5], AT_MOST_1, passed=[False]),
    "two runs": small([0.5, 1.5], AT_MOST_1, passed=[True, False]),
    "no criteria": small(np.linspace(0.0, 1.0, 50)),
    "constant": small(np.full(50, 0.1), AT_MOST_1, passed=[True] * 50),
    "constant at 0": small(np.zeros(50)),
    "constant but for rounding": small(1.0 + 2.0**-52 * np.arange(50)),
    "huge": small(np.linspace(-1e300, 1e300, 50)),
    "tiny": small(np.linspace(0.0, 1e-300, 50)),
    "bool": small(np.arange(50) % 2 == 0, [Criterion("m", equals=True)], True, np.arange(50) % 2 == 0),
    "bool, all alike": small(np.zeros(50, bool), is_bool=True),
    "bool with gaps": small(np.array([True, None] * 25, object), is_bool=True),
    "NaN": small(np.where(np.arange(50) % 3, np.arange(50.0), np.nan)),
    "all NaN": small(np.full(50, np.nan), AT_MOST_1, passed=[False] * 50),
    "infinite": small(np.where(np.arange(50) % 3, np.arange(50.0), np.inf)),
    "an outlier": small(np.where(np.arange(50) == 7, 1e6, np.arange(50.0)), AT_MOST_1, passed=np.arange(50) <= 1),
    "outliers both ways": small(np.array([-1e6, 1e6, *range(48)])),
    "only errors": small(np.full(5, np.nan), AT_MOST_1, passed=[None] * 5, status=np.array(["error"] * 5, object)),
    "a bound far away": small(np.linspace(0.0, 1.0, 50), [Criterion("m", at_most=1e9)], passed=[True] * 50),
    "no inputs": small(np.linspace(0.0, 1.0, 50), inputs=0),
    "no metrics": results_of({"a": np.arange(5.0)}, inputs=["a"]),
    "nothing but runs": results_of({"status": np.array(["flown", "crashed"], object)}),
    "constant input": results_of({"a": np.ones(9), "m": np.arange(9.0)}, ["a"], [MetricColumn("m")]),
    "many strings": results_of(
        {"a": np.array([f"missions/of_some_length_{i}.plan" for i in range(30)], object), "m": np.arange(30.0)},
        ["a"],
        [MetricColumn("m")],
    ),
    "a long name with signs": results_of(
        {"a.b[0].$x_^{2": np.arange(9.0), "m": np.arange(9.0)},
        ["a.b[0].$x_^{2"],
        [MetricColumn("m", "$/m^2")],
        name="$a_$",
    ),
}


@pytest.mark.parametrize("results", ODD.values(), ids=ODD)
def test_unusual_campaigns_are_drawn(results, tmp_path):
    """Without a warning, which is an error here, with panels that fill the page, and with a valid JSON summary."""
    figure = plot_campaign(results)
    assert confusions(figure) == []
    save_plot(figure, tmp_path / "campaign.png")
    assert all(axes.get_position().width > 0.1 for axes in figure.axes)
    assert all(axes.get_position().height > 0.2 for axes in figure.axes)
    json.dumps(summary_of(results), allow_nan=False)


def test_outliers_at_the_edge_are_counted():
    """In the histogram and in the scatter plot."""
    figure = plot_campaign(ODD["outliers both ways"])
    [scatter] = [axes for axes in figure.axes if axes.get_xlabel() == "in[0]"]
    for axes in (figure.axes[titles(figure).index("m [m]")], scatter):
        assert [text.get_text() for text in axes.texts] == ["1 below", "1 above"]
        assert axes.get_ylim()[1] < 1e3


def grid(labels=None, criteria=()):
    """Return a grid of 4 by 3 runs with two metrics, one of them constant."""
    a, b = (axis.ravel() for axis in np.meshgrid(np.arange(4.0), np.arange(3.0), indexing="ij"))
    columns = {"part.a": a, "part.b": b, "m": a + b, "same": np.ones(12), "passed": np.asarray(a + b <= 4.0, object)}
    metrics = [MetricColumn("m", "m"), MetricColumn("same")]
    return results_of(columns, ["part.a", "part.b"], metrics, criteria, variation=("grid",), labels=labels or {})


def test_a_grid_has_no_panels_of_random_sampling():
    """Neither pass rate with interval, influence nor distributions: each metric that varies over each input."""
    figure = plot_campaign(grid(criteria=[Criterion("m", at_most=4.0)]))
    assert confusions(figure) == []
    assert titles(figure) == ["Runs by status", "Passed, by part.a", "Passed, by part.b", "", ""]
    assert inputs_of(figure) == ["part.a", "part.b"]
    shares = [text.get_text() for text in figure.axes[1].texts]
    assert shares == ["3/3", "3/3", "3/3", "2/3"]
    assert "1 of 2 metrics are drawn" in figure.get_supxlabel()


def test_labels_replace_keys_and_names():
    """Of inputs and metrics; without a label, a metric has its name and unit."""
    labels = {"part.a": "payload [kg]", "m": "largest error [m]"}
    figure = plot_campaign(grid(labels))
    assert inputs_of(figure) == ["payload [kg]", "part.b"]
    assert {axes.get_ylabel() for axes in figure.axes[1:]} == {"largest error [m]"}
    assert plot_campaign(grid()).axes[1].get_ylabel() == "m [m]"


def test_a_campaign_without_runs_is_refused():
    with pytest.raises(InputError, match="campaign campaign has no runs to draw; fly some first"):
        plot_campaign(small(np.zeros(0)))


def test_the_main_metric_is_the_one_that_most_runs_violate():
    """A boolean metric is chosen only if there is no other."""
    x = np.arange(10.0)
    metrics = [MetricColumn("crashed", is_bool=True), MetricColumn("a"), MetricColumn("b"), MetricColumn("c")]
    columns = {"crashed": x > 0.0, "a": x, "b": x, "c": x}
    criteria = [Criterion("crashed", equals=False), Criterion("b", at_most=8.0), Criterion("c", at_least=5.0)]
    assert main_metric(results_of(columns, metrics=metrics, criteria=criteria)).name == "c"
    assert main_metric(results_of(columns, metrics=metrics)).name == "a"
    assert main_metric(results_of(columns, metrics=metrics[:1])).name == "crashed"


def test_the_window_excludes_outliers_and_includes_bounds_that_are_close():
    values = np.append(np.linspace(0.0, 1.0, 99), 1e6)
    low, high = window(values)
    assert low == 0.0
    assert 1.0 < high < 5.0
    assert window(values[:-1], [1.5, 100.0])[1] == pytest.approx(1.53)
    assert bounds_of(ODD["a bound far away"], "m") == [1e9]
