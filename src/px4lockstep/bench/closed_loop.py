"""What the closed-loop benchmark flies: a minute of the Iris's mission with wind, noise and battery."""

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.bench import hover
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.load import load_aircraft

SQUARE = """QGC WPL 110
0	1	3	22	0	0	0	0	47.397742	8.545594	12	1
1	0	3	16	2	2	0	0	47.397842	8.545694	12	1
2	0	3	16	2	2	0	0	47.397842	8.545494	12	1
3	0	3	16	2	2	0	0	47.397642	8.545494	12	1
4	0	3	16	2	2	0	0	47.397642	8.545694	12	1
5	0	3	16	4	2	0	0	47.397742	8.545594	12	1
6	0	3	16	2	2	0	0	47.397742	8.545594	6	1
7	0	3	21	0	0	0	0	47.397742	8.545594	0	1
"""
"""The Iris's mission: up to 12 m, a square around home, home, down to 6 m, land."""


def simulation(record: bool = False, duration_s: int = hover.DURATION_S) -> Simulation:
    """Return the flight, ready to run: wind at 1 kHz, autopilot at 250 Hz, log at 100 Hz, RK4 at 1 kHz."""
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
        autopilot=Builtin(parse_wpl(SQUARE, "the benchmark's mission")),
        record=record,
        seed=1,
    )
