"""The status of a served vehicle: what telemetry needs, from a copy of the simulation's bus.

Nothing here has an effect on the flight, so it uses the mathematics of Python, which is faster than the package's own.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from px4lockstep.autopilots.base import LANDING_PHASE, TAKEOFF_PHASE
from px4lockstep.autopilots.requests import MISSION_MODE
from px4lockstep.engine.simulation import Simulation
from px4lockstep.environment.projection import EARTH_RADIUS_M
from px4lockstep.jit import plain
from px4lockstep.plant.layout import ATT_START, ROTOR, VEL_START

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
GRAVITY_M_S2 = 9.80665
KELVIN = 273.15
SEA_LEVEL_PA, SEA_LEVEL_K, LAPSE_K_M, EXPONENT = 101_325.0, 288.15, 0.0065, 5.2558797
"""The troposphere of the standard atmosphere."""
ON_GROUND, IN_AIR, TAKING_OFF, LANDING = 1, 2, 3, 4
"""MAVLink's MAV_LANDED_STATE."""
LANDED_STATES = {TAKEOFF_PHASE: TAKING_OFF, LANDING_PHASE: LANDING}
RISEN_M = 0.15
"""Height above the ground from which a vehicle is in the air; a bounce at touchdown is lower."""
NO_MISSION, NOT_STARTED, ACTIVE, PAUSED, COMPLETE = range(1, 6)
"""MAVLink's MISSION_STATE."""


@dataclass(frozen=True)
class GeoPoint:
    """A place on the earth."""

    lat_deg: float
    lon_deg: float
    alt_amsl_m: float


@dataclass(frozen=True)
class BatteryReading:
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
class Uploads:
    """What was uploaded: the number of mission items, and the ids of mission, fence and rally points."""

    count: int = 0
    mission_id: int = 0
    fence_id: int = 0
    rally_id: int = 0


@dataclass(frozen=True)
class Now:
    """What the status needs besides the bus."""

    time_us: int
    nav_state: int
    why_not_armable: str
    failsafe_delay_s: float
    has_lost_station: bool
    home_ned: Vector
    orbit: tuple[Vector, float] | None
    wind_ned: Vector
    acc_body: Vector
    rotor_rad_s: tuple[float, ...]
    landed_state: int
    mission: MissionStatus


class LandedWatch:
    """Whether the vehicle is on the ground, for ground stations.

    Ground contact may be interrupted at touchdown. A vehicle that has landed is therefore in the air again only when it
    is armed, does not land, and has risen.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        bus = simulation.records["bus"]
        self._landed, self._armed = bus["scenario"]["landed"].data, bus["autopilot"]["armed"].data
        self._pos_ned = bus["estimate"]["pos_ned"].data
        self._ground_down_m = self._pos_ned[0, 2]
        self._is_down = True

    def update(self) -> int:
        """Return MAVLink's MAV_LANDED_STATE; call it after each part of the flight."""
        session, core = self._simulation.autopilot, self._simulation.records
        phase = session.flight_phase(core)
        down_m = self._pos_ned[0, 2]
        if self._landed[0]:
            self._is_down, self._ground_down_m = True, down_m
        elif self._armed[0] and phase != LANDING_PHASE and down_m < self._ground_down_m - RISEN_M:
            self._is_down = False
        return ON_GROUND if self._is_down else LANDED_STATES.get(phase, IN_AIR)


