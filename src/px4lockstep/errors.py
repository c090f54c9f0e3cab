"""Exceptions of the package.

Each message states what is wrong, the value, what is allowed, and what to do.
"""

import difflib
from collections.abc import Iterable
from typing import Any

MAX_ERRORS = 20
"""Number of errors shown for a file; the rest are counted."""
MAX_LINE = 5_000
"""Number of characters shown of each error."""
CLOSE = 0.75
"""Minimum similarity of a known name suggested for an unknown one (ratio of `difflib`)."""
MIN_PREFIX = 3
"""Minimum length of an unknown name for which known names that begin with it are suggested."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, for a message: `1 row`, `2,000 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


class LockstepError(Exception):
    """Base class of all errors that px4lockstep raises on purpose."""


class InputError(LockstepError):
    """Invalid input: a value, a name, a layout or a file.

    Args:
        text: The message.
        key: Path of the spec key in question, such as `("power", "batteries", 0, "soc0")`; empty if there is none.
        findings: In the report of a file, the individual errors without their locations.
    """

    def __init__(self, text: str, *, key: tuple[str | int, ...] = (), findings: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.key = key
        self.findings = findings or (text,)


class OutputError(InputError):
    """Failure to write a requested file, for example because the disk is full or the folder is read-only."""


class StateError(LockstepError):
    """Call that the object's state does not allow, such as a snapshot of a failed run."""


class TimeError(InputError):
    """Time, period or delay that is not a whole number of microseconds or is out of range."""


class LayoutError(InputError):
    """Record with unsafe fields, or with an unexpected layout."""


class SimulationError(LockstepError):
    """Run that was aborted. Its log is intact up to the failure."""


class HostError(SimulationError):
    """Autopilot process that does not start, does not respond or exits. This is not an outcome of the flight."""


class StepError(SimulationError):
    """Adaptive integrator that cannot reach the next boundary within its limits."""


class InvariantError(SimulationError):
    """Violated invariant, found by the validator. The message gives time, state and value."""


class Px4Error(LockstepError):
    """Call that the PX4 library rejected or does not allow. The message gives the call, its code and a remedy."""


class MetricError(LockstepError):
    """Metric that could not be evaluated for a flight. The message gives the metric, the location and the cause."""


class ErrorLines(list[str]):
    """Errors of a file: the first ones, without duplicates and truncated if long. `total` counts all of them."""

    total = 0

    def append(self, line: str) -> None:
        """Count an error, and store it if it is among the first."""
        if len(self) < MAX_ERRORS:
            line = line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"
            if line in self:
                return
            super().append(line)
        self.total += 1

    def shown(self) -> list[str]:
        """Return the stored lines, followed by the number of omitted ones."""
        return [*self, *([f"… and {self.total - len(self):,} more"] if self.total > len(self) else [])]


def close_names(name: Any, known: Iterable[str]) -> list[str]:
    """Return the known names that are close to an unknown one, the closest first.

    A name is close if it is similar to the unknown name, has the same letters in a different order, or begins with it.
    Case is ignored.
    """
    if not isinstance(name, str):
        return []
    lower, by_lower = name.lower(), {item.lower(): item for item in known}
    found = difflib.get_close_matches(lower, by_lower, 3, CLOSE)
    found += [item for item in by_lower if sorted(item) == sorted(lower)]
    if len(lower) >= MIN_PREFIX:
        found += sorted((item for item in by_lower if item.startswith(lower)), key=len)
    return [by_lower[item] for item in dict.fromkeys(found)]


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """Return `did you mean 'x'? ` with the known name that is closest to an unknown one; empty if none is close."""
    closest = close_names(name, known)
    return f"did you mean {closest[0]!r}? " if closest else ""


def suggestion(name: Any, known: Iterable[str]) -> str:
    """Return the hint of `did_you_mean` as the end of a message: `; did you mean 'x'?`, or an empty string."""
    hint = did_you_mean(name, known)
    return f"; {hint.rstrip()}" if hint else ""
