"""Pass criteria: bounds on metrics, all of which a flight must meet."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from px4lockstep.campaigns.metrics import Metric
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.part import KEY, Part, entry, show, wrong
from px4lockstep.part.limits import ANY_UNIT


def _number_or_bool(value: Any) -> Any:
    if not isinstance(value, bool | int | float) or not abs(value) < math.inf:
        raise wrong(f"{KEY} = {show(value)} is not allowed; it must be true, false or a finite number")
    return value


class CriterionTable(Part):
    """A bound on a metric; NaN does not meet any."""

    metric: str = entry(..., "Name of the metric.")
    at_most: float | None = entry(None, "Upper bound of the metric, inclusive.", **ANY_UNIT)
    at_least: float | None = entry(None, "Lower bound of the metric, inclusive.", **ANY_UNIT)
    equals: Annotated[bool | float, BeforeValidator(_number_or_bool)] | None = entry(
        None, "Required value of the metric: true, false or a number.", **ANY_UNIT
    )

    @model_validator(mode="after")
    def _can_be_kept(self) -> "CriterionTable":
        on = f"{KEY}, on metric {self.metric!r},"
        bounds = {name: getattr(self, name) for name in ("at_least", "at_most") if getattr(self, name) is not None}
        said = " and ".join(f"{name} = {show(value)}" for name, value in bounds.items())
        if not bounds and self.equals is None:
            raise wrong(f"{on} has no bound; add at_most, at_least or equals")
        if len(bounds) == 2 and bounds["at_least"] > bounds["at_most"]:
            raise wrong(f"{on} has {said}, which cannot both hold; at_least must not be above at_most")
        if bounds and self.equals is not None:
            raise wrong(f"{on} has equals = {show(self.equals)} and {said}; give either equals or the limits")
        return self

    def is_kept_by(self, value: float | bool) -> bool:
        """Return whether a value meets the criterion."""
        if self.equals is not None:
            return value == self.equals
        is_high_enough = self.at_least is None or value >= self.at_least
        return is_high_enough and (self.at_most is None or value <= self.at_most)


def check_criteria(criteria: Sequence[CriterionTable], metrics: Sequence[Metric]) -> None:
    """Check that each criterion refers to an existing metric and fits its type."""
    by_name = {metric.name: metric for metric in metrics}
    for i, criterion in enumerate(criteria):
        metric = by_name.get(criterion.metric)
        if metric is None:
            hint = did_you_mean(criterion.metric, by_name)
            there = f"{'Metrics' if hint else 'metrics'}: {', '.join(by_name)}"
            raise InputError(f"pass[{i}].metric = {criterion.metric!r} is not a metric; {hint}{there}")
        if metric.is_bool and not isinstance(criterion.equals, bool):
            raise InputError(
                f"pass[{i}], on metric {metric.name!r}, has a number as its bound, but the metric is true or false; "
                "use equals = true or equals = false"
            )
        if not metric.is_bool and isinstance(criterion.equals, bool):
            raise InputError(
                f"pass[{i}].equals = {show(criterion.equals)} is invalid: metric {metric.name!r} is a number; "
                "use at_most, at_least, or equals with a number"
            )


def passes(criteria: Sequence[CriterionTable], values: Mapping[str, float | bool]) -> bool | None:
    """Return whether the metrics of a flight meet all criteria; None without criteria."""
    return all(criterion.is_kept_by(values[criterion.metric]) for criterion in criteria) if criteria else None
