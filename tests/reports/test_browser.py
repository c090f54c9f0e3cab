"""Reports in headless Chromium: they open from a file without network and without errors, and keys work."""

import json
import shutil

import pytest
from browser import WAIT_MS, opened
from crashed_flight import save_crash

from px4lockstep import events_of, read_log, report
from px4lockstep.plots.flight import crash_window

pytestmark = pytest.mark.process

RANGE = "() => document.querySelector('#chart-2 .plot')._fullLayout.xaxis.range.map(Number)"
LINES = "() => document.querySelectorAll('#chart-2 .scatterlayer .trace').length"
EVIL = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A flight that crashes."""
    return save_crash(tmp_path_factory.mktemp("runs"))


def ready(browser, path):
    """Open a report without network, and wait until its charts are drawn."""
    page, problems = opened(browser, path.resolve().as_uri(), width=1200, height=800, offline=True)
    page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=WAIT_MS)
    page.wait_for_selector(".main-svg", state="attached", timeout=WAIT_MS)
    return page, problems


def test_a_report_works_from_a_file_without_network(browser, run, tmp_path):
    """Charts are drawn, keys and buttons move the time axis, the replay plays, and there is no error."""
    page, problems = ready(browser, report(run, out=tmp_path / "report.html"))
    page.wait_for_function(f"({LINES})() > 20", timeout=WAIT_MS)
    whole = page.evaluate(RANGE)
    log = read_log(run)
    crash_s = crash_window(log, events_of(log))
    page.locator("#chart-2 .plot").focus()
    page.keyboard.press("+")
    page.wait_for_function(f"(({RANGE})()[1] - ({RANGE})()[0]) < {0.6 * (whole[1] - whole[0])}", timeout=WAIT_MS)
    before = page.evaluate(RANGE)
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"({RANGE})()[0] > {before[0]}", timeout=WAIT_MS)
    page.get_by_role("button", name="crash").click()
    page.wait_for_function(f"Math.abs(({RANGE})()[0] - {crash_s[0]}) < 1e-6", timeout=WAIT_MS)
    page.get_by_role("button", name="all").click()
    page.wait_for_function(f"Math.abs(({RANGE})()[1] - {whole[1]}) < 1e-6", timeout=WAIT_MS)
    page.locator("iframe").scroll_into_view_if_needed()
    page.frame_locator("iframe").locator("canvas").first.wait_for(state="visible", timeout=WAIT_MS)
    assert problems == []
    page.context.close()


def test_the_tool_bar_covers_no_legend(browser, run, tmp_path):
    """Of any chart, while the pointer is over it."""
    page, _ = ready(browser, report(run, out=tmp_path / "report.html"))
    page.wait_for_function(f"({LINES})() > 20", timeout=WAIT_MS)
    boxes = """name => [...document.querySelectorAll(name)].map(each => {
        const box = each.getBoundingClientRect();
        return [box.left, box.top, box.right, box.bottom];
    })"""
    bars, legends = page.evaluate(boxes, ".modebar"), page.evaluate(boxes, ".infolayer > [class^=legend]")
    assert len(bars) == 2
    assert len(legends) > 8
    for left, top, right, bottom in bars:
        assert right > left + 10.0
        for box in legends:
            assert box[2] <= left or box[0] >= right or box[3] <= top or box[1] >= bottom
    page.context.close()


def test_every_control_is_reached_by_the_keyboard(browser, run, tmp_path):
    """Skip link, sections, buttons, chart and the text of the spec, in this order."""
    page, _ = ready(browser, report(run, out=tmp_path / "report.html"))
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.className || document.activeElement.tagName"))
        if reached[-1] == "IFRAME":
            break
    assert reached[0] == "skip"
    assert reached.count("A") >= 6
    assert reached.count("BUTTON") == 6
    assert any("plot" in name for name in reached)
    page.context.close()


def test_text_of_a_stranger_does_not_run(browser, run, tmp_path):
    """Outcome, reason and aircraft name with scripts are shown as text."""
    folder = tmp_path / "evil"
    shutil.copytree(run, folder)
    summary = json.loads((folder / "summary.json").read_text("utf-8")) | {"outcome": EVIL, "reason": EVIL}
    (folder / "summary.json").write_text(json.dumps(summary))
    spec = (folder / "spec.toml").read_text("utf-8").replace('name = "x500"', f'name = """{EVIL}"""')
    (folder / "spec.toml").write_text(spec)
    page, problems = ready(browser, report(folder, out=tmp_path / "report.html"))
    assert page.evaluate("() => window.hacked") is None
    assert EVIL in page.locator("header").inner_text()
    assert problems == []
    page.context.close()
