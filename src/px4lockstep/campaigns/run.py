"""Fly a campaign file into a folder with one row per run.

found = run_campaign("x500_wind.toml", workers=2)  # or a dict of its tables
found.folder.results, found.is_complete

The rows do not depend on the workers or on the order of flights: the inputs of run i depend only on i, and a stop rule
processes rows in index order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tomli_w

from px4lockstep.autopilots.kinds import workers_allowed
from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.dask_cluster import DaskExecutor, TlsFiles
from px4lockstep.campaigns.figure import plot_campaign
from px4lockstep.campaigns.folder import PLAN, CampaignFolder, check_is_free
from px4lockstep.campaigns.load import OF_DICT, load_campaign
from px4lockstep.campaigns.local import LocalExecutor, default_workers
from px4lockstep.campaigns.result_rows import ERROR, Executor, Job, Row
from px4lockstep.campaigns.results import ResultsWriter, parts_of, read_results, rows_of, schema_of
from px4lockstep.campaigns.stopping import StopRule
from px4lockstep.campaigns.tables import METRIC_HEADS, about_rows, metric_rows, numbers_of, results_in
from px4lockstep.engine.compilation import compiled_loop
from px4lockstep.errors import InputError
from px4lockstep.plots.html import HtmlTable, ShownInNotebook
from px4lockstep.reading import read_text
from px4lockstep.spec.files import MAX_BYTES, WHAT

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

REHEARSAL = -1
"""Index of the flight of the unmodified spec file before the first run; it is not counted."""


Source = str | Path | Mapping[str, Any]
"""A campaign file, its tables as a dict or, to resume, a campaign folder."""


@dataclass(frozen=True)
class Progress:
    """Progress of a campaign."""

    done: int  # finished runs, including those of earlier sessions
    before: int  # runs finished in earlier sessions
    runs: int  # total number of runs; a stop rule may need fewer
    failed: int  # runs that did not pass or, without criteria, whose flight failed
    errors: int  # failed runs that could not be flown, or whose metrics could not be computed


Watch = Callable[[Progress], bool]
"""Called after each row, and while waiting for workers; returns whether to continue."""


@dataclass(frozen=True, repr=False)
class CampaignResult(ShownInNotebook):
    """Result of flying a campaign."""

    folder: CampaignFolder
    flown: int  # runs flown in this session
    stopped_after: int | None  # number of runs after which the stop rule ended the campaign
    is_complete: bool  # whether no run is missing

    def __repr__(self) -> str:
        told = f"{'complete' if self.is_complete else 'incomplete'}, {self.flown} runs flown"
        return f"<CampaignResult {self.folder.path}: {told}>"

    @property
    def summary(self) -> dict[str, Any]:
        """The statistics, as `px4lockstep campaign show --json` prints them."""
        return numbers_of(self.folder)

    def to_pandas(self) -> "pd.DataFrame":
        """Return a pandas DataFrame with a row for each run: status, inputs and metrics.

        Raises:
            InputError: If pandas is not installed.
        """
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise InputError("to_pandas needs pandas, which is not installed; run pip install pandas") from error
        table = read_results(self.folder.results).sort_by("index")
        return table.to_pandas().set_index("index")

    def plot(self) -> "Figure":
        """Return a Matplotlib figure of the results, which a notebook shows."""
        return plot_campaign(results_in(self.folder))

    def _tables(self) -> Iterable[HtmlTable]:
        summary = self.summary
        about = HtmlTable(about_rows(summary), title=f"campaign {summary['name']}")
        return about, HtmlTable(metric_rows(summary), METRIC_HEADS)

    def _figure(self) -> "Figure | None":
        return self.plot()


def run_campaign(
    file: Source,
    *,
    runs: int | None = None,
    workers: int | None = None,
    engine: Literal["local", "dask"] = "local",
    scheduler: str | None = None,
    tls_ca: str | Path | None = None,
    tls_cert: str | Path | None = None,
    tls_key: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watch | None = None,
    trust: bool = False,
    autopilot: object | None = None,
    wind: object | None = None,
    estimator: object | None = None,
) -> CampaignResult:
    """Fly a campaign.

    Args:
        file: The campaign file, its tables as a dict or, to resume, the campaign folder.
        runs: Number of runs, instead of the file's.
        workers: Number of worker processes; one per processor by default.
        engine: `local` for processes on this machine, `dask` for a Dask cluster.
        scheduler: Address of a Dask scheduler; by default, a cluster is started on this machine.
        tls_ca: CA certificate for a scheduler at tls://, a PEM file.
        tls_cert: Client certificate for a scheduler at tls://, a PEM file.
        tls_key: Key of the client certificate, a PEM file.
        out: The campaign folder; by default, a new one in `campaigns/`.
        resume: Whether to continue the campaign in that folder; only missing runs are flown.
        watch: Called after each row, and while waiting for workers; returns whether to continue.
        trust: Whether to run the code that the file or folder names: see docs/howto/untrusted_files.md.
        autopilot: Your own autopilot for all runs: a class or function of a module that creates it, or an object that
            can be pickled. Each run has its own.
        wind: Your own wind, in the same way.
        estimator: Your own estimator, in the same way.

    Raises:
        InputError: If the file is invalid, before the first flight; if it names code and is not trusted; or if an
            object can't be sent to the workers.
        SimulationError: If no worker can be started.
    """
    with started_campaign(
        file,
        runs=runs,
        workers=workers,
        engine=engine,
        scheduler=scheduler,
        tls_ca=tls_ca,
        tls_cert=tls_cert,
        tls_key=tls_key,
        out=out,
        resume=resume,
        trust=trust,
        parts={"autopilot": autopilot, "wind": wind, "estimator": estimator},
    ) as (folder, executor):
        return fly_campaign(folder, executor, watch)


@contextmanager
def started_campaign(
    file: Source,
    *,
    runs: int | None = None,
    workers: int | None = None,
    engine: Literal["local", "dask"] = "local",
    scheduler: str | None = None,
    tls_ca: str | Path | None = None,
    tls_cert: str | Path | None = None,
    tls_key: str | Path | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    trust: bool = False,
    parts: Mapping[str, object] | None = None,
) -> Iterator[tuple[CampaignFolder, Executor]]:
    """Check a campaign, start its workers and fly the rehearsal; yield the campaign folder and the executor."""
    check_workers(workers)
    if engine not in ("local", "dask"):
        raise InputError(f"engine = {engine!r} is unknown; allowed: local, dask")
    if scheduler is not None and engine != "dask":
        raise InputError("a scheduler requires the engine dask; add --engine dask")
    tls = TlsFiles(tls_ca, tls_cert, tls_key)
    if tls.is_given and scheduler is None:
        raise InputError("TLS certificates are for a remote scheduler; add --engine dask --scheduler tls://HOST:8786")
    if out is not None and not resume:
        check_is_free(out)  # before the rehearsal
    folder = _resumed(file, out, runs, trust, parts or {}) if resume else None
    if folder is None:
        campaign = load_campaign(file, runs, trust=trust).with_objects(parts or {})
    else:
        campaign = folder.campaign
    executor: Executor
    if engine == "dask":
        executor = DaskExecutor(campaign, scheduler, _workers(campaign, workers), tls)
    else:
        executor = local_executor(campaign, workers)
    with executor:
        if folder is None or not folder.is_complete:
            rehearse(executor)
        if folder is None:
            folder = CampaignFolder.create(out, campaign, text_of(file, campaign))
        yield folder, executor


def check_workers(workers: int | None) -> None:
    """Raise if the number of workers is out of range."""
    if workers is not None and not 1 <= workers <= 1_000:
        raise InputError(f"workers = {workers} is not allowed; it must be 1 to 1000")


def _workers(campaign: Campaign, workers: int | None) -> int:
    return workers_allowed(campaign.base, default_workers() if workers is None else workers)


def local_executor(campaign: Campaign, workers: int | None = None) -> Executor:
    """Return the executor with worker processes on this machine, by default one per processor."""
    check_workers(workers)
    compiled_loop()  # compile here, once and with a notice, instead of in each worker
    return LocalExecutor(campaign, _workers(campaign, workers))


def fly_campaign(folder: CampaignFolder, executor: Executor, watch: Watch | None = None) -> CampaignResult:
    """Fly the missing runs of a campaign, unless another process is flying it."""
    with folder.flown_alone():
        campaign = folder.campaign
        there = {row.index: row for row in rows_of(read_results(folder.results))} if parts_of(folder.results) else {}
        book = _Book(campaign, ResultsWriter(folder.results, schema_of(campaign), len(there)))
        for known in there.values():
            book.take(known, is_new=False)
        goes_on = not book.is_complete

        def missing() -> Iterator[Job]:
            for index in range(campaign.runs):
                if not goes_on:
                    return
                if index not in there:
                    yield index, campaign.inputs(index)

        try:
            for row in executor.rows(missing()):
                if row is not None:
                    book.take(row)
                if book.stopped_after is not None:
                    break
                if watch is not None and goes_on:
                    goes_on = watch(Progress(book.done, len(there), campaign.runs, book.failed, book.errors))
                if row is None and not goes_on:  # without workers, no run is in the air
                    break
        finally:
            book.writer.flush()
        if book.is_complete:
            folder.complete()
        return CampaignResult(folder, book.written, book.stopped_after, book.is_complete)


class _Book:
    """Writes rows as they arrive, and passes them to the stop rule in index order.

    With a stop rule, rows are also written in index order, so that no row after the last required one is written.
    """

    def __init__(self, campaign: Campaign, writer: ResultsWriter) -> None:
        self.writer = writer
        self.done = self.failed = self.errors = self.written = 0
        self.stopped_after: int | None = None
        self._runs = campaign.runs
        self._rule = StopRule(campaign.file.stop) if campaign.file.stop is not None else None
        self._next = 0
        self._early: dict[int, tuple[Row, bool]] = {}

    @property
    def is_complete(self) -> bool:
        """Whether no run remains to be flown."""
        return self.done == self._runs or self.stopped_after is not None

    def take(self, row: Row, *, is_new: bool = True) -> None:
        """Count a row, and write it if it is new."""
        self.done += 1
        self.failed += row.is_failed
        self.errors += row.status == ERROR
        if self._rule is None:
            self._write(row, is_new)
            return
        self._early[row.index] = row, is_new
        while self._next in self._early and self.stopped_after is None:
            row, is_new = self._early.pop(self._next)
            self._write(row, is_new)
            self._next += 1
            if self._rule.push({"passed": row.passed, **row.metrics}):
                self.stopped_after = self._next

    def _write(self, row: Row, is_new: bool) -> None:
        if is_new:
            self.writer.add(row)
            self.written += 1


def rehearse(executor: Executor) -> None:
    """Fly the unmodified spec file once, so that errors common to all runs appear before the first run."""
    for row in executor.rows(iter([(REHEARSAL, {})])):
        if row is not None and row.status == ERROR:
            raise InputError(f"rehearsal with the unmodified spec file, before the first run: {row.error}")


def text_of(file: Source, campaign: Campaign) -> str:
    """Return the text of the campaign file; of a campaign without one, the text that such a file would have."""
    if not isinstance(file, Mapping):
        return read_text(file, MAX_BYTES, WHAT)
    return tomli_w.dumps(campaign.file.model_dump(by_alias=True, exclude_defaults=True, exclude_none=True))


def _resumed(
    file: Source, out: str | Path | None, runs: int | None, trust: bool, parts: Mapping[str, object]
) -> CampaignFolder:
    """Return the folder to resume: the given one, or `out` if it has the same campaign as the file."""
    if not isinstance(file, Mapping) and Path(file).is_dir():
        folder = CampaignFolder.open(file, trust=trust)
        try:
            folder.campaign.refuse_code()
        except InputError as error:
            raise InputError(f"{folder.path / PLAN}: {error}") from error
        if out is not None or (runs is not None and runs != folder.campaign.runs):
            raise InputError("--out and --runs can't be changed when a campaign folder is resumed; omit them")
        campaign = folder.campaign.with_objects(parts)
        if campaign.identity != folder.campaign.identity:
            given, flown = campaign.own_parts, folder.campaign.own_parts
            raise InputError(f"the campaign was flown with {flown or 'no parts in Python'}, not with {given}")
        return CampaignFolder(folder.path, campaign)
    if out is None:
        raise InputError("--resume needs the campaign folder: px4lockstep campaign run FOLDER --resume")
    folder = CampaignFolder.open(out)
    campaign = load_campaign(file, runs, trust=trust).with_objects(parts)
    if campaign.identity != folder.campaign.identity:
        name = OF_DICT if isinstance(file, Mapping) else file
        raise InputError(
            f"{name}, or a file that it names, has changed since the campaign in {out} was started; resume the folder "
            "itself, or fly a new campaign in a new folder"
        )
    return CampaignFolder(folder.path, campaign)


def row_of(folder: CampaignFolder, index: int) -> Row:
    """Return the row of a run."""
    if not 0 <= index < folder.campaign.runs:
        raise InputError(f"run {index} does not exist; the runs of this campaign are 0 to {folder.campaign.runs - 1}")
    rows = {row.index: row for row in rows_of(read_results(folder.results))}
    if index not in rows:
        raise InputError(f"run {index} has not been flown; resume the campaign")
    return rows[index]
