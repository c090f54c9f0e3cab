"""`px4lockstep run`: fly a spec and write a run folder."""

import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from rich.table import Table

from px4lockstep.cli.console import Console
from px4lockstep.cli.events import parse_events
from px4lockstep.cli.interrupts import interrupts
from px4lockstep.cli.output import print_json, write_err, write_out
from px4lockstep.cli.progress import working
from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import OutputError, SimulationError
from px4lockstep.flights.folder import COMMANDS, PX4_LOG, RunFolder, summary_of
from px4lockstep.flights.latest import spec_source
from px4lockstep.flights.run import Run, fly, read_commands
from px4lockstep.flights.tables import run_rows
from px4lockstep.spec.build import Flight, build
from px4lockstep.spec.load import load_spec
from px4lockstep.spec.spec import Spec, with_commands

if TYPE_CHECKING:
    from px4lockstep.cli.crash import Told
    from px4lockstep.cli.px4_log import Px4Log

FLOWN, FAILED = 0, 1


@dataclass(frozen=True)
class RecordedFlight:
    """An earlier flight that this run repeats."""

    name: str  # such as "run 3 of the campaign"
    digest: str
    differences: Callable[[Run], list[str]]  # describe how a rerun with another digest differs


@dataclass(frozen=True)
class Options:
    """Options of the command line. With an `expected` flight, the exit code tells whether the rerun is identical."""

    plots: bool
    verbose: bool
    as_json: bool
    out: Path | None = None
    expected: RecordedFlight | None = None
    force: bool = False

    def compared(self, digest: str) -> dict[str, object]:
        """Return the fields of the comparison with the expected flight for JSON."""
        if self.expected is None:
            return {}
        return {"expected_digest": self.expected.digest, "matches": digest == self.expected.digest}


def run_spec(
    spec: str,
    trust: bool,
    settings: Sequence[str] = (),
    seed: str | None = None,
    compat: bool = False,
    params: Path | None = None,
    mission: str | None = None,
    events: Sequence[str] = (),
    **options: Any,
) -> int:
    """Fly a spec file or a built-in aircraft; return the exit code."""
    seeds = [] if seed is None else [f"aircraft.seed={seed}"]
    files = {} if params is None else {"autopilot.params_file": str(params)}
    files |= {} if mission is None else {"px4.mission_path": mission}
    source = spec_source(spec)
    loaded = load_spec(source, files, [*settings, *seeds], events=parse_events(events), trust=trust, compat=compat)
    given = Path(source).with_name(COMMANDS)
    if source != spec and given.exists():  # the folder of a served flight
        loaded = with_commands(loaded, read_commands(given))
    if loaded.run.mode == "replay":
        from px4lockstep.cli.replay import replay_run

        return replay_run(str(loaded.run.recording_in), options["as_json"], is_judged=True, spec=loaded)
    return fly_spec(loaded, Options(**options))


def fly_spec(loaded: Spec, options: Options) -> int:
    """Fly a loaded spec; return the exit code."""
    if not loaded.autopilot.capabilities.needs_child:
        return _run(build(loaded), "", options)
    from px4lockstep.cli.crash import Told, tell_of_crash
    from px4lockstep.cli.px4_log import build_with_console
    from px4lockstep.cli.watched import in_child

    with TemporaryFile() as console, TemporaryFile() as notes:
        told = Told(console, notes)

        def fly_px4() -> int:
            return _run(*build_with_console(loaded, console), options, told)

        return in_child(fly_px4, lambda number: tell_of_crash(number, loaded, told, options.as_json))


def _run(flight: Flight, printed: str, options: Options, told: "Told | None" = None) -> int:
    """Fly a flight that was built; return the exit code.

    `printed` is what PX4 printed during the build; `told` takes notes for the parent process, if there is one.
    """
    with interrupts.deferred():
        interrupts.check()
        folder = RunFolder.create(options.out, flight, holds_log=True, force=options.force)
        if flight.simulation.autopilot.capabilities.is_process:
            from px4lockstep.cli.px4_log import Px4Log

            console = Px4Log(folder.path / PX4_LOG, options.verbose)
            run = fly_into(folder, flight, console, quiet=options.as_json or options.verbose)
            console.show()
        elif told is None:
            run = fly_into(folder, flight, quiet=options.as_json)
        else:
            from px4lockstep.cli.px4_log import px4_log

            told.folder_is(folder.path)
            with px4_log(folder.path / PX4_LOG, printed, options.verbose) as log:
                run = fly_into(folder, flight, log, quiet=options.as_json or options.verbose)
        if run.simulation.is_done and not run.simulation.timeline.has_end:
            interrupts.forget()  # the interrupt was the end of the run
        unwritten = finish(folder, run, plots=options.plots, quiet=options.as_json)
        if options.as_json:
            print_json(summary_of(run, folder.path) | options.compared(run.digest))
        else:
            _print_summary(run, folder.path)
            if options.expected is not None and run.digest == options.expected.digest:
                write_out(f"identical to {options.expected.name} (digest {run.digest})\n")
        if told is not None:
            sys.stdout.flush()
            told.summary_is_printed()
        if run.error is not None:
            write_err(f"error: {run.error}\n")
        if unwritten is not None:
            raise unwritten
        if interrupts.is_noted:
            write_err(f"interrupted: {_what_is_there(run, folder)}\n")
            return interrupts.code
    if options.expected is not None:
        if run.digest == options.expected.digest:
            return FLOWN
        digests = f"digest {run.digest}, recorded {options.expected.digest}"
        write_err(
            f"error: differs from {options.expected.name}: {'; '.join([digests, *options.expected.differences(run)])}\n"
        )
        return FAILED
    return FLOWN if run.outcome.is_success else FAILED


