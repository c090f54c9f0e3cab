"""The runs of a campaign as a table: what statistics, summaries and pictures take.

A run is a row; inputs and metrics are columns beside those of every campaign. A value that is not there is None or NaN.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.campaigns.result_rows import ABOUT, PASSED
from px4lockstep.errors import InputError

if TYPE_CHECKING:
    from px4lockstep.campaigns.criteria import CriterionTable

Column = npt.NDArray[Any]
Vector = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class MetricColumn(NamedTuple):
    """A metric: the name of its column, its unit (empty if it has none), and whether its values are true or false."""

    name: str
    unit: str = ""
    is_bool: bool = False


@dataclass(frozen=True)
class Results:
    """The runs of a campaign so far, sorted by index."""

    columns: dict[str, Column] = field(repr=False)  # those of `ABOUT`, of inputs and of metrics, by name; all as long
    inputs: tuple[str, ...]  # their keys
    metrics: tuple[MetricColumn, ...]
    criteria: tuple["CriterionTable", ...] = ()  # without any, no run is passed or failed
    name: str = "campaign"
    sampling: str = "random"

    def __post_init__(self) -> None:
        known = [metric.name for metric in self.metrics]
        names = [*ABOUT, *self.inputs, *known]
        missing = [name for name in names if name not in self.columns]
        if missing:
            raise InputError(f"these results have no column {', '.join(missing)}; they have {', '.join(self.columns)}")
        lengths = {name: len(self.columns[name]) for name in names}
        odd = [f"{name} has {length}" for name, length in lengths.items() if length != lengths["index"]]
        if odd:
            raise InputError(f"these results have {lengths['index']} runs, but column {', '.join(odd)}")
        unknown = [criterion.metric for criterion in self.criteria if criterion.metric not in known]
        if unknown:
            have = f"they have {', '.join(known) or 'none'}"
            raise InputError(f"a criterion is about {unknown[0]}, which is no metric of these results; {have}")
        order = np.argsort(self.columns["index"], kind="stable")
        object.__setattr__(self, "columns", {name: np.asarray(self.columns[name])[order] for name in names})

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.columns["index"])

    @property
    def is_passed(self) -> Flags:
        """Which runs are passed: none of those that ended with an error, or whose column is empty."""
        flags: Flags = numbers_of(self.columns[PASSED]) == 1.0
        return flags

    def metric_values(self, name: str) -> Vector:
        """Return the values of a metric as numbers, true as 1; what is not a finite number is NaN."""
        values = numbers_of(self.columns[name])
        return np.where(np.isfinite(values), values, np.nan)


def is_numeric(column: Column) -> bool:
    """Return whether a column is of numbers, or of true and false, and not of strings or vectors."""
    if column.dtype != object:
        return column.ndim == 1 and column.dtype.kind in "biuf"
    return all(value is None or isinstance(value, bool | int | float | np.number | np.bool_) for value in column)


def numbers_of(column: Column) -> Vector:
    """Return a numeric column as floats; true is 1, None is NaN."""
    if column.dtype != object:
        return column.astype(np.float64)
    return np.array([np.nan if value is None else float(value) for value in column], np.float64)
