"""What the user did in the browser, brought from viser's threads to the thread of the view."""

import queue
from collections.abc import Callable
from typing import Any

Action = Callable[[], object]


class Inbox:
    """A queue of actions: callbacks of viser put them, and the thread of the view runs them, in order."""

    def __init__(self) -> None:
        self._actions: queue.SimpleQueue[Action] = queue.SimpleQueue()

    def put(self, action: Action) -> None:
        """Add an action; any thread may."""
        self._actions.put(action)

    def on(self, handle: Any, action: Callable[[Any], object]) -> None:
        """Run an action with the value of an input whenever the user changes it; not if the program does."""

        def changed(event: Any) -> None:
            if event.client is not None:
                value = event.target.value
                self.put(lambda: action(value))

        handle.on_update(changed)

    def on_click(self, handle: Any, action: Action) -> None:
        """Run an action whenever the user clicks a button or an object of the scene."""
        handle.on_click(lambda _: self.put(action))

    def on_key(self, gui: Any, label: str, keys: tuple[str, str | None], action: Action) -> None:
        """Run an action whenever the user presses a key, with or without a modifier; the palette lists it too."""
        gui.add_command(label, hotkey=keys[0], modifier=keys[1]).on_trigger(lambda _: self.put(action))

    def run(self, wait_s: float) -> bool:
        """Wait for an action, at most some time, and run all that are there; return whether there was any."""
        try:
            action = self._actions.get(timeout=max(wait_s, 0.0))
        except queue.Empty:
            return False
        while True:
            action()
            try:
                action = self._actions.get_nowait()
            except queue.Empty:
                return True
