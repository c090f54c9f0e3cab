"""Defaults of PX4Lockstep.jl, for files that were written for it: `compat = "px4lockstep.jl"`, or `--compat`.

Its files of schema version 1 load here in any case, but keys that they omit have other defaults there. This module is
the only place that knows them. Other files keep the defaults of this package; a file that could have been written for
PX4Lockstep.jl, because it uses none of the keys that only exist here, gets a warning that lists the differences.
"""

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any

from px4lockstep.errors import TimeError
from px4lockstep.part import Key, dotted, show
from px4lockstep.spec.shipped import shipped_aircraft
from px4lockstep.timebase import period_to_us

NAME = "px4lockstep.jl"
"""The value of the key `compat`."""

Tables = Mapping[str, Any]

DEFAULTS: dict[str, Any] = {
    "aircraft.seed": 1,
    "home.lat_deg": 47.397742,
    "home.lon_deg": 8.545594,
    "home.alt_msl_m": 488.0,
    "px4.derive_ca_params": True,
    "px4.strict_lockstep_rates": True,
    "autopilot.angular_acceleration": False,  # its host leaves `vehicle_angular_velocity.xyz_derivative` at 0
    "timeline.t_end_s": 20.0,
    "timeline.dt_autopilot_s": 0.004,
    "timeline.dt_wind_s": 0.001,
    "timeline.dt_log_s": 0.01,
    "environment.wind": "ou",
    "environment.wind_mean_ned": (0.0, 0.0, 0.0),
    "environment.wind_sigma_ned": (1.5, 1.5, 0.5),
    "environment.wind_tau_s": 3.0,
    "scenario.arm_time_s": 1.0,  # without a mission, too
    "estimator.kind": "noisy_delayed",
    "estimator.pos_sigma_m": (0.02, 0.02, 0.02),
    "estimator.vel_sigma_mps": (0.05, 0.05, 0.05),
    "estimator.yaw_sigma_rad": 0.01,
    "estimator.rate_sigma_rad_s": (0.005, 0.005, 0.005),
    "estimator.bias_tau_s": 50.0,
    "estimator.rate_bias_sigma_rad_s": (0.001, 0.001, 0.001),
    "plant.integrator.kind": "RK45",
    "airframe.mass_kg": 1.0,
    "airframe.inertia_diag_kgm2": (1.0, 1.0, 1.0),
    "run.mode": "live",
}
"""Its defaults, by key. Those of the integrator, the actuators and the estimator's delay follow in `defaults_of`."""

PLANT_TOLERANCES = {
    f"{name}_{group}": value
    for group in ("act", "actdot", "rotor", "soc", "v1")
    for name, value in (("rtol", 0.0), ("atol", math.inf))
}
ADAPTIVE = {
    **PLANT_TOLERANCES,
    **dict.fromkeys(("atol_pos", "atol_vel", "atol_omega", "atol_att_rad", "h_min"), 1e-6),
    "plant_error_control": False,
    "kink_tolerance": 1.0,  # it does not look for kinks
    "h_max": math.inf,
    "h_init": 0.0,
    "safety": 0.9,
    "min_factor": 0.2,
    "max_factor": 5.0,
    "quantize_us": True,
}
"""Defaults of both adaptive integrators."""
BY_KIND = {"rk23": {"rtol": 1e-6, "max_substeps": 10_000}, "rk45": {"rtol": 1e-7, "max_substeps": 50_000}}
"""Where the adaptive integrators differ; `rtol` is that of position, velocity and body rates."""
SECOND_ORDER = ("second_order", "secondorder")
OMEGA_N = 20.0
DELAY_TICKS = 2

KEYS = {
    "": (
        "schema_version extends aircraft home px4 timeline environment scenario estimator plant airframe actuation "
        "power sensors run"
    ),
    "aircraft": "name seed",
    "home": "lat_deg lon_deg alt_msl_m",
    "px4": "mission_path libpath edge_trigger derive_ca_params lockstep uorb params",
    "px4.lockstep": (
        "dataman_use_ram enable_commander commander_rate_hz navigator_rate_hz mc_pos_control_rate_hz "
        "mc_att_control_rate_hz mc_rate_control_rate_hz enable_control_allocator control_allocator_rate_hz"
    ),
    "px4.uorb": "pubs subs",
    "px4.uorb.pubs": "key type instance priority queue_size",
    "px4.uorb.subs": "key type instance",
    "px4.params": "name value",
    "timeline": "t_end_s dt_autopilot_s dt_wind_s dt_log_s dt_phys_s",
    "environment": (
        "wind wind_mean_ned wind_sigma_ned wind_tau_s atmosphere gravity gravity_mps2 gravity_mu gravity_r0_m"
    ),
    "scenario": "arm_time_s mission_time_s",
    "estimator": (
        "kind pos_sigma_m vel_sigma_mps yaw_sigma_rad rate_sigma_rad_s bias_tau_s rate_bias_sigma_rad_s delay_s "
        "dt_est_s"
    ),
    "plant": "integrator contact",
    "plant.integrator": (
        "kind rtol_pos atol_pos rtol_vel atol_vel rtol_omega atol_omega atol_att_rad plant_error_control rtol_act "
        "atol_act rtol_actdot atol_actdot rtol_rotor atol_rotor rtol_soc atol_soc rtol_v1 atol_v1 h_min h_max h_init "
        "max_substeps safety min_factor max_factor quantize_us"
    ),
    "plant.contact": "kind k_n_per_m c_n_per_mps mu v_eps enable_friction",
    "airframe": (
        "kind mass_kg inertia_diag_kgm2 inertia_products_kgm2 inertia_kgm2 rotor_pos_body_m rotor_axis_body_m "
        "linear_drag angular_damping x0 propulsion"
    ),
    "airframe.x0": "pos_ned vel_ned q_bn euler_deg euler_rad omega_body",
    "airframe.propulsion": (
        "kind km_m V_nom rho_nom rotor_radius_m inflow_kT inflow_kQ rotor_dir thrust_calibration_mult esc motor"
    ),
    "airframe.propulsion.esc": "eta deadzone",
    "airframe.propulsion.motor": "kv_rpm_per_volt r_ohm j_kgm2 i0_a viscous_friction_nm_per_rad_s max_current_a",
    "actuation": "motors servos motor_actuators servo_actuators",
    "actuation.motors": "id channel",
    "actuation.servos": "id channel",
    "actuation.motor_actuators": "kind tau_s omega_n zeta rate_limit",
    "actuation.servo_actuators": "kind tau_s omega_n zeta rate_limit",
    "power": "batteries buses share_mode",
    "power.batteries": (
        "id model capacity_ah soc0 ocv_soc ocv_v r0 r1 c1 v1_0 min_voltage_v low_thr crit_thr emerg_thr"
    ),
    "power.buses": "id battery_ids motor_ids servo_ids avionics_load_w",
    "sensors": "kind id uorb_instance",
    "run": "mode recording_in recording_out log_csv",
}
"""Its keys by table, in the canonical spelling."""


