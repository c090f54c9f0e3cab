"""The viewer in headless Chromium: load, play, cursor, events, keys, and the exported page without network."""

import re
import signal
import time
from dataclasses import replace

import pytest
import viser
from browser import WAIT_MS, close_notes, opened, viewing
from campaign_files import write_campaign
from commands import run_command
from crashed_flight import save_crash
from scattered import pixel_of_run, write_many_rows
from viewed import made_flight, served

from px4lockstep import simulate
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.page import FlightPage

pytestmark = pytest.mark.process

TIME = "#px4lockstep-time"
OVER = "() => { const r = document.querySelector('.u-over').getBoundingClientRect(); return [r.left, r.width]; }"
IS_GRID = """(() => { let found = false; window.__viserMutable.scene.traverseVisible(
    node => { found ||= node.material?.uniforms?.shadowOpacity !== undefined; }); return found; })()"""
"""Whether the ground is drawn as a plane that shows shadows."""
FRAME = """() => new Promise(done => requestAnimationFrame(first => requestAnimationFrame(
    second => requestAnimationFrame(third => done((third - first) / 2)))))"""
"""Milliseconds that the browser takes for a frame: here it has no graphics card and shares the processor."""
CURSOR = "() => document.querySelector('.px4lockstep-cursor').getBoundingClientRect().left + 1"


CAMERA = "() => window.__viserMutable.camera.position.toArray()"
"""Where the camera is; viser offers it to tests."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A flight that crashes."""
    return save_crash(tmp_path_factory.mktemp("runs"))


def shown_s(page):
    """Return the time that the page shows."""
    return float(page.inner_text(TIME).removesuffix(" s"))


def wait_for_time(page, text):
    """Wait until the page shows a time."""
    page.wait_for_function("([place, text]) => document.querySelector(place)?.textContent === text", arg=[TIME, text])


def check_cursor(page):
    """Check that the cursor is at the time that is shown, to 2 pixels."""
    left, width = page.evaluate(OVER)
    end_s = float(page.get_by_role("slider").first.get_attribute("aria-valuemax"))
    assert page.evaluate(CURSOR) == pytest.approx(left + width * shown_s(page) / end_s, abs=2.0)


def test_play_moves_the_vehicle_the_cursor_follows_events_jump_and_keys_work(browser, run):
    """One page for all, because a browser draws without a graphics card here; Ctrl-C ends the command with 0."""
    with viewing(str(run)) as (url, command):
        page, problems = opened(browser, url)
        page.wait_for_selector(".px4lockstep-cursor", state="attached")
        assert page.inner_text(TIME) == "0.000000 s"
        page.wait_for_selector("canvas")
        assert page.locator(".tabler-icon-share").count() == 0  # viser's button to publish the page on the internet

        page.wait_for_function("document.querySelectorAll('[role=option]').length > 200")  # columns to plot

        page.get_by_role("button", name="motor 2 off").click()
        wait_for_time(page, "6.000000 s")
        check_cursor(page)
        before = page.locator("canvas").first.screenshot()
        page.keyboard.press("Home")
        wait_for_time(page, "0.000000 s")
        check_cursor(page)
        page.wait_for_timeout(300)
        assert page.locator("canvas").first.screenshot() != before  # the vehicle has moved

        page.get_by_role("button", name="Play").click()
        page.wait_for_function(f"parseFloat(document.querySelector('{TIME}').textContent) > 0.3")
        page.keyboard.press("Space")  # with the focus on the button, which must not play again
        page.wait_for_selector("button:has-text('Play')")
        stopped_s = shown_s(page)
        check_cursor(page)
        page.wait_for_timeout(400)
        assert shown_s(page) == stopped_s > 0.3

        camera = page.evaluate(CAMERA)
        for key, text in (
            ("Home", "0.000000 s"),
            ("Shift+L", "1.000000 s"),
            ("l", "1.020000 s"),
            ("u", "1.020001 s"),
            ("j", "1.020000 s"),
            ("Shift+U", "1.019999 s"),
            ("n", "2.000000 s"),
            ("p", "1.000000 s"),
        ):
            page.keyboard.press(key)
            wait_for_time(page, text)
        assert page.evaluate(CAMERA) == camera  # keys of the time do not turn it
        entry = page.get_by_label("Time [s]")
        entry.fill("4.567891")
        entry.press("Enter")
        wait_for_time(page, "4.567891 s")

        page.get_by_role("tab", name="View").click()
        page.get_by_role("checkbox", name="Shadows").check()
        page.wait_for_function(IS_GRID)
        page.get_by_role("checkbox", name="Shadows").uncheck()
        page.wait_for_function(f"!({IS_GRID})")
        assert problems == []
        command.send_signal(signal.SIGINT)
        assert command.wait(60) == 0
        page.context.close()


def test_plots_of_flights_that_start_at_different_times_have_lines(browser):
    """Where the first flight has no values, the plot has a gap, and still finds its scale: 300 pixels have a colour."""
    with served() as server:
        FlightPage(server, Inbox(), [replace(made_flight("late"), shift_us=500_000), made_flight("early")])
        page, problems = opened(browser, f"http://127.0.0.1:{server.get_port()}")
        page.wait_for_selector(".uplot canvas")
        page.wait_for_function(
            """() => { const canvas = document.querySelector('.uplot canvas');
                const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                let count = 0;
                for (let i = 0; i < data.length; i += 4) {
                    const shades = [...data.slice(i, i + 3)];
                    count += Math.max(...shades) - Math.min(...shades) > 60 && data[i + 3] > 128;
                }
                return count > 300; }""",
            timeout=30_000,
        )
        assert problems == []
        page.context.close()


