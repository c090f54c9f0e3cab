"""From what the loop noted when it stopped to an exception that says what, when, where and what to do."""

from typing import Any

from px4lockstep.autopilots.base import Session
from px4lockstep.engine import validator
from px4lockstep.errors import InvariantError, SimulationError, StepError
from px4lockstep.plant.faults import FRACTIONS, KINDS, Fault
from px4lockstep.plant.layout import GROUPS


def failure_of(sim: Any, integrator_kind: str, session: Session) -> SimulationError:
    """Build the exception for a failed run.

    Args:
        sim: The `SIM` record.
        integrator_kind: What the integrator is called.
        session: The autopilot.
    """
    noted = sim["validator"]
    code = int(noted["code"])
    time_us = int(noted["time_us"])
    index = int(noted["index"])
    value = float(noted["value"])
    at = f"at t = {time_us / 1e6:.6f} s"
    if code in (validator.TOO_MANY_SUBSTEPS, validator.STEP_NOT_FINITE):
        return _step_failure(sim, code, integrator_kind)
    n_x = int(sim["plant"]["n_x"])
    state = f"state {sim['state']['x'][:n_x].tolist()}"
    if code == validator.STATE_NOT_FINITE:
        text = f"state[{index}], in group {_group_of(sim, index)!r}, became {value} {at}; {state}. The log is intact"
    elif code == validator.QUATERNION_NOT_UNIT:
        text = f"the attitude quaternion has norm {value!r} {at}, more than 1e-10 from 1; {state}"
    elif code == validator.TIME_NOT_RISING:
        text = f"time did not rise {at}: the boundary before was at {value / 1e6:.6f} s"
    elif code == validator.AUTOPILOT_INTERVAL:
        expected_us = int(noted["autopilot_interval_us"])
        text = f"the autopilot ticked after {value:.0f} us {at}, not after {expected_us} us as before"
    elif code == validator.MOTOR_COMMAND:
        text = f"motor command {index + 1} is {value} {at}; allowed are 0 to 1, or NaN for a motor that is not driven"
        text += session.explain_command("motors")
    elif code == validator.SERVO_COMMAND:
        text = f"servo command {index + 1} is {value} {at}; allowed are -1 to 1, or NaN for one that is not driven"
        text += session.explain_command("servos")
    elif code == validator.WIND_NOT_FINITE:
        text = f"wind component {index} (north, east, down from 0) is {value} {at}"
    elif code == validator.ESTIMATE_NOT_FINITE:
        text = f"the estimate is not finite {at}: {sim['bus']['estimate']}"
    elif code == validator.OUTPUT_NOT_FINITE:
        text = f"plant output {index} is {value} {at}; {state}"
    elif code == validator.USER_FUNCTION_RAISED:
        text = f"a function of the plant raised an exception {at}; {state}. The log is intact"
    elif code == validator.BUS_VOLTAGE:
        text = f"the voltage of bus {index + 1} is {value} {at}; {state}"
    elif validator.FAULT <= code < validator.FAULT + len(KINDS):
        text = f"the scenario's {_describe_fault(sim, KINDS[code - int(validator.FAULT)], index)} {at}"
    else:
        text = (
            f"the right-hand side is not pure {at}: evaluated twice, derivative {index} differs by {value}, or it "
            "changed its state, inputs or parameters. It must depend on its arguments alone and write nothing but the "
            "derivative"
        )
    return InvariantError(text)


def _step_failure(sim: Any, code: int, integrator_kind: str) -> StepError:
    solver = sim["solver"]
    group = GROUPS[int(solver["last_group"])]
    at_s = (int(sim["validator"]["time_us"]) + float(solver["last_offset_us"])) / 1e6
    tried = f"a step of {float(solver['last_h_us']):g} us"
    if code == validator.STEP_NOT_FINITE:
        return StepError(
            f"{integrator_kind} at t = {at_s:.6f} s: {tried}, the shortest allowed, gave an error that is not finite "
            f"in group {group!r}. The right-hand side diverges there; the log up to then is intact"
        )
    attempts = int(solver["max_substeps"])
    missed = f"{integrator_kind} at t = {at_s:.6f} s: {attempts} attempts did not reach the next boundary."
    if float(solver["h_us"]) > float(solver["max_factor"]) * float(solver["last_h_us"]):  # no error made it so short
        return StepError(
            f"{missed} The last was {tried}: steps shrink up to a kink of the plant, in 10 to 20 attempts. Raise "
            f"max_substeps, or kink_tolerance, {float(solver['kink_tolerance']):g}, up to 1"
        )
    return StepError(
        f"{missed} The last, {tried}, has an error of {float(solver['last_error']):.3g} times the tolerance, in group "
        f"{group!r}, which limits the steps most. Loosen that tolerance, raise max_substeps, h_max or h_min, or look "
        "for a time constant far shorter than the others"
    )


def _describe_fault(sim: Any, fault: Fault, n_motors: int) -> str:
    """Say what is wrong with the value of a fault."""
    found = sim["bus"]["scenario"]["faults"][fault.name]
    if fault.form != FRACTIONS:
        return fault.wrong.format(mask=int(found), index=n_motors)
    i = next(i for i, value in enumerate(found) if not 0.0 <= value <= 1.0)
    return fault.wrong.format(number=i + 1, value=float(found[i]))


def _group_of(sim: Any, index: int) -> str:
    plant = sim["plant"]
    for i, name in enumerate(GROUPS):
        if plant["group_start"][i] <= index < plant["group_stop"][i]:
            return name
    return "?"
