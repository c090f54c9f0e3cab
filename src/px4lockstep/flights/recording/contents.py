"""The contents of a recording file: names, layouts and descriptions, and checks that they are complete."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.bus import BUS_SCHEMA_VERSION, layout_hash
from px4lockstep.engine.core import LOG_ROW
from px4lockstep.engine.log_layout import layout_of, widths_in
from px4lockstep.engine.streams import BY_NAME, IN_RECORDING, KEPT, WORDS, Streams
from px4lockstep.engine.timeline import MAX_BOUNDARIES
from px4lockstep.environment.gust import GUSTS
from px4lockstep.errors import InputError
from px4lockstep.flights.recording.checks import check_recording
from px4lockstep.flights.recording.recording import FlightSource, Recording, array_of
from px4lockstep.jit import record
from px4lockstep.plant.faults import LATER
from px4lockstep.scenario.commands import MAX_COMMANDS_BYTES, rows_of

FORMAT = "px4lockstep.recording"
VERSION = 6
"""Version of the format, raised with every change; `migrations` converts older versions."""


@dataclass(frozen=True)
class Entry:
    """An array of the file: its layout (None: as stored in the file), description and number of dimensions."""

    dtype: np.dtype[Any] | None
    description: str
    dimensions: int = 1
    optional: bool = False

    def layout(self, found: np.dtype[Any]) -> np.dtype[Any] | None:
        """Return the layout that an array of this type must have; rows of the log have as many motors as they need."""
        return layout_of(widths_in(found)).dtype if self.dtype == LOG_ROW else self.dtype


COMMANDS = "inputs/commands"
ENTRIES = {
    "streams/gusts": Entry(GUSTS, "Gusts on top of the wind, one record."),
    "plant/initial_state": Entry(np.dtype("<f8"), "State of the plant before the first boundary."),
} | {
    each.path: Entry(None if each.per == KEPT else each.dtype, each.description, each.dimensions, each.optional)
    for each in IN_RECORDING
    if not each.is_chosen and each.width != WORDS
}
ENTRIES[BY_NAME["log"].path] = Entry(LOG_ROW, BY_NAME["log"].description)
"""The arrays of every recording, by their path in the file."""
OPTIONAL = {each.path: Entry(each.dtype, each.description, 1, True) for each in IN_RECORDING if each.is_chosen} | {
    "log/sensors": Entry(None, "Sensor outputs at each row of the log, if sensors were in use.", 1, True),
    "checkpoints/sensors": Entry(None, "State of the sensors at each checkpoint.", 1, True),
    COMMANDS: Entry(np.dtype("u1"), "Commands from outside, as the UTF-8 text of `commands.jsonl`.", 1, True),
}
"""Arrays of some recordings. Those of the sensors describe themselves: another version may have other sensors."""
BEFORE_5 = {
    "moments/core": Entry(np.dtype("u1"), "Checkpoints up to version 4: the bytes of all records.", 2),
    "plant/marks": Entry(np.dtype("u1"), "Fingerprints up to version 4.", 2),
}
KNOWN = ENTRIES | OPTIONAL | BEFORE_5
SHORT = 4_096
"""Rows that any array may have before it is read, however short the timeline; its length is checked afterwards."""
MAX_ROW_BYTES = 2**18

TEXTS = {
    "spec": "Resolved spec file, TOML.",
    "state_names": "Names of the states of the plant, one per line.",
}
MISSION = "Mission file that the spec names."
ATTRIBUTES = {
    "bus_version": int,
    "bus_layout": str,
    "integrator": str,
    "autopilot": str,
    "seed": int,
    "digest": str,
    "live_digest": str,
    "mission_name": str,
}


@dataclass
class Contents:
    """The contents of a file as read; checked for damage only."""

    version: int
    attributes: dict[str, Any]
    versions: dict[str, str]
    texts: dict[str, str]
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)


class Shape(NamedTuple):
    """Type and shape of an array, known before it is read."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def contents_of(recording: Recording) -> Contents:
    """Return the file contents of a recording."""
    source = recording.source
    texts = {"spec": source.spec, "state_names": "\n".join(recording.state_names), "mission": source.mission}
    arrays = {stream.path: array_of(recording, stream.name) for stream in IN_RECORDING}
    for stream in IN_RECORDING:
        if stream.is_chosen and not len(arrays[stream.path]):
            del arrays[stream.path]
    arrays |= {"streams/gusts": recording.streams.gusts, "plant/initial_state": recording.initial_state}
    attributes = _layout() | {
        "integrator": recording.integrator,
        "autopilot": source.autopilot,
        "seed": source.seed,
        "digest": recording.digest,
        "live_digest": recording.live_digest,
        "mission_name": source.mission_name or "",
    }
    if recording.log_sensors is not None and recording.sensor_checkpoints is not None:
        arrays |= {"log/sensors": recording.log_sensors, "checkpoints/sensors": recording.sensor_checkpoints}
    if recording.commands:
        arrays[COMMANDS] = np.frombuffer(recording.commands.encode(), np.uint8)
    versions = dict(sorted(source.versions.items()))  # in the order in which HDF5 returns them
    return Contents(
        VERSION, attributes, versions, {key: text for key, text in texts.items() if text is not None}, arrays
    )


