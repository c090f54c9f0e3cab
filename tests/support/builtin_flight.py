"""A few seconds with the built-in autopilot in closed loop."""

from fleet import iris, octa

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.scenario.scenario import Scenario

END_US = 8_000_000

MISSION = """QGC WPL 110
0	1	3	22	0	0	0	0	47.397742	8.545594	1.5	1
1	0	3	195	0	0	0	0	47.397742	8.545994	0	1
2	0	3	16	0	1	0	0	47.397762	8.545614	2.5	1
3	0	2	197	0	0	0	0	0	0	0	1
4	0	3	4501	0	0	0	0	47.397752	8.545604	2	1
5	0	3	16	0	1	0	0	47.397742	8.545594	2	1
6	0	3	21	0	0	0	0	47.397742	8.545594	0	1
"""
"""A quick takeoff, then a leg with a region of interest to the east, and a turn into the next, through a gate."""

QUICK = {
    "COM_SPOOLUP_TIME": 0.1,
    "MPC_TKO_RAMP_T": 0.5,
    "MPC_TKO_SPEED": 3.0,
    "MPC_YAWRAUTO_MAX": 90.0,
    "NAV_MC_ALT_RAD": 0.5,
}


def simulation(aircraft, **options):
    """Return the flight, ready to run: with wind, noise, a gust from the scenario, and a motor that loses thrust."""
    scenario = (
        Scenario()
        .arm(at_s=0.1)
        .start_mission(at_s=0.2)
        .when("altitude_m", above=1.0)
        .wind_step((2.0, -1.0, 0.0))
        .at_us(4_000_123)
        .thrust_loss(1, 0.1)
    )
    timeline = Timeline(
        END_US,
        autopilot=Periodic(4_000),
        wind=Periodic(8_000),
        log=Periodic(20_000),
        physics=Periodic(4_000),
        scenario=Explicit(scenario.times_us(END_US)),
    )
    return Simulation(
        aircraft,
        timeline,
        integrator=Integrator("Euler"),
        scenario=scenario,
        wind=Wind("ou"),
        estimator=Estimator("noisy_delayed"),
        autopilot=Builtin(parse_wpl(MISSION, "the test's mission"), params=QUICK, hover_thrust_estimate=True),
        seed=3,
        **options,
    )


def digest_lines():
    """Fly both aircraft; yield both digests of each."""
    for aircraft in (iris(), octa()):
        sim = simulation(aircraft).run()
        yield f"{aircraft.name} {sim.digest()} {sim.live_digest()}"
