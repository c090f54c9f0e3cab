"""The built-in autopilot as a user makes it: mission, parameters and options, checked and written into its record."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from px4lockstep.autopilots.base import NativeAutopilot, Record, Session, WriteRecord
from px4lockstep.autopilots.builtin.allocation import PITCH, ROLL, THRUST_Z, YAW, effectiveness, rank, write_allocation
from px4lockstep.autopilots.builtin.attitude_control import yaw_series
from px4lockstep.autopilots.builtin.control_model import KnownAircraft
from px4lockstep.autopilots.builtin.hover_thrust import HOVER_MIN
from px4lockstep.autopilots.builtin.motor_failure import NONE as NO_MOTOR
from px4lockstep.autopilots.builtin.navigator import MAX_ITEMS
from px4lockstep.autopilots.builtin.position_control import ONE_G
from px4lockstep.autopilots.builtin.resume import BuiltinSession
from px4lockstep.autopilots.builtin.schedule import period_us
from px4lockstep.autopilots.kinds import KINDS
from px4lockstep.checks import check_kind
from px4lockstep.environment.projection import MapProjection
from px4lockstep.errors import InputError
from px4lockstep.jit import interpreted, plain
from px4lockstep.math.exponential import exp
from px4lockstep.math.trigonometry import sincos
from px4lockstep.px4.missions import Mission, MissionItem, load_mission
from px4lockstep.px4.parameters import resolve

MAX_RATE_HZ = 1_000_000
"""A period of a microsecond."""
DEFAULT_RADIUS_M = 1.0
"""Of an item without an acceptance radius, as the real library's loader has it."""
FILTER_PERIOD_S = 0.01
"""That PX4 computes the coefficients of the velocity filters for, whatever the tick."""

USED = frozenset(
    (
        "CA_METHOD",
        "COM_DISARM_LAND",
        "COM_LOW_BAT_ACT",
        "COM_SPOOLUP_TIME",
        "GF_ACTION",
        "GF_MAX_HOR_DIST",
        "GF_MAX_VER_DIST",
        "HTE_ACC_GATE",
        "HTE_HT_ERR_INIT",
        "HTE_HT_NOISE",
        "HTE_THR_RANGE",
        "IMU_DGYRO_CUTOFF",
        "LNDMC_ROT_MAX",
        "LNDMC_TRIG_TIME",
        "LNDMC_XY_VEL_MAX",
        "LNDMC_Z_VEL_MAX",
        "MC_BAT_SCALE_EN",
        "MC_PITCHRATE_D",
        "MC_PITCHRATE_FF",
        "MC_PITCHRATE_I",
        "MC_PITCHRATE_K",
        "MC_PITCHRATE_MAX",
        "MC_PITCHRATE_P",
        "MC_PITCH_P",
        "MC_PR_INT_LIM",
        "MC_ROLLRATE_D",
        "MC_ROLLRATE_FF",
        "MC_ROLLRATE_I",
        "MC_ROLLRATE_K",
        "MC_ROLLRATE_MAX",
        "MC_ROLLRATE_P",
        "MC_ROLL_P",
        "MC_RR_INT_LIM",
        "MC_YAWRATE_D",
        "MC_YAWRATE_FF",
        "MC_YAWRATE_I",
        "MC_YAWRATE_K",
        "MC_YAWRATE_MAX",
        "MC_YAWRATE_P",
        "MC_YAW_P",
        "MC_YAW_TQ_CUTOFF",
        "MC_YAW_WEIGHT",
        "MC_YR_INT_LIM",
        "MIS_YAW_ERR",
        "MIS_YAW_TMT",
        "MPC_ACC_DECOUPLE",
        "MPC_ACC_DOWN_MAX",
        "MPC_ACC_HOR",
        "MPC_ACC_UP_MAX",
        "MPC_JERK_AUTO",
        "MPC_LAND_ALT1",
        "MPC_LAND_ALT2",
        "MPC_LAND_SPEED",
        "MPC_THR_HOVER",
        "MPC_THR_MAX",
        "MPC_THR_MIN",
        "MPC_THR_XY_MARG",
        "MPC_TILTMAX_AIR",
        "MPC_TILTMAX_LND",
        "MPC_TKO_RAMP_T",
        "MPC_TKO_SPEED",
        "MPC_USE_HTE",
        "MPC_VELD_LP",
        "MPC_VEL_LP",
        "MPC_XY_CRUISE",
        "MPC_XY_ERR_MAX",
        "MPC_XY_P",
        "MPC_XY_TRAJ_P",
        "MPC_XY_VEL_D_ACC",
        "MPC_XY_VEL_I_ACC",
        "MPC_XY_VEL_MAX",
        "MPC_XY_VEL_P_ACC",
        "MPC_YAWRAUTO_ACC",
        "MPC_YAWRAUTO_MAX",
        "MPC_YAW_MODE",
        "MPC_Z_P",
        "MPC_Z_VEL_D_ACC",
        "MPC_Z_VEL_I_ACC",
        "MPC_Z_VEL_MAX_DN",
        "MPC_Z_VEL_MAX_UP",
        "MPC_Z_VEL_P_ACC",
        "MPC_Z_V_AUTO_DN",
        "MPC_Z_V_AUTO_UP",
        "NAV_ACC_RAD",
        "NAV_MC_ALT_RAD",
        "RTL_CONE_ANG",
        "RTL_DESCEND_ALT",
        "RTL_LAND_DELAY",
        "RTL_MIN_DIST",
        "MIS_DIST_1WP",
        "RTL_RETURN_ALT",
        "THR_MDL_FAC",
    )
)
"""The parameters that the built-in autopilot has a use for, besides CA_ROTORi_*; to change another is an error."""
WITH_OPTION = {"LNDMC_": "set land_detector to 'estimate'", "HTE_": "switch hover_thrust_estimate on"}
"""What to do for those that have a use only with an option."""
GEOMETRY = ("PX", "PY", "PZ", "AX", "AY", "AZ", "KM", "CT")