def _layout() -> dict[str, Any]:
    """Return the attributes that identify the layout of the records."""
    return {"bus_version": BUS_SCHEMA_VERSION, "bus_layout": layout_hash(without_later_faults(LOG_ROW))}


def recording_of(contents: Contents) -> Recording:
    """Return the recording from the contents of a file of this version, after checking their consistency."""
    _add_missing(contents)
    _check_attributes(contents)
    for name, entry in (ENTRIES | OPTIONAL).items():
        if name in contents.arrays:
            layout = entry.layout(contents.arrays[name].dtype)
            if layout is not None:
                contents.arrays[name] = with_later_faults(contents.arrays[name], layout)
            _check_layout(name, contents.arrays[name], entry)
    for name, ours in _layout().items():
        if contents.attributes[name] != ours:
            raise InputError(f"its attribute {name} is {contents.attributes[name]!r}, not {ours!r}")
    arrays, attributes = contents.arrays, contents.attributes
    streams: dict[str, Any] = {stream.name: arrays[stream.path] for stream in IN_RECORDING}
    replayed = {each.name: streams.pop(each.name) for each in fields(Streams) if each.name in streams}
    recording = Recording(
        source=FlightSource(
            spec=contents.texts["spec"],
            mission=contents.texts.get("mission"),
            mission_name=attributes["mission_name"] or None,
            autopilot=attributes["autopilot"],
            seed=attributes["seed"],
            versions=contents.versions,
        ),
        integrator=attributes["integrator"],
        streams=Streams(gusts=arrays["streams/gusts"], **replayed),
        state_names=tuple(contents.texts["state_names"].split("\n")),
        initial_state=arrays["plant/initial_state"],
        digest=attributes["digest"],
        live_digest=attributes["live_digest"],
        log_sensors=arrays.get("log/sensors"),
        sensor_checkpoints=arrays.get("checkpoints/sensors"),
        commands=_commands_in(arrays),
        **streams,  # the log, checkpoints and fingerprints
    )
    check_recording(recording)
    return recording


