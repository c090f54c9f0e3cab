"""The built-in autopilot in flight: its parameters, mission, geofence and rally points can change, and it obeys."""

import math
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from px4lockstep.autopilots.area import Place, area_of, check_area
from px4lockstep.autopilots.base import LANDING_PHASE, TAKEOFF_PHASE, Record, Session, landing_of
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.flight_task import LAND, TAKEOFF
from px4lockstep.autopilots.builtin.items import MAX_ITEMS, RETURN_ITEM
from px4lockstep.autopilots.builtin.mission import check_distance, write_mission
from px4lockstep.autopilots.builtin.offboard import SETPOINT_FAILSAFE
from px4lockstep.autopilots.builtin.orders import LocalFrame, Orders
from px4lockstep.autopilots.builtin.parameters import RETURN_HOME_OR_RALLY, RETURN_RALLY, USED, Params
from px4lockstep.autopilots.builtin.rally import write_rally
from px4lockstep.autopilots.builtin.stack import BUILTIN
from px4lockstep.autopilots.fence import write_fence
from px4lockstep.autopilots.requests import MISSION_MODE, ORBIT_MODE, RETURN_MODE
from px4lockstep.errors import InputError
from px4lockstep.jit import plain, zeros
from px4lockstep.jit.records import CONFIGURATION, words_of
from px4lockstep.px4.missions import Mission
from px4lockstep.px4.parameters import resolve
from px4lockstep.px4.uploaded import uploaded_fence, uploaded_mission, uploaded_rally
from px4lockstep.scenario import commands
from px4lockstep.scenario.commands import DENIED, CommandResult, FlightCommand

if TYPE_CHECKING:
    from px4lockstep.autopilots.builtin.autopilot import Builtin

LEG_PHASES = {int(TAKEOFF): TAKEOFF_PHASE, int(LAND): LANDING_PHASE}
NOTHING = Mission((), "no mission")
NO_MISSION = "No valid mission available"


def _area_params(record: Record) -> dict[str, float | int]:
    """Return the parameters of the area that are in a record."""
    fence, rally = record["commander"]["fence"], record["navigator"]["rally"]
    return {
        "GF_MAX_HOR_DIST": float(fence["radius_m"][0]),
        "GF_MAX_VER_DIST": float(fence["height_m"][0]),
        "RTL_TYPE": RETURN_RALLY if rally["is_rally_only"][0] else RETURN_HOME_OR_RALLY,
    }


def _mission_of(command: commands.SetMission) -> Mission:
    return uploaded_mission(command.items) if command.items else NOTHING


