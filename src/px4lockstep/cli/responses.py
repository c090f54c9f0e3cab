"""`px4lockstep step` and `px4lockstep chirp`: measure a control loop, and write a run folder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Column, Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.cli.run import finish, fly_into
from px4lockstep.errors import SimulationError
from px4lockstep.experiments.chirp import ChirpTest, FrequencyResponse
from px4lockstep.experiments.step import StepResponse, StepTest
from px4lockstep.flights.folder import RunFolder, check_outputs, fresh_folder, write_text
from px4lockstep.flights.latest import spec_source
from px4lockstep.flights.run import Run
from px4lockstep.io import to_json
from px4lockstep.plots.flight import save_plot
from px4lockstep.plots.html import HtmlTable
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec

MEASURED, FAILED = 0, 1


def run_step(
    spec: str,
    loop: str,
    band: float,
    disturbed: bool,
    settings: Sequence[str] = (),
    seed: str | None = None,
    trust: bool = False,
    size: float | None = None,
    watch_s: float | None = None,
    **options: Any,
) -> int:
    """Measure a step response; return the exit code."""
    test = StepTest.of(_loaded(spec, settings, seed, trust), loop, size, watch_s, band, disturbed)
    return _measure(test, "step", **options)


def run_chirp(
    spec: str,
    loop: str,
    disturbed: bool,
    settings: Sequence[str] = (),
    seed: str | None = None,
    trust: bool = False,
    amplitude: float | None = None,
    start_hz: float | None = None,
    end_hz: float | None = None,
    duration_s: float | None = None,
    **options: Any,
) -> int:
    """Measure a frequency response; return the exit code."""
    loaded = _loaded(spec, settings, seed, trust)
    test = ChirpTest.of(loaded, loop, amplitude, start_hz, end_hz, duration_s, disturbed)
    return _measure(test, "chirp", **options)


def _loaded(spec: str, settings: Sequence[str], seed: str | None, trust: bool) -> Spec:
    seeds = [] if seed is None else [f"aircraft.seed={seed}"]
    return load_spec(spec_source(spec), {}, [*settings, *seeds], trust=trust)


def _measure(test: StepTest | ChirpTest, what: str, plots: bool, as_json: bool, out: Path | None = None) -> int:
    """Fly, measure, write the run folder with the result and its figure, and print the numbers."""
    flown = test.flown
    flight = build(flown)
    with interrupts.deferred():
        interrupts.check()
        check_outputs(flown, out, force=False)
        name = f"{flown.aircraft.name}-{test.excitation.loop.name}"
        folder = RunFolder.create(out or fresh_folder(name), flight, holds_log=True)
        run = fly_into(folder, flight, quiet=as_json)
        found, failure = _measured(test, run)
        figure = folder.path / f"{what}.png"

        def write_result() -> None:
            if found is not None:
                write_text(folder.path / f"{what}.json", to_json(found.as_dict(), indent=2) + "\n")
                if plots:
                    with interrupts.raised():
                        save_plot(found.plot(), figure)

        unwritten = finish(folder, run, plots=plots, quiet=as_json, also=write_result)
        if unwritten is not None:
            raise unwritten
        if interrupts.is_noted:
            write_err(f"interrupted: {folder.path} is incomplete\n")
            return interrupts.code
        if found is None:
            write_err(f"error: {failure}\nfolder {folder.path}\n")
            return FAILED
    if as_json:
        print_json({**found.as_dict(), "run_dir": str(folder.path)})
        return MEASURED
    console = Console(soft_wrap=True, markup=False, highlight=False)
    console.print(_table(found.table))
    if isinstance(found, FrequencyResponse) and found.no_model is not None:
        console.print(f"no linear model: {found.no_model}")
    if isinstance(found, FrequencyResponse) and found.warning is not None:
        console.print(f"warning: {found.warning}")
    write_out(f"figure {figure}\n" if plots else f"folder {folder.path}\n")
    write_out(f"digest {run.digest}\n")
    return MEASURED


def _measured(test: StepTest | ChirpTest, run: Run) -> tuple[StepResponse | FrequencyResponse | None, object]:
    """Return the result of a flight; if there is none, the reason."""
    if run.error is not None or not run.simulation.is_done:
        return None, run.error or "the flight did not reach its end"
    try:
        return test.measure(run), None
    except SimulationError as error:
        return None, error


def _table(content: HtmlTable) -> Table:
    heads = [Column(head, justify="right" if i else "left") for i, head in enumerate(content.heads)]
    table = Table(*heads, title=content.title, show_header=bool(heads), title_justify="left")
    for row in content.rows:
        table.add_row(*row)
    return table
