"""Headless Chromium for tests of the viewer and of reports; tests that need it are skipped where there is none."""

import contextlib
import shutil
import socket
import subprocess
import sys
import time

import pytest
from commands import start_command

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
)
"""Without a graphics card, WebGL is drawn by SwiftShader, and pages without it; and the browser must not call home."""
WAIT_MS = 120_000
"""What must happen does so within seconds, but the machine may be busy."""


@contextlib.contextmanager
def chromium():
    """Start Chromium, or skip the test."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("Chromium is not installed, so the viewer is not tested in a browser: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def viewing(*words, is_fresh=False):
    """Run `px4lockstep view` on a free port; yield the page's address and the command.

    If it is fresh, it runs in an interpreter of its own, whose processor time includes all imports.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ("view", *words, "--no-browser", "--port", str(port))
    command = subprocess.Popen([sys.executable, "-m", "px4lockstep", *words]) if is_fresh else start_command(*words)
    try:
        end_s = time.monotonic() + WAIT_MS / 1e3
        while time.monotonic() < end_s and command.poll() is None:
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        assert command.poll() is None, command.returncode
        yield f"http://127.0.0.1:{port}", command
    finally:
        command.kill()
        command.wait()
        if not is_fresh:
            command.close()


def opened(browser, url, *, width=1000, height=560, offline=False):
    """Open a page; return it and the list of its problems: errors, and requests to other servers."""
    context = browser.new_context(viewport={"width": width, "height": height}, offline=offline)
    context.set_default_timeout(WAIT_MS)
    page, problems = context.new_page(), []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: problems.append(request.url) if _is_foreign(request.url) else None)
    page.goto(url)
    return page, problems


def close_notes(page):
    """Close the note of viser that there is no graphics card, which lies over the scene."""
    page.locator(".mantine-Notification-closeButton").first.click()


def _is_foreign(url):
    return not url.startswith(("data:", "blob:", "file:", "http://127.0.0.1:", "ws://127.0.0.1:"))
