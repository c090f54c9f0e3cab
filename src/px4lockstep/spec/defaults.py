"""What a file leaves out and other tables decide, filled in, so that the resolved file shows it."""

from typing import Any

from px4lockstep.engine.builder import Builder
from px4lockstep.estimation.estimator import Estimator
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.vehicle_tables import Actuation, Airframe, Bus, MotorChannel, Power

Tables = dict[str, Any]
"""The top-level tables that are valid so far, by name."""

ARM_TIME_S = 1.0
MISSION_TIME_S = 2.0


def default_directions(count: int) -> tuple[int, ...]:
    """Return the signs of rotors that are not given: as the Iris has them if there are four, else alternating."""
    return (1, 1, -1, -1) if count == 4 else tuple(1 if i % 2 == 0 else -1 for i in range(count))


def fill_in(tables: Tables, builder: Builder) -> None:
    """Fill in what tables leave out, where what it depends on is valid."""
    made = builder.made
    if "airframe" in tables:
        tables["airframe"] = made(_airframe, tables["airframe"])
    if {"airframe", "actuation"} <= tables.keys():
        tables["actuation"] = made(_actuation, tables["actuation"], len(tables["airframe"].rotor_pos_body_m))
    if {"actuation", "power"} <= tables.keys():
        tables["power"] = made(_power, tables["power"], tables["actuation"])
    if {"px4", "scenario"} <= tables.keys():
        tables["scenario"] = made(_scenario, tables["scenario"], tables["px4"].mission_path is not None)
    if {"timeline", "estimator"} <= tables.keys():
        tables["estimator"] = made(_estimator, tables["estimator"], tables["timeline"].dt_autopilot_s)


def _airframe(airframe: Airframe) -> Airframe:
    rotors = len(airframe.rotor_pos_body_m)
    changes: dict[str, Any] = {}
    if airframe.rotor_axis_body_m is None:
        changes["rotor_axis_body_m"] = ((0.0, 0.0, 1.0),) * rotors
    if airframe.propulsion.rotor_dir is None:
        changes["propulsion"] = airframe.propulsion.model_copy(update={"rotor_dir": default_directions(rotors)})
    if airframe.inertia_diag_kgm2 is not None and airframe.inertia_products_kgm2 is None:
        changes["inertia_products_kgm2"] = (0.0, 0.0, 0.0)
    x0 = airframe.x0
    if x0.q_bn is None and x0.euler_deg is None and x0.euler_rad is None:
        changes["x0"] = x0.model_copy(update={"q_bn": (1.0, 0.0, 0.0, 0.0)})
    return airframe.model_copy(update=changes)


def _actuation(actuation: Actuation, rotors: int) -> Actuation:
    if actuation.motors is not None:
        return actuation
    motors = tuple(MotorChannel(id=f"motor{i + 1}", channel=i + 1) for i in range(rotors))
    return actuation.model_copy(update={"motors": motors})


def _power(power: Power, actuation: Actuation) -> Power:
    batteries = tuple(
        battery if battery.id is not None else battery.model_copy(update={"id": f"bat{i + 1}"})
        for i, battery in enumerate(power.batteries)
    )
    buses = power.buses
    if buses is None:
        one = Bus(
            id="main",
            battery_ids=tuple(str(battery.id) for battery in batteries),
            motor_ids=tuple(motor.id for motor in actuation.motors or ()),
            servo_ids=tuple(servo.id for servo in actuation.servos),
        )
        buses = (one,)
    buses = tuple(
        bus if bus.id is not None else bus.model_copy(update={"id": f"bus{i + 1}"}) for i, bus in enumerate(buses)
    )
    return power.model_copy(update={"batteries": batteries, "buses": buses})


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
