"""Pacing: let simulated time pass at a fixed multiple of wall-clock time.

The simulation runs in short slices, and after each it sleeps until the wall clock has caught up. This changes only when
a slice runs, never its results. A simulation that falls behind, because it is slower than the pace or was suspended,
does not hurry afterwards: time lost beyond `MAX_LAG_S` stays lost.
"""

import time
from collections.abc import Callable

SLICE_S = 0.01
"""Wall-clock time of a slice."""
NAP_S = 0.1
"""Longest sleep between two calls of `idle`."""
MAX_LAG_S = 0.1


class Pace:
    """The pace of a flight; `factor` is simulated time per wall-clock time."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.slice_us = max(1, round(1e6 * SLICE_S * factor))
        """Simulated time of a slice."""
        self.slept_s = 0.0
        """Wall-clock time that was spent sleeping."""
        self.lost_s = 0.0
        """Wall-clock time by which the flight took longer than the pace."""
        self._due_s: float | None = None

    def wait(self, passed_us: int, idle: Callable[[], object] | None = None) -> None:
        """Sleep until the slice that has just run, of `passed_us` simulated time, is over in wall-clock time.

        `idle` is called at least once, and every 0.1 s.
        """
        now_s = time.perf_counter()
        if self._due_s is None:
            self._due_s = now_s  # the first slice may include the start of the autopilot
        self._due_s += passed_us / 1e6 / self.factor
        late_s = now_s - self._due_s - MAX_LAG_S
        if late_s > 0.0:
            self.lost_s += late_s
            self._due_s += late_s
        start_s = now_s
        while True:
            if idle is not None:
                idle()
            left_s = self._due_s - now_s
            if left_s <= 0.0:
                break
            time.sleep(min(left_s, NAP_S))
            now_s = time.perf_counter()
        self.slept_s += now_s - start_s
