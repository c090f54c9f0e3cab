"""The whole of an aircraft file, with all defaults: what `load_spec` returns and `build` takes."""

import dataclasses
import functools
from collections.abc import Container, Iterator
from typing import Any, ClassVar, Literal, get_args, get_origin

from pydantic import PrivateAttr
from pydantic.fields import FieldInfo

from px4lockstep.spec.flight_tables import (
    AircraftTable,
    Autopilot,
    Environment,
    EstimatorTable,
    Home,
    Plant,
    Run,
    ScenarioTable,
    SensorTable,
    Timeline,
)
from px4lockstep.spec.px4_tables import Px4
from px4lockstep.spec.table import Table, entry
from px4lockstep.spec.vehicle_tables import Actuation, Airframe, Power

Key = tuple[str | int, ...]
"""A place in the file: `("power", "batteries", 0, "soc0")`."""


@dataclasses.dataclass
class Places:
    """Where values came from: a file, or an override.

    Args:
        main: The file that was asked for.
        files: The place of each key, or of the table that it came with.
        overrides: Those of the places that are overrides, in their order.
    """

    main: str
    files: dict[Key, str] = dataclasses.field(default_factory=dict)
    overrides: list[str] = dataclasses.field(default_factory=list)

    def of(self, key: Key, tables: Container[str | int] = ()) -> str:
        """Return where a key, or the table that it would be in, came from.

        Overrides of the tables that it was checked against are named too: the error may be theirs.
        """
        own = next((self.files[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.files), self.main)
        if own in self.overrides:
            return own
        given = [place for other, place in self.files.items() if other[0] in tables]
        return ", ".join([own, *(place for place in self.overrides if place in given)])


class Spec(Table):
    """An aircraft file: a flight, described completely."""

    schema_version: Literal[1] = entry(1, "The version of this layout.")
    aircraft: AircraftTable = entry(AircraftTable(), "Name and seed.")
    home: Home = entry(Home(), "The origin.")
    px4: Px4 = entry(Px4(), "Mission, real PX4.")
    autopilot: Autopilot = entry(Autopilot(), "Who flies.")
    timeline: Timeline = entry(Timeline(), "Periods.")
    plant: Plant = entry(Plant(), "Numerics, ground.")
    environment: Environment = entry(Environment(), "Wind, gravity.")
    scenario: ScenarioTable = entry(ScenarioTable(), "Events.")
    estimator: EstimatorTable = entry(EstimatorTable(), "What the autopilot is told.")
    airframe: Airframe = entry(..., "Body and rotors.")
    actuation: Actuation = entry(Actuation(), "Channels.")
    power: Power = entry(Power(), "Batteries and buses.")
    sensors: tuple[SensorTable, ...] = entry((), "Sensors.")
    run: Run = entry(Run.model_validate({}), "What is kept.")

    not_in_spec: ClassVar[tuple[str, ...]] = ("extends",)
    """Keys of a file that are used up when it is loaded."""
    _places: Places = PrivateAttr(default_factory=lambda: Places("spec"))

    @property
    def places(self) -> Places:
        """Where its values came from."""
        return self._places

    def __eq__(self, other: object) -> bool:
        """Whether all values are the same, wherever they came from."""
        return isinstance(other, Spec) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]


def dotted(key: Key) -> str:
    """Write a key as the file's reader would: `power.batteries[0].soc0`."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


# -- looking at the models -----------------------------------------------------------------------------------------


@functools.cache
def keys_of(model: type[Table]) -> dict[str, FieldInfo]:
    """Return the keys of a table as the file has them."""
    return {field.alias or name: field for name, field in model.model_fields.items()}


def table_of(field: FieldInfo) -> tuple[type[Table] | None, bool]:
    """Return the table that a key holds, if any, and whether it is an array of them."""
    return _table_in(field.annotation, False)


def _table_in(annotation: Any, is_array: bool) -> tuple[type[Table] | None, bool]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        return annotation, is_array
    for part in get_args(annotation):
        found = _table_in(part, is_array or get_origin(annotation) is tuple)
        if found[0] is not None:
            return found
    return None, False


@functools.lru_cache(maxsize=4_096)
def model_at(key: Key, root: type[Table] = Spec) -> type[Table] | None:
    """Return the table at a place in the file, if there is one; `root` is the file."""
    model: type[Table] | None = root
    for part in key:
        if isinstance(part, int):
            continue
        field = keys_of(model).get(part) if model is not None else None
        model = table_of(field)[0] if field is not None else None
    return model


def all_tables(root: type[Table] = Spec) -> Iterator[tuple[str, type[Table], bool]]:
    """Yield every table with its dotted name and whether it is in an array, in the order of the file."""
    stack: list[tuple[str, type[Table], bool]] = [("", root, False)]
    while stack:
        name, model, is_array = stack.pop()
        yield name, model, is_array
        inner = []
        for own, field in keys_of(model).items():
            table, in_array = table_of(field)
            if table is not None:
                inner.append((f"{name}.{own}" if name else own, table, in_array))
        stack.extend(reversed(inner))
