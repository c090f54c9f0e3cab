"""The status of a served vehicle: what telemetry needs, read from the records of its simulation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from px4lockstep.autopilots.requests import LAND_MODE, MISSION_MODE, TAKEOFF_MODE
from px4lockstep.engine.simulation import Simulation
from px4lockstep.environment.atmosphere import pressure_pa
from px4lockstep.environment.projection import MapProjection
from px4lockstep.jit import interpreted
from px4lockstep.math.quaternion import rotate_inverse
from px4lockstep.plant.layout import ATT_START, VEL_START

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
GRAVITY_M_S2 = 9.80665
KELVIN = 273.15
ON_GROUND, IN_AIR, TAKING_OFF, LANDING = 1, 2, 3, 4
"""MAVLink's MAV_LANDED_STATE."""
NO_MISSION, NOT_STARTED, ACTIVE, PAUSED, COMPLETE = range(1, 6)
"""MAVLink's MISSION_STATE."""


@dataclass(frozen=True)
class Place:
    """A place on the earth."""

    lat_deg: float
    lon_deg: float
    alt_amsl_m: float


@dataclass(frozen=True)
class Battery:
    """A battery as measured."""

    voltage_v: float
    current_a: float
    remaining: float  # 0 to 1
    warning: int  # PX4's level: 0 none, 1 low, 2 critical, 3 emergency


@dataclass(frozen=True)
class MissionStatus:
    """Progress of the mission."""

    count: int  # 0: none
    current: int  # counted from 0, as uploaded
    reached: int  # the last item that was completed, as uploaded; -1: none
    state: int  # MAVLink's MISSION_STATE: 1 none, 2 not started, 3 active, 4 paused, 5 complete
    mission_id: int  # `opaque_id` of the upload; 0: none
    fence_id: int
    rally_id: int


@dataclass(frozen=True)
class Status:
    """The vehicle at one time; vectors are NED or in body axes, and those of the estimate unless said otherwise."""

    time_us: int  # since the start of the service; a reset does not set it back
    armed: bool
    nav_state: int  # PX4's; while disarmed, the mode that is selected
    failsafe: bool
    landed_state: int  # MAVLink's MAV_LANDED_STATE: 1 on ground, 2 in air, 3 taking off, 4 landing
    why_not_armable: str  # empty: it can be armed
    has_position: bool
    is_crashed: bool
    pos_ned: Vector
    vel_ned: Vector
    q_bn: Quaternion
    omega_body: Vector
    specific_force_body: Vector  # true, as an accelerometer measures it
    position: Place
    home: Place
    home_ned: Vector
    batteries: tuple[Battery, ...]
    motors: tuple[float, ...]  # commands, 0 to 1
    motor_currents_a: tuple[float, ...]
    pos_sp_ned: Vector  # NaN: none
    vel_sp_ned: Vector
    acc_sp_ned: Vector
    yaw_sp_rad: float
    yawspeed_sp_rad_s: float
    q_sp: Quaternion
    rate_sp_body: Vector
    thrust_sp: float  # collective, 0 to 1
    wind_ned: Vector  # true
    mission: MissionStatus
    pressure_pa: float
    temperature_c: float

    @property
    def is_armable(self) -> bool:
        """Whether it can be armed."""
        return not self.why_not_armable


@dataclass(frozen=True)
class Uploads:
    """What was uploaded: the number of mission items, and the ids of mission, fence and rally points."""

    count: int = 0
    mission_id: int = 0
    fence_id: int = 0
    rally_id: int = 0


