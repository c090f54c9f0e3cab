"""ULog files: small flights in the topics of PX4 today and of 2016, and recorded files beside the checkout."""

import importlib.util
import io
import lzma
import math
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location(
    "double_ulog", Path(__file__).resolve().parents[1] / "doubles" / "px4_sitl" / "ulog.py"
)
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
Writer = _module.Writer
"""The writer of the double of stock PX4: it shares no code with the reader under test."""

SHARED = Path(__file__).resolve().parents[3] / "shared" / "ulog"
START_US = 5_000_000
STEP_US = 10_000
ARMED_US = 1_000_000
"""Time of arming from the first message; the vehicle rises a second later, at 1 m/s."""
POSITION = [("float", 1, name) for name in ("x", "y", "z", "vx", "vy", "vz")]
STATUS = [("uint8_t", 1, "arming_state"), ("uint8_t", 1, "nav_state"), ("bool", 1, "failsafe")]
BATTERY = [("float", 1, name) for name in ("voltage_v", "current_a", "remaining")] + [("uint8_t", 1, "warning")]


def shared_file(name, folder):
    """Return the path of a recorded file; skip the test if there are none. A compressed one is unpacked to a folder."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"the recorded file {name} is not beside the checkout")
    if path.suffix != ".xz":
        return path
    target = Path(folder) / path.stem
    target.write_bytes(lzma.decompress(path.read_bytes()))
    return target


def place(time_us):
    """Return position and velocity of the small flight at a time from its start."""
    t = max(0.0, (time_us - ARMED_US - 1_000_000) / 1e6)
    is_up = float(t > 0.0)
    return (0.5 * t, 0.0, -t), (0.5 * is_up, 0.0, -is_up)


def attitude(time_us):
    """Return the attitude of the small flight: it turns at 0.2 rad/s."""
    angle = 0.1e-6 * time_us
    return math.cos(angle), 0.0, 0.0, math.sin(angle)


def flight(seconds=4.0, *, truth=False, start_us=START_US, step_us=STEP_US, topics=(), changes=()):
    """Return a small flight in the topics of today, as bytes.

    `topics` are functions of the writer that declare more topics, `changes` write to it at the end.
    """
    file = io.BytesIO()
    log = Writer(file, start_us)
    log.info("sys_name", "PX4")
    log.info("ver_hw", "PX4_SITL")
    log.parameter("MPC_XY_CRUISE", 5.0)
    log.parameter("SYS_AUTOSTART", 10016)
    for suffix in ("", "_groundtruth") if truth else ("",):
        log.topic(f"vehicle_attitude{suffix}", [("float", 4, "q")])
        log.topic(f"vehicle_angular_velocity{suffix}", [("float", 3, "xyz")])
        log.topic(f"vehicle_local_position{suffix}", POSITION)
    log.topic("vehicle_status", STATUS)
    log.topic("actuator_motors", [("float", 12, "control")])
    log.topic("battery_status", BATTERY)
    log.topic("vehicle_rates_setpoint", [("float", 1, name) for name in ("roll", "pitch", "yaw")])
    log.topic("vehicle_land_detected", [("bool", 1, "landed")])
    log.topic("unheard_of", [("float", 1, "value")])
    for declare in topics:
        declare(log)
    log.start()
    log.sync()
    log.text(start_us, 4, "a warning")
    count = round(1e6 * seconds / step_us) + 1
    for since_us in range(0, count * step_us, step_us):
        now_us = start_us + since_us
        pos, vel = place(since_us)
        is_armed, is_up = since_us >= ARMED_US, pos[2] < 0.0
        for suffix in ("", "_groundtruth") if truth else ("",):
            off = 0.25 if truth and not suffix else 0.0  # the estimate differs from the truth
            log.write(f"vehicle_attitude{suffix}", now_us, attitude(since_us))
            log.write(f"vehicle_angular_velocity{suffix}", now_us, (0.0, 0.0, 0.2 + off))
            log.write(f"vehicle_local_position{suffix}", now_us, (pos[0] + off, *pos[1:], *vel))
        log.write("actuator_motors", now_us, (*([0.5 if is_armed else math.nan] * 4), *[math.nan] * 8))
        log.write("unheard_of", now_us, (1.0,))
        if since_us % 100_000 == 0:
            log.write("vehicle_status", now_us, (2 if is_armed else 1, 4 if is_up else 0, False))
            log.write("vehicle_land_detected", now_us, (not is_up,))
            log.write("battery_status", now_us, (16.0 - 1e-7 * since_us, -1.0, 0.9, 0))
        if is_armed:
            log.write("vehicle_rates_setpoint", now_us, (0.0, 0.0, 0.2))
    for change in changes:
        change(log)
    return file.getvalue()


def old_flight(seconds=4.0, *, start_us=START_US):
    """Return a small flight in the topics of 2016, as bytes: pulse widths, and rates in the attitude."""
    file = io.BytesIO()
    log = Writer(file, start_us)
    log.parameter("PWM_MIN", 1100)
    log.parameter("PWM_MAX", 1900)
    rates = [("float", 1, name) for name in ("rollspeed", "pitchspeed", "yawspeed")]
    log.topic("vehicle_attitude", [*rates, ("float", 4, "q")])
    log.topic("vehicle_local_position", POSITION)
    log.topic(
        "sensor_combined",
        [("float", 3, "gyro_rad"), ("float", 3, "accelerometer_m_s2"), ("float", 1, "baro_alt_meter")],
    )
    log.topic("actuator_outputs", [("uint32_t", 1, "noutputs"), ("float", 16, "output")])
    log.topic("actuator_controls_0", [("float", 8, "control")])
    log.topic("vehicle_status", STATUS)
    log.start()
    for since_us in range(0, round(1e6 * seconds) + 1, STEP_US):
        now_us, is_armed = start_us + since_us, since_us >= ARMED_US
        pos, vel = place(since_us)
        log.write("vehicle_attitude", now_us, (0.0, 0.0, 0.2, *attitude(since_us)))
        if since_us % 50_000 == 0:
            log.write("vehicle_local_position", now_us, (*pos, *vel))
        log.write("sensor_combined", now_us, (0.0, 0.0, 0.2, 0.0, 0.0, -9.81, 488.0))
        pulse = 1500.0 if is_armed else 900.0
        log.write("actuator_outputs", now_us, (4, *[pulse] * 4, *[0.0] * 12))
        log.write("actuator_controls_0", now_us, (0.1, 0.2, 0.3, 0.6, 0.0, 0.0, 0.0, 0.0))
        if since_us % 500_000 == 0:
            log.write("vehicle_status", now_us, (2 if is_armed else 1, 2, False))
    return file.getvalue()
