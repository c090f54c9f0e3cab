"""The page of flights: scene, controls, events, plots and keys."""

import html
import math
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from px4lockstep.log.events import mode_name
from px4lockstep.view.flown import ViewedFlight
from px4lockstep.view.frames import to_scene
from px4lockstep.view.inbox import Action, Inbox
from px4lockstep.view.panels import PlotPanel
from px4lockstep.view.player import SPEEDS, Player
from px4lockstep.view.scene import ERROR, RUN, SPEED, FlightScene, marks_of
from px4lockstep.view.scene_legend import legend_rows

TEXT_S = 0.1
"""Shortest time between two updates of texts, sliders and cursors while it plays."""
LIST_S = 1.0
"""How long after a browser has come the columns are listed that can be plotted."""
MAX_LISTED = 200
"""Events in the list."""
MIN_APART = 0.03
"""Shortest distance of two texts under the slider, as a fraction of it."""
PLAIN, ALARM = (73, 80, 87), (166, 15, 30)
"""Colours of buttons of events and faults, dark enough for white text; faults also have a sign."""
PLAY, PAUSE = "\u25b6 Play", "\u2016 Pause"
"""With signs of their own: an icon of viser takes 12 ms to unpack."""
FREE, FOLLOW = "free", "follow"
COLOURS = {"speed": SPEED, "distance from setpoint": ERROR, "run": RUN}
KEYS = (
    ("Space", "play or pause"),
    ("L, J", "next or previous row of the log"),
    ("Shift + L, J", "1 s forward or back"),
    ("U, Shift + U", "1 microsecond forward or back"),
    ("Page Up, Page Down", "faster, slower"),
    ("N, P", "next or previous event"),
    ("Home, End", "start, end"),
    ("F", "camera follows the vehicle, or is free"),
    ("C", "colour of the track: speed, distance from setpoint, run"),
    ("W, A, S, D, Q, E, arrows", "move and turn the camera"),
    ("Ctrl + K", "list of all commands"),
)