class VehicleStatus:
    """The vehicle at one time, read-only.

    Vectors are NED or in body axes, and those of the estimate unless said otherwise.
    """

    def __init__(self, bus: Any, now: Now, reader: "StatusReader") -> None:
        self._bus, self._now, self._reader = bus, now, reader
        self.time_us = now.time_us
        """Time since the start of the service; a reset does not set it back."""
        self.nav_state = now.nav_state
        """PX4's `nav_state`; while disarmed, the mode that is selected."""
        self.why_not_armable = now.why_not_armable
        """Why it can't be armed; empty if it can."""
        self.failsafe_delay_s = now.failsafe_delay_s
        """For how long it will still hold before a failsafe returns or lands; 0 if none is due."""
        self.has_lost_station = now.has_lost_station
        """Whether there was a ground station, and it is lost."""
        self.home_ned = now.home_ned
        self.wind_ned = now.wind_ned
        """The true wind."""
        self.acc_body = now.acc_body
        """The true specific force, as an accelerometer measures it [m/s²]."""
        self.rotor_rad_s = now.rotor_rad_s
        """True speeds of the rotors."""
        self.mission = now.mission
        pilot = bus["autopilot"]
        self.armed = bool(pilot["armed"])
        self.failsafe = self.armed and bool(pilot["failsafe"])
        """Whether a failsafe has acted or warned."""
        self.landed_state = now.landed_state
        """MAVLink's MAV_LANDED_STATE: 1 on ground, 2 in air, 3 taking off, 4 landing."""

    def __repr__(self) -> str:
        return f"<VehicleStatus at {self.time_us / 1e6:.3f} s: nav_state {self.nav_state}, armed {self.armed}>"

    def _tuple(self, part: str, name: str) -> Any:
        return tuple(self._bus[part][name].tolist())

    @property
    def is_armable(self) -> bool:
        """Whether it can be armed."""
        return not self.why_not_armable

    @property
    def is_crashed(self) -> bool:
        """Whether it has hit the ground in this flight."""
        return bool(self._bus["scenario"]["crashed"])

    @property
    def has_position(self) -> bool:
        """Whether the position is known."""
        return bool(self._bus["estimate"]["is_valid"]) and math.isfinite(sum(self.pos_ned))

    @cached_property
    def pos_ned(self) -> Vector:
        """Position [m]."""
        found: Vector = self._tuple("estimate", "pos_ned")
        return found

    @cached_property
    def vel_ned(self) -> Vector:
        """Velocity [m/s]."""
        found: Vector = self._tuple("estimate", "vel_ned")
        return found

    @cached_property
    def q_bn(self) -> Quaternion:
        """Attitude: w, x, y, z, rotating from body to NED."""
        found: Quaternion = self._tuple("estimate", "q_bn")
        return found

    @cached_property
    def omega_body(self) -> Vector:
        """Body rates [rad/s]."""
        found: Vector = self._tuple("estimate", "omega_body")
        return found

    @cached_property
    def position(self) -> GeoPoint:
        """Position on the earth."""
        return self._reader.place(self.pos_ned)

    @cached_property
    def home(self) -> GeoPoint:
        """Home on the earth."""
        return self._reader.place(self.home_ned)

    @cached_property
    def orbit(self) -> tuple[GeoPoint, float] | None:
        """The centre of the circle that it flies and its radius, negative counterclockwise; None if it does not."""
        return None if self._now.orbit is None else (self._reader.place(self._now.orbit[0]), self._now.orbit[1])

    @cached_property
    def batteries(self) -> tuple[BatteryReading, ...]:
        """The batteries."""
        return tuple(BatteryReading(*each.tolist()) for each in self._bus["battery"][: self._reader.n_batteries])

    @cached_property
    def motors(self) -> tuple[float, ...]:
        """Motor commands, 0 to 1."""
        return tuple(self._bus["command"]["motors"][: self._reader.n_motors].tolist())

    @cached_property
    def motor_currents_a(self) -> tuple[float, ...]:
        """True currents of the motors."""
        return tuple(self._bus["outputs"]["motor_current_a"][: self._reader.n_motors].tolist())

    @cached_property
    def pos_sp_ned(self) -> Vector:
        """Position setpoint [m]; NaN: none."""
        found: Vector = self._tuple("autopilot", "pos_sp_ned")
        return found

    @cached_property
    def vel_sp_ned(self) -> Vector:
        """Velocity setpoint [m/s]; NaN: none."""
        found: Vector = self._tuple("autopilot", "vel_sp_ned")
        return found

    @cached_property
    def acc_sp_ned(self) -> Vector:
        """Acceleration setpoint [m/s²]; NaN: none."""
        found: Vector = self._tuple("autopilot", "acc_sp_ned")
        return found

    @property
    def yaw_sp_rad(self) -> float:
        """Heading setpoint; NaN: none."""
        return float(self._bus["autopilot"]["yaw_sp"])

    @property
    def yawspeed_sp_rad_s(self) -> float:
        """Yaw rate setpoint; NaN: none."""
        return float(self._bus["autopilot"]["yawspeed_sp"])

    @cached_property
    def q_sp(self) -> Quaternion:
        """Attitude setpoint."""
        found: Quaternion = self._tuple("autopilot", "q_sp")
        return found

    @cached_property
    def rate_sp_body(self) -> Vector:
        """Setpoint of the body rates [rad/s]."""
        found: Vector = self._tuple("autopilot", "rate_sp_body")
        return found

    @property
    def thrust_sp(self) -> float:
        """Setpoint of the collective thrust, 0 to 1."""
        return -float(self._bus["autopilot"]["thrust_sp_body"][2])

    @cached_property
    def pressure_pa(self) -> float:
        """Static pressure."""
        ratio = 1.0 - LAPSE_K_M / SEA_LEVEL_K * self.position.alt_amsl_m
        return SEA_LEVEL_PA * math.pow(max(ratio, 0.0), EXPONENT)

    @property
    def temperature_c(self) -> float:
        """Air temperature."""
        return float(self._bus["outputs"]["air_temperature_k"]) - KELVIN