class StatusReader:
    """Reads the status of a simulation; `home` is the origin of its local frame."""

    def __init__(self, simulation: Simulation, home: Place) -> None:
        self._simulation, self._home = simulation, home
        self._map = MapProjection(home.lat_deg, home.lon_deg)
        traits = simulation.records["plant"]["traits"][0]
        self._n_motors, self._n_batteries = int(traits["n_motors"]), int(traits["n_batteries"])
        self._before: tuple[int, Vector, Vector] | None = None

    def place(self, pos_ned: Vector) -> Place:
        """Return a position in the local frame as latitude, longitude and altitude."""
        lat_deg, lon_deg = self._map.to_global(pos_ned[0], pos_ned[1])
        return Place(lat_deg, lon_deg, self._home.alt_amsl_m - pos_ned[2])

    def read(self, time_us: int, reached: int, uploads: Uploads) -> Status:
        """Return the status; `time_us` is that of the service."""
        simulation, session = self._simulation, self._simulation.autopilot
        core = simulation.records
        bus = core["bus"][0]
        pilot, estimate, outputs, scenario = bus["autopilot"], bus["estimate"], bus["outputs"], bus["scenario"]
        armed, nav_state = bool(pilot["armed"]), session.selected_mode(core)
        pos_ned, home_ned = tuple(estimate["pos_ned"].tolist()), session.home_ned(core)
        position = self.place(pos_ned)
        landed_state = IN_AIR
        if scenario["landed"]:
            landed_state = ON_GROUND
        elif nav_state in (TAKEOFF_MODE, LAND_MODE):
            landed_state = TAKING_OFF if nav_state == TAKEOFF_MODE else LANDING
        has_position = bool(estimate["is_valid"]) and bool(np.isfinite(estimate["pos_ned"]).all())
        motors = bus["command"]["motors"][: self._n_motors].tolist()
        return Status(
            time_us=time_us,
            armed=armed,
            nav_state=nav_state,
            failsafe=bool(pilot["failsafe"]) and armed,
            landed_state=landed_state,
            why_not_armable=session.why_not_armable(core, simulation.time_us),
            has_position=has_position,
            is_crashed=bool(scenario["crashed"]),
            pos_ned=pos_ned,
            vel_ned=tuple(estimate["vel_ned"].tolist()),
            q_bn=tuple(estimate["q_bn"].tolist()),
            omega_body=tuple(estimate["omega_body"].tolist()),
            specific_force_body=self._specific_force(core),
            position=position,
            home=self.place(home_ned),
            home_ned=home_ned,
            batteries=tuple(Battery(*bus["battery"][i].tolist()) for i in range(self._n_batteries)),
            motors=tuple(motors),
            motor_currents_a=tuple(outputs["motor_current_a"][: self._n_motors].tolist()),
            pos_sp_ned=tuple(pilot["pos_sp_ned"].tolist()),
            vel_sp_ned=tuple(pilot["vel_sp_ned"].tolist()),
            acc_sp_ned=tuple(pilot["acc_sp_ned"].tolist()),
            yaw_sp_rad=float(pilot["yaw_sp"]),
            yawspeed_sp_rad_s=float(pilot["yawspeed_sp"]),
            q_sp=tuple(pilot["q_sp"].tolist()),
            rate_sp_body=tuple(pilot["rate_sp_body"].tolist()),
            thrust_sp=-float(pilot["thrust_sp_body"][2]),
            wind_ned=tuple(core["inputs"]["wind_ned"][0].tolist()),
            mission=self._mission(pilot, armed, nav_state, reached, uploads),
            pressure_pa=interpreted(pressure_pa)(position.alt_amsl_m),
            temperature_c=float(outputs["air_temperature_k"]) - KELVIN,
        )

    def _specific_force(self, core: Any) -> Vector:
        """Return the specific force since the last call, from the change of the true velocity."""
        x, time_us = core["state"]["x"][0], self._simulation.time_us
        vel_ned, q_bn = tuple(x[VEL_START : VEL_START + 3].tolist()), tuple(x[ATT_START : ATT_START + 4].tolist())
        before = self._before
        if before is not None and before[0] == time_us:
            return before[2]
        acc_ned = (0.0, 0.0, 0.0)
        if before is not None:
            seconds = (time_us - before[0]) / 1e6
            acc_ned = tuple((now - then) / seconds for now, then in zip(vel_ned, before[1], strict=True))
        force = interpreted(rotate_inverse)(q_bn, (acc_ned[0], acc_ned[1], acc_ned[2] - GRAVITY_M_S2))
        self._before = time_us, vel_ned, force
        return force

    def _mission(self, pilot: Any, armed: bool, nav_state: int, reached: int, uploads: Uploads) -> MissionStatus:
        state = NOT_STARTED
        if not uploads.count:
            state = NO_MISSION
        elif pilot["mission_finished"]:
            state = COMPLETE
        elif armed and nav_state == MISSION_MODE:
            state = ACTIVE
        elif reached >= 0 or int(pilot["mission_item"]) > 0:
            state = PAUSED
        current = self._simulation.autopilot.uploaded_item(int(pilot["mission_item"]))
        ids = uploads.mission_id, uploads.fence_id, uploads.rally_id
        return MissionStatus(uploads.count, current, reached, state, *ids)
