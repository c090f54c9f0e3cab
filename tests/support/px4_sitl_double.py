"""A PX4 build whose program is the double in `tests/doubles/px4_sitl`, a simple host for it, and flights with it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from fleet import iris
from pymavlink.dialects.v20 import common
from sitl_sensors import FIELD_NED, TRUTH

from px4lockstep.autopilots.px4_sitl.autopilot import Px4Sitl
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Explicit, Periodic, Timeline
from px4lockstep.px4.missions import load_mission
from px4lockstep.scenario.scenario import Scenario
from px4lockstep.spec.shipped import shipped_missions

DOUBLE = Path(__file__).resolve().parents[1] / "doubles" / "px4_sitl" / "double.py"
ALL, GYRO, ACCEL, MAG, BARO = 0x1BFF, 0x38, 0x07, 0x1C0, 0x1A00
ARM = (400, 1.0)
INSTANCES = range(10)
PATIENCE_S = 20.0
"""For what must come: the machine may be busy."""


def make_build(folder):
    """Create a build folder; return it."""
    folder = Path(folder)
    (folder / "bin").mkdir(parents=True)
    make_scripts(folder)
    program = folder / "bin" / "px4"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{DOUBLE}" "$@"\n')
    program.chmod(0o755)
    return folder


def make_scripts(folder):
    """Write the start scripts into a build folder; return their folder."""
    scripts = Path(folder) / "etc"
    (scripts / "init.d-posix").mkdir(parents=True)
    (scripts / "init.d-posix" / "rcS").write_text("#!/bin/sh\n")
    return scripts


def heard(folder, kind):
    """Return the messages that the double received in a flight with `PX4_DOUBLE_TRACE`: of one type, or all if None."""
    told = map(json.loads, (Path(folder) / "px4" / "heard").read_text().splitlines())
    return [message for message in told if kind in (None, message["mavpackettype"])]


class PlainHost:
    """A minimal simulator: a vehicle at rest, with messages packed by pymavlink, one step at a time."""

    def __init__(self, folder, *, step_us=4_000, params=None, misbehave="", version="main"):
        self.step_us, self.time_us, self.noise = step_us, 1_000_000 - step_us, 1.0
        self.random = np.random.default_rng(1)
        self.mavlink, self.parser = common.MAVLink(None, 1, 200), common.MAVLink(None)
        self.server, self.api, self.instance = _free_ports()
        self.scripts = make_scripts(Path(folder) / "build")
        env = {f"PX4_PARAM_{name}": str(value) for name, value in (params or {}).items()}
        self.process = subprocess.Popen(
            [sys.executable, str(DOUBLE), "-d", "-i", str(self.instance), "-w", str(folder), str(self.scripts)],
            env={**os.environ, **env, "PX4_DOUBLE_MISBEHAVE": misbehave, "PX4_DOUBLE_VERSION": version},
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answered = []
        self.server.settimeout(PATIENCE_S)
        self.link, _ = self.server.accept()
        self.link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()
        for link in (self.link, self.server, self.api):
            link.close()

    def send(self, fields=ALL, ahead_us=None, gps=True):
        """Send the sensor data for the next step, or for another time."""
        self.time_us += self.step_us if ahead_us is None else ahead_us
        noise = 1e-3 * self.noise * self.random.standard_normal(4)
        mag = [value + error for value, error in zip(FIELD_NED, noise, strict=False)]
        pressure = 956.0 + noise[3]
        message = self.mavlink.hil_sensor_encode(
            self.time_us, 0.0, 0.0, -9.80665, 0.0, 0.0, 0.0, *mag, pressure, 0.0, 488.0, 15.0, fields, 0
        )
        self.link.sendall(message.pack(self.mavlink))
        if gps and self.time_us % 200_000 == 0:
            told = (3, 473_977_420, 85_455_940, 488_000, 30, 40, 0, 0, 0, 0, 0, 12)
            self.link.sendall(self.mavlink.hil_gps_encode(self.time_us, *told).pack(self.mavlink))

    def answer(self, timeout_s=PATIENCE_S):
        """Return the controls of the last step, or None; the times of all answers are stored in `answered`."""
        end_s = time.monotonic() + timeout_s
        while (left_s := end_s - time.monotonic()) > 0.0:
            self.link.settimeout(left_s)
            try:
                data = self.link.recv(65536)
            except TimeoutError:
                return None
            for message in self.parser.parse_buffer(data) or []:
                if message.get_type() != "HIL_ACTUATOR_CONTROLS":
                    continue
                self.answered.append(message.time_usec)
                if message.time_usec == self.time_us:
                    return message
        return None

    def step(self, *arguments, timeout_s=PATIENCE_S, **options):
        """Run one step; return the controls, or None."""
        self.send(*arguments, **options)
        return self.answer(timeout_s)

    def boot(self, seconds=1.0, **options):
        """Step until it answers, and on to a time."""
        while self.step(timeout_s=0.02, **options) is None:
            assert self.time_us < 3_000_000
        while self.time_us < 1_000_000 + seconds * 1e6:
            assert self.step(**options) is not None

    def ask(self, command, *params, seconds=0.5, is_station=True, **options):
        """Send a command over the API and step; return the result, and the status texts, if it is a ground station."""
        params = (*params, *[0.0] * (7 - len(params)))
        if is_station:
            self.tell(self.mavlink.heartbeat_encode(6, 8, 0, 0, 4), 0.02, **options)
        told = self.tell(self.mavlink.command_long_encode(1, 1, command, 0, *params), seconds, **options)
        results = [one.result for one in told if one.get_type() == "COMMAND_ACK"]
        return results[-1] if results else None, [one.text for one in told if one.get_type() == "STATUSTEXT"]

    def tell(self, message, seconds=0.5, **options):
        """Send a message over the API and step; return all received messages."""
        self.api.sendto(message.pack(self.mavlink), ("127.0.0.1", 14580 + self.instance))
        told, end_us = [], self.time_us + seconds * 1e6
        while self.time_us < end_us:
            self.step(**options)
        while True:
            try:
                told += common.MAVLink(None).parse_buffer(self.api.recv(65536)) or []
            except BlockingIOError:
                return told

    def heard(self):
        """Return the messages of the next datagram over the API."""
        return common.MAVLink(None).parse_buffer(self.api.recv(65536)) or []

    def setpoint(self):
        """Return a message with a position setpoint."""
        return setpoint(0.0, 0.0, -5.0)(self.mavlink)


def _free_ports():
    for instance in INSTANCES:
        server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        api = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            server.bind(("127.0.0.1", 4560 + instance))
            server.listen(1)
            api.bind(("127.0.0.1", 14540 + instance))
            api.setblocking(False)
            return server, api, instance
        except OSError:
            server.close()
            api.close()
    raise AssertionError("no instance is free")


def make_flight(
    build,
    folder,
    *,
    aircraft=None,
    end_s=72.0,
    tick_us=4_000,
    scenario=None,
    sensors=TRUTH,
    mission="simple",
    params=None,
    file_params=None,
    on_wait=lambda _: None,
    seed=1,
    derive_ca_params=True,
    hooks=(),
    has_end=True,
    **options,
):
    """Return a simulation of the Iris with a PX4 from this build, and the autopilot."""
    if scenario is None:
        scenario = Scenario().arm(at_s=1.0)
        scenario = scenario if mission is None else scenario.start_mission(at_s=2.0)
    end_us = round(1e6 * end_s)
    timeline = Timeline(
        end_us,
        autopilot=Periodic(tick_us),
        log=Periodic(20_000),
        scenario=Explicit(scenario.times_us(end_us)) if scenario.times_us(end_us) else None,
        has_end=has_end,
    )
    sitl = Px4Sitl(
        load_mission(shipped_missions()[mission]) if isinstance(mission, str) else mission,
        params or {},
        SitlOptions(build_dir=build, **options),
        derive_ca_params=derive_ca_params,
        sensors=sensors,
        file_params=file_params or {},
    )
    sitl.work_in(None if folder is None else Path(folder), on_wait)
    watched = {"hooks": hooks, "hook_axes": ("autopilot",)}
    simulation = Simulation(
        aircraft or iris(), timeline, scenario=scenario, autopilot=sitl, record=True, seed=seed, **watched
    )
    return simulation, sitl


class Client:
    """A ground station that sends messages to the double at given times, as a hook of the simulation.

    `plan` maps times [s] to functions of a `MAVLink` that return a message; `stream` is a time and a function whose
    message is sent at each tick from then on.
    """

    def __init__(self, plan, stream=None):
        self.plan, self.stream, self.instance = dict(plan), stream, None
        self._mavlink = common.MAVLink(None, 255, 190)

    def snapshot(self):
        return None

    def restore(self, saved):
        pass

    def step(self, time_us, inputs):
        due = [self.plan.pop(at_s) for at_s in sorted(self.plan) if 1e6 * at_s <= time_us]
        if self.stream is not None and time_us >= 1e6 * self.stream[0]:
            due.append(self.stream[1])
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
            for make in due:
                link.sendto(make(self._mavlink).pack(self._mavlink), ("127.0.0.1", 18570 + self.instance))


def ask_mode(main, sub=0):
    """Return a plan's entry that asks for a mode."""
    return lambda mavlink: mavlink.command_long_encode(1, 1, 176, 0, 1.0, main, sub, 0, 0, 0, 0)


def ask_arm(mavlink):
    """Ask to arm; an entry of a plan."""
    command, *params = ARM
    return mavlink.command_long_encode(1, 1, command, 0, *params, 0, 0, 0, 0, 0, 0)


def setpoint(north, east, down):
    """Return a plan's entry that sends a position."""
    nothing = (0.0,) * 8
    return lambda mavlink: mavlink.set_position_target_local_ned_encode(0, 1, 1, 1, 0x0DF8, north, east, down, *nothing)
