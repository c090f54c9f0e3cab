"""Local executor: worker processes on this machine, each flying one run at a time.

Workers run in separate sessions, so Ctrl-C reaches only this process, which lets them finish their current runs. A
worker exits when the pipe to this process is closed.
"""

import os
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, cast

from px4lockstep.campaigns.campaign import Campaign, Sent
from px4lockstep.campaigns.result_rows import MAX_ATTEMPTS, Executor, Job, Row, lost
from px4lockstep.errors import SimulationError
from px4lockstep.processes import Interpreter, name_of

MODULE = "px4lockstep.campaigns.worker"
MAX_SHOWN = 2_000
PATIENCE_S = 1.0
"""Time allowed for a worker to exit after its pipe is closed."""
CLOSING_S = 4.0
"""Time allowed after SIGTERM; two seconds of it are for stock PX4 to stop."""


@dataclass
class Worker:
    """A worker process and its current job."""

    interpreter: Interpreter
    pipe: "Connection[Any, Any]"
    job: Job | None = None

    @classmethod
    def start(cls, campaign: Sent) -> "Worker":
        """Start a worker process."""
        try:
            ours, theirs = Pipe()
            try:
                with theirs:
                    interpreter = Interpreter.start(MODULE, [str(theirs.fileno())], pass_fds=[theirs.fileno()])
            except OSError:
                ours.close()
                raise
        except OSError as error:
            raise SimulationError(f"can't start a worker: {error.strerror}; use fewer --workers") from error
        with suppress(OSError):  # a dead worker is noticed when its row is received
            ours.send(campaign)
        return cls(interpreter, ours)

    def give(self, job: Job) -> None:
        """Send a job to the worker."""
        self.job = job
        with suppress(OSError):
            self.pipe.send(job)

    def take(self) -> Row | None:
        """Return the row of its job, or None if the worker has died."""
        self.job = None
        try:
            return cast(Row, self.pipe.recv())
        except (EOFError, OSError):
            return None

    def how_it_ended(self) -> str:
        """Describe how the worker exited."""
        code = self.interpreter.process.wait()
        if code < 0:
            return f"was killed by {name_of(-code)}"
        said = self.interpreter.said()[-MAX_SHOWN:]
        return f"exited with code {code}" + (f": {said}" if said else "")

    def end(self) -> None:
        """Stop the worker: close its pipe; if it does not exit, send SIGTERM, then kill it."""
        self.pipe.close()
        self.interpreter.end(PATIENCE_S, CLOSING_S)


@dataclass
class LocalExecutor(Executor):
    """Executor with worker processes on this machine."""

    campaign: Campaign
    workers: int
    _team: list[Worker] = field(default_factory=list)

    def __exit__(self, *_: object) -> None:
        """Stop all workers."""
        for worker in self._team:
            worker.pipe.close()  # all pipes first, so that the workers exit in parallel
        for worker in self._team:
            worker.end()
        self._team.clear()

    def rows(self, jobs: Iterator[Job]) -> Iterator[Row]:
        """Fly jobs and yield their rows."""
        again: deque[Job] = deque()
        attempts: dict[int, int] = {}
        while True:
            while (worker := self._idle()) is not None and (job := again.popleft() if again else next(jobs, None)):
                attempts[job[0]] = attempts.get(job[0], 0) + 1
                worker.give(job)
            busy = {worker.pipe: worker for worker in self._team if worker.job is not None}
            if not busy:
                return
            for pipe in wait(list(busy)):
                worker = busy[cast("Connection[Any, Any]", pipe)]
                job, row = cast(Job, worker.job), worker.take()
                if row is None:
                    how = worker.how_it_ended()
                    worker.end()
                    self._team.remove(worker)
                    if attempts[job[0]] < MAX_ATTEMPTS:
                        again.append(job)
                        continue
                    row = lost(job, f"{how}, {MAX_ATTEMPTS} times")
                del attempts[job[0]]
                yield row

    def _idle(self) -> Worker | None:
        """Return an idle worker, starting one if allowed; None if all are busy."""
        found = next((worker for worker in self._team if worker.job is None), None)
        if found is None and len(self._team) < self.workers:
            found = Worker.start(self.campaign.sent)
            self._team.append(found)
        return found


def default_workers() -> int:
    """Return the number of processors available to this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
