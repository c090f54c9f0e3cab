"""The first compilation is reported; later starts are silent."""

import re
import textwrap
import time
from types import MappingProxyType, SimpleNamespace

import pytest

from px4lockstep.jit.progress import write_notice

SCRIPT = """
    import px4lockstep.jit.progress as progress
    from px4lockstep.jit import kernel

    progress.LINE_AFTER_S = -1.0  # report even a fast compilation

    @kernel
    def inner(x):
        return x + 1.0

    @kernel
    def outer(x):
        return inner(x) * 2.0

    print(outer(1.0))
"""


class Terminal:
    """A stream, by default a terminal, that stores what is written to it."""

    def __init__(self, is_terminal=True):
        self.text = ""
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def write(self, text):
        self.text += text

    def flush(self):
        pass


class Event:
    """A Numba event: a compilation starts or ends."""

    data = MappingProxyType({"dispatcher": SimpleNamespace(py_func=write_notice)})


@pytest.fixture
def run(tmp_path, python):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))

    def start(quiet="0"):
        return python(script, PX4LOCKSTEP_CACHE_DIR=tmp_path / "cache", PX4LOCKSTEP_QUIET=quiet)

    return start


def test_the_first_start_reports_compiling_and_the_second_is_silent(run):
    """The report goes to standard error, here a pipe, so that standard output stays machine-readable."""
    first, second = run(), run()
    assert first.stdout == second.stdout == "4.0\n"
    first_line, last_line = first.stderr.splitlines()
    assert first_line == "px4lockstep: compiling for this machine, once per installation ..."
    assert last_line.startswith("px4lockstep: compiled in")
    assert second.stderr == ""


def test_quiet_turns_the_report_off(run):
    """PX4LOCKSTEP_QUIET=1 turns the report off."""
    assert run(quiet="1").stderr == ""


@pytest.fixture
def reporter(monkeypatch):
    """Return a factory for a reporter and the stream that it writes to."""
    from px4lockstep.jit import progress

    def make(is_terminal=True):
        terminal = Terminal(is_terminal)
        monkeypatch.setattr(progress.sys, "stderr", terminal)
        return progress.CompileReporter(), terminal

    monkeypatch.setattr(progress, "LINE_AFTER_S", -1.0)
    monkeypatch.setenv("PX4LOCKSTEP_QUIET", "0")
    return make


def test_kernels_that_are_compiled_together_are_reported_once(reporter):
    """The parts of the loop are compiled one after the other; for the user that is one wait."""
    own, terminal = reporter()
    with own.together("about 40 s on two cores"):
        for _ in range(3):
            own.on_start(Event)
            own.on_end(Event)
        assert "compiled in" not in terminal.text
    assert terminal.text.count("once per installation (about 40 s on two cores) ...") == 1
    assert terminal.text.count("compiled in") == 1


def test_a_terminal_shows_a_progress_line(reporter):
    """It names the kernel and counts the kernels."""
    own, terminal = reporter()
    own.on_start(Event)
    own.on_start(Event)
    own.on_end(Event)
    own.on_end(Event)
    assert "2 kernels so far  jit.progress.write_notice" in terminal.text
    assert terminal.text.count("compiled in") == 1


def test_a_long_compilation_prints_a_sign_of_life_to_a_pipe(reporter, monkeypatch):
    """A line at the start, one per heartbeat, one at the end: a silent CI job looks as if it hangs."""
    from px4lockstep.jit import progress

    assert progress.HEARTBEAT_S <= 15.0
    monkeypatch.setattr(progress, "HEARTBEAT_S", 0.02)
    own, pipe = reporter(is_terminal=False)
    own.on_start(Event)
    deadline_s = time.monotonic() + 30.0
    while pipe.text.count("still compiling") < 3 and time.monotonic() < deadline_s:
        time.sleep(0.01)
    own.on_end(Event)
    first, *beats, last = pipe.text.splitlines()
    assert first == "px4lockstep: compiling for this machine, once per installation ..."
    assert len(beats) >= 3
    assert all(re.fullmatch(r"px4lockstep: still compiling after \d+ s \(1 kernels so far\)", line) for line in beats)
    assert last.startswith("px4lockstep: compiled in")
    assert own._heart is None


def test_a_compilation_without_nested_ones_is_announced(reporter, monkeypatch):
    """Its only event comes before `LINE_AFTER_S` has elapsed."""
    from px4lockstep.jit import progress

    monkeypatch.setattr(progress, "LINE_AFTER_S", 0.02)
    own, pipe = reporter(is_terminal=False)
    own.on_start(Event)
    deadline_s = time.monotonic() + 30.0
    while not pipe.text and time.monotonic() < deadline_s:
        time.sleep(0.01)
    own.on_end(Event)
    assert [line[:24] for line in pipe.text.splitlines()] == ["px4lockstep: compiling f", "px4lockstep: compiled in"]
