"""The C interface of `libpx4_lockstep`, version 3: its functions, and the configuration record of `create`.

All names start with `px4_lockstep_`, which is omitted here. The handle is a `void*`; functions that return an int
return 0 or a negative error code (`codes.py`).
"""

from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_uint8, c_uint32, c_uint64, c_void_p
from dataclasses import astuple, dataclass, fields
from typing import Any

from px4lockstep.errors import InputError

VERSION = 3
PREFIX = "px4_lockstep_"
CONFIG_FIELDS = 9
SIZES = (0, 0, 4 * CONFIG_FIELDS)
"""Sizes of the records for input, output and configuration [bytes]; the first two were replaced by uORB messages."""

Signature = tuple[Any, tuple[Any, ...]]

HANDSHAKE: dict[str, Signature] = {
    "abi_version": (c_uint32, ()),
    "sizes": (None, (POINTER(c_uint32), POINTER(c_uint32), POINTER(c_uint32))),
}
FUNCTIONS: dict[str, Signature] = {
    **HANDSHAKE,
    "create": (c_void_p, (c_void_p,)),
    "destroy": (None, (c_void_p,)),
    "load_mission_qgc_wpl": (c_int, (c_void_p, c_char_p)),
    "step_uorb": (c_int, (c_void_p, c_uint64)),
    "param_set_i32": (c_int, (c_void_p, c_char_p, c_int32)),
    "param_set_f32": (c_int, (c_void_p, c_char_p, c_float)),
    "param_get_i32": (c_int, (c_void_p, c_char_p, POINTER(c_int32))),
    "param_get_f32": (c_int, (c_void_p, c_char_p, POINTER(c_float))),
    "param_notify": (c_int, (c_void_p,)),
    "control_alloc_update_params": (c_int, (c_void_p,)),
    "orb_topic_metadata": (c_int, (c_void_p, c_char_p, POINTER(c_char_p), *[POINTER(c_uint32)] * 3, POINTER(c_uint8))),
    "orb_create_publisher_ex": (
        c_int,
        (c_void_p, c_char_p, c_int32, c_uint32, c_int32, POINTER(c_int32), POINTER(c_int32), POINTER(c_uint32)),
    ),
    "orb_queue_publish": (c_int, (c_void_p, c_int32, c_void_p, c_uint32)),
    "orb_publisher_instance": (c_int, (c_void_p, c_int32, POINTER(c_int32))),
    "orb_create_subscriber": (c_int, (c_void_p, c_char_p, c_uint32, POINTER(c_int32), POINTER(c_uint32))),
    "orb_check": (c_int, (c_void_p, c_int32, POINTER(c_int32))),
    "orb_copy": (c_int, (c_void_p, c_int32, c_void_p, c_uint32)),
    "orb_unsubscribe": (c_int, (c_void_p, c_int32)),
}
"""The functions that are called, with their return and argument types."""


@dataclass(frozen=True)
class Config:
    """Configuration for `create`, `[px4.lockstep]` in a spec file. A rate [Hz] of 0 or less means every step."""

    dataman_use_ram: int = 1
    enable_commander: int = 0
    commander_rate_hz: int = 100
    navigator_rate_hz: int = 20
    mc_pos_control_rate_hz: int = 100
    mc_att_control_rate_hz: int = 250
    mc_rate_control_rate_hz: int = 250
    enable_control_allocator: int = 1
    control_allocator_rate_hz: int = 250

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int) or not -(2**31) <= value < 2**31:
                raise InputError(f"px4.lockstep.{field.name} = {value!r} must be a 32-bit integer")
        if self.enable_commander != 0:
            raise InputError(
                f"px4.lockstep.enable_commander = {self.enable_commander} must be 0: the library has no commander; "
                "arming and modes come from the scenario"
            )

    def as_c(self) -> Any:
        """Return the configuration as a C record."""
        return (c_int32 * CONFIG_FIELDS)(*astuple(self))
