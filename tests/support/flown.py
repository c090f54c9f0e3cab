"""A flight that uses every part of the loop, for tests of determinism."""

import numpy as np
from fleet import octa

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.integrators.butcher import ButcherTableau
from px4lockstep.integrators.solver import Integrator
from px4lockstep.math.philox import normal4, stream_key
from px4lockstep.plant.models import TorqueFreeBody, UserPlant
from px4lockstep.vehicle.actuators import ActuatorDynamics
from px4lockstep.vehicle.battery import Battery

TIMELINE = Timeline(
    400_000, autopilot=Periodic(4_000), wind=Periodic(3_000), log=Periodic(10_000), scenario=Explicit((123_457,))
)
INTEGRATORS = ("Euler", "RK4", "RK23", "RK45")
HEUN = ButcherTableau(order=2, a=[[], [1]], b=["1/2", "1/2"], c=[0, 1], b_embedded=[1, 0])
"""Heun's method with Euler's as the embedded one."""
CASH_KARP = ButcherTableau(
    order=5,
    a=[
        [],
        ["1/5"],
        ["3/40", "9/40"],
        ["3/10", "-9/10", "6/5"],
        ["-11/54", "5/2", "-70/27", "35/27"],
        ["1631/55296", "175/512", "575/13824", "44275/110592", "253/4096"],
    ],
    b=["37/378", 0, "250/621", "125/594", 0, "512/1771"],
    c=[0, "1/5", "3/10", "3/5", 1, "7/8"],
    b_embedded=["2825/27648", 0, "18575/48384", "13525/55296", "277/14336", "1/4"],
)
"""Cash and Karp, A variable order Runge-Kutta method, ACM Trans. Math. Softw. 16 (1990)."""


class NoisyWind:
    """White noise, addressed by tick."""

    def __init__(self, seed, stream="wind"):
        self.key = np.uint64(stream_key(seed, stream))
        self.tick = 0

    def step(self, time_us, inputs, outputs):
        outputs.vel_ned[:] = normal4(self.key, np.int64(self.tick), np.int64(0), np.int64(0))[:3]
        self.tick += 1


class NoisyEstimator:
    """The state with added noise."""

    def __init__(self, seed):
        self.key = np.uint64(stream_key(seed, "estimator"))

    def step(self, time_us, inputs, outputs):
        noise = normal4(self.key, np.int64(time_us // 4_000), np.int64(0), np.int64(0))
        outputs.pos_ned[:] = inputs.plant.x[:3] + 0.01 * np.array(noise[:3])
        outputs.vel_ned[0] = inputs.bus.battery[0].voltage_v


class Feedback:
    """A controller that uses the estimate."""

    def step(self, time_us, inputs, outputs):
        outputs.motors[0] = min(max(0.5 - inputs.bus.estimate.pos_ned[0], 0.0), 1.0)


class Event:
    """A wind step at an odd microsecond."""

    def step(self, time_us, inputs, outputs):
        outputs.wind_ned[2] = 1.5 if time_us >= 123_457 else 0.0


def forced_body_rhs(t_s, state, inputs, params, dstate):
    """Return the derivative of a rotating point mass forced by all inputs, with a quaternion rate set by the motor."""
    x = state.x
    dx = dstate.x
    for i in range(3):
        dx[i] = x[3 + i]
        dx[3 + i] = -params.values[0] * x[i] + params.values[1] * (inputs.wind_ned[i] - x[3 + i])
    rate = inputs.command.motors[0]
    dx[6] = -0.5 * rate * x[9]
    dx[7] = 0.5 * rate * x[8]
    dx[8] = -0.5 * rate * x[7]
    dx[9] = 0.5 * rate * x[6]


FORCED_BODY = UserPlant(
    groups={"pos": 3, "vel": 3, "att": 4},
    initial=[1.0, 0.5, -0.2, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    rhs=forced_body_rhs,
    parameters=[4.0, 0.3],
)


def make(integrator="RK45", plant=FORCED_BODY, seed=7, **options):
    """Create the flight, with all stages in Python."""
    return Simulation(
        plant,
        TIMELINE,
        integrator=integrator if isinstance(integrator, Integrator) else Integrator(integrator),
        scenario=Event(),
        wind=NoisyWind(seed),
        estimator=NoisyEstimator(seed),
        autopilot=Feedback(),
        **options,
    )


def digest_lines():
    """Fly with each integrator on a plant by address and two built-in ones; yield a line with both digests for each."""
    battery = Battery(sense_tau_s=0.05, sense_delay_s=0.008, sense_voltage_sigma_v=0.1)
    start = {"pos_ned": (0.0, 0.0, -0.1), "vel_ned": (0.0, 0.0, 1.0)}
    aircraft = octa(motor_actuator=ActuatorDynamics("second_order"), batteries=(battery,), **start)
    for kind in INTEGRATORS:
        for plant in (FORCED_BODY, TorqueFreeBody(), aircraft):
            sim = make(kind, plant).run()
            yield f"{kind} {sim.digest()} {sim.live_digest()}"
    for name, own in {
        "Cash-Karp": Integrator("tableau", tableau=CASH_KARP),
        "Heun": Integrator("tableau", tableau=HEUN),
        "RK4, split": Integrator("RK4", split_at_contact=True),
    }.items():
        sim = make(own, aircraft).run()
        yield f"{name} {sim.digest()} {sim.live_digest()}"
