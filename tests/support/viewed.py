"""Flights and pages for tests of the viewer, without a browser."""

import contextlib

import numpy as np

from px4lockstep import Log
from px4lockstep.view.flown import ViewedFlight
from px4lockstep.view.server import start_server, stop_server
from px4lockstep.view.shape import usual_shape


def made_flight(name="made", rows=101, step_us=10_000, **columns):
    """Return a flight to the north at 1 m/s, 10 m high, that arms at half time."""
    time_us = np.arange(rows, dtype=np.uint64) * step_us
    north = time_us / 1e6
    level = np.tile((1.0, 0.0, 0.0, 0.0), (rows, 1))
    arrays = {
        "time_us": time_us,
        "pos_ned": np.stack((north, 0 * north, 0 * north - 10.0), axis=1),
        "vel_ned": np.tile((1.0, 0.0, 0.0), (rows, 1)),
        "q_bn": level,
        "armed": (np.arange(rows) >= rows // 2).astype(np.int64),
    }
    return ViewedFlight(name, Log(arrays | columns), usual_shape())


@contextlib.contextmanager
def served():
    """Start viser on a free port, and stop it at the end."""
    server = start_server()
    try:
        yield server
    finally:
        stop_server(server)
