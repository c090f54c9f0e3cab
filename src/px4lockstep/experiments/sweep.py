"""Sweep one or two inputs over given values, with one or several flights at each point.

found = sweep("x500", {"MC_ROLLRATE_P": "0.05:0.3:6"}, metric="max:tilt_deg", seeds=4)
found.table, found.plot()

A sweep is a campaign whose inputs are grids: its folder can be shown, resumed and rerun like that of any campaign. All
points fly with the same seeds, so that differences between points come from the inputs.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from px4lockstep.campaigns.campaign import SEED
from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.result_rows import Executor
from px4lockstep.campaigns.results import parts_of, read_results, rows_of
from px4lockstep.campaigns.run import Watch, fly_campaign, started_campaign
from px4lockstep.errors import InputError
from px4lockstep.experiments.inputs import key_of, values_of
from px4lockstep.experiments.metric_words import Given, metrics_of_words
from px4lockstep.experiments.sweep_results import Sweep, sweep_of
from px4lockstep.spec.load import load_spec

DEFAULT_METRIC = "tracking_rms"
MAX_KEYS = 2
MAX_SEEDS = 10_000
Values = str | Sequence[Any]


def sweep(
    spec: str | Path,
    inputs: Mapping[str, Values] | None = None,
    metric: Given | Sequence[Given] = DEFAULT_METRIC,
    *,
    seeds: int = 1,
    overrides: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
    workers: int | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    watch: Watch | None = None,
    trust: bool = False,
) -> Sweep:
    """Fly an aircraft at all combinations of the values of one or two inputs.

    Args:
        spec: Name of a built-in aircraft or path of a spec file; to resume, the folder of the sweep.
        inputs: Values by input. An input is a PX4 parameter (`MC_ROLLRATE_P`) or a key of the spec
            (`environment.wind_mean_ned[0]`); its values are a sequence, or text such as `0.1:0.2:5`.
        metric: A metric or several: a kind (`tracking_rms`), a statistic of a signal (`max:tilt_deg`), or a table.
        seeds: Number of flights at each point, with the seed of the spec and those that follow it.
        overrides: Values of the spec for all flights, by key.
        accept: Failed outcomes whose metrics count, such as `out of time`.
        workers: Number of worker processes; one per processor by default.
        out: The campaign folder; by default, a new one in `campaigns/`.
        resume: Whether to fly only the missing flights of the folder `spec`.
        watch: Called after each flight; returns whether to continue.
        trust: Whether to run the code that the spec file names: see docs/howto/untrusted_files.md.

    Returns:
        The points, with the mean and the spread of each metric; `plot()` draws them.

    Raises:
        InputError: If an input, a value or a metric is not valid, before the first flight.
    """
    source: str | Path | Mapping[str, Any] = spec
    if not resume:
        source = tables_of(spec, inputs or {}, metric, seeds=seeds, overrides=overrides, accept=accept)
    with started_sweep(source, workers=workers, out=out, resume=resume, trust=trust) as (folder, executor):
        fly_campaign(folder, executor, watch)
    return read_sweep(folder)


@contextmanager
def started_sweep(
    source: str | Path | Mapping[str, Any], *, resume: bool = False, **options: Any
) -> Iterator[tuple[CampaignFolder, Executor]]:
    """Start the campaign of a sweep: see `started_campaign`."""
    if resume and not isinstance(source, Mapping):
        keys_of_sweep(CampaignFolder.open(source))
    with started_campaign(source, resume=resume, **options) as started:
        yield started


def tables_of(
    spec: str | Path,
    inputs: Mapping[str, Values],
    metric: Given | Sequence[Given] = DEFAULT_METRIC,
    *,
    seeds: int = 1,
    overrides: Mapping[str, Any] | None = None,
    accept: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the campaign of a sweep as the tables of a campaign file."""
    if not 1 <= len(inputs) <= MAX_KEYS:
        remedy = "for more, write a campaign with grids: see docs/howto/campaigns.md"
        raise InputError(
            f"a sweep needs one or two inputs, such as MC_ROLLRATE_P=0.1:0.2:5, not {len(inputs)}; {remedy}"
        )
    vary = [{"key": key_of(name), "distribution": "grid", "values": values_of(name, inputs[name])} for name in inputs]
    if any(own["key"] == SEED for own in vary) and (len(vary) > 1 or seeds > 1):
        raise InputError(
            f"{SEED} can't be combined with another input or --seeds; use --seeds N for N flights per point"
        )
    if seeds != 1:
        vary.append({"key": SEED, "distribution": "grid", "values": seeds_of(spec, overrides or {}, seeds)})
    return {
        "campaign": {"name": name_of(spec, "sweep"), "base": str(spec), "own_seeds": False, "accept": tuple(accept)},
        "set": dict(overrides or {}),
        "vary": vary,
        "metric": [table.model_dump(exclude_none=True) for table in metrics_of_words(metric)],
    }


def name_of(spec: str | Path, what: str) -> str:
    """Return the name of the campaign of an experiment."""
    return f"{Path(spec).stem}_{what}"


def seeds_of(spec: str | Path, overrides: Mapping[str, Any], count: int, *, after: int = 0) -> tuple[int, ...]:
    """Return seeds: that of the spec and those that follow it, without the first `after`."""
    if not 1 <= count <= MAX_SEEDS:
        raise InputError(f"seeds = {count} is out of range; it must be 1 to {MAX_SEEDS:,}")
    first = load_spec(str(spec), overrides, reads_mission=False).aircraft.seed + after
    return tuple(range(first, first + count))


def keys_of_sweep(folder: CampaignFolder) -> tuple[str, ...]:
    """Return the swept keys of a campaign folder, without that of the seeds; raise if it is not a sweep."""
    vary = folder.campaign.vary
    keys = tuple(own.key for own in vary if own.distribution == "grid")
    if len(keys) > 1 and keys[-1] == SEED:
        keys = keys[:-1]
    if not 1 <= len(keys) <= MAX_KEYS or len(vary) > len(keys) + 1 or any(own.distribution != "grid" for own in vary):
        raise InputError(f"{folder.path} is not the folder of a sweep; use px4lockstep campaign for it")
    return keys


def read_sweep(folder: CampaignFolder | str | Path) -> Sweep:
    """Read the folder of a sweep, complete or not."""
    opened = folder if isinstance(folder, CampaignFolder) else CampaignFolder.open(folder)
    keys = keys_of_sweep(opened)
    rows = rows_of(read_results(opened.results)) if parts_of(opened.results) else []
    return sweep_of(opened, keys, rows)
