"""The points of a sweep: the mean and the spread of each metric, and how the flights ended.

A metric of a failed flight does not count: a vehicle that crashes early may well have the smallest tracking error. Such
flights are counted at their point instead. A boolean metric is a share of all flights, failed ones included.
"""

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.metrics import Metric
from px4lockstep.campaigns.result_rows import ERROR, Row
from px4lockstep.campaigns.statistics import finite_of, mean_and_std
from px4lockstep.experiments.inputs import label_of
from px4lockstep.plots.html import HtmlTable, ShownInNotebook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_SHOWN = 3


@dataclass(frozen=True)
class PointValue:
    """A metric at a point: statistics over the flights that count. NaN without any."""

    mean: float
    std: float  # of the sample; NaN for fewer than two flights
    count: int  # flights that have a value and did not fail


@dataclass(frozen=True)
class SweepPoint:
    """A combination of values."""

    inputs: Mapping[str, Any]  # by key
    runs: tuple[int, ...]  # indexes of its flights in the campaign
    outcomes: Mapping[str, int]  # number of flights by outcome
    failed: int  # flights that failed
    values: Mapping[str, PointValue]  # by name of the metric
    error: str | None = None  # of the first flight that could not be flown or measured

    @property
    def is_failed(self) -> bool:
        """Whether any of its flights failed."""
        return self.failed > 0

    @property
    def flights(self) -> str:
        """How its flights ended: `flown`, or `3 flown, 1 crashed`."""
        if len(self.outcomes) == 1 and len(self.runs) == 1:
            return next(iter(self.outcomes))
        return ", ".join(f"{count} {word}" for word, count in self.outcomes.items())


@dataclass(frozen=True, repr=False)
class Sweep(ShownInNotebook):
    """A sweep that was flown: its points in the order of the values, the last input varying fastest."""

    keys: tuple[str, ...]
    values: Mapping[str, Sequence[Any]]  # values of each key
    metrics: tuple[Metric, ...]
    points: tuple[SweepPoint, ...]
    seeds: int  # flights per point
    folder: CampaignFolder = field(repr=False)

    @property
    def labels(self) -> tuple[str, ...]:
        """Short names of the inputs."""
        return tuple(label_of(key) for key in self.keys)

    @property
    def is_complete(self) -> bool:
        """Whether all flights were flown."""
        return self.folder.is_complete

    @property
    def table(self) -> dict[str, list[Any]]:
        """One list per column, with one value per point: inputs, mean and spread of each metric, number of failures.

        `pandas.DataFrame(found.table)` is a table.
        """
        columns: dict[str, list[Any]] = {}
        for key, label in zip(self.keys, self.labels, strict=True):
            columns[label] = [point.inputs[key] for point in self.points]
        for metric in self.metrics:
            own = [point.values[metric.name] for point in self.points]
            columns[metric.name] = [value.mean for value in own]
            if self.seeds > 1:
                columns[f"{metric.name}_std"] = [value.std for value in own]
        columns["flights"] = [len(point.runs) for point in self.points]
        columns["failed"] = [point.failed for point in self.points]
        columns["outcomes"] = [point.flights for point in self.points]
        columns["run"] = [point.runs[0] for point in self.points]
        return columns

    @property
    def failed(self) -> int:
        """Number of failed flights."""
        return sum(point.failed for point in self.points)

    def csv(self) -> str:
        """Return the table as CSV, with empty fields for missing values."""
        text, columns = io.StringIO(), self.table
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow("" if isinstance(value, float) and math.isnan(value) else value for value in row)
        return text.getvalue()

    def as_dict(self) -> dict[str, Any]:
        """Return the sweep for JSON, with None for missing values."""
        return {
            "name": self.folder.campaign.name,
            "inputs": {key: list(self.values[key]) for key in self.keys},
            "metrics": [{"name": own.name, "unit": own.unit, "description": own.description} for own in self.metrics],
            "seeds": self.seeds,
            "failed": self.failed,
            "complete": self.is_complete,
            "points": [
                {
                    "inputs": dict(point.inputs),
                    "runs": list(point.runs),
                    "outcomes": dict(point.outcomes),
                    "failed": point.failed,
                    "error": point.error,
                    "metrics": {
                        name: {"mean": _or_none(value.mean), "std": _or_none(value.std), "count": value.count}
                        for name, value in point.values.items()
                    },
                }
                for point in self.points
            ],
            "campaign_dir": str(self.folder.path),
        }

    def plot(self) -> "Figure":
        """Return the figure: a line of each metric over one input, or a map over two; `save_plot` writes it."""
        from px4lockstep.experiments.sweep_figure import plot_sweep

        return plot_sweep(self)

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {len(self.values[key])} values" for key, name in self._named())
        metrics = ", ".join(metric.name for metric in self.metrics[:MAX_SHOWN])
        more = ", …" if len(self.metrics) > MAX_SHOWN else ""
        failed = f", {self.failed} failed" if self.failed else ""
        flights = sum(len(point.runs) for point in self.points)
        return f"<Sweep of {inputs}; {metrics}{more}; {flights} flights{failed}; {str(self.folder.path)[-200:]}>"

    def _tables(self) -> Iterable[HtmlTable]:
        columns = self.table
        return (HtmlTable([list(map(shown, row)) for row in zip(*columns.values(), strict=True)], list(columns)),)

    def _figure(self) -> "Figure":
        return self.plot()

    def _named(self) -> list[tuple[str, str]]:
        return list(zip(self.keys, self.labels, strict=True))


def shown(value: Any) -> str:
    """Return a value for a table, with four digits; a missing one as a dash."""
    if isinstance(value, float):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def sweep_of(folder: CampaignFolder, keys: tuple[str, ...], rows: Sequence[Row]) -> Sweep:
    """Return the sweep of a campaign's rows; points without a flight are left out."""
    campaign = folder.campaign
    asked = [table.name for table in campaign.file.metric]
    metrics = tuple(metric for metric in campaign.metrics if metric.name in asked)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in sorted(rows, key=lambda row: row.index):
        groups.setdefault(tuple(row.inputs[key] for key in keys), []).append(row)
    points = tuple(_point(dict(zip(keys, at, strict=True)), group, metrics) for at, group in groups.items())
    values = {vary.key: vary.values or () for vary in campaign.vary}
    per_point = campaign.runs // math.prod(len(values[key]) for key in keys)
    return Sweep(keys, {key: values[key] for key in keys}, metrics, points, per_point, folder)


def _point(inputs: dict[str, Any], rows: Sequence[Row], metrics: Sequence[Metric]) -> SweepPoint:
    outcomes = Counter(row.status for row in rows)
    values = {}
    for metric in metrics:
        counted = [row for row in rows if row.status != ERROR and (metric.is_bool or not row.is_failed)]
        found = finite_of([_number(row.metrics.get(metric.name)) for row in counted])
        mean, std = mean_and_std(found)
        values[metric.name] = PointValue(mean, std if len(found) > 1 else math.nan, len(found))
    failed = sum(row.is_failed for row in rows)
    error = next((row.error for row in rows if row.error is not None), None)
    return SweepPoint(inputs, tuple(row.index for row in rows), dict(sorted(outcomes.items())), failed, values, error)


def _number(value: float | bool | None) -> float:
    return math.nan if value is None else float(value)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
