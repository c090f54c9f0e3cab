"""Pass criteria: bounds on metrics that a flight must keep, all of them."""

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
    """A bound on a metric; NaN keeps none."""

    metric: str = entry(..., "The name of the metric.")
    at_most: float | None = entry(None, "It must not be greater than this.", **ANY_UNIT)
    at_least: float | None = entry(None, "It must not be less than this.", **ANY_UNIT)
    equals: Annotated[bool | float, BeforeValidator(_number_or_bool)] | None = entry(
        None, "It must be this: true or false, or a number.", **ANY_UNIT
    )

    @model_validator(mode="after")
    def _can_be_kept(self) -> "CriterionTable":
        on = f"{KEY}, on metric {self.metric!r},"
        bounds = {name: getattr(self, name) for name in ("at_least", "at_most") if getattr(self, name) is not None}
        said = " and ".join(f"{name} = {show(value)}" for name, value in bounds.items())
        if not bounds and self.equals is None:
            raise wrong(f"{on} has no bound; give it at_most, at_least or equals")
        if len(bounds) == 2 and bounds["at_least"] > bounds["at_most"]:
            raise wrong(f"{on} has {said}, which nothing keeps; at_least must not be above at_most")
        if bounds and self.equals is not None:
            raise wrong(f"{on} has equals = {show(self.equals)} and {said}; give it equals alone, or the limits")
        return self

    def is_kept_by(self, value: float | bool) -> bool:
        """Return whether a value keeps it."""
        if self.equals is not None:
            return value == self.equals
        is_high_enough = self.at_least is None or value >= self.at_least
        return is_high_enough and (self.at_most is None or value <= self.at_most)


def check_criteria(criteria: Sequence[CriterionTable], metrics: Sequence[Metric]) -> None:
    """Make sure that criteria are on metrics that there are, and of their type."""
    by_name = {metric.name: metric for metric in metrics}
    for i, criterion in enumerate(criteria):
        metric = by_name.get(criterion.metric)
        if metric is None:
            hint = did_you_mean(criterion.metric, by_name)
            there = f"{'There' if hint else 'there'} are {', '.join(by_name)}"
            raise InputError(f"pass[{i}].metric = {criterion.metric!r} is no metric; {hint}{there}")
        if metric.is_bool and not isinstance(criterion.equals, bool):
            raise InputError(
                f"pass[{i}], on metric {metric.name!r}, has a number for a bound, and the metric is true or false; "
                "give it equals = true or equals = false"
            )
        if not metric.is_bool and isinstance(criterion.equals, bool):
            raise InputError(
                f"pass[{i}].equals = {show(criterion.equals)} can't be: metric {metric.name!r} is a number; "
                "give it at_most, at_least or a number"
            )


def passes(criteria: Sequence[CriterionTable], values: Mapping[str, float | bool]) -> bool | None:
    """Return whether the metrics of a flight keep all criteria; None if there are none."""
    return all(criterion.is_kept_by(values[criterion.metric]) for criterion in criteria) if criteria else None
