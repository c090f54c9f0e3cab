"""The layout of a row of the log: the fields of `LOG_ROW`, with as many motors, batteries and so on as there are.

A row is a sequence of 8-byte words, copied from the records of the simulation (`SIM`) by a table of spans, so that the
loop is compiled once for rows of any layout. In Python, the rows are records again (`RowLayout.dtype`).

A value that a row does not have is 0: no rotor beyond those of the aircraft has a load, and nothing commands motors or
sets faults beyond them. Where code outside the simulator could (an autopilot or a scenario in Python), rows have all.
"""

import functools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.core import LOG_ROW, SIM
from px4lockstep.engine.streams import Streams
from px4lockstep.jit import record
from px4lockstep.jit.memory import WORD_BYTES
from px4lockstep.plant.layout import MAX_BATTERIES, MAX_BUSES, MAX_MOTORS, MAX_SERVOS, OUTPUTS

Span = tuple[int, int]
"""The first word of a part of the simulation's records, and its number of words."""


class Widths(NamedTuple):
    """How many of each a row has."""

    motors: int = MAX_MOTORS  # commands
    servos: int = MAX_SERVOS
    rotors: int = MAX_MOTORS
    faults: int = MAX_MOTORS  # rotors whose faults may differ from 0
    batteries: int = MAX_BATTERIES
    buses: int = MAX_BUSES
    values: int = OUTPUTS["values"].shape[0]  # outputs of plants that are not vehicles


WHOLE = Widths()
COUNTED = {
    "inputs.command.motors": "motors",
    "inputs.command.servos": "servos",
    "inputs.rotor_duty": "rotors",
    "inputs.faults.stuck_duty": "faults",
    "inputs.faults.thrust_loss": "faults",
    "bus.outputs.values": "values",
    "bus.outputs.rotor_duty": "rotors",
    "bus.outputs.rotor_thrust_n": "rotors",
    "bus.outputs.rotor_torque_nm": "rotors",
    "bus.outputs.motor_current_a": "rotors",
    "bus.outputs.bus_voltage_v": "buses",
    "bus.outputs.bus_current_a": "buses",
    "bus.outputs.battery": "batteries",
    "bus.battery": "batteries",
}
"""The fields of `LOG_ROW` that have a width."""


