"""Setpoints for the autopilot's setpoint mode (PX4's offboard), as columns of a table or as one row.

A row is of one kind, which follows from the numbers that it has: body rates or attitude, each with thrust, otherwise
position, velocity and acceleration in PX4's combinations. NaN components are not controlled. A row without numbers is a
gap in the stream of setpoints.
"""

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AllowInfNan, BeforeValidator

from px4lockstep.errors import InputError
from px4lockstep.part import KEY, Found, Part, Seconds, entry, freeze, misfit, show, three_numbers, wrong
from px4lockstep.scenario.setpoint_rows import ATTITUDE, NONE, RATES, SETPOINT, SETPOINT_ROW, TRAJECTORY
from px4lockstep.timebase import seconds_to_us

VECTORS = ("pos_ned", "vel_ned", "acc_ned", "attitude_rad", "omega_body")
NUMBERS = ("yaw_rad", "yaw_rate_rad_s", "thrust")
FIELDS = (*VECTORS, *NUMBERS)
"""The keys of a setpoint, which are the fields of its record."""
MOVES = ("pos_ned", "vel_ned", "acc_ned")
LARGEST = {"pos_ned": 1e6, "vel_ned": 1e3, "acc_ned": 1e4, "attitude_rad": 1e3, "omega_body": 1e4}
LARGEST |= {"yaw_rad": 1e3, "yaw_rate_rad_s": 1e4, "thrust": 1.0}
"""The largest magnitude of a number of each key; thrust is not negative."""
MAX_ROWS = 1_000_000
FOREVER = 2**62


def _columns(count: int) -> Any:
    """Return a validator of a column with this many numbers in each row, which may be nan."""

    def checked(value: Any) -> Any:
        what = "three numbers" if count == 3 else "one number"
        if not isinstance(value, tuple) or not value:
            raise wrong(f"{KEY} = {show(value)} is not a column; it must be an array with {what} for each time")
        for i, row in enumerate(value):
            own = row if isinstance(row, tuple) else (row,)
            is_row = isinstance(row, tuple) == (count == 3) and len(own) == count
            if not is_row or not all(isinstance(x, int | float) and not isinstance(x, bool) for x in own):
                raise wrong(f"{KEY}[{i}] = {show(row)} is not a row; it must be {what}, or nan")
        return value

    return BeforeValidator(checked)


Anything = Annotated[float, AllowInfNan()]
"""A number that may be nan, for a component that is not controlled."""
SetpointVector = Annotated[tuple[Anything, Anything, Anything], BeforeValidator(three_numbers)]
NumberColumn = Annotated[tuple[Anything, ...], _columns(1)]
VectorColumn = Annotated[tuple[tuple[Anything, Anything, Anything], ...], _columns(3)]


