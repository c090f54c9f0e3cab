"""Flying a campaign: from its file to a folder with a row for each run.

found = run_campaign("iris_wind.toml", workers=2)
found.folder.results, found.is_complete

The rows are the same whoever flies them and in whatever order: run i has inputs of its own, and a stop rule looks at
rows in the order of their index.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from px4lockstep.autopilots.kinds import workers_allowed
from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.dask_cluster import DaskExecutor
from px4lockstep.campaigns.folder import PLAN, CampaignFolder, check_is_free
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.local import LocalExecutor, default_workers
from px4lockstep.campaigns.result_rows import ERROR, Executor, Job, Row
from px4lockstep.campaigns.results import ResultsWriter, parts_of, read_results, rows_of, schema_of
from px4lockstep.campaigns.stopping import StopRule
from px4lockstep.engine.compilation import compiled_loop
from px4lockstep.errors import InputError
from px4lockstep.reading import read_text
from px4lockstep.spec.files import MAX_BYTES, WHAT

REHEARSAL = -1
"""The index of the flight that is flown first, of the aircraft file as it is, and not counted."""


@dataclass(frozen=True)
class Progress:
    """How far a campaign has come."""

    done: int  # runs whose rows are there, those from before included
    before: int  # runs that were there before
    runs: int  # how many there are to be, at most
    failed: int  # runs that did not pass; without criteria, that were not flown as they were to be
    errors: int  # of these, runs that could not be flown or measured


Watch = Callable[[Progress], bool]
"""Is told of each row; returns whether to go on."""


@dataclass(frozen=True)
class CampaignResult:
    """A campaign that was flown."""

    folder: CampaignFolder
    flown: int  # runs that were flown now
    stopped_after: int | None  # how many runs were enough for the stop rule, if it stopped
    is_complete: bool  # whether no run is missing


def run_campaign(
    file: str | Path,
    *,
    runs: int | None = None,
    workers: int | None = None,
    engine: Literal["local", "dask"] = "local",
    scheduler: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watch | None = None,
    trust: bool = False,
) -> CampaignResult:
    """Fly a campaign.

    Args:
        file: The campaign file; or, to resume, its folder.
        runs: How many runs, in the place of the file's.
        workers: How many processes; left out, as many as there are processors.
        engine: `local` for processes of this machine, `dask` for a Dask cluster.
        scheduler: The address of Dask's scheduler; left out, a cluster is started on this machine.
        out: The folder; left out, a new one in `campaigns/`.
        resume: Whether to go on with the campaign in that folder: what is there is not flown again.
        watch: Is told of each row; returns whether to go on.
        trust: Whether to run the code that the file or folder names: see docs/howto/untrusted_files.md.

    Raises:
        InputError: If anything is wrong with the file, before the first flight; or if it names code and is not trusted.
        SimulationError: If no worker can be started.
    """
    with started_campaign(
        file, runs=runs, workers=workers, engine=engine, scheduler=scheduler, out=out, resume=resume, trust=trust
    ) as (folder, executor):
        return fly_campaign(folder, executor, watch)


@contextmanager
def started_campaign(
    file: str | Path,
    *,
    runs: int | None = None,
    workers: int | None = None,
    engine: Literal["local", "dask"] = "local",
    scheduler: str | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    trust: bool = False,
) -> Iterator[tuple[CampaignFolder, Executor]]:
    """Check a campaign, start its workers and rehearse; yield its folder and the workers."""
    if workers is not None and not 1 <= workers <= 1_000:
        raise InputError(f"workers = {workers} is not allowed; it must be 1 to 1000")
    if engine not in ("local", "dask"):
        raise InputError(f"engine = {engine!r} is unknown; allowed are local, dask")
    if scheduler is not None and engine != "dask":
        raise InputError("a scheduler is Dask's; use --engine dask with it")
    if out is not None and not resume:
        check_is_free(out)  # before the rehearsal
    folder = _resumed(file, out, runs, trust) if resume else None
    campaign = load_campaign(file, runs, trust=trust) if folder is None else folder.campaign
    count = workers_allowed(campaign.base, default_workers() if workers is None else workers)
    executor: Executor
    if engine == "dask":
        executor = DaskExecutor(campaign, scheduler, count)
    else:
        compiled_loop()  # once, and with a notice, not by each worker
        executor = LocalExecutor(campaign, count)
    with executor:
        if folder is None or not folder.is_complete:
            rehearse(executor)
        if folder is None:
            folder = CampaignFolder.create(out, campaign, read_text(file, MAX_BYTES, WHAT))
        yield folder, executor


def fly_campaign(folder: CampaignFolder, executor: Executor, watch: Watch | None = None) -> CampaignResult:
    """Fly the runs of a campaign that are missing, unless another process flies it."""
    with folder.flown_alone():
        campaign = folder.campaign
        there = {row.index: row for row in rows_of(read_results(folder.results))} if parts_of(folder.results) else {}
        book = _Book(campaign, ResultsWriter(folder.results, schema_of(campaign), len(there)))
        for row in there.values():
            book.take(row, is_new=False)
        goes_on = not book.is_complete

        def missing() -> Iterator[Job]:
            for index in range(campaign.runs):
                if not goes_on:
                    return
                if index not in there:
                    yield index, campaign.inputs(index)

        try:
            for row in executor.rows(missing()):
                book.take(row)
                if book.stopped_after is not None:
                    break
                if watch is not None and goes_on:
                    goes_on = watch(Progress(book.done, len(there), campaign.runs, book.failed, book.errors))
        finally:
            book.writer.flush()
        if book.is_complete:
            folder.complete()
        return CampaignResult(folder, book.written, book.stopped_after, book.is_complete)


class _Book:
    """Takes rows as they come, and writes them; a stop rule is shown them in the order of their index.

    With a stop rule, rows are written in that order too, so that there are none beyond the last that it needed.
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
        """Whether nothing is left to be flown."""
        return self.done == self._runs or self.stopped_after is not None

    def take(self, row: Row, *, is_new: bool = True) -> None:
        """Take a row, which is there already unless it is new."""
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
    """Fly the aircraft file as it is, so that what is wrong with all runs shows before the first."""
    for row in executor.rows(iter([(REHEARSAL, {})])):
        if row.status == ERROR:
            raise InputError(f"the flight of the aircraft file as it is, before the first run: {row.error}")


