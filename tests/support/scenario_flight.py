"""Flights with a scenario, for its tests."""

import hashlib

import numpy as np
from fleet import iris

from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.integrators.solver import Integrator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.actuators import ActuatorDynamics


class Throttle:
    """An autopilot that gives all motors the same command, a function of time."""

    def __init__(self, command):
        self._command = command

    def step(self, time_us, inputs, outputs):
        outputs.motors[:4] = self._command(time_us)


class Truth:
    """An estimator that ignores faults."""

    applies_estimate_faults = True

    def step(self, time_us, inputs, outputs):
        outputs.pos_ned[:] = inputs.plant["pos"]


def simulation(scenario, end_s=0.1, *, command=0.5, aircraft=None, **options):
    """Return a simulation of the Iris with all event boundaries that the scenario needs."""
    end_us = round(end_s * 1e6)
    timeline = Timeline(
        end_us,
        autopilot=Periodic(4_000),
        log=Periodic(2_000),
        physics=Periodic(1_000),
        scenario=Explicit(scenario.times_us(end_us)) if isinstance(scenario, Scenario) else None,
    )
    return Simulation(
        iris(pos_ned=(0.0, 0.0, -50.0)) if aircraft is None else aircraft,
        timeline,
        integrator=Integrator("RK4"),
        scenario=scenario,
        estimator=options.pop("estimator", Truth()),
        autopilot=Throttle(command if callable(command) else lambda time_us: command),
        **options,
    )


def outputs_at_each_boundary(scenario, end_s=0.1, **options):
    """Fly; return the times of event boundaries, and the scenario's outputs at each."""
    sim = simulation(scenario, end_s, record=True, **options).run()
    return sim.timeline.time_us.astype(np.int64), sim.streams.scenario_by_boundary()


def flatten(rec, prefix=""):
    """Return the numbers of a nested record by their dotted names."""
    found = {}
    for name in rec.dtype.names:
        value = rec[name]
        if value.dtype.names is not None:
            found |= flatten(value, f"{prefix}{name}.")
        elif value.ndim:
            found |= {f"{prefix}{name}[{i}]": one.item() for i, one in enumerate(value)}
        else:
            found[f"{prefix}{name}"] = value.item()
    return found


EVERYTHING = (
    Scenario()
    .arm(at_s=0.001)
    .start_mission(at_s=0.002)
    .at_us(12_345)
    .thrust_loss(1, 0.3)
    .when("speed_m_s", above=0.1)
    .wind_step((3.0, -1.0, 0.5))
    .when("tilt_deg", above=0.05)
    .stuck_motor(2)
    .when("altitude_m", below=49.99)
    .stuck_motor(3, 0.7)
    .when("battery_voltage_v", below=12.55)
    .disable_motor(4)
    .when("battery_remaining", below=0.99999)
    .estimate_bias(pos_ned=(1.0, 2.0, 3.0), yaw_rad=0.1)
    .when("distance_home_m", above=1e-6)
    .estimate_drift(vel_ned=(0.1, 0.0, 0.0))
    .when("mission_item", below=0.5)
    .sensor_fault("estimate")
    .at_step(15)
    .restore_motor(4)
    .at_us(70_001)
    .disconnect_battery()
    .when("time_s", above=0.0801)
    .reconnect_battery()
    .when(lambda time_us, inputs: time_us > 85_000)
    .land()
    .at_step(24)
    .do(lambda time_us, inputs, outputs: setattr(outputs, "arm", 0))
)


def everything(motors="direct", **options):
    """Return a flight with every kind of trigger and most actions."""
    aircraft = iris(pos_ned=(0.0, 0.0, -50.0), motor_actuator=ActuatorDynamics(motors))
    return simulation(EVERYTHING, aircraft=aircraft, command=lambda time_us: 0.5 + time_us * 1e-6, **options)


def standing():
    """Return a vehicle on the ground, of which nothing is asked, in a run that ends after the landing."""
    timeline = Timeline(10_000_000, autopilot=Periodic(2_000), log=Periodic(100_000), ends_after_landing=True)
    return Simulation(iris(), timeline, integrator=Integrator("RK4"), scenario=Scenario())


def digest_lines():
    """Fly with two kinds of motors; yield the digests of the flight and of the scenario's outputs.

    The last one is of a run that ends after the landing.
    """
    for motors in ("direct", "second_order"):
        sim = everything(motors, record=True).run()
        assert sim._core["scenario"]["is_fired"][0].sum() == len(EVERYTHING.events)
        yield f"{sim.digest()} {hashlib.sha256(sim.streams.scenario_by_boundary().tobytes()).hexdigest()}"
    yield f"{(sim := standing().run()).digest()} {sim.time_us}"
