"""Information about other processes on Linux."""

import contextlib
import time
from pathlib import Path

PATIENCE_S = 60.0


def wait_until(is_so):
    """Wait until a condition is true."""
    start_s = time.monotonic()
    while not is_so():
        assert time.monotonic() - start_s < PATIENCE_S
        time.sleep(0.01)


def stat_of(pid):
    """Return state and parent of a process from /proc; None if it does not exist."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        state, parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
        return state, int(parent)
    return None


def children_of(pid):
    """Return the child processes of a process."""
    there = {int(path.name): stat_of(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()}
    return [child for child, stat in there.items() if stat is not None and stat[1] == pid]


def is_gone(pid):
    """Return whether a process has ended, even if it has not been reaped."""
    stat = stat_of(pid)
    return stat is None or stat[0] == "Z"
