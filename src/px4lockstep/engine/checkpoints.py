"""Checkpoints: the state of a simulation at a boundary, apart from its configuration.

Records say which of their fields are state (see `jit.record`). A checkpoint holds those and nothing else, so that it
can be resumed in a simulation with a different configuration: parameters, models and seed are those that the
simulation was built with, the state is the checkpoint's. Fields are matched by their names, so a checkpoint of another
layout can be resumed as well; a field that it lacks keeps the value that it was built with.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import NATIVE, SIM
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.jit.records import CONFIGURATION, STATE, limits_of, state_dtype, words_of
from px4lockstep.scenario.stage import look_ahead

CHECKPOINT = state_dtype(SIM)
"""The state of a `SIM`."""


def state_of(core: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the state in the records of a simulation: an array of one `CHECKPOINT`."""
    return core.view(np.uint64)[words_of(SIM, STATE)].view(CHECKPOINT)


def put_state(core: npt.NDArray[Any], checkpoint: npt.NDArray[Any]) -> None:
    """Write the state of a checkpoint into the records of a simulation.

    If its fields don't fit, or an integer is beyond its limits, nothing changes.
    """
    state = checkpoint
    if checkpoint.dtype != CHECKPOINT:
        state = state_of(core)
        overlay(state, checkpoint, "checkpoint")
    limits_of(SIM, STATE).check(state, "checkpoint")
    core.view(np.uint64)[words_of(SIM, STATE)] = np.ascontiguousarray(state).view(np.uint64)


def overlay(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], name: str) -> None:
    """Write the fields of a record that another has too, by their names; `name` is what errors call it."""
    for field in ours.dtype.names or ():
        if field not in (theirs.dtype.names or ()):
            continue
        part, other, place = ours[field], theirs[field], f"{name}.{field}"
        if part.shape != other.shape or (part.dtype.names is None and part.dtype != other.dtype):
            raise InputError(f"{place} is {other.dtype} with the shape {other.shape[1:]}, not {part.dtype}")
        if part.dtype.names is None:
            part[...] = other
        else:
            overlay(part, other, place)


def recorded_otherwise(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], name: str = "") -> str | None:
    """Return the first field of a checkpoint that another has too, with other bits; None if there is none."""
    for field in ours.dtype.names or ():
        if field in (theirs.dtype.names or ()) and ours[field].tobytes() != theirs[field].tobytes():
            place = f"{name}.{field}" if name else field
            inner = recorded_otherwise(ours[field], theirs[field], place) if ours.dtype[field].base.names else place
            if inner is not None:
                return inner
    return None


def difference(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> str | None:
    """Return the first record in which two simulations were configured differently, or None."""
    words = words_of(SIM, CONFIGURATION)
    other = np.flatnonzero(ours.view(np.uint64)[words] != theirs.view(np.uint64)[words])
    if not len(other):
        return None
    offset = 8 * int(words[other[0]])
    return max((at, name) for name, (_, at, *_) in (SIM.fields or {}).items() if at <= offset)[1]


def branched(
    made: npt.NDArray[Any], checkpoint: npt.NDArray[Any], other: npt.NDArray[Any], at_us: int
) -> npt.NDArray[Any]:
    """Return the records of a branch at a time: the configuration of those it was built with, `other`, and a state.

    The checkpoint is of a simulation that was built with `made`. States of the plant and past events must be the same.
    """
    for name in ("n_x", "group_start", "group_stop"):
        if not np.array_equal(made["plant"][name], other["plant"][name]):
            raise InputError("the plant has other states than before; parts can't be added or left out in flight")
    if made["state"].tobytes() != other["state"].tobytes():
        raise InputError("the initial state was changed; it is long past")
    result = other.copy()
    put_state(result, checkpoint)
    if int(result["modes"]["scenario"][0]) == NATIVE:
        _check_events(made, result, at_us)
    return result


def _check_events(made: npt.NDArray[Any], result: npt.NDArray[Any], at_us: int) -> None:
    """Check that events of the past stay, and look ahead at those to come."""
    before, after = made["scenario"], result["scenario"]
    for i in np.flatnonzero(after["is_fired"][0]):
        if before["events"][0, i].tobytes() != after["events"][0, i].tobytes():
            raise InputError(f"scenario.events[{i}] was changed; it has happened already")
    interpreted(look_ahead)(view(after, writable=True))
    if int(after["next_us"][0]) < at_us:
        raise InputError(f"an event is at {int(after['next_us'][0])} us, before the checkpoint to resume, {at_us} us")
    step, ticks = int(after["next_step"][0]), int(result["cursor"]["autopilot_ticks"][0])
    if step < ticks:
        raise InputError(f"an event is at step {step}; the autopilot has ticked {ticks} times before the checkpoint")
