"""Points of a sweep, its table and its figure, from synthetic rows; the campaign that it flies."""

import io
import math

import numpy as np
import pytest
from grey import confusions

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.result_rows import Row
from px4lockstep.errors import InputError
from px4lockstep.experiments.sweep import keys_of_sweep, seeds_of, sweep, tables_of
from px4lockstep.experiments.sweep_figure import digits_of, is_logarithmic
from px4lockstep.experiments.sweep_results import sweep_of
from px4lockstep.plots.html import CELL

P, D = "autopilot.params.MC_ROLLRATE_P", "autopilot.params.MC_ROLLRATE_D"
METRICS = ("tracking_rms", "crashed")


def campaign_of(inputs, **options):
    return load_campaign(tables_of("x500", inputs, METRICS, **options))


def folder_of(tmp_path, inputs, **options):
    return CampaignFolder(tmp_path, campaign_of(inputs, **options))


def rows_of(campaign: Campaign, statuses, value=float):
    """Return a row per run; the metric of run i is `value(i)`."""
    rows = []
    for i, status in enumerate(statuses):
        metrics = {"tracking_rms": value(i), "crashed_share": status == "crashed"}
        passed = status == "flown" if campaign.file.campaign.accept else None
        rows.append(Row(i, status, passed, None, None, "d", 1, campaign.inputs(i), metrics))
    return rows


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """Three values with two seeds each: all flown, one crashed, all crashed."""
    folder = folder_of(tmp_path_factory.mktemp("line"), {"MC_ROLLRATE_P": "0.01:0.04:3:log"}, seeds=2)
    rows = rows_of(folder.campaign, ["flown", "flown", "crashed", "flown", "crashed", "crashed"])
    return sweep_of(folder, (P,), rows)


@pytest.fixture(scope="module")
def surface(tmp_path_factory):
    """Two inputs, of which the second varies fastest; one flight failed, another is missing."""
    inputs = {"MC_ROLLRATE_P": [0.1, 0.2], "environment.wind": "none,dryden"}
    folder = folder_of(tmp_path_factory.mktemp("map"), inputs)
    rows = rows_of(folder.campaign, ["flown", "tipped over", "flown"])
    return sweep_of(folder, (P, "environment.wind"), rows)


def test_the_metric_of_a_failed_flight_does_not_count(line):
    """Neither in the mean nor in the spread; a boolean metric is the share of all flights."""
    flown, some, none = line.points
    value = flown.values["tracking_rms"]
    assert (value.mean, value.std, value.count) == (0.5, math.sqrt(0.5), 2)
    assert some.values["tracking_rms"].mean == 3.0
    assert math.isnan(some.values["tracking_rms"].std)
    assert math.isnan(none.values["tracking_rms"].mean)
    assert [point.values["crashed_share"].mean for point in line.points] == [0.0, 0.5, 1.0]
    assert [point.failed for point in line.points] == [0, 1, 2]
    assert line.failed == 3
    assert [point.flights for point in line.points] == ["2 flown", "1 crashed, 1 flown", "2 crashed"]


def test_an_accepted_outcome_counts(tmp_path):
    """As in a campaign, `passed` decides then."""
    folder = folder_of(tmp_path, {"MC_ROLLRATE_P": [0.1, 0.2]}, accept=["out of time"])
    rows = [
        Row(i, "out of time", True, None, None, "d", 1, {P: v}, {"tracking_rms": 1.0}) for i, v in enumerate((0.1, 0.2))
    ]
    assert [point.values["tracking_rms"].mean for point in sweep_of(folder, (P,), rows).points] == [1.0, 1.0]


def test_the_table_has_a_row_per_point(line, surface):
    """With the index of its first flight, for `campaign rerun`."""
    assert list(line.table) == [
        "MC_ROLLRATE_P",
        *("tracking_rms", "tracking_rms_std", "crashed_share", "crashed_share_std"),
        *("flights", "failed", "outcomes", "run"),
    ]
    assert line.table["MC_ROLLRATE_P"] == [0.01, 0.02, 0.04]
    assert line.table["run"] == [0, 2, 4]
    assert line.csv().splitlines()[3] == "0.04,,,1.0,0.0,2,2,2 crashed,4"
    assert surface.table["environment.wind"] == ["none", "dryden", "none"]
    assert surface.table["outcomes"] == ["flown", "tipped over", "flown"]


def test_json_has_none_for_missing_values(line):
    points = line.as_dict()["points"]
    assert points[2]["metrics"]["tracking_rms"] == {"mean": None, "std": None, "count": 0}
    assert points[1]["outcomes"] == {"crashed": 1, "flown": 1}
    assert points[1]["runs"] == [2, 3]


def test_the_repr_is_short(line, surface):
    """It names inputs, metrics and failures."""
    assert len(repr(line)) < 400
    assert repr(line).startswith(
        "<Sweep of MC_ROLLRATE_P: 3 values; tracking_rms, crashed_share; 6 flights, 3 failed; "
    )
    assert "environment.wind: 2 values" in repr(surface)


@pytest.mark.long
def test_a_notebook_shows_table_and_figure(line):
    """With the values as in the table; failed points have none."""
    page = line._repr_html_().replace(f" {CELL}", "")
    assert page.count("<tr>") == 4
    assert "<td>1 crashed, 1 flown</td>" in page
    assert "<td>0.04</td><td>-</td>" in page
    assert '<img src="data:image/png;base64,' in page


