"""A first compilation says so; later starts don't."""

import textwrap
from types import MappingProxyType, SimpleNamespace

import pytest

from px4lockstep.jit.progress import write_notice

SCRIPT = """
    import time

    import px4lockstep.jit.progress as progress
    from px4lockstep.jit import kernel

    progress.LINE_AFTER_S = -1.0  # say it however fast this compiles

    @kernel
    def inner(x):
        return x + 1.0

    @kernel
    def outer(x):
        return inner(x) * 2.0

    print(outer(1.0))
"""


class Terminal:
    """Keeps what is written to it."""

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


class Event:
    """Of Numba: a compilation begins or ends."""

    data = MappingProxyType({"dispatcher": SimpleNamespace(py_func=write_notice)})


@pytest.fixture
def run(tmp_path, python):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))

    def start(quiet="0"):
        return python(script, PX4LOCKSTEP_CACHE_DIR=tmp_path / "cache", PX4LOCKSTEP_QUIET=quiet)

    return start


def test_the_first_start_says_that_it_compiles_and_the_second_is_silent(run):
    """On standard error, so that output for machines stays clean."""
    first, second = run(), run()
    assert first.stdout == second.stdout == "4.0\n"
    assert "compiling for this machine, once per installation" in first.stderr
    assert "px4lockstep: compiled in" in first.stderr
    assert second.stderr == ""


def test_quiet_is_quiet(run):
    """By PX4LOCKSTEP_QUIET=1."""
    assert run(quiet="1").stderr == ""


def test_what_is_compiled_together_is_said_once(monkeypatch):
    """The loop's parts are compiled one after the other; to a user that is one wait."""
    from px4lockstep.jit import progress

    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setattr(progress, "LINE_AFTER_S", -1.0)
    monkeypatch.setenv("PX4LOCKSTEP_QUIET", "0")
    reporter = progress.CompileReporter()
    with reporter.together():
        for _ in range(3):
            reporter.on_start(Event)
            reporter.on_end(Event)
        assert "compiled in" not in terminal.text
    assert terminal.text.count("once per installation") == terminal.text.count("compiled in") == 1


def test_on_a_terminal_there_is_a_progress_line(monkeypatch):
    """Which names the kernel and how many there are."""
    from px4lockstep.jit import progress

    terminal = Terminal()
    monkeypatch.setattr(progress.sys, "stderr", terminal)
    monkeypatch.setattr(progress, "LINE_AFTER_S", -1.0)
    monkeypatch.setenv("PX4LOCKSTEP_QUIET", "0")
    reporter = progress.CompileReporter()
    reporter.kernel_count = 3
    reporter.on_start(Event)
    reporter.on_start(Event)
    reporter.on_end(Event)
    reporter.on_end(Event)
    text = terminal.text
    assert "2 of 3 kernels  jit.progress.write_notice" in text
    assert text.count("compiled in") == 1
