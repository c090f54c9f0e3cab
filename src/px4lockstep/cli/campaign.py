"""`px4lockstep campaign`: fly many runs, show and plot the results, rerun one of them."""

import os
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal, cast

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.figure import plot_campaign
from px4lockstep.campaigns.folder import PLOTS, SUMMARY, CampaignFolder
from px4lockstep.campaigns.metrics import metrics_of
from px4lockstep.campaigns.result_rows import ERROR, Executor, Row
from px4lockstep.campaigns.run import CampaignResult, fly_campaign, row_of, started_campaign
from px4lockstep.campaigns.run import Progress as Done
from px4lockstep.campaigns.starting import starting_campaign
from px4lockstep.campaigns.tables import METRIC_HEADS, about_rows, metric_rows, numbers_of, results_in
from px4lockstep.cli.console import Console
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.cli.run import Options, RecordedFlight, fly_spec
from px4lockstep.errors import InputError, LockstepError
from px4lockstep.flights.latest import campaign_path
from px4lockstep.flights.recorded import without_files
from px4lockstep.flights.run import Run
from px4lockstep.io import atomic_write, check_new, to_json
from px4lockstep.plots.flight import save_plot
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.shipped import is_name
from px4lockstep.trust import is_trusted

FLOWN = 0


def init_file(file: Path, base: str, force: bool) -> int:
    """Write a campaign file to start from; return the exit code."""
    target = check_new(file, force=force)
    load_spec(base)  # an unknown or invalid aircraft is an error now, not when the campaign is flown
    flown = base if is_name(base) else os.path.relpath(base, target.parent)
    with atomic_write(target) as written:
        written.write(starting_campaign(flown, str(target), target.stem).encode())
    write_out(f"{target}\nedit it, then: px4lockstep campaign run {target}\n")
    return FLOWN


def run_file(file: str | Path, engine: str, plots: bool, as_json: bool, **options: Any) -> int:
    """Fly a campaign with the options of `run_campaign`; return the exit code."""
    if engine not in ("local", "dask"):
        raise InputError(f"--engine {engine} is unknown; allowed: local, dask")
    source = campaign_path(file) if options.get("resume") else file
    started = started_campaign(source, engine=cast(Literal["local", "dask"], engine), **options)
    flown = fly_with_progress(started, quiet=as_json)
    folder = flown.folder
    with interrupts.deferred():
        summary = numbers_of(folder)
        folder.write(SUMMARY, to_json(summary, indent=2) + "\n")
        if plots and flown.is_complete:
            with suppress(KeyboardInterrupt), interrupts.raised():
                save_plot(plot_campaign(results_in(folder)), folder.path / PLOTS)
        _show(summary, as_json)
        if not flown.is_complete:
            trust = "" if is_trusted(folder.path) or not folder.campaign.names_code else " --trust"
            write_err(
                f"interrupted: {folder.path} has {summary['runs']} of {folder.campaign.runs} runs; continue with "
                f"px4lockstep campaign run {folder.path} --resume{trust}\n"
            )
            return interrupts.code
    return FLOWN


def fly_with_progress(
    starting: AbstractContextManager[tuple[CampaignFolder, Executor]], *, quiet: bool
) -> CampaignResult:
    """Start a campaign and fly it, with a progress bar unless it is quiet; a signal lets the current runs finish."""
    with (
        progress_bar(Console(stderr=True), quiet=quiet) as bar,
        starting as (folder, executor),
        interrupts.deferred(),
    ):

        def watch(done: Done) -> bool:
            if isinstance(bar, CampaignProgress):
                bar.show(done)
            return not interrupts.is_noted

        for warning in folder.campaign.warnings:
            write_err(f"warning: {warning}\n")
        return fly_campaign(folder, executor, watch)


