"""`px4lockstep campaign`: fly many runs, show and plot the results, rerun one of them."""

from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal, cast

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from px4lockstep.campaigns.campaign import Campaign
from px4lockstep.campaigns.figure import plot_campaign
from px4lockstep.campaigns.folder import PLOTS, SUMMARY, CampaignFolder
from px4lockstep.campaigns.metrics import metrics_of
from px4lockstep.campaigns.result_rows import ERROR, Row
from px4lockstep.campaigns.results import read_results, results_of
from px4lockstep.campaigns.results_table import Results
from px4lockstep.campaigns.run import Progress as Done
from px4lockstep.campaigns.run import fly_campaign, row_of, started_campaign
from px4lockstep.campaigns.summary import summary_of
from px4lockstep.cli.console import Console
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.cli.run import Options, RecordedFlight, fly_spec
from px4lockstep.errors import InputError, LockstepError
from px4lockstep.flights.recorded import without_files
from px4lockstep.flights.run import Run
from px4lockstep.io import check_new, to_json
from px4lockstep.plots.flight import save_plot
from px4lockstep.trust import is_trusted

FLOWN = 0
MAX_SHOWN = 6


def run_file(file: Path, engine: str, plots: bool, as_json: bool, **options: Any) -> int:
    """Fly a campaign with the options of `run_campaign`; return the exit code."""
    if engine not in ("local", "dask"):
        raise InputError(f"--engine {engine} is unknown; allowed: local, dask")
    console = Console(stderr=True)
    with (
        _progress(console, quiet=as_json) as bar,
        started_campaign(file, engine=cast(Literal["local", "dask"], engine), **options) as (folder, executor),
        interrupts.deferred(),
    ):

        def watch(done: Done) -> bool:
            if isinstance(bar, CampaignProgress):
                bar.show(done)
            return not interrupts.is_noted

        for warning in folder.campaign.warnings:
            write_err(f"warning: {warning}\n")
        flown = fly_campaign(folder, executor, watch)
    with interrupts.deferred():
        summary = _numbers(folder)
        folder.write(SUMMARY, to_json(summary, indent=2) + "\n")
        if plots and flown.is_complete:
            with suppress(KeyboardInterrupt), interrupts.raised():
                save_plot(plot_campaign(_results(folder)), folder.path / PLOTS)
        _show(summary, as_json)
        if not flown.is_complete:
            trust = "" if is_trusted(folder.path) or not folder.campaign.names_code else " --trust"
            write_err(
                f"interrupted: {folder.path} has {summary['runs']} of {folder.campaign.runs} runs; continue with "
                f"px4lockstep campaign run {folder.path} --resume{trust}\n"
            )
            return interrupts.code
    return FLOWN


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


def _progress(console: Console, *, quiet: bool) -> AbstractContextManager[object]:
    return nullcontext() if quiet or not console.is_terminal else CampaignProgress(console)


def show_folder(folder: Path, as_json: bool) -> int:
    """Print the results of a campaign, complete or not."""
    _show(_numbers(CampaignFolder.open(folder)), as_json)
    return FLOWN


def plot_folder(folder: Path, force: bool, out: Path | None = None) -> int:
    """Plot the results of a campaign, complete or not."""
    opened = CampaignFolder.open(folder)
    target = check_new(out or folder / PLOTS, force=force)
    save_plot(plot_campaign(_results(opened)), target)
    write_out(f"{target}\n")
    return FLOWN


def rerun_one(folder: Path, index: int, trust: bool, out: Path | None = None, **options: Any) -> int:
    """Rerun a run, with log and recording; return the exit code, which is 0 if the flight is identical."""
    opened = CampaignFolder.open(folder, trust=trust)
    row = row_of(opened, index)
    out = out or folder / f"run-{index:05d}"
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


def _results(folder: CampaignFolder) -> Results:
    return results_of(folder.campaign, read_results(folder.results))


