"""Take the screenshots of the viewer for the documentation: part of `make pictures`.

They need Chromium and are not bit-identical: fonts and drawing depend on the machine. `tests/support` is on the path.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from browser import chromium, close_notes, opened, viewing
from fenced_plan import write_fenced_plan
from screenshots import CAMPAIGN, save_screenshot

from px4lockstep.campaigns.run import run_campaign
from px4lockstep.flights.branch import branch
from px4lockstep.flights.run import simulate

WIDTH, HEIGHT = 1440, 860
DRAWN_MS = 6_000
"""Until the last frame is drawn, without a graphics card."""


def shoot(browser, words, name, keys=(), ready="#px4lockstep-time"):
    """View runs or a campaign, press keys, and take a screenshot."""
    with viewing(*map(str, words)) as (url, _):
        page, problems = opened(browser, url, width=WIDTH, height=HEIGHT)
        page.wait_for_selector(ready)
        close_notes(page)
        for key in keys:
            page.keyboard.press(key)
        save_screenshot(page, problems, name, wait_ms=DRAWN_MS, colours=256)


def main():
    """Fly what the screenshots show, and take them."""
    with TemporaryDirectory() as temporary, chromium() as browser:
        folder = Path(temporary)
        simulate("x500").save(folder / "x500", plots=False)
        shoot(browser, [folder / "x500"], "view_flight.png", ["Shift+L"] * 33)
        events = [{"at_s": 25.0, "action": "disable_motor", "motor": 2}]
        simulate("x500", overrides={"scenario.events": events}).save(folder / "motor_2_off", plots=False)
        shoot(browser, [folder / "motor_2_off"], "view_follow.png", ["n", "n", "n", "Shift+J", "f"])
        changed = {"environment.wind_mean_ned": [9.0, 6.0, 0.0]}
        [windy] = branch(folder / "x500", 30.0, overrides=changed)
        windy.run.save(folder / "windy", plots=False)
        words = [folder / "x500", folder / "windy", "--spread", "7"]
        shoot(browser, words, "view_branch.png", ["Shift+L"] * 35)
        fenced = {"px4.mission_path": str(write_fenced_plan(folder / "fenced.plan"))}
        simulate("x500", overrides=fenced).save(folder / "fenced", plots=False)
        shoot(browser, [folder / "fenced"], "view_fence.png", ["Shift+L"] * 27)
        run_campaign(CAMPAIGN, out=folder / "motor_loss", runs=300, trust=True)
        shoot(browser, [folder / "motor_loss", "--trust"], "view_campaign.png", (), "text=Fly this run again")


if __name__ == "__main__":
    main()
