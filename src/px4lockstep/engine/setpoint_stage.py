"""The source of the autopilot's setpoints: the scenario, a Python function, or a recorded stream."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from px4lockstep.autopilots.base import capabilities_of
from px4lockstep.engine.builder import Builder
from px4lockstep.engine.core import NATIVE, PYTHON, REPLAY
from px4lockstep.engine.protocols import StageInputs
from px4lockstep.engine.streams import Streams
from px4lockstep.errors import InputError, LockstepError, SimulationError
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.scenario.setpoint_rows import NONE, SETPOINT_ROW
from px4lockstep.scenario.setpoints import SetpointWriter
from px4lockstep.user_code import signature_of, told, without_frames_of_package

SetpointFunction = Callable[[int, StageInputs], Any]
"""`function(time_us, inputs)`: return the keys of a setpoint by name, or None for no setpoint at this tick."""


def set_setpoints(
    core: npt.NDArray[Any],
    sources: dict[str, Any],
    function: SetpointFunction | None,
    replay: Streams | None,
    builder: Builder,
) -> npt.NDArray[Any]:
    """Choose the source of setpoints; return those of the scenario."""
    none = np.zeros(0, SETPOINT_ROW)
    scenario, autopilot = sources["scenario"], sources["autopilot"]
    if replay is not None:
        if function is not None:
            raise InputError("setpoints are given, but the replay provides them too; omit one of them")
        if autopilot is not None and len(replay.setpoints):
            core["modes"]["setpoints"] = REPLAY
        return none
    own = scenario if isinstance(scenario, Scenario) else Scenario()
    rows: npt.NDArray[Any] = builder.made(Scenario.setpoint_rows, own) if own.gives_setpoints else none
    if function is None:
        if own.setpoints_from_python:
            text = "scenario.setpoints_from_python is true, but there is no function; pass setpoints=function"
            raise InputError(f"{text} to simulate or build", key=("scenario", "setpoints_from_python"))
        if len(rows):
            core["modes"]["setpoints"] = NATIVE
        return rows
    capabilities = capabilities_of(autopilot)
    if not callable(function):
        raise InputError(f"setpoints = {function!r} must be a function(time_us, inputs), or a table of the scenario")
    _check_arguments(function)
    if len(rows):
        raise InputError("setpoints come from a function and from the scenario; omit one of them")
    if not capabilities.takes_setpoints:
        raise InputError(f"setpoints have no effect: {capabilities.no_setpoints}")
    core["modes"]["setpoints"] = PYTHON
    return none


def _name(function: SetpointFunction) -> str:
    return f"the setpoint function {getattr(function, '__name__', type(function).__name__)}"


def _check_arguments(function: SetpointFunction) -> None:
    """Raise `InputError` if a function can't be called with the time and the inputs."""
    signature = signature_of(function)
    try:
        if signature is not None:
            signature.bind("time_us", "inputs")
    except TypeError as error:
        raise InputError(f"{_name(function)}{signature} can't be called with (time_us, inputs): {error}") from None


def setpoint_caller(
    function: SetpointFunction, core: npt.NDArray[Any], other: Callable[[int, Any], None] | None
) -> Callable[[int, StageInputs], None]:
    """Return the function to call at each autopilot tick: it stores the setpoint, then calls the autopilot's own."""
    given, requests = core["setpoint"], core["scenario"]["setpoints"]["requests"]
    write = SetpointWriter(given["setpoint"], _name(function))
    asked, wanted = given["requests"].data, requests.data

    def call(time_us: int, inputs: StageInputs) -> None:
        try:
            kind = write(function(time_us, inputs))
        except LockstepError:
            raise
        except Exception as error:
            raised = told(without_frames_of_package(error))
            raise SimulationError(
                f"{_name(function)} failed at t = {time_us / 1e6:.6f} s: {raised}. The log up to then is intact"
            ) from error
        if kind != NONE and wanted[0] == 0:
            wanted[0] = 1
        asked[0] = wanted[0]
        if other is not None:
            other(time_us, inputs)

    return call
