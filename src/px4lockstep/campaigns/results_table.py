"""The runs of a campaign as a table, the input of statistics, summaries and figures.

Each run is a row. Inputs and metrics are columns, in addition to those that every campaign has. A missing value is None
or NaN.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.result_rows import ABOUT, PASSED
from px4lockstep.errors import InputError
from px4lockstep.reprs import ShortRepr

if TYPE_CHECKING:
    from px4lockstep.campaigns.criteria import CriterionTable

Column = npt.NDArray[Any]
Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class MetricColumn(NamedTuple):
    """A metric: name of its column, unit (empty if it has none), and whether its values are boolean."""

    name: str
    unit: str = ""
    is_bool: bool = False


@dataclass(frozen=True, repr=False)
class Results(ShortRepr):
    """The runs of a campaign that have been flown, sorted by index."""

    columns: dict[str, Column] = field(repr=False)  # `ABOUT`, inputs and metrics, by name; all of the same length
    inputs: tuple[str, ...]  # keys
    metrics: tuple[MetricColumn, ...]
    criteria: tuple["CriterionTable", ...] = ()  # without criteria, runs neither pass nor fail
    name: str = "campaign"
    sampling: str = "random"  # of the campaign file, whether or not an input is sampled
    variation: tuple[str, ...] | None = None  # how inputs actually vary: see `methods`; None: all are sampled
    labels: Mapping[str, str] = field(default_factory=dict)  # of inputs and metrics, for figures and reports

    def __post_init__(self) -> None:
        known = [metric.name for metric in self.metrics]
        names = [*ABOUT, *self.inputs, *known]
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise InputError(f"these results lack column {', '.join(missing)}; they have {', '.join(self.columns)}")
        lengths = {name: len(self.columns[name]) for name in names}
        odd = [f"{name} has {length}" for name, length in lengths.items() if length != lengths["index"]]
        if odd:
            raise InputError(f"these results have {lengths['index']} runs, but column {', '.join(odd)}")
        unknown = [criterion.metric for criterion in self.criteria if criterion.metric not in known]
        if unknown:
            have = f"metrics: {', '.join(known) or 'none'}"
            raise InputError(f"a criterion refers to {unknown[0]!r}, which is not a metric of these results; {have}")
        order = np.argsort(self.columns["index"], kind="stable")
        object.__setattr__(self, "columns", {name: np.asarray(self.columns[name])[order] for name in names})

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.columns["index"])

    @property
    def methods(self) -> tuple[str, ...]:
        """How inputs vary: `grid`, `list`, the sampling method of random inputs, or `seeds` if no input varies."""
        return (self.sampling,) if self.variation is None else self.variation

    @property
    def is_passed(self) -> Flags:
        """Which runs passed; a run with an error, or with an empty column, did not."""
        flags: Flags = numbers_of(self.columns[PASSED]) == 1.0
        return flags

    @property
    def is_sampled(self) -> bool:
        """Whether runs are random samples; those of a grid or a list are not, and have no statistics."""
        return not self.methods or any(method not in ("grid", "list") for method in self.methods)

    def label(self, name: str) -> str:
        """Return the label of an input or a metric; without one, its key or name."""
        return self.labels.get(name, name)

    def metric_values(self, name: str) -> Vector:
        """Return the values of a metric as numbers, with 1 for true and NaN for values that are not finite."""
        values = numbers_of(self.columns[name])
        return np.where(np.isfinite(values), values, np.nan)


def is_numeric(column: Column) -> bool:
    """Return whether a column has numbers or booleans, not strings or vectors."""
    if column.dtype != object:
        return column.ndim == 1 and column.dtype.kind in "biuf"
    return all(value is None or isinstance(value, bool | int | float | np.number | np.bool_) for value in column)


def numbers_of(column: Column) -> Vector:
    """Return a numeric column as floats, with 1 for true and NaN for None."""
    if column.dtype != object:
        return column.astype(np.float64)
    return np.array([np.nan if value is None else float(value) for value in column], np.float64)
