"""Loss of the ground station, by PX4's rules.

A ground station is lost COM_DL_LOSS_T after PX4 has seen it last, which is up to 2.25 s after its last heartbeat. An
armed vehicle then reacts by NAV_DLL_ACT, in all modes but Land and those of COM_DLL_EXCEPT: 0 does nothing, 1 holds, 2
returns, 3 lands, 5 and 6 stop the motors. Before it returns or lands, it holds for COM_FAIL_ACT_T (`commander`). The
reaction goes on if the station comes back, until another mode is selected; it does not come back while the station
is still lost. With NAV_DLL_ACT, a vehicle without a ground station can't be armed (`commanded`).

A vehicle that takes no commands has no ground station, and reacts to nothing here.
"""

from typing import Any

import numpy as np

from px4lockstep.autopilots.builtin.commander import (
    GEOFENCE_FAILSAFE,
    NO_FAILSAFE,
    disarm,
    end_hold,
    fail_safe_later,
)
from px4lockstep.autopilots.builtin.parameters import Params
from px4lockstep.autopilots.builtin.sticks import LOSS_MODES, is_excepted, is_piloted
from px4lockstep.autopilots.requests import LAND_MODE, LOITER_MODE, MANUAL_MODE, RETURN_MODE
from px4lockstep.jit import kernel, record

STATION_FAILSAFE = np.int64(8)
"""Number of the failsafe for a lost ground station."""
SEEN_US = 2_250_000
"""PX4 takes a heartbeat for valid for 2.5 s, and looks at it 0, 1, 1.25 and 2.25 s after its arrival."""

STATION = record(
    [
        ("loss_us", "i8"),  # from the last heartbeat
        ("is_on", "i8"),  # whether it reacts
        ("loss_mode", "i8"),  # MANUAL_MODE: stop the motors
        ("exceptions", "i8"),  # COM_DLL_EXCEPT
        ("received_us", "i8"),  # time of the last heartbeat; 0: never
        ("is_lost has_acted", "i8"),
    ],
    state="received_us is_lost has_acted",
)


@kernel
def is_loss_ignored(s, mode):
    """Return whether the loss does not matter in a mode: in Land, in an excepted one, or if it would not change."""
    is_return = mode == RETURN_MODE and s.loss_mode == RETURN_MODE
    return mode == LAND_MODE or is_return or (is_excepted(s, mode) and not is_piloted(mode))


@kernel
def watch_station(c, s, t_us, can_hold):
    """Note whether the ground station is lost, and react."""
    s.is_lost = int(s.received_us == 0 or t_us - s.received_us > s.loss_us)
    if c.has_flown == 0:
        end_hold(c, t_us, can_hold)  # in flight, the commander does
    if s.is_on == 0 or s.is_lost == 0 or c.is_armed == 0:
        s.has_acted = 0
        return
    if s.has_acted != 0 or is_loss_ignored(s, c.mode):
        return
    s.has_acted = 1
    if s.loss_mode == MANUAL_MODE:
        disarm(c)
    elif c.acted == NO_FAILSAFE or c.mode == LOITER_MODE or (c.mode == RETURN_MODE and s.loss_mode == LAND_MODE):
        acted = max(c.acted, GEOFENCE_FAILSAFE)  # as severe
        fail_safe_later(c, t_us, STATION_FAILSAFE, s.loss_mode, can_hold)
        c.acted = acted


def write_station(s: Any, p: Params) -> None:
    """Write the parameters."""
    s["loss_us"] = round(p["COM_DL_LOSS_T"] * 1e6) + SEEN_US
    s["loss_mode"] = LOSS_MODES.get(int(p["NAV_DLL_ACT"]), MANUAL_MODE)
    s["is_on"] = int(p["NAV_DLL_ACT"]) in LOSS_MODES
    s["exceptions"] = p["COM_DLL_EXCEPT"]
    s["is_lost"] = 1
