"""The figure of two flights."""

import re

import numpy as np
import pytest

from px4lockstep.errors import InputError
from px4lockstep.log.log import Log
from px4lockstep.plots.overlay import distance_between, plot_overlay


def log_of(offset_m):
    """Return a log of 101 rows at 100 Hz that drifts north by up to an offset."""
    pos = np.zeros((101, 3))
    pos[:, 0] = offset_m * np.linspace(0.0, 1.0, 101) ** 6
    return Log({"time_us": np.arange(101, dtype=np.uint64) * 10_000, "pos_ned": pos})


def test_the_distance_has_plain_labels_on_a_logarithmic_axis():
    """Figures do not parse formulas, because names may contain a $."""
    figure = plot_overlay((log_of(0.0), log_of(10.0)), ("a$_1", "b"), 0.01)
    figure.canvas.draw()
    assert figure.get_suptitle() == "a$_1 and b: they diverge at 0.010000 s"
    [axes] = [axes for axes in figure.axes if axes.get_title(loc="left") == "Distance between them"]
    labels = [label.get_text() for label in axes.get_yticklabels(which="both")]
    assert any(labels)
    assert [label for label in labels if label and not re.fullmatch(r"1e-?\d+", label)] == []


def test_identical_flights_have_no_distance():
    figure = plot_overlay((log_of(1.0), log_of(1.0)), ("a", "b"), None)
    assert figure.get_suptitle() == "a and b: bit-identical"
    [axes] = [axes for axes in figure.axes if axes.get_title(loc="left") == "Distance between them"]
    assert [text.get_text() for text in axes.texts] == ["none"]


def test_the_distance_is_taken_at_shared_times():
    """Rows of only one of the logs are ignored."""
    first, second = log_of(0.0), log_of(10.0)
    thinned = Log({name: second[name][::10] for name in ("time_us", "pos_ned")})
    time_s, apart_m = distance_between(first, thinned)
    assert len(time_s) == 11
    assert apart_m[-1] == 10.0


def test_logs_without_a_position_are_refused():
    with pytest.raises(InputError, match="can't plot these logs: one has no rows, or no column pos_ned"):
        plot_overlay((log_of(0.0), Log({"time_us": np.arange(3, dtype=np.uint64)})), ("a", "b"), None)
