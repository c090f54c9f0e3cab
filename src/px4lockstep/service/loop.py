"""The loop of a server: fly all vehicles up to the same time, paced by the wall clock, and serve their links.

One thread does both. What arrives while the loop waits is processed at once; commands take effect when the flight goes
on. A server that falls behind, because the machine is busy or was suspended, does not hurry afterwards. One without a
pace keeps to real time while nobody is connected, so that a forgotten service does not fill the disk.
"""

import math
import select
import time
from collections.abc import Sequence

from px4lockstep.engine.pace import MAX_LAG_S
from px4lockstep.service.endpoint import Endpoint

REAL_TIME = 1.0
POLL_S = 0.1
"""Longest wait for a datagram before heartbeats and requests are looked at."""
FLUSH_S = 0.002
"""A server that does not wait sends this often; what is due meanwhile goes into the same datagrams."""


class ServiceLoop:
    """Serves vehicles.

    Args:
        endpoints: The vehicles and their links.
        speed: Simulated time per wall-clock time; infinite for no pace while a client is connected.
    """

    def __init__(self, endpoints: Sequence[Endpoint], speed: float = 1.0) -> None:
        self._endpoints = tuple(endpoints)
        self._links = {channel.link: endpoint for endpoint in endpoints for channel in endpoint.channels}
        self.speed = speed
        self._time_us = max(endpoint.vehicle.time_us for endpoint in endpoints)
        self._start_s = self._due_s = self._flushed_s = time.perf_counter()

    def step(self, until_us: int | None = None) -> None:
        """Fly up to the next look at the network, send what is due, and keep the pace.

        With `until_us`, fly at most up to that time, without a pace: somebody waits for it.
        """
        step_us = min(endpoint.step_us for endpoint in self._endpoints)
        if until_us is not None:
            step_us = min(step_us, max(0, until_us - self._time_us))
        self._time_us += step_us  # vehicles stop at their next tick, which is later
        for endpoint in self._endpoints:
            endpoint.vehicle.run_until(self._time_us)
            endpoint.send(self._now_s())
        self._wait(step_us, math.inf if until_us is not None else self._pace)

    def flush(self) -> None:
        """Send what is waiting to be sent."""
        self._flushed_s = time.perf_counter()
        for endpoint in self._endpoints:
            endpoint.flush()

    def serve(self, wait_s: float) -> None:
        """Process and answer what arrives within a time, without flying."""
        end_s = time.perf_counter() + wait_s
        while True:
            left_s = max(0.0, min(end_s - time.perf_counter(), POLL_S))
            arrived = select.select(self._links, [], [], left_s)[0]
            for link in arrived:
                self._links[link].receive(self._now_s())
            for endpoint in self._endpoints:
                endpoint.attend(self._now_s())
                if wait_s > 0.0:
                    endpoint.flush()
            if end_s <= time.perf_counter():
                break

    def _now_s(self) -> float:
        return time.perf_counter() - self._start_s

    @property
    def _pace(self) -> float:
        is_alone = math.isinf(self.speed) and not any(endpoint.is_heard for endpoint in self._endpoints)
        return REAL_TIME if is_alone else self.speed

    def _wait(self, passed_us: int, pace: float) -> None:
        """Serve the links until the step that has just been flown is over in wall-clock time."""
        now_s = time.perf_counter()
        self._due_s += passed_us / 1e6 / pace
        late_s = now_s - self._due_s - MAX_LAG_S
        if math.isinf(pace):
            self._due_s = now_s
        elif late_s > 0.0:
            self._due_s += late_s
        left_s = max(0.0, self._due_s - now_s)
        if left_s > 0.0 or now_s - self._flushed_s > FLUSH_S:
            self.flush()
        self.serve(left_s)
