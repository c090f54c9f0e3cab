"""Workers of campaigns as forks of the process that flies the campaign: this saves the start of an interpreter each.

`tests/campaigns/test_run.py` also flies campaigns with the fresh interpreters that users get.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from multiprocessing.connection import Connection

from px4lockstep.campaigns import local, worker
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

    def terminate(self):
        """Request the end."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self):
        """Kill it."""
        os.kill(self.pid, signal.SIGKILL)


def start(module, arguments, **options):
    """Start a worker by forking this process; start anything else as `Interpreter.start` does."""
    if module != local.MODULE:
        return FRESH(module, arguments, **options)
    [pipe] = options["pass_fds"]
    errors = tempfile.TemporaryFile()  # noqa: SIM115 - `Interpreter.close` closes it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 and newer; other threads of pytest only wait
        pid = os.fork()
    if pid == 0:
        _work(pipe, errors.fileno())
    return Interpreter(Forked(pid), errors)


def _work(pipe, errors):
    """Do what a worker does in an interpreter of its own, with its files and signal handlers only; exit."""
    code = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, file in enumerate((nothing, nothing, errors)):
            os.dup2(file, number)
        os.closerange(3, pipe)
        os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
        sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        tempfile.tempdir = None
        worker.end_when_told()
        worker.work(Connection(pipe))
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