def test_an_error_is_kept_with_its_point(tmp_path):
    """The metric of such a flight does not count."""
    folder = folder_of(tmp_path, {"MC_ROLLRATE_P": [0.1, 0.2]})
    flown, _ = rows_of(folder.campaign, ["flown", "flown"])
    points = sweep_of(folder, (P,), [flown, Row.failed(1, {P: 0.2}, "no height today")]).points
    assert [point.error for point in points] == [None, "no height today"]
    assert [point.flights for point in points] == ["flown", "error"]
    assert math.isnan(points[1].values["crashed_share"].mean)


def drawn(figure):
    figure.savefig(io.BytesIO(), format="png")
    return figure


@pytest.mark.long
def test_the_line_is_broken_at_points_with_failures(line):
    """They have a cross and, if some flights were flown, a hollow marker."""
    figure = drawn(line.plot())
    assert confusions(figure) == []
    axes = figure.axes[0]
    assert axes.get_xscale() == "log"
    (path,) = [
        own
        for own in axes.lines
        if own.get_linestyle() == "-" and own.get_marker() == "None" and len(own.get_xdata()) == 3
    ]
    assert [math.isnan(y) for y in path.get_ydata()] == [False, True, True]
    (crosses,) = [own for own in axes.lines if own.get_marker() == "X"]
    assert list(crosses.get_xdata()) == [0.02, 0.04]
    (hollow,) = [own for own in axes.lines if own.get_markerfacecolor() == "white" and own.get_marker() == "o"]
    assert list(hollow.get_xdata()) == [0.02]
    assert list(hollow.get_ydata()) == [3.0]


@pytest.mark.long
def test_the_map_marks_failures_and_leaves_missing_points_empty(surface):
    """A failed point has no colour, a cross and its outcome."""
    figure = drawn(surface.plot())
    assert confusions(figure) == []
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("MC_ROLLRATE_P", "environment.wind")
    shown = axes.images[0].get_array().filled(math.nan)
    assert shown[0].tolist() == [0.0, 2.0]  # without wind
    assert all(math.isnan(value) for value in shown[1])
    assert [own.get_xydata().tolist() for own in axes.lines if own.get_marker() == "X"] == [[[0.0, 1.22]]]
    assert [text.get_text() for text in axes.texts] == ["0", "2", "\ntipped over"]


@pytest.mark.parametrize(
    ("values", "is_log"),
    [((1, 10, 100), True), ((1, 2, 3), False), ((1, 10), False), ((0, 1, 10), False), (("a", "b", "c"), False)],
)
def test_a_logarithmic_axis_is_recognized_by_the_values(values, is_log):
    assert is_logarithmic(values) is is_log


def test_all_points_fly_with_the_same_seeds():
    """The seed of the spec, which is 1, and those that follow; without --seeds, that of the spec."""
    campaign = campaign_of({"MC_ROLLRATE_P": [0.1, 0.2]}, seeds=2, overrides={"aircraft.seed": 7})
    overrides = [campaign.overrides(i, campaign.inputs(i)) for i in range(campaign.runs)]
    assert [(own[P], own["aircraft.seed"]) for own in overrides] == [(0.1, 7), (0.1, 8), (0.2, 7), (0.2, 8)]
    single = campaign_of({"MC_ROLLRATE_P": [0.1, 0.2]})
    assert single.overrides(1, single.inputs(1)) == {P: 0.2}
    assert seeds_of("x500", {}, 3, after=2) == (3, 4, 5)


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({}, {}, "a sweep needs one or two inputs, such as MC_ROLLRATE_P=0.1:0.2:5, not 0"),
        ({"A": [1], "B": [1], "C": [1]}, {}, "a sweep needs one or two inputs"),
        ({"aircraft.seed": [1, 2]}, {"seeds": 2}, "use --seeds N"),
        ({"MC_ROLLRATE_P": [0.1]}, {"seeds": 0}, "seeds = 0 is out of range"),
        ({"MC_ROLLRATE_P": [99.0]}, {}, "MC_ROLLRATE_P = 99.0 is out of range; it must be a number from 0.01 to 0.5"),
        ({"MC_ROLRATE_P": [0.1]}, {}, "MC_ROLRATE_P"),
        ({"environment.wnd": ["none"]}, {}, "environment.wnd = 'none': unknown key; did you mean 'wind'?"),
        ({"MC_ROLLRATE_P": [0.1]}, {"accept": ["flying"]}, "accept"),
        (
            {"MC_ROLLRATE_P": [0.1]},
            {"overrides": {"aircraft.sed": 1}},
            "aircraft.sed = 1: unknown key; did you mean 'seed'?",
        ),
    ],
)
def test_wrong_input_is_an_error_before_the_first_flight(inputs, options, message):
    with pytest.raises(InputError) as caught:
        sweep("x500", inputs, **options)
    assert message in str(caught.value)


def test_another_campaign_is_not_a_sweep(tmp_path):
    """It has inputs that are not grids."""
    tables = tables_of("x500", {"MC_ROLLRATE_P": [0.1]})
    tables["vary"] = [{"key": P, "distribution": "uniform", "low": 0.1, "high": 0.2}]
    with pytest.raises(InputError, match="is not the folder of a sweep"):
        keys_of_sweep(CampaignFolder(tmp_path, load_campaign(tables, 2)))


@pytest.mark.parametrize(
    ("values", "digits"), [([0.0, 2.0], 3), ([0.1370, 0.1378], 5), ([1.0, 1.0], 3), ([1e6, 1e6 + 1e-3], 6)]
)
def test_numbers_of_a_map_have_the_digits_that_tell_them_apart(values, digits):
    """Three, or more where all would be the same."""
    assert digits_of(np.array([values, [math.nan, values[0]]])) == digits
