"""The log of a run by the columns of the schema, from a simulation or read from a file."""

import copyreg
import functools
import textwrap
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.simulation import Simulation
from px4lockstep.errors import InputError, suggestion
from px4lockstep.io import blocks, in_memory
from px4lockstep.jit import plain
from px4lockstep.jit.records import locked
from px4lockstep.log.row_columns import RowColumns, seconds_of
from px4lockstep.log.schema import BY_NAME, COLUMNS, COMPONENTS, Column, components

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]
Source = Array | RowColumns | Callable[[], Array]
"""A column, or what makes it on first access."""

MAX_SHOWN = 300
"""Length of the names in the repr of a log."""
WHY_ABSENT = {
    "": "the run does not have it, or it was not selected",
    "sensors": "nothing in the run reads sensors",
    "estimator": "the run has no estimator",
    "autopilot": "the run's autopilot reports no status (no autopilot, a replay, or one in Python)",
    "aircraft": "the run's plant is not an aircraft, or does not have it",
    "reference": "it is only for plants that are not aircraft",
    "fault": "the run has no such fault",
    "home": "it needs the home position, so use `run.log` of a flight or `px4lockstep export` of a run folder",
}
"""Why a log lacks a column, by the requirement of the column."""


class Log(dict[str, Array]):  # `pandas.DataFrame(log)` takes a mapping only if it is a dict
    """Columns by name: `log["pos_ned"]` has the shape (rows, 3), `log["armed"]` the shape (rows,).

    As a mapping, a log is a table: its keys are the columns of a file, one per component, such as `pos_ned_n`, and
    their values have one dimension. So `pandas.DataFrame(log)` and `dict(log)` give the table. Columns with all their
    components are in `names`; `in` and `log[...]` accept both. A log can't be changed.

    The log of a simulation is a view of the simulation's arrays; only derived columns are copies. It has the rows that
    existed when it was created. A column of a log in a file is copied at each access. Arrays are read-only.

    Args:
        arrays: Columns by name; an array, or a function that computes it on first access. Components, `pos_ned_n` and
            so on, are accepted too, if a column has all of its components: `Log(dict(log))` is the log.
        on_request: Functions for columns that are not listed and not written to files, unless they are selected.
    """

    def __init__(
        self,
        arrays: Mapping[str, Source],
        on_request: Mapping[str, Callable[[], Array]] | None = None,
    ) -> None:
        others = {name: array for name, array in arrays.items() if name not in BY_NAME}
        parts = {name: own for name, own in others.items() if not isinstance(own, RowColumns) and not callable(own)}
        if parts:
            stacked = _stacked(parts)  # removes what it stacks
            arrays = stacked | {name: array for name, array in arrays.items() if name in BY_NAME or name in parts}
        unknown = [name for name in (*arrays, *(on_request or ())) if name not in BY_NAME]
        if unknown:
            raise InputError(f"columns {unknown} are not in the log schema; see px4lockstep.log.schema.COLUMNS")
        if "time_us" not in arrays:
            raise InputError("a log needs the column time_us")
        self._arrays = {column.name: arrays[column.name] for column in COLUMNS if column.name in arrays}
        requested: dict[str, Source] = dict(on_request or {})
        self._on_request = {name: array for name, array in requested.items() if name not in arrays}
        self._views: dict[str, Array] = {}

    @classmethod
    def _in_order(cls, arrays: dict[str, Source], on_request: dict[str, Source]) -> "Log":
        """Return a log with columns of the schema, in its order."""
        made = cls.__new__(cls)
        made._arrays, made._on_request, made._views = arrays, on_request, {}
        return made

    def with_on_request(self, functions: Mapping[str, Callable[[], Array]]) -> "Log":
        """Return this log with columns that exist only if they are asked for by name."""
        requested: dict[str, Source] = {
            name: function for name, function in functions.items() if name not in self._arrays
        }
        return Log._in_order(self._arrays, requested)

    @classmethod
    def of(cls, simulation: Simulation) -> "Log":
        """Return the current log of a simulation, by reference."""
        core = plain(simulation.records)[0]
        return cls.of_rows(core, simulation.log, simulation.log_state, simulation.log_sensors)

    @classmethod
    def of_rows(
        cls, core: Any, rows: Array, state: Array, sensors: Array | None = None, *, keeps_faults: bool = False
    ) -> "Log":
        """Return a log by reference; `core` is the simulation's `SIM`, which gives the number of rotors and so on.

        With `keeps_faults`, columns of faults that do not occur in these rows are included.
        """
        columns = RowColumns(core, rows, state, sensors).by_name(keeps_faults=keeps_faults)
        return cls._in_order(dict[str, Source](columns), {})

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that this log has, in the order of the schema."""
        return tuple(BY_NAME[name] for name in self._arrays)

    @cached_property
    def time_us(self) -> npt.NDArray[np.uint64]:
        """The times of the rows in microseconds."""
        return self["time_us"]

    @property
    def time_s(self) -> npt.NDArray[np.float64]:
        """The times of the rows in seconds, for display and plotting."""
        return self["time_s"] if "time_s" in self else seconds_of(self.time_us)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self._by_reference("time_us"))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, with all components in one: `pos_ned`, `motors`."""
        return tuple(self._arrays)

    def __repr__(self) -> str:
        span = f"{self.time_s[0]:.3f} to {self.time_s[-1]:.3f} s, " if self.rows else ""
        names = textwrap.shorten(", ".join(self._arrays), MAX_SHOWN, placeholder=" ...")
        return f"<{type(self).__name__}: {self.rows:,} rows, {span}{len(self._arrays)} columns: {names}>"

    def __contains__(self, name: object) -> bool:
        return name in self._arrays or (isinstance(name, str) and self._component(name) is not None)

    def __iter__(self) -> Iterator[str]:
        return (flat for name in self._arrays for flat in self._flat_names(name))

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self))

    def __len__(self) -> int:
        return sum(len(self._flat_names(name)) for name in self._arrays)

    def __getitem__(self, name: str) -> Array:
        if name not in self._views:
            array = self._column_or_component(name)
            copied = in_memory(array)
            if copied is not array:  # of a file: kept, it would fill the memory
                return locked(copied)
            self._views[name] = locked(array)
        return self._views[name].view()  # the caller may change its shape

    def _column_or_component(self, name: str) -> Array:
        self.column(name)
        if name in self._arrays or name in self._on_request:
            return self._by_reference(name)
        whole, index = self._component(name) or (name, 0)
        return self._by_reference(whole)[:, index]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    __hash__ = object.__hash__  # type: ignore[assignment]  # a dict has none

    def __reduce__(self) -> tuple[Any, ...]:
        own = self.__dict__ | {"_views": {}}  # they are made again
        return copyreg.__newobj__, (type(self),), own  # type: ignore[attr-defined]  # not in its stubs

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # of a dict: its own views
        """Return the names of the columns of the table, one per component."""
        return KeysView(self)

    def values(self) -> ValuesView[Array]:  # type: ignore[override]
        """Return the columns of the table."""
        return ValuesView(self)

    def items(self) -> ItemsView[str, Array]:  # type: ignore[override]
        """Return the names and columns of the table."""
        return ItemsView(self)

    def copy(self) -> dict[str, Array]:
        """Return the table as a dict."""
        return dict(self.items())

    def __or__(self, other: Any) -> Any:
        return self.copy() | dict(other)

    def __ror__(self, other: Any) -> Any:
        return dict(other) | self.copy()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a Log can't be changed; make a dict of it first: dict(log)")

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def to_pandas(self, columns: Iterable[str] | None = None) -> "pd.DataFrame":
        """Return the log as a pandas DataFrame with the time in seconds as index.

        Vectors have a column per component, with the names of Parquet files: `pos_ned_n`, `motors_1`.

        Args:
            columns: Names of columns, such as `["pos_ned", "motors"]`; all by default.

        Raises:
            InputError: If pandas is not installed, or there is no such column.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise InputError(
                "to_pandas needs pandas, which is not installed; install it: pip install pandas"
            ) from error
        table = {name: array for name, array in self.select(columns).items() if name != "time_s"}
        return pd.DataFrame(table, index=pd.Index(self.time_s, name="time_s"))

    def between(self, from_s: float | None = None, to_s: float | None = None) -> "Log":
        """Return the rows from one time to another, both included; without a limit, from the first or to the last.

        Raises:
            InputError: If there are none.
        """
        if from_s is None and to_s is None:
            return self
        first = 0 if from_s is None else int(np.searchsorted(self.time_s, from_s, "left"))
        last = self.rows if to_s is None else int(np.searchsorted(self.time_s, to_s, "right"))
        if first >= last:
            span = f"{self.time_s[0]:g} to {self.time_s[-1]:g} s" if self.rows else "no rows"
            asked = " ".join(f"{word} {at:g} s" for word, at in (("from", from_s), ("to", to_s)) if at is not None)
            raise InputError(f"there are no rows {asked}; the log has {span}")
        rows = slice(first, last)
        arrays, on_request = (
            {name: functools.partial(lambda name: self._by_reference(name)[rows], name) for name in names}
            for names in (self._arrays, self._on_request)
        )
        return Log(arrays, on_request)

    def part(self, name: str, rows: slice) -> Array:
        """Return some rows of a column; the others are not read from a file."""
        self.column(name)
        return locked(np.array(self._by_reference(name)[rows]))

    def chunks(self, rows: int) -> Iterator[slice]:
        """Yield slices of some rows each; of a log in a file, they are released from memory as the next ones follow."""
        return blocks(self._by_reference("time_us"), rows)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a column, or the default if this log does not have it."""
        return self[name] if name in self else default  # noqa: SIM401 - this is `get`

    def column(self, name: str) -> Column:
        """Return the schema entry of a column of this log, or of a component's column; raise if there is none."""
        if name in self._arrays or name in self._on_request:
            return BY_NAME[name]
        part = self._component(name)
        if part is not None:
            return BY_NAME[part[0]]
        if name in BY_NAME:
            raise InputError(f"this log has no column {name!r}: {WHY_ABSENT[BY_NAME[name].needs]}")
        hint = suggestion(name, self._arrays) or f"; this log has {', '.join(self._arrays)}"
        raise InputError(f"there is no column {name!r}{hint}")

    def unit(self, name: str) -> str:
        """Return the unit of a column; "1" if it is dimensionless."""
        return self.column(name).unit

    def select(self, names: Iterable[str] | None) -> "Log":
        """Return a log with the given columns and the time; this one if no columns are given."""
        if names is None:
            return self
        wanted = dict.fromkeys(["time_us", *names])
        for name in wanted:
            whole = self.column(name).name
            if whole != name:
                raise InputError(f"{name!r} is a component of the column {whole!r}; select {whole!r} instead")
        return Log({name: array for name, array in (self._arrays | self._on_request).items() if name in wanted})

    def load(self, names: Iterable[str]) -> "Log":
        """Return a log with the time and those of the given columns that this one has, in memory for many accesses."""
        kept = ("time_us", *names)
        return Log._in_order({name: self[name] for name in self._arrays if name in kept}, {})

    def flat(self) -> Iterator[tuple[str, Column, Array]]:
        """Yield name, schema entry and values of each column of a file: one column per component."""
        for name in self._arrays:
            column, array = BY_NAME[name], self._by_reference(name)
            if array.ndim == 1:
                yield name, column, array
                continue
            for i, flat_name in enumerate(components(column, array.shape[1])):
                yield flat_name, column, array[:, i]

    def _flat_names(self, name: str) -> tuple[str, ...]:
        """Return the names of a column's components; derived columns are computed only if their width is unknown."""
        column = BY_NAME[name]
        if column.shape == "" or column.shape in COMPONENTS:
            return components(column, 0)
        array = self._by_reference(name)
        return components(column, array.shape[1]) if array.ndim == 2 else (name,)

    def _component(self, name: str) -> tuple[str, int] | None:
        """Return the column and the index of a component such as `pos_ned_n`; None if it is not one of this log."""
        whole, _, _ = name.rpartition("_")
        if whole not in self._arrays and whole not in self._on_request:
            return None
        names = self._flat_names(whole)
        return (whole, names.index(name)) if name in names and name != whole else None

    def _by_reference(self, name: str) -> Array:
        """Return a column without copying it, even from a file; compute a derived one once."""
        arrays = self._arrays if name in self._arrays else self._on_request
        source = arrays[name]
        if isinstance(source, RowColumns):
            source = arrays[name] = locked(source[name])
        elif callable(source):
            source = arrays[name] = locked(source())
        return source


