"""The plant benchmarks: the Iris hovers for a minute, with motor commands that are recorded once.

A proportional-derivative controller holds altitude and attitude from a disturbed start. It only provides the commands.
"""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from px4lockstep.engine.protocols import StageInputs
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.streams import Streams
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.spec.load import load_aircraft
from px4lockstep.vehicle.aircraft import Aircraft

DURATION_S = 60
TICK_US = 4_000
STEP_US = 1_000
HOVER_DUTY = 0.6


class Hover:
    """Holds 10 m and level attitude; the gains are for the thrust per duty of the Iris's motors."""

    def __init__(self, aircraft: Aircraft) -> None:
        places = np.array([rotor.pos_body_m for rotor in aircraft.rotors])
        signs = np.array([rotor.direction for rotor in aircraft.rotors])
        self._mix = np.column_stack([np.ones(4), -np.sign(places[:, 1]), np.sign(places[:, 0]), signs])

    def step(self, time_us: int, inputs: StageInputs, outputs: object) -> None:  # noqa: ARG002 - the protocol's
        """Write four duties."""
        x = inputs.plant.x
        climb = 0.125 * (x[2] + 10.0) + 0.09 * x[5]
        tilt = -0.38 * x[7:10] - 0.033 * x[10:13]
        wanted = np.array([HOVER_DUTY + climb, tilt[0], tilt[1], tilt[2]])
        outputs.motors[:4] = np.clip(self._mix @ wanted, 0.0, 1.0)  # type: ignore[attr-defined]  # a record's view


def aircraft() -> Aircraft:
    """Return the Iris at 10 m, slightly tilted and rotating."""
    roll = 0.1
    attitude = (float(np.cos(roll / 2)), float(np.sin(roll / 2)), 0.0, 0.0)
    start = {"pos_ned": [0.0, 0.0, -10.0], "q_bn": attitude, "omega_body": [0.0, 0.3, 0.2]}
    return load_aircraft("iris", {"airframe.x0": start})


def timeline(physics: bool) -> Timeline:
    """Return the timeline: autopilot at 250 Hz, steps at 1 kHz if `physics`, a row of the log at start and end."""
    end_us, steps = DURATION_S * 1_000_000, Periodic(STEP_US) if physics else None
    return Timeline(end_us, autopilot=Periodic(TICK_US), log=Periodic(end_us), physics=steps)


def streams(physics: bool) -> Streams:
    """Fly the hover once; return its streams for a timeline with or without fixed steps."""
    plant = aircraft()
    flown = Simulation(plant, timeline(True), integrator=Integrator("RK4"), autopilot=Hover(plant), record=True).run()
    recorded, boundaries = flown.streams, timeline(physics)
    scenarios, at = np.zeros(1, recorded.scenarios.dtype), np.array([0, len(boundaries)])
    return replace(recorded, time_us=boundaries.time_us, due=boundaries.due, scenarios=scenarios, scenario_at=at)


def duties(recorded: Streams) -> npt.NDArray[np.float64]:
    """Return the commands in the format of the C plant: four duties per interval."""
    return np.ascontiguousarray(recorded.commands["motors"][:-1, :4])
