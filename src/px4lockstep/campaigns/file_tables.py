"""The tables of a campaign file."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from px4lockstep.campaigns.criteria import CriterionTable
from px4lockstep.campaigns.metrics import MetricTable
from px4lockstep.campaigns.stopping import StopTable
from px4lockstep.part import KEY, Number, Part, entry, show, wrong
from px4lockstep.part.limits import ANY_UNIT

MAX_RUNS = 1_000_000
MAX_INPUTS = 500
Accepted = Literal[
    "crashed", "never took off", "tipped over", "out of control", "mission not finished", "landed away", "stopped"
]
"""Failures that a campaign may accept: words of `flights.outcome`."""


def _one_type(values: Any) -> Any:
    """Check that values are of one type: numbers, strings, booleans, or arrays of as many numbers each."""
    if not isinstance(values, tuple) or not values:
        raise wrong(f"{KEY} = {show(values)} has no values; it must be an array of at least one")
    kinds = [_kind(value) for value in values]
    for value, kind in zip(values, kinds, strict=True):
        if kind is None or kind != kinds[0]:
            raise wrong(
                f"{KEY} has {show(values[0])} and {show(value)}; it must be numbers, strings, booleans, or arrays of "
                "as many numbers each, all of one type, finite, and of 64 bits if they are whole"
            )
    if any(isinstance(value, float) for value in values):
        return tuple(map(float, values))  # as they are in the column of the results
    return values


def _kind(value: Any) -> str | None:
    match value:
        case bool():
            return "boolean"
        case int():
            return "number" if -(2**63) <= value < 2**63 else None
        case float():
            return "number" if abs(value) < float("inf") else None
        case str():
            return "string"
        case tuple():
            return f"{len(value)} numbers" if value and {_kind(item) for item in value} == {"number"} else None
    return None


class CampaignTable(Part):
    """What is flown, how often, and how inputs are sampled."""

    name: str = entry("campaign", "Names the folder.", min_length=1, max_length=100)
    base: str = entry(..., "The aircraft file: a name that ships, or a path.", extra={"path": True})
    runs: int | None = entry(
        None,
        "How many flights; left out, as many as grids have combinations, or the longest list values.",
        ge=1,
        le=MAX_RUNS,
    )
    seed: int = entry(0, "Of all that is sampled.", ge=0, lt=2**63)
    sampling: Literal["random", "latin_hypercube", "sobol"] = entry("random", "How distributions are sampled.")
    own_seeds: bool = entry(True, "Whether each run has a seed of its own, `aircraft.seed`, from seed and index.")
    accept: tuple[Accepted, ...] = entry(
        (), "Outcomes that may pass although the flight failed. Without it, a failed flight never passes."
    )


class Vary(Part):
    """An input that varies from run to run."""

    key: str = entry(..., "Of the aircraft file: `environment.wind_mean_ned[0]`, `scenario.events[0].at_s`.")
    distribution: Literal["uniform", "normal", "lognormal", "choice", "grid", "list"] = entry(
        ..., "Random: uniform, normal, lognormal, choice. All combinations: grid. One after the other: list."
    )
    low: Number | None = entry(None, "Of uniform; a normal or lognormal is cut off there.", **ANY_UNIT)
    high: Number | None = entry(None, "Of uniform; a normal or lognormal is cut off there.", **ANY_UNIT)
    whole: bool = entry(False, "Whether a uniform input is a whole number, `high` included.")
    mean: Number | None = entry(None, "Of normal.", **ANY_UNIT)
    std: Number | None = entry(None, "Standard deviation of normal.", gt=0.0, le=1e19)
    median: Number | None = entry(None, "Of lognormal.", gt=0.0, le=1e19)
    sigma: Number | None = entry(None, "Standard deviation of the logarithm of lognormal.", gt=0.0, le=100.0)
    values: Annotated[tuple[Any, ...], BeforeValidator(_one_type)] | None = entry(None, "Of choice, grid and list.")
    weights: tuple[float, ...] | None = entry(
        None, "Of choice: how often each value is taken, beside the others.", **ANY_UNIT
    )


class CampaignFile(Part):
    """A campaign file."""

    campaign: CampaignTable = entry(..., "What is flown.")
    set: dict[str, Any] = entry({}, "Changes of the aircraft file that all runs have, by dotted key.")
    vary: tuple[Vary, ...] = entry((), "Inputs that vary.", max_length=MAX_INPUTS)
    metric: tuple[MetricTable, ...] = entry((), "Numbers of each flight.", max_length=MAX_INPUTS)
    pass_: tuple[CriterionTable, ...] = entry((), "What a run must meet to pass.", alias="pass", max_length=MAX_INPUTS)
    stop: StopTable | None = entry(None, "When to stop early.")
