"""What a flight with stock PX4 that stops is told: the symptom, the likely cause, what to do."""

import shlex
from collections.abc import Mapping

from px4lockstep.autopilots.px4_sitl.process import PARAMETER, Px4Process

SIMULATOR_PORT = 4560
"""Of PX4's instance 0; the others' are the next."""
FAST_TICK_US = 2_000
"""From this tick down, PX4's default parameters leave every second step unanswered."""

MAX_LINE = 116

ACCEL_BITS, GYRO_BITS = 0x07, 0x38
"""Of HIL_SENSOR's `fields_updated`; PX4 never answers without them."""
NO_LOCKSTEP = "this PX4 was built without lockstep, and its clock is its own; build it by `make px4_sitl_default`"


def taken(instance: int, what: str) -> str:
    """Say that an instance can't be used."""
    return (
        f"{what}, which PX4 of instance {instance} needs: another simulator or run has it. End that, or choose another "
        "px4.sitl.instance, or leave it out for the first that is free"
    )


def start_lines(instance: int, airframe: int, parameters: Mapping[str, str]) -> str:
    """Return how a user starts PX4: a command for a shell, on several lines."""
    words = [f"{PARAMETER}{name}={shlex.quote(value)}" for name, value in parameters.items()]
    lines = [f"  PX4_SYS_AUTOSTART={airframe}"]
    for word in words:
        if len(lines[-1]) + len(word) < MAX_LINE:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}")
    return " \\\n".join([*lines, f'  bin/px4 -d -i {instance} -w "$(mktemp -d)" "$PWD/etc"'])


def not_connected(port: int, waited_s: float, process: Px4Process | None) -> str:
    """Say that PX4 has not come."""
    if process is None:
        return (
            f"no PX4 has connected to TCP port {port} in {waited_s:g} s (px4.sitl.connect_timeout_s); start it by the "
            "command that was printed when the wait began; in Python, Px4Sitl.how_to_start() has it"
        )
    if not process.is_running:
        return f"{process.end} before it connected to the simulator, TCP port {port}{_printed(process)}"
    return (
        f"PX4 was started and has not connected to TCP port {port} in {waited_s:g} s; is its airframe one of a "
        f"simulator over MAVLink, such as 10016?{_printed(process)}"
    )


def never_answered(simulated_s: float, process: Px4Process | None) -> str:
    """Say that PX4 takes the sensors, and answers none."""
    return (
        f"PX4 has connected and answered none of the sensors of {simulated_s:g} s; has its start script stopped? A PX4 "
        "that had another simulator before must be ended and started again, in a fresh folder" + _printed(process)
    )


def stalled(
    missed: int, timeout_s: float, in_a_row: bool, tick_us: int, fields_updated: int, process: Px4Process | None
) -> str:
    """Say that PX4 has stopped to answer."""
    said = f"PX4 has not answered {missed} steps{' in a row' if in_a_row else ''}, each within {timeout_s:g} s"
    for name, bits in (("gyro", GYRO_BITS), ("accelerometer", ACCEL_BITS)):
        if fields_updated & bits != bits:
            key = f"px4.sitl.sensors.imu.{name.removesuffix('erometer')}.on_fault"
            return (
                f"{said}: the sensors had no {name}, a fault of the scenario; without it PX4 never answers. For a "
                f"fault that it flies with, set {key} to 'freeze', 'bias', 'drift' or 'noise'"
            )
    if not in_a_row and tick_us <= FAST_TICK_US:
        rate_hz = 1_000_000 // tick_us
        return (
            f"{said}: with sensors at {rate_hz} Hz its default parameters leave every second step out; set "
            f"IMU_INTEG_RATE to {rate_hz} or SDLOG_BACKEND to 0" + _printed(process)
        )
    return (
        f"{said}; it hangs, or was stopped: look at what it does with a debugger. If the machine is only slow, or a "
        "debugger holds it, raise px4.sitl.answer_timeout_s" + _printed(process)
    )


def closed(how: str, process: Px4Process | None) -> str:
    """Say that the link is gone."""
    if process is not None:
        process.wait(0.5)  # the link is closed before the process has ended
        if not process.is_running:
            return process.end + _printed(process)
    return f"{how}. It does not connect again: end it, and start the flight anew{_printed(process)}"


def _printed(process: Px4Process | None) -> str:
    lines = [] if process is None else process.last_lines
    return "".join(["\n  PX4 printed last:", *(f"\n    {line}" for line in lines)]) if lines else ""
