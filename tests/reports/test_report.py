"""Reports as files: contents, verdicts, sizes, hostile text, and what is refused."""

import base64
import json
import math
import re
import shutil

import numpy as np
import pytest
from crashed_flight import save_crash

from px4lockstep import InputError, Log, import_ulog, read_log, report, run_campaign, simulate
from px4lockstep.campaigns.tables import numbers_of
from px4lockstep.flights.exports import read_source
from px4lockstep.log.export_source import ExportOptions
from px4lockstep.log.exports import FORMATS
from px4lockstep.plots.panels.track import free_sides
from px4lockstep.reports import page
from px4lockstep.reports.campaign_report import _plain
from px4lockstep.reports.charts import Cloud, packed, scatter, stacked
from px4lockstep.reports.flight_charts import flight_chart, track_chart
from px4lockstep.reports.page import BAD, GOOD, NONE, PageTable, ReportPage, safe_json

pytestmark = pytest.mark.process

EVIL = "<script>window.hacked = 1</script>\"'><img src=x onerror='window.hacked=1'>"
LIMIT_BYTES = 8_000_000


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The default flight, and one that loses a motor and crashes."""
    folder = tmp_path_factory.mktemp("runs")
    simulate("x500").save(folder / "default", plots=False)
    save_crash(folder)
    return folder


def headings(text):
    return re.findall(r"<h2>(.*?)</h2>", text)


def test_the_report_of_the_default_flight_is_complete_and_small(runs, tmp_path):
    """Verdict, digest, charts, replay, spec and versions in one file below 8 MB, without a link to elsewhere."""
    path = report(runs / "default", out=tmp_path / "report.html")
    text = path.read_text("utf-8")
    assert path.stat().st_size < LIMIT_BYTES
    assert headings(text) == ["Results", "Charts", "3D replay", "Events", "Spec", "Versions"]
    assert '<span class="verdict good">✓ flown</span>' in text
    summary = json.loads((runs / "default" / "summary.json").read_text("utf-8"))
    assert summary["digest"] in text
    assert "Changes from the built-in aircraft x500: none." in text
    assert "seed 1" in text
    assert "[environment]" in text
    outside = text.replace(page.plotly_script(), "")
    outside = re.sub(r'srcdoc="[^"]*"', "", outside)
    assert "http://" not in outside
    assert "https://" not in outside
    assert "default-src 'none'" in text.replace("&#x27;", "'")


def test_the_report_of_a_crash_says_why_and_what_was_changed(runs, tmp_path):
    """It is never green; faults are rows with the word, not only in red."""
    text = report(runs / "fault", out=tmp_path / "report.html").read_text("utf-8")
    assert '<span class="verdict bad">✗ crashed</span>' in text
    assert "hit the ground at" in text
    assert "<td>motor 2 off</td><td>fault</td>" in text
    assert "scenario.events[0].action" in text


def test_two_flights_are_compared(runs, tmp_path):
    """With the first difference, both digests, and the changes of the spec."""
    text = report(runs / "default", runs / "fault", out=tmp_path / "diff.html").read_text("utf-8")
    assert headings(text)[:4] == ["Results", "Differences", "Charts", "3D replay"]
    assert "the flights differ" in text
    assert "they diverge at" in text
    assert "Distance between them" in text
    same = report(runs / "default", runs / "default", out=tmp_path / "same.html").read_text("utf-8")
    assert '<span class="verdict good">✓ the flights are bit-identical</span>' in same


def test_an_imported_flight_has_no_verdict(runs, tmp_path):
    """A ULog file, alone and compared with the run that it was exported from."""
    source, _ = read_source(runs / "fault")
    FORMATS["ulog"].write(source, tmp_path / "flight.ulg", ExportOptions())
    assert import_ulog(tmp_path / "flight.ulg").rows
    text = report(tmp_path / "flight.ulg", out=tmp_path / "one.html").read_text("utf-8")
    assert '<span class="verdict none">• imported</span>' in text
    both = report(runs / "fault", tmp_path / "flight.ulg", out=tmp_path / "two.html").read_text("utf-8")
    assert "the logs" in both


def test_an_incomplete_run_is_not_called_flown(runs, tmp_path):
    """Neither with a summary that says so, nor without one."""
    for has_summary in (True, False):
        folder = tmp_path / f"killed_{has_summary}"
        shutil.copytree(runs / "default", folder)
        (folder / "INCOMPLETE").touch()
        if not has_summary:
            (folder / "summary.json").unlink()
        text = report(folder).read_text("utf-8")
        assert '<span class="verdict none">• incomplete</span>' in text


def test_the_report_of_a_campaign(tmp_path):
    """Pass rate, outcomes, a chart for each input with its label, the runs and the file."""
    text = (
        '[campaign]\nname = "wind"\nbase = "x500"\nruns = 3\n[set]\n"timeline.t_end_s" = 2.0\n'
        '[[vary]]\nkey = "airframe.payload_kg"\nlabel = "payload <kg>"\ndistribution = "uniform"\n'
        "low = 0.0\nhigh = 0.2\n"
        '[[metric]]\nname = "top"\nkind = "max"\nsignal = "tilt_deg"\n[[pass]]\nmetric = "top"\nat_most = 90.0\n'
    )
    (tmp_path / "campaign.toml").write_text(text)
    run_campaign(tmp_path / "campaign.toml", out=tmp_path / "flown", workers=1)
    text = report(tmp_path / "flown").read_text("utf-8")
    assert (tmp_path / "flown" / "report.html").exists()
    assert headings(text) == ["Results", "Charts", "Runs", "Spec"]
    assert "payload &lt;kg&gt;" in text
    assert "payload <kg>" not in text
    assert "of 3 passed" in text


def test_broken_criteria_have_the_labels_of_the_tables(tmp_path):
    """In the report; JSON and the terminal keep names."""
    text = (
        '[campaign]\nname = "tilt"\nbase = "x500"\nruns = 2\n[set]\n"timeline.t_end_s" = 2.0\n'
        '[[vary]]\nkey = "airframe.payload_kg"\ndistribution = "uniform"\nlow = 0.0\nhigh = 0.2\n'
        '[[metric]]\nname = "top_tilt_deg"\nlabel = "largest tilt [°]"\nkind = "max"\nsignal = "tilt_deg"\n'
        '[[pass]]\nmetric = "top_tilt_deg"\nat_least = 90.0\n'
    )
    (tmp_path / "campaign.toml").write_text(text, "utf-8")
    folder = run_campaign(tmp_path / "campaign.toml", out=tmp_path / "flown", workers=1).folder
    results = report(tmp_path / "flown").read_text("utf-8").partition('id="section-spec"')[0]
    assert re.search(r"largest tilt \[°\] = [\d.e-]+, at least 90<", results)
    assert "top_tilt_deg" not in results
    assert numbers_of(folder)["worst"][0]["why"].startswith("top_tilt_deg = ")


def test_lines_of_charts_differ_without_colours(runs):
    """Of each panel, in dashes, markers or widths; a line of noise is behind that of its mean."""
    for log in (read_log(runs / "default"), many_motors(12)):
        chart = flight_chart(log, ())
        panels = {}
        for trace in chart.data:
            look = (trace["line"]["dash"], trace["line"]["width"], trace.get("marker", {}).get("symbol"))
            panels.setdefault(trace["yaxis"], []).append(look)
        assert len(panels) > 3
        for looks in panels.values():
            assert len(set(looks)) == len(looks)
    tracks = track_chart({f"run {i}": log for i in range(2)}, {}).data
    assert tracks[0]["line"]["dash"] != tracks[1]["line"]["dash"]
    assert tracks[2]["marker"]["symbol"] != tracks[3]["marker"]["symbol"]


def many_motors(count):
    """Return a log with many motors, rotors and batteries."""
    time_us = np.arange(0, 1_000_000, 10_000, dtype=np.uint64)
    each = np.full((100, count), 0.5)
    columns = {"time_us": time_us, "pos_ned": np.zeros((100, 3)), "motors": each, "rotor_speed_rad_s": each}
    return Log(columns | {"soc": each, "wind_ned": np.zeros((100, 3))})


def test_texts_of_waypoints_are_beside_the_track():
    """A track that leaves a place to the north and comes back from the east: the text is on the other side."""
    leg = np.linspace(0.0, 10.0, 50)
    north = np.concatenate((leg, np.full(50, 10.0), leg[::-1], np.zeros(50)))
    east = np.concatenate((np.zeros(50), leg, np.full(50, 10.0), leg[::-1]))
    track_ned = np.stack((north, east, 0 * north), axis=1)
    [(side, _), (far, _)] = free_sides(track_ned, [(0.0, 0.0), (10.0, 10.0)])
    assert (side, far) == ("bottom left", "top right")


def test_text_of_a_stranger_never_becomes_a_script(runs, tmp_path):
    """In names, reasons, labels of events, specs and versions."""
    folder = tmp_path / "<img src=x onerror=alert(1)>"
    shutil.copytree(runs / "fault", folder)
    summary = json.loads((folder / "summary.json").read_text("utf-8"))
    summary |= {"outcome": EVIL, "reason": EVIL, "digest": EVIL, "warnings": [EVIL], "ending": EVIL}
    (folder / "summary.json").write_text(json.dumps(summary))
    (folder / "spec.toml").write_text(
        (folder / "spec.toml").read_text().replace('name = "x500"', f"name = '''{EVIL}'''")
    )
    text = report(folder, out=tmp_path / "report.html").read_text("utf-8")
    assert "window.hacked" in text  # it is shown
    assert "<script>window" not in text
    assert "<img" not in re.sub(r'srcdoc="[^"]*"', "", text).replace(page.plotly_script(), "")
    assert safe_json({"a": "</script><!--"}).count("<") == 0


def test_labels_of_charts_are_escaped():
    """Plotly reads some HTML in texts, such as links."""
    cloud = Cloud([1.0], np.array([2.0]), ['<a href="https://example.org">run</a>'], np.array([True]), True)
    chart = scatter("<b>x</b>", "<i>y</i>", cloud)
    assert "<" not in json.dumps([chart.data, chart.layout])
    words = Cloud(["<b>gusty</b>"], np.array([2.0]), ["run"], np.array([True]), True)
    assert "<" not in json.dumps(scatter("x", "y", words).data)


def test_numbers_of_a_campaign_that_are_missing_are_null():
    """JSON has no NaN; a results table has NumPy's."""
    values = [np.float64(1.5), np.float64("nan"), math.inf, None, np.int64(3)]
    assert [_plain(value) for value in values] == [1.5, None, None, None, 3]