class SetpointTable(Part, where="scenario.setpoints"):
    """A table of setpoints: one row for each time, in columns."""

    time_s: tuple[Seconds, ...] = entry(
        ..., "Times of the rows, increasing. A row takes effect at the first autopilot tick at or after its time.", "s"
    )
    pos_ned: VectorColumn | None = entry(None, "Positions; nan: not controlled.", "m", allows_nan=True)
    vel_ned: VectorColumn | None = entry(
        None, "Velocities; nan: not controlled. With a position: feedforward.", "m/s", allows_nan=True
    )
    acc_ned: VectorColumn | None = entry(
        None, "Accelerations; nan: not controlled. With a position or velocity: feedforward.", "m/s²", allows_nan=True
    )
    yaw_rad: NumberColumn | None = entry(
        None, "Headings for positions, velocities and accelerations.", "rad", allows_nan=True
    )
    yaw_rate_rad_s: NumberColumn | None = entry(
        None, "Yaw rates about the down axis; not with body rates.", "rad/s", allows_nan=True
    )
    attitude_rad: VectorColumn | None = entry(
        None, "Attitudes: roll, pitch and yaw; they need `thrust`.", "rad", allows_nan=True
    )
    omega_body: VectorColumn | None = entry(
        None, "Body rates; they need `thrust`. Nan: the rate is free.", "rad/s", allows_nan=True
    )
    thrust: NumberColumn | None = entry(
        None, "Collective thrusts for attitudes and body rates, normalized as in PX4.", ge=0.0, le=1.0, allows_nan=True
    )
    interpolate: Literal["hold", "linear"] = entry(
        "hold", "Setpoint between two rows: `hold` that of the row before, or `linear` between rows of the same kind."
    )
    end_s: Seconds | None = entry(
        None, "End of the stream, which PX4 treats as a loss. Default: the last row is held.", "s"
    )

    def check(self) -> Found:
        """Check that the columns have the same length, times increase, and each row is a valid setpoint."""
        count = len(self.time_s)
        if not 0 < count <= MAX_ROWS:
            yield ("time_s",), f"{KEY} has {count} rows; it must have 1 to {MAX_ROWS}"
            return
        times_us = self.times_us
        back = np.flatnonzero(np.diff(times_us) <= 0)
        if len(back):
            i = int(back[0]) + 1
            yield ("time_s", i), f"{KEY} = {self.time_s[i]} is not after the row before, {self.time_s[i - 1]}"
        if self.end_s is not None and seconds_to_us(self.end_s, "end_s") <= times_us[0]:
            yield misfit("end_s", self.end_s, f"is not after the first row, {self.time_s[0]}")
        wrong_length = False
        for name in FIELDS:
            column = getattr(self, name)
            if column is not None and len(column) != count:
                wrong_length = True
                yield (name,), f"{KEY} has {len(column)} rows; time_s has {count}"
        if not wrong_length:
            rows = self.rows()["setpoint"]
            for i, name, text in problems(rows):
                yield (name, i), f"{KEY} {text}"

    @property
    def times_us(self) -> npt.NDArray[np.int64]:
        """The times of the rows."""
        return np.array([seconds_to_us(time_s, "time_s") for time_s in self.time_s], np.int64)

    def rows(self) -> npt.NDArray[Any]:
        """Return the table as `SETPOINT_ROW` records."""
        rows = np.zeros(len(self.time_s), SETPOINT_ROW)
        rows["time_us"] = self.times_us
        given = {name: column for name in FIELDS if (column := getattr(self, name)) is not None}
        _fill(rows["setpoint"], given)
        return rows

    @property
    def end_us(self) -> int:
        """The end of the stream."""
        return FOREVER if self.end_s is None else seconds_to_us(self.end_s, "end_s")


def _fill(setpoints: npt.NDArray[Any], given: Mapping[str, Any]) -> None:
    """Write columns into `SETPOINT` records, and the kind of each row."""
    for name in FIELDS:
        setpoints[name] = given.get(name, math.nan)
    has = {name: np.isfinite(setpoints[name]).reshape(len(setpoints), -1).any(axis=1) for name in FIELDS}
    moves = has["pos_ned"] | has["vel_ned"] | has["acc_ned"]
    others = has["yaw_rad"] | has["yaw_rate_rad_s"] | has["thrust"]
    setpoints["kind"] = np.where(
        has["omega_body"],
        RATES,
        np.where(has["attitude_rad"], ATTITUDE, np.where(moves | others, TRAJECTORY, NONE)),
    )


def row_of(given: Mapping[str, Any]) -> npt.NDArray[Any]:
    """Return one setpoint as a `SETPOINT` record in a length-1 array; keys that are missing are not controlled."""
    row = np.zeros(1, SETPOINT)
    _fill(row, {name: np.asarray(value, np.float64)[None] for name, value in given.items()})
    return row


def content_of(raw: bytes) -> int:
    """Return a hash of the bytes of a setpoint or parameter that fits a signed integer."""
    return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little") >> 1


def checked_row(given: Any, what: str) -> npt.NDArray[Any]:
    """Return a setpoint that a user's function gave, or raise `InputError`; None is no setpoint."""
    values = {} if given is None else given
    if not isinstance(values, Mapping):
        raise InputError(f"{what} returned {show(freeze(given))}; it must return a dict with setpoints, or None")
    unknown = [name for name in values if name not in FIELDS]
    if unknown:
        raise InputError(f"{what} returned the unknown key {unknown[0]!r}; allowed: {', '.join(FIELDS)}")
    for name, value in values.items():
        shape = (3,) if name in VECTORS else ()
        try:
            is_valid = np.asarray(value, np.float64).shape == shape
        except (OverflowError, TypeError, ValueError):
            is_valid = False
        if not is_valid:
            must = "three numbers" if shape else "one number"
            raise InputError(f"{what} returned {name} = {show(freeze(value))}; it must be {must}")
    row = row_of(values)
    for _, name, text in problems(row):
        raise InputError(f"{what} returned a setpoint that can't be flown: {name} {text}")
    return row


