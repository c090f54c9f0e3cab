"""Turn the failure code of the loop into an exception that says what failed, when, where and what to do."""

from typing import Any

from px4lockstep.autopilots.base import Session
from px4lockstep.engine import validator
from px4lockstep.errors import InvariantError, SimulationError, StepError
from px4lockstep.plant.faults import FRACTIONS, KINDS, Fault
from px4lockstep.plant.layout import GROUPS

TEXTS = {
    validator.STATE_NOT_FINITE: "state[{index}], in group {group!r}, became {value} {at}; {state}. The log is intact",
    validator.QUATERNION_NOT_UNIT: "the attitude quaternion has norm {value!r} {at}, more than 1e-10 from 1; {state}",
    validator.TIME_NOT_RISING: "time did not increase {at}: the previous event boundary was at {value_s:.6f} s",
    validator.AUTOPILOT_INTERVAL: "the autopilot ticked after {value:.0f} us {at}, not after {usual_us} us as before",
    validator.MOTOR_COMMAND: "motor command {number} is {value} {at}; "
    "it must be 0 to 1, or NaN for a motor that is not driven",
    validator.SERVO_COMMAND: "servo command {number} is {value} {at}; "
    "it must be -1 to 1, or NaN for a servo that is not driven",
    validator.WIND_NOT_FINITE: "wind component {index} (0 north, 1 east, 2 down) is {value} {at}",
    validator.ESTIMATE_NOT_FINITE: "the estimate is not finite {at}: {estimate}",
    validator.OUTPUT_NOT_FINITE: "plant output {index} is {value} {at}; {state}",
    validator.USER_FUNCTION_RAISED: "a function of the plant raised an exception {at}; {state}. The log is intact",
    validator.ROTOR_THRUST: "the thrust of rotor {number} is {value} N {at}; {state}. The log is intact",
    validator.ROTOR_TORQUE: "the torque of rotor {number} is {value} N m {at}; {state}. The log is intact",
    validator.MOTOR_CURRENT: "the current of motor {number} is {value} A {at}; {state}. The log is intact",
    validator.BUS_CURRENT: "the current of bus {number} is {value} A {at}; {state}. The log is intact",
    validator.BUS_VOLTAGE: "the voltage of bus {number} is {value} V {at}, it must be finite and at least 0; {state}. "
    "The log is intact",
    validator.RHS_NOT_PURE: "the right-hand side is not pure {at}: evaluated twice, derivative {index} differs by "
    "{value}, or it modified the state, inputs or parameters. It must depend on its arguments only and write only the "
    "derivative",
}
COMMANDS = {validator.MOTOR_COMMAND: "motors", validator.SERVO_COMMAND: "servos"}


def failure_of(sim: Any, integrator_kind: str, session: Session) -> SimulationError:
    """Build the exception for a failed run from its `SIM` record."""
    noted, plant = sim["validator"], sim["plant"]
    code, index, value = noted["code"], int(noted["index"]), float(noted["value"])
    if code in (validator.TOO_MANY_SUBSTEPS, validator.STEP_NOT_FINITE):
        return _step_failure(sim, code, integrator_kind)
    at = f"at t = {int(noted['time_us']) / 1e6:.6f} s"
    if code >= validator.FAULT:
        return InvariantError(f"the scenario's {_describe_fault(sim, KINDS[code - validator.FAULT], index)} {at}")
    is_in = (plant["group_start"] <= index) & (index < plant["group_stop"])
    text = TEXTS[code].format(
        at=at,
        index=index,
        number=index + 1,
        value=value,
        value_s=value / 1e6,
        group=next((name for name, found in zip(GROUPS, is_in, strict=True) if found), "?"),
        state=f"state {sim['state']['x'][: int(plant['n_x'])].tolist()}",
        usual_us=int(noted["autopilot_interval_us"]),
        estimate=sim["bus"]["estimate"],
    )
    return InvariantError(text + (session.explain_command(COMMANDS[code]) if code in COMMANDS else ""))


def _step_failure(sim: Any, code: int, integrator_kind: str) -> StepError:
    solver = sim["solver"]
    group = GROUPS[int(solver["last_group"])]
    at_s = (int(sim["validator"]["time_us"]) + float(solver["last_offset_us"])) / 1e6
    tried = f"a step of {float(solver['last_h_us']):g} us"
    if code == validator.STEP_NOT_FINITE:
        return StepError(
            f"{integrator_kind} at t = {at_s:.6f} s: {tried}, the minimum step size, has an error that is not finite "
            f"in group {group!r}. The right-hand side diverges there; the log up to then is intact"
        )
    attempts = int(solver["max_substeps"])
    where = f"{integrator_kind} at t = {at_s:.6f} s"
    missed = f"{where}: the next event boundary was not reached within max_substeps = {attempts} attempts."
    if float(solver["h_us"]) > float(solver["max_factor"]) * float(solver["last_h_us"]):  # no error limits it
        return StepError(
            f"{missed} The last was {tried}: steps shrink towards a kink of the plant, which takes 10 to 20 attempts. "
            f"Raise max_substeps, or kink_tolerance from {float(solver['kink_tolerance']):g} to at most 1"
        )
    return StepError(
        f"{missed} The last, {tried}, has an error of {float(solver['last_error']):.3g} times the tolerance, in group "
        f"{group!r}, which limits the step size most. Loosen that tolerance, raise max_substeps, h_max or h_min, or "
        "look for a time constant far shorter than the others"
    )


def _describe_fault(sim: Any, fault: Fault, n_motors: int) -> str:
    """Describe what is wrong with the value of a fault."""
    found = sim["bus"]["scenario"]["faults"][fault.name]
    if fault.form != FRACTIONS:
        return fault.wrong.format(mask=int(found), index=n_motors)
    i = next(i for i, value in enumerate(found) if not 0.0 <= value <= 1.0)
    return fault.wrong.format(number=i + 1, value=float(found[i]))
