"""Workers on this machine: a process each, which flies one run after the other.

They are sessions of their own, so that Ctrl-C reaches this process alone, which lets them finish what they fly. A
worker ends by itself when the pipe to this process does.
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
"""For a worker to end by itself."""
CLOSING_S = 4.0
"""For one that was told to: stock PX4 gets two seconds of these."""


@dataclass
class Worker:
    """A process that flies, and what it flies now."""

    interpreter: Interpreter
    pipe: "Connection[Any, Any]"
    job: Job | None = None

    @classmethod
    def start(cls, campaign: Sent) -> "Worker":
        """Start one."""
        try:
            ours, theirs = Pipe()
            try:
                with theirs:
                    interpreter = Interpreter.start(MODULE, [str(theirs.fileno())], pass_fds=[theirs.fileno()])
            except OSError:
                ours.close()
                raise
        except OSError as error:
            raise SimulationError(f"a worker can't be started: {error.strerror}; use fewer --workers") from error
        with suppress(OSError):  # one that is gone is seen when its row is asked for
            ours.send(campaign)
        return cls(interpreter, ours)

    def give(self, job: Job) -> None:
        """Let it fly a job."""
        self.job = job
        with suppress(OSError):
            self.pipe.send(job)

    def take(self) -> Row | None:
        """Return the row of its job; None if it is gone."""
        self.job = None
        try:
            return cast(Row, self.pipe.recv())
        except (EOFError, OSError):
            return None

    def how_it_ended(self) -> str:
        """Say how it has ended."""
        code = self.interpreter.process.wait()
        if code < 0:
            return f"was ended by {name_of(-code)}"
        said = self.interpreter.said()[-MAX_SHOWN:]
        return f"ended with code {code}" + (f": {said}" if said else "")

    def end(self) -> None:
        """End it: what does not see the end of its pipe, because it flies, is told to, and then killed."""
        self.pipe.close()
        self.interpreter.end(PATIENCE_S, CLOSING_S)


@dataclass
class LocalExecutor(Executor):
    """Processes of this machine."""

    campaign: Campaign
    workers: int
    _team: list[Worker] = field(default_factory=list)

    def __exit__(self, *_: object) -> None:
        """End all processes."""
        for worker in self._team:
            worker.pipe.close()  # of all, so that they end at the same time
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
                    row = lost(job, how)
                del attempts[job[0]]
                yield row

    def _idle(self) -> Worker | None:
        """Return a worker that has nothing to fly, a new one if there may be more; None if all are busy."""
        found = next((worker for worker in self._team if worker.job is None), None)
        if found is None and len(self._team) < self.workers:
            found = Worker.start(self.campaign.sent)
            self._team.append(found)
        return found


def default_workers() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
