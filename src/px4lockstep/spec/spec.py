"""The whole of an aircraft file, with all defaults: what `load_spec` returns and `build` takes."""

import dataclasses
from collections.abc import Container
from typing import ClassVar, Literal

from pydantic import PrivateAttr

from px4lockstep.part import Key, Part, entry
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
from px4lockstep.spec.vehicle_tables import Actuation, Airframe, Power


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


class Spec(Part):
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

    used_up: ClassVar[tuple[str, ...]] = ("extends",)
    _places: Places = PrivateAttr(default_factory=lambda: Places("spec"))

    @property
    def places(self) -> Places:
        """Where its values came from."""
        return self._places

    def __eq__(self, other: object) -> bool:
        """Whether all values are the same, wherever they came from."""
        return isinstance(other, Spec) and self.model_dump() == other.model_dump()

    __hash__ = None  # type: ignore[assignment]
