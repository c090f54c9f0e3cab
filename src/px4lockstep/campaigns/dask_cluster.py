"""Dask executor: fly the runs of a campaign on a Dask cluster (`pip install px4lockstep[dask]`).

A lost worker costs only time: the scheduler gives its run to another one. Each worker process flies one run at a time,
regardless of its number of threads.
"""

import signal
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from px4lockstep.campaigns.campaign import Campaign, Sent
from px4lockstep.campaigns.flyer import fly_run
from px4lockstep.campaigns.result_rows import Executor, Job, Row, lost
from px4lockstep.errors import InputError
from px4lockstep.stop_signals import STOPS

if TYPE_CHECKING:
    from distributed import Security

AHEAD = 2
"""Runs submitted to the scheduler per worker thread, so that no worker waits for the next one."""
TIMEOUT_S = 10.0
POLL_S = 0.1
"""Maximum delay of a result that arrives just before the wait."""
CHECK_S = 1.0
"""Interval between checks for workers while no result arrives."""
NOTICE_S, REPEAT_S = 10.0, 30.0
"""Time without workers before the first notice, and between further notices."""
TLS = "tls://"

_one_at_a_time = threading.Lock()


def fly_alone(campaign: Sent, index: int, inputs: dict[str, Any]) -> Row:
    """Fly a run in a worker of the cluster."""
    with _one_at_a_time:
        return fly_run(campaign, index, inputs)


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C and SIGHUP, which a terminal sends to all, so that they finish their runs."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread can set handlers
        yield
        return
    # Not SIGTERM, by which Dask stops its workers.
    before = {number: signal.signal(number, signal.SIG_IGN) for number in STOPS if number != signal.SIGTERM}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@dataclass(frozen=True)
class TlsFiles:
    """PEM files for a TLS connection to a scheduler: CA certificate, client certificate and its key."""

    ca: str | Path | None = None
    cert: str | Path | None = None
    key: str | Path | None = None

    @property
    def is_given(self) -> bool:
        """Whether any file is given."""
        return any(self._by_option().values())

    def security(self, scheduler: str | None) -> "Security | None":
        """Return the TLS settings for a scheduler; None if its address is not encrypted.

        Raises:
            InputError: If files are missing or invalid, or given for an address that is not encrypted.
        """
        from distributed import Security

        if scheduler is None or not scheduler.startswith(TLS):
            if self.is_given:
                raise InputError(
                    f"--scheduler {scheduler} is not encrypted, but TLS certificates are given; use an address such as "
                    f"{TLS}HOST:8786, or omit --tls-ca, --tls-cert and --tls-key"
                )
            return None
        configured = Security(require_encryption=True)  # from Dask's configuration, if it has certificates
        if not self.is_given and configured.tls_ca_file and configured.tls_client_cert:
            return configured
        missing = [option for option, path in self._by_option().items() if path is None]
        if missing:
            raise InputError(
                f"--scheduler {scheduler} needs TLS certificates; add {', '.join(missing)} (PEM files): the CA of the "
                "scheduler, a certificate signed by it, and its key"
            )
        for option, path in self._by_option().items():
            if not Path(str(path)).is_file():
                raise InputError(f"{option}: file not found: {path}")
        ca, cert, key = (str(path) for path in self._by_option().values())
        made = Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)
        try:
            made.get_connection_args("client")
        except (ssl.SSLError, OSError) as error:
            raise InputError(
                f"can't load the TLS certificates {ca}, {cert} and {key}: {error}; they must be PEM files, and the key "
                "must belong to the certificate"
            ) from error
        return made

    def _by_option(self) -> dict[str, str | Path | None]:
        return {"--tls-ca": self.ca, "--tls-cert": self.cert, "--tls-key": self.key}


class DaskExecutor(Executor):
    """A Dask cluster: that of a scheduler, or a new one on this machine with the given number of workers."""

    def __init__(self, campaign: Campaign, scheduler: str | None, workers: int, tls: TlsFiles | None = None) -> None:
        try:
            from distributed import Client, LocalCluster
        except ImportError as error:
            raise InputError(
                "the engine dask needs the package distributed, which is not installed: pip install 'px4lockstep[dask]'"
            ) from error
        security = (tls or TlsFiles()).security(scheduler)
        self._campaign = campaign
        self._cluster = None
        if scheduler is None:
            with _ignoring_interrupts():
                self._cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        try:
            self._client: Client = Client(self._cluster or scheduler, timeout=TIMEOUT_S, security=security)
        except (OSError, TimeoutError, ValueError) as error:
            hint = " Check that its certificates are of the same CA." if security is not None else ""
            raise InputError(
                f"can't connect to a Dask scheduler at {scheduler}: {error}; start one with `dask scheduler`, and "
                f"workers with `dask worker {scheduler}`.{hint}"
            ) from error
        self._workers = _WorkerNotice(scheduler or self._client.scheduler.address)

    def __exit__(self, *_: object) -> None:
        """Disconnect; stop a cluster that was started here."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def rows(self, jobs: Iterator[Job]) -> Iterator[Row | None]:
        """Fly jobs and yield their rows; without workers, yield None every second."""
        from distributed import as_completed

        sent, identity = self._campaign.sent, self._campaign.identity[:16]
        flying: dict[Any, Job] = {}
        # Results are fetched at once; one that is lost together with its worker is computed again.
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
        checked_s = time.monotonic()
        while flying:
            if waiting.has_ready():
                future, result = next(waiting)
                job = flying.pop(future)
                # The scheduler gives up on a run after several workers that flew it were lost.
                yield result if isinstance(result, Row) else lost(job, f"was lost each time ({future.exception()})")
                submit(max(1, self._room() - len(flying)))
            elif time.monotonic() - checked_s >= CHECK_S:
                checked_s = time.monotonic()
                if not self._workers.seen(self._count(), checked_s):
                    yield None
            else:
                with waiting.thread_condition:  # notified of each result
                    waiting.thread_condition.wait(POLL_S)

    def _room(self) -> int:
        return AHEAD * max(1, sum(int(count) for count in self._client.nthreads().values()))

    def _count(self) -> int:
        """Return the number of workers; 0 if the scheduler does not answer."""
        try:
            return len(self._client.nthreads())
        except OSError:
            return 0


class _WorkerNotice:
    """Notifies the user while a scheduler has no workers."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._next_s: float | None = None  # time of the next notice; None with workers

    def seen(self, workers: int, now_s: float) -> bool:
        """Return whether there are workers; print a notice if there have been none for some time."""
        if workers:
            self._next_s = None
            return True
        if self._next_s is None:
            self._next_s = now_s + NOTICE_S
        elif now_s >= self._next_s:
            self._next_s = now_s + REPEAT_S
            remedy = f"start one with `dask worker {self._address}`, or press Ctrl-C to stop"
            sys.stderr.write(f"the Dask scheduler at {self._address} has no workers; {remedy}\n")
            sys.stderr.flush()
        return False
