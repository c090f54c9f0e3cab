"""The exceptions of the package: one small tree.

An error says what was wrong, the value, what is allowed, and what to do.
"""

import difflib
from collections.abc import Iterable
from typing import Any

MAX_ERRORS = 20
"""Errors of a file that are shown; the others are counted."""
MAX_LINE = 5_000
"""Characters of an error that are shown."""


class LockstepError(Exception):
    """Base of everything that px4lockstep raises on purpose."""


class InputError(LockstepError):
    """The user gave something that can't be right: a value, a name, a layout, a file.

    Args:
        text: What is wrong.
        key: The key of the spec file that it is about, as a path: `("power", "batteries", 0, "soc0")`; empty if none.
        findings: If it is a report of a file, what is wrong, without the places that the text has.
    """

    def __init__(self, text: str, *, key: tuple[str | int, ...] = (), findings: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.key = key
        self.findings = findings or (text,)


class OutputError(InputError):
    """A file that can't be written as it was asked for: a full disk, a folder without permission."""


class StateError(LockstepError):
    """A call that the object is not ready for: a snapshot of a failed run, a run that was closed."""


class TimeError(InputError):
    """A time, period or delay that is not a whole number of microseconds, or not in range."""


class LayoutError(InputError):
    """A record whose fields can't be used safely, or that does not match what was expected."""


class SimulationError(LockstepError):
    """A run that could not go on. Logs up to the failure are intact."""


class HostError(SimulationError):
    """An autopilot of its own process that does not start, can't be reached, or ends: no outcome of the flight."""


class StepError(SimulationError):
    """An adaptive integrator could not reach the next boundary within its limits."""


class InvariantError(SimulationError):
    """The validator found a broken invariant: the message has the time, the state and the value."""


class Px4Error(LockstepError):
    """PX4's library refused a call, or was used against its rules: the message has the call, its code and a remedy."""


class MetricError(LockstepError):
    """A metric that has no value for a flight: the message has the metric, the place and what was raised."""


class ErrorLines(list[str]):
    """The errors of a file: the first lines, each once and cut if it is long, and how many there are in `total`."""

    total = 0

    def append(self, line: str) -> None:
        """Count an error, and keep it if it is among the first."""
        if len(self) < MAX_ERRORS:
            line = line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
            if line in self:
                return
            super().append(line)
        self.total += 1

    def shown(self) -> list[str]:
        """Return the lines, with how many more there are."""
        return [*self, *([f"… and {self.total - len(self):,} more"] if self.total > len(self) else [])]


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """Return `did you mean 'x'? ` for the known name that is closest to one that is unknown; empty if none is close."""
    if not isinstance(name, str):
        return ""
    by_lower = {item.lower(): item for item in known}
    closest = difflib.get_close_matches(name.lower(), by_lower, 1)
    return f"did you mean {by_lower[closest[0]]!r}? " if closest else ""


def suggestion(name: Any, known: Iterable[str]) -> str:
    """Return the same as the end of a message: `; did you mean 'x'?`, or nothing."""
    hint = did_you_mean(name, known)
    return f"; {hint.rstrip()}" if hint else ""
