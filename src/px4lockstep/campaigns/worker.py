"""A process that flies runs of a campaign.

python -m px4lockstep.campaigns.worker FD

FD is one end of a pipe, as `multiprocessing.connection.Pipe` makes it: the campaign comes first, then jobs, and for
each its row goes back. It ends when the other end is closed; on SIGTERM, or, on Linux, when whoever started it has
ended, in the middle of a flight, of which nothing is left behind.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from px4lockstep.campaigns.flyer import fly_run
from px4lockstep.processes import ending_with


def work(pipe: "Connection[object, Any]") -> None:
    """Fly what comes."""
    try:
        campaign = pipe.recv()
        while True:
            index, inputs = pipe.recv()
            pipe.send(fly_run(campaign, index, inputs))
    except (EOFError, OSError):
        return


def end_when_told() -> None:
    """Make SIGTERM an exception, so that what a flight has open is closed; let the end of the parent send it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    ending_with(os.getppid(), signal.SIGTERM)()


if __name__ == "__main__":
    end_when_told()
    work(Connection(int(sys.argv[1])))