class RowLayout(NamedTuple):
    """The layout of the rows of a run."""

    dtype: np.dtype[Any]  # a row in Python
    spans: npt.NDArray[np.int64]  # a `Span` per row

    @property
    def words(self) -> int:
        """The number of words of a row."""
        return self.dtype.itemsize // WORD_BYTES

    def rows(self, words: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return rows as records, by reference."""
        found: npt.NDArray[Any] = np.ndarray(len(words), self.dtype, words)
        return found

    def words_of(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return records as words: by reference, or copied if their layout differs, with 0 for values they lack."""
        if rows.dtype != self.dtype:
            whole = np.zeros(len(rows), self.dtype)
            _copy(rows, whole)
            rows = whole
        return words_of(np.ascontiguousarray(rows)).reshape(len(rows), self.words)


def words_of(records: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the memory of records as words."""
    return np.ndarray(records.nbytes // WORD_BYTES, np.int64, records)  # view() compares the types, which takes longer


@functools.cache
def layout_of(widths: Widths) -> RowLayout:
    """Return the layout of rows with these widths."""
    dtype, spans = _part(LOG_ROW, SIM, 0, "", widths)
    return RowLayout(dtype, np.array(list(_merged(spans)), np.int64))


def widths_of(core: Any, *, commands_all: bool, faults_all: bool, replay: Streams | None) -> Widths:
    """Return the widths of a run's rows from the simulation's `SIM` record.

    `commands_all` and `faults_all` say whether motors and servos beyond those of the aircraft may have commands, and
    faults. Those of a replay are known.
    """
    traits = core["plant"]["traits"]
    if not traits["is_vehicle"]:
        return WHOLE
    rotors = int(traits["n_motors"])
    motors, servos, faults = int(traits["n_motor_commands"]), int(traits["n_servo_commands"]), rotors
    if replay is not None:
        motors = max(motors, _used(replay.commands["motors"]))
        servos = max(servos, _used(replay.commands["servos"]))
        given = replay.scenarios["faults"]
        faults = max(faults, _used(given["stuck_duty"]), _used(given["thrust_loss"]))
    motors, servos = (MAX_MOTORS, MAX_SERVOS) if commands_all else (motors, servos)
    faults = MAX_MOTORS if faults_all else faults
    return Widths(motors, servos, rotors, faults, int(traits["n_batteries"]), int(traits["n_buses"]), 0)


def widths_in(dtype: np.dtype[Any]) -> Widths:
    """Return the widths of the rows in a file, whose layout must be `layout_of` them."""
    found = dict.fromkeys(Widths._fields, 0)
    for path, name in COUNTED.items():
        part: np.dtype[Any] | None = dtype
        for field in path.split("."):
            part = part[field] if part is not None and field in (part.names or ()) else None
        if part is not None and part.shape:
            found[name] = max(found[name], part.shape[0])
    return Widths(**found)


def input_beyond(core: npt.NDArray[Any], widths: Widths) -> str | None:
    """Return the first held input of a simulation that rows lack although it is not 0, or None.

    Only a checkpoint that was not written by the simulator has one. Digests of flights cover these inputs.
    """
    for path, name in COUNTED.items():
        part: Any = core
        if path.startswith("inputs."):
            for field in path.split("."):
                part = part[field]
            if any(np.ascontiguousarray(part[..., getattr(widths, name) :]).tobytes()):  # -0.0 is not 0
                return path.removeprefix("inputs.")
    return None


def _used(values: npt.NDArray[np.float64]) -> int:
    """Return the number of columns up to the last one that is not 0 everywhere, counting -0.0 as not 0."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return int(np.max(np.flatnonzero(bits.any(axis=0)), initial=-1)) + 1


def _part(
    dtype: np.dtype[Any], source: np.dtype[Any], offset: int, path: str, widths: Widths
) -> tuple[np.dtype[Any], list[Span]]:
    """Return a part of a row, and the spans of its fields, which have the same names in the source."""
    fields: list[tuple[Any, ...]] = []
    spans: list[Span] = []
    for name in dtype.names or ():
        place = f"{path}.{name}" if path else name
        fields_of = source["bus"].fields if place == "time_us" else source.fields
        assert fields_of is not None
        at = offset + fields_of[name][1] + (source.fields["bus"][1] if place == "time_us" else 0)  # type: ignore[index]
        if dtype[name].names is not None:
            inner, inside = _part(dtype[name], fields_of[name][0], at, place, widths)
            fields.append((name, inner))
            spans += inside
            continue
        base, shape = dtype[name].base, dtype[name].shape
        if place in COUNTED:
            shape = (min(getattr(widths, COUNTED[place]), shape[0]), *shape[1:])
        if 0 not in shape:
            fields.append((name, base, shape))
            spans.append((at // WORD_BYTES, base.itemsize * math.prod(shape) // WORD_BYTES))
    return record(fields), spans


def _merged(spans: list[Span]) -> Iterator[Span]:
    """Yield the spans, with neighbours in one."""
    start, length = spans[0]
    for first, count in spans[1:]:
        if first != start + length:
            yield start, length
            start, length = first, 0
        length += count
    yield start, length


def _copy(rows: npt.NDArray[Any], to: npt.NDArray[Any]) -> None:
    """Copy the fields that both have, as far as both go."""
    for name in to.dtype.names or ():
        if name not in (rows.dtype.names or ()):
            continue
        if to[name].dtype.names is not None and to[name].ndim == rows[name].ndim == 1:
            _copy(rows[name], to[name])
        else:
            common = tuple(map(slice, np.minimum(rows[name].shape, to[name].shape)))
            to[name][common] = rows[name][common]