def test_no_extreme_is_lost_and_long_logs_stay_small():
    """An hour at 50 Hz: a peak of one row is in the data, and a line has a few thousand points."""
    rows = 180_000
    pos = np.zeros((rows, 3))
    pos[123_457, 2] = -77.0
    chart = flight_chart(Log({"time_us": np.arange(rows) * 20_000, "pos_ned": pos}), ())
    heights = np.frombuffer(base64.b64decode(chart.data[0]["y"]["bdata"]), "<f4")
    assert heights.max() == 77.0
    assert len(heights) < 3_000
    assert "Height above origin 0 to 77 [m]" in chart.words.replace("-0 ", "0 ")
    assert stacked([], [], "").data == []


def test_numbers_that_are_not_finite_are_gaps():
    values = np.frombuffer(base64.b64decode(packed(np.array([1.0, np.inf, 1e300]))["bdata"]), "<f4")
    assert values[0] == 1.0
    assert np.isnan(values[1:]).all()


def test_an_existing_file_is_kept_unless_forced(runs, tmp_path):
    target = tmp_path / "report.html"
    target.write_text("mine")
    with pytest.raises(InputError, match=r"report\.html exists and is not overwritten; use --force"):
        report(runs / "fault", out=target)
    assert target.read_text() == "mine"
    assert report(runs / "fault", out=target, force=True) == target
    assert target.stat().st_size > 1_000_000


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ((), "a report is of one run or campaign, or compares two runs; 0 were given"),
        (("a", "b", "c"), "3 were given"),
        (("missing",), "run folder not found: missing"),
    ],
)
def test_what_has_no_report_is_an_input_error(sources, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        report(*sources)
    assert list(tmp_path.iterdir()) == []


def test_without_plotly_an_error_says_what_to_install(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"needs plotly, .* pip install 'px4lockstep\[view\]'"):
        report(runs / "fault", out=tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_campaigns_are_not_compared(runs, tmp_path):
    (tmp_path / "campaign.json").write_text("{}")
    with pytest.raises(InputError, match="is a campaign folder; only flights can be compared"):
        report(tmp_path, runs / "fault", out=tmp_path / "report.html")


def test_verdicts_differ_without_colour():
    """By their sign and by the style of their border."""
    texts = [ReportPage("a", "b", kind).html() for kind in (GOOD, BAD, NONE)]
    assert [re.search(r'verdict \w+">(.)', text)[1] for text in texts] == ["✓", "✗", "•"]
    assert PageTable([("<b>", "1")]).html().count("&lt;b&gt;") == 1
