"""A user's plant by function address: the same loop, bit-identical results, all four functions."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from px4lockstep.engine import loop
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.errors import InputError
from px4lockstep.integrators.solver import Integrator
from px4lockstep.plant.models import Oscillator, UserPlant

TIMELINE = Timeline(1_000_000, autopilot=Periodic(100_000), log=Periodic(100_000))


def oscillator_rhs(t_s, state, inputs, params, dstate):
    """Repeat the equations of the built-in oscillator."""
    omega = params.values[0]
    forcing = params.values[1] * inputs.command.motors[0] + params.values[2] * inputs.wind_ned[0]
    dstate.x[0] = state.x[1]
    dstate.x[1] = -omega * omega * state.x[0] + forcing


def user_oscillator(rhs=oscillator_rhs, **functions):
    return UserPlant({"pos": 1, "vel": 1}, [1.0, 0.5], rhs, parameters=[2.0, 0.3, 0.0], **functions)


class Push:
    def step(self, time_us, inputs, outputs):
        outputs.motors[0] = 0.25


@pytest.mark.parametrize("kind", ["Euler", "RK4", "RK23", "RK45"])
def test_a_user_plant_is_bit_identical_without_recompiling_the_loop(kind):
    """The digest is that of the built-in plant with the same equations, and the loop is not compiled again."""
    shipped = Simulation(
        Oscillator(2.0, 1.0, 0.5, motor_gain=0.3), TIMELINE, integrator=Integrator(kind), autopilot=Push()
    ).run()
    forms = len(loop.advance.overloads)
    misses = sum(loop.advance.stats.cache_misses.values())
    own = Simulation(user_oscillator(), TIMELINE, integrator=Integrator(kind), autopilot=Push()).run()
    assert own.digest() == shipped.digest()
    assert len(loop.advance.overloads) == forms == 1
    assert sum(loop.advance.stats.cache_misses.values()) == misses


def energy_outputs(t_s, state, inputs, params, outputs):
    """Write the energy, the time, and the held command."""
    omega = params.values[0]
    outputs.values[0] = 0.5 * (state.x[1] * state.x[1] + omega * omega * state.x[0] * state.x[0])
    outputs.values[1] = t_s
    outputs.values[2] = inputs.command.motors[0]


def floor_project(state, params):
    """Limit the position to 0 or more."""
    if state.x[0] < 0.0:
        state.x[0] = 0.0
        return 1
    return 0


def kick_tick(t_us, state, inputs, params):
    """Let the velocity jump at the third autopilot tick."""
    if t_us == 200_000:
        state.x[1] -= 10.0


def test_outputs_projection_and_autopilot_tick_are_called():
    """Outputs come before the autopilot, the jump before the log; projections after each step are counted."""
    plant = user_oscillator(outputs=energy_outputs, project=floor_project, autopilot_tick=kick_tick)
    sim = Simulation(plant, TIMELINE, autopilot=Push()).run()
    values = sim.log["bus"]["outputs"]["values"]
    assert values[0, 0] == 0.5 * (0.25 + 4.0)
    assert values[:, 1] == pytest.approx(np.arange(11) / 10, abs=1e-15)
    assert values[:2, 2].tolist() == [0.0, 0.25]
    assert sim.log_state[2, 1] - sim.log_state[1, 1] < -9.0
    assert sim.log_state[:, 0].min() >= 0.0
    assert sim.statistics.projected_states > 0


@pytest.mark.process
def test_a_plant_in_c_is_bit_identical(tmp_path):
    """It has the signature in `user`; with the JIT off it would be called through ctypes."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler on this machine: a plant in C is not tested")
    source = tmp_path / "plant.c"
    # inputs: motors 12, servos 8, wind 3 doubles, then the faults; params: the values first
    source.write_text(
        "void rhs(double t, const double *x, const double *in, const double *p, double *dx) {\n"
        "  double forcing = p[1] * in[0] + p[2] * in[20];\n"
        "  dx[0] = x[1];\n"
        "  dx[1] = -p[0] * p[0] * x[0] + forcing;\n"
        "}\n"
    )
    library = tmp_path / "plant.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-ffp-contract=off", "-o", library, source], check=True, timeout=60
    )
    handle = ctypes.CDLL(str(library))
    address = ctypes.cast(handle.rhs, ctypes.c_void_p).value
    in_c = Simulation(user_oscillator(address), TIMELINE, autopilot=Push()).run()
    in_python = Simulation(user_oscillator(), TIMELINE, autopilot=Push()).run()
    assert in_c.digest() == in_python.digest()


@pytest.mark.parametrize(
    ("groups", "initial", "message"),
    [
        ({"position": 1}, [0.0], r"unknown state groups \['position'\]; allowed: pos, vel"),
        ({"pos": 3}, [0.0], r"initial state has shape \(1,\); its groups add up to 3"),
        ({"pos": 1}, [float("nan")], "not finite"),
        ({"att": 3}, [0.0] * 3, r"it must have 4 \(a quaternion\) or none"),
        ({"att": 4}, [1.0, 0.1, 0.0, 0.0], "initial quaternion has norm 1.00498"),
        ({"pos": 81}, [0.0] * 81, "81 states; it must have 1 to 79"),
        ({}, [], "0 states"),
    ],
)
def test_bad_plants_are_refused(groups, initial, message):
    """They are rejected before the first boundary, with the allowed values."""
    with pytest.raises(InputError, match=message):
        Simulation(UserPlant(groups, initial, oscillator_rhs), TIMELINE)


def test_too_many_parameters_are_refused():
    """The limit is 64."""
    with pytest.raises(InputError, match="the plant has 65 parameters; at most 64"):
        Simulation(UserPlant({"pos": 1, "vel": 1}, [0, 0], oscillator_rhs, parameters=[0.0] * 65), TIMELINE)