def _numbers(folder: CampaignFolder) -> dict[str, Any]:
    """Return the statistics of a campaign as `--json` prints them."""
    summary, asked = summary_of(_results(folder)), folder.campaign.runs
    is_stopped = folder.is_complete and summary["runs"] < asked
    return {
        **summary,
        "runs_asked": asked,
        "complete": folder.is_complete,
        "stopped_after": summary["runs"] if is_stopped else None,
        "campaign_dir": str(folder.path),
    }


def _show(summary: dict[str, Any], as_json: bool) -> None:
    """Print the statistics, as JSON or as tables."""
    if as_json:
        print_json(summary)
        return
    console = Console(soft_wrap=True, markup=False)
    columns = [Column(overflow="fold"), Column(overflow="fold")]  # names of folders must not be truncated
    about = Table(*columns, title=f"campaign {summary['name']}", show_header=False, title_justify="left")
    missing = "" if summary["complete"] else f" of {summary['runs_asked']}; the others have not been flown yet"
    about.add_row("runs", f"{summary['runs']}{missing}")
    if summary["stopped_after"]:
        about.add_row("stopped early", f"after {summary['stopped_after']} of {summary['runs_asked']} runs")
    about.add_row("outcomes", ", ".join(f"{word} {count}" for word, count in summary["by_status"].items()))
    if summary["pass_rate"] is not None:
        about.add_row("passed", f"{summary['passed']}: {_share(summary['pass_rate'])}")
    for own in summary["worst"]:
        why = "" if own["why"] == own["status"] else f": {own['why']}"
        about.add_row(f"run {own['index']}", f"{own['status']}{why}")
    strongest = {own["input"]: own for own in reversed(summary["sensitivities"])}  # strongest effect of each input
    label = "most influential input"
    for own in sorted(strongest.values(), key=lambda own: -own["strength"])[:MAX_SHOWN]:
        about.add_row(label, _matters(own))
        label = ""
    for note in summary["notes"]:
        about.add_row("note", note)
    about.add_row("folder", summary["campaign_dir"])
    console.print(about)
    numbers = [Column(name, no_wrap=True) for name in ("mean", "5 %", "median", "95 %", "missing")]
    metrics = Table(Column("metric", overflow="fold"), *numbers)
    for own in summary["metrics"]:
        unit = f" [{own['unit']}]" if own["unit"] not in ("", "1") else ""
        mean = _share(own["mean_interval"]) if own["is_bool"] else _mean(own["mean_interval"])
        quantiles = ["" if own["is_bool"] else _number(own[name]) for name in ("p5", "median", "p95")]
        metrics.add_row(f"{own['name']}{unit}", mean, *quantiles, str(own["missing"] or ""))
    console.print(metrics)


def _share(interval: dict[str, Any]) -> str:
    """Format a share with its confidence interval."""
    if interval["estimate"] is None:
        return "?"
    estimate, low, high = (100.0 * interval[name] for name in ("estimate", "low", "high"))
    return f"{estimate:.1f} % ({low:.1f} to {high:.1f})"


def _mean(interval: dict[str, Any]) -> str:
    """Format a mean with the half-width of its confidence interval."""
    if interval["estimate"] is None or interval["low"] is None:
        return _number(interval["estimate"])
    return f"{_number(interval['estimate'])} ± {0.5 * (interval['high'] - interval['low']):.2g}"


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}"


def _matters(own: dict[str, Any]) -> str:
    """Describe the effect of an input on a metric."""
    r = own["correlation"]
    how = f"rank correlation {r['estimate']:+.2f} ({r['low']:+.2f} to {r['high']:+.2f})" if r is not None else ""
    is_known = own["explained"] is not None
    share = f"{100.0 * own['explained']:.0f} % explained" if is_known else "too few runs for the explained share"
    return f"{own['input']} for {own['metric']}: {', '.join(part for part in (how, share) if part)}"