class BuiltinSession(Session):
    """The built-in autopilot in flight."""

    record = "builtin"

    def __init__(self, builtin: "Builtin", record: Record, model: ControlModel, period_us: int) -> None:
        super().__init__(builtin.capabilities)
        self._builtin, self._record, self._model, self._period_us = builtin, record, model, period_us
        self._changed: dict[str, float | int] = {}
        self._stored: dict[str, float | int] = {}
        self._has_changed = False
        self._mission = self._initial_mission
        self._orders: Orders | None = None
        self._configure: dict[type[FlightCommand], Callable[[Any], None]] = {
            commands.SetParam: self._set_param,
            commands.SetMission: lambda command: self._set_mission(_mission_of(command)),
            commands.ClearMission: lambda _: self._set_mission(NOTHING),
            commands.SetFence: lambda command: self._set_area(fence=uploaded_fence(command.items)),
            commands.SetRally: lambda command: self._set_area(rally_points=uploaded_rally(command.items)),
        }
        self.area_params = _area_params(record)

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning about parameters of a file that have no effect."""
        return self._builtin.warnings

    @property
    def _initial_mission(self) -> Mission:
        mission = self._builtin.mission
        return mission if isinstance(mission, Mission) else NOTHING

    # -- configuration ---------------------------------------------------------------------------------------------

    def set_parameters(self, params: Params, optional: Container[str] = ()) -> None:
        """Change parameters in flight: write those fields of its record that depend on parameters only."""
        self._rewrite({**self._changed, **params})

    def _rewrite(self, changed: Params) -> None:
        """Write the configuration in its record: parameters, mission, fence and rally points; the state stays."""
        builtin = replace(self._builtin, mission=None, params={**self._builtin.params, **changed})
        fresh = zeros(BUILTIN)
        own, model, mission = plain(fresh)[0], self._model, self._mission
        builtin.write(own, model, self._period_us)
        values, home, alt_msl_m = builtin.parameters_with(model.params)[1], builtin.home, model.home_alt_msl_m
        write_mission(own["navigator"], mission, home, alt_msl_m, values["NAV_LOITER_RAD"])
        write_fence(own["commander"]["fence"], area_of(mission, home.lat_deg, home.lon_deg), values)
        write_rally(own["navigator"]["rally"], mission.rally_points, home, alt_msl_m, values["RTL_TYPE"])
        words = words_of(BUILTIN, CONFIGURATION)
        self._record.view(np.uint64)[words] = fresh.view(np.uint64)[words]
        self.resume(self._record, self._record, self._record)
        self._changed, self._has_changed = dict(changed), True
        self.area_params = _area_params(self._record)
        self.area = area_of(mission, home.lat_deg, home.lon_deg, self.area_params)
        self.landing = landing_of(mission, home.lat_deg, home.lon_deg)

    @property
    def parameters(self) -> dict[str, float | int]:
        """The values of all parameters that are known here."""
        builtin = replace(self._builtin, mission=None, params={**self._builtin.params, **self._changed})
        return {**builtin.parameters_with(self._model.params)[1], **self._stored}

    @property
    def has_set_parameters(self) -> bool:
        """Whether the configuration has changed in flight."""
        return self._has_changed

    def restore_parameters(self, params: Params) -> None:
        """Use its initial parameters with these changes."""
        if self._has_changed or params:
            self._mission, self._stored = self._initial_mission, {}
            self._rewrite(params)

    def restore_configuration(self, commands: Sequence[FlightCommand]) -> None:
        """Use its configuration with the changes by commands; the state, such as the current item, stays."""
        own = [command for command in commands if type(command) in self._configure]
        state = self._record.copy()
        for command in own:
            self._configure[type(command)](command)
        if own:
            kept = np.setdiff1d(np.arange(BUILTIN.itemsize // 8), words_of(BUILTIN, CONFIGURATION))
            self._record.view(np.uint64)[kept] = state.view(np.uint64)[kept]

    def _set_param(self, command: commands.SetParam) -> None:
        name, value = command.param, command.value
        if name in USED:
            self.set_parameters({name: value})
        else:  # PX4 has it, but it has no effect here
            self._stored[name] = resolve({name: value})[name]

    def _set_mission(self, mission: Mission) -> None:
        if len(mission.items) > MAX_ITEMS:
            raise InputError(f"the mission has {len(mission.items)} items; at most {MAX_ITEMS} are possible")
        self._mission = replace(mission, fence=self._mission.fence, rally_points=self._mission.rally_points)
        self._rewrite(self._changed)
        navigator = self._record["navigator"]
        navigator["current"] = navigator["first"] = navigator["is_mission_begun"] = navigator["is_finished"] = 0
        navigator["items"]["jumps_left"] = navigator["items"]["jump_repeats"]

    def _set_area(self, **parts: Any) -> None:
        self._mission = replace(self._mission, **parts)
        self._rewrite(self._changed)

    # -- commands --------------------------------------------------------------------------------------------------

    def obey(self, command: FlightCommand, time_us: int, core: Record) -> CommandResult:
        """Apply a command before a tick."""
        orders = self.orders(core)
        try:
            if type(command) not in self._configure:
                return orders.obey(command, time_us)
            self._configure[type(command)](command)
        except InputError as error:
            return CommandResult(DENIED, str(error))
        if isinstance(command, commands.SetMission):
            if orders.is_flying_mission and self._mission.items:
                core["bus"]["scenario"]["mission"] += 1  # begins the new one
            return CommandResult(text=self.why_no_mission_now)
        if isinstance(command, commands.ClearMission) and orders.is_flying_mission:
            orders.hold()
        return CommandResult()

    def orders(self, core: Record) -> Orders:
        """Return what applies commands to its state."""
        if self._orders is None:
            frame = LocalFrame(self._builtin.home, self._model.home_alt_msl_m)
            self._orders = Orders(core, frame, lambda: self.why_no_mission_now)
        return self._orders

    def selected_mode(self, core: Record) -> int:
        """Return the mode; while disarmed, the one that is selected."""
        return self.orders(core).mode

    def flight_phase(self, core: Record) -> str:
        """Return whether it takes off or descends to land, in a mission or a return, too."""
        mode = self.selected_mode(core)
        if mode in (MISSION_MODE, RETURN_MODE):
            leg = core["builtin"]["navigator"]["leg"]
            return LEG_PHASES.get(int(leg["kind"][0]), "") if leg["is_valid"][0] else ""
        return super().flight_phase(core)

    def why_not_armable(self, core: Record, time_us: int) -> str:
        """Return why the vehicle can't be armed; empty if it can."""
        return self.orders(core).why_not_armable(time_us)

    def failsafe_delay_s(self, core: Record, time_us: int) -> float:
        """Return for how long the vehicle will still hold before a failsafe returns or lands; 0 if none is due."""
        due_us = int(core["builtin"]["commander"]["due_us"][0])
        return max(0, due_us - time_us) / 1e6

    def failsafe_in_charge(self, core: Record) -> int:
        """Return the number of the failsafe, unless it only warned."""
        commander = core["builtin"]["commander"]
        failsafe = int(commander["failsafe"][0])
        return failsafe if failsafe and (commander["acted"][0] or failsafe == SETPOINT_FAILSAFE) else 0

    def has_lost_station(self, core: Record) -> bool:
        """Return whether there was a ground station, and it is lost."""
        station = core["builtin"]["station"]
        return bool(station["is_lost"][0]) and int(station["received_us"][0]) != 0

    def watched(self, core: Record) -> list[Any]:
        """Return the field that says whether the ground station is lost."""
        return [core["builtin"]["station"]["is_lost"]]

    def home_ned(self, core: Record) -> tuple[float, float, float]:
        """Return where home is in the local frame."""
        north_m, east_m, down_m = core["builtin"]["navigator"]["rally"]["home_ned"][0].tolist()
        return north_m, east_m, down_m

    def orbit(self, core: Record) -> tuple[tuple[float, float, float], float] | None:
        """Return centre and radius of the circle that it flies, negative counterclockwise; None if it flies none."""
        if self.selected_mode(core) != ORBIT_MODE:
            return None
        guided = core["builtin"]["guided"][0]
        north_m, east_m = guided["centre_ne"].tolist()
        radius_m = math.copysign(float(guided["radius_m"]), float(guided["orbit_m_s"]))
        return (north_m, east_m, float(guided["orbit_down_m"])), radius_m

    def returns_as_item(self, core: Record) -> bool:
        """Return whether the vehicle returns because the last item of its mission says so."""
        nav = core["builtin"]["navigator"]
        item = nav["items"][0, nav["current"][0]]
        return self.selected_mode(core) == RETURN_MODE and int(item["command"]) == RETURN_ITEM

    def uploaded_item(self, item: int) -> int:
        """Return the number in the uploaded mission of an item."""
        items = self._mission.items
        return items[item].line if item < len(items) else item

    @property
    def mission(self) -> Mission:
        """Its mission, with fence and rally points."""
        return self._mission

    @property
    def why_no_mission_now(self) -> str:
        """Why the mission can't be flown; empty if it can."""
        mission, builtin = self._mission, self._builtin
        if not mission.items:
            return NO_MISSION
        try:
            check_area(mission, builtin.home_lat_deg, builtin.home_lon_deg)
            check_distance(mission.items, builtin.home, self.parameters["MIS_DIST_1WP"])
        except InputError as error:
            return f"Mission rejected: {error}"
        return ""

    def goal_of_return(self, record: Record) -> Place:
        """Return the goal of its last return; home if there was none."""
        north_m, east_m, _ = record["navigator"]["rally"]["goal_ned"].tolist()
        return north_m, east_m

    def resume(self, kept: Record, into: Record, home: Record) -> None:
        """Update the hover thrust, which depends on both parameters and state."""
        hover = into["hover"][0]
        has_flown = float(hover["value"]) != 0.0
        if has_flown and not hover["is_on"]:  # otherwise it follows the estimate
            into["position"]["hover_thrust"] = hover["initial"]
