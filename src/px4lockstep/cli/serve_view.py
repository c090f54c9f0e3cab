"""The page of `px4lockstep serve --view`: the live vehicle in a browser."""

import time

from px4lockstep.log.events import mode_name
from px4lockstep.service.status import VehicleStatus
from px4lockstep.spec.spec import Spec
from px4lockstep.view import LiveView
from px4lockstep.view.server import ANY_PORT

INTERVAL_S = 0.04
"""Wall-clock time between two poses."""


class LivePage:
    """A page with the vehicle, which `show` moves."""

    def __init__(self, spec: Spec) -> None:
        self._view = LiveView(spec, port=ANY_PORT)
        self._shown_s = 0.0

    @property
    def url(self) -> str:
        """The address of the page."""
        return self._view.url

    def show(self, status: VehicleStatus) -> None:
        """Show a status, unless the last one was shown a moment ago."""
        now_s = time.perf_counter()
        if now_s - self._shown_s < INTERVAL_S or not status.has_position:
            return
        self._shown_s = now_s
        mode = mode_name(status.nav_state) if status.armed else "disarmed"
        self._view.update(
            status.time_us,
            status.pos_ned,
            status.q_bn,
            motors=status.motors,
            rotor_speed_rad_s=status.rotor_rad_s,
            wind_ned=status.wind_ned,
            target_ned=status.pos_sp_ned if status.armed else None,
            text=mode,
        )

    def close(self) -> None:
        """Close the page."""
        self._view.close()
