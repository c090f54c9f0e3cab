"""Child processes: how they are started, watched and ended, and how their end is reported."""

import os
import signal
import subprocess
import sys

import pytest
from processes import is_gone, wait_until

from px4lockstep.errors import InputError
from px4lockstep.processes import Interpreter, ask_child, crash_of, is_crash, name_of

pytestmark = pytest.mark.process


@pytest.fixture
def module(tmp_path):
    """Return a function that starts `own_module.py` with the given source."""
    started = []

    def run(code, *arguments):
        (tmp_path / "own_module.py").write_text(code, "utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        started.append(Interpreter.start("own_module", arguments, environment=environment))
        return started[-1]

    yield run
    for process in started:
        if process.process.returncode is None:
            process.kill()


def test_an_interpreter_returns_its_exit_code_and_standard_error(module):
    """With the given arguments and environment; standard output is discarded."""
    process = module("import sys\nprint('out')\nprint(sys.argv[1:], file=sys.stderr)\nsys.exit(3)", "a", "b c")
    assert process.wait() == 3
    assert process.said() == "['a', 'b c']"
    process.close()


def test_an_interpreter_is_killed_with_its_children(module):
    """It has its own session, so that Ctrl-C in the terminal does not reach it."""
    process = module(
        "import subprocess, sys, time\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(inner.pid, file=sys.stderr, flush=True)\ntime.sleep(600)"
    )
    assert process.wait(0.01) is None
    wait_until(process.said)
    inner = int(process.said())
    assert os.getsid(process.process.pid) == process.process.pid
    process.kill()
    assert process.process.returncode == -signal.SIGKILL
    wait_until(lambda: is_gone(inner))


@pytest.mark.parametrize(
    ("heeds", "code"),
    [("signal.SIG_DFL", -signal.SIGTERM), ("signal.SIG_IGN", -signal.SIGKILL)],
    ids=["told", "killed"],
)
def test_an_interpreter_that_does_not_end_is_terminated_then_killed(module, heeds, code):
    """With a grace period before each."""
    process = module(
        f"import signal, sys, time\nsignal.signal(signal.SIGTERM, {heeds})\n"
        "print('ready', file=sys.stderr, flush=True)\ntime.sleep(600)"
    )
    wait_until(process.said)
    process.end(0.05, 0.5)
    assert process.process.returncode == code


def test_a_missing_interpreter_is_an_os_error():
    """The caller adds the context."""
    with pytest.raises(FileNotFoundError):
        Interpreter.start("this", [], python="/no/such/python")


def test_a_child_ends_with_its_parent(tmp_path):
    """A forked child, even if it is busy."""
    code = (
        "import os, time\nfrom px4lockstep.processes import fork_child\n"
        "child = fork_child()\n"
        "if child:\n    print(child, flush=True)\ntime.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert not is_gone(child)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    wait_until(lambda: is_gone(child))


def test_a_child_returns_an_answer_or_an_error():
    """Its end is an exit code, or the signal that ended it."""

    def refuse():
        raise InputError("not like this")

    assert ask_child(lambda: "an answer") == (0, "an answer")
    assert ask_child(refuse) == (1, "not like this")
    code, text = ask_child(lambda: str(1 / 0))
    assert code == 1
    assert "ZeroDivisionError" in text
    assert ask_child(lambda: str(os.kill(os.getpid(), signal.SIGKILL))) == (-signal.SIGKILL, "")


def test_signals_are_named_in_messages():
    """A crash is called a crash."""
    assert name_of(signal.SIGSEGV) == "SIGSEGV"
    assert name_of(63) == "a real-time signal"
    assert is_crash(signal.SIGABRT)
    assert not is_crash(signal.SIGKILL)
    assert crash_of(11) == "PX4's library crashed: SIGSEGV (signal 11, segmentation fault) has ended its process"
    assert crash_of(9).startswith("SIGKILL (signal 9, killed) has ended the process that PX4 ran in: it was killed, or")
