"""Diagnosis of failed flights with stock PX4: the symptom, the likely cause, and the remedy."""

from collections.abc import Mapping

from px4lockstep.autopilots.px4_sitl.process import PARAMETER, Px4Process
from px4lockstep.errors import counted

SIMULATOR_PORT = 4560
"""TCP port for PX4 instance 0; the other instances use the following ports."""
FAST_TICK_US = 2_000
"""With this tick or a shorter one, PX4 with default parameters answers only every second step."""

MAX_LINE = 116

ACCEL_BITS, GYRO_BITS = 0x07, 0x38
"""Bits of HIL_SENSOR's `fields_updated`; PX4 never answers without them."""
NO_LOCKSTEP = "this PX4 was built without lockstep and runs on its own clock; build it with `make px4_sitl_default`"


def taken(instance: int, what: str) -> str:
    """Return the error for an instance whose port is in use."""
    return (
        f"{what}, and PX4 instance {instance} needs it: another simulator or run is using it. Stop that one, choose "
        "another px4.sitl.instance, or omit it to use the first free one"
    )


def next_instance(instance: int, what: str) -> str:
    """Return the note of a flight that uses the instance after this one."""
    return (
        f"using PX4 instance {instance + 1}: {what} by another flight or program, and instance {instance} needs it; "
        "px4.sitl.instance selects one"
    )


def start_lines(instance: int, airframe: int, parameters: Mapping[str, float | int]) -> str:
    """Return the shell command, on several lines, with which a user starts PX4."""
    words = [f"{PARAMETER}{name}={value}" for name, value in parameters.items()]
    lines = [f"  PX4_SYS_AUTOSTART={airframe}"]
    for word in words:
        if len(lines[-1]) + len(word) < MAX_LINE:
            lines[-1] += f" {word}"
        else:
            lines.append(f"  {word}")
    return " \\\n".join([*lines, f'  bin/px4 -d -i {instance} -w "$(mktemp -d)" "$PWD/etc"'])


def not_connected(port: int, waited_s: float, process: Px4Process | None) -> str:
    """Return the error for a PX4 that did not connect."""
    if process is None:
        return (
            f"no PX4 connected to TCP port {port} within {waited_s:g} s (px4.sitl.connect_timeout_s); start it with "
            "the command that was printed when the wait began; in Python, use Px4Sitl.how_to_start()"
        )
    if not process.is_running:
        return f"{process.end} before it connected to the simulator on TCP port {port}{_printed(process)}"
    return (
        f"PX4 was started but did not connect to TCP port {port} within {waited_s:g} s; is its airframe for a MAVLink "
        f"simulator, such as 10016?{_printed(process)}"
    )


def never_answered(simulated_s: float, process: Px4Process | None) -> str:
    """Return the error for a PX4 that connected but never answered."""
    return (
        f"PX4 connected but did not answer any sensor message in {simulated_s:g} s; did its start script stop? A PX4 "
        "that was connected to another simulator must be restarted in a fresh folder" + _printed(process)
    )


def stalled(
    missed: int, timeout_s: float, in_a_row: bool, tick_us: int, fields_updated: int, process: Px4Process | None
) -> str:
    """Return the error for a PX4 that has stopped answering."""
    said = f"PX4 did not answer {counted(missed, 'step')}{' in a row' if in_a_row else ''} within {timeout_s:g} s each"
    for name, bits in (("gyro", GYRO_BITS), ("accelerometer", ACCEL_BITS)):
        if fields_updated & bits != bits:
            key = f"px4.sitl.sensors.imu.{name.removesuffix('erometer')}.on_fault"
            return (
                f"{said}: a fault in the scenario has stopped the {name}, and PX4 never answers without it. For a "
                f"fault that PX4 can fly with, set {key} to 'freeze', 'bias', 'drift' or 'noise'"
            )
    if not in_a_row and tick_us <= FAST_TICK_US:
        rate_hz = 1_000_000 // tick_us
        return (
            f"{said}: with sensors at {rate_hz} Hz and default parameters it answers only every second step; set "
            f"IMU_INTEG_RATE to {rate_hz} or SDLOG_BACKEND to 0" + _printed(process)
        )
    return (
        f"{said}; it hangs or is suspended: attach a debugger to see why. If the machine is just slow, or PX4 is "
        "stopped in a debugger, increase px4.sitl.answer_timeout_s" + _printed(process)
    )


def silent(simulated_s: float, process: Px4Process | None) -> str:
    """Return the error for a PX4 that runs but has answered no step for too long."""
    return (
        f"PX4 has sent no motor commands for {simulated_s:g} s of simulated time, although it runs: did a ground "
        "station or program select offboard mode without sending setpoints, or terminate the flight? A run without an "
        "end, timeline.t_end_s = 'none', would go on" + _printed(process)
    )


def closed(how: str, process: Px4Process | None) -> str:
    """Return the error for a link that was closed."""
    if process is not None:
        process.wait(0.5)  # the link is closed before the process exits
        if not process.is_running:
            return process.end + _printed(process)
    return f"{how}. It will not reconnect: stop it, and restart the flight{_printed(process)}"


def _printed(process: Px4Process | None) -> str:
    lines = [] if process is None else process.last_lines
    return "".join(["\n  last output of PX4:", *(f"\n    {line}" for line in lines)]) if lines else ""