def finish(
    folder: RunFolder, run: Run, *, plots: bool, quiet: bool, also: Callable[[], object] | None = None
) -> OutputError | None:
    """Write recording, log, summary and figure, and what `also` writes; return the error if a file can't be written.

    The figure is drawn while the other files are written, and written last.
    """
    text = "writing the run folder and drawing the figure" if plots else "writing the run folder"
    drawing = folder.start_drawing(run) if plots and not interrupts.is_noted else None
    try:
        with working(text, quiet=quiet):
            folder.keep(run, release=True)
            with suppress(KeyboardInterrupt):
                if plots:
                    with interrupts.raised():
                        folder.draw(run, drawing)
                if also is not None:
                    also()
                folder.close(run)
    except OutputError as error:
        return error
    finally:
        if drawing is not None:
            drawing.stop()
    return None


def fly_into(folder: RunFolder, flight: Flight, log: "Px4Log | None" = None, *, quiet: bool) -> Run:
    """Fly to the end, an error or an interrupt, with the log in a run folder."""
    flight.simulation.autopilot.work_in(folder.path, _waiting(flight.simulation, log))
    try:
        with _progress(flight.simulation, quiet=quiet) as show:

            def watch(simulation: Simulation) -> None:
                end_if_asked(simulation)
                folder.watch(simulation)
                if log is not None:
                    log.show()
                if show is not None:
                    show(simulation)

            interrupts.check()
            if not flight.simulation.timeline.has_end:
                write_err("the run has no end; Ctrl-C or SIGTERM ends it\n")
            return fly(flight, watch, lambda: end_if_asked(flight.simulation))
    except (KeyboardInterrupt, OSError):
        if not interrupts.is_noted:
            raise
        return Run(flight)
    except SimulationError as error:
        return Run(flight, error)


def end_if_asked(simulation: Simulation) -> bool:
    """Act on an interrupt: stop a run at once, but end a run without an end, once it flies, as if it had one.

    Return whether such a run is to end.
    """
    if simulation.timeline.has_end or simulation.boundary == 0:
        interrupts.check()
    elif interrupts.is_noted:
        simulation.request_end()
        return True
    return False


def _waiting(simulation: Simulation, log: "Px4Log | None") -> Callable[[str], bool]:
    """Return a callback to run while waiting for an autopilot: check for interrupts, and show what it prints.

    The autopilot's note is printed once, and if the user has to start it, the instructions. The wait ends if it returns
    True.
    """
    told: list[str] = []

    def wait(what: str) -> bool:
        if log is not None:
            log.show()
        autopilot = simulation.autopilot
        lines = [line for line in (autopilot.note, what if autopilot.asks_user else None) if line is not None]
        if lines and not told:
            told.extend(lines)
            write_err("".join(f"{line}\n" for line in lines))
        return end_if_asked(simulation)

    return wait


def _what_is_there(run: Run, folder: RunFolder) -> str:
    """Describe what is in the run folder after an interrupt."""
    if not folder.is_marked:
        return f"{folder.path} is complete"
    lacks = "the rest of the flight" if not run.simulation.is_done else "the figure"
    return f"{folder.path} has log and summary but lacks {lacks}; it is marked as incomplete"


def _progress(simulation: Simulation, *, quiet: bool) -> AbstractContextManager[Callable[[Simulation], None] | None]:
    """Return a context with a function that updates the progress line; None without a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        return nullcontext()
    from px4lockstep.cli.flight_progress import flight_progress

    return flight_progress(console, simulation)


def _print_summary(run: Run, folder: Path) -> None:
    title = f"{run.spec.aircraft.name}: {run.summary.outcome}"
    table = Table(title=title, show_header=False, title_justify="left")
    for row in run_rows(run, folder):
        table.add_row(*row)
    Console(soft_wrap=True, markup=False).print(table)
    write_out(f"digest {run.summary.digest}\n")
