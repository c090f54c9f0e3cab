"""Report of a campaign: pass rate, outcomes, metrics over inputs, and the table of its runs."""

from typing import Any

import numpy as np

from px4lockstep.campaigns.figure import main_metric
from px4lockstep.campaigns.folder import FILE, MAX_BYTES, CampaignFolder
from px4lockstep.campaigns.panels import bounds_of, named
from px4lockstep.campaigns.results_table import Results, is_numeric
from px4lockstep.campaigns.sensitivity import sensitivities_of
from px4lockstep.campaigns.statistics import CONFIDENCE
from px4lockstep.campaigns.tables import METRIC_HEADS, about_rows, metric_rows, numbers_of, results_in
from px4lockstep.flights.outcome import is_success
from px4lockstep.reading import read_text
from px4lockstep.reports.charts import Cloud, bars, scatter
from px4lockstep.reports.page import BAD, GOOD, NONE, PageTable, ReportPage, details, paragraph, side_by_side
from px4lockstep.spec.toml_text import to_toml

MAX_ROWS = 2_000
"""Runs in the table; of more, the first ones are listed."""
MAX_INPUTS, MAX_METRICS = 6, 2


def campaign_page(folder: CampaignFolder) -> ReportPage:
    """Return the report of a campaign folder."""
    results = results_in(folder)
    numbers = numbers_of(folder, results.labels)
    passed = int(results.is_passed.sum())
    if not results.criteria:
        verdict, kind = f"{results.runs} runs", NONE
    else:
        verdict, kind = f"{passed} of {results.runs} passed", GOOD if passed == results.runs else BAD
    reason = "" if folder.is_complete else "the campaign is incomplete"
    if not folder.is_complete:
        kind = NONE if kind == GOOD else kind
    facts = [f"base {folder.campaign.file.campaign.base}", f"sampling: {', '.join(results.methods) or 'none'}"]
    page = ReportPage(results.name, verdict, kind, reason, [*facts, f"identity {folder.campaign.identity[:12]}"])
    labels = results.labels
    page.add("Results", PageTable(about_rows(numbers, labels)), PageTable(metric_rows(numbers, labels), METRIC_HEADS))
    page.add("Charts", side_by_side(page.chart(chart) for chart in _charts(results)))
    page.add("Runs", *_runs(results))
    _add_spec(page, folder)
    return page


def _charts(results: Results) -> list[Any]:
    """Return the outcomes, and the metrics with a criterion over the inputs."""
    names, counts = np.unique([str(status) for status in results.columns["status"]], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    by_status = {str(names[i]): int(counts[i]) for i in order}
    charts = [bars("Runs by status", by_status, [is_success(name) for name in by_status])]
    main = main_metric(results)
    metrics = [own for own in results.metrics if bounds_of(results, own.name) and not own.is_bool]
    metrics = [*([main] if main is not None else []), *(own for own in metrics if own != main)][:MAX_METRICS]
    for metric in metrics:
        order_of = [own.input for own in sensitivities_of(results, CONFIDENCE) if own.metric == metric.name]
        for key in list(dict.fromkeys([*order_of, *results.inputs]))[:MAX_INPUTS]:
            charts.append(scatter(results.label(key), named(results, metric), _cloud(results, key, metric.name)))
    return charts


def _cloud(results: Results, key: str, metric: str) -> Cloud:
    column, columns = results.columns[key], results.columns
    x = [_plain(value) for value in column] if is_numeric(column) else [_cell(value) for value in column]
    rows = zip(columns["index"], columns["status"], strict=True)
    texts = [f"run {index}: {status}" for index, status in rows]
    flags = bool(results.criteria)
    bounds = bounds_of(results, metric)
    return Cloud(x, results.metric_values(metric), texts, results.is_passed, flags, bounds)


def _plain(value: Any) -> float | int | None:
    """Return a number of a results table for JSON; None if it is missing or not finite."""
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if plain is not None and np.isfinite(plain) else None


def _runs(results: Results) -> list[str | PageTable]:
    names = ["index", "status", *(["passed"] if results.criteria else []), "seed", *results.inputs]
    names += [metric.name for metric in results.metrics]
    shown = min(results.runs, MAX_ROWS)
    rows = [[_cell(results.columns[name][row]) for name in names] for row in range(shown)]
    faults = [bool(results.criteria) and not bool(passed) for passed in results.is_passed[:shown]]
    heads = ["run" if name == "index" else results.label(name) for name in names]
    table = PageTable(rows, heads, faults, is_long=True)
    return [table] if shown == results.runs else [paragraph(f"The first {shown} of {results.runs} runs."), table]


def _cell(value: Any) -> str:
    if value is None or value != value:  # missing, or NaN
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


def _add_spec(page: ReportPage, folder: CampaignFolder) -> None:
    parts: list[str | PageTable] = []
    changes = [(key, repr(value)) for key, value in folder.campaign.file.set.items()]
    if changes:
        parts.append(PageTable(changes, ("key", "value of all runs")))
    varied = [(own.key, own.label or "", own.distribution) for own in folder.campaign.vary]
    if varied:
        parts.append(PageTable(varied, ("varying key", "label", "distribution")))
    if (folder.path / FILE).is_file():
        parts.append(details(FILE, read_text(folder.path / FILE, MAX_BYTES, "a campaign file")))
    parts.append(details("Spec of the aircraft, complete", to_toml(folder.campaign.spec({}))))
    page.add("Spec", *parts)
