"""Export a flight as ULog: `ulog_topics` has the topics, `ulog_numbers` their numbers, `px4.ulog` the file format.

The same flight gives the same bytes: the file has no time of writing, and times are simulated.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep import __version__
from px4lockstep.io import atomic_write
from px4lockstep.log.events import mission_items, mission_times_us
from px4lockstep.log.export_source import About, ExportOptions, ExportSource
from px4lockstep.log.log import Log
from px4lockstep.log.resampling import period_us
from px4lockstep.log.ulog_messages import LoggedMessages, read_logged
from px4lockstep.log.ulog_numbers import Numbers, Value
from px4lockstep.log.ulog_topics import SAMPLES, SLOW, STATE, Topic, has_estimate, topics_of
from px4lockstep.px4.ulog import ERROR, INFO, NOTICE, WARNING, LoggedTopic, Text, UlogWriter
from px4lockstep.px4.uorb.logged import logged_layouts

ROWS_PER_CHUNK = 8_192
SLOW_US = 100_000
STATUS_US = 1_000_000
DATA_FORMAT = 2
"""PX4's version of the units of GPS positions: degrees and metres."""
END_OF_TIME_US = 2**64 - 1
VERSION, RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)"), 255
FLOWN = ("flown", "nothing asked", "imported")
"""Outcomes that are not errors."""

Array = npt.NDArray[Any]


def export_ulog(source: ExportSource, path: Path, options: ExportOptions) -> None:
    """Export a flight as ULog: see `log.exports`."""
    log, about = source.log, source.about
    logged = read_logged(source.folder)
    replaced, by_topic = [(each.topic, each.instance) for each in logged], {each.topic: each for each in logged}
    layouts = {name: layout.dtype for name, layout in logged_layouts().items()}
    topics = [
        topic
        for topic in topics_of(log, about)
        if (topic.name, topic.instance) not in replaced
        and not _is_empty(log, topic)
        and (topic.name not in by_topic or by_topic[topic.name].can_hold(layouts[topic.name], topic.fields))
    ]
    # A topic has one format: other instances of a logged one have its fields.
    layouts |= {name: each.messages.dtype for name, each in by_topic.items()}
    nested = {name: each.nested for name, each in by_topic.items()}
    numbers = Numbers(log, about)
    with atomic_write(path) as file:
        writer = UlogWriter(file, int(log.time_us[0]) if log.rows else 0, has_defaults=bool(about.parameter_defaults))
        _write_definitions(writer, about, {**_vehicle(numbers), **about.parameters})
        parts = [
            (
                topic,
                writer.subscribe(topic.name, layouts[topic.name], topic.instance, nested.get(topic.name)),
                _rows(log, topic, options),
            )
            for topic in topics
        ]
        own = [(each, writer.subscribe(each.topic, each.messages.dtype, each.instance, each.nested)) for each in logged]
        texts = sorted(_texts(source), key=lambda text: text[0])
        before_us = -1
        for chunk in log.chunks(ROWS_PER_CHUNK):
            until_us = int(log.time_us[chunk.stop - 1]) if chunk.stop < log.rows else END_OF_TIME_US
            numbers.read(chunk)
            batches = []
            for topic, subscription, rows in parts:
                first, last = np.searchsorted(rows, (chunk.start, chunk.stop))
                batches.append(_messages(topic, subscription, numbers, rows[first:last] - chunk.start))
            batches += [_logged(each, subscription, before_us, until_us) for each, subscription in own]
            writer.write(batches, [text for text in texts if before_us < text[0] <= until_us])
            before_us = until_us
        writer.close()


def _vehicle(numbers: Numbers) -> dict[str, float | int]:
    """Return the parameter from which tools get the type of the vehicle; a simulated PX4 sets it, too."""
    return {"MAV_TYPE": numbers.mav_type} if numbers.rotors else {}


def _write_definitions(writer: UlogWriter, about: About, parameters: Mapping[str, float | int]) -> None:
    writer.info("sys_name", "PX4")
    writer.info("ver_hw", "PX4_SITL")
    writer.info("ver_sw", f"px4lockstep {__version__}")
    writer.info("ver_sw_release", _release(__version__), "uint32_t")
    writer.info("ver_data_format", DATA_FORMAT, "int32_t")
    writer.info("time_ref_utc", 0, "int32_t")
    writer.info("sys_uuid", about.name)
    writer.info("sys_autopilot", about.autopilot)
    if about.seed is not None:
        writer.info("sim_seed", about.seed, "uint64_t")
    defaults = about.parameter_defaults
    for name in sorted(parameters):
        writer.parameter(name, parameters[name], defaults.get(name))


def _release(version: str) -> int:
    """Return a version as PX4 encodes it: a byte each for major, minor, patch and kind, 255 for a release."""
    found = VERSION.match(version)
    assert found is not None
    major, minor, patch = map(int, found.groups())
    return major << 24 | minor << 16 | patch << 8 | (RELEASE if found[0] == version else 0)


