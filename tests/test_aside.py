"""Work in a forked child: its result, its failures, and stopping it."""

import os
import signal
import time

import pytest

import px4lockstep
from px4lockstep import aside
from px4lockstep.aside import Aside
from px4lockstep.flights.folder import PLOTS, RunFolder

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2, reason="needs a second core"
    ),
]


def is_gone(work):
    """Return whether the child has ended and was waited for."""
    try:
        os.waitpid(work._child, os.WNOHANG)
    except ChildProcessError:
        return True
    return False


def test_the_result_is_that_of_the_work():
    """Also if it is larger than a pipe holds; the child is another process and is waited for."""
    this = os.getpid()
    work = Aside.start(lambda: bytes([os.getpid() != this]) * 1_000_000)
    assert work.result() == b"\1" * 1_000_000
    assert work.result() is None
    work.stop()
    assert is_gone(work)


@pytest.mark.parametrize("failure", [ValueError("broken"), SystemExit(0), KeyboardInterrupt()])
def test_work_that_fails_has_no_result(failure):
    """The caller does it then."""

    def fail():
        raise failure

    work = Aside.start(fail)
    assert work.result() is None
    assert is_gone(work)


def test_a_child_that_is_killed_has_no_result():
    """Even if a part of the result was sent."""

    def send_half():
        os.kill(os.getpid(), signal.SIGKILL)
        return b"never"

    assert Aside.start(send_half).result() is None


def test_a_stopped_child_ends():
    """It is interrupted, so that it can clean up, and waited for; it does not react to Ctrl-C itself."""
    start_s = time.monotonic()
    work = Aside.start(lambda: time.sleep(60.0) or b"late")
    time.sleep(0.5)
    os.kill(work._child, signal.SIGINT)
    time.sleep(0.2)
    assert os.waitpid(work._child, os.WNOHANG) == (0, 0)
    work.stop()
    assert work.result() is None
    assert time.monotonic() - start_s < 30.0
    assert is_gone(work)


@pytest.mark.parametrize("reason", ["one core", "macOS", "no processes"])
def test_without_a_child_there_is_no_work_to_wait_for(monkeypatch, reason):
    """The caller does the work."""
    if reason == "one core":
        monkeypatch.setattr(aside.os, "sched_getaffinity", lambda _: {0})
    elif reason == "macOS":
        monkeypatch.setattr(aside.sys, "platform", "darwin")
    else:

        def refuse():
            raise BlockingIOError(11, "Resource temporarily unavailable")

        monkeypatch.setattr(aside.os, "fork", refuse)
    assert Aside.start(lambda: b"") is None


def test_the_figure_is_the_same_whoever_draws_it(tmp_path):
    """To the byte; a child that fails is replaced."""
    run = px4lockstep.simulate("x500", overrides={"timeline.t_end_s": 2.0})
    figures = []
    for name in ("child", "itself", "replaced"):
        folder = RunFolder.create(tmp_path / name, run.flight)
        drawing = folder.start_drawing(run) if name != "itself" else None
        if name == "replaced":
            drawing.stop()
        folder.draw(run, drawing)
        figures.append((tmp_path / name / PLOTS).read_bytes())
    assert figures[0].startswith(b"\x89PNG")
    assert figures[1:] == figures[:1] * 2
