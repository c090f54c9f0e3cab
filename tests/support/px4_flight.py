"""Flights with the conformance double of PX4's library; in one of them, PX4 refuses the mission, and a step fails."""

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
from px4_double import OPTIONS
from px4_runs import SHORT, flight_of

from px4lockstep.campaigns.tilt import tilts_deg
from px4lockstep.errors import SimulationError
from px4lockstep.log.angles import euler_angles

LOGGED = {"px4.uorb.preset": "state_injection", "px4.uorb.subs": [{"key": "a", "type": "ControlAllocatorStatus"}]}
COARSE = {
    "timeline.dt_phys_s": 0.004,
    "timeline.dt_wind_s": 0.02,
    "timeline.dt_log_s": 0.02,
    "plant.integrator": "Euler",
}


def digest_lines():
    """Fly and land, then run until a step fails; yield digests, hashes of messages and angles, and PX4's texts."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop(OPTIONS, None)
        changes = SHORT | COARSE | {"timeline.t_end_s": 3.0, "scenario.events": [{"at_s": 2.5, "action": "disarm"}]}
        flight = flight_of(Path(folder), changes=changes | LOGGED)
        try:
            sim = flight.simulation.run()
            yield f"{sim.digest()} {sim.live_digest()}"
            for rows in sim.autopilot.message_log.received().values():
                yield hashlib.sha256(rows.tobytes()).hexdigest()
            q_bn = np.ascontiguousarray(sim.log_state[:, 6:10])
            yield hashlib.sha256(tilts_deg(q_bn[:, 1].copy(), q_bn[:, 2].copy()).tobytes()).hexdigest()
            yield hashlib.sha256(euler_angles(q_bn).tobytes()).hexdigest()
        finally:
            flight.simulation.close()
    with tempfile.TemporaryDirectory() as folder:
        os.environ[OPTIONS] = "code.step_uorb=-3@150"
        fence = {"timeline.t_end_s": 1.0, "px4.params": [{"name": "GF_MAX_HOR_DIST", "value": 1.0}]}
        flight = flight_of(Path(folder), changes=SHORT | COARSE | fence)
        try:
            flight.simulation.run()
        except SimulationError as error:
            yield str(error).partition(";")[0]
            yield " ".join(flight.simulation.autopilot.texts)
        finally:
            flight.simulation.close()
            os.environ.pop(OPTIONS, None)