def defaults_of(data: Tables) -> dict[Key, Any]:
    """Return its defaults that apply to the merged tables of a file, by key, whether or not the file has the key."""
    found = dict(DEFAULTS)
    kind = _lower(_at(data, ("plant", "integrator", "kind"))) or "rk45"
    if kind in BY_KIND:
        rtol, own = BY_KIND[kind]["rtol"], ADAPTIVE | {"max_substeps": BY_KIND[kind]["max_substeps"]}
        own |= dict.fromkeys(("rtol_pos", "rtol_vel", "rtol_omega"), rtol)
        found |= {f"plant.integrator.{name}": value for name, value in own.items()}
    for name in ("motor_actuators", "servo_actuators"):
        if _lower(_at(data, ("actuation", name, "kind"))) in SECOND_ORDER:
            found[f"actuation.{name}.omega_n"] = OMEGA_N
    tick_s = _at(data, ("timeline", "dt_autopilot_s"))
    try:
        tick_us = period_to_us(DEFAULTS["timeline.dt_autopilot_s"] if tick_s is None else tick_s, "tick")
        found["estimator.delay_s"] = DELAY_TICKS * tick_us / 1e6
    except (TimeError, TypeError):  # reported when the table is validated
        pass
    if _at(data, ("airframe", "inertia_kgm2")) is not None:
        del found["airframe.inertia_diag_kgm2"]
    events = _at(data, ("scenario", "events"))
    if isinstance(events, tuple) and any(isinstance(item, dict) and item.get("action") == "arm" for item in events):
        del found["scenario.arm_time_s"]
    return {tuple(name.split(".")): value for name, value in found.items()}


def with_defaults(data: Tables) -> dict[str, Any]:
    """Return the merged tables of a file, with its defaults where `compat` asks for them."""
    filled = dict(data)
    if _lower(data.get("compat")) == NAME:
        for key, value in defaults_of(data).items():
            _fill(filled, key, value)
    return filled


def is_theirs(data: Tables, files: Iterator[str]) -> bool:
    """Return whether merged files could have been written for PX4Lockstep.jl: they have only its keys."""
    built_in = {str(path) for path in shipped_aircraft().values()}
    return not any(file in built_in for file in files) and not any(_own_keys(data, ""))


def differences(data: Tables, tables: Tables, name: str) -> tuple[str, ...]:
    """Return one warning if a file relies on defaults that differ from PX4Lockstep.jl's; `tables` are final."""
    found, controls_plant = [], _at(data, ("plant", "integrator", "plant_error_control"))
    for key, theirs in defaults_of(data).items():
        if key[-1] in PLANT_TOLERANCES and not controls_plant:
            continue  # without effect there
        ours = functools.reduce(getattr, map(str, key[1:]), tables[str(key[0])])
        if _at(data, key) is None and ours != theirs:
            found.append(f"{dotted(key)} = {'none' if ours is None else show(ours)} (there {show(theirs)})")
    if not found:
        return ()
    text = f"{name} uses only keys of PX4Lockstep.jl, which has other defaults for keys that it omits"
    return (f'{text}: {", ".join(found)}. Set compat = "{NAME}" or use --compat for its defaults',)


def _lower(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _at(data: Tables, key: Key) -> Any:
    """Return the value at a key, or None; a plain string instead of a table is its `kind`."""
    value: Any = data
    for name in key:
        if isinstance(value, str) and name == "kind":
            return value
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _fill(table: dict[str, Any], key: Key, value: Any) -> None:
    """Set a key that is missing, in copies of the tables around it; leave a value that is not a table as it is."""
    name, *rest = map(str, key)
    if not rest:
        table.setdefault(name, value)
        return
    inner = table.get(name, {})
    if isinstance(inner, str):
        inner = {"kind": inner}
    if isinstance(inner, Mapping):
        table[name] = dict(inner)
        _fill(table[name], tuple(rest), value)


def _own_keys(value: Any, table: str) -> Iterator[str]:
    """Yield the keys of a table, or of an array of tables, that PX4Lockstep.jl does not have."""
    if isinstance(value, tuple):
        for item in value:
            yield from _own_keys(item, table)
    elif isinstance(value, Mapping):
        theirs = KEYS.get(table, "").split()
        for name, item in value.items():
            own = f"{table}.{name}" if table else name
            if name not in theirs:
                yield own
            elif own in KEYS:
                yield from _own_keys(item, own)
