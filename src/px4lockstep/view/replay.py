"""Flights as one self-contained page: the scene with a play bar, without a server and without network."""

import html
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from px4lockstep.flights.saved import SavedRun
from px4lockstep.view.flown import viewed_flights
from px4lockstep.view.scene import RUN, SPEED, FlightScene
from px4lockstep.view.scene_legend import legend_of
from px4lockstep.view.server import start_server, stop_server

DEFAULT_FPS = 25.0
MAX_FRAMES = 2_000
"""Frames of a page; of a long flight, there are fewer per second. Each costs about 200 bytes per flight."""


def replay_html(
    runs: Sequence[SavedRun],
    *,
    fps: float = DEFAULT_FPS,
    colour_by: str | None = None,
    spread_m: float = 0.0,
    title: str = "",
    dark: bool = False,
) -> str:
    """Return one self-contained HTML page that replays flights in 3D, with play, pause, scrub and speed.

    A default flight of 72 s gives about 1.4 MB.

    Args:
        runs: Run folders, at most 12, also of imported flights.
        fps: Poses per second; fewer if the flight is longer than 80 s at 25 per second.
        colour_by: What the track is coloured by: `speed`, `error` or `run`. Default: speed, or run for several.
        spread_m: Distance to the east by which each flight is moved from the one before it [m].
        title: Title of the page; by default the names of the run folders.
        dark: Dark colours around the scene.

    Returns:
        The page, which needs neither a server nor network.

    Raises:
        InputError: If viser is not installed, or a run can't be shown.
    """
    flights = viewed_flights(runs, spread_m=spread_m)
    first_us = min(int(flight.time_us[0]) for flight in flights)
    last_us = max(int(flight.time_us[-1]) for flight in flights)
    times_us = frame_times_us(first_us, last_us, fps)
    server = start_server()
    try:
        scene = FlightScene(server, flights, colour_by=colour_by or (SPEED if len(flights) == 1 else RUN), dark=dark)
        scene.show_time(first_us)
        serializer = server.get_scene_serializer()
        for before_us, time_us in zip(times_us[:-1].tolist(), times_us[1:].tolist(), strict=True):
            serializer.insert_sleep((time_us - before_us) / 1e6)
            scene.show_time(time_us)
        page: str = serializer.as_html(dark_mode=dark)
    finally:
        stop_server(server)
    title = title or ", ".join(flight.name for flight in flights)
    page = page.replace("<title>Viser</title>", f"<title>{html.escape(title)}</title>", 1)
    head, body, rest = page.rpartition("</body>")
    return f"{head}{legend_of(scene, title)}{body}{rest}"


def frame_times_us(first_us: int, last_us: int, fps: float) -> npt.NDArray[np.int64]:
    """Return the times of the frames, evenly from the first to the last."""
    frames = max(2, min(MAX_FRAMES, round((last_us - first_us) / 1e6 * fps) + 1))
    return np.linspace(first_us, last_us, frames).round().astype(np.int64)
