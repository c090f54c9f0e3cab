"""`px4lockstep run`: fly an aircraft file and leave a run folder."""

import json
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.table import Table

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import SimulationError
from px4lockstep.runs.folder import RunFolder, fresh_folder, summary_of
from px4lockstep.runs.run import Run, fly
from px4lockstep.spec.build import build
from px4lockstep.spec.load import load_spec

FLOWN, FAILED, INTERRUPTED = 0, 1, 130
MODES = {0: "on the ground", 3: "mission", 4: "hold", 5: "return", 12: "descend", 18: "land"}


def run_spec(spec: str, settings: Sequence[str], seed: int | None, out: Path | None, plots: bool, as_json: bool) -> int:
    """Fly; return the exit code."""
    if seed is not None:
        settings = [*settings, f"aircraft.seed={seed}"]
    flight = build(load_spec(spec, settings=settings))
    folder = RunFolder.create(out or fresh_folder(flight.spec.aircraft.name), flight.spec)
    console = Console(stderr=True)
    run, code, error = Run(flight), FLOWN, None
    try:
        with _progress(console, flight.simulation, quiet=as_json) as bar:

            def watch(simulation: Simulation) -> None:
                folder.watch(simulation)
                if isinstance(bar, FlightProgress):
                    bar.show(simulation)

            fly(flight, watch)
        code = FLOWN if run.is_flown else FAILED
    except KeyboardInterrupt:
        code = INTERRUPTED
        plots = False
        console.print("interrupted; writing what was logged")
    except SimulationError as raised:
        code, error = FAILED, raised
    folder.finish(run, plots=plots and run.log.rows > 1)
    if as_json:
        sys.stdout.write(json.dumps(summary_of(run, folder.path)) + "\n")
    else:
        _print_summary(run, folder.path, code)
    if error is not None:
        sys.stderr.write(f"error: {error}\n")
    return code


class FlightProgress(Progress):
    """A line that follows the flight: time, speed, mode, waypoint, battery."""

    def __init__(self, console: Console, simulation: Simulation) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
        super().__init__(*columns, console=console, transient=True)
        self._task = self.add_task("flying", total=simulation.timeline.end_us / 1e6, state="")

    def show(self, simulation: Simulation) -> None:
        """Show where the flight is."""
        told, wall_s = simulation.bus.autopilot, simulation.statistics.wall_s
        time_s = simulation.time_us / 1e6
        state = (
            f"{time_s:7.1f} s  {time_s / wall_s if wall_s > 0.0 else 0.0:6.0f} x  "
            f"{MODES.get(int(told.nav_state), 'mode ' + str(int(told.nav_state)))}  "
            f"item {int(told.mission_item)} of {int(told.mission_count)}  "
            f"battery {100.0 * float(simulation.bus.battery[0].remaining):.0f} %"
        )
        self.update(self._task, completed=time_s, state=state)


def _progress(console: Console, simulation: Simulation, *, quiet: bool) -> AbstractContextManager[object]:
    return nullcontext() if quiet or not console.is_terminal else FlightProgress(console, simulation)


def _print_summary(run: Run, folder: Path, code: int) -> None:
    summary = run.summary
    outcome = {FLOWN: "flown", FAILED: "failed", INTERRUPTED: "interrupted"}[code]
    table = Table(title=f"{run.spec.aircraft.name}: {outcome}", show_header=False, title_justify="left")
    waypoints = ", ".join(f"{time_s:.2f}" for time_s in summary.waypoint_times_s)
    simulated = f"{summary.duration_s:.3f} s in {summary.wall_s:.3f} s: {summary.realtime_factor:.0f} x real time"
    rows = [
        ("simulated", simulated),
        ("mission", "finished" if summary.mission_finished else "not finished"),
        ("landed", "crashed" if summary.crashed else "yes" if summary.landed else "no"),
        ("items done at", f"{waypoints} s" if waypoints else "none done"),
        ("highest, fastest", f"{_number(summary.max_altitude_m)} m, {_number(summary.max_speed_m_s)} m/s"),
        ("battery used", f"{_number(None if summary.battery_used is None else 100.0 * summary.battery_used)} %"),
        ("folder", str(folder)),
    ]
    for name, value in rows:
        table.add_row(name, value)
    for warning in summary.warnings:
        table.add_row("warning", warning)
    Console(soft_wrap=True).print(table)
    sys.stdout.write(f"digest {summary.digest}\n")


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.2f}"
