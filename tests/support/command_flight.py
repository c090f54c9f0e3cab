"""Seconds of a flight by commands: takeoff, orbit, modes of a pilot, places, lost sticks, a target, a lost station."""

import px4lockstep
from px4lockstep.scenario.commands import (
    Arm,
    ChangeAltitude,
    CommandRow,
    FollowTarget,
    GoTo,
    Heartbeat,
    Hold,
    Orbit,
    SetMode,
    SetParam,
    Sticks,
    Takeoff,
)
from px4lockstep.spec.spec import with_commands

POSITION, ALTITUDE, STABILIZED, ACRO, FOLLOW = 2, 1, 15, 10, 19
STICKS = Sticks(0.5, -0.4, 0.6, 0.7)
COMMANDS = (
    (0.04, Arm()),
    (0.06, GoTo(47.3978, 8.5456, 495.0)),
    (0.24, Takeoff(yaw_rad=1.0)),
    (2.1, Orbit(3.0, 1.0, yaw_behaviour=0)),
    (2.16, Orbit(-3.0, 1.0, yaw_behaviour=3)),
    *((2.0 + 0.06 * i, STICKS) for i in range(10)),
    (2.2, SetMode(POSITION)),
    (2.26, SetMode(ALTITUDE)),
    (2.32, SetMode(STABILIZED)),
    (2.38, SetMode(ACRO)),
    (2.44, GoTo(yaw_rad=0.3)),
    (2.5, Sticks(throttle=-0.5)),
    (2.5, SetMode(STABILIZED)),
    (2.56, Sticks()),
    (2.56, SetMode(POSITION)),
    (2.8, Hold()),
    (2.84, Sticks()),
    (2.98, FollowTarget(47.3978, 8.5456, 488.0, (1.0, 2.0, 0.0))),
    (3.0, SetMode(FOLLOW)),
    (3.1, ChangeAltitude(495.0)),
    (3.12, FollowTarget(47.3979, 8.5456, 488.0)),
    (3.14, SetParam("NAV_DLL_ACT", 2)),
    (3.16, Heartbeat()),
)
OVERRIDES = {
    "autopilot.params": {
        "COM_SPOOLUP_TIME": 0.1,
        "MPC_TKO_RAMP_T": 0.2,
        "COM_RC_LOSS_T": 0.1,
        "MIS_TAKEOFF_ALT": 2.0,
        "NAV_MC_ALT_RAD": 0.3,
    },
    "timeline.t_end_s": 3.2,
    "timeline.dt_phys_s": 0.004,
    "timeline.dt_wind_s": 0.02,
    "timeline.dt_log_s": 0.02,
    "plant.integrator": "Euler",
    "plant.contact": "flat_ground",
    "run.validate": "paranoid",
    "scenario.arm_time_s": 100.0,
    "scenario.mission_time_s": 100.0,
}


def digest_lines():
    """Fly it; yield both digests, the modes that it was in, and the results of the commands."""
    spec = px4lockstep.load_spec("iris", OVERRIDES)
    rows = sorted((CommandRow(round(at_s * 1e6), command) for at_s, command in COMMANDS), key=lambda row: row.time_us)
    sim = px4lockstep.build(with_commands(spec, rows), record=True).simulation.run()
    modes = sim.log["bus"]["autopilot"]["nav_state"]
    results = [row.result.code for row in sim.given_commands]
    yield f"{sim.digest()} {sim.live_digest()} {sorted(set(modes.tolist()))} {results}"
