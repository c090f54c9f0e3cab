"""Pass the rows of the log to the sinks of a run, in chunks between two calls of the loop."""

from collections.abc import Sequence
from typing import Any

from px4lockstep.engine.protocols import RowSink
from px4lockstep.errors import InputError, SimulationError, StateError


class SinkFeed:
    """The sinks of a run, and how many rows they have."""

    def __init__(self, sinks: Sequence[RowSink]) -> None:
        for i, sink in enumerate(sinks):
            if isinstance(sink, type) or not isinstance(sink, RowSink):
                raise InputError(f"sinks[{i}] = {sink!r} is not a log sink; pass an instance of a px4lockstep.LogSink")
        self._sinks = tuple(sinks)
        self._open: list[RowSink] = []
        self._rows = -1  # not begun

    def open(self, simulation: Any) -> None:
        """Open the sinks before the first rows; further calls do nothing."""
        if self._rows >= 0:
            return
        self._rows = 0
        for sink in self._sinks:
            self._call(sink, simulation, lambda sink: sink.open(sink.rows(simulation, 0, 0)))
            self._open.append(sink)

    def write(self, simulation: Any) -> None:
        """Pass the rows since the last call to each open sink."""
        start, stop = self._rows, len(simulation.log)
        self._rows = stop
        for sink in tuple(self._open) if stop > start else ():
            self._call(sink, simulation, lambda sink: sink.write(sink.rows(simulation, start, stop)))

    def close(self, simulation: Any) -> None:
        """Close all open sinks, even if one fails."""
        while self._open:
            self._call(self._open.pop(0), simulation, lambda sink: sink.close())

    def check_rows(self, rows: int) -> None:
        """Raise if the run is to go back to a time before rows that the sinks already have."""
        if rows < self._rows:
            raise StateError(
                f"log sinks have {self._rows} rows of this run; it can't go back to row {rows}. Use a new simulation"
            )

    def _call(self, sink: RowSink, simulation: Any, call: Any) -> None:
        """Call a sink; if it fails, close all sinks and raise an error that names it."""
        try:
            call(sink)
        except Exception as error:
            self._rows = max(self._rows, 0)
            others, self._open = self._open, []
            failed = SimulationError(
                f"the log sink {type(sink).__name__} failed at t = {simulation.time_us / 1e6:.6f} s: "
                f"{type(error).__name__}: {error}. The run ends; its log is intact"
            )
            for other in others:
                try:
                    other.close()
                except Exception as another:  # the first failure is the one to report
                    failed.add_note(f"{type(other).__name__} could not be closed: {another}")
            raise failed from error
