"""The whole of an aircraft file, with all defaults: what `load_spec` returns and `build` takes."""

import dataclasses
from collections.abc import Container
from typing import Any, ClassVar, Literal

from pydantic import PrivateAttr

from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.environment.environment import Environment
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.part import Key, Part, entry
from px4lockstep.px4.missions import Mission
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.flight_tables import AircraftTable, Home, Plant, RunTable, SensorTable
from px4lockstep.spec.shipped import mission_of
from px4lockstep.spec.timing import Timing
from px4lockstep.trust import Chosen
from px4lockstep.vehicle.actuators import Actuation
from px4lockstep.vehicle.airframe import Airframe
from px4lockstep.vehicle.power import Power


@dataclasses.dataclass
class Places:
    """Where values came from: a file, or an override. A place that the user chose is a `trust.Chosen`."""

    main: str
    """The file that was asked for."""
    files: dict[Key, str] = dataclasses.field(default_factory=dict)
    """The place of each key, or of the table that it came with."""
    overrides: list[str] = dataclasses.field(default_factory=list)
    """Those of the places that are overrides, in their order."""
    elsewhere: dict[Key, str] = dataclasses.field(default_factory=dict)
    """Outputs that a file wants in another folder than the run's, as it has them."""

    def copy(self) -> "Places":
        """Return a copy that can be added to."""
        return Places(self.main, dict(self.files), list(self.overrides), dict(self.elsewhere))

    def own(self, key: Key) -> str:
        """Return the one place that a key came from, or the table that it would be in."""
        return next((self.files[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.files), self.main)

    def of(self, key: Key, tables: Container[str | int] = ()) -> str:
        """Return where a key, or the table that it would be in, came from.

        Overrides of the tables that it was checked against are named too: the error may be theirs.
        """
        own = self.own(key)
        if own in self.overrides:
            return own
        given = [place for other, place in self.files.items() if other[0] in tables]
        return ", ".join([own, *(place for place in self.overrides if place in given)])


class Spec(Part):
    """An aircraft file: a flight, described completely."""

    schema_version: Literal[1] = entry(1, "The version of this layout.", stage="name")
    aircraft: AircraftTable = entry(AircraftTable(), "Name and seed.")
    home: Home = entry(Home(), "The origin.", stage="home")
    px4: Px4Options = entry(Px4Options(), "Mission, real PX4.")
    autopilot: AutopilotOptions = entry(AutopilotOptions(), "The autopilot.")
    timeline: Timing = entry(Timing(), "Periods.")
    plant: Plant = entry(Plant(), "Numerics, ground.", stage="plant")
    environment: Environment = entry(Environment(), "Wind, gravity.", stage="plant")
    scenario: Scenario = entry(Scenario(), "Events.", stage="scenario")
    estimator: Estimator = entry(Estimator(), "What the autopilot is told.", stage="estimator")
    airframe: Airframe = entry(..., "Body and rotors.", stage="plant")
    actuation: Actuation = entry(Actuation(), "Channels.", stage="plant")
    power: Power = entry(Power(), "Batteries and buses.", stage="plant")
    sensors: tuple[SensorTable, ...] = entry((), "Sensors.", stage="sensors")
    run: RunTable = entry(RunTable.model_validate({}), "What is kept.", stage="output")

    used_up: ClassVar[tuple[str, ...]] = ("extends",)
    _places: Places = PrivateAttr(default_factory=lambda: Places(Chosen("spec")))  # made in Python
    _missions: dict[str, Mission] = PrivateAttr(default_factory=dict)
    _untrusted: dict[Key, Any] = PrivateAttr(default_factory=dict)

    @property
    def places(self) -> Places:
        """Where its values came from."""
        return self._places

    @property
    def untrusted(self) -> dict[Key, Any]:
        """What its files name as code without the user's choice, by key, as it was decided when they were loaded."""
        return self._untrusted

    @property
    def missions(self) -> dict[str, Mission]:
        """The missions that are part of it, by the path that `px4.mission_path` names them by."""
        return self._missions

    @property
    def mission(self) -> Mission | None:
        """The mission, if there is one, as it was when the file was loaded.

        Raises:
            InputError: If the spec was made in Python, and its mission can't be read.
        """
        path = self.px4.mission_path
        if path is None:
            return None
        if path not in self._missions:
            self._missions[path] = mission_of(path)
        return self._missions[path]

    def __eq__(self, other: object) -> bool:
        """Whether all values are the same, wherever they came from."""
        if not isinstance(other, Spec) or self.model_dump() != other.model_dump():
            return False
        ours, theirs = self.mission, other.mission
        return (ours and ours.text) == (theirs and theirs.text)

    __hash__ = None  # type: ignore[assignment]