class FlightPage:
    """Flights in the browser.

    Args:
        server: The server of viser.
        inbox: For what the user does.
        flights: The flights.
        note: Text above the controls, as HTML.
        back: What a button and the key B do; without it, there is no such button.
    """

    def __init__(
        self, server: Any, inbox: Inbox, flights: Sequence[ViewedFlight], *, note: str = "", back: Action | None = None
    ) -> None:
        self._server, self._inbox, self._gui, self.flights = server, inbox, server.gui, flights
        self._note, self._back = note, back
        self.player = Player(flights)
        with server.atomic():
            self.scene = FlightScene(server, flights, colour_by=SPEED if len(flights) == 1 else RUN)
            self._camera = FREE
            self._shown_us: int | None = None  # None to draw again, even at the same time
            self._texts_at, self._controls = 0.0, (False, 0.0, -1)
            self._moved: tuple[Any, int] = (None, 0)
            self._list_at: float | None = math.inf  # None after the columns were listed
            self._add_controls()
            self._add_plots()
            self._add_timeline()
            self._add_keys()
            self.refresh()
        for client in server.get_clients().values():
            self.scene.aim_camera(client.camera)

    def _add_controls(self) -> None:
        gui, inbox, player = self._gui, self._inbox, self.player
        gui.main_panel.dock_right()
        gui.main_panel.set_width(330)
        if self._back is not None:
            inbox.on_click(gui.add_button("Back to the campaign", icon="arrow-left", hint="B"), self._back)
            inbox.on_key(gui, "Back to the campaign", ("B", None), self._back)
        if self._note:
            gui.add_html(f'<div style="{BOX}">{self._note}</div>')
        first_s, last_s = player.first_us / 1e6, player.last_us / 1e6
        self._time = gui.add_number("Time [s]", first_s, min=first_s, max=last_s, step=1e-6, hint="To the microsecond")
        inbox.on(self._time, partial(self._scrub, self._time))
        speeds = tuple(f"{speed:g} x" for speed in SPEEDS)
        self._speed = gui.add_dropdown("Speed", speeds, initial_value="1 x", hint="Page Up and Page Down")
        inbox.on(self._speed, lambda label: setattr(player, "speed", SPEEDS[speeds.index(label)]))
        self._status = gui.add_html("")
        tabs = gui.add_tab_group()
        with tabs.add_tab("Events"):
            self._add_events()
        with tabs.add_tab("View"):
            self._add_view()
        with tabs.add_tab("Keys"):
            rows = "".join(f"<tr><td><b>{html.escape(keys)}</b></td><td>{text}</td></tr>" for keys, text in KEYS)
            gui.add_html(f'<table style="{TABLE}">{rows}</table>')

    def _add_timeline(self) -> None:
        """Add a panel with a button and a slider below the scene, with the numbers of events under the slider."""
        gui, player = self._gui, self.player
        first_s, last_s = player.first_us / 1e6, max(player.last_us, player.first_us + 1) / 1e6
        panel = gui.add_panel()
        with panel.add_tab("Timeline"):
            self._play = gui.add_button(PLAY, hint="Space")
            self._inbox.on_click(self._play, player.toggle)
            step_s = max(0.001, round((last_s - first_s) / 4_000.0, 3))
            marks = slider_marks(self.flights[0], first_s, last_s)
            self._slider = gui.add_slider("Scrub", first_s, last_s, step_s, first_s, marks=marks)
            self._inbox.on(self._slider, partial(self._scrub, self._slider))
        panel.float(x=14, y=-14, width=620)

    def _add_events(self) -> None:
        several = len(self.flights) > 1
        count = 0
        for flight in self.flights:
            for number, group in marks_of(flight):
                for event in group[: max(0, MAX_LISTED - count)]:
                    name = f" ({flight.name})" if several else ""
                    label = (
                        f"{number}  {event.time_us / 1e6:.2f} s  {'! ' if event.is_fault else ''}{event.label}{name}"
                    )
                    button = self._gui.add_button(label, color=ALARM if event.is_fault else PLAIN)
                    self._inbox.on_click(button, partial(self.player.seek, event.time_us))
                    count += 1
        if count == 0:
            self._gui.add_html("No events in this flight.")
        for handle in self.scene.mark_handles:
            self._inbox.on_click(handle, partial(self.player.seek, self.scene.marks[handle.name]))

    def _add_view(self) -> None:
        gui, inbox = self._gui, self._inbox
        self._camera_choice = gui.add_dropdown("Camera", (FREE, FOLLOW), initial_value=FREE, hint="F")
        inbox.on(self._camera_choice, self.set_camera)
        label = next(label for label, what in COLOURS.items() if what == self.scene.colour_by)
        self._colour_choice = gui.add_dropdown("Track colour", tuple(COLOURS), initial_value=label, hint="C")
        inbox.on(self._colour_choice, lambda label: self.set_colour(COLOURS[label]))
        most = max(20.0, float(np.ceil(self.scene.scale)))
        size = gui.add_slider(
            "Vehicle size", 1.0, most, 0.1, round(self.scene.scale, 1), hint="Times larger than it is"
        )
        inbox.on(size, self.set_scale)
        shadows = gui.add_checkbox("Shadows", False, hint="Slow without a graphics card")
        inbox.on(shadows, self._set_shadows)
        names = ("Thrust arrows", "Setpoint", "Wind", "Events")
        self._layers = [gui.add_checkbox(name, True) for name in names]
        for box in self._layers:
            inbox.on(box, lambda _: self._set_layers())
        self._legend = gui.add_html(_legend(self.scene))

    def _add_plots(self) -> None:
        panel = self._gui.add_panel()
        with panel.add_tab("Plots"):
            self._plots = PlotPanel(self._gui, self._inbox, self.flights, (self.player.first_us, self.player.last_us))
        panel.dock_left()
        panel.set_width(400)

    def _add_keys(self) -> None:
        player, on_key = self.player, self._inbox.on_key
        gui = self._gui
        on_key(gui, "Play or pause", ("space", None), player.toggle)
        for direction, key, event in ((1, "L", "N"), (-1, "J", "P")):  # arrows would turn the camera, too
            word = "Next" if direction > 0 else "Previous"
            way = "Forward" if direction > 0 else "Back"
            on_key(gui, f"{word} row", (key, None), partial(player.step_rows, direction))
            on_key(gui, f"{way} 1 s", (key, "shift"), partial(player.step_us, direction * 1_000_000))
            shift = None if direction > 0 else "shift"
            on_key(gui, f"{way} 1 microsecond", ("U", shift), partial(player.step_us, direction))
            on_key(gui, f"{word} event", (event, None), partial(player.jump, direction))
        on_key(gui, "Faster", ("pageup", None), lambda: player.faster(1))
        on_key(gui, "Slower", ("pagedown", None), lambda: player.faster(-1))
        on_key(gui, "Start", ("home", None), lambda: player.seek(player.first_us))
        on_key(gui, "End", ("end", None), lambda: player.seek(player.last_us))
        on_key(gui, "Camera: follow or free", ("F", None), self._toggle_camera)
        on_key(gui, "Next track colour", ("C", None), self._next_colour)

    def _scrub(self, handle: Any, value_s: float) -> None:
        """Go to the time of the slider or the number that the user moved."""
        self.player.seek(round(1e6 * value_s))
        self._moved = (handle, self.player.seeks)

    def _toggle_camera(self) -> None:
        self.set_camera(FREE if self._camera == FOLLOW else FOLLOW)

    def _next_colour(self) -> None:
        ways = list(COLOURS.values())
        self.set_colour(ways[(ways.index(self.scene.colour_by) + 1) % len(ways)])

    def set_camera(self, way: str) -> None:
        """Let the camera follow the first vehicle, or stand still."""
        self._camera = self._camera_choice.value = way
        self._shown_us = None
        place = to_scene(self.flights[0].pose(self.player.time_us).pos_ned)
        for client in self._server.get_clients().values():
            self.scene.close_up(client.camera, np.zeros(3) if way == FOLLOW else place)

    def set_colour(self, what: str) -> None:
        """Colour the tracks by speed, distance from the setpoint, or run."""
        self.scene.colour_tracks(what)
        self._colour_choice.value = next(label for label, each in COLOURS.items() if each == what)
        self._legend.content = _legend(self.scene)

    def set_scale(self, scale: float) -> None:
        """Draw the vehicles larger than they are."""
        self.scene.set_scale(scale)
        self._legend.content, self._shown_us = _legend(self.scene), None

    def _set_layers(self) -> None:
        thrust, target, wind, marks = (box.value for box in self._layers)
        self.scene.set_layers(thrust=thrust, target=target, wind=wind, marks=marks)
        self._shown_us = None

    def _set_shadows(self, is_on: bool) -> None:
        self._server.scene.configure_default_lights(cast_shadow=is_on)
        self.scene.ground.receive_shadows(is_on)

    @property
    def is_playing(self) -> bool:
        """Whether the time runs."""
        return self.player.is_playing

    def advance(self, elapsed_s: float) -> None:
        """Let time pass, and show what has changed."""
        self.player.advance(elapsed_s)
        self.refresh()

    def refresh(self) -> None:
        """Show the current time, if it has changed."""
        player, now = self.player, time.perf_counter()
        if self._list_at is not None:
            self._list_columns(now, self._list_at)
        is_new = player.time_us != self._shown_us
        if is_new:
            with self._server.atomic():
                self._show_scene()
        controls = (player.is_playing, player.speed, player.seeks)
        if controls != self._controls or (is_new and now - self._texts_at >= TEXT_S):
            self._texts_at, self._controls = now, controls
            self._show_texts()
            self._server.flush()

    def _list_columns(self, now: float, at: float) -> None:
        """List the columns to choose from some time after a browser has come."""
        if at == math.inf and self._server.get_clients():
            self._list_at = now + LIST_S
        elif now >= at:
            self._list_at = None
            self._plots.list_columns()

    def _show_scene(self) -> None:
        self._shown_us = self.player.time_us
        poses = [flight.pose(self._shown_us) for flight in self.flights]
        self.scene.show(poses)
        place = to_scene(poses[0].pos_ned) if self._camera == FOLLOW else np.zeros(3)
        if not np.array_equal(self.scene.world.position, -place):
            self.scene.world.position = -place

    def _show_texts(self) -> None:
        player = self.player
        label = PAUSE if player.is_playing else PLAY
        if self._play.label != label:
            self._play.label = label
        moved = self._moved[0] if self._moved[1] == player.seeks else None
        for handle in (self._slider, self._time):
            if handle is not moved:  # which is already where the user moved it, or further
                handle.value = player.time_us / 1e6
        self._speed.value = f"{player.speed:g} x"
        self._status.content = _status(self.flights, player.time_us)
        self._plots.show(player.time_us)


