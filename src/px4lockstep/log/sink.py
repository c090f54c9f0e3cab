"""Log sinks: receive the rows of the log while the simulation runs.

    class Telemetry(LogSink):
        def write(self, log):
            show(log.time_s, log["pos_ned"])

    simulate("x500", sinks=[Telemetry(), CsvSink("x500.csv")])

A sink gets every row once, in order, in chunks: after each call of the compiled loop, which runs at most
`BOUNDARIES_PER_CALL` event boundaries, and after each simulated second of a flight that is watched or paced. It only
reads: the arrays of a log are read-only, and nothing that a sink does reaches the simulation. An exception in a sink
ends the run; the log up to then is intact.
"""

from typing import TYPE_CHECKING

from px4lockstep.log.log import Log

if TYPE_CHECKING:
    from px4lockstep.engine.simulation import Simulation


class LogSink:
    """Base class of log sinks: override what you need.

    All logs of a run have the same columns; those of faults are there even if no fault occurs.
    """

    def open(self, log: Log) -> None:
        """Prepare for a run, before its first rows.

        Args:
            log: The columns of the run, without rows.
        """

    def write(self, log: Log) -> None:
        """Process the next rows.

        Args:
            log: The rows since the previous call, at least one.
        """

    def close(self) -> None:
        """Finish, after the last row of a run that ended, failed or was closed."""

    def rows(self, simulation: "Simulation", start: int, stop: int) -> Log:
        """Return rows of the log of a simulation: the engine passes them to `open` and `write`."""
        some = slice(start, stop)
        sensors = simulation.log_sensors
        return Log.of_rows(
            simulation.core,
            simulation.log[some],
            simulation.log_state[some],
            None if sensors is None else sensors[some],
            keeps_faults=True,
        )
