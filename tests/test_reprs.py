"""Objects in a notebook: short text for all of them, tables and a figure for results, figures that show themselves."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import px4lockstep
from px4lockstep.plots.html import HtmlTable
from px4lockstep.reprs import ShortRepr, short

pytestmark = pytest.mark.long

MAX_CHARACTERS = 1_000
PNG = b"\x89PNG\r\n\x1a\n"
SHORT = {"timeline.t_end_s": 2.5}
CAMPAIGN = {
    "campaign": {"name": "wind", "base": "x500", "runs": 2, "seed": 1},
    "set": SHORT,
    "vary": [{"key": "environment.wind_mean_ned[0]", "distribution": "uniform", "low": -1.0, "high": 1.0}],
    "metric": [{"name": "tracking_max_m", "kind": "tracking_max"}],
}


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Return an object of each kind that the public functions return, by name."""
    root = tmp_path_factory.mktemp("objects")
    run = px4lockstep.simulate("x500", overrides=SHORT)
    folder = run.save(root / "one", plots=False)
    other = px4lockstep.simulate("x500", overrides=SHORT, seed=2)
    another = other.save(root / "two", plots=False)
    event = {"at_s": 2.2, "action": "thrust_loss", "motor": 1, "fraction": 0.1}
    made = {
        "run": run,
        "saved": px4lockstep.read_run(folder),
        "diff": px4lockstep.diff(folder, another),
        "same": px4lockstep.diff(folder, folder),
        "log_diff": px4lockstep.diff_logs(folder, another),
        "replay": px4lockstep.replay(folder),
        "changed": px4lockstep.replay(folder, overrides={"airframe.mass_kg": 2.2}),
        "campaign_result": px4lockstep.run_campaign(CAMPAIGN, workers=1, out=root / "campaign"),
    }
    made |= {
        "spec": run.spec,
        "flight": run.flight,
        "simulation": run.simulation,
        "log": run.log,
        "summary": run.summary,
        "facts": run.facts,
        "outcome": run.outcome,
        "recording": run.recording,
        "branch": px4lockstep.branch(folder, 2.0, events=[event])[0],
        "compared": px4lockstep.compare(folder, ["RK4"], local_defect=True),
        "campaign": px4lockstep.load_campaign(CAMPAIGN),
        "aircraft": px4lockstep.load_aircraft("x500"),
        "timeline": run.simulation.timeline,
        "mission": run.flight.mission,
        "events": px4lockstep.events_of(run.log)[0],
        "figure": run.plot(),
        "tables": [getattr(run.spec, name) for name in type(run.spec).model_fields],
    }
    made["inside"] = [
        made["diff"].first,
        made["diff"].first_difference,
        made["compared"].comparison,
        made["compared"].local_defect,
        made["campaign_result"].folder,
        made["branch"].changes,
        made["log_diff"].alignment,
        made["log_diff"].differences[0],
        made["changed"].departure,
    ]
    return made


def test_no_object_has_a_long_repr(objects):
    """`diff(...)` as the last line of a cell printed 51 kB."""
    every = [each for value in objects.values() for each in (value if isinstance(value, list) else [value])]
    assert len(every) > 40
    for each in every:
        assert len(repr(each)) < MAX_CHARACTERS, (type(each), len(repr(each)), repr(each)[:200])
        assert " at 0x" not in repr(each), repr(each)


def test_a_repr_says_what_matters(objects, tmp_path):
    """Names, outcome and differences."""
    assert re.fullmatch(r"<Run x500: .*, 2\.500 s, digest [0-9a-f]{12}>", repr(objects["run"]))
    assert repr(objects["saved"]).startswith("<SavedRun ")
    assert "bit-identical" in repr(objects["same"])
    assert "first difference at" in repr(objects["diff"])
    assert "common rows" in repr(objects["log_diff"])
    assert "bit-identical, 0 changes" in repr(objects["replay"])
    assert ", 1 change>" in repr(objects["changed"])
    assert "complete, 2 runs flown" in repr(objects["campaign_result"])


def test_long_texts_are_cut_in_the_middle():
    """Begin and end stay; short ones stay whole."""
    assert short("abc") == "abc"
    assert short("a" * 50 + "z" * 50, 25) == "a" * 10 + " ... " + "z" * 10
    assert issubclass(px4lockstep.Branch, ShortRepr)


class Cells(HTMLParser):
    """The cells of all tables of a page; fails if tags are not closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.cells, self.images = [], [], 0
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.images += tag == "img"
        if tag != "img":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th", "b"):
            self.cells.append(data)


SHOWN = {
    "run": "max altitude",
    "saved": "max altitude",
    "diff": "max altitude [m]",
    "log_diff": "compared",
    "replay": "integrator",
    "changed": "max position difference",
    "campaign_result": "tracking_max_m [m]",
}


@pytest.mark.parametrize("name", SHOWN)
def test_results_are_tables_with_a_figure(name, objects):
    """In valid HTML."""
    page = Cells(objects[name]._repr_html_())
    assert SHOWN[name] in page.cells
    assert page.images == 1


def test_a_result_that_cannot_be_drawn_is_shown_without_a_figure(tmp_path):
    """And one whose files are missing as text, which notebooks do if there is no HTML."""
    run = px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 0.5, "run.log_columns": ["motors"]})
    folder = run.save(tmp_path / "run", plots=False)
    page = Cells(px4lockstep.read_run(folder)._repr_html_())
    assert page.images == 0
    assert "simulated" in page.cells
    (folder / "summary.json").unlink()
    assert px4lockstep.read_run(folder)._repr_html_() is None


def test_text_in_tables_is_escaped():
    """A file can be named like a tag."""
    text = HtmlTable([("<script>", "a & b")], ("<b>", ""), "<i>").text()
    assert Cells(text).cells == ["<i>", "<b>", "<script>", "a & b"]
    assert "<script>" not in text


def test_figures_show_themselves(objects):
    """Without pyplot: `run.plot()` was `<Figure size 1870x1320 with 11 Axes>` in a fresh notebook."""
    picture = objects["figure"]._repr_png_()
    assert picture.startswith(PNG)
    assert int.from_bytes(picture[16:20], "big") == 1224  # 17 inches at 72 per inch
    part = objects["run"].plot(from_s=1.0, to_s=2.0, columns=["pos_ned"])
    assert part._repr_png_().startswith(PNG)
    for name in ("saved", "diff", "log_diff", "replay", "campaign_result"):
        assert hasattr(objects[name].plot(), "_repr_png_"), name


def test_the_results_of_a_campaign_are_a_data_frame(objects):
    """A row for each run, in order."""
    frame = objects["campaign_result"].to_pandas()
    assert frame.index.tolist() == [0, 1]
    assert {"status", "environment.wind_mean_ned[0]", "tracking_max_m"} <= set(frame.columns)
    assert np.isfinite(frame["tracking_max_m"]).all()
