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
        return address_of(self.instance)

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


def address_of(instance):
    """Return the address of a vehicle's link to applications, for MAVSDK."""
    return f"udpout://127.0.0.1:{ports_of(instance)[1].bound}"


def start_client(*words, python=sys.executable):
    """Start a client in a process group of its own; return it and the file of its output.

    The output goes to a file, because MAVSDK's server outlives its client and would keep a pipe open.
    """
    output = tempfile.TemporaryFile("w+")  # noqa: SIM115 - `end_client` closes it
    words = [python, "-W", "ignore", *map(str, words)]
    return subprocess.Popen(words, start_new_session=True, stdout=output, stderr=subprocess.STDOUT), output


def end_client(process, output, timeout_s=200.0):
    """Wait for a client, end everything in its process group, and return what it printed."""
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        code = f"not within {timeout_s:.0f} s"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    with output:
        output.seek(0)
        said = output.read()
    assert code == 0, f"exit code {code}: {said}"
    return said


def run_client(*words, python=sys.executable):
    """Run a client; return what it printed."""
    return end_client(*start_client(*words, python=python))


def start_flows(address, *names):
    """Start flows of MAVSDK 3 with the vehicle at an address; return the process and the file of its output."""
    return start_client(FLOWS, ",".join(names), address, free_tcp_port())


def run_flows(served, *names):
    """Run flows of MAVSDK 3 with a vehicle; return what the client printed."""
    return end_client(*start_flows(served.address, *names))
