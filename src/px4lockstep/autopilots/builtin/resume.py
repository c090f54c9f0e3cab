"""Resume the built-in autopilot with other parameters: bring in line what follows from both parameters and state."""

from px4lockstep.autopilots.base import Record, Session
from px4lockstep.autopilots.builtin.motor_failure import NONE


class BuiltinSession(Session):
    """The built-in autopilot while it flies."""

    record = "builtin"

    def resume(self, kept: Record, into: Record, home: Record) -> None:
        """Update what follows from both parameters and state: the mix of the allocation, and the hover thrust."""
        del kept, home  # its state is in `into`, and has no addresses
        failure, hover = into["motor_failure"][0], into["hover"][0]
        failed = int(failure["failed"])
        into["allocation"]["mix"][0] = failure["mix_all"] if failed == NONE else failure["mix_without"][failed]
        has_flown = float(hover["value"]) != 0.0
        if has_flown and not hover["is_on"]:  # else it follows the estimate
            into["position"]["hover_thrust"] = hover["initial"]
