"""Workers of a Dask cluster: `pip install px4lockstep[dask]`.

A worker that is lost loses nothing but time: the scheduler gives its run to another. Each worker process flies one run
at a time, however many threads it has.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from px4lockstep.campaigns.campaign import Campaign, Sent
from px4lockstep.campaigns.flyer import fly_run
from px4lockstep.campaigns.result_rows import Executor, Job, Row, lost
from px4lockstep.errors import InputError
from px4lockstep.processes import STOPS

AHEAD = 2
"""Runs that are with the scheduler for each thread of a worker, so that none waits for the next."""
TIMEOUT_S = 10.0

_one_at_a_time = threading.Lock()


def fly_alone(campaign: Sent, index: int, inputs: dict[str, Any]) -> Row:
    """Fly a run in a worker of the cluster."""
    with _one_at_a_time:
        return fly_run(campaign, index, inputs)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C and SIGHUP, which a terminal sends to all: they finish what they fly."""
    if threading.current_thread() is not threading.main_thread():  # who has no say in signals
        yield
        return
    # Dask itself ends them by SIGTERM.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOPS if number != signal.SIGTERM}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class DaskExecutor(Executor):
    """A Dask cluster: that of a scheduler, or one with so many processes that is started on this machine."""

    def __init__(self, campaign: Campaign, scheduler: str | None, workers: int) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                "the engine dask needs Dask's distributed, which is not installed: pip install 'px4lockstep[dask]'"
            ) from error
        self._campaign = campaign
        self._cluster = None
        if scheduler is None:
            with _ignoring_interrupts():
                self._cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        try:
            self._client: Client = Client(self._cluster or scheduler, timeout=TIMEOUT_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise InputError(
                f"there is no Dask scheduler at {scheduler}: {error}; start one with `dask scheduler`, and "
                "`dask worker` where flights are to be flown"
            ) from error

    def __exit__(self, *_: object) -> None:
        """Leave the cluster; one that was started here ends."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def rows(self, jobs: Iterator[Job]) -> Iterator[Row]:
        """Fly jobs and yield their rows."""
        from distributed import as_completed

        sent, identity = self._campaign.sent, self._campaign.identity[:16]
        flying: dict[Any, Job] = {}
        # With its result, which is fetched at once: one that its worker takes with it is computed anew.
        waiting = as_completed(loop=self._client.loop, with_results=True, raise_errors=False)

        def submit(count: int) -> None:
            for _ in range(count):
                job = next(jobs, None)
                if job is None:
                    return
                future = self._client.submit(fly_alone, sent, *job, key=f"{identity}-{job[0]}", pure=False)
                flying[future] = job
                waiting.add(future)

        submit(self._room())
        for future, result in waiting:
            job = flying.pop(future)
            # The scheduler gives a run up after several workers that flew it were lost.
            yield result if isinstance(result, Row) else lost(job, f"was lost ({future.exception()})")
            submit(max(1, self._room() - len(flying)))

    def _room(self) -> int:
        return AHEAD * max(1, sum(int(count) for count in self._client.nthreads().values()))
