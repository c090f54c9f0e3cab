"""An aircraft without a loop: its derivative, outputs and projection at states and inputs chosen by a test.

`fly` runs it through the simulation, with motors chosen by a test.
"""

import numpy as np

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.integrators.integrate import integrate
from px4lockstep.integrators.solver import SOLVER, WORK, Integrator
from px4lockstep.jit import kernel, rows
from px4lockstep.plant.inputs import INPUT
from px4lockstep.plant.layout import GROUPS, OUTPUTS, STATE
from px4lockstep.plant.models import checked_start, write_plant
from px4lockstep.vehicle.dispatch import PLANT, autopilot_tick, project, rhs, settle, write_outputs


@kernel
def evaluate(plants, states, inputs, scratch, derivatives, outputs, projected, moved):
    """Evaluate everything that a plant can be asked at each state; states are spread evenly over the plants."""
    for k in range(len(states)):
        plant = plants[k * len(plants) // len(states)]
        write_outputs(0.0, states[k], inputs[k], plant, scratch[0], outputs[k])
        autopilot_tick(np.int64(0), states[k], inputs[k], plant, outputs[k])
        rhs(0.0, states[k], inputs[k], plant, derivatives[k])
        write_outputs(0.0, states[k], inputs[k], plant, scratch[0], outputs[k])
        projected[k] = states[k]
        settle(0.01, states[k], inputs[k], plant, projected[k])
        moved[k] = project(projected[k], plant)


@kernel
def advance_each(plants, solvers, works, outputs, inputs, states, steps, step_us):
    """Integrate each state separately over some steps, with its inputs held."""
    for k in range(len(states)):
        write_outputs(0.0, states[k], inputs[k], plants[0], works[0].trial, outputs[0])
        autopilot_tick(np.int64(0), states[k], inputs[k], plants[0], outputs[0])
        for step in range(steps):
            integrate(step * step_us, (step + 1) * step_us, states[k], inputs[k], plants[0], solvers[0], works[0])


class Batch:
    """Many states, the same number for each of some aircraft.

    `x` is cases × 80 and starts as the initial states, `inputs` has a record per case. `evaluate` fills `dx`,
    `regimes`, `outputs`, `projected` (cases × 80) and `moved`.
    """

    def __init__(self, aircraft, cases_each=1):
        self.aircraft = tuple(aircraft)
        cases = len(self.aircraft) * cases_each
        self.plants = np.zeros(len(self.aircraft), PLANT)
        self._states = np.zeros(cases, STATE)
        self._derivatives = np.zeros(cases, STATE)
        self._projected = np.zeros(cases, STATE)
        self.inputs = np.zeros(cases, INPUT)
        self.outputs = np.zeros(cases, OUTPUTS)
        self.moved = np.zeros(cases, np.int64)
        self.x = self._states["x"]
        self.dx = self._derivatives["x"]
        self.regimes = self._derivatives[["regime", "contact_regime"]]
        self.projected = self._projected["x"]
        for i, one in enumerate(self.aircraft):
            start = checked_start(one)
            write_plant(one, self.plants[i])
            self.x[i * cases_each : (i + 1) * cases_each, : len(start)] = start

    def evaluate(self):
        """Evaluate every case and return the batch."""
        scratch = np.zeros(1, STATE)
        arrays = (self.plants, self._states, self.inputs, scratch, self._derivatives)
        evaluate(*map(rows, (*arrays, self.outputs, self._projected, self.moved)))
        return self

    def advance(self, integrator, steps, step_us):
        """Advance every case of one aircraft by some steps of an integrator."""
        solvers = np.zeros(1, SOLVER)
        Integrator(integrator).write(solvers[0])
        arrays = (self.plants, solvers, np.zeros(1, WORK), np.zeros(1, OUTPUTS), self.inputs, self._states)
        advance_each(*map(rows, arrays), steps, step_us)


def both_ends(aircraft, sim):
    """Return the batch of the states at both ends of each log interval, evaluated with the inputs held in it."""
    states = sim.log_state
    batch = Batch([aircraft], 2 * (len(states) - 1))
    batch.x[:, : states.shape[1]] = np.concatenate([states[:-1], states[1:]])
    batch.inputs[:] = np.concatenate([sim.log["inputs"][:-1]] * 2)
    return batch.evaluate()


class Probe:
    """One state of one aircraft, with its groups by name: `probe["rotor"] = 500.0`, `probe.derivative("vel")`."""

    def __init__(self, aircraft, *, motors=0.0, wind=(0.0, 0.0, 0.0), **groups):
        self.aircraft = aircraft
        self._batch = Batch([aircraft])
        plant = self._batch.plants[0]
        self._slices = {
            name: slice(int(plant["group_start"][i]), int(plant["group_stop"][i])) for i, name in enumerate(GROUPS)
        }
        self.parameters = plant["multirotor"]
        self.x = self._batch.x[0, : int(plant["n_x"])]
        self.inputs = self._batch.inputs[0]
        self.motors = self.inputs["command"]["motors"]
        self.servos = self.inputs["command"]["servos"]
        self.wind = self.inputs["wind_ned"]
        self.faults = self.inputs["faults"]
        self.motors[: len(aircraft.rotors)] = motors
        self.wind[:] = wind
        for name, value in groups.items():
            self[name] = value

    def __getitem__(self, group):
        return self.x[self._slices[group]]

    def __setitem__(self, group, value):
        self.x[self._slices[group]] = value

    def derivative(self, group=None):
        """Return the derivative of the state, or of one group of it."""
        dx = self._batch.evaluate().dx[0].copy()
        return dx[: len(self.x)] if group is None else dx[self._slices[group]]

    def regime(self):
        """Return the numbers of the active laws."""
        return tuple(self._batch.evaluate().regimes[0].tolist())

    def outputs(self):
        """Return a copy of the outputs."""
        return self._batch.evaluate().outputs[0].copy()

    def project(self):
        """Project the state; return the number of values that were out of bounds."""
        moved = int(self._batch.evaluate().moved[0])
        self.x[:] = self._batch.projected[0, : len(self.x)]
        return moved


def rotation(q):
    """Return the rotation matrix from body to world of an attitude: the sandwich product, column by column."""
    w, v = q[0], np.asarray(q[1:], float)
    turned = [e + 2.0 * w * np.cross(v, e) + 2.0 * np.cross(v, np.cross(v, e)) for e in np.eye(3)]
    return np.array(turned).T


def hover_speed(probe, total_thrust_n=None):
    """Return the rotor speed at which all rotors together carry the weight, without inflow."""
    aircraft = probe.aircraft
    thrust_n = aircraft.airframe.mass_kg * 9.80665 if total_thrust_n is None else total_thrust_n
    density = probe.outputs()["air_density_kg_m3"]
    return np.sqrt(thrust_n / len(aircraft.rotors) / (probe.parameters["rotors"][0]["propulsion"]["kt"] * density))


def _random_attitudes():
    attitudes = np.random.default_rng(20).normal(size=(2, 4))
    return [tuple((q / np.linalg.norm(q)).tolist()) for q in attitudes]


POSES = [(1.0, 0.0, 0.0, 0.0), *_random_attitudes()]
"""Level, and two attitudes like any other: what holds in body axes must hold in each."""


class Script:
    """An autopilot whose commands are a function of time."""

    def __init__(self, motors, servos=None):
        self._motors = motors
        self._servos = servos

    def step(self, time_us, inputs, outputs):
        outputs.motors[:] = self._motors(time_us)
        if self._servos is not None:
            outputs.servos[:] = self._servos(time_us)


class Faults:
    """A scenario that sets fault fields at a time."""

    def __init__(self, time_us, **fields):
        self._time_us = time_us
        self._fields = fields

    def step(self, time_us, inputs, outputs):
        if time_us >= self._time_us:
            for name, value in self._fields.items():
                setattr(outputs.faults, name, value)


def fly(aircraft, end_s, *, motors=None, servos=None, integrator="RK4", step_us=1_000, log_us=10_000, faults=None):
    """Run an aircraft through the loop, motors and servos as functions of time; no fixed step if `step_us` is None."""
    is_scripted = motors is not None or servos is not None
    timeline = Timeline(
        round(end_s * 1e6),
        autopilot=Periodic(4_000 if step_us is None else step_us * max(1, 4_000 // step_us)) if is_scripted else None,
        log=Periodic(log_us),
        physics=None if step_us is None else Periodic(step_us),
        scenario=None if faults is None else Explicit((faults._time_us,)),
    )
    autopilot = Script(motors or (lambda time_us: 0.0), servos) if is_scripted else None
    chosen = integrator if isinstance(integrator, Integrator) else Integrator(integrator)
    return Simulation(aircraft, timeline, integrator=chosen, autopilot=autopilot, scenario=faults).run()
