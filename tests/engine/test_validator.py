"""The validator: each violated invariant is reported with its time and value."""

import math

import numpy as np
import pytest
from fleet import PowerBus, iris

from px4lockstep.engine import validator
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InvariantError, SimulationError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import JIT_ENABLED, interpreted, view
from px4lockstep.plant.layout import OUTPUTS
from px4lockstep.plant.models import ConstantRate, Oscillator, UserPlant
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.dispatch import PLANT

TIMELINE = Timeline(1_000_000, autopilot=Periodic(100_000), wind=Periodic(100_000), log=Periodic(100_000))


def runaway_rhs(t_s, state, inputs, params, dstate):
    """Return infinity from a given time on."""
    dstate.x[0] = 1e308 * 10.0 if t_s >= params.values[0] else 1.0


def test_a_nonfinite_state_ends_the_run_and_leaves_the_log_intact():
    """The message has time, index, group and state; the log up to then is available."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=runaway_rhs, parameters=[0.5])
    sim = Simulation(plant, TIMELINE, integrator=Integrator("Euler"))
    with pytest.raises(
        InvariantError, match=r"state\[0\], in group 'vel', became inf at t = 0\.600000 s; state \[inf\]"
    ):
        sim.run()
    assert sim.log["time_us"].tolist() == [0, 100_000, 200_000, 300_000, 400_000, 500_000]
    assert np.isfinite(sim.log_state).all()
    with pytest.raises(InvariantError, match="became inf"):
        sim.run()


def test_with_validation_off_the_run_continues():
    """The same plant runs to the end, which shows that the validator raised the error above."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=runaway_rhs, parameters=[0.5])
    assert Simulation(plant, TIMELINE, integrator=Integrator("Euler"), validate="off").run().is_done


def corrupting(part, field, value, index=None):
    """Return a source that bypasses its interface, as a bug would."""

    class Corrupting:
        def step(self, time_us, inputs, outputs):
            if time_us == 300_000:
                target = self.core[part][0]
                if index is None:
                    target[field] = value
                else:
                    target[field][index] = value

    return Corrupting()


@pytest.mark.parametrize("level", ["cheap", "paranoid"])
@pytest.mark.parametrize(
    ("source", "part", "field", "value", "index", "message"),
    [
        ("autopilot", "validator", "last_time_us", 10**9, None, r"time did not increase at t = 0\.400000 s"),
        ("autopilot", "validator", "last_autopilot_us", 250_000, None, r"ticked after 150000 us at t = 0\.400000 s"),
    ],
)
def test_time_and_autopilot_interval_are_checked(level, source, part, field, value, index, message):
    """Time that does not increase, and an autopilot tick with a wrong interval."""
    bad = corrupting(part, field, value, index)
    sim = Simulation(Oscillator(), TIMELINE, validate=level, **{source: bad})
    bad.core = sim._core
    with pytest.raises(InvariantError, match=message):
        sim.run()


def denormalizing(state, params):
    """Denormalize the quaternion after the plant has normalized it."""
    state.x[0] *= 1.0 + 1e-9
    return 0


def still_rhs(t_s, state, inputs, params, dstate):
    """Keep the state constant."""
    for i in range(4):
        dstate.x[i] = 0.0


def test_a_quaternion_off_the_unit_sphere_is_caught():
    """The error is 1e-9, the limit is 1e-10."""
    plant = UserPlant(groups={"att": 4}, initial=[1.0, 0.0, 0.0, 0.0], rhs=still_rhs, project=denormalizing)
    with pytest.raises(InvariantError, match=r"norm 1\.00000000\d+ at t = 0\.100000 s, more than 1e-10 from 1"):
        Simulation(plant, TIMELINE).run()
    assert Simulation(ConstantRate(), TIMELINE).run().is_done


class WritesNaN:
    def __init__(self, name):
        self.name = name

    def step(self, time_us, inputs, outputs):
        getattr(outputs, self.name)[1] = np.nan if time_us == 300_000 else 0.0


@pytest.mark.parametrize(
    ("stage", "field", "message"),
    [
        ("wind", "vel_ned", r"wind component 1 .* is nan at t = 0\.300000 s"),
        ("scenario", "wind_ned", r"wind component 1 .* is nan at t = 0\.300000 s"),
        ("estimator", "vel_ned", r"estimate is not finite at t = 0\.300000 s"),
    ],
)
def test_paranoid_checks_every_boundary(stage, field, message):
    """A NaN from a source is detected immediately; `cheap` detects it only once it reaches the state."""
    with pytest.raises(InvariantError, match=message):
        Simulation(Oscillator(), TIMELINE, validate="paranoid", **{stage: WritesNaN(field)}).run()
    assert Simulation(Oscillator(), TIMELINE, validate="cheap", **{stage: WritesNaN(field)}).run().is_done


def impure_rhs(t_s, state, inputs, params, dstate):
    """Count the calls in a parameter, which a right-hand side must not do."""
    params.values[0] += 1.0
    dstate.x[0] = params.values[0]


def nosy_rhs(t_s, state, inputs, params, dstate):
    """Modify the state that it receives."""
    dstate.x[0] = 0.0
    state.x[0] += 1.0


def bad_outputs(t_s, state, inputs, params, outputs):
    """Write infinity."""
    outputs.values[3] = 1e308 * 10.0


def thief_rhs(t_s, state, inputs, params, dstate):
    """Change two servo commands such that their sum stays the same."""
    dstate.x[0] = 0.0
    inputs.command.servos[0] += 1e-12
    inputs.command.servos[7] -= 1e-12


def windy_rhs(t_s, state, inputs, params, dstate):
    """Modify the wind."""
    dstate.x[0] = 0.0
    inputs.wind_ned[2] += 1.0