class CampaignProgress(Progress):
    """Progress bar of a campaign: finished runs, rate, failures, remaining time."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
        super().__init__(*columns, TimeRemainingColumn(), console=console, transient=True)
        self._task = self.add_task("rehearsing", total=None, state="")

    def show(self, done: Done) -> None:
        """Update the progress bar."""
        if self.tasks[0].total is None:
            self.reset(self._task, total=done.runs - done.before, description="flying", state="")
        new = done.done - done.before
        speed = self.tasks[0].speed
        rate = f"{speed:6.1f} runs/s  " if speed is not None else ""
        errors = f", {done.errors} with errors" if done.errors else ""
        state = f"{done.done} of {done.runs}  {rate}{done.failed} failed{errors}"
        self.update(self._task, completed=max(new, 0), state=state)


def progress_bar(console: Console, *, quiet: bool) -> AbstractContextManager[object]:
    """Return a progress bar; nothing if it is quiet or there is no terminal."""
    return nullcontext() if quiet or not console.is_terminal else CampaignProgress(console)


def show_folder(folder: str | Path, as_json: bool) -> int:
    """Print the results of a campaign, complete or not."""
    _show(numbers_of(CampaignFolder.open(campaign_path(folder))), as_json)
    return FLOWN


def plot_folder(folder: str | Path, force: bool, out: Path | None = None) -> int:
    """Plot the results of a campaign, complete or not."""
    opened = CampaignFolder.open(campaign_path(folder))
    target = check_new(out or opened.path / PLOTS, force=force)
    with working("drawing the figure"):
        save_plot(plot_campaign(results_in(opened)), target)
    write_out(f"{target}\n")
    return FLOWN


def rerun_one(folder: str | Path, index: int, trust: bool, out: Path | None = None, **options: Any) -> int:
    """Rerun a run, with log and recording; return the exit code, which is 0 if the flight is identical."""
    opened = CampaignFolder.open(campaign_path(folder), trust=trust)
    row = row_of(opened, index)
    out = out or opened.path / f"run-{index:05d}"
    if out.is_dir() and any(out.iterdir()):
        raise InputError(f"{out} is not empty: run {index} has been rerun before. See its files, or give another --out")
    spec = opened.campaign.spec(opened.campaign.overrides(index, row.inputs))
    spec = spec.model_copy(update={"run": without_files(spec.run, ("run",))})  # write nothing but the run folder
    name, expected = f"run {index} of the campaign", None
    if row.digest is None:
        write_err(f"{name} has no digest to compare with: {row.error}\n")
    else:
        expected = RecordedFlight(name, row.digest, lambda run: _differences(opened.campaign, row, run))
    return fly_spec(spec, Options(**options, out=out, expected=expected))


def _differences(campaign: Campaign, row: Row, run: Run) -> list[str]:
    """Describe how the rerun of a run differs from its row: in its outcome, and in its built-in metrics."""
    pairs: dict[str, tuple[Any, Any]] = {}
    if row.status != ERROR:
        pairs["outcome"] = (run.outcome.word, row.status)
    tables = [table for table in campaign.file.metric if table.function is None]
    for metric in metrics_of(tables, Path()):
        with suppress(LockstepError):
            pairs[metric.name] = (metric(run), row.metrics.get(metric.name))
    return [f"{name} {_value(new)}, recorded {_value(old)}" for name, (new, old) in pairs.items() if _differ(new, old)]


def _differ(new: Any, old: Any) -> bool:
    return bool(new != old and not (new != new and old != old))  # NaN equals NaN


def _value(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else f"{value}".lower()


def _show(summary: dict[str, Any], as_json: bool) -> None:
    """Print the statistics, as JSON or as tables."""
    if as_json:
        print_json(summary)
        return
    console = Console(soft_wrap=True, markup=False)
    columns = [Column(overflow="fold"), Column(overflow="fold")]  # names of folders must not be truncated
    about = Table(*columns, title=f"campaign {summary['name']}", show_header=False, title_justify="left")
    for row in about_rows(summary):
        about.add_row(*row)
    console.print(about)
    rows = metric_rows(summary)
    count = len(METRIC_HEADS) - (not any(row[-1] for row in rows))  # the last column is empty if no value is missing
    metrics = Table(
        Column(METRIC_HEADS[0], overflow="fold"), *(Column(name, no_wrap=True) for name in METRIC_HEADS[1:count])
    )
    for row in rows:
        metrics.add_row(*row[:count])
    console.print(metrics)
