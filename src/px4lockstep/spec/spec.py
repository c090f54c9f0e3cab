"""`Spec`: a complete spec file with all defaults, returned by `load_spec` and flown by `build`."""

import dataclasses
from collections.abc import Collection, Container, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import PrivateAttr

from px4lockstep.autopilots.kinds import AutopilotOptions
from px4lockstep.autopilots.px4_library.options import Px4Options
from px4lockstep.autopilots.vehicle_params import without_geometry
from px4lockstep.environment.environment import Environment
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.part import Key, Part, entry, spelled
from px4lockstep.px4.missions import Mission
from px4lockstep.scenario.commands import CommandRow
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.flight_tables import AircraftTable, Home, Plant, RunTable, SensorTable
from px4lockstep.spec.shipped import check_strictly, mission_of
from px4lockstep.spec.timing import Timing
from px4lockstep.trust import Chosen
from px4lockstep.vehicle.actuators import Actuation
from px4lockstep.vehicle.airframe import Airframe
from px4lockstep.vehicle.power import Power


@dataclasses.dataclass
class Places:
    """Sources of the values: files and overrides. A source that the user chose is a `trust.Chosen`."""

    main: str
    """The requested file."""
    files: dict[Key, str] = dataclasses.field(default_factory=dict)
    """The source of each key, or of the table that contains it."""
    overrides: list[str] = dataclasses.field(default_factory=list)
    """The sources that are overrides, in order."""
    elsewhere: dict[Key, str] = dataclasses.field(default_factory=dict)
    """Output paths that a file sets outside the run folder, as written in the file."""

    def copy(self) -> "Places":
        """Return an independent copy."""
        return Places(self.main, dict(self.files), list(self.overrides), dict(self.elsewhere))

    def own(self, key: Key) -> str:
        """Return the source of a key, or of the innermost table around it that has one."""
        return next((self.files[key[:n]] for n in range(len(key), 0, -1) if key[:n] in self.files), self.main)

    def sources(self, key: Key, tables: Container[str | int] = ()) -> list[str]:
        """Return the source of a key or of the table around it, for an error message.

        Overrides of the tables that the key was checked against follow, because they may have caused the error.
        """
        own = self.own(key)
        if own in self.overrides:
            return [own]
        given = [place for other, place in self.files.items() if other[0] in tables]
        return [own, *(place for place in self.overrides if place in given)]


