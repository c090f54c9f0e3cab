"""Results of a campaign as numbers and as rows of text, for tables on the terminal and in notebooks."""

from collections.abc import Mapping
from typing import Any

from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.results import read_results, results_of
from px4lockstep.campaigns.results_table import Results
from px4lockstep.campaigns.summary import NO_LABELS, summary_of

MAX_SHOWN = 6
"""Number of influential inputs that are shown."""
METRIC_HEADS = ("metric", "mean", "5 %", "median", "95 %", "missing")
Rows = list[tuple[str, ...]]


def results_in(folder: CampaignFolder) -> Results:
    """Return the runs in a campaign folder."""
    return results_of(folder.campaign, read_results(folder.results))


def numbers_of(folder: CampaignFolder, labels: Mapping[str, str] = NO_LABELS) -> dict[str, Any]:
    """Return the statistics of a campaign as `--json` prints them, or with labels in the texts of broken criteria."""
    summary, asked = summary_of(results_in(folder), labels=labels), folder.campaign.runs
    is_stopped = folder.is_complete and summary["runs"] < asked
    return {
        **summary,
        "runs_asked": asked,
        "complete": folder.is_complete,
        "stopped_after": summary["runs"] if is_stopped else None,
        "own_parts": folder.campaign.own_parts,
        "campaign_dir": str(folder.path),
    }


def about_rows(summary: dict[str, Any], labels: Mapping[str, str] = NO_LABELS) -> Rows:
    """Return names and values of a campaign: runs, outcomes, worst runs, influential inputs by their labels or keys."""
    missing = "" if summary["complete"] else f" of {summary['runs_asked']}; the others have not been flown yet"
    rows: Rows = [("runs", f"{summary['runs']}{missing}")]
    if summary["stopped_after"]:
        rows.append(("stopped early", f"after {summary['stopped_after']} of {summary['runs_asked']} runs"))
    rows.append(("outcomes", ", ".join(f"{word} {count}" for word, count in summary["by_status"].items())))
    if summary["pass_rate"] is not None:
        rows.append(("passed", f"{summary['passed']}: {_share(summary['pass_rate'])}"))
    label = "worst runs"
    for own in summary["worst"]:
        why = "" if own["why"] == own["status"] else f": {own['why']}"
        rows.append((label, f"run {own['index']}: {own['status']}{why}"))
        label = ""
    strongest = {own["input"]: own for own in reversed(summary["sensitivities"])}  # strongest effect of each input
    label = "most influential input"
    for own in sorted(strongest.values(), key=lambda own: -own["strength"])[:MAX_SHOWN]:
        rows.append((label, _matters(own, labels)))
        label = ""
    rows += [("note", note) for note in summary["notes"]]
    rows += list(summary["own_parts"].items())
    rows.append(("folder", summary["campaign_dir"]))
    return rows


def metric_rows(summary: dict[str, Any], labels: Mapping[str, str] = NO_LABELS) -> Rows:
    """Return a row for each metric, by its label or its name: see `METRIC_HEADS`."""
    rows: Rows = []
    for own in summary["metrics"]:
        unit = f" [{own['unit']}]" if own["unit"] not in ("", "1") else ""
        mean = _share(own["mean_interval"]) if own["is_bool"] else _mean(own["mean_interval"])
        quantiles = ["" if own["is_bool"] else _number(own[name]) for name in ("p5", "median", "p95")]
        rows.append((labels.get(own["name"], f"{own['name']}{unit}"), mean, *quantiles, str(own["missing"] or "")))
    return rows


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


def _matters(own: dict[str, Any], labels: Mapping[str, str]) -> str:
    """Describe the effect of an input on a metric."""
    r = own["correlation"]
    how = f"rank correlation {r['estimate']:+.2f} ({r['low']:+.2f} to {r['high']:+.2f})" if r is not None else ""
    is_known = own["explained"] is not None
    share = f"{100.0 * own['explained']:.0f} % explained" if is_known else "too few runs for the explained share"
    names = (labels.get(own[kind], own[kind]) for kind in ("input", "metric"))
    return f"{' for '.join(names)}: {', '.join(part for part in (how, share) if part)}"
