"""Run inputs in worker processes with limits of time and memory; the parent watches and kills them."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fuzz.worker import ACCEPTED, GOOD, LARGE, REFUSED, SIGNAL, SLOW

SUPPORT = Path(__file__).resolve().parent.parent
MAX_CPU_S = 5.0
MAX_IDLE_S = 10.0
"""How long a worker may sleep: who waits for a pipe uses no processor time."""
MAX_MB = 500.0
LOOK_S = 0.05
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Outcome:
    """The outcome of an input: of a format, by seed and index, or in a folder."""

    format: str
    where: str
    verdict: str
    text: str
    cpu_s: float
    peak_mb: float

    @property
    def is_good(self):
        """Whether it was accepted or rejected within the limits."""
        return self.verdict in GOOD


class Worker:
    """A process, and its current input."""

    def __init__(self):
        paths = [str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "fuzz.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"},
        )
        self.task = self.begun = None
        self._rest = b""

    def give(self, task):
        """Send it an input."""
        self.task, self.begun = task, None
        self.process.stdin.write(json.dumps(task).encode() + b"\n")
        self.process.stdin.flush()

    def answers(self):
        """Return its answers since the last call; None if it has exited."""
        data = os.read(self.process.stdout.fileno(), 2**16)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines] if data else None

    def usage(self):
        """Return state, processor time [s] and memory [MB] of the process."""
        try:
            words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return "Z", 0.0, 0.0
        return words[0], (int(words[11]) + int(words[12])) * TICK_S, int(words[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20

    def begin(self, answer):
        """Store its resource usage before the input."""
        now = time.monotonic()
        self.begun = {"cpu_s": self.usage()[1], "rss_mb": answer["rss_mb"], "busy_s": now, "last_cpu_s": -1.0}

    def too_much(self):
        """Return the verdict if it has exceeded a limit: verdict, text, seconds, MB."""
        if self.begun is None:
            return None
        state, cpu_s, rss_mb = self.usage()
        used_s, used_mb, now = cpu_s - self.begun["cpu_s"], rss_mb - self.begun["rss_mb"], time.monotonic()
        if cpu_s != self.begun["last_cpu_s"] or state not in "S":
            self.begun |= {"last_cpu_s": cpu_s, "busy_s": now}
        if used_mb > MAX_MB:
            return LARGE, f"more than {MAX_MB:.0f} MB", used_s, used_mb
        if used_s > MAX_CPU_S:
            return SLOW, f"more than {MAX_CPU_S:.0f} s", used_s, used_mb
        if now - self.begun["busy_s"] > MAX_IDLE_S:
            return SLOW, f"asleep for {MAX_IDLE_S:.0f} s", used_s, used_mb
        return None

    def end(self, *, kill=False):
        """Stop it."""
        if kill:
            self.process.kill()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


@contextmanager
def workers(count):
    """Start a number of processes, and stop them."""
    own = [Worker() for _ in range(count)]
    try:
        yield own
    finally:
        for worker in own:
            worker.end(kill=worker.task is not None)


def run_inputs(tasks: Iterable[dict], own: list[Worker]) -> Iterator[Outcome]:
    """Run inputs, and yield their outcomes as they finish.

    Args:
        tasks: Each with `format`, and `seed` and `index` or `folder`.
        own: The workers; one that dies is replaced.
    """
    tasks, selector = iter(tasks), selectors.DefaultSelector()
    idle, busy = list(own), 0
    for worker in own:
        selector.register(worker.process.stdout, selectors.EVENT_READ, worker)

    def replace(worker, *, kill):
        selector.unregister(worker.process.stdout)
        code = worker.end(kill=kill)
        fresh = own[own.index(worker)] = Worker()
        selector.register(fresh.process.stdout, selectors.EVENT_READ, fresh)
        idle.append(fresh)
        return code

    def outcome(worker, verdict, text, cpu_s, peak_mb):
        task = worker.task
        worker.task = worker.begun = None
        where = task["folder"] if "folder" in task else f"{task['seed']}:{task['index']}"
        if verdict in GOOD and cpu_s > MAX_CPU_S:
            verdict = SLOW
        if verdict in GOOD and peak_mb > MAX_MB:
            verdict = LARGE
        return Outcome(task["format"], where, verdict, text, cpu_s, peak_mb)

    while True:
        while idle and (task := next(tasks, None)) is not None:
            idle.pop().give(task)
            busy += 1
        if not busy:
            return
        for key, _ in selector.select(LOOK_S):
            worker = key.data
            answers = worker.answers()
            for answer in answers or ():
                if answer.get("begun"):
                    worker.begin(answer)
                elif "verdict" in answer:
                    idle.append(worker)
                    busy -= 1
                    yield outcome(worker, **answer)
            if answers is None:  # it has died
                code = replace(worker, kill=False)
                name = signal.Signals(-code).name if code < 0 else f"exit code {code}"
                busy -= 1
                yield outcome(worker, SIGNAL, f"ended by {name}", 0.0, 0.0)
        for worker in [worker for worker in own if worker.task is not None]:
            found = worker.too_much()
            if found is not None:
                replace(worker, kill=True)
                busy -= 1
                yield outcome(worker, *found)


__all__ = ["ACCEPTED", "REFUSED", "Outcome", "run_inputs", "workers"]
