"""Tier 2: the coupled aircraft against closed-form solutions, in the same loop as every flight.

Static quantities (an acceleration, a voltage) are read from one Euler step from rest, which is the derivative times the
step size, or from the outputs in a row of the log.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.constants import STANDARD_GRAVITY_M_S2
from px4lockstep.engine.protocols import StageInputs
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.integrators.solver import Integrator
from px4lockstep.integrators.tableaux import TABLEAUX, Method
from px4lockstep.spec.load import load_aircraft
from px4lockstep.vehicle.aircraft import Aircraft
from px4lockstep.vehicle.battery import Battery
from px4lockstep.vehicle.power import Power
from px4lockstep.verification.reference_cases import STEPS_US, Result

Array = npt.NDArray[np.float64]

G = STANDARD_GRAVITY_M_S2
FREE = {"plant.contact": "no_contact"}
BUILT_IN = ("iris", "octa", "twin")
STATIC = "-"  # instead of the integrator, where it has no influence


class Held:
    """An autopilot that holds the same duty on all motors."""

    def __init__(self, duty: float) -> None:
        self.duty = duty

    def step(self, time_us: int, inputs: StageInputs, outputs: Any) -> None:  # noqa: ARG002 - the protocol's
        """Write the duty."""
        outputs.motors[:] = self.duty


def _fly(aircraft: Aircraft, kind: Method, end_us: int, duty: float = 0.0, step_us: int | None = None) -> Simulation:
    step_us = step_us or STEPS_US.get(kind)
    physics = Periodic(step_us) if step_us else None
    timeline = Timeline(end_us, autopilot=Periodic(end_us), log=Periodic(min(100_000, end_us)), physics=physics)
    return Simulation(aircraft, timeline, integrator=Integrator(kind), autopilot=Held(duty)).run()


def _slope(aircraft: Aircraft, rotor_speed: float, duty: float = 0.0) -> Array:
    """Return the derivative of the state with all rotors at a given speed, from one Euler step of a microsecond."""
    timeline = Timeline(1, autopilot=Periodic(1), physics=Periodic(1))
    plant = _Spinning(aircraft, rotor_speed)
    sim = Simulation(plant, timeline, integrator=Integrator("Euler"), autopilot=Held(duty)).run()
    slope: Array = (sim.plant.x - plant.initial_state()) * 1e6
    return slope


class _Spinning:
    """An aircraft whose rotors spin from the start."""

    def __init__(self, aircraft: Aircraft, rotor_speed: float) -> None:
        self._aircraft = aircraft
        self._rotor_speed = rotor_speed
        self.groups = aircraft.groups
        self.write = aircraft.write

    def initial_state(self) -> Array:
        x = self._aircraft.initial_state()
        first = self._aircraft.offset("rotor")
        x[first : first + len(self._aircraft.rotors)] = self._rotor_speed
        return x


def _ballistic() -> Iterator[Result]:
    start = {"pos_ned": [0.0, 0.0, -10.0], "omega_body": [0.7, -1.3, 2.1]}
    aircraft = load_aircraft("iris", FREE | {"airframe.linear_drag": 0.0, "airframe.x0": start})
    for kind in TABLEAUX:
        sim = _fly(aircraft, kind, 2_000_000)
        t_s = sim.log["time_us"] / 1e6
        error = float(np.abs(sim.log_state[:, 2] - (-10.0 + 0.5 * G * t_s * t_s)).max())
        yield Result("ballistic, height", kind, error, 1e-2 if kind == "Euler" else 1e-12)


def _drag_fall() -> Iterator[Result]:
    aircraft = load_aircraft("iris", FREE | {"airframe.linear_drag": 1.5, "airframe.x0.vel_ned": [4.0, 0.0, 0.0]})
    bounds = {"Euler": 4e-3, "RK4": 6e-10, "RK23": 3e-5, "RK45": 3e-8}  # twice the expected errors
    for kind in TABLEAUX:
        sim = _fly(aircraft, kind, 5_000_000)
        decay = np.exp(-(sim.log["time_us"] / 1e6))
        errors = (sim.log_state[:, 5] - G * (1.0 - decay), sim.log_state[:, 3] - 4.0 * decay)
        yield Result("fall with linear drag, velocity", kind, float(np.abs(errors).max()), bounds[kind])


def _hover() -> Iterator[Result]:
    for aircraft in (load_aircraft(name, FREE) for name in BUILT_IN):
        p = aircraft.propulsion
        thrust = aircraft.hover_thrust_n
        row = _fly(aircraft, "Euler", 1_000, step_us=1_000).log[0]
        density = float(row["bus"]["outputs"]["air_density_kg_m3"])
        speed = math.sqrt(thrust / (p.thrust_constant(thrust) * density))
        slope = _slope(aircraft, speed)
        # starting from zero velocity, an Euler step of 1 us resolves accelerations of 1e-16 / 1e-6
        yield Result(f"hover balance, {aircraft.name}, acceleration", STATIC, float(np.abs(slope[3:6]).max()), 1e-9)


def _symmetric() -> Iterator[Result]:
    arm = 0.2
    for sign in (+1, -1):
        changes = {
            "airframe.rotor_pos_body_m": [[x * arm, y * arm, 0.0] for x, y in ((1, 1), (-1, -1), (1, -1), (-1, 1))],
            "airframe.propulsion.rotor_dir": [sign] * 4,
            "airframe.angular_damping": [0.0, 0.0, 0.0],
        }
        aircraft = load_aircraft("iris", FREE | changes)
        slope = _slope(aircraft, 300.0, duty=0.9)
        yield Result("symmetric quad, roll and pitch torque", STATIC, float(np.abs(slope[10:12]).max()), 1e-9)
        yield Result("symmetric quad, yaw has the rotors' sign", STATIC, float(slope[12] * sign <= 0.0), 0.0)


def _thevenin() -> Iterator[Result]:
    # With rotors too heavy to spin up, each motor draws its current limit of 1.25 A at duty 1 and unit efficiency.
    motor = "airframe.propulsion.motor"
    heavy = {f"{motor}.j_kgm2": 1e9, f"{motor}.max_current_a": 1.25, "airframe.propulsion.esc.eta": 1.0}
    aircraft = load_aircraft("iris", FREE | heavy)
    battery = aircraft.batteries[0]
    current, tau = 5.0, battery.r1 * battery.c1
    for kind in TABLEAUX:
        sim = _fly(aircraft, kind, 50_000_000, duty=1.0)
        t_s = sim.log["time_us"] / 1e6
        v1 = current * battery.r1 * (1.0 - np.exp(-t_s / tau))
        soc = 1.0 - current * t_s / (battery.capacity_ah * 3600.0)
        error = float(np.abs(np.concatenate([sim.log_state[:, 18] - v1, sim.log_state[:, 17] - soc])).max())
        yield Result("Thevenin step load, V1 and SOC", kind, error, {"Euler": 1e-6}.get(kind, 1e-8))


def _actuator() -> Iterator[Result]:
    lag = {"actuation.motor_actuators": {"kind": "first_order", "tau_s": 0.1}}
    aircraft = load_aircraft("iris", FREE | lag)
    first = aircraft.offset("act")
    for kind in TABLEAUX:
        sim = _fly(aircraft, kind, 1_000_000, duty=1.0, step_us=50 if kind == "Euler" else None)
        exact = 1.0 - np.exp(-(sim.log["time_us"] / 1e5))
        error = float(np.abs(sim.log_state[:, first] - exact).max())
        yield Result("first-order actuator, step response", kind, error, 1e-4)


def _calibration() -> Iterator[Result]:
    for aircraft in (load_aircraft(name) for name in BUILT_IN):
        p, motor = aircraft.propulsion, aircraft.propulsion.motor
        hover = aircraft.hover_thrust_n
        kt, ke = p.thrust_constant(hover), motor.ke
        a = p.torque_per_thrust_m * kt * p.rho_nom
        b = motor.viscous_friction_nm_per_rad_s + ke * ke / motor.r_ohm
        omega = (-b + math.sqrt(b * b + 4.0 * a * ke * p.V_nom / motor.r_ohm)) / (2.0 * a)
        error = abs(kt * p.rho_nom * omega * omega / (p.thrust_calibration_mult * hover) - 1.0)
        yield Result(f"thrust calibration, {aircraft.name}, relative", STATIC, error, 1e-12)


def _bus_residual() -> Iterator[Result]:
    worst = 0.0
    iris = load_aircraft("iris", FREE)
    esc, motor = iris.propulsion.esc, iris.propulsion.motor
    socs, v1s, speeds, duties = (0.2, 0.6, 1.0), (-0.5, 0.0, 0.5), (0.0, 150.0, 400.0, 900.0), (0.01, 0.1, 0.5, 1.0)
    for soc, v1, speed, duty in product(socs, v1s, speeds, duties):
        aircraft = replace(iris, power=Power(batteries=(Battery(soc0=soc, v1_0=v1),)))
        timeline = Timeline(1, autopilot=Periodic(1), log=Periodic(1))
        sim = Simulation(_Spinning(aircraft, speed), timeline, autopilot=Held(duty)).run()
        battery, state = aircraft.batteries[0], sim.log_state[-1]
        volts = float(sim.log[-1]["bus"]["outputs"]["bus_voltage_v"][0])
        applied = duty if duty >= esc.deadzone else 0.0
        currents = np.clip((applied * volts - motor.ke * state[13:17]) / motor.r_ohm, 0.0, motor.max_current_a)
        open_volts = 10.8 + 1.8 * float(state[17]) - float(state[18])
        expected = max(battery.min_voltage_v, open_volts - battery.r0 * float((applied * currents / esc.eta).sum()))
        worst = max(worst, abs(volts - expected))
    yield Result("bus voltage, residual over a sweep", STATIC, worst, 1e-6)


def _atmosphere() -> Iterator[Result]:
    # U.S. Standard Atmosphere 1976, by geopotential altitude, to the printed digits.
    for altitude_m, density, bound in ((0.0, 1.2250, 5e-5), (11_000.0, 0.36392, 5e-6), (20_000.0, 0.088035, 5e-7)):
        row = _fly(load_aircraft("iris", FREE | {"home.alt_msl_m": altitude_m}), "Euler", 1_000).log[0]
        error = abs(float(row["bus"]["outputs"]["air_density_kg_m3"]) - density)
        yield Result(f"ISA density at {altitude_m / 1e3:g} km", STATIC, error, bound)


def _turbulence() -> Iterator[Result]:
    for period_us in (10_000, 20_000):
        timeline = Timeline(20_000_000_000, wind=Periodic(period_us), log=Periodic(1_000_000))
        wind = Wind("ou", wind_sigma_ned=(1.0, 1.0, 1.0), wind_tau_s=1.0)
        sim = Simulation(None, timeline, wind=wind, seed=3).run()
        variance = float(sim.log["inputs"]["wind_ned"].var())
        # 60,000 samples a time constant apart: the estimate scatters by sqrt(2 / 46,000) = 0.7 %
        yield Result(f"OU variance, period {period_us // 1000} ms", STATIC, abs(variance - 1.0), 0.05)


def aircraft_results() -> Iterator[Result]:
    """Run every case of the coupled aircraft."""
    flown = (_ballistic, _drag_fall, _hover, _symmetric, _thevenin, _actuator)
    for cases in (*flown, _calibration, _bus_residual, _atmosphere, _turbulence):
        yield from cases()
