"""Import PX4's ULog: a log with the columns of the schema, and a list of what the file lacks.

If the file has the topics of the true state (`vehicle_attitude_groundtruth` and so on, from a simulator), they are the
state, and PX4's estimate fills the columns of the estimate. In a real flight, the estimate is all there is: it fills
the columns of the state, and `state_is_estimate` says so.

Rows are at the times of the state's topic with the most messages, or at a given rate. There are rows while position and
attitude were logged; time 0 is the first of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.errors import InputError, counted
from px4lockstep.log import resampling
from px4lockstep.log.angles import euler_angles
from px4lockstep.log.arrow import TYPES
from px4lockstep.log.log import Log
from px4lockstep.log.schema import BY_NAME
from px4lockstep.log.ulog_power import FAILSAFE_ACTIVE, batteries, gps, motors, rotor_speeds, servos
from px4lockstep.log.ulog_sources import (
    ARMED,
    ATTITUDE,
    COLUMN_SOURCES,
    HELD,
    LINEAR,
    MAX_PRESSURE_HPA,
    PASCAL,
    SETPOINT,
    TRUTH,
    Source,
    state_sources,
    wanted_topics,
)
from px4lockstep.px4.ulog_reader import Columns, ULogFile, read_ulog
from px4lockstep.reprs import ShortRepr

Array = npt.NDArray[Any]

MAX_LOG_BYTES = 2 * 2**30
MAX_RATE_HZ = 10_000.0
ALL_COLUMNS_BYTES = 1_000
"""Bytes of a row with all columns that an import can have, rounded up."""
HOW: Mapping[str, Callable[[Array, Array, Array], Array]] = {
    LINEAR: resampling.interpolated,
    ATTITUDE: resampling.interpolated_attitude,
    HELD: resampling.held,
    SETPOINT: resampling.held_while_published,
}


@dataclass(frozen=True, repr=False)
class ImportReport(ShortRepr):
    """What an import found.

    Args:
        file: The file.
        system: Name and version of the software and of the hardware, as far as the file has them.
        state_is_estimate: Whether the columns of the true state are PX4's estimate, because the file has no true state.
        start_us: PX4's time at time 0 of the log.
        row_times: Where the times of the rows come from.
        origin_deg_m: Latitude, longitude and altitude above sea level of the origin; None if the file has none.
        sources: The topic of each column.
        missing: Columns that PX4 can log, but that this file lacks, with the topics that would have them.
        notes: What else to know: conversions, dropouts, damage.
    """

    file: str
    system: str
    state_is_estimate: bool
    start_us: int
    row_times: str
    origin_deg_m: tuple[float, float, float] | None
    sources: Mapping[str, str]
    missing: tuple[str, ...]
    notes: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        return asdict(self)


class ImportedLog(Log):
    """The log of a flight that px4lockstep did not fly, with a report.

    Args:
        arrays: Columns by name.
        report: What the import found, and what is missing.
        messages_us: Times of the messages of each topic, as `time_us`; at other rows, values are interpolated or held.
    """

    def __init__(
        self,
        arrays: Mapping[str, Array | Callable[[], Array]],
        report: ImportReport,
        messages_us: Mapping[str, Array] | None = None,
    ) -> None:
        super().__init__(arrays)
        self.report = report
        self.messages_us = dict(messages_us or {})


def import_ulog(path: str | Path, *, rate_hz: float | None = None) -> ImportedLog:
    """Return the log of a flight from PX4's ULog file, of a real vehicle or of a simulator.

    Args:
        path: The file, `.ulg`.
        rate_hz: Rate of the rows. By default, the file's own: that of the state's topic with the most messages.

    Returns:
        The log with the columns that the file has; `report` says which are missing, and whether the state is PX4's
        estimate.

    Raises:
        InputError: If the file can't be read, is not a ULog file, has no position and no attitude, or is too long.
    """
    every_us = None if rate_hz is None else resampling.period_us(rate_hz, MAX_RATE_HZ)
    with np.errstate(over="ignore", invalid="ignore"):  # a file may contain any number, also signalling NaN
        return _Import(str(path), read_ulog(path, wanted_topics())).log(every_us)


class _Import:
    """The import of one file."""

    def __init__(self, path: str, file: ULogFile) -> None:
        self.path, self.file = path, file
        self.sources: dict[str, str] = {}
        self.missing: list[str] = []
        self.notes: list[str] = list(file.problems)
        self.arrays: dict[str, Array | Callable[[], Array]] = {}

    def log(self, every_us: int | None) -> ImportedLog:
        """Return the log, with a row every so often, or at the file's own times."""
        truth = self._state(TRUTH)
        is_estimate = not {"pos_ned", "q_bn"} <= truth.keys()
        state = self._state("") if is_estimate else truth
        if not {"pos_ned", "q_bn"} & state.keys():
            raise InputError(
                f"{self.path} has no flight: it has neither vehicle_local_position nor vehicle_attitude with messages"
            )
        rows_us, row_times = self._rows(state, every_us)
        start_us = int(rows_us[0])
        for name, (how, source, columns) in state.items():
            self._put(name, how, source, columns, rows_us)
        if is_estimate:
            told = ", ".join(state)
            self.notes.insert(0, f"the state ({told}) is PX4's estimate: the file has no {TRUTH[1:]} topics")
            self._check_validity()
        else:
            for name, (how, source, columns) in self._state("").items():
                self._put(f"est_{name}", how, source, columns, rows_us)
        self.missing += [
            f"{name} ({', '.join(dict.fromkeys(each.topic for each in sources))})"
            for name, (_, sources) in state_sources("").items()
            if name not in state
        ]
        self._copy_columns(rows_us)
        self._copy_special(rows_us)
        self._copy_validity(rows_us)
        self.arrays["time_us"] = (rows_us - start_us).astype(np.uint64)
        self.arrays["time_s"] = (rows_us - start_us) / 1e6
        if "q_bn" in self.arrays:
            attitude = np.asarray(self.arrays["q_bn"])
            self.arrays["euler_bn"] = lambda: euler_angles(attitude)
        if self.file.dropouts_s:
            lost_s, times = max(self.file.dropouts_s), counted(len(self.file.dropouts_s), "time")
            self.notes.append(f"the logger lost data {times}, up to {lost_s:.3f} s; the gaps are interpolated")
        report = ImportReport(
            file=self.path,
            system=_system(self.file),
            state_is_estimate=is_estimate,
            start_us=start_us,
            row_times=row_times,
            origin_deg_m=_origin(self.file),
            sources=self.sources,
            missing=tuple(self.missing),
            notes=tuple(self.notes),
        )
        messages_us = {
            topic: self.file.instances(topic)[0]["timestamp"].astype(np.int64) - start_us
            for topic in dict.fromkeys(self.sources.values())
        }
        return ImportedLog(self.arrays, report, messages_us)

    # -- rows ----------------------------------------------------------------------------------------------------

    def _state(self, suffix: str) -> dict[str, tuple[str, Source, Columns]]:
        """Return kind, source and messages of each column of the state that the file has."""
        found = {}
        for name, (how, sources) in state_sources(suffix).items():
            source, columns = self._first(sources, needs_finite=True)
            if source is not None and columns is not None:
                found[name] = (how, source, columns)
        return found

    def _first(
        self, sources: tuple[Source, ...], *, needs_finite: bool = False
    ) -> tuple[Source | None, Columns | None]:
        """Return the first source that the file has, with its messages; of the state, only finite ones."""
        for source in sources:
            for columns in self.file.instances(source.topic)[:1]:
                if not all(field in columns for field in source.fields):
                    continue
                if needs_finite:
                    is_finite = np.logical_and.reduce([np.isfinite(columns[field]) for field in source.fields])
                    if source.fields[0] == "q[0]":
                        is_finite &= sum(np.abs(columns[field].astype(np.float64)) for field in source.fields) > 0.5
                    if not is_finite.any():
                        continue
                    if not is_finite.all():
                        columns = {field: values[is_finite] for field, values in columns.items()}
                return source, columns
        return None, None

    def _rows(self, state: Mapping[str, tuple[str, Source, Columns]], every_us: int | None) -> tuple[Array, str]:
        """Return the times of the rows, and where they come from."""
        topics = {source.topic: columns["timestamp"].astype(np.int64) for _, source, columns in state.values()}
        needed = [state[name][2]["timestamp"].astype(np.int64) for name in ("pos_ned", "q_bn") if name in state]
        first_us, last_us = max(int(times[0]) for times in needed), min(int(times[-1]) for times in needed)
        if first_us > last_us:
            raise InputError(f"{self.path} has no flight: position and attitude were never logged at the same time")
        if every_us is None:
            topic = max(topics, key=lambda name: len(topics[name]))
            times = topics[topic]
            rows_us = times[(times >= first_us) & (times <= last_us)]
            row_times = f"at the times of {topic}"
            if not len(rows_us):
                raise InputError(f"{self.path} has no flight: {topic} has no messages with position and attitude")
        else:
            self._check_rows((last_us - first_us) // every_us + 1)
            rows_us = np.arange(first_us, last_us + 1, every_us, dtype=np.int64)
            row_times = f"every {every_us} us"
        self._check_rows(len(rows_us))
        return rows_us, row_times

    def _check_rows(self, rows: int) -> None:
        if rows * ALL_COLUMNS_BYTES > MAX_LOG_BYTES:
            limit = MAX_LOG_BYTES // ALL_COLUMNS_BYTES
            raise InputError(
                f"{self.path} would give {rows:,} rows; the limit is {limit:,}. Give a lower rate: --rate, or rate_hz"
            )

    def _check_validity(self) -> None:
        """Note how long the position that fills the state was not valid."""
        for columns in self.file.instances("vehicle_local_position")[:1]:
            for name, what in (("xy_valid", "horizontal position"), ("z_valid", "height")):
                if name in columns and not columns[name].all():
                    share = 1.0 - np.count_nonzero(columns[name]) / len(columns[name])
                    self.notes.append(f"PX4 reports no valid {what} in {100.0 * share:.0f} % of its estimates")

    # -- columns -------------------------------------------------------------------------------------------------

    def _put(self, name: str, how: str, source: Source, columns: Columns, rows_us: Array) -> None:
        values = np.stack([columns[field] for field in source.fields], axis=1).astype(np.float64) * source.scale
        found = HOW[how](columns["timestamp"].astype(np.int64), values, rows_us)
        self._store(name, found if BY_NAME[name].shape else found[:, 0], source.topic)

    def _store(self, name: str, values: Array, topic: str) -> None:
        kind = TYPES[name]
        if kind.kind in "iu":
            values = np.nan_to_num(np.round(values), nan=0.0, posinf=0.0, neginf=0.0)
        self.arrays[name], self.sources[name] = values.astype(kind), topic

    def _copy_columns(self, rows_us: Array) -> None:
        """Copy the columns that are fields of topics."""
        for name, (how, sources) in COLUMN_SOURCES.items():
            source, columns = self._first(sources)
            if source is None or columns is None:
                topics = dict.fromkeys(each.topic for each in sources)
                self.missing.append(f"{name} ({', '.join(topics)})")
                continue
            self._put(name, how, source, columns, rows_us)
        for name, values in self.arrays.items():
            if name == "sensor_abs_pressure_hpa" and self.sources[name] == "sensor_baro":
                self.arrays[name] = _in_hpa(np.asarray(values))
            if name == "armed" and self.sources[name] == "vehicle_status":
                self.arrays[name] = (np.asarray(values) == ARMED).astype(TYPES[name])
            if name == "failsafe":
                self.arrays[name] = np.where(np.asarray(values) != 0, FAILSAFE_ACTIVE, 0).astype(TYPES[name])

    def _copy_special(self, rows_us: Array) -> None:
        """Copy motors, servos, rotor speeds, batteries and GPS, whose topics differ between versions."""
        for find in (motors, servos, rotor_speeds, batteries, gps):
            found = find(self.file, rows_us)
            for name, (values, topic) in found.columns.items():
                self._store(name, values, topic)
            self.missing += found.missing
            self.notes += found.notes

    def _copy_validity(self, rows_us: Array) -> None:
        """Copy whether PX4 reports position and velocity as valid."""
        names = ("xy_valid", "z_valid", "v_xy_valid", "v_z_valid")
        for columns in self.file.instances("vehicle_local_position")[:1]:
            if all(name in columns for name in names):
                is_valid = np.logical_and.reduce([columns[name] != 0 for name in names])
                found = resampling.held(columns["timestamp"].astype(np.int64), is_valid, rows_us)
                self._store("est_valid", found, "vehicle_local_position")


def _in_hpa(pressure: Array) -> Array:
    """Return pressures in hPa: `sensor_baro` has them in hPa until 2022, in Pa since, under the same name."""
    known = pressure[np.isfinite(pressure)]
    is_pascal = len(known) > 0 and float(np.median(known)) > MAX_PRESSURE_HPA
    return pressure * pressure.dtype.type(PASCAL) if is_pascal else pressure


def _system(file: ULogFile) -> str:
    """Return what flew: software with its version, and hardware."""
    info = {key: value for key, value in file.info.items() if isinstance(value, str)}
    release = file.info.get("ver_sw_release")
    version = info.get("ver_sw", "")[:10]
    if isinstance(release, int) and release > 0:
        version = ".".join(str(release >> shift & 0xFF) for shift in (24, 16, 8))
    parts = (info.get("sys_name"), version, info.get("ver_hw"))
    return " ".join(part for part in parts if part) or "unknown"


def _origin(file: ULogFile) -> tuple[float, float, float] | None:
    """Return the origin of the local position, the last that was set."""
    for columns in file.instances("vehicle_local_position")[:1]:
        if not all(name in columns for name in ("ref_lat", "ref_lon", "ref_alt")):
            continue
        place = [columns[name].astype(np.float64) for name in ("ref_lat", "ref_lon", "ref_alt")]
        is_set = np.isfinite(place[0]) & np.isfinite(place[1]) & (np.abs(place[0]) + np.abs(place[1]) > 0.0)
        if is_set.any():
            last = int(np.flatnonzero(is_set)[-1])
            scale = 1e-7 if abs(place[0][last]) > 360.0 else 1.0  # integers in old versions
            alt_m = float(np.nan_to_num(place[2][last]))
            return float(place[0][last]) * scale, float(place[1][last]) * scale, alt_m
    return None
