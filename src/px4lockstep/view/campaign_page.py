"""The page of a campaign: a scatter of its runs; a click on one flies it again and shows it."""

import html
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from px4lockstep.campaigns.folder import CampaignFolder
from px4lockstep.campaigns.result_rows import Row
from px4lockstep.campaigns.results import read_results, results_of, rows_of
from px4lockstep.errors import InputError, LockstepError, SimulationError
from px4lockstep.flights.run import Run, fly
from px4lockstep.spec.build import build
from px4lockstep.view.flown import viewed_flight
from px4lockstep.view.inbox import Inbox
from px4lockstep.view.page import BOX, TABLE, FlightPage
from px4lockstep.view.scatter import NO_AXIS, Scatter, failed_runs, numeric_columns, titles_of

AXES = ("Horizontal", "Vertical", "Depth")


class CampaignPage:
    """A campaign in the browser.

    Args:
        server: The server of viser.
        inbox: For what the user does.
        folder: The campaign.

    Raises:
        InputError: If no run has finished, or there are fewer than two inputs and metrics that are numbers.
    """

    def __init__(self, server: Any, inbox: Inbox, folder: CampaignFolder) -> None:
        self._server, self._inbox, self._folder = server, inbox, folder
        table = read_results(folder.results)
        self._results, self._rows = results_of(folder.campaign, table), {row.index: row for row in rows_of(table)}
        self._titles = numeric_columns(self._results)
        if len(self._titles) < 2:
            raise InputError(
                f"{folder.path} can't be viewed: a scatter needs two inputs or metrics that are numbers, and this "
                f"campaign has {', '.join(self._titles) or 'none'}"
            )
        measured = sorted(self._results.metrics, key=lambda metric: metric.is_bool)  # flags say little in a scatter
        metrics = [metric.name for metric in measured if metric.name in self._titles]
        first = [name for name in self._results.inputs if name in self._titles] or metrics[1:]
        self._chosen = [first[0], next(name for name in (*metrics, *self._titles) if name != first[0]), NO_AXIS]
        self._run = next(iter(self._rows))
        self._flown: FlightPage | None = None
        self.show_runs()

    @property
    def is_playing(self) -> bool:
        """Whether a flight is shown and plays."""
        return self._flown is not None and self._flown.is_playing

    @property
    def flown(self) -> FlightPage | None:
        """The page of the flight that is shown; None while the scatter is."""
        return self._flown

    def advance(self, elapsed_s: float) -> None:
        """Let time pass for the flight that is shown."""
        if self._flown is not None:
            self._flown.advance(elapsed_s)

    def show_runs(self) -> None:
        """Show the scatter."""
        self._flown = None
        with self._server.atomic():
            self._clear()
            self._scatter = Scatter(
                self._server.scene, self._results, lambda index: self._inbox.put(lambda: self.fly(index))
            )
            self._add_controls()
            self._draw()
        for camera in (self._server.initial_camera, *self._cameras()):
            self._scatter.aim_camera(camera)

    def _cameras(self) -> list[Any]:
        return [client.camera for client in self._server.get_clients().values()]

    def _clear(self) -> None:
        self._server.gui.reset()
        self._server.scene.reset()

    def _add_controls(self) -> None:
        gui, inbox = self._server.gui, self._inbox
        gui.main_panel.dock_right()
        gui.main_panel.set_width(360)
        failed = int(failed_runs(self._results).sum())
        counts = f"{self._results.runs} runs: {self._results.runs - failed} passed (balls), {failed} failed (cubes)"
        self._about = gui.add_html("")
        self._counts = f"<b>{html.escape(self._folder.campaign.name)}</b><br>{counts}"
        for i, label in enumerate(AXES):
            options = (*self._titles.values(), *((NO_AXIS,) if i == 2 else ()))
            choice = gui.add_dropdown(label, options, initial_value=self._titles.get(self._chosen[i], NO_AXIS))
            inbox.on(choice, partial(self._choose_title, i))
        indexes = list(self._rows)
        self._number = gui.add_number("Run", self._run, min=min(indexes), max=max(indexes), step=1)
        inbox.on(self._number, self.select)
        button = gui.add_button("Fly this run again", icon="player-play", hint="Enter, or click its point")
        inbox.on_click(button, lambda: self.fly(self._run))
        inbox.on_key(gui, "Fly this run again", ("enter", None), lambda: self.fly(self._run))
        inbox.on_key(gui, "Next run", ("N", None), lambda: self._step(1))
        inbox.on_key(gui, "Previous run", ("P", None), lambda: self._step(-1))
        self._details = gui.add_html(self._details_of(self._run))
        gui.add_html(
            f'<div style="{BOX}">N, P: next or previous run; Enter: fly it again; Ctrl + K: all commands</div>'
        )

    def _choose_title(self, axis: int, title: str) -> None:
        self.choose(axis, next((name for name, each in self._titles.items() if each == title), NO_AXIS))

    def choose(self, axis: int, name: str) -> None:
        """Show another column on an axis."""
        self._chosen[axis] = name
        self._server.scene.reset()
        self._draw()

    def _draw(self) -> None:
        self._scatter.draw([name for name in self._chosen if name != NO_AXIS])
        hidden = f", {self._scatter.hidden} without a value on these axes" if self._scatter.hidden else ""
        self._about.content = f'<div style="{BOX}">{self._counts}{hidden}</div>'
        self._scatter.mark(self._run)

    def _details_of(self, index: int) -> str:
        return _details(self._rows[index], titles_of(self._results))

    def _step(self, by: int) -> None:
        indexes = list(self._rows)
        self.select(indexes[(indexes.index(self._run) + by) % len(indexes)])

    def select(self, index: int) -> None:
        """Mark a run and show its inputs and metrics."""
        if self._flown is None and index in self._rows:
            self._run = self._number.value = index
            self._details.content = self._details_of(index)
            self._scatter.mark(index)

    def fly(self, index: int) -> None:
        """Fly a run again and show it; an error is shown instead."""
        if self._flown is not None or index not in self._rows:
            return
        self.select(index)
        row, campaign = self._rows[index], self._folder.campaign
        self._details.content = f'<div style="{BOX}">flying run {index} …</div>'
        self._server.flush()
        try:
            flight = build(campaign.spec(campaign.overrides(index, row.inputs)))
            try:
                run = fly(flight)
            except SimulationError as error:
                run = Run(flight, error)
        except LockstepError as error:
            self._details.content = (
                f'<div style="{BOX}"><b>run {index} can\'t be flown:</b> {html.escape(str(error))}</div>'
            )
            return
        same = (
            "identical to the run of the campaign" if run.digest == row.digest else "<b>differs from the campaign's</b>"
        )
        flown = viewed_flight(f"run {index}", run.log, run.spec, run.flight.mission)
        with self._server.atomic():
            self._clear()
            note = f"<b>run {index}</b>: {html.escape(run.outcome.word)}, {same}"
            self._flown = FlightPage(self._server, self._inbox, [flown], note=note, back=self.show_runs)


def _details(row: Row, titles: Mapping[str, str]) -> str:
    """Return outcome, inputs and metrics of a run as a table."""
    rows = [("run", str(row.index)), ("outcome", row.status), ("reason", row.reason or "")]
    rows += [(titles.get(name, name), _text(value)) for name, value in (*row.inputs.items(), *row.metrics.items())]
    cells = "".join(
        f"<tr><td>{html.escape(name)}</td><td><b>{html.escape(text)}</b></td></tr>" for name, text in rows if text
    )
    return f'<table style="{TABLE}">{cells}</table>'


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else "none"
    return "none" if value is None else str(value)