def _is_empty(log: Log, topic: Topic) -> bool:
    """Return whether a column that a topic needs has no numbers: an autopilot may not report its setpoints."""
    for name in topic.columns:
        values = log.get(name)
        if values is not None and values.dtype.kind == "f" and bool(np.isnan(values).all()):
            return True
    return False


# -- which rows ------------------------------------------------------------------------------------------------------


def _rows(log: Log, topic: Topic, options: ExportOptions) -> Array:
    """Return the rows of the log at which a topic has a message."""
    rate_hz = options.rate_hz
    if topic.when == STATE:
        return _limited(log, np.arange(log.rows), rate_hz)
    is_changed = _changes(log, topic.watched)
    if topic.when == SAMPLES:
        return _limited(log, np.flatnonzero(is_changed), rate_hz)
    is_changed[_first_of_each(log.time_us, SLOW_US if topic.when == SLOW else STATUS_US)] = True
    return np.flatnonzero(is_changed)


def _limited(log: Log, rows: Array, rate_hz: float | None) -> Array:
    """Return rows without those that exceed a rate."""
    if rate_hz is None:
        return rows
    return rows[_first_of_each(log.time_us[rows], period_us(rate_hz))]


def _first_of_each(time_us: Array, length_us: int) -> Array:
    """Return the first row of each period."""
    if not len(time_us):
        return np.zeros(0, np.int64)
    periods = (time_us - time_us[0]) // np.uint64(length_us)
    return np.flatnonzero(np.concatenate([[True], np.diff(periods) != 0]))


def _changes(log: Log, names: tuple[str, ...]) -> npt.NDArray[np.bool_]:
    """Return for each row whether one of the columns differs from the row before; True for the first row."""
    found = np.zeros(log.rows, np.bool_)
    found[:1] = True
    for name in names:
        values = log.get(name)
        if values is not None:
            for each in np.atleast_2d(values.T):
                found[1:] |= each[1:] != each[:-1]
    return found


# -- messages --------------------------------------------------------------------------------------------------------


def _messages(topic: Topic, subscription: LoggedTopic, numbers: Numbers, at: Array) -> Array:
    """Return the messages of a topic for some rows of the current chunk."""
    messages = subscription.messages(len(at))
    fields = messages["message"]
    with np.errstate(over="ignore", invalid="ignore"):  # numbers beyond float32 become infinite
        known: dict[str | float, Value | None] = {}  # several fields may have the same source
        for name, source in topic.fields.items():
            if name not in (fields.dtype.names or ()):  # of another version of PX4
                continue
            if source not in known:
                known[source] = numbers.value(source, at, topic.names) if isinstance(source, str) else source
            value = known[source]
            if value is not None:
                fields[name] = value
            elif fields[name].dtype.kind == "f":
                fields[name] = np.nan
    return messages


def _logged(logged: LoggedMessages, subscription: LoggedTopic, after_us: int, until_us: int) -> Array:
    """Return the logged messages of a time span."""
    times = logged.messages["timestamp"]
    first = 0 if after_us < 0 else int(np.searchsorted(times, np.uint64(after_us), "right"))
    last = int(np.searchsorted(times, np.uint64(until_us), "right"))
    found = subscription.messages(last - first)
    found["message"] = logged.messages[first:last]
    return found


def _texts(source: ExportSource) -> Iterator[Text]:
    """Yield the text messages: events, waypoints, warnings and the outcome."""
    log, summary = source.log, source.summary
    if not log.rows:
        return
    start_us, end_us = int(log.time_us[0]), int(log.time_us[-1])
    yield start_us, INFO, f"{source.about.name}, px4lockstep {__version__}, autopilot {source.about.autopilot}"
    if source.about.state_is_estimate:
        yield start_us, NOTICE, "the log is of a vehicle: its state is an estimate, and there is no ground truth"
    elif not has_estimate(log, source.about):
        yield start_us, NOTICE, "the log has no estimate: vehicle_attitude etc. are the true state"
    if "sensor_gps_lat_1e7" not in log and source.about.home is not None:
        position = "estimated" if source.about.state_is_estimate else "true"
        yield start_us, NOTICE, f"the log has no sensors: vehicle_gps_position is the {position} position"
    for event in source.events:
        yield event.time_us, WARNING if event.is_fault else INFO, event.label
    for time_us, item in zip(mission_times_us(log), mission_items(log), strict=True):
        yield time_us, INFO, f"mission item {item} reached"
    for text in summary.get("autopilot_texts") or ():
        yield end_us, WARNING, f"autopilot: {text}"
    for text in summary.get("warnings") or ():
        yield end_us, WARNING, text
    outcome = summary.get("outcome")
    if outcome is not None:
        reason = summary.get("reason")
        yield end_us, INFO if outcome in FLOWN else ERROR, f"outcome: {outcome}" + (f": {reason}" if reason else "")
