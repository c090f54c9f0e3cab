"""The figure of several flights, and the command that draws it."""

import re
import shutil

import numpy as np
import pytest

import px4lockstep
from px4lockstep.cli.folders import plot_runs
from px4lockstep.errors import InputError
from px4lockstep.flights.figure import draw_sources
from px4lockstep.log.log import Log
from px4lockstep.plots.overlay import distance_between, plot_overlay


def log_of(offset_m):
    """Return a log of 101 rows at 100 Hz that drifts north by up to an offset."""
    pos = np.zeros((101, 3))
    pos[:, 0] = offset_m * np.linspace(0.0, 1.0, 101) ** 6
    return Log({"time_us": np.arange(101, dtype=np.uint64) * 10_000, "pos_ned": pos})


def key(figure):
    """Return the labels in the legend of all panels."""
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_distance_has_plain_labels_on_a_logarithmic_axis():
    """Figures do not parse formulas, because names may contain a $."""
    figure = plot_overlay({"a$_1": log_of(0.0), "b": log_of(10.0)}, parts_at_s=0.01)
    figure.canvas.draw()
    assert figure.get_suptitle() == "a$_1, b"
    [axes] = [axes for axes in figure.axes if axes.get_title(loc="left") == "Distance between them"]
    labels = [label.get_text() for label in axes.get_yticklabels(which="both")]
    assert any(labels)
    assert [label for label in labels if label and not re.fullmatch(r"1e-?\d+", label)] == []


def test_identical_flights_have_no_distance():
    figure = plot_overlay({"a": log_of(1.0), "b": log_of(1.0)}, title="a and b: bit-identical")
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
    with pytest.raises(InputError, match="can't plot the log of 'b': it has no rows, or no column pos_ned"):
        plot_overlay({"a": log_of(0.0), "b": Log({"time_us": np.arange(3, dtype=np.uint64)})})
    with pytest.raises(InputError, match="there is nothing to plot"):
        plot_overlay({})


@pytest.mark.parametrize("count", [1, 2, 3, 6, 7, 30])
def test_any_number_of_flights_is_overlaid(count):
    """Each has its label and its own look; from three on, distances are those from the first."""
    logs = {f"run {i}": log_of(float(i)) for i in range(count)}
    figure = plot_overlay(logs)
    height = figure.axes[1]
    listed = list(logs) if count <= 24 else ["run 0", f"run {count - 1}"]
    assert key(figure) == listed
    assert len(height.lines) == count
    looks = {(line.get_color(), str(line.get_linestyle())) for line in height.lines}
    assert len(looks) == count
    last = figure.axes[-1]
    assert last.get_title(loc="left") == ("Distance between them" if count == 2 else "Distance from run 0")
    assert len(last.lines) == count - 1
    if count > 2:
        assert last.lines[-1].get_ydata()[-1] == count - 1


def test_panels_show_the_flights_that_have_their_column():
    """A log without battery is absent from its panels; a panel without any says so."""
    pos = np.zeros((3, 3))
    time_us = np.arange(3, dtype=np.uint64)
    soc = Log({"time_us": time_us, "pos_ned": pos, "soc": np.full((3, 2), 0.5)})
    figure = plot_overlay({"with": soc, "without": Log({"time_us": time_us, "pos_ned": pos})})
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes}
    assert [line.get_ydata().tolist() for line in panels["Charge"].lines] == [[50.0] * 3]
    assert [text.get_text() for text in panels["Tracking error"].texts] == ["not in this log"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a run, its log as CSV and its recording."""
    place = tmp_path_factory.mktemp("runs")
    run = px4lockstep.simulate("iris", overrides={"timeline.t_end_s": 1.0})
    run.save(place / "run", plots=False)
    px4lockstep.write_csv(run.log, place / "log.csv")
    shutil.copy(place / "run" / "recording.h5", place / "flown.h5")
    return place


def test_the_command_overlays_several_flights(folder, tmp_path, monkeypatch, capsys):
    """To overlay.png; labels are names of folders and files, or those of --labels."""
    monkeypatch.chdir(tmp_path)
    drawn = []
    monkeypatch.setattr("px4lockstep.plots.flight.save_plot", lambda figure, path: drawn.append((figure, path)))
    sources = [folder / "run", folder / "log.csv", folder / "flown.h5"]
    assert plot_runs(sources, force=False) == 0
    assert capsys.readouterr().out == "overlay.png\n"
    figure, path = drawn.pop()
    assert str(path) == "overlay.png"
    assert key(figure) == ["run", "log", "flown"]
    heights = [line.get_ydata() for line in figure.axes[1].lines]
    assert all(np.array_equal(height, heights[0]) for height in heights)
    assert len(figure.axes[-1].lines) == 0
    assert plot_runs([folder / "log.csv"], force=False, out=tmp_path / "one.png") == 0
    assert plot_runs(sources, force=False, labels=["a, b,c"]) == 0
    assert key(drawn[-1][0]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("names", "labels", "message"),
    [
        (["run", "log.csv"], "a", "--labels has 1 label for 2 flights; give one for each"),
        (["run", "log.csv"], "a,a", "labels must differ, but are a, a"),
        (["run"], "a", "--labels are for several flights"),
        (["run", "missing"], None, "run folder not found"),
        (
            ["run", "run/spec.toml"],
            None,
            "is not a log; give a run folder, or a file that ends in .csv, .parquet or .ulg",
        ),
    ],
)
def test_wrong_sources_and_labels_are_errors(names, labels, message, folder, tmp_path, monkeypatch):
    """Each names what is wrong; nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        plot_runs([folder / name for name in names], force=False, labels=[labels] if labels else [])
    assert list(tmp_path.iterdir()) == []


def test_flights_with_the_same_name_get_their_paths_as_labels(folder):
    """As in `px4lockstep plot a/run b/run`."""
    figure = draw_sources([folder / "run" / "log.parquet", folder / "log.csv"])
    assert key(figure) == [str(folder / "run" / "log.parquet"), str(folder / "log.csv")]
