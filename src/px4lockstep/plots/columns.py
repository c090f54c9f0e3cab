"""Figure of chosen columns of a log, one panel each, for one flight or several."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from px4lockstep.errors import InputError
from px4lockstep.log.events import FlightEvent
from px4lockstep.log.log import Log
from px4lockstep.log.schema import COMPONENTS
from px4lockstep.plots.flight import DPI
from px4lockstep.plots.panels.lines import say_absent, thinned
from px4lockstep.plots.panels.marks import draw_marks, list_of, numbered
from px4lockstep.plots.panels.style import MOTOR_COLOURS, MOTOR_STYLES, STYLE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN, PANEL_IN, MARGIN_IN = 17.0, 2.6, 1.4
MAX_PANELS = 20


def plot_columns(
    logs: Mapping[str, Log], columns: Sequence[str], *, events: Iterable[FlightEvent] = (), title: str = ""
) -> "Figure":
    """Return a figure with a panel for each column.

    Args:
        logs: The logs by label. A log without a column is not in its panel; one of them must have it.
        columns: Names of columns, at most 20.
        events: Events to mark, of a single flight.
        title: Title of the figure; the labels by default.

    Raises:
        InputError: If there are no or too many columns, no log has one of them, or a log has no rows.
    """
    from matplotlib import style

    from px4lockstep.plots.shown import ShownFigure

    if not 1 <= len(columns) <= MAX_PANELS:
        raise InputError(f"{len(columns)} columns can't be plotted; give 1 to {MAX_PANELS}")
    for label, log in logs.items():
        if not log.rows:
            raise InputError(f"can't plot the log of {label!r}: it has no rows in this time")
    for name in columns:
        if not any(_has(log, name) for log in logs.values()):
            next(iter(logs.values())).column(name)  # raises, with the reason
    marks = numbered(next(iter(logs.values())).time_us, events) if len(logs) == 1 else []
    with style.context(["default", STYLE]):
        height_in = MARGIN_IN + PANEL_IN * len(columns)
        figure = ShownFigure(figsize=(WIDTH_IN, height_in), dpi=DPI, layout="constrained")
        first: Axes | None = None
        for i, name in enumerate(columns):
            axes = figure.add_subplot(len(columns), 1, i + 1, sharex=first)
            first = first or axes
            _draw(axes, name, {label: log for label, log in logs.items() if _has(log, name)})
            draw_marks(axes, marks)
            if i + 1 < len(columns):
                axes.tick_params(labelbottom=False)
        assert first is not None
        first.set_xlim(min(log.time_s[0] for log in logs.values()), max(log.time_s[-1] for log in logs.values()))
        figure.axes[-1].set_xlabel("time [s]")
        figure.suptitle(title or ", ".join(logs), fontsize=16, fontweight="bold", x=0.012, ha="left")
        if marks:
            figure.supxlabel(list_of(marks), fontsize=11, x=0.012, ha="left", linespacing=1.45)
    return figure


def _has(log: Log, name: str) -> bool:
    """Return whether a log has a column, or can compute it on request."""
    try:
        log.column(name)
    except InputError:
        return False
    return True


def _draw(axes: "Axes", name: str, logs: Mapping[str, Log]) -> None:
    """Draw a column of each flight: components by colour, or by style if there are several flights."""
    log = next(iter(logs.values()))
    unit = log.unit(name)
    axes.set(title=name, ylabel="" if unit == "1" else f"[{unit}]")
    for i, (label, each) in enumerate(logs.items()):
        values = each[name]
        lines = [(label if len(logs) > 1 else "_", values)]
        if values.ndim == 2:
            ends = COMPONENTS.get(each.column(name).shape) or tuple(str(k + 1) for k in range(values.shape[1]))
            lines = [(f"{label} {end}" if len(logs) > 1 else end, values[:, k]) for k, end in enumerate(ends)]
        for k, (text, line) in enumerate(lines):
            colour, line_style = (i, k) if len(logs) > 1 else (k, 0)
            look: dict[str, Any] = {
                "color": MOTOR_COLOURS[colour % len(MOTOR_COLOURS)],
                "ls": MOTOR_STYLES[line_style % len(MOTOR_STYLES)],
            }
            axes.plot(*thinned(each.time_s, line), label=text, **look)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper right", ncols=6)
    if not axes.lines:
        say_absent(axes)