def hoarding_rhs(t_s, state, inputs, params, dstate):
    """Store a value in a parameter that it does not use."""
    dstate.x[0] = 0.0
    params.values[5] = t_s + 1.0


@pytest.mark.parametrize("rhs", [impure_rhs, nosy_rhs, thief_rhs, windy_rhs, hoarding_rhs])
def test_paranoid_catches_an_impure_right_hand_side(rhs):
    """Two evaluations must be bit-identical and must not modify the arguments."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=rhs)
    with pytest.raises(InvariantError, match=r"right-hand side is not pure at t = 0\.000000 s"):
        Simulation(plant, TIMELINE, validate="paranoid").run()


def test_paranoid_catches_an_output_that_is_not_finite():
    """The message has its index."""
    plant = UserPlant(groups={"att": 4}, initial=[1.0, 0, 0, 0], rhs=still_rhs, outputs=bad_outputs)
    with pytest.raises(InvariantError, match=r"plant output 3 is inf at t = 0\.000000 s"):
        Simulation(plant, TIMELINE, validate="paranoid").run()


def test_validation_levels_do_not_change_the_flight():
    """Off, cheap and paranoid give the same digest."""
    digests = [
        Simulation(ConstantRate(), TIMELINE, validate=level).run().digest() for level in ("off", "cheap", "paranoid")
    ]
    assert len(set(digests)) == 1


def raising_rhs(t_s, state, inputs, params, dstate):
    """Read beyond the parameters from half a second on."""
    dstate.x[0] = params.values[64 if t_s > 0.5 else 0]


def test_an_exception_in_a_users_compiled_function_ends_the_run():
    """The error has the time, and the log ends there; with the JIT off, the exception itself is raised."""
    plant = UserPlant(groups={"vel": 1}, initial=[0.0], rhs=raising_rhs)
    sim = Simulation(plant, TIMELINE, integrator=Integrator("RK4"))
    if not JIT_ENABLED:
        with pytest.raises(IndexError):
            sim.run()
        return
    with pytest.raises(
        SimulationError, match=r"function of the plant raised an exception at t = 0\.500000 s"
    ) as caught:
        sim.run()
    assert isinstance(caught.value.__cause__, IndexError)
    assert sim.log["time_us"].tolist() == [0, 100_000, 200_000, 300_000, 400_000, 500_000]
    with pytest.raises(SimulationError, match="raised an exception"):
        sim.run()


def spoiling_tick(t_us, state, inputs, params):
    """Write a NaN at the last tick."""
    if t_us == 1_000_000:
        state.x[1] = math.nan


def test_a_nan_written_at_an_autopilot_tick_is_caught_before_the_log():
    """This also holds at the last boundary, after which nothing is integrated."""
    plant = UserPlant({"att": 4}, [1.0, 0.0, 0.0, 0.0], rhs=still_rhs, autopilot_tick=spoiling_tick)
    sim = Simulation(plant, TIMELINE)
    with pytest.raises(InvariantError, match=r"state\[1\], in group 'att', became nan at t = 1\.000000 s"):
        sim.run()
    assert np.isfinite(sim.log_state).all()


WRONG_OUTPUTS = [
    ("rotor_thrust_n", math.nan, 3, validator.ROTOR_THRUST),
    ("rotor_torque_nm", math.inf, 0, validator.ROTOR_TORQUE),
    ("motor_current_a", -math.inf, 2, validator.MOTOR_CURRENT),
    ("bus_current_a", math.nan, 0, validator.BUS_CURRENT),
    ("bus_current_a", math.inf, 1, validator.BUS_CURRENT),
    ("bus_voltage_v", math.inf, 0, validator.BUS_VOLTAGE),
    ("bus_voltage_v", math.nan, 1, validator.BUS_VOLTAGE),
    ("bus_voltage_v", -1e-9, 0, validator.BUS_VOLTAGE),
    ("bus_voltage_v", -1e-9, 1, validator.BUS_VOLTAGE),
]


@pytest.mark.parametrize(("name", "value", "index", "code"), WRONG_OUTPUTS)
def test_a_force_current_or_voltage_that_is_not_finite_is_reported(name, value, index, code):
    """With time, index and value; a voltage below 0, too. 0 V is allowed, for a battery that is off."""
    noted, outputs, plant = np.zeros(1, validator.VALIDATOR), np.zeros(1, OUTPUTS), np.zeros(1, PLANT)
    iris(batteries=(Battery(), Battery()), buses=(PowerBus((0,), (0, 1)), PowerBus((1,), (2, 3)))).write(plant[0])
    views = [view(array, writable=True) for array in (noted, outputs, plant)]
    check = interpreted(validator.check_outputs)
    assert check(views[0], 300, views[1], views[2]) == validator.SOUND
    outputs[name][0, index] = value
    assert check(views[0], 300, views[1], views[2]) == code
    assert (noted["code"][0], noted["time_us"][0], noted["index"][0]) == (code, 300, index)
    assert noted["value"][0].tobytes() == np.float64(value).tobytes()


@pytest.mark.parametrize("level", ["cheap", "paranoid"])
def test_a_thrust_beyond_the_range_of_floats_ends_the_run_at_the_default_level(level):
    """The state is finite, its thrust kT ρ ω² f is not."""
    timeline = Timeline(20_000, autopilot=Periodic(10_000), log=Periodic(10_000))
    sim = Simulation(iris(), timeline, validate=level)
    sim.run(until_us=10_000)
    state = sim.plant.x.copy()
    state[14] = 1e200
    sim.set_state(state)
    with pytest.raises(InvariantError, match=r"the thrust of rotor 2 is nan N at t = 0\.010000 s.*The log is intact"):
        sim.run()
    assert sim.log["time_us"].tolist() == [0]
