"""Closed-loop flights with the built-in autopilot, for tests."""

import numpy as np
from fleet import iris
from px4_flights import MISSIONS

from px4lockstep.autopilots.builtin.autopilot import Builtin
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.environment.wind import Wind
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.integrators.solver import Integrator
from px4lockstep.px4.missions import parse_wpl
from px4lockstep.scenario.scenario import Scenario

TAKE_OFF = Scenario().arm(at_s=1.0).start_mission(at_s=2.0)
HOME = (47.397742, 8.545594)
METRES_PER_DEGREE = 6_371_000.0 * np.pi / 180.0


def flight(
    mission=MISSIONS["mission"],
    *,
    aircraft=None,
    scenario=TAKE_OFF,
    end_s=72,
    wind=None,
    estimator=None,
    seed=1,
    log_us=10_000,
    record=False,
    replay=None,
    integrator="RK4",
    autopilot=None,
    ends_after_landing=False,
    **options,
):
    """Return a flight, ready to run: autopilot at 250 Hz, 1 ms steps; by default no wind and the truth as estimate.

    `autopilot` replaces the built-in one, to which `mission` and `options` apply.
    """
    end_us = round(end_s * 1e6)
    timeline = Timeline(
        end_us,
        autopilot=Periodic(4_000),
        wind=Periodic(1_000),
        log=Periodic(log_us),
        scenario=Explicit(scenario.times_us(end_us)),
        ends_after_landing=ends_after_landing,
    )
    sources = (
        {"replay": replay}
        if replay is not None
        else {
            "scenario": scenario,
            "wind": wind,
            "estimator": estimator or Estimator(),
            "autopilot": autopilot or Builtin(mission, **options),
        }
    )
    return Simulation(
        aircraft or iris(), timeline, integrator=Integrator(integrator), record=record, seed=seed, **sources
    )


def disturbed(mission=MISSIONS["mission"], **options):
    """Return a flight with the Iris's wind and noise."""
    return flight(mission, wind=Wind("ou"), estimator=Estimator("noisy_delayed"), **options)


def mission_of(*items):
    """Return a mission of `(command, north_m, east_m, height_m, p1, p2, p4)`; omitted values are zero."""
    lines = ["QGC WPL 110"]
    for i, item in enumerate(items):
        command, north, east, height, p1, p2, p4 = (*item, *(0.0,) * (7 - len(item)))
        lat, lon = 0.0, 0.0
        if command in (16, 17, 19, 21, 22):
            lat = HOME[0] + north / METRES_PER_DEGREE
            lon = HOME[1] + east / METRES_PER_DEGREE / np.cos(np.radians(HOME[0]))
        lines.append(f"{i}\t{int(i == 0)}\t3\t{command}\t{p1}\t{p2}\t0\t{p4}\t{lat:.9f}\t{lon:.9f}\t{height}\t1")
    return parse_wpl("\n".join(lines) + "\n", "a test's mission")


def changes(values, time_us):
    """Return the times [s] at which a column changes, and its new values."""
    rows = np.flatnonzero(np.diff(values)) + 1
    return [(int(time_us[row]) / 1e6, int(values[row])) for row in rows]


def autopilot_of(sim):
    """Return the autopilot's status columns from the log."""
    return sim.log["bus"]["autopilot"]


def modes_of(sim):
    """Return the flown modes, in order."""
    return [int(mode) for _, mode in changes(autopilot_of(sim)["nav_state"], sim.log["time_us"])]


def item_times(sim):
    """Return when each mission item became the current one."""
    return [time_s for time_s, _ in changes(autopilot_of(sim)["mission_item"], sim.log["time_us"])]


def landed_at(sim):
    """Return where the vehicle has landed at the end, or fail if it has not."""
    assert not sim.is_crashed
    assert autopilot_of(sim)["armed"][-1] == 0
    assert sim.plant["pos"][2] > -0.05
    return sim.plant["pos"][:2]
