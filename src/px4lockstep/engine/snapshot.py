"""Snapshots: a complete simulation at an event boundary. Noise is counter-based, so there is no generator state."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.jit.records import RecordView


@dataclass(frozen=True)
class Snapshot:
    """A complete simulation at an event boundary."""

    schema_version: int  # schema version of the bus
    time_us: npt.NDArray[np.uint64]  # the boundaries of the timeline
    due: npt.NDArray[np.uint16]
    state: npt.NDArray[Any]  # of the records: see `checkpoints`
    records: npt.NDArray[Any] | None  # restoring compares their configuration; None from a file, which has the spec
    arrays: dict[str, npt.NDArray[Any]]  # log and streams up to now
    objects: dict[str, Any]  # state of the users' objects


def check_object(name: str, item: Any) -> None:
    """Raise `InputError` if an object has only one of the methods `snapshot` and `restore`."""
    if hasattr(item, "snapshot") != hasattr(item, "restore"):
        raise InputError(f"{name} has only one of the methods snapshot() and restore(saved); it needs both or neither")


def save_objects(objects: dict[str, Any]) -> dict[str, Any]:
    """Copy the state of users' objects: with their own methods, or by copying their attributes.

    All attributes are copied together, so objects that two sources share are shared in the copy too.
    """
    attributes = {name: _attributes(item) for name, item in objects.items() if not hasattr(item, "snapshot")}
    own = {name: item.snapshot() for name, item in objects.items() if hasattr(item, "snapshot")}
    return copied(attributes) | own


def copied(objects: dict[str, Any]) -> dict[str, Any]:
    """Return a deep copy of objects by name; objects that they share are shared in the copy, too."""
    try:
        return copy.deepcopy(objects)
    except Exception as error:
        names = ", ".join(objects)
        raise InputError(
            f"{names}: can't be copied ({error}); keep numbers and arrays in attributes, or define the methods "
            "snapshot() and restore(saved)"
        ) from error


def load_objects(objects: dict[str, Any], saved: dict[str, Any]) -> None:
    """Restore the copied states of users' objects."""
    attributes = copied({name: saved[name] for name, item in objects.items() if not hasattr(item, "restore")})
    for name, item in objects.items():
        if hasattr(item, "restore"):
            item.restore(saved[name])
            continue
        for attribute in _attributes(item):
            delattr(item, attribute)
        for attribute, value in attributes[name].items():
            setattr(item, attribute, value)


def _attributes(item: Any) -> dict[str, Any]:
    """Return all attributes of an object, including those in slots, except views of the simulation's own records."""
    slots = [slot for kind in type(item).__mro__ for slot in _slots_of(kind)]
    found = {slot: getattr(item, slot) for slot in slots if hasattr(item, slot)}
    found |= getattr(item, "__dict__", {})
    return {name: value for name, value in found.items() if not isinstance(value, RecordView)}


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))
