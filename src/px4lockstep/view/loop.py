"""The loop of a view, in the thread of the caller: run what the user did, let time pass, show it."""

import gc
import time
from collections.abc import Callable
from typing import Protocol

from px4lockstep.view.inbox import Inbox

FRAME_S = 1.0 / 30.0
IDLE_S = 0.1
"""How long to wait for the user while nothing moves."""


class Page(Protocol):
    """What the loop shows."""

    @property
    def is_playing(self) -> bool:
        """Whether it moves by itself."""

    def advance(self, elapsed_s: float) -> None:
        """Let time pass, and show what has changed."""


def run_page(page: Page, inbox: Inbox, is_over: Callable[[], bool]) -> None:
    """Show a page until it is over."""
    gc.freeze()  # a page stays as long as the process: a collection that visits it would delay a pose by a frame
    last = time.perf_counter()
    while not is_over():
        spent_s = time.perf_counter() - last
        inbox.run(FRAME_S - spent_s if page.is_playing else IDLE_S)
        now = time.perf_counter()
        page.advance(now - last)
        last = now
