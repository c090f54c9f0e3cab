"""Figure of chosen columns of a log, one panel each, for one flight or several."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from px4lockstep.errors import InputError
from px4lockstep.log.events import FlightEvent
from px4lockstep.log.log import Log
from px4lockstep.log.schema import COMPONENTS
from px4lockstep.plots.looks import colour_of, matplotlib_look, number_of
from px4lockstep.plots.panels.lines import say_absent, thinned
from px4lockstep.plots.panels.marks import draw_marks, list_of, numbered
from px4lockstep.plots.panels.motion import without_jumps
from px4lockstep.plots.style import (
    NUMBERED_PAD_PT,
    PAD_PT,
    WIDTH_IN,
    Spacing,
    add_head,
    add_key,
    add_notes,
    figure_style,
    hold_labels,
    new_figure,
    panel_grid,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL_IN, MARGIN_IN = 2.6, 1.4
MAX_PANELS = 20


def plot_columns(
    logs: Mapping[str, Log],
    columns: Sequence[str],
    *,
    events: Iterable[FlightEvent] = (),
    title: str = "",
    facts: str = "",
) -> "Figure":
    """Return a figure with a panel for each column.

    Args:
        logs: The logs by label. A log without a column is not in its panel; one of them must have it.
        columns: Names of columns, at most 20.
        events: Events to mark, of a single flight.
        title: Title of the figure; the labels by default.
        facts: Facts of the flight, drawn below the title.

    Raises:
        InputError: If there are no or too many columns, no log has one of them, or a log has no rows.
    """
    if not 1 <= len(columns) <= MAX_PANELS:
        raise InputError(f"{len(columns)} columns can't be plotted; give 1 to {MAX_PANELS}")
    for label, log in logs.items():
        if not log.rows:
            raise InputError(f"can't plot the log of {label!r}: it has no rows in this time")
    for name in columns:
        if not any(_has(log, name) for log in logs.values()):
            next(iter(logs.values())).column(name)  # raises, with the reason
    marks = numbered(next(iter(logs.values())).time_us, events) if len(logs) == 1 else []
    with figure_style():
        figure = new_figure(WIDTH_IN, MARGIN_IN + PANEL_IN * len(columns))
        head_in, foot_in = add_head(figure, title or ", ".join(logs), facts), add_notes(figure, list_of(marks))
        grid = panel_grid(
            figure, len(columns), 1, head_in=head_in, foot_in=foot_in, spacing=Spacing(left=1.0, right=0.3)
        )
        first: Axes | None = None
        for i, name in enumerate(columns):
            axes = figure.add_subplot(grid[i, 0], sharex=first)
            first = first or axes
            pad_pt = NUMBERED_PAD_PT if i == 0 and marks else PAD_PT
            _draw(axes, name, {label: log for label, log in logs.items() if _has(log, name)}, pad_pt)
            draw_marks(axes, marks, is_numbered=i == 0)
            if i + 1 < len(columns):
                axes.tick_params(labelbottom=False)
        assert first is not None
        first.set_xlim(min(log.time_s[0] for log in logs.values()), max(log.time_s[-1] for log in logs.values()))
        figure.axes[-1].set_xlabel("time [s]")
    return figure


def _has(log: Log, name: str) -> bool:
    """Return whether a log has a column, or can compute it on request."""
    try:
        log.column(name)
    except InputError:
        return False
    return True


def _draw(axes: "Axes", name: str, logs: Mapping[str, Log], pad_pt: float) -> None:
    """Draw a column of each flight: components by dashes, flights by colours and markers."""
    log = next(iter(logs.values()))
    unit = log.unit(name)
    axes.set_title(name, pad=pad_pt)
    axes.set_ylabel("" if unit == "1" else f"[{unit}]")
    hold_labels(axes, left_in=0.75)
    for i, (label, each) in enumerate(logs.items()):
        values = without_jumps(name, each[name].reshape(each.rows, -1))
        lines = [(label if len(logs) > 1 else "_", values[:, 0])]
        if values.shape[1] > 1:
            ends = COMPONENTS.get(each.column(name).shape) or tuple(str(k + 1) for k in range(values.shape[1]))
            lines = [(f"{label} {end}" if len(logs) > 1 else end, values[:, k]) for k, end in enumerate(ends)]
        for k, (text, line) in enumerate(lines):
            look = matplotlib_look(number_of(i, k, len(lines)))
            axes.plot(*thinned(each.time_s, line), label=text, color=colour_of(i if len(logs) > 1 else k), **look)
    add_key(axes, above_pt=pad_pt)
    if not axes.lines:
        say_absent(axes)