def test_the_exported_page_plays_from_a_file_without_network(browser, run, tmp_path):
    """It loops through the flight by itself; the space bar pauses it."""
    written = run_command("view", str(run), "--html", str(tmp_path / "fault.html"))
    assert written.returncode == 0, written.stderr
    page, problems = opened(browser, f"file://{tmp_path}/fault.html", offline=True)
    assert page.title() == "fault"
    page.wait_for_selector("#px4lockstep-legend")
    clock = page.locator("input").first
    page.wait_for_function("parseFloat(document.querySelector('input').value) > 0.2")
    page.keyboard.press("Space")
    page.wait_for_timeout(300)
    stopped = clock.input_value()
    page.wait_for_timeout(500)
    assert clock.input_value() == stopped
    page.wait_for_selector("canvas")
    assert problems == []
    page.context.close()


SPY = """url => new Promise(done => {
    const socket = new WebSocket(url, 'PROTOCOL');
    socket.onmessage = () => done('read'); socket.onclose = event => done(`closed ${event.code}`);
})"""


def test_another_website_in_the_same_browser_can_not_connect(browser, run):
    """A page of another site opens a WebSocket to the viewer: 1006 is a handshake that was refused."""
    with viewing(str(run)) as (url, _):
        page, _ = opened(browser, url)
        page.wait_for_selector(TIME)
        page.route("http://website.example/", lambda route: route.fulfill(body="a website", content_type="text/html"))
        spy = SPY.replace("PROTOCOL", f"viser-v{viser.__version__}")
        address = url.replace("http", "ws")
        assert page.evaluate(spy, address) == "read"  # the viewer's own page
        page.goto("http://website.example/")
        assert page.evaluate(spy, address) == "closed 1006"
        page.context.close()


def cpu_s(pid):
    """Return the processor time of a process."""
    with open(f"/proc/{pid}/stat") as file:
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / 100.0


@pytest.mark.slow
def test_a_flight_of_20_minutes_opens_and_scrubs_fluently(browser, tmp_path, record_property):
    """3 s of processor time to open; less than 100 ms and a frame from an input to the new time, in the best of 40.

    Times of a clock on the wall are recorded only (`--junit-xml`): on a busy machine they say little.
    """
    simulate("iris_long").save(tmp_path / "long", plots=False)
    started = time.perf_counter()
    with viewing(str(tmp_path / "long"), is_fresh=True) as (url, command):
        page, problems = opened(browser, url)
        page.wait_for_selector(TIME)
        opened_s, used_s = time.perf_counter() - started, cpu_s(command.pid)
        assert used_s < 3.0
        frame_ms, waits_ms = page.evaluate(FRAME), []
        for i in range(40):
            want = f"{30 * (i + 1)}.000000 s"
            entry = page.get_by_label("Time [s]")
            waits_ms.append(
                page.evaluate(
                    """([place, want, input, value]) => new Promise(done => {
                        const start = performance.now();
                        const look = () => document.querySelector(place).textContent === want
                            ? done(performance.now() - start) : setTimeout(look, 1);
                        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, value);
                        input.dispatchEvent(new Event('input', {bubbles: true}));
                        look();
                    })""",
                    [TIME, want, entry.element_handle(), str(30 * (i + 1))],
                )
            )
        record_property("opened", f"{opened_s:.1f} s, {used_s:.1f} s of CPU")
        waits_ms.sort()
        scrub = f"median {waits_ms[20]:.0f} ms, longest {waits_ms[-1]:.0f} ms, frame {frame_ms:.0f} ms"
        record_property("scrub", scrub)
        assert min(waits_ms) < 100.0 + frame_ms
        assert problems == []
        page.context.close()


@pytest.mark.slow
def test_a_click_on_a_point_of_a_campaign_flies_that_run(browser, tmp_path):
    """The run with index 3 is clicked where the camera shows it; its flight appears, and the key B leads back."""
    folder = tmp_path / "flown"
    flown = run_command("campaign", "run", str(write_campaign(tmp_path)), "--out", str(folder), "--no-plots")
    assert flown.returncode == 0, flown.stderr
    with viewing(str(folder), "--trust") as (url, _):
        page, problems = opened(browser, url)
        page.wait_for_selector("text=Fly this run again")
        close_notes(page)
        box = page.locator("canvas").first.bounding_box()
        pixel = pixel_of_run(folder, 3, box, ("environment.wind_mean_ned[0]", "energy_wh"))
        for _ in range(10):  # the first clicks may come before the points are drawn
            page.wait_for_timeout(3_000)
            page.mouse.click(*pixel)
            page.wait_for_timeout(3_000)
            if page.locator(TIME).count() or page.locator("text=flying run").count():
                break
        page.wait_for_selector(TIME)
        note = page.inner_text("text=identical to the run of the campaign")
        assert re.search(r"run 3: ", note)
        page.keyboard.press("b")
        page.wait_for_selector("text=Fly this run again")
        assert problems == []
        page.context.close()


@pytest.mark.slow
def test_a_campaign_of_1000_runs_opens_quickly(browser, tmp_path, record_property):
    """3 s of processor time; the rows are made, not flown."""
    folder = write_many_rows(tmp_path, 1_000)
    started = time.perf_counter()
    with viewing(str(folder), "--trust", is_fresh=True) as (url, command):
        page, problems = opened(browser, url)
        page.wait_for_selector("text=1000 runs", timeout=WAIT_MS)
        opened_s, used_s = time.perf_counter() - started, cpu_s(command.pid)
        record_property("opened", f"{opened_s:.1f} s, {used_s:.1f} s of CPU")
        assert used_s < 3.0
        assert problems == []
        page.context.close()