class SetpointWriter:
    """Writes the setpoints that a user's function returns into a `SETPOINT` record, in a few microseconds.

    A combination of numbers is checked in full the first time that it occurs. After that, only their ranges are.
    """

    def __init__(self, record: npt.NDArray[Any], what: str) -> None:
        self._record, self._what = record, what
        self._kind: Any = record["kind"].data
        self._numbers: Any = record.view(np.float64).data
        self._kinds = {0: NONE}
        fields: Any = SETPOINT.fields
        self._places: dict[str, tuple[int, int, float, float]] = {}
        for name in FIELDS:
            start = fields[name][1] // 8
            low = 0.0 if name == "thrust" else -LARGEST[name]
            self._places[name] = start, 3 if name in VECTORS else 1, low, LARGEST[name]

    def __call__(self, given: Any) -> int:
        """Write what the function returned; return the kind of the setpoint."""
        kind = None if given is not None and type(given) is not dict else self._written(given or {})
        if kind is None:
            self._record[...] = checked_row(given, self._what)
            kind = int(self._kind[0])
        self._kind[0] = kind
        return kind

    def _written(self, given: dict[str, Any]) -> int | None:
        """Write numbers; return the kind, or None if they have to be checked in full."""
        numbers, found = self._numbers, 0
        for i in range(1, len(numbers)):
            numbers[i] = math.nan
        try:
            for name, value in given.items():
                start, count, low, high = self._places[name]
                values = (value,) if count == 1 else value
                if len(values) != count:
                    return None
                for i, number in enumerate(values, start):
                    numbers[i] = number
                    if low <= number <= high:
                        found |= 1 << i
                    elif number == number:
                        return None
        except (KeyError, OverflowError, TypeError, ValueError):
            return None
        if found not in self._kinds:
            self._kinds[found] = int(checked_row(given, self._what)["kind"][0])
        return self._kinds[found]


def problems(rows: npt.NDArray[Any]) -> Iterable[tuple[int, str, str]]:
    """Yield the row, the key and the error of setpoints that can't be flown: the first of each kind of error."""
    kinds = rows["kind"]
    finite = {name: np.isfinite(rows[name]) for name in FIELDS}
    has = {name: found.reshape(len(rows), -1).any(axis=1) for name, found in finite.items()}
    for name in FIELDS:
        size = rows[name].reshape(len(rows), -1)
        low = 0.0 if name == "thrust" else -LARGEST[name]
        outside = (~np.isnan(size) & ~((size >= low) & (size <= LARGEST[name]))).any(axis=1)
        yield from _first(outside, name, f"is out of range; allowed: {low:g} to {LARGEST[name]:g}, or nan")
    needs_thrust = (kinds == RATES) | (kinds == ATTITUDE)
    yield from _first(needs_thrust & ~has["thrust"], "thrust", "is missing; attitudes and body rates need it")
    yield from _first((kinds == TRAJECTORY) & has["thrust"], "thrust", "is given without an attitude or body rates")
    partly = (kinds == ATTITUDE) & ~finite["attitude_rad"].all(axis=1)
    yield from _first(partly, "attitude_rad", "is incomplete; give roll, pitch and yaw")
    for name in MOVES:
        also = needs_thrust & has[name]
        yield from _first(also, name, "is given with an attitude or body rates; a row is of one kind")
        odd = finite[name][:, 0] != finite[name][:, 1]
        yield from _first((kinds == TRAJECTORY) & odd, name, "has north without east, or east without north")
    yield from _first((kinds == RATES) & has["attitude_rad"], "attitude_rad", "is given with body rates; omit one")
    yield from _first(needs_thrust & has["yaw_rad"], "yaw_rad", "is given with an attitude or body rates; omit it")
    free = (kinds == RATES) & has["yaw_rate_rad_s"]
    yield from _first(free, "yaw_rate_rad_s", "is given with body rates; use the third component of omega_body")
    covered = finite["pos_ned"] | finite["vel_ned"] | finite["acc_ned"]
    bare = (kinds == TRAJECTORY) & ~covered.all(axis=1)
    name = next((name for name in (*MOVES, "yaw_rad", "yaw_rate_rad_s") if has[name][bare].any()), "pos_ned")
    text = "leaves an axis without a setpoint; give north, east and down each a position, velocity or acceleration"
    yield from _first(bare, name, text)


def _first(found: npt.NDArray[np.bool_], name: str, text: str) -> Iterable[tuple[int, str, str]]:
    rows = np.flatnonzero(found)
    if len(rows):
        yield int(rows[0]), name, text
