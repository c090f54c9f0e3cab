"""Progress line of a flight on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn

from px4lockstep.cli.console import Console
from px4lockstep.engine.simulation import Simulation
from px4lockstep.log.events import mode_name


@contextmanager
def flight_progress(console: Console, simulation: Simulation) -> Iterator[Callable[[Simulation], None]]:
    """Show time, speed, mode, waypoint and battery; yield a function that updates the line."""
    with FlightProgress(console, simulation) as bar:
        yield bar.show


class FlightProgress(Progress):
    """Progress line of a flight: time, speed, mode, waypoint, battery."""

    def __init__(self, console: Console, simulation: Simulation) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[state]}"))
        super().__init__(*columns, console=console, transient=True)
        end_s = simulation.timeline.end_us / 1e6
        self._task = self.add_task("flying", total=end_s if simulation.timeline.is_end_known else None, state="")

    def show(self, simulation: Simulation) -> None:
        """Update the line."""
        told, wall_s = simulation.bus.autopilot, simulation.statistics.wall_s
        time_s, mode = simulation.time_us / 1e6, int(told.nav_state)
        state = (
            f"{time_s:7.1f} s  {time_s / wall_s if wall_s > 0.0 else 0.0:6.0f} x  "
            f"{mode_name(mode) if told.armed else 'disarmed'}  "
            f"item {int(told.mission_item)} of {int(told.mission_count)}  "
            f"battery {100.0 * float(simulation.bus.battery[0].remaining):.0f} %"
        )
        self.update(self._task, completed=time_s, state=state)
