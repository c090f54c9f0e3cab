"""The tables of a campaign file."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from px4lockstep.campaigns.criteria import CriterionTable
from px4lockstep.campaigns.metrics import LABEL_LENGTH, MetricTable
from px4lockstep.campaigns.stopping import StopTable
from px4lockstep.part import KEY, Number, Part, entry, show, wrong
from px4lockstep.part.limits import ANY_UNIT

MAX_RUNS = 1_000_000
MAX_INPUTS = 500
Accepted = Literal[
    "crashed",
    "battery empty",
    "never took off",
    "tipped over",
    "out of control",
    "out of time",
    "mission not finished",
    "setpoints not followed",
    "command not obeyed",
    "landed away",
    "stopped",
]
"""Failed outcomes that a campaign may accept: words of `flights.outcome`."""


def _one_type(values: Any) -> Any:
    """Check that all values have one type: numbers, strings, booleans, or arrays of numbers of equal length."""
    if not isinstance(values, tuple) or not values:
        raise wrong(f"{KEY} = {show(values)} is invalid; it must be an array with at least one value")
    kinds = [_kind(value) for value in values]
    for value, kind in zip(values, kinds, strict=True):
        if kind is None or kind != kinds[0]:
            raise wrong(
                f"{KEY} has {show(values[0])} and {show(value)}; all values must have one type: finite numbers "
                "(integers of at most 64 bits), strings, booleans, or arrays of numbers of equal length"
            )
    if any(isinstance(value, float) for value in values):
        return tuple(map(float, values))  # as in the results
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
    """The aircraft, the number of runs, and how inputs are sampled."""

    name: str = entry("campaign", "Name of the campaign and of its folder.", min_length=1, max_length=100)
    base: str = entry(..., "Aircraft: the name of a built-in one, or the path of a spec file.", extra={"path": True})
    runs: int | None = entry(
        None,
        "Number of runs. By default, the number of grid combinations or the length of the longest list.",
        ge=1,
        le=MAX_RUNS,
    )
    seed: int = entry(0, "Random seed of the sampling.", ge=0, lt=2**63)
    sampling: Literal["random", "latin_hypercube", "sobol"] = entry("random", "Sampling method of random inputs.")
    own_seeds: bool = entry(True, "Whether each run gets its own `aircraft.seed`, derived from `seed` and its index.")
    accept: tuple[Accepted, ...] = entry((), "Failed outcomes that may pass. By default, a failed flight never passes.")


class Vary(Part):
    """An input that varies from run to run."""

    key: str = entry(..., "Key of the spec file, such as `environment.wind_mean_ned[0]` or `scenario.events[0].at_s`.")
    distribution: Literal["uniform", "normal", "lognormal", "choice", "grid", "list"] = entry(
        ..., "Random: uniform, normal, lognormal, choice. All combinations: grid. One value per run in turn: list."
    )
    low: Number | None = entry(None, "Lower limit of uniform, normal or lognormal.", **ANY_UNIT)
    high: Number | None = entry(None, "Upper limit of uniform, normal or lognormal.", **ANY_UNIT)
    whole: bool = entry(False, "Whether uniform yields whole numbers, both limits included.")
    mean: Number | None = entry(None, "Mean of normal.", **ANY_UNIT)
    std: Number | None = entry(None, "Standard deviation of normal.", gt=0.0, le=1e19)
    median: Number | None = entry(None, "Median of lognormal.", gt=0.0, le=1e19)
    sigma: Number | None = entry(None, "Standard deviation of the logarithm of lognormal.", gt=0.0, le=100.0)
    values: Annotated[tuple[Any, ...], BeforeValidator(_one_type)] | None = entry(
        None, "Values of choice, grid or list."
    )
    weights: tuple[float, ...] | None = entry(
        None, "Relative frequencies of the values of choice. Equal by default.", **ANY_UNIT
    )
    label: str | None = entry(
        None, "Name of the input in figures and reports, such as `payload [kg]`. Default: the key.", **LABEL_LENGTH
    )


class CampaignFile(Part):
    """A campaign file."""

    campaign: CampaignTable = entry(..., "Aircraft, number of runs, sampling.")
    set: dict[str, Any] = entry({}, "Overrides of the spec file for all runs, by dotted key.")
    vary: tuple[Vary, ...] = entry((), "Varying inputs.", max_length=MAX_INPUTS)
    metric: tuple[MetricTable, ...] = entry((), "Metrics of each flight.", max_length=MAX_INPUTS)
    pass_: tuple[CriterionTable, ...] = entry((), "Pass criteria.", alias="pass", max_length=MAX_INPUTS)
    stop: StopTable | None = entry(None, "Early stopping.")