def slider_marks(flight: ViewedFlight, first_s: float, last_s: float) -> tuple[tuple[float, str], ...]:
    """Return the ends of a slider and the numbers of events; numbers that would overlap the one before are left out."""
    marks = [(first_s, f"{first_s:g}")]
    for number, group in marks_of(flight):
        at_s = group[0].time_us / 1e6
        text = f"!{number}" if any(event.is_fault for event in group) else number
        is_free = marks[-1][0] + MIN_APART * (last_s - first_s) <= at_s <= last_s - 2.0 * MIN_APART * (last_s - first_s)
        marks.append((at_s, text if is_free else ""))
    return (*marks, (last_s, f"{last_s:g} s"))


TABLE = "font-size:12px;line-height:1.5;border-spacing:8px 1px"
BOX = "font:12px/1.5 system-ui,sans-serif;padding:2px 10px 6px"


def _legend(scene: FlightScene) -> str:
    return f'<div style="{BOX}">{legend_rows(scene)}</div>'


def _status(flights: Sequence[ViewedFlight], time_us: int) -> str:
    """Return time, mode, height and speed of each flight as a table."""
    rows = [f'<div style="font:600 15px ui-monospace,monospace" id="px4lockstep-time">{time_us / 1e6:.6f} s</div>']
    for flight in flights:
        row = int(np.clip(np.searchsorted(flight.time_us, time_us, side="right") - 1, 0, len(flight.time_us) - 1))
        north_m, east_m, down_m = flight.pos_ned[row]
        parts = [f"{-down_m:.2f} m high", f"{flight.speed_m_s[row]:.2f} m/s", f"N {north_m:.1f} E {east_m:.1f} m"]
        if np.isfinite(flight.error_m[row]):
            parts.append(f"{flight.error_m[row]:.2f} m from setpoint")
        if "wind_ned" in flight.log:
            parts.append(f"wind {np.linalg.norm(flight.values('wind_ned', row)):.1f} m/s")
        if "nav_state" in flight.log:
            armed = "armed" if "armed" not in flight.log or flight.values("armed", row) else "disarmed"
            parts.insert(0, f"{mode_name(int(flight.values('nav_state', row)))}, {armed}")
        name = f"<b>{html.escape(flight.name)}</b>: " if len(flights) > 1 else ""
        rows.append(f"<div>{name}{', '.join(parts)}</div>")
    return f'<div style="{BOX}">{"".join(rows)}</div>'
