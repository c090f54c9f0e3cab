"""Tune PX4 parameters: search the values with the least cost, and check them with seeds that the search did not use.

found = tune("x500", {"MPC_XY_P": (0.5, 1.8), "MPC_XY_VEL_P_ACC": (1.2, 4.0)}, seeds=4, budget=60)
found.is_improved, found.values, found.toml

The search flies each parameter set with all training seeds, on the workers of a campaign. It is deterministic: the same
inputs give the same values with any number of workers. Then the best set and the starting values fly with held-out
seeds.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from px4lockstep.campaigns.campaign import SEED, Campaign
from px4lockstep.campaigns.file_tables import Vary
from px4lockstep.campaigns.folder import CampaignFolder, check_is_free
from px4lockstep.campaigns.load import load_campaign
from px4lockstep.campaigns.result_rows import Row
from px4lockstep.campaigns.results import ResultsWriter, schema_of
from px4lockstep.campaigns.run import Watch, local_executor, rehearse, text_of
from px4lockstep.errors import InputError, did_you_mean
from px4lockstep.experiments.evaluations import Evaluator, Values
from px4lockstep.experiments.held_out import HeldOut
from px4lockstep.experiments.inputs import PARAMETER, Range, key_of, ranges_of
from px4lockstep.experiments.metric_words import Term, terms_of
from px4lockstep.experiments.search import check_budget, search
from px4lockstep.experiments.sweep import name_of, seeds_of
from px4lockstep.experiments.tuned import Tuned
from px4lockstep.flights.parameters import parameters_of
from px4lockstep.px4.parameters import known_parameters
from px4lockstep.spec.load import load_spec

DEFAULT_COST = ("tracking_rms", "rms:motor_spread")
"""RMS distance from the position setpoint [m], plus the RMS spread of motor commands, which grows with chatter."""
DEFAULT_SEEDS, DEFAULT_BUDGET, HELD_OUT = 4, 60, 20
RNG = 0


def tune(
    spec: str | Path,
    inputs: Mapping[str, str | Sequence[float]],
    cost: str | Sequence[str] = DEFAULT_COST,
    *,
    seeds: int = DEFAULT_SEEDS,
    budget: int = DEFAULT_BUDGET,
    held_out: int = HELD_OUT,
    overrides: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    workers: int | None = None,
    out: str | Path | None = None,
    watch: Watch | None = None,
    trust: bool = False,
) -> Tuned:
    """Search PX4 parameters for the least cost, and compare them with the starting values on held-out seeds.

    Args:
        spec: Name of a built-in aircraft or path of a spec file. Its parameters are the starting values.
        inputs: Limits by PX4 parameter: `(0.05, 0.3)`, or text such as `0.05:0.3` or, for a search by the logarithm,
            `0.05:0.3:log`.
        cost: What to minimize: a metric, or several that are added; `0.5*max:tilt_deg` has the weight 0.5. A parameter
            set costs the mean over its flights, and infinitely much if one of them fails.
        seeds: Number of training seeds: the seed of the spec and those that follow it.
        budget: Number of parameter sets to fly, each with all training seeds.
        held_out: Number of seeds after the training seeds with which the result is checked.
        overrides: Values of the spec for all flights, by key.
        accept: Failed outcomes that count as flown, such as `out of time`.
        workers: Number of worker processes; one per processor by default.
        out: The folder for all flights and the result; by default, a new one in `campaigns/`.
        watch: Called after each flight; returns whether to continue.
        trust: Whether to run the code that the spec file names: see docs/howto/untrusted_files.md.

    Returns:
        The found values and how they compare on the held-out seeds. If nothing was better, `is_improved` is false.

    Raises:
        InputError: If an input or a metric is not valid, before the first flight; or if a flight has an error.
        SearchStoppedError: If `watch` stopped it. Nothing is written.
    """
    if out is not None:
        check_is_free(out)
    terms, changes = terms_of(cost), dict(overrides or {})
    if held_out < 2:
        raise InputError(f"held_out = {held_out} is out of range; it must be at least 2")
    check_budget(budget)
    start, ranges = _starting(spec, inputs, changes, trust)
    training, checking = seeds_of(spec, changes, seeds), seeds_of(spec, changes, held_out, after=seeds)
    campaign = _campaign(spec, ranges, terms, (*training, *checking), changes, accept, trust)
    with local_executor(campaign, workers) as executor:
        rehearse(executor)
        evaluator = Evaluator(executor, ranges, terms, budget * seeds + 2 * held_out, watch)
        history = search(evaluator, start, training, budget, RNG)
        best = min(history, key=lambda own: own.rank)  # the first of equal ones: the starting values
        before, after = evaluator.evaluate([start, best.values], checking)
    folder = _write(campaign, evaluator.rows, out)
    found = Tuned(ranges, terms, tuple(history), best, HeldOut(checking, before, after), folder, str(spec))
    found.write()
    return found


def _starting(
    spec: str | Path, inputs: Mapping[str, Any], overrides: Mapping[str, Any], trust: bool
) -> tuple[Values, tuple[Range, ...]]:
    """Return the starting values of the parameters, and their ranges."""
    if not inputs:
        raise InputError("no parameters to tune; give at least one with its range, such as MC_ROLLRATE_P=0.05:0.3")
    for name in inputs:
        if not PARAMETER.fullmatch(name):
            raise InputError(f"{name} is not a PX4 parameter; tune searches PX4 parameters such as MC_ROLLRATE_P only")
    known, flown = known_parameters(), parameters_of(load_spec(str(spec), overrides, reads_mission=False, trust=trust))
    for name in inputs:
        if name not in flown:
            hint = "" if name in known else did_you_mean(name, flown)
            if hint:
                raise InputError(f"unknown parameter {name!r}; {hint.rstrip()}")
            remedy = f"set it: --set autopilot.params.{name}=VALUE"
            raise InputError(f"the starting value of {name} is not known for this autopilot; {remedy}")
    whole = [key_of(name) for name in inputs if name in known and known[name].kind == "int32"]
    return tuple(flown[name] for name in inputs), ranges_of(inputs, whole)


def _campaign(
    spec: str | Path,
    ranges: Sequence[Range],
    terms: Sequence[Term],
    seeds: Sequence[int],
    overrides: Mapping[str, Any],
    accept: Sequence[str],
    trust: bool,
) -> Campaign:
    """Return the campaign whose workers fly the parameter sets; loading it checks both ends of each range."""
    vary = [
        {"key": own.key, "distribution": "grid", "values": tuple(dict.fromkeys(own.value(end) for end in (0.0, 1.0)))}
        for own in ranges
    ]
    about = {"name": name_of(spec, "tune"), "base": str(spec), "own_seeds": False, "accept": tuple(accept)}
    tables = {
        "campaign": about,
        "set": dict(overrides),
        "vary": [*vary, {"key": SEED, "distribution": "list", "values": tuple(seeds)}],
        "metric": [term.metric.model_dump(exclude_none=True) for term in terms],
    }
    return load_campaign(tables, trust=trust)


def _write(campaign: Campaign, rows: Sequence[Row], out: str | Path | None) -> CampaignFolder:
    """Write all flights as a campaign whose inputs are lists, so that it can be shown and its flights rerun."""
    vary = tuple(
        Vary(key=own.key, distribution="list", values=tuple(row.inputs[own.key] for row in rows))
        for own in campaign.vary
    )
    file = campaign.file.model_copy(update={"vary": vary})
    flown = dataclasses.replace(campaign, file=file, runs=len(rows))
    folder = CampaignFolder.create(out, flown, text_of({}, flown))
    writer = ResultsWriter(folder.results, schema_of(flown), len(rows) * len(rows))  # one part
    for row in rows:
        writer.add(row)
    writer.flush()
    folder.complete()
    return folder
