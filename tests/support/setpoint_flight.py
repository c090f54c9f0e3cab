"""Two seconds in setpoint mode, with setpoints of all kinds from a table and events, a loss, and a new parameter."""

import math

import px4lockstep

NAN = (math.nan, math.nan, math.nan)
TABLE = {
    "time_s": (0.2, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4),
    "pos_ned": ((0.0, 0.0, -3.0), NAN, (math.nan, math.nan, -2.0), NAN, NAN, NAN, (0.0, 0.0, -2.0)),
    "vel_ned": (NAN, (1.0, 0.0, -1.0), (0.0, 1.0, math.nan), NAN, NAN, NAN, NAN),
    "acc_ned": (NAN, NAN, NAN, (0.3, 0.0, -1.0), NAN, NAN, NAN),
    "yaw_rad": (0.5, math.nan, math.nan, math.nan, math.nan, math.nan, -3.0),
    "attitude_rad": (NAN, NAN, NAN, NAN, (0.1, -0.05, 1.0), NAN, NAN),
    "omega_body": (NAN, NAN, NAN, NAN, NAN, (0.4, math.nan, 0.0), NAN),
    "thrust": (*[math.nan] * 4, 0.7, 0.7, math.nan),
    "interpolate": "linear",
}
EVENTS = [
    {"at_s": 0.7, "action": "set_param", "name": "MPC_XY_P", "value": 1.5},
    {"at_s": 1.5, "action": "setpoint", "pos_ned": (1.0, 0.0, -2.0), "yaw_rad": 1.0},
    {"at_s": 1.6, "action": "stop_setpoints"},
    {"at_s": 1.8, "action": "setpoint", "vel_ned": (0.0, 0.0, 0.5)},
]
OVERRIDES = {
    "autopilot.params": {"COM_SPOOLUP_TIME": 0.1, "MPC_TKO_RAMP_T": 0.2, "COM_OF_LOSS_T": 0.1, "COM_OBL_RC_ACT": 5},
    "scenario.arm_time_s": 0.1,
    "scenario.setpoints": TABLE,
    "scenario.events": EVENTS,
    "timeline.t_end_s": 2.0,
    "timeline.dt_phys_s": 0.004,
    "timeline.dt_wind_s": 0.02,
    "timeline.dt_log_s": 0.02,
    "plant.integrator": "Euler",
    "plant.contact": "flat_ground",
    "run.validate": "paranoid",
}


def digest_lines():
    """Fly it; yield both digests, and the modes that it was in."""
    sim = px4lockstep.build(px4lockstep.load_spec("iris", OVERRIDES), record=True).simulation.run()
    modes = sim.log["bus"]["autopilot"]["nav_state"]
    yield f"{sim.digest()} {sim.live_digest()} {sorted(set(modes.tolist()))}"