def gather(flat: Mapping[str, Array]) -> Log:
    """Return the log from the columns of a file, by their names there: the inverse of `Log.flat`."""
    left = dict(flat)
    arrays: dict[str, Array | Callable[[], Array]] = {}
    for column in COLUMNS:
        if column.shape == "" and column.name in left:
            arrays[column.name] = locked(left.pop(column.name))
    arrays |= _stacked(left)
    if left:
        raise InputError(f"columns {list(left)} are not in the log schema")
    return Log(arrays)


def _stacked(left: dict[str, Array]) -> dict[str, Array]:
    """Return the vectors whose components are in a table, and remove the components from the table."""
    arrays: dict[str, Array] = {}
    for column in COLUMNS if left else ():
        if column.shape == "":
            continue
        size = 0
        while f"{column.name}_{size + 1}" in left:
            size += 1
        names = components(column, size)
        found = [name for name in names if name in left]
        if not found:
            continue
        if len(found) != len(names):
            raise InputError(f"column {column.name!r} has {found} of its components {list(names)}")
        arrays[column.name] = locked(np.stack([left.pop(name) for name in names], axis=1))
    return arrays


def checked_times(path: str | Path, log: Log) -> Log:
    """Return the log of a file; raise if its times do not increase."""
    time_us = log.time_us
    wrong = np.flatnonzero(time_us[1:] <= time_us[:-1])
    if len(wrong):
        row = int(wrong[0]) + 1
        raise InputError(
            f"{path} is damaged: time_us must increase, but row {row} (counted from 0) has {time_us[row]} after "
            f"{time_us[row - 1]}"
        )
    return log