Params = Mapping[str, float | int]


@dataclass(frozen=True)
class Rates:
    """How often the modules run [Hz]; 0 is at every tick. The defaults are the real library's."""

    navigator_hz: int = 20
    position_hz: int = 100
    attitude_hz: int = 250
    rate_hz: int = 250
    allocation_hz: int = 250

    def __post_init__(self) -> None:
        """Check that they are whole and not too fast for microseconds."""
        for name, hz in vars(self).items():
            if not isinstance(hz, int) or isinstance(hz, bool) or hz > MAX_RATE_HZ:
                raise InputError(
                    f"rates.{name} = {hz!r} must be a whole number of at most {MAX_RATE_HZ}; 0 is every tick"
                )


@dataclass(frozen=True)
class Builtin(NativeAutopilot):
    """The built-in autopilot.

    Args:
        mission: A `Mission`, or the path of its file; None can take off for nothing, but return and land.
        params: PX4 parameters that differ from their defaults, by name.
        home_lat_deg: Latitude of the origin.
        home_lon_deg: Longitude of the origin.
        rates: How often its modules run.
        strict_rates: Whether a tick longer than a module's period is an error.
        motor_failure_detection: Whether a motor that draws no current is taken out of the allocation.
        hover_thrust_estimate: Whether the hover thrust is estimated in flight (`MPC_USE_HTE` must be 1, its default);
            off, as in the real library, whose build has no estimator of it.
        land_detector: `host` takes the scenario's `landed`, as the real library does its host's; `estimate` decides by
            itself, by the LNDMC parameters.
        angular_acceleration: Whether rate control gets the derivative of the rates; `False` reproduces the recorded
            flights of the real library, whose host left it zero.

    Raises:
        InputError: If the mission or a parameter is wrong.
    """

    capabilities: ClassVar = KINDS["builtin"].capabilities
    record: ClassVar = "builtin"

    mission: Mission | str | Path | None = None
    params: Params = field(default_factory=dict)
    home_lat_deg: float = 47.397742
    home_lon_deg: float = 8.545594
    rates: Rates = field(default_factory=Rates)
    strict_rates: bool = False
    motor_failure_detection: bool = True
    hover_thrust_estimate: bool = False
    land_detector: str = "host"
    angular_acceleration: bool = True

    def __post_init__(self) -> None:
        """Read the mission, check the parameters."""
        if isinstance(self.mission, str | Path):
            object.__setattr__(self, "mission", load_mission(self.mission))
        check_kind("land_detector", self.land_detector, {"host": 0, "estimate": 1})
        values = resolve(self.params)
        unused = [name for name in self.params if not self._has_use_for(name)]
        if unused:
            options = [
                option for start, option in WITH_OPTION.items() if any(name.startswith(start) for name in unused)
            ]
            them = "it" if len(unused) == 1 else "them"
            raise InputError(
                f"params {', '.join(unused)}: PX4 has {them}, but the built-in autopilot has no use for {them}; "
                f"leave {them} out, or {' and '.join(options) or 'fly real PX4'}"
            )
        if values["COM_LOW_BAT_ACT"] not in (0, 1, 2, 3):
            raise InputError(f"COM_LOW_BAT_ACT = {values['COM_LOW_BAT_ACT']} is unknown; allowed are 0 to 3")
        if values["CA_METHOD"] not in (1, 2):
            raise InputError(
                f"CA_METHOD = {values['CA_METHOD']} is not built in; allowed are 1 and 2 (sequential desaturation)"
            )
        if self.mission is not None and len(self._items) > MAX_ITEMS:
            raise InputError(
                f"the mission has {len(self._items)} items; the built-in autopilot has room for {MAX_ITEMS}"
            )
        self._check_distance(values["MIS_DIST_1WP"])

    def _has_use_for(self, name: str) -> bool:
        """Return whether a parameter changes anything, with these options."""
        if name.startswith("CA_ROTOR"):
            return name.rpartition("_")[2] in GEOMETRY
        if name.startswith("LNDMC_"):
            return name in USED and self.land_detector == "estimate"
        if name.startswith("HTE_"):
            return name in USED and self.hover_thrust_estimate
        return name in USED

    @property
    def _items(self) -> tuple[MissionItem, ...]:
        assert self.mission is None or isinstance(self.mission, Mission)
        return self.mission.items if self.mission is not None else ()

    def effective_rates(self, autopilot_period_us: int) -> dict[str, float]:
        """Return how often each module really runs at a tick [Hz]: no phase is kept."""
        rates = {}
        for name, hz in vars(self.rates).items():
            ticks = max(1, -(-period_us(hz) // autopilot_period_us))
            rates[name.removesuffix("_hz")] = 1e6 / (ticks * autopilot_period_us)
        return rates

    # -- writing ---------------------------------------------------------------------------------------------------

    def open(self, record: Record, plant: object, period_us: int, write: WriteRecord) -> Session:
        """Write its record, unless the build cache has it; all of its state is there."""
        write(_write_record, self, KnownAircraft.of(plant), period_us)
        return BuiltinSession(self.capabilities)

    def write(self, record: Any, known: KnownAircraft, autopilot_period_us: int) -> None:
        """Write everything into a `BUILTIN` record.

        Raises:
            InputError: If the aircraft is none that it can fly, or, with strict rates, if a tick is too long.
        """
        self._check_rates(autopilot_period_us)
        p = resolve(self.params)
        record["period_s"] = autopilot_period_us / 1e6
        for name in ("navigator", "position", "attitude", "rate", "allocation"):
            record[f"{name}_module"]["period_us"] = period_us(getattr(self.rates, f"{name}_hz"))
        for i, channel in enumerate(known.channels):
            record["channel"][i] = channel - 1
        self._write_limits(record, p, known.full_battery_v)
        _write_commander(record["commander"], p, known.batteries)
        _write_flight_task(record["flight_task"], p)
        _write_takeoff(record["takeoff"], p)
        _write_hover(record["hover"], p, self.hover_thrust_estimate and p["MPC_USE_HTE"] == 1)
        _write_position(record["position"], p)
        _write_attitude(record["attitude"], p)
        _write_rate(record["rate"], p, self.angular_acceleration)
        self._write_allocation(record["allocation"], record["motor_failure"], p, known)
        _write_navigator(record["navigator"], p)
        _write_land_detector(record["land_detector"], p, self.land_detector == "estimate")
        self._write_mission(record["navigator"], known.home_alt_msl_m)
        identity = hashlib.blake2b(record.tobytes(), digest_size=8).digest()
        record["identity"] = int.from_bytes(identity, "little", signed=True)

    def _check_rates(self, autopilot_period_us: int) -> None:
        if not self.strict_rates:
            return
        for name, hz in vars(self.rates).items():
            if 0 < period_us(hz) < autopilot_period_us:
                raise InputError(
                    f"rates.{name} = {hz}: a tick of {autopilot_period_us} us is longer than its period of "
                    f"{period_us(hz)} us; use a shorter tick or a rate of at most {1_000_000 // autopilot_period_us}"
                )

    def _write_limits(self, record: Any, p: Params, full_battery_v: float) -> None:
        record["thrust_min"] = p["MPC_THR_MIN"]
        record["tilt_air_rad"] = math.radians(min(p["MPC_TILTMAX_AIR"], 89.0))
        record["tilt_land_rad"] = math.radians(min(p["MPC_TILTMAX_LND"], p["MPC_TILTMAX_AIR"]))
        record["speed_up_m_s"] = p["MPC_Z_VEL_MAX_UP"]
        record["speed_down_m_s"] = p["MPC_Z_VEL_MAX_DN"]
        record["thrust_curve"] = p["THR_MDL_FAC"]
        record["full_battery_v"] = full_battery_v if p["MC_BAT_SCALE_EN"] else 0.0

    def _write_allocation(self, allocation: Any, failure: Any, p: Params, known: KnownAircraft) -> None:
        """Derive PX4's CA_ROTORi_* from the aircraft, unless they are given."""
        failure["is_on"] = self.motor_failure_detection
        failure["failed"] = NO_MOTOR
        failure["dead_since_us"] = -1
        rotors = {f"CA_ROTOR{i}_{name}" for i in range(len(known.rotors)) for name in GEOMETRY}
        missing = [name for name in self.params if name.startswith("CA_ROTOR") and name not in rotors]
        if missing:
            raise InputError(f"params {', '.join(missing)}: {known.name} has rotors 0 to {len(known.rotors) - 1}")
        geometry: dict[str, float] = {}
        for i, rotor in enumerate(known.rotors):
            axis = [-value for value in rotor.axis_body]
            own = [*rotor.pos_body_m, *axis, rotor.direction * known.km_m, p[f"CA_ROTOR{i}_CT"]]
            geometry |= {f"CA_ROTOR{i}_{name}": value for name, value in zip(GEOMETRY, own, strict=True)}
        derived = resolve(geometry) | {name: p[name] for name in self.params}
        columns = {name: [derived[f"CA_ROTOR{i}_{name}"] for i in range(len(known.rotors))] for name in GEOMETRY}
        positions = list(zip(columns["PX"], columns["PY"], columns["PZ"], strict=True))
        axes = list(zip(columns["AX"], columns["AY"], columns["AZ"], strict=True))
        b = effectiveness(positions, axes, columns["KM"], columns["CT"])
        if rank([b[axis] for axis in (ROLL, PITCH, YAW, THRUST_Z)]) < 4:
            raise InputError(
                f"the built-in autopilot can't fly {known.name}: its rotors must give thrust along the body's z "
                "axis and torque about all three axes, independently of each other"
            )
        write_allocation(allocation, failure, b)

    def _check_distance(self, limit_m: float) -> None:
        """Refuse a mission that begins far from home, as PX4 does: it was made for another place."""
        projection = MapProjection(self.home_lat_deg, self.home_lon_deg)
        for item in self._items:
            if item.command.has_position:
                north_m, east_m = projection.to_local(item.lat_deg, item.lon_deg)
                away_m = math.sqrt(north_m * north_m + east_m * east_m)
                if 0.0 < limit_m < away_m:
                    raise InputError(
                        f"the mission begins {away_m:.0f} m from home; MIS_DIST_1WP allows {limit_m:.0f} m. Is home "
                        f"({self.home_lat_deg}, {self.home_lon_deg}) the mission's?"
                    )
                return

    def _write_mission(self, navigator: Any, home_alt_msl_m: float) -> None:
        projection = MapProjection(self.home_lat_deg, self.home_lon_deg)
        navigator["count"] = len(self._items)
        navigator["leg"]["cruise_m_s"] = math.nan
        for record, item in zip(navigator["items"], self._items, strict=False):
            record["command"] = item.command
            if item.command.has_position:
                height_m = item.alt_m if item.is_relative_alt else item.alt_m - home_alt_msl_m
                record["pos_ned"] = (*projection.to_local(item.lat_deg, item.lon_deg), -height_m)
            record["hold_s"] = item.hold_s
            record["radius_m"] = item.acceptance_radius_m if item.acceptance_radius_m > 0.0 else DEFAULT_RADIUS_M
            record["yaw"] = math.radians(item.yaw_deg)
            record["speed_m_s"] = item.speed_m_s
            record["jump_to"] = item.jump_to
            record["jump_repeats"] = item.jump_repeats


def _write_record(record: Record, builtin: Builtin, known: KnownAircraft, period_us: int) -> None:
    builtin.write(plain(record)[0], known, period_us)


def low_pass_weight(cutoff_hz: float, sample_s: float) -> float:
    """Return the weight of a new sample in a first-order low-pass, held exactly between samples; 1 if it is off."""
    return 1.0 - float(interpreted(exp)(-2.0 * math.pi * cutoff_hz * sample_s)) if cutoff_hz > 0.0 else 1.0


def time_constant_s(cutoff_hz: float) -> float:
    """Return the time constant of a low-pass; 0 if it is off."""
    return 1.0 / (2.0 * math.pi * cutoff_hz) if cutoff_hz > 0.0 else 0.0


def _write_commander(c: Any, p: Params, n_batteries: int) -> None:
    c["n_batteries"] = n_batteries
    c["low_battery_action"] = p["COM_LOW_BAT_ACT"]
    c["disarm_land_us"] = round(p["COM_DISARM_LAND"] * 1e6) if p["COM_DISARM_LAND"] >= 0.0 else -1
    c["fence_radius_m"] = p["GF_MAX_HOR_DIST"]
    c["fence_height_m"] = p["GF_MAX_VER_DIST"]
    c["fence_action"] = p["GF_ACTION"]
    c["lost_since_us"] = -1


def _inverse(value: float) -> float:
    """Return 1/value; 0 for 0, with which nothing is planned."""
    return 1.0 / value if value > 0.0 else 0.0


def _write_flight_task(task: Any, p: Params) -> None:
    task["acc_up"] = p["MPC_ACC_UP_MAX"]
    task["acc_down"] = p["MPC_ACC_DOWN_MAX"]
    task["cruise_m_s"] = min(p["MPC_XY_CRUISE"], p["MPC_XY_VEL_MAX"])
    task["speed_max_m_s"] = p["MPC_XY_VEL_MAX"]
    task["speed_up_m_s"] = min(p["MPC_Z_V_AUTO_UP"], p["MPC_Z_VEL_MAX_UP"])
    task["speed_down_m_s"] = min(p["MPC_Z_V_AUTO_DN"], p["MPC_Z_VEL_MAX_DN"])
    task["takeoff_speed_m_s"] = min(p["MPC_TKO_SPEED"], p["MPC_Z_VEL_MAX_UP"])
    task["takeoff_ramp_s"] = p["MPC_TKO_RAMP_T"]
    task["land_speed_m_s"] = min(p["MPC_LAND_SPEED"], p["MPC_Z_VEL_MAX_DN"])
    task["land_speed_max_m_s"] = p["MPC_Z_VEL_MAX_DN"]
    task["land_alt1_m"] = max(p["MPC_LAND_ALT1"], p["MPC_LAND_ALT2"])
    task["land_alt2_m"] = p["MPC_LAND_ALT2"]
    task["yaw_mode"] = p["MPC_YAW_MODE"]
    task["yaw_error_rad"] = math.radians(p["MIS_YAW_ERR"])
    smoothing = task["smoothing"]
    smoothing["max_error_xy_m"] = p["MPC_XY_ERR_MAX"]
    smoothing["acceptance_z_m"] = p["NAV_MC_ALT_RAD"]
    smoothing["turn_acc_gain"] = p["MPC_XY_TRAJ_P"]
    smoothing["axes"]["max_jerk"] = p["MPC_JERK_AUTO"]
    smoothing["axes"]["inverse_jerk"] = _inverse(p["MPC_JERK_AUTO"])
    smoothing["axes"]["max_acc"] = p["MPC_ACC_HOR"]
    smoothing["axes"]["max_vel"] = p["MPC_XY_VEL_MAX"]
    heading = task["heading"]
    heading["max_vel"] = 2.0 * math.pi  # its velocity is a heading
    heading["max_acc"] = math.radians(p["MPC_YAWRAUTO_MAX"])
    heading["max_jerk"] = math.radians(p["MPC_YAWRAUTO_ACC"])
    heading["inverse_jerk"] = _inverse(math.radians(p["MPC_YAWRAUTO_ACC"]))


def _write_takeoff(takeoff: Any, p: Params) -> None:
    takeoff["spoolup_us"] = round(p["COM_SPOOLUP_TIME"] * 1e6)
    takeoff["ramp_time_s"] = p["MPC_TKO_RAMP_T"]
    takeoff["ramp_start_m_s"] = -ONE_G / max(p["MPC_Z_VEL_P_ACC"], 0.01)


def _write_hover(hover: Any, p: Params, is_on: bool) -> None:
    hover["is_on"] = is_on
    hover["initial"] = max(min(max(p["MPC_THR_HOVER"], p["MPC_THR_MIN"]), p["MPC_THR_MAX"]), HOVER_MIN)
    hover["initial_deviation"] = p["HTE_HT_ERR_INIT"]
    hover["noise"] = p["HTE_HT_NOISE"]
    hover["gate"] = p["HTE_ACC_GATE"]
    hover["range"] = p["HTE_THR_RANGE"]


def _write_position(control: Any, p: Params) -> None:
    for i, axis in enumerate(("XY", "XY", "Z")):
        control["pos_p"][i] = p[f"MPC_{axis}_P"]
        control["vel_p"][i] = p[f"MPC_{axis}_VEL_P_ACC"]
        control["vel_i"][i] = p[f"MPC_{axis}_VEL_I_ACC"]
        control["vel_d"][i] = p[f"MPC_{axis}_VEL_D_ACC"]
    control["vel_weight"] = low_pass_weight(p["MPC_VEL_LP"], FILTER_PERIOD_S)
    control["acc_weight"] = low_pass_weight(p["MPC_VELD_LP"], FILTER_PERIOD_S)
    control["speed_max_m_s"] = p["MPC_XY_VEL_MAX"]
    control["thrust_max"] = p["MPC_THR_MAX"]
    control["thrust_margin_xy"] = p["MPC_THR_XY_MARG"]
    control["is_decoupled"] = p["MPC_ACC_DECOUPLE"]
    control["hover_thrust"] = p["MPC_THR_HOVER"]


def _write_attitude(control: Any, p: Params) -> None:
    weight = min(max(p["MC_YAW_WEIGHT"], 0.0), 1.0)
    control["p"] = (p["MC_ROLL_P"], p["MC_PITCH_P"], p["MC_YAW_P"] / weight if weight > 1e-4 else p["MC_YAW_P"])
    control["yaw_weight"] = weight
    control["yaw_sine"], control["yaw_cosine"] = yaw_series(weight)
    for i, axis in enumerate(("ROLL", "PITCH", "YAW")):
        control["rate_limit_rad_s"][i] = math.radians(p[f"MC_{axis}RATE_MAX"])


def _write_rate(control: Any, p: Params, has_derivative: bool) -> None:
    for i, axis in enumerate(("ROLL", "PITCH", "YAW")):
        gain = p[f"MC_{axis}RATE_K"]
        control["p"][i] = gain * p[f"MC_{axis}RATE_P"]
        control["i"][i] = gain * p[f"MC_{axis}RATE_I"]
        control["d"][i] = gain * p[f"MC_{axis}RATE_D"]
        control["ff"][i] = p[f"MC_{axis}RATE_FF"]
        control["integral_limit"][i] = p[f"MC_{axis[0]}R_INT_LIM"]
    control["yaw_torque_tau_s"] = time_constant_s(p["MC_YAW_TQ_CUTOFF"])
    control["has_derivative"] = has_derivative
    control["derivative_tau_s"] = time_constant_s(p["IMU_DGYRO_CUTOFF"])


def _write_land_detector(detector: Any, p: Params, is_on: bool) -> None:
    detector["is_on"] = is_on
    detector["speed_z_m_s"] = p["LNDMC_Z_VEL_MAX"]
    detector["speed_xy_m_s"] = p["LNDMC_XY_VEL_MAX"]
    detector["rate_rad_s"] = math.radians(p["LNDMC_ROT_MAX"])
    detector["trigger_us"] = round(p["LNDMC_TRIG_TIME"] * 1e6)
    detector["moved_us"] = -detector["trigger_us"]  # it begins on the ground


def _write_navigator(nav: Any, p: Params) -> None:
    nav["acceptance_m"] = p["NAV_ACC_RAD"]
    nav["acceptance_z_m"] = p["NAV_MC_ALT_RAD"]
    nav["yaw_error_rad"] = math.radians(p["MIS_YAW_ERR"])
    nav["yaw_timeout_s"] = p["MIS_YAW_TMT"]
    nav["return_alt_m"] = p["RTL_RETURN_ALT"]
    nav["descend_alt_m"] = p["RTL_DESCEND_ALT"]
    nav["land_delay_s"] = p["RTL_LAND_DELAY"]
    angle = p["RTL_CONE_ANG"]
    sine, cosine = interpreted(sincos)(math.radians(min(max(angle, 1), 89)))
    nav["cone_tangent"] = sine / cosine if angle > 0 else 0.0
    nav["return_min_m"] = p["RTL_MIN_DIST"]
    nav["brake_acc"] = p["MPC_ACC_HOR"]
    nav["brake_jerk"] = p["MPC_JERK_AUTO"]
