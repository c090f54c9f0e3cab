"""Snapshots: all of a simulation at a boundary. Randomness is addressed, so there is no generator to save."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError


@dataclass(frozen=True)
class Snapshot:
    """All of a simulation at a boundary: the records, log and streams so far, and the users' objects."""

    schema_version: int
    time_us: npt.NDArray[np.uint64]
    core: npt.NDArray[Any]
    arrays: dict[str, npt.NDArray[Any]]
    objects: dict[str, Any]


def save_object(item: Any) -> Any:
    """Copy the state of a user's object: by its own method, or its attributes."""
    if hasattr(item, "snapshot"):
        return item.snapshot()
    if not hasattr(item, "__dict__"):
        raise InputError(
            f"{item!r} has no attributes that can be copied; give it methods snapshot() and restore(saved)"
        )
    return copy.deepcopy(vars(item))


def load_object(item: Any, saved: Any) -> None:
    """Put a copied state back into a user's object."""
    if hasattr(item, "restore"):
        item.restore(saved)
    else:
        vars(item).clear()
        vars(item).update(copy.deepcopy(saved))
