"""Step responses of the built-in autopilot's loops, flown with the real plant.

The Iris hovers with all loops closed until it is at rest. Then the setpoint of one loop jumps: inner loops stay closed,
outer loops are opened, and no trajectory smooths the step. If position control is opened, the thrust stays constant.
No wind, the true state as the estimate, a tick of 4 ms, RK4 at 1 ms.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from fleet import iris

from px4lockstep.autopilots.builtin.allocation import allocate
from px4lockstep.autopilots.builtin.attitude_control import control_attitude
from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.autopilots.builtin.control_model import ControlModel
from px4lockstep.autopilots.builtin.position_control import control_position, filter_velocity, write_attitude_setpoint
from px4lockstep.autopilots.builtin.rate_control import control_rates
from px4lockstep.autopilots.builtin.schedule import is_due
from px4lockstep.autopilots.builtin.stack import BUILTIN, elapsed_s
from px4lockstep.engine.bus import BUS
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.jit import kernel, rows

TICK_US = 4_000
STEP_US = 16_000_000
"""When the setpoint jumps: the vehicle is at rest by then."""
HEIGHT_M = 20.0
BAND = 0.05
"""Settling band, as a fraction of the step."""

RATE, ATTITUDE, POSITION = np.int64(0), np.int64(1), np.int64(2)


@dataclass(frozen=True)
class Loop:
    """A loop, its step, and how long it is observed."""

    name: str
    outermost: int  # the outermost closed loop: RATE, ATTITUDE or POSITION
    size: float
    unit: str
    watched_s: float


LOOPS = (
    Loop("roll rate", RATE, 30.0, "°/s", 1.0),
    Loop("pitch rate", RATE, 30.0, "°/s", 1.0),
    Loop("yaw rate", RATE, 30.0, "°/s", 5.0),
    Loop("roll", ATTITUDE, 10.0, "°", 2.0),
    Loop("pitch", ATTITUDE, 10.0, "°", 2.0),
    Loop("yaw", ATTITUDE, 30.0, "°", 5.0),
    Loop("velocity north", POSITION, 1.0, "m/s", 8.0),
    Loop("velocity down", POSITION, 0.5, "m/s", 5.0),
    Loop("position north", POSITION, 1.0, "m", 10.0),
    Loop("position down", POSITION, 1.0, "m", 10.0),
)


@kernel
def step_loops(builtin, bus, t_us, outermost):
    """Run the closed loops that are due, like `stack.step_builtin`."""
    a = builtin[0]
    estimate, out = bus[0].estimate, bus[0].autopilot
    dt_s = elapsed_s(a.position_module, t_us, 0.002, 0.04)
    if is_due(a.position_module, t_us) and outermost >= POSITION:
        filter_velocity(a.position, estimate, dt_s)
        control_position(a.position, estimate, dt_s)
        a.collective = write_attitude_setpoint(a.position, estimate, a.attitude, out)
    if is_due(a.attitude_module, t_us) and outermost >= ATTITUDE:
        control_attitude(a.attitude, estimate, False, out)
    dt_s = elapsed_s(a.rate_module, t_us, 0.000125, 0.02)
    if is_due(a.rate_module, t_us):
        out.thrust_sp_body[2] = -a.collective
        control_rates(a.rate, estimate, dt_s, False, out)
    if is_due(a.allocation_module, t_us):
        allocate(a.allocation, t_us, a.rate, out)


class Loops:
    """The loops as the autopilot: hold at a height, then the step."""

    def __init__(self, loop, **options):
        self.loop = loop
        self.builtin = np.zeros(1, BUILTIN)
        Builtin(**options).write(self.builtin[0], ControlModel.of(iris()), TICK_US)
        self.bus = np.zeros(1, BUS)
        position = self.builtin[0]["position"]
        position["tilt_max_rad"] = self.builtin[0]["tilt_air_rad"]
        position["thrust_min"] = self.builtin[0]["thrust_min"]
        position["speed_up_m_s"] = self.builtin[0]["speed_up_m_s"]
        position["speed_down_m_s"] = self.builtin[0]["speed_down_m_s"]
        self.setpoint = position["input"]
        self.setpoint["pos_ned"] = (0.0, 0.0, -HEIGHT_M)
        self.setpoint["vel_ned"] = self.setpoint["acc_ned"] = np.nan

    def step(self, time_us, inputs, outputs):
        """Run one tick."""
        estimate, own = inputs.bus.estimate, self.bus[0]["estimate"]
        for name in ("pos_ned", "vel_ned", "q_bn", "omega_body"):
            own[name] = getattr(estimate, name)
        if time_us == STEP_US:
            self.jump()
        outermost = self.loop.outermost if time_us >= STEP_US else POSITION
        step_loops(rows(self.builtin), rows(self.bus), np.int64(time_us), outermost)
        outputs.motors[:4] = self.builtin[0]["allocation"]["sp"][:4]

    def jump(self):
        """Change the setpoint of the loop."""
        out, size = self.bus[0]["autopilot"], self.loop.size
        half = 0.5 * np.radians(size)
        if self.loop.outermost == RATE:
            out["rate_sp_body"] = 0.0
            out["rate_sp_body"][["roll", "pitch", "yaw"].index(self.loop.name.split()[0])] = np.radians(size)
        elif self.loop.outermost == ATTITUDE:
            out["q_sp"] = 0.0
            out["q_sp"][0] = np.cos(half)
            out["q_sp"][1 + ["roll", "pitch", "yaw"].index(self.loop.name)] = np.sin(half)
        else:
            what, axis = self.loop.name.split()
            i = ["north", "east", "down"].index(axis)
            if what == "velocity":
                self.setpoint["pos_ned"][i] = np.nan
                self.setpoint["vel_ned"][i] = size
            else:
                self.setpoint["pos_ned"][i] += size


def answer(name, x):
    """Return the controlled variable of a loop, from rows of the state."""
    if name.endswith("rate"):
        return np.degrees(x[:, 10 + ["roll rate", "pitch rate", "yaw rate"].index(name)])
    w, i, j, k = x[:, 6:10].T
    if name == "roll":
        return np.degrees(np.arctan2(2.0 * (w * i + j * k), 1.0 - 2.0 * (i * i + j * j)))
    if name == "pitch":
        return np.degrees(np.arcsin(2.0 * (w * j - k * i)))
    if name == "yaw":
        return np.degrees(np.arctan2(2.0 * (w * k + i * j), 1.0 - 2.0 * (j * j + k * k)))
    what, axis = name.split()
    return x[:, (3 if what == "velocity" else 0) + ["north", "east", "down"].index(axis)]


@dataclass(frozen=True)
class Response:
    """A step response: times since the step, and the response relative to the initial value."""

    loop: Loop
    time_s: np.ndarray
    value: np.ndarray

    @property
    def overshoot_percent(self):
        """Overshoot beyond the step."""
        return max(100.0 * (self.value.max() / self.loop.size - 1.0), 0.0)

    @property
    def settling_s(self):
        """Time until the response stays within the band around the step."""
        outside = np.flatnonzero(np.abs(self.value - self.loop.size) > BAND * self.loop.size)
        return self.time_s[outside[-1] + 1] if outside[-1] + 1 < len(self.time_s) else np.nan

    @property
    def rise_s(self):
        """Rise time from 10 % to 90 % of the step."""
        return (
            self.time_s[np.argmax(self.value > 0.9 * self.loop.size)]
            - (self.time_s[np.argmax(self.value > 0.1 * self.loop.size)])
        )


@cache
def respond(loop, **options):
    """Fly a step."""
    end_us = STEP_US + round(loop.watched_s * 1e6)
    timeline = Timeline(end_us, autopilot=Periodic(TICK_US), physics=Periodic(1_000), log=Periodic(1_000))
    sim = Simulation(
        iris(pos_ned=(0.0, 0.0, -HEIGHT_M)),
        timeline,
        integrator=Integrator("RK4"),
        estimator=Estimator(),
        autopilot=Loops(loop, **options),
    ).run()
    start = np.searchsorted(sim.log["time_us"], STEP_US)
    value = answer(loop.name, sim.log_state[start:])
    return Response(loop, (sim.log["time_us"][start:] - float(STEP_US)) / 1e6, value - value[0])