def _resumed(file: str | Path, out: str | Path | None, runs: int | None, trust: bool) -> CampaignFolder:
    """Return the folder to go on with: the one that is given, or `out` if it has the same campaign as the file."""
    if Path(file).is_dir():
        folder = CampaignFolder.open(file, trust=trust)
        try:
            folder.campaign.refuse_code()
        except InputError as error:
            raise InputError(f"{folder.path / PLAN}: {error}") from error
        if out is not None or (runs is not None and runs != folder.campaign.runs):
            raise InputError("a folder is resumed as it is; give the campaign file for anything else")
        return folder
    if out is None:
        raise InputError("--resume needs the campaign's folder: px4lockstep campaign run FOLDER --resume")
    folder = CampaignFolder.open(out)
    campaign = load_campaign(file, runs, trust=trust)
    if campaign.identity != folder.campaign.identity:
        raise InputError(
            f"{file}, or a file that it names, is not what {out} was begun with; resume the folder itself, or fly a "
            "new campaign in a new folder"
        )
    return CampaignFolder(folder.path, campaign)


def row_of(folder: CampaignFolder, index: int) -> Row:
    """Return the row of a run."""
    if not 0 <= index < folder.campaign.runs:
        raise InputError(f"run {index} is not one of this campaign; they are 0 to {folder.campaign.runs - 1}")
    rows = {row.index: row for row in rows_of(read_results(folder.results))}
    if index not in rows:
        raise InputError(f"run {index} was not flown; resume the campaign")
    return rows[index]
