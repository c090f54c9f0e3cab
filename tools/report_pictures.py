"""Take the screenshots of reports for the documentation: part of `make pictures`.

They need Chromium and are not bit-identical: fonts and drawing depend on the machine. `tests/support` is on the path.
"""

import contextlib
from pathlib import Path
from tempfile import TemporaryDirectory

from browser import WAIT_MS, chromium, opened
from screenshots import CAMPAIGN, save_screenshot

from px4lockstep.campaigns.run import run_campaign
from px4lockstep.flights.run import simulate
from px4lockstep.reports.report import report

WIDTH, HEIGHT = 1360, 1200
DRAWN_MS = 5_000
"""Until the last chart is drawn, without a graphics card."""


def shoot(browser, path, name, height=HEIGHT):
    """Open a report from its file, and take a screenshot of its top."""
    page, problems = opened(browser, path.resolve().as_uri(), width=WIDTH, height=height, offline=True)
    page.wait_for_selector(".main-svg", state="attached", timeout=WAIT_MS)
    save_screenshot(page, problems, name, wait_ms=DRAWN_MS, colours=256)


def main():
    """Fly what the screenshots show, and take them."""
    with TemporaryDirectory() as temporary, chromium() as browser, contextlib.chdir(temporary):
        folder = Path("runs")  # reports show paths
        simulate("x500").save(folder / "calm", plots=False)
        events = [{"at_s": 30.0, "action": "disable_motor", "motor": 2}]
        simulate("x500", overrides={"scenario.events": events}).save(folder / "motor_2_off", plots=False)
        shoot(browser, report(folder / "motor_2_off"), "report_run.png")
        shoot(browser, report(folder / "calm", folder / "motor_2_off"), "report_diff.png", 1000)
        run_campaign(CAMPAIGN, out=folder / "motor_loss", runs=300, trust=True)
        shoot(browser, report(folder / "motor_loss"), "report_campaign.png", 1500)


if __name__ == "__main__":
    main()
