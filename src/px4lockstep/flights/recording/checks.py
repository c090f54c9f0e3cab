"""Consistency checks of a recording that was read.

Hashes find damage. These checks find an intact file that can't be a flight, edited by hand or written by a faulty
program.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import CURSOR
from px4lockstep.engine.timeline import AUTOPILOT, AXIS_BITS, LOG, WIND
from px4lockstep.environment.gust import MAX_GUSTS
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.recording import Recording
from px4lockstep.scenario.landing import CRASH_LIES


def check_recording(recording: Recording) -> None:
    """Check all parts, the digests last."""
    recording.streams.check()
    _check_timeline(recording)
    _check_values(recording)
    _check_log(recording)
    _check_checkpoints(recording)
    _check_marks(recording)
    recording.check_digests()


def _ends_by_crash(log: npt.NDArray[Any]) -> bool:
    """Return whether a crash ended the run, rather than the run continuing after it."""
    return int(log["bus"]["scenario"]["crashed"][-1]) not in (0, CRASH_LIES)


def _check_timeline(recording: Recording) -> None:
    """Check that all axes are known, and that the log has a row at the end."""
    due = recording.streams.due
    known = np.uint16(sum(AXIS_BITS.values()))
    unknown = np.flatnonzero(due & ~known)
    if len(unknown):
        raise InputError(f"timeline/due[{unknown[0]}] = {due[unknown[0]]} has bits of axes that this version lacks")
    if not int(due[-1]) & LOG and not (len(recording.log) and _ends_by_crash(recording.log)):
        raise InputError("timeline/due lacks the bit of the log at the end, where every log has a row")


def _check_values(recording: Recording) -> None:
    """Check that the inputs of a replay are finite, and that commands and gusts are in range."""
    streams = recording.streams
    for name, array in (
        ("plant/initial_state", recording.initial_state),
        ("streams/commands", streams.commands),
        ("streams/winds", streams.winds),
        ("streams/scenarios", streams.scenarios),
        ("streams/gusts", streams.gusts),
    ):
        _check_finite(name, array)
    for channel, low in (("motors", 0.0), ("servos", -1.0)):
        values = streams.commands[channel]
        wrong = np.argwhere((values < low) | (values > 1.0))
        if len(wrong):
            row, i = wrong[0]
            place = f"streams/commands.{channel}[{i}] in row {row}"
            raise InputError(f"{place} is {values[row, i]}; it must be {low} to 1.0")
    count = int(streams.gusts["count"][0])
    if not 0 <= count <= MAX_GUSTS:
        raise InputError(f"streams/gusts.count is {count}; it must be 0 to {MAX_GUSTS}")


def _check_finite(name: str, array: npt.NDArray[Any]) -> None:
    """Check all floats of an array, including those in records."""
    for field in array.dtype.names or ():
        _check_finite(f"{name}.{field}", array[field])
    if array.dtype.names is None and array.dtype.kind == "f":
        wrong = np.argwhere(~np.isfinite(array))
        if len(wrong):
            raise InputError(f"{name} is {array[tuple(wrong[0])]} in row {wrong[0][0]}; it must be finite")


def _check_log(recording: Recording) -> None:
    """Check that the log has a row and a state at each boundary where one is due, and no others."""
    log, state, streams, kept = recording.log, recording.log_state, recording.streams, recording.checkpoints
    if not len(log):
        raise InputError("log/rows is empty")
    if len(recording.state_names) != len(recording.initial_state):
        names = len(recording.state_names)
        raise InputError(
            f"it has {names} state_names, but {len(recording.initial_state)} states in plant/initial_state"
        )
    if state.shape != (len(log), len(recording.initial_state)):
        wanted = (len(log), len(recording.initial_state))
        raise InputError(f"log/state has the shape {state.shape}, not {wanted}")
    beside = (("log/sensors", recording.log_sensors, log), ("checkpoints/sensors", recording.sensor_checkpoints, kept))
    for name, sensors, rows in beside:
        if sensors is not None and len(sensors) != len(rows):
            raise InputError(f"{name} has {len(sensors)} rows, not {len(rows)}")
    if (recording.log_sensors is None) != (recording.sensor_checkpoints is None):
        raise InputError("it has one of log/sensors and checkpoints/sensors without the other")
    due_us = streams.time_us[(streams.due & np.uint16(LOG)) != 0]
    if _ends_by_crash(log):  # a crash adds a row
        due_us = due_us[due_us <= log["time_us"][-1]]
        if not len(due_us) or due_us[-1] != log["time_us"][-1]:
            due_us = np.append(due_us, log["time_us"][-1])
    if len(due_us) != len(log):
        raise InputError(f"log/rows has {len(log)} rows; the timeline has {len(due_us)} log boundaries")
    wrong = np.flatnonzero(due_us != log["time_us"])
    if len(wrong):
        row = int(wrong[0])
        raise InputError(f"log/rows.time_us is {int(log['time_us'][row])} in row {row}, not {int(due_us[row])}")


def _check_checkpoints(recording: Recording) -> None:
    """Check that the checkpoints are in order, and that each is consistent with its boundary."""
    checkpoints, streams = recording.checkpoints, recording.streams
    if not len(checkpoints):
        return
    found = checkpoints.dtype.fields.get("cursor") if checkpoints.dtype.fields else None
    for name in CURSOR.names or ():
        if found is None or name not in (found[0].names or ()):
            raise InputError(f"checkpoints/state lacks the field 'cursor.{name}'")
        if found[0][name] != CURSOR[name]:
            raise InputError(f"checkpoints/state.cursor.{name} is {found[0][name]}, not {CURSOR[name]}")
    cursors = checkpoints["cursor"]
    at, last = cursors["k"], len(streams.time_us) - 1
    wrong = np.flatnonzero((at < 0) | (at > last))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(f"checkpoints/state is at k = {at[row]} in row {row}; it must be 0 to {last}")
    if np.any(np.diff(at) <= 0):
        raise InputError("checkpoints/state has rows that are not in order of time")
    places = {
        name: np.searchsorted(np.flatnonzero(streams.due & np.uint16(bit)), at)
        for name, bit in (("autopilot_ticks", AUTOPILOT), ("wind_ticks", WIND), ("log_rows", LOG))
    }
    places |= {"scenario_rows": np.searchsorted(streams.scenario_at[:-1], at), "stage": np.zeros_like(at)}
    for name, wanted in places.items():
        wrong = np.flatnonzero(cursors[name] != wanted)
        if len(wrong):
            row = int(wrong[0])
            place = f"checkpoints/state is at {name} = {cursors[name][row]} in row {row}"
            raise InputError(f"{place}; at boundary {at[row]} it must be {wanted[row]}")


def _check_marks(recording: Recording) -> None:
    """Check that every boundary up to the end or a crash has fingerprints, or none does, as in older versions."""
    fingerprints, boundaries = recording.fingerprints, len(recording.streams.time_us)
    if fingerprints.shape[1] != len(recording.initial_state):
        states = len(recording.initial_state)
        raise InputError(f"plant/fingerprints has {fingerprints.shape[1]} columns; the plant has {states} states")
    last = int(np.searchsorted(recording.streams.time_us, recording.log["time_us"][-1]))
    if len(fingerprints) and not last < len(fingerprints) <= boundaries:
        raise InputError(f"plant/fingerprints has {len(fingerprints)} rows; the flight has {last + 1} boundaries")
