"""Builder: creates the parts of a flight and writes its records.

`Builder` always builds everything. Campaigns use a build cache instead, which reuses the parts of the previous flight
whose inputs are bit-identical. Functions passed to a builder must therefore depend on their arguments only.
"""

from collections.abc import Callable, Mapping, Set
from typing import Any, TypeVar

import numpy.typing as npt

from px4lockstep.engine.buffers import Grow, grow_in_memory

Made = TypeVar("Made")


class Builder:
    """Creates parts and writes records."""

    grow: Grow = staticmethod(grow_in_memory)
    """Provides the memory of a run: see `buffers`."""

    def made(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return the part that `make(*of)` creates; callers must not modify it."""
        return make(*of)

    def shared(self, part: Made) -> Made:
        """Return an immutable part, or an equal one of an earlier flight, from which others may have been made."""
        return part

    def derived(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return what `make(*of)` creates quickly from immutable parts; callers must not modify it."""
        return make(*of)

    def unchecked(self, tables: dict[str, Any]) -> Set[str]:
        """Return the names of the tables that must be checked: all that differ from those of the last `accept`."""
        return tables.keys()

    def accept(self, tables: Mapping[str, Any]) -> None:
        """Note that these immutable tables passed all checks."""

    def write(self, core: npt.NDArray[Any], names: tuple[str, ...], write: Callable[..., None], *of: Any) -> None:
        """Write records of a `SIM` that are still zero: call `write(*records, *of)` with length-1 arrays.

        The arguments are immutable.
        """
        write(*(core[name] for name in names), *of)
