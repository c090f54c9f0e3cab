"""How the parts of a flight are made and its records are written.

`Builder` makes everything anew. A campaign has a build cache in its place, which reuses the parts of the previous
flight whose inputs are bit-identical; so each function that is given to a builder must look at its arguments only.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

Made = TypeVar("Made")


class Builder:
    """Makes parts and writes records."""

    def made(self, make: Callable[..., Made], *of: Any) -> Made:
        """Return what a function makes of some values; nobody may change it."""
        return make(*of)

    def write(self, core: npt.NDArray[Any], names: tuple[str, ...], write: Callable[..., None], *of: Any) -> None:
        """Write some records of a `SIM` that are zero so far, each given as an array of one: `write(*records, *of)`."""
        write(*(core[name] for name in names), *of)
