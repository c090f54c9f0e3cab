"""What a file leaves out and other tables decide, filled in, so that the resolved file shows it."""

from typing import Any

from px4lockstep.engine.builder import Builder
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.vehicle.actuators import Actuation
from px4lockstep.vehicle.aircraft import completed_power
from px4lockstep.vehicle.airframe import Airframe

Tables = dict[str, Any]
"""The top-level tables that are valid so far, by name."""

ARM_TIME_S = 1.0
MISSION_TIME_S = 2.0


def fill_in(tables: Tables, builder: Builder) -> None:
    """Fill in what tables leave out, where what it depends on is valid."""
    made = builder.made
    if "airframe" in tables:
        tables["airframe"] = made(Airframe.completed, tables["airframe"])
    if {"airframe", "actuation"} <= tables.keys():
        tables["actuation"] = made(Actuation.completed, tables["actuation"], len(tables["airframe"].rotor_pos_body_m))
    if {"actuation", "power"} <= tables.keys():
        tables["power"] = made(completed_power, tables["actuation"], tables["power"])
    if {"px4", "scenario"} <= tables.keys():
        tables["scenario"] = made(_scenario, tables["scenario"], tables["px4"].mission_path is not None)
    if {"timeline", "estimator"} <= tables.keys():
        tables["estimator"] = made(_estimator, tables["estimator"], tables["timeline"].dt_autopilot_s)


def _estimator(estimator: Estimator, tick_s: float) -> Estimator:
    return estimator if estimator.dt_est_s is not None else estimator.model_copy(update={"dt_est_s": tick_s})


def _scenario(scenario: Scenario, has_mission: bool) -> Scenario:
    actions = [event.action for event in scenario.events]
    changes = {}
    if scenario.arm_time_s is None and has_mission and "arm" not in actions:
        changes["arm_time_s"] = ARM_TIME_S
    if scenario.mission_time_s is None and has_mission and "start_mission" not in actions:
        changes["mission_time_s"] = MISSION_TIME_S
    return scenario.model_copy(update=changes)
