"""Workers of campaigns and determinism checks as forks of the process that starts them: this saves a second each.

`tests/campaigns/test_run.py` and `tests/flights/test_determinism.py` also use the interpreters that users get.
"""

import itertools
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings

from px4lockstep.processes import Interpreter

LOOK_S = 0.002
FRESH = Interpreter.start


class Forked:
    """A forked process, with the part of the interface of `subprocess.Popen` that `Interpreter` uses."""

    def __init__(self, pid):
        self.pid, self.returncode = pid, None

    def wait(self, timeout=None):
        """Wait for the end; return the exit code."""
        start_s = time.monotonic()
        while self.returncode is None:
            done, status = os.waitpid(self.pid, 0 if timeout is None else os.WNOHANG)
            if done:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif time.monotonic() - start_s > timeout:
                raise subprocess.TimeoutExpired("worker", timeout)
            else:
                time.sleep(LOOK_S)
        return self.returncode

    def poll(self):
        """Return the exit code; None while it runs."""
        try:
            return self.wait(0.0)
        except subprocess.TimeoutExpired:
            return None

    def terminate(self):
        """Request the end."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self):
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)


def start(module, arguments, *, python=sys.executable, environment=None, pass_fds=()):
    """Fork this process, unless another interpreter or other settings of Numba are requested."""
    environment = os.environ if environment is None else environment
    if python != sys.executable or any(name.startswith("NUMBA_") for name in environment):
        return FRESH(module, arguments, python=python, environment=environment, pass_fds=pass_fds)
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - `Interpreter.close` closes it
    environment = dict(environment)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # since Python 3.12; other threads of pytest only wait
        pid = os.fork()
    if pid == 0:
        _run(module, arguments, environment, pass_fds, errors.fileno())
    return Interpreter(Forked(pid), errors)


def _run(module, arguments, environment, pass_fds, errors):
    """Run a module like a fresh interpreter: with its files, environment and signal handlers only; never returns."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, file in enumerate((nothing, nothing, errors)):
            os.dup2(file, number)
        kept = [2, *sorted(pass_fds), os.sysconf("SC_OPEN_MAX")]
        for before, after in itertools.pairwise(kept):
            os.closerange(before + 1, after)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        tempfile.tempdir = None
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [module, *arguments]
        sys.modules.pop(module, None)  # it may have been imported
        runpy.run_module(module, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if isinstance(code, str):
            sys.stderr.write(f"{code}\n")
            code = 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
