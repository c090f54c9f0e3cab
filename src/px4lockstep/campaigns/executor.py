"""What flies the runs of a campaign: an executor takes jobs and gives their rows, in any order.

`local` has processes of this machine, `dask_cluster` those of a Dask cluster; both call `fly_run`. An
executor asks for a job when it has somebody to fly it, and not before.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

from px4lockstep.campaigns.result_rows import Row

Job = tuple[int, dict[str, Any]]
"""The index of a run and its inputs."""

MAX_ATTEMPTS = 2
"""How often a run is begun. Who is killed by chance is not killed twice."""


class Executor(Protocol, AbstractContextManager["Executor"]):
    """Flies jobs."""

    def rows(self, jobs: Iterator[Job]) -> Iterator[Row]:
        """Fly jobs, as many at a time as there are workers, and yield the row of each when it is there."""


def lost(job: Job, how: str) -> Row:
    """Return the row of a run whose worker was lost each time."""
    index, inputs = job
    remedy = "; fly it by itself: px4lockstep campaign rerun" if index >= 0 else ""
    return Row.failed(index, inputs, f"its worker {how}, {MAX_ATTEMPTS} times{remedy}")
