"""Worker process that flies runs of a campaign.

python -m px4lockstep.campaigns.worker FD

FD is one end of a `multiprocessing.connection.Pipe`. The worker receives the campaign, then jobs, and sends back a row
for each job. It exits when the other end is closed. On SIGTERM, and on Linux when its parent exits, it aborts the
current flight and leaves nothing behind.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from px4lockstep.campaigns.flyer import fly_run
from px4lockstep.processes import ending_with


def work(pipe: "Connection[object, Any]") -> None:
    """Fly the jobs that arrive on the pipe."""
    try:
        campaign = pipe.recv()
        while True:
            index, inputs = pipe.recv()
            pipe.send(fly_run(campaign, index, inputs))
    except (EOFError, OSError):
        return


def end_when_told() -> None:
    """Turn SIGTERM into an exception, so that a flight cleans up; request SIGTERM when the parent exits."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    ending_with(os.getppid(), signal.SIGTERM)()


if __name__ == "__main__":
    end_when_told()
    work(Connection(int(sys.argv[1])))
