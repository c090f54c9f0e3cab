"""How stock PX4 is run."""

from dataclasses import dataclass
from pathlib import Path

MAX_INSTANCES = 10
"""PX4's start script gives all further ones the same port of the API."""
IRIS = 10016
"""PX4's airframe of a quadrotor without a simulator of its own, `none_iris`."""


@dataclass(frozen=True)
class SitlOptions:
    """How stock PX4 is run.

    Args:
        build_dir: The folder of its build; left out, the environment's `PX4_SITL_DIR`.
        instance: Its number, 0 to 9; left out, the first that is free.
        wait_for_user: Whether a PX4 that the user starts is waited for, instead of starting one.
        airframe: PX4's number of the airframe.
        connect_timeout_s: How long PX4 may take to connect.
        answer_timeout_s: How long it may take to answer a step.
        boot_us: How long it boots before the flight begins, at least; simulated time.
        ground_truth: Whether it is told the true state too, for its log.
        battery: Whether it is told of our batteries, or simulates its own.
        derive_ca_params: Whether the allocation's parameters come from the aircraft's geometry.
    """

    build_dir: str | Path | None = None
    instance: int | None = None
    wait_for_user: bool = False
    airframe: int = IRIS
    connect_timeout_s: float = 60.0
    answer_timeout_s: float = 2.0
    boot_us: int = 6_000_000
    ground_truth: bool = False
    battery: bool = True
    derive_ca_params: bool = True
