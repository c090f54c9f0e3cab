"""Snapshots: all of a simulation at a boundary. Randomness is addressed, so there is no generator to save."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError
from px4lockstep.estimation.estimator import STATES as ESTIMATOR_STATES

COUNTED = ("h_us", "evaluations", "accepted", "rejected", "forced", "projected")
"""What a solver carries or counts; the rest of its record, but for the last attempt, is configuration."""


STATES = {
    "scenario": ("is_fired", "next_us", "next_step", "n_watched", "asked", "answer", "has_changed", "landing"),
    "wind": ("tick", "turbulence_ned"),
    "battery_sensors": ("tick", "voltage_v", "current_a", "ring"),
    "estimator": ESTIMATOR_STATES,
}
"""What changes in a record as a run goes on; the rest of it is configuration."""
DRYDEN_STATES = ("vel_m_s", "lag_a", "lag_b")


@dataclass(frozen=True)
class Snapshot:
    """All of a simulation at a boundary: the records, log and streams so far, and the users' objects."""

    schema_version: int
    time_us: npt.NDArray[np.uint64]
    due: npt.NDArray[np.uint16]
    core: npt.NDArray[Any]
    arrays: dict[str, npt.NDArray[Any]]
    objects: dict[str, Any]


def check_object(name: str, item: Any) -> None:
    """Refuse an object that brings one of the methods `snapshot` and `restore` without the other."""
    if hasattr(item, "snapshot") != hasattr(item, "restore"):
        raise InputError(f"{name} has one of the methods snapshot() and restore(saved); it needs both or neither")


def save_objects(objects: dict[str, Any]) -> dict[str, Any]:
    """Copy the state of users' objects: by their own methods, or their attributes.

    All attributes are copied together, so that what two objects share they share in the copy too.
    """
    attributes = {name: _attributes(item) for name, item in objects.items() if not hasattr(item, "snapshot")}
    own = {name: item.snapshot() for name, item in objects.items() if hasattr(item, "snapshot")}
    return copy.deepcopy(attributes) | own


def load_objects(objects: dict[str, Any], saved: dict[str, Any]) -> None:
    """Put copied states back into users' objects."""
    attributes = copy.deepcopy({name: saved[name] for name, item in objects.items() if not hasattr(item, "restore")})
    for name, item in objects.items():
        if hasattr(item, "restore"):
            item.restore(saved[name])
            continue
        for attribute in _attributes(item):
            delattr(item, attribute)
        for attribute, value in attributes[name].items():
            setattr(item, attribute, value)


def _attributes(item: Any) -> dict[str, Any]:
    """Return all attributes of an object, those in slots included."""
    slots = [slot for kind in type(item).__mro__ for slot in _slots_of(kind)]
    found = {slot: getattr(item, slot) for slot in slots if hasattr(item, slot)}
    return found | getattr(item, "__dict__", {})


def _slots_of(kind: type) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def difference(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> str | None:
    """Return what two simulations' records were made with that differs, or None; progress may differ."""
    for name in ("modes", "scenario", "gusts", "plant", "wind", "battery_sensors", "estimator", "builtin", "solver"):
        a, b = ours[name].copy(), theirs[name].copy()
        if name == "builtin":
            a, b = a["identity"], b["identity"]
        elif name == "plant":
            for field in a["user"].dtype.names or ():
                if field.endswith("_address"):  # of the process
                    a["user"][field] = b["user"][field] = 0
        elif name in STATES:
            for field in STATES[name]:
                a[field] = b[field]
            if name == "wind":
                for axis in a["dryden"].dtype.names or ():
                    for field in DRYDEN_STATES:
                        if field in (a["dryden"][axis].dtype.names or ()):
                            a["dryden"][axis][field] = b["dryden"][axis][field]
        elif name == "solver":
            for field in a.dtype.names or ():
                if field in COUNTED or field.startswith("last_"):
                    a[field] = b[field]
        if a.tobytes() != b.tobytes():
            return name
    return None