def _commands_in(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return the text of the commands, after checking it."""
    try:
        text = arrays[COMMANDS].tobytes().decode() if COMMANDS in arrays else ""
    except UnicodeDecodeError as error:
        raise InputError(f"{COMMANDS} is not UTF-8: {error}") from error
    rows_of(text, COMMANDS)
    return text


def _add_missing(contents: Contents) -> None:
    """Add optional arrays that the file lacks, empty."""
    initial = contents.arrays.get("plant/initial_state", np.zeros(0))
    states = len(initial) if initial.ndim == 1 else 0
    for stream in IN_RECORDING:
        if stream.optional:
            contents.arrays.setdefault(stream.path, stream.empty(0, states))


def check_members(version: int, texts: Collection[str], arrays: Mapping[str, Shape], optional: Collection[str]) -> None:
    """Check the names, types and shapes of everything in a file before it is read.

    `optional` are the arrays that the file itself marks as optional: unknown ones are allowed among them.
    """
    needed = tuple(name for name, entry in ENTRIES.items() if not entry.optional)
    known = (*ENTRIES, *OPTIONAL, *(BEFORE_5 if version < 5 else ()), *optional)
    _check_names("array", arrays, needed, known)
    _check_names("text", texts, tuple(TEXTS) if version > 1 else ("spec",), (*TEXTS, "mission"))
    boundaries = math.prod(arrays["timeline/time_us"].shape)
    if boundaries > MAX_BOUNDARIES:
        raise InputError(f"timeline/time_us has {boundaries} rows; the limit is {MAX_BOUNDARIES}")
    for name, entry in KNOWN.items():
        if name not in arrays:
            continue
        dtype, shape = arrays[name]
        if version == 1 and name == "log/rows":  # version 1 had different fields
            entry = replace(entry, dtype=None)
        _check_layout(name, with_later_faults(np.zeros([0] * len(shape), dtype), entry.layout(dtype) or dtype), entry)
        row_bytes = dtype.itemsize * math.prod(shape[1:])
        most = MAX_COMMANDS_BYTES if name == COMMANDS else max(boundaries, SHORT) + 1
        if shape[0] > most or row_bytes > MAX_ROW_BYTES:
            found = f"{shape[0]} rows of {row_bytes} bytes"
            raise InputError(f"{name} has {found}, too many for {boundaries} boundaries")


def _check_names(kind: str, found: Iterable[str], wanted: Collection[str], known: Collection[str]) -> None:
    """Check that no wanted name is missing, and that all names are known."""
    missing = [name for name in wanted if name not in found]
    if missing:
        raise InputError(f"it lacks the {kind} {missing[0]!r}")
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(f"it has the {kind} {unknown[0]!r}, which this version does not know")


def _check_attributes(contents: Contents) -> None:
    """Check that arrays, texts and attributes are complete and known, and that attributes have the right types."""
    _check_names("array", contents.arrays, tuple(ENTRIES), (*ENTRIES, *OPTIONAL))
    _check_names("text", contents.texts, tuple(TEXTS), (*TEXTS, "mission"))
    _check_names("attribute", contents.attributes, tuple(ATTRIBUTES), tuple(ATTRIBUTES))
    for name, expected in ATTRIBUTES.items():
        if not isinstance(contents.attributes[name], expected):
            raise InputError(f"its attribute {name} = {contents.attributes[name]!r} is not of type {expected.__name__}")
    if bool(contents.attributes["mission_name"]) != ("mission" in contents.texts):
        raise InputError("it has one of mission_name and mission without the other")


def with_later_faults(array: npt.NDArray[Any], dtype: np.dtype[Any], later: tuple[str, ...] = LATER) -> Any:
    """Return records with missing kinds of faults added as zeros; unchanged if anything else differs."""
    theirs = array.dtype.names or ()
    missing = [name for name in dtype.names or () if name not in theirs]
    if array.dtype == dtype or dtype.names is None or not set(theirs) <= set(dtype.names) or set(missing) - set(later):
        return array
    whole = np.zeros(array.shape, dtype)
    for name in theirs:
        part = with_later_faults(array[name], dtype[name].base, later)
        if part.dtype != dtype[name].base:
            return array
        whole[name] = part
    return whole


def without_later_faults(dtype: np.dtype[Any], later: tuple[str, ...] = LATER) -> np.dtype[Any]:
    """Return the layout of a record before later kinds of faults were added."""
    if dtype.names is None or not later:
        return dtype
    kept = (name for name in dtype.names if name not in later)
    return record([(name, without_later_faults(dtype[name].base, later), dtype[name].shape) for name in kept])


def _check_layout(name: str, array: npt.NDArray[Any], entry: Entry) -> None:
    """Check type and dimensions; records are compared field by field."""
    if array.ndim != entry.dimensions:
        raise InputError(f"{name} has {array.ndim} dimensions, not {entry.dimensions}")
    layout = entry.layout(array.dtype)
    other = None if layout is None else layout_difference(layout, array.dtype, name)
    if other is not None:
        raise InputError(other)


def layout_difference(ours: np.dtype[Any], theirs: np.dtype[Any], name: str) -> str | None:
    """Describe the first difference between two layouts; None if they are equal."""
    if ours == theirs:
        return None
    if ours.subdtype is not None and theirs.subdtype is not None and ours.shape == theirs.shape:
        return layout_difference(ours.base, theirs.base, name)
    if ours.names is None or theirs.names is None:
        return f"{name} is {theirs}, not {ours}"
    missing = [field for field in ours.names if field not in theirs.names]
    unknown = [field for field in theirs.names if field not in ours.names]
    if missing or unknown:
        lacks = [f"lacks the field {missing[0]!r}"] if missing else []
        has = [f"has a field {unknown[0]!r} that this version does not know"] if unknown else []
        return f"{name} {' and '.join(lacks + has)}"
    inside = (layout_difference(ours[each], theirs[each], f"{name}.{each}") for each in ours.names)
    return next(filter(None, inside), f"{name} has its fields in another order or at other offsets")
