"""Served vehicles and their clients in processes of their own."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

from px4lockstep.service.endpoint import ports_of

FLOWS = Path(__file__).parent / "mavsdk_flows.py"
READY = "Ctrl-C ends the service"
WAIT_S = 120.0


class ServedProcess:
    """A process of `px4lockstep serve`, with what it has printed."""

    def __init__(self, process, instance):
        self.process, self.instance = process, instance
        self.output = ""

    @property
    def address(self):
        """The address of the link to applications, for MAVSDK."""
        return f"udpout://127.0.0.1:{ports_of(self.instance)[1].bound}"

    def end(self, number=signal.SIGINT):
        """End the service; return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
            rest, _ = self.process.communicate(timeout=WAIT_S)
            self.output += rest
        return self.process.returncode


@contextmanager
def served_process(instance, *options, spec="x500", record=None):
    """Serve a vehicle until the end of the block."""
    recording = ["--no-record"] if record is None else ["--record", str(record)]
    words = [sys.executable, "-m", "px4lockstep", "serve", spec, "--instance", str(instance), *recording, *options]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(words, start_new_session=True, **pipe) as process:
        served = ServedProcess(process, instance)
        try:
            for line in process.stdout:
                served.output += line
                if READY in line:
                    break
            else:
                raise AssertionError(served.output)
            yield served
            served.end()
        finally:
            if process.poll() is None:
                process.kill()


def free_tcp_port():
    """Return a TCP port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_client(*words, python=sys.executable, timeout_s=200.0):
    """Run a client in a process group of its own, which is ended with everything in it; return what it printed.

    Its output goes to a file, because MAVSDK's server outlives it and would keep a pipe open.
    """
    with tempfile.TemporaryFile("w+") as output:
        words = [python, "-W", "ignore", *map(str, words)]
        process = subprocess.Popen(words, start_new_session=True, stdout=output, stderr=subprocess.STDOUT)
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            code = f"not within {timeout_s:.0f} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        said = output.read()
    assert code == 0, f"exit code {code}: {said}"
    return said


def run_flows(served, *names):
    """Run flows of MAVSDK 3 with a vehicle; return what the client printed."""
    return run_client(FLOWS, ",".join(names), served.address, free_tcp_port())
