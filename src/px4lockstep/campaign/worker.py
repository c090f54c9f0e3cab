"""A process that flies runs of a campaign.

python -m px4lockstep.campaign.worker FD

FD is one end of a pipe, as `multiprocessing.connection.Pipe` makes it: the campaign comes first, then jobs, and for
each its row goes back. It ends when the other end is closed.
"""

import sys
from multiprocessing.connection import Connection

from px4lockstep.campaign.flyer import fly_run


def work(pipe: "Connection[object, tuple[int, dict[str, object]]]") -> None:
    """Fly what comes."""
    try:
        campaign = str(pipe.recv())
        while True:
            index, inputs = pipe.recv()
            pipe.send(fly_run(campaign, index, inputs))
    except (EOFError, OSError):
        return


if __name__ == "__main__":
    work(Connection(int(sys.argv[1])))
