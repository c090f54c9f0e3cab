"""Parameters over MAVLink: read each one that the flight needs, and set those that differ.

PX4's start script sets parameters from the environment, but `param set` ignores a value that the parameter already
has. v1.17.0's script does so before the airframe's file, whose defaults then replace such values: a rotor keeps the
airframe's position, RTL_RETURN_ALT = 60 becomes 30. Therefore each parameter is read back here, set if it differs, and
read again.

PX4 does not answer requests for parameters that it lacks. It answers in order, but at its own pace, whatever time is
simulated meanwhile. Therefore each burst of requests ends with a probe, a parameter that every PX4 has. When its answer
arrives, a parameter of the burst without an answer is requested once more, in case a datagram was lost, and then
missing.

Reference: https://mavlink.io/en/services/parameter.html, with integers encoded by their bytes, as PX4 does.
"""

import struct
from collections.abc import Iterable, Mapping

from px4lockstep.autopilots.mavlink.dialect import Dialect
from px4lockstep.errors import HostError
from px4lockstep.px4.parameters import as_float32

REAL32, INT32 = 9, 6
"""MAV_PARAM_TYPE."""
MAX_NAME = 16
VALUE = struct.Struct("<4sHH16sB")
"""PARAM_VALUE: value, count, index, name, type."""
FORMATS = {REAL32: struct.Struct("<f"), INT32: struct.Struct("<i")}
AGAIN_US = 1_000_000
"""Time after which a burst without any answer is sent again."""
TRIES = 2
SETS = 3
BURST = 30
"""Maximum number of requests at a time: a datagram each, which must fit in PX4's receive buffer."""
PROBES = ("SYS_AUTOSTART", "SYS_AUTOCONFIG", "MAV_SYS_ID", "COM_DISARM_LAND", "COM_RC_LOSS_T")
"""In turn, so that a late answer does not count for the next burst."""


class Parameters:
    """The wanted parameters, of which `required` must exist, and how far they are checked."""

    def __init__(self, wanted: Mapping[str, float | int], required: Iterable[str]) -> None:
        self._wanted = dict(wanted)
        self._required = frozenset(required)
        self._left = dict.fromkeys(self._wanted, 0)  # number of requests without an answer
        self._sets = dict.fromkeys(self._wanted, 0)  # number of attempts to set it
        self._bursts: dict[str, list[str]] = {}  # requests that PX4 may not have read yet, by the probe after them
        self._probes = [name for name in PROBES if name not in self._wanted]
        self._sent_us = -AGAIN_US
        self._missing: list[str] = []

    @property
    def is_done(self) -> bool:
        """Whether PX4 has all values."""
        return not self._left

    @property
    def missing(self) -> frozenset[str]:
        """Parameters that PX4 was found to lack."""
        return frozenset(self._missing)

    def skip(self, names: Iterable[str]) -> None:
        """Skip parameters that PX4 is known to lack."""
        missing = [name for name in names if self._left.pop(name, None) is not None]
        wrong = [name for name in missing if name in self._required]
        self._missing += missing
        if wrong:
            raise HostError(f"this PX4 has no parameter {', '.join(wrong)}; correct the name, or remove it")

    def requests(self, dialect: Dialect, target: tuple[int, int], time_us: int) -> list[bytes]:
        """Return the requests that are due."""
        if time_us - self._sent_us >= AGAIN_US:
            self._bursts.clear()
        asked = [name for names in self._bursts.values() for name in names]
        due = [name for name in self._left if name not in asked][:BURST]
        if not due or len(self._bursts) == len(self._probes):
            return []
        probe = next(name for name in self._probes if name not in self._bursts)
        self._probes.remove(probe)
        self._probes.append(probe)  # the others come first
        self._bursts[probe], self._sent_us = due, time_us
        return [dialect.encode("param_request_read", *target, name.encode(), -1) for name in (*due, probe)]

    def receive(self, payload: bytes, dialect: Dialect, target: tuple[int, int]) -> bytes | None:
        """Process a PARAM_VALUE; return a PARAM_SET if the value has to change."""
        data, _, _, raw, kind = VALUE.unpack(payload.ljust(VALUE.size, b"\0")[: VALUE.size])
        name = raw.split(b"\0")[0].decode(errors="replace")
        self._has_read(name)
        if name not in self._left or kind not in FORMATS:
            return None
        (value,) = FORMATS[kind].unpack(data)
        wanted = self._stored(name, kind)
        if value == wanted:
            del self._left[name]
            return None
        if self._sets[name] == SETS:
            raise HostError(f"PX4 keeps parameter {name} at {value:.9g} although it was set to {wanted:.9g}")
        self._sets[name] += 1
        self._left[name] = 0
        return dialect.encode("param_set", *target, name.encode(), _as_real(kind, wanted), kind)

    def _stored(self, name: str, kind: int) -> float | int:
        """Return the wanted value as PX4 stores it."""
        value = self._wanted[name]
        if kind == REAL32:
            return as_float32(value)
        if value != int(value) or not -(2**31) <= value < 2**31:
            raise HostError(f"parameter {name} = {value!r} is not valid: it is an int32 in PX4; use a whole number")
        return int(value)

    def _has_read(self, probe: str) -> None:
        """Take note that PX4 has read all requests up to a probe."""
        while probe in self._bursts:
            first = next(iter(self._bursts))
            unanswered = [name for name in self._bursts.pop(first) if name in self._left]
            for name in unanswered:
                self._left[name] += 1
            self.skip([name for name in unanswered if self._left[name] >= TRIES])


def _as_real(kind: int, value: float | int) -> float:
    """Return the number whose float32 has the bytes of a parameter."""
    real: float = FORMATS[REAL32].unpack(FORMATS[kind].pack(value))[0]
    return real
