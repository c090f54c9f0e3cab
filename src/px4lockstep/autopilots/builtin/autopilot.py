"""The built-in autopilot's public class: checks mission, parameters and options, and writes them to its record."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from px4lockstep.autopilots.area import Area, area_of, check_area
from px4lockstep.autopilots.base import Make, NativeAutopilot, Record, Session, WriteRecord
from px4lockstep.autopilots.builtin.allocation import write_allocation
from px4lockstep.autopilots.builtin.attitude_control import write_attitude_control
from px4lockstep.autopilots.builtin.commander import write_commander
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.flight_task import write_flight_task
from px4lockstep.autopilots.builtin.follow import write_follow
from px4lockstep.autopilots.builtin.ground_station import write_station
from px4lockstep.autopilots.builtin.guided import write_guided
from px4lockstep.autopilots.builtin.hover_thrust import write_hover_thrust
from px4lockstep.autopilots.builtin.items import MAX_ITEMS
from px4lockstep.autopilots.builtin.land_detector import write_land_detector
from px4lockstep.autopilots.builtin.mission import check_distance, write_mission
from px4lockstep.autopilots.builtin.motor_failure import write_motor_failure
from px4lockstep.autopilots.builtin.navigator import write_navigator
from px4lockstep.autopilots.builtin.offboard import write_offboard
from px4lockstep.autopilots.builtin.parameters import (
    Params,
    check_use,
    check_values,
    implemented,
    used_params,
)
from px4lockstep.autopilots.builtin.position_control import write_position_control
from px4lockstep.autopilots.builtin.rally import write_rally
from px4lockstep.autopilots.builtin.rate_control import write_rate_control
from px4lockstep.autopilots.builtin.schedule import MAX_RATE_HZ, check_rates, effective_rates, period_us
from px4lockstep.autopilots.builtin.session import BuiltinSession
from px4lockstep.autopilots.builtin.sticks import write_sticks
from px4lockstep.autopilots.builtin.takeoff import write_takeoff
from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.autopilots.px4_library.parameters import ca_parameters
from px4lockstep.autopilots.vehicle_params import no_effect, without_geometry
from px4lockstep.constants import HOME_LAT_DEG, HOME_LON_DEG
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import plain
from px4lockstep.part import FrozenDict
from px4lockstep.plant.models import configuration_of
from px4lockstep.px4.fence import RallyPoint
from px4lockstep.px4.missions import Mission, MissionItem, load_mission
from px4lockstep.px4.parameters import resolve
from px4lockstep.vehicle.aircraft import Aircraft


@dataclass(frozen=True)
class Rates:
    """Rates of the modules [Hz]; 0 means every tick. The defaults are those of the real library."""

    navigator_hz: int = 20
    position_hz: int = 100
    attitude_hz: int = 250
    rate_hz: int = 250
    allocation_hz: int = 250

    def __post_init__(self) -> None:
        """Check that they are integers, with periods of at least a microsecond."""
        for name, hz in vars(self).items():
            if not isinstance(hz, int) or isinstance(hz, bool) or hz > MAX_RATE_HZ:
                allowed = f"an integer of at most {MAX_RATE_HZ}; 0 means every tick"
                raise InputError(f"rates.{name} = {hz!r} must be {allowed}")


@dataclass(frozen=True)
class Builtin(NativeAutopilot):
    """The built-in autopilot.

    Args:
        mission: A `Mission`, or the path of its file. Without one it can't take off, but it can return and land.
        params: PX4 parameters, by name; they override those of the airframe.
        home_lat_deg: Latitude of the origin.
        home_lon_deg: Longitude of the origin.
        rates: Rates of its modules.
        strict_rates: Whether a tick longer than a module's period is an error.
        motor_failure_detection: Whether motors that draw no current are removed from the control allocation.
        hover_thrust_estimate: Whether the hover thrust is estimated in flight (`MPC_USE_HTE` must be 1, its default);
            off by default, because the real library has no such estimator.
        land_detector: `host` uses the scenario's `landed`, as the real library uses its host's; `estimate` uses the
            state estimate and the LNDMC parameters.
        angular_acceleration: Whether rate control gets the derivative of the body rates; `False` reproduces the
            recorded flights of the real library, whose host left it zero.
        default_params: Defaults other than those compiled into PX4; parameters of the airframe override them.
        file_params: Parameters of a `.params` file; they override those of the airframe, and `params` override them.
            Those that it does not use are ignored, and so are values that it does not implement, and the geometry of
            the rotors.

    Raises:
        InputError: If the mission or a parameter is invalid.
    """

    capabilities: ClassVar = KINDS["builtin"].capabilities
    record: ClassVar = "builtin"

    mission: Mission | str | Path | None = None
    params: Params = field(default_factory=dict)
    home_lat_deg: float = HOME_LAT_DEG
    home_lon_deg: float = HOME_LON_DEG
    rates: Rates = field(default_factory=Rates)
    strict_rates: bool = False
    motor_failure_detection: bool = True
    hover_thrust_estimate: bool = False
    land_detector: str = "host"
    angular_acceleration: bool = True
    default_params: Params = field(default_factory=dict)
    file_params: Params = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Load the mission, and check the parameters."""
        if isinstance(self.mission, str | Path):
            object.__setattr__(self, "mission", load_mission(self.mission))
        for name in ("params", "default_params", "file_params"):
            object.__setattr__(self, name, FrozenDict(getattr(self, name)))
        if self.land_detector not in ("host", "estimate"):
            raise InputError(f"land_detector = {self.land_detector!r} is unknown; allowed: host, estimate")
        check_values(resolve({**self.default_params, **self.params}))
        check_use(self.params, self.land_detector, self.hover_thrust_estimate)
        if self.mission is not None and len(self._items) > MAX_ITEMS:
            count = len(self._items)
            raise InputError(f"the mission has {count} items; the built-in autopilot allows at most {MAX_ITEMS}")
        check_area(self.mission, self.home_lat_deg, self.home_lon_deg)

    def check_airframe(self, params: Params) -> None:
        """Check that it implements the values of an airframe's parameters, and can fly its mission with them."""
        values = self.parameters_with(params)[1]
        check_values(values)
        check_distance(self._items, self.home, values["MIS_DIST_1WP"])

    def parameters_with(self, airframe: Params) -> tuple[Params, Params]:
        """Return the parameters that are used of airframe, file and user, and the values of all parameters."""
        given = {**self._used(airframe), **implemented(self._used_of_file), **self.params}
        return given, resolve({**self.default_params, **given})

    def parameters(self, aircraft: Aircraft) -> dict[str, float | int]:
        """Return the values of all parameters that it uses for an aircraft, with the geometry of its rotors."""
        given, values = self.parameters_with(aircraft.airframe.px4_params)
        used = {name: value for name, value in self._used(values).items() if not name.startswith("CA_ROTOR")}
        return used | ca_parameters(aircraft) | {name: values[name] for name in given}

    def _used(self, params: Params) -> dict[str, float | int]:
        return used_params(params, self.land_detector, self.hover_thrust_estimate)

    @property
    def _used_of_file(self) -> dict[str, float | int]:
        return self._used(without_geometry(self.file_params))

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """A warning about parameters of the file that have no effect."""
        used = self._used_of_file
        known = implemented(used)
        values = [f"{name} = {value}" for name, value in used.items() if name not in known]
        unused = [name for name in self.file_params if name not in used]
        return no_effect([*values, *unused], len(self.file_params), self.capabilities.name)

    @property
    def home(self) -> MapProjection:
        """The local frame."""
        return MapProjection(self.home_lat_deg, self.home_lon_deg)

    @property
    def _area(self) -> Area:
        return area_of(self.mission, self.home_lat_deg, self.home_lon_deg)

    @property
    def _rally_points(self) -> tuple[RallyPoint, ...]:
        return self.mission.rally_points if isinstance(self.mission, Mission) else ()

    @property
    def _items(self) -> tuple[MissionItem, ...]:
        assert self.mission is None or isinstance(self.mission, Mission)
        return self.mission.items if self.mission is not None else ()

    @property
    def module_rates_hz(self) -> dict[str, int]:
        """Rates of its modules."""
        return {name.removesuffix("_hz"): hz for name, hz in vars(self.rates).items()}

    def effective_rates(self, autopilot_period_us: int) -> dict[str, float]:
        """Return the effective rate of each module at a tick length [Hz]; the phase is not carried over."""
        return effective_rates(self.module_rates_hz, autopilot_period_us)

    def open(self, record: Record, plant: object, period_us: int, write: WriteRecord, make: Make) -> Session:
        """Write its record, which holds its complete state, unless the build cache has it."""
        model = make(ControlModel.of, configuration_of(plant))
        write(_write_record, self, model, period_us)
        return BuiltinSession(self, record, model, period_us)

    def write(self, record: Any, model: ControlModel, autopilot_period_us: int) -> None:
        """Write mission, parameters and options to a `BUILTIN` record."""
        if self.strict_rates:
            check_rates({f"rates.{name}": hz for name, hz in vars(self.rates).items()}, autopilot_period_us)
        self.check_airframe(model.params)
        given, p = self.parameters_with(model.params)
        record["period_s"] = autopilot_period_us / 1e6
        for name in ("navigator", "position", "attitude", "rate", "allocation"):
            record[f"{name}_module"]["period_us"] = period_us(getattr(self.rates, f"{name}_hz"))
        record["channel"][: len(model.channels)] = [channel - 1 for channel in model.channels]
        record["thrust_min"] = p["MPC_THR_MIN"]
        record["speed_up_m_s"] = p["MPC_Z_VEL_MAX_UP"]
        record["speed_down_m_s"] = p["MPC_Z_VEL_MAX_DN"]
        record["thrust_curve"] = p["THR_MDL_FAC"]
        record["tilt_air_rad"] = math.radians(min(p["MPC_TILTMAX_AIR"], 89.0))
        record["tilt_land_rad"] = math.radians(min(p["MPC_TILTMAX_LND"], p["MPC_TILTMAX_AIR"]))
        record["full_battery_v"] = model.full_battery_v if p["MC_BAT_SCALE_EN"] else 0.0
        write_commander(record["commander"], p, model.batteries, self._area)
        write_flight_task(record["flight_task"], p)
        write_offboard(record["offboard"], p)
        write_follow(record["follow"], p)
        write_guided(record["guided"], p)
        write_sticks(record["sticks"], p)
        write_station(record["station"], p)
        write_takeoff(record["takeoff"], p)
        write_hover_thrust(record["hover"], p, self.hover_thrust_estimate and p["MPC_USE_HTE"] == 1)
        write_position_control(record["position"], p)
        write_attitude_control(record["attitude"], p)
        write_rate_control(record["rate"], p, self.angular_acceleration)
        check_us = max(autopilot_period_us, period_us(self.rates.allocation_hz))
        write_motor_failure(record["motor_failure"], self.motor_failure_detection, p["MPC_THR_HOVER"], check_us / 1e6)
        write_allocation(record["allocation"], model.effectiveness(given, p))
        write_navigator(record["navigator"], p)
        write_land_detector(record["land_detector"], p, self.land_detector == "estimate")
        assert self.mission is None or isinstance(self.mission, Mission)
        write_mission(record["navigator"], self.mission, self.home, model.home_alt_msl_m, p["NAV_LOITER_RAD"])
        rally_points = self._rally_points
        write_rally(record["navigator"]["rally"], rally_points, self.home, model.home_alt_msl_m, p["RTL_TYPE"])


def _write_record(record: Record, builtin: Builtin, model: ControlModel, period_us: int) -> None:
    builtin.write(plain(record)[0], model, period_us)
