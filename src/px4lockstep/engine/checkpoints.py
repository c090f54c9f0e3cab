"""Checkpoints: the state of a simulation at an event boundary, without its configuration.

Records declare which of their fields are state (see `jit.record`). A checkpoint holds only those, so it can be resumed
in a simulation with a different configuration: parameters, models and seed come from the new simulation, the state from
the checkpoint. Fields are matched by name, so a checkpoint with another layout can be resumed too; a field that it
lacks keeps its initial value, and so do the last elements if its array of records is shorter.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import NATIVE, SIM
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, view
from px4lockstep.jit.records import CONFIGURATION, STATE, limits_of, state_dtype, words_of
from px4lockstep.scenario.actions import GIVE_SETPOINT
from px4lockstep.scenario.setpoint_rows import EVENT_ROW, NOTHING, TABLE
from px4lockstep.scenario.stage import look_ahead

CHECKPOINT = state_dtype(SIM)
"""The state of a `SIM`."""


def state_of(core: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the state in the records of a simulation, as a length-1 array of `CHECKPOINT`."""
    return core.view(np.uint64)[words_of(SIM, STATE)].view(CHECKPOINT)


def put_state(core: npt.NDArray[Any], checkpoint: npt.NDArray[Any]) -> None:
    """Write the state of a checkpoint into the records of a simulation.

    If its fields do not match, or an integer is out of range, nothing changes.
    """
    state = checkpoint
    if checkpoint.dtype != CHECKPOINT:
        state = state_of(core)
        overlay(state, checkpoint, "checkpoint")
    limits_of(SIM, STATE).check(state, "checkpoint")
    core.view(np.uint64)[words_of(SIM, STATE)] = np.ascontiguousarray(state).view(np.uint64)


def overlay(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], name: str) -> None:
    """Copy the fields that two records have in common, matched by name; error messages call the record `name`."""
    for field in ours.dtype.names or ():
        if field not in (theirs.dtype.names or ()):
            continue
        other, place = theirs[field], f"{name}.{field}"
        part = _first_of(ours[field], other)
        if part.shape != other.shape or (part.dtype.names is None and part.dtype != other.dtype):
            raise InputError(f"{place} is {other.dtype} with shape {other.shape[1:]}, not {part.dtype}")
        if part.dtype.names is None:
            part[...] = other
        else:
            overlay(part, other, place)


def _first_of(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of the first elements of arrays of records if the other ones are shorter: they grew later."""
    is_grown = ours.dtype.names is not None and ours.ndim == theirs.ndim == 2 and theirs.shape[1] < ours.shape[1]
    return ours[:, : theirs.shape[1]] if is_grown else ours


def recorded_otherwise(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], name: str = "") -> str | None:
    """Return the first common field of two checkpoints that is not bit-identical, or None."""
    for field in ours.dtype.names or ():
        if field not in (theirs.dtype.names or ()):
            continue
        part = _first_of(ours[field], theirs[field])
        if part.tobytes() != theirs[field].tobytes():
            place = f"{name}.{field}" if name else field
            inner = recorded_otherwise(part, theirs[field], place) if part.dtype.names else place
            if inner is not None:
                return inner
    return None


def difference(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> str | None:
    """Return the first record in which the configurations of two simulations differ, or None."""
    words = words_of(SIM, CONFIGURATION)
    other = np.flatnonzero(ours.view(np.uint64)[words] != theirs.view(np.uint64)[words])
    if not len(other):
        return None
    offset = 8 * int(words[other[0]])
    return max((at, name) for name, (_, at, *_) in (SIM.fields or {}).items() if at <= offset)[1]


def branched(
    made: npt.NDArray[Any], checkpoint: npt.NDArray[Any], other: npt.NDArray[Any], at_us: int
) -> npt.NDArray[Any]:
    """Return the records of a branch: the configuration of `other` and the state of a checkpoint at `at_us`.

    `made` holds the initial records of the simulation that the checkpoint is from. The plant's state layout, the
    initial state and past events must be the same.
    """
    for name in ("n_x", "group_start", "group_stop"):
        if not np.array_equal(made["plant"][name], other["plant"][name]):
            raise InputError("the states of the plant were changed; parts cannot be added or removed in flight")
    if made["state"].tobytes() != other["state"].tobytes():
        raise InputError("the initial state was changed; it cannot change in a branch")
    result = other.copy()
    put_state(result, checkpoint)
    if int(result["modes"]["scenario"][0]) == NATIVE:
        _check_events(made, result, at_us)
    return result


def _check_events(made: npt.NDArray[Any], result: npt.NDArray[Any], at_us: int) -> None:
    """Check that past events are unchanged, and schedule the next one."""
    before, after = made["scenario"], result["scenario"]
    for i in np.flatnonzero(after["is_fired"][0]):
        was, now = before["events"][0, i].copy(), after["events"][0, i].copy()
        was["row"] = now["row"] = 0  # the length of the setpoint table changes it
        if was.tobytes() != now.tobytes():
            raise InputError(f"scenario.events[{i}] was changed, but it fired before the checkpoint")
    _move_event_row(before, after)
    interpreted(look_ahead)(view(after, writable=True))
    if int(after["next_us"][0]) < at_us:
        raise InputError(
            f"an event is scheduled at {int(after['next_us'][0])} us, before the checkpoint to resume at {at_us} us"
        )
    step, ticks = int(after["next_step"][0]), int(result["cursor"]["autopilot_ticks"][0])
    if step < ticks:
        raise InputError(
            f"an event is scheduled at step {step}, but the autopilot ran {ticks} ticks before the checkpoint"
        )


def _move_event_row(before: npt.NDArray[Any], after: npt.NDArray[Any]) -> None:
    """Point to the setpoint of the same event, whose row depends on the length of the setpoint table."""
    setpoints, rows = after["setpoints"], before["events"]["row"][0]
    if int(setpoints["source"][0]) == EVENT_ROW:
        is_same = (rows == setpoints["event_row"][0]) & (before["events"]["action"][0] == GIVE_SETPOINT)
        setpoints["event_row"] = after["events"]["row"][0, int(np.argmax(is_same))]


def rewind_table(core: npt.NDArray[Any], rows: npt.NDArray[Any], at_us: int) -> None:
    """Let the state of a checkpoint at `at_us` fit a changed table of setpoints, which may have begun later or ended.

    Rows that begin before `at_us` and have not begun in the checkpoint begin at the next tick.
    """
    setpoints = core["scenario"]["setpoints"]
    times_us = rows["time_us"][: int(setpoints["table_rows"][0])]
    setpoints["begun"] = np.minimum(setpoints["begun"], np.count_nonzero(times_us < at_us))
    if int(setpoints["begun"][0]) == 0 and int(setpoints["source"][0]) == TABLE:
        setpoints["source"] = NOTHING
