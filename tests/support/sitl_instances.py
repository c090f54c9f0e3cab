"""Stock PX4 instances reserved for one test process, and checks that a flight leaves nothing behind."""

import fcntl
import os
import socket
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

from processes import is_gone, wait_until

from px4lockstep.autopilots.kinds import SITL_INSTANCES

PORTS = ((socket.SOCK_STREAM, 4560), *((socket.SOCK_DGRAM, port) for port in (14030, 14280, 14580, 18570)))
"""Ports of instance 0: the host's for simulator and API, and PX4's for payload, API and ground stations."""


@contextmanager
def own_instance():
    """Reserve an instance with a lock, from the last down; flights that use the first free one don't reach it.

    Tests that check a flight's ports need one, because another test process could use any other instance at any time.
    """
    for number in reversed(range(SITL_INSTANCES)):
        with (Path(tempfile.gettempdir()) / f"px4lockstep-tests-instance-{number}").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield number
            return
    raise AssertionError("tests of other processes have all instances")


def check_ports_are_free(instance):
    """Check that all ports of an instance can be bound at once."""
    for kind, port in PORTS:
        with socket.socket(socket.AF_INET, kind) as again:
            if kind == socket.SOCK_STREAM:  # like the host's server: closed links linger
                again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind(("127.0.0.1", port + instance))


def check_nothing_is_left(folder, instance):
    """Check that no process and no port of a flight is left; `folder` is PX4's folder."""
    for name in ("pid", "child"):
        path = Path(folder) / "px4" / name
        if path.exists():
            pid = int(path.read_text())
            wait_until(lambda pid=pid: is_gone(pid))  # a kill takes some time
    check_ports_are_free(instance)


class Ended:
    """Records what this process has open before a flight, to check that nothing more is open afterwards."""

    def __init__(self, instance):
        self.instance = instance
        self._threads, self._files = set(threading.enumerate()), _files()

    def check(self, sitl, folder):
        """Check that no process, port, file or thread of the flight is left."""
        assert sitl.process_id is None
        assert sitl.instance == self.instance
        assert set(threading.enumerate()) <= self._threads
        assert _files() <= self._files
        check_nothing_is_left(folder, self.instance)


def _files():
    """Return the open files from /proc: `socket:[123]`, or a path."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except FileNotFoundError:  # the folder's own descriptor
            continue
    return found