class StatusReader:
    """Reads the status of a simulation; `home` is the origin of its local frame."""

    def __init__(self, simulation: Simulation, home: GeoPoint) -> None:
        self._simulation, self._home = simulation, home
        records = plain(simulation.records)
        self._inputs, self._x = records["inputs"], records["state"]["x"][0]
        self._raw, self._layout = simulation.records["bus"].view(np.uint8).data, records["bus"].dtype
        traits, plant = records["plant"]["traits"][0], records["plant"][0]
        self.n_motors, self.n_batteries = int(traits["n_motors"]), int(traits["n_batteries"])
        first = int(plant["group_start"][ROTOR])
        self._rotors = slice(first, first + self.n_motors if first >= 0 else first)
        self._before: tuple[int, Vector, Vector] | None = None
        lat_rad = math.radians(home.lat_deg)
        self._sin_lat, self._cos_lat = math.sin(lat_rad), math.cos(lat_rad)

    def place(self, pos_ned: Vector) -> GeoPoint:
        """Return a position in the local frame as latitude, longitude and altitude: see `environment.projection`."""
        north, east = pos_ned[0] / EARTH_RADIUS_M, pos_ned[1] / EARTH_RADIUS_M
        angle = math.hypot(north, east)
        cosine, ratio = math.cos(angle), math.sin(angle) / angle if angle > 0.0 else 1.0
        north, east = north * ratio, east * ratio
        along = self._cos_lat * cosine - self._sin_lat * north
        lat_rad = math.atan2(self._sin_lat * cosine + self._cos_lat * north, math.hypot(east, along))
        lon_deg = self._home.lon_deg + math.degrees(math.atan2(east, along))
        lon_deg = (lon_deg + 180.0) % 360.0 - 180.0 if abs(lon_deg) > 180.0 else lon_deg
        return GeoPoint(math.degrees(lat_rad), lon_deg, self._home.alt_amsl_m - pos_ned[2])

    def read(self, time_us: int, reached: int, uploads: Uploads, landed_state: int) -> VehicleStatus:
        """Return the status; `time_us` is that of the service."""
        simulation, session = self._simulation, self._simulation.autopilot
        # copying the record by field takes 50 µs
        core, bus = simulation.records, np.frombuffer(self._raw.tobytes(), self._layout)[0]
        nav_state = session.selected_mode(core)
        now = Now(
            time_us=time_us,
            nav_state=nav_state,
            why_not_armable=session.why_not_armable(core, simulation.time_us),
            failsafe_delay_s=session.failsafe_delay_s(core, simulation.time_us),
            has_lost_station=session.has_lost_station(core),
            home_ned=session.home_ned(core),
            orbit=session.orbit(core),
            wind_ned=tuple(self._inputs["wind_ned"][0].tolist()),
            acc_body=self._specific_force(),
            rotor_rad_s=tuple(self._x[self._rotors].tolist()),
            landed_state=landed_state,
            mission=self._mission(bus["autopilot"], nav_state, reached, uploads),
        )
        return VehicleStatus(bus, now, self)

    def _specific_force(self) -> Vector:
        """Return the specific force since the last call, from the change of the true velocity."""
        x, time_us = self._x, self._simulation.time_us
        vel_ned: Any = tuple(x[VEL_START : VEL_START + 3].tolist())
        before = self._before
        if before is not None and before[0] == time_us:
            return before[2]
        acc: Any = (0.0, 0.0, 0.0)
        if before is not None:
            seconds = (time_us - before[0]) / 1e6
            acc = tuple((now - then) / seconds for now, then in zip(vel_ned, before[1], strict=True))
        w, i, j, k = x[ATT_START : ATT_START + 4].tolist()
        n, e, d = acc[0], acc[1], acc[2] - GRAVITY_M_S2
        force = (
            (1.0 - 2.0 * (j * j + k * k)) * n + 2.0 * (i * j + w * k) * e + 2.0 * (i * k - w * j) * d,
            2.0 * (i * j - w * k) * n + (1.0 - 2.0 * (i * i + k * k)) * e + 2.0 * (j * k + w * i) * d,
            2.0 * (i * k + w * j) * n + 2.0 * (j * k - w * i) * e + (1.0 - 2.0 * (i * i + j * j)) * d,
        )
        self._before = time_us, vel_ned, force
        return force

    def _mission(self, pilot: Any, nav_state: int, reached: int, uploads: Uploads) -> MissionStatus:
        session = self._simulation.autopilot
        state, item = NOT_STARTED, int(pilot["mission_item"])
        if not uploads.count:
            state = NO_MISSION
        elif pilot["mission_finished"] or session.returns_as_item(self._simulation.records):
            state = COMPLETE  # PX4: at the start of the return
        elif pilot["armed"] and nav_state == MISSION_MODE:
            state = ACTIVE
        elif reached >= 0 or item > 0:
            state = PAUSED
        current = session.uploaded_item(item)
        ids = uploads.mission_id, uploads.fence_id, uploads.rally_id
        return MissionStatus(uploads.count, current, reached, state, *ids)
