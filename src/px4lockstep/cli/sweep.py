"""`px4lockstep sweep`: fly over a range of inputs, with one table and one figure."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.table import Column, Table

from px4lockstep.campaigns.folder import SUMMARY
from px4lockstep.cli.campaign import fly_with_progress
from px4lockstep.cli.console import Console
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.errors import InputError
from px4lockstep.experiments.inputs import by_name
from px4lockstep.experiments.sweep import DEFAULT_METRIC, read_sweep, started_sweep, tables_of
from px4lockstep.experiments.sweep_results import PointValue, Sweep, shown
from px4lockstep.flights.latest import campaign_path, spec_source
from px4lockstep.io import to_json
from px4lockstep.plots.flight import save_plot
from px4lockstep.spec.overrides import parse_override

FLOWN = 0
TABLE, FIGURE = "sweep.csv", "sweep.png"
FILE_WIDTH = 200
"""Width of the table in a file or a pipe."""


def sweep_spec(
    spec: str,
    resume: bool,
    plots: bool,
    as_json: bool,
    inputs: Sequence[str] = (),
    metrics: Sequence[str] | None = None,
    settings: Sequence[str] = (),
    seeds: int | None = None,
    accept: Sequence[str] = (),
    **options: Any,
) -> int:
    """Fly a sweep, or the rest of one; return the exit code."""
    source: str | dict[str, Any] = spec
    if resume:
        given = {"KEY=VALUES": inputs, "--set": settings, "--metric": metrics, "--seeds": seeds, "--accept": accept}
        _refuse_changes([name for name, value in given.items() if value])
        source = str(campaign_path(spec))
    else:
        overrides = dict(parse_override(text) for text in settings)
        measured = metrics or (DEFAULT_METRIC,)
        flights = 1 if seeds is None else seeds
        source = tables_of(
            str(spec_source(spec)), by_name(inputs), measured, seeds=flights, overrides=overrides, accept=accept
        )
    flown = fly_with_progress(started_sweep(source, resume=resume, **options), quiet=as_json)
    with interrupts.deferred():
        found = read_sweep(flown.folder)
        flown.folder.write(SUMMARY, to_json(found.as_dict(), indent=2) + "\n")
        flown.folder.write(TABLE, found.csv())
        if plots and flown.is_complete:
            with suppress(KeyboardInterrupt), interrupts.raised():
                save_plot(found.plot(), flown.folder.path / FIGURE)
        _show(found, as_json, plots and flown.is_complete)
        if not flown.is_complete:
            runs = sum(len(point.runs) for point in found.points)
            write_err(
                f"interrupted: {flown.folder.path} has {runs} of {flown.folder.campaign.runs} flights; continue with "
                f"px4lockstep sweep {flown.folder.path} --resume\n"
            )
            return interrupts.code
    return FLOWN


def _refuse_changes(given: Sequence[str]) -> None:
    if given:
        raise InputError(f"a sweep is resumed as it was started; omit {', '.join(given)}")


def _show(found: Sweep, as_json: bool, has_figure: bool) -> None:
    """Print the points, as JSON or as a table."""
    if as_json:
        print_json(found.as_dict())
        return
    console = Console(soft_wrap=True, markup=False, highlight=False)
    if not console.is_terminal:
        console.width = FILE_WIDTH
    numbers = [Column(f"{own.name}{_unit(own.unit)}", justify="right", no_wrap=True) for own in found.metrics]
    inputs = [Column(label, justify="right", no_wrap=True) for label in found.labels]
    table = Table(*inputs, *numbers, "flights", Column("run", justify="right", no_wrap=True))
    for point in found.points:
        values = [_value(point.values[metric.name]) for metric in found.metrics]
        runs = f"{point.runs[0]}" if len(point.runs) == 1 else f"{point.runs[0]} to {point.runs[-1]}"
        table.add_row(*(shown(point.inputs[key]) for key in found.keys), *values, point.flights, runs)
    console.print(table)
    if found.failed:
        write_out(f"{found.failed} flights failed; their metrics do not count\n")
    error = next((point for point in found.points if point.error is not None), None)
    if error is not None:
        write_err(f"warning: a flight could not be flown or measured, from run {error.runs[0]} on: {error.error}\n")
    path = found.folder.path
    write_out(f"{path / FIGURE if has_figure else path / TABLE}\n")
    write_out(f"to fly one of them again with log and figure: px4lockstep campaign rerun {path} RUN\n")


def _unit(unit: str) -> str:
    return f" [{unit}]" if unit not in ("", "1") else ""


def _value(value: PointValue) -> str:
    spread = f" ± {value.std:.2g}" if value.count > 1 else ""
    return f"{shown(value.mean)}{spread}"
