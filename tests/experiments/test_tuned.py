"""The result of a search as table, files and figure, from synthetic evaluations."""

import io
import math
import tomllib

import pytest
from grey import confusions

from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.result_rows import Row
from px4lockstep.errors import InputError
from px4lockstep.experiments.evaluations import Evaluation
from px4lockstep.experiments.held_out import HeldOut
from px4lockstep.experiments.inputs import ranges_of
from px4lockstep.experiments.metric_words import terms_of
from px4lockstep.experiments.tune import tune
from px4lockstep.experiments.tuned import Tuned
from px4lockstep.plots.html import CELL
from px4lockstep.px4.params_files import parse_params

RANGES = ranges_of({"MC_ROLLRATE_P": "0.1:0.2", "MPC_XY_P": "0.5:1.5"})
TERMS = terms_of(["tracking_rms", "0.5*energy_wh"])


def evaluation(values, *costs):
    """Return an evaluation whose flights have these costs, half of it by each metric; NaN is a crash."""
    rows = [
        Row(
            0,
            "crashed" if math.isnan(cost) else "flown",
            None,
            None,
            None,
            "d",
            1,
            {},
            {"tracking_rms": cost / 2, "energy_wh": cost},
        )
        for cost in costs
    ]
    return Evaluation(values, tuple(rows), costs)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = CampaignFolder(tmp_path_factory.mktemp("tuned"), load_campaign({"campaign": {"base": "x500", "runs": 1}}))
    history = [
        evaluation((0.15, 0.95), 1.0, 1.0),
        evaluation((0.2, 1.4), math.nan, 0.1),
        evaluation((0.1, 1.25), 0.5, 0.6),
    ]
    check = HeldOut((3, 4), evaluation((0.15, 0.95), 1.0, 1.1), evaluation((0.1, 1.25), 0.5, 0.6))
    return Tuned(RANGES, TERMS, tuple(history), history[2], check, folder, "x500")


def test_the_table_has_values_costs_and_metrics_before_and_after(found):
    assert found.table == [
        ("MC_ROLLRATE_P", "0.1 … 0.2", "0.15", "0.1"),
        ("MPC_XY_P", "0.5 … 1.5", "0.95", "1.25"),
        ("cost", "2 training seeds", "1", "0.55"),
        ("tracking_rms", "2 training seeds", "0.5", "0.275"),
        ("energy_wh", "2 training seeds", "1", "0.55"),
        ("cost", "2 held-out seeds", "1.05", "0.55"),
        ("tracking_rms", "2 held-out seeds", "0.525", "0.275"),
        ("energy_wh", "2 held-out seeds", "1.05", "0.55"),
    ]


def test_the_files_have_the_found_values(found):
    """And the verdict as a comment."""
    assert found.values == {"MC_ROLLRATE_P": 0.1, "MPC_XY_P": 1.25}
    assert tomllib.loads(found.toml) == {"autopilot": {"params": found.values}}
    assert parse_params(found.params, "tuned.params").values == found.values
    assert f"# {found.held_out.verdict}\n" in found.toml
    assert f"# {found.held_out.verdict}\n" in found.params


def test_a_value_at_a_limit_of_its_range_is_named(found):
    """The cost may be lower beyond it."""
    assert found.at_limits == ("MC_ROLLRATE_P",)


def test_json_has_no_cost_for_a_set_with_a_crash(found):
    about = found.as_dict()
    assert [own["cost"] for own in about["evaluations"]] == [1.0, None, 0.55]
    assert [own["failed"] for own in about["evaluations"]] == [0, 1, 0]
    assert about["start"] == {"MC_ROLLRATE_P": 0.15, "MPC_XY_P": 0.95}


@pytest.mark.long
def test_the_figure_marks_failed_sets(found):
    """They have a cross, and the best cost so far does not change."""
    figure = found.plot()
    figure.savefig(io.BytesIO(), format="png")
    assert confusions(figure) == []
    search = figure.axes[0]
    (crosses,) = [own for own in search.lines if own.get_marker() == "X"]
    assert list(crosses.get_xdata()) == [1]
    (best,) = [own for own in search.lines if own.get_label() == "best"]
    assert list(best.get_ydata()) == [1.0, 1.0, 0.55]


@pytest.mark.long
def test_a_notebook_shows_table_and_figure(found):
    assert len(repr(found)) < 600
    assert repr(found).startswith("<Tuned MC_ROLLRATE_P = 0.1, MPC_XY_P = 1.25; improved: cost 1.05 to 0.55 (-47.6 %)")
    assert "<td>MPC_XY_P</td><td>0.5 … 1.5</td><td>0.95</td><td>1.25</td>" in found._repr_html_().replace(
        f" {CELL}", ""
    )


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        ({}, {}, "no parameters to tune; give at least one with its range"),
        ({"MPC_XY_P": 0.9}, {}, "MPC_XY_P = '0.9' is not a range to search"),
        ({"airframe.mass_kg": (1, 2)}, {}, "airframe.mass_kg is not a PX4 parameter"),
        ({"NO_SUCH_PARAM": (1, 2)}, {}, "NO_SUCH_PARAM"),
        ({"MC_ROLLRATE_P": (0.1, 9.0)}, {}, "MC_ROLLRATE_P = 9.0 is out of range"),
        ({"MC_ROLLRATE_P": (0.1, 0.2)}, {"budget": 3}, "budget = 3 is out of range"),
        ({"MC_ROLLRATE_P": (0.1, 0.2)}, {"held_out": 1}, "held_out = 1 is out of range"),
        ({"MC_ROLLRATE_P": (0.1, 0.2)}, {"cost": "tilt_deg"}, "'tilt_deg' is a signal"),
        ({"MC_ROLLRATE_P": (0.1, 0.2)}, {"workers": 0}, "workers = 0 is not allowed"),
    ],
)
def test_wrong_input_is_an_error_before_the_first_flight(inputs, options, message):
    with pytest.raises(InputError) as caught:
        tune("x500", inputs, **options)
    assert message in str(caught.value)


def test_a_misspelled_parameter_is_an_error_with_a_suggestion():
    """Not a request for its starting value."""
    with pytest.raises(InputError, match="unknown parameter 'MPC_XYP'; did you mean 'MPC_XY_P'"):
        tune("x500", {"MPC_XYP": (0.5, 1.5)}, budget=12)
