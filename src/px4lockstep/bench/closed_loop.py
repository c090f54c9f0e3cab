"""The closed-loop benchmark: a minute of the Iris mission with wind, noise and battery."""

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.bench import hover
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.load import load_aircraft
from px4lockstep.spec.shipped import mission_of


def simulation(record: bool = False, duration_s: int = hover.DURATION_S) -> Simulation:
    """Return the simulation: wind at 1 kHz, autopilot at 250 Hz, log at 100 Hz, RK4 at 1 kHz."""
    end_us = duration_s * 1_000_000
    scenario = Scenario().arm(at_s=1.0).start_mission(at_s=2.0)
    timeline = Timeline(
        end_us,
        autopilot=Periodic(hover.TICK_US),
        wind=Periodic(hover.STEP_US),
        log=Periodic(10_000),
        scenario=Explicit(scenario.times_us(end_us)),
    )
    return Simulation(
        load_aircraft("iris"),
        timeline,
        integrator=Integrator("RK4"),
        scenario=scenario,
        wind=Wind("ou"),
        estimator=Estimator("noisy_delayed"),
        autopilot=Builtin(mission_of("simple")),
        record=record,
        seed=1,
    )