class Spec(Part):
    """A spec file: the complete description of a flight."""

    schema_version: Literal[1] = entry(1, "Version of the spec file format.", stage="name")
    compat: Annotated[Literal["px4lockstep.jl"], spelled(("px4lockstep.jl",))] | None = entry(
        None, "Defaults of omitted keys: those of PX4Lockstep.jl, for files written for it.", stage="name"
    )
    aircraft: AircraftTable = entry(AircraftTable(), "Name and random seed.")
    home: Home = entry(Home(), "Origin of the world frame.", stage="home")
    px4: Px4Options = entry(Px4Options(), "Mission, and options of real PX4.")
    autopilot: AutopilotOptions = entry(AutopilotOptions(), "Autopilot and its parameters.")
    timeline: Timing = entry(Timing(), "End time and periods.")
    plant: Plant = entry(Plant(), "Integrator and ground contact.", stage="plant")
    environment: Environment = entry(Environment(), "Wind, gusts and gravity.", stage="plant")
    scenario: Scenario = entry(Scenario(), "Requests to the autopilot, and faults.", stage="scenario")
    estimator: Estimator = entry(Estimator(), "State estimate that the autopilot receives.", stage="estimator")
    airframe: Airframe = entry(..., "Rigid body, rotors and propulsion.", stage="plant")
    actuation: Actuation = entry(Actuation(), "Actuator channels and actuator dynamics.", stage="plant")
    power: Power = entry(Power(), "Batteries and power buses.", stage="plant")
    sensors: tuple[SensorTable, ...] = entry(
        (), "Sensors of PX4Lockstep.jl files. Accepted for compatibility; has no effect.", stage="sensors"
    )
    run: RunTable = entry(RunTable(), "Run mode, outputs and runtime checks.", stage="output")

    used_up: ClassVar[tuple[str, ...]] = ("extends",)
    _places: Places = PrivateAttr(default_factory=lambda: Places(Chosen("spec")))  # created in Python
    _missions: dict[str, Mission] = PrivateAttr(default_factory=dict)
    _untrusted: dict[Key, Any] = PrivateAttr(default_factory=dict)
    _sources: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _warnings: tuple[str, ...] = PrivateAttr(default=())
    _commands: Collection[CommandRow] = PrivateAttr(default=())

    def __repr__(self) -> str:
        return f"<Spec {self.aircraft.name}: autopilot {self.autopilot.kind}, seed {self.aircraft.seed}; see to_toml>"

    @property
    def _private(self) -> Any:
        """The private attributes by name; `self._places` takes ten times as long."""
        return self.__pydantic_private__

    @property
    def places(self) -> Places:
        """Sources of the values."""
        own: Places = self._private["_places"]
        return own

    @property
    def untrusted(self) -> dict[Key, Any]:
        """Code that the files name and the user has not chosen, by key, as decided when the files were loaded."""
        own: dict[Key, Any] = self._private["_untrusted"]
        return own

    @property
    def sources(self) -> Mapping[str, str]:
        """Text of the user's Python files by path, if it does not have to be read; those of a campaign."""
        own: Mapping[str, str] = self._private["_sources"]
        return own

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the files."""
        own: tuple[str, ...] = self._private["_warnings"]
        return own

    @property
    def commands(self) -> Collection[CommandRow]:
        """Commands from outside, in the order of their times; those of a served flight that is flown again."""
        own: Collection[CommandRow] = self._private["_commands"]
        return own

    @property
    def missions(self) -> dict[str, Mission]:
        """Loaded missions, by the path in `px4.mission_path`."""
        own: dict[str, Mission] = self._private["_missions"]
        return own

    @property
    def mission(self) -> Mission | None:
        """The mission, if there is one, as it was when the spec was loaded.

        Raises:
            InputError: If the spec was created in Python and its mission can't be read.
        """
        path = self.px4.mission_path
        if path is None:
            return None
        missions = self.missions
        if path not in missions:
            mission = mission_of(path)
            check_strictly(mission, self.px4.mission_strict)
            missions[path] = mission
        return missions[path]

    @property
    def px4_params(self) -> dict[str, float | int]:
        """PX4 parameters by name; of `file_params` those that real PX4 gets if it has them.

        `airframe.px4_params` are overridden by `autopilot.file_params`, `autopilot.params` and `px4.params`, in this
        order.
        """
        of_file: Mapping[str, float | int] = self.autopilot.file_params
        of_file = without_geometry(of_file) if self.px4.derive_ca_params else of_file
        return {**self.airframe.px4_params, **of_file, **self.autopilot.params, **self.px4.params_by_name}

    @property
    def optional_params(self) -> list[str]:
        """PX4 parameters that only `autopilot.file_params` has, and the autopilot may lack."""
        required = (*self.airframe.px4_params, *self.autopilot.params, *self.px4.params_by_name)
        return [name for name in self.autopilot.file_params if name not in required]

    def __eq__(self, other: object) -> bool:
        """Return whether all values are equal; their sources are ignored."""
        if not isinstance(other, Spec) or self.model_dump() != other.model_dump():
            return False
        ours, theirs = self.mission, other.mission
        return (ours and ours.text) == (theirs and theirs.text)

    __hash__ = None  # type: ignore[assignment]


def with_commands(spec: Spec, rows: Collection[CommandRow]) -> Spec:
    """Return a copy of a spec with commands from outside."""
    copy = spec.model_copy()
    copy._commands = rows
    return copy
