"""What to draw of a flight: a part of its time, and the usual panels or chosen columns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from px4lockstep.log.events import events_of
from px4lockstep.log.log import Log

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class View:
    """A part of a flight.

    Args:
        from_s: First time; by default the start of the log.
        to_s: Last time; by default the end of the log.
        columns: Columns to draw, one panel each, instead of the usual panels.
    """

    from_s: float | None = None
    to_s: float | None = None
    columns: tuple[str, ...] | None = None

    def cut(self, log: Log) -> Log:
        """Return the rows of a log in this view."""
        return log.between(self.from_s, self.to_s)

    def draw(self, log: Log, title: str, **options: Any) -> "Figure":
        """Return the figure of a flight; the options are those of `plot_flight`."""
        from px4lockstep.plots.columns import plot_columns
        from px4lockstep.plots.flight import plot_flight

        if self.columns is None:
            return plot_flight(log, title=title, from_s=self.from_s, to_s=self.to_s, **options)
        marks = events_of(log, options.get("area"))
        facts = options.get("facts", "")
        return plot_columns({title: self.cut(log)}, self.columns, events=marks, title=title, facts=facts)


WHOLE = View()
"""The usual figure of a whole flight."""
