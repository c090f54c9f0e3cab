"""A double of stock PX4: a process that implements PX4's side of the simulator, API and ground station links.

    double.py -d -i INSTANCE -w FOLDER ETC

It behaves as measured with PX4 (docs/howto/px4_sitl.md): it connects to TCP 4560 + instance, waits for the first sensor
data and for the clock to advance, answers each step once, arms only with live sensors, accepts commands and, from 4 s
on, missions over UDP, and follows only the simulated clock. Only pings are answered at once. In offboard mode without
setpoints and after flight termination it publishes no motor commands, so it answers no step.

Its UDP links are in `links.py`; answers go to the link from which the question came, and heartbeats to all. A link
`etc` in its folder leads to its start scripts in ETC; if ETC is relative, it is relative to that folder.

With SDLOG_BACKEND 1 it writes a ULog (`logger.py`).

`PX4_DOUBLE_VERSION=1.17` selects v1.17.0, in which the start script applies the environment before the airframe's file
(`parameters.py`), descending is shown as landing, and a finished mission is reported up to a second late. The default
is the development version of August 2026.

With `PX4_DOUBLE_TRACE` it logs received messages as lines of JSON in `heard` in its folder. With `PX4_DOUBLE_MEET`, a
folder, it writes a note with instance, parent and process there, and all but the first wait for a third, so that two
run at the same time. `PX4_DOUBLE_MISBEHAVE` lists misbehaviour, separated by commas, with a start time in seconds from
the first sensor data:

    late=2          connect after 2 s of wall time     never-connect
    stall@8         hang from then on                  stall=3@8       omit three answers
    flood@8         old answers before each            flood-api@8     far too many messages on the API link
    garbage@8       invalid bytes before answers
    exit=7@8        exit with that code                signal=11@8     end by that signal
    close@8         close the simulator link, spin     twice@8         answer everything twice
    nan@8           NaN motor commands                 late-answer@8   answer with the time of the previous step
    deny-arm        never ready                        refuse-mission  of an unknown kind
    slow=9          take 60 ms for that many answers   no-lockstep     report no lockstep
    mute            send nothing over UDP              ignore-term     ignore SIGTERM
    child           start a process that stays         lose-params=9   ignore that many requests for parameters
    mode=1234@8     report that custom mode            stubborn=NAME   never change that parameter
"""

import contextlib
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time

from commander import Commander
from interface import Interface, say
from links import Link
from logger import Logger
from parameters import Parameters
from pymavlink.dialects.v20 import common

ANSWERS_FROM_US = 40_000
FAR_BACK_US = 500_000
WITHOUT_ACCEL_US = 1_100_000
START_SCRIPT = "etc/init.d-posix/rcS"


class Misbehaviour:
    """The requested misbehaviour."""

    def __init__(self, text):
        self._told = {}
        for part in filter(None, text.split(",")):
            what, _, since = part.partition("@")
            name, _, value = what.partition("=")
            is_number = value.replace(".", "").isdigit()
            self._told[name] = [float(value) if is_number else value or math.inf, float(since or 0.0)]

    def has(self, name, time_s=math.inf):
        return name in self._told and time_s >= self._told[name][1]

    def value(self, name):
        return self._told[name][0]

    def use_up(self, name):
        """Count down; return whether any were left."""
        self._told[name][0] -= 1
        return self._told[name][0] >= 0


class Double(Interface):
    """PX4, as seen by its simulator and its API."""

    def __init__(self, instance, parameters, misbehaviour, is_old):
        self.misbehaviour, self.is_old = misbehaviour, is_old
        self.parameters = parameters
        self.vehicle = Commander(parameters)
        self.logger = Logger(parameters)
        self.mavlink = common.MAVLink(None, 1 + instance, 1)
        self.parser = common.MAVLink(None)
        self.parser.robust_parsing = True
        self.instance = instance
        self.time_us = -1
        self.first_us = None
        self.accel_us = -(10**12)
        self.is_dead = False
        self.is_second = False
        self.uploading = None
        self.asked_us = 0
        self.shown = None
        self.inbox = []
        self.motors = [0.0] * 4
        self.gcs = Link("ground station", 18570 + instance)
        self.api = Link("API", 14580 + instance, 14540 + instance)
        self.payload = Link("payload", 14280 + instance, 14030 + instance, scale=20)
        self.links = (self.gcs, self.api, self.payload)
        self.asking = self.payload
        self.is_traced = bool(os.environ.get("PX4_DOUBLE_TRACE"))
        self.simulator = None

    # -- links ---------------------------------------------------------------------------------------------------

    def open(self):
        try:
            for link in self.links:
                link.open()
        except OSError:
            say(f"ERROR [px4] PX4 server already running for instance {self.instance}")
            raise SystemExit(255) from None
        if self.misbehaviour.has("late"):
            time.sleep(self.misbehaviour.value("late"))
        say(f"INFO  [simulator_mavlink] Waiting for simulator to accept connection on TCP port {4560 + self.instance}")
        while self.misbehaviour.has("never-connect"):
            time.sleep(0.05)
        while self.simulator is None:
            link = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                link.connect(("127.0.0.1", 4560 + self.instance))
                self.simulator = link
            except OSError:
                link.close()
                time.sleep(0.05)
        self.simulator.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        say(f"INFO  [simulator_mavlink] Simulator connected on TCP port {4560 + self.instance}.")
        self.send(self.mavlink.command_long_encode(0, 0, 511, 0, 115, 5000, 0, 0, 0, 0, 0))
        self.send(self.mavlink.heartbeat_encode(2, 12, 0, 0, 3))

    def send(self, message):
        self.simulator.sendall(self.pack(message))

    def note(self, message):
        """Log a received message."""
        if self.is_traced:
            with open("heard", "a") as file:
                file.write(json.dumps(message.to_dict()) + "\n")

    def pack(self, message):
        packed = message.pack(self.mavlink)
        self.mavlink.seq = (self.mavlink.seq + 1) % 256
        return packed

    def run(self):
        while True:
            ready, _, _ = select.select([self.simulator, *(link.socket for link in self.links)], [], [])
            self.receive()
            if self.simulator not in ready:
                continue
            data = self.simulator.recv(65536)
            if not data:  # PX4 does not reconnect, and spins
                say("ERROR [simulator_mavlink] poll timeout 0, 111")
                self.spin()
            for message in self.parser.parse_buffer(data) or []:
                self.note(message)
                if message.get_type() == "HIL_SENSOR" and message.id == 0:
                    self.step(message)
                elif message.get_type() == "HIL_GPS":
                    self.vehicle.new_gps(self.time_us, message)

    def spin(self):
        while True:
            time.sleep(0.01)

    # -- a step --------------------------------------------------------------------------------------------------

    def step(self, told):
        back_us = self.time_us - told.time_usec
        step_us = -back_us if self.first_us is not None else 4_000
        if self.first_us is None:
            self.first_us = told.time_usec
            say("INFO  [px4] Startup script returned successfully")
        if back_us > FAR_BACK_US:
            self.is_dead = True
        if step_us <= 0:
            self.time_us = told.time_usec
            return
        self.time_us = told.time_usec
        self.vehicle.jumped(step_us)
        since_s = (self.time_us - self.first_us) / 1e6
        self.misbehave(since_s)
        updated = told.fields_updated
        if updated & 0x07 == 0x07:
            self.accel_us = self.time_us
        # The newer version flies on for a while without the accelerometer, but not without the gyroscope.
        has_accel = self.time_us - self.accel_us <= (0 if self.is_old else WITHOUT_ACCEL_US)
        has_imu = updated & 0x38 == 0x38 and has_accel
        if has_imu:
            acc, gyro = (told.xacc, told.yacc, told.zacc), (told.xgyro, told.ygyro, told.zgyro)
            self.vehicle.imu(self.time_us, acc, gyro, step_us / 1e6)
        if updated & 0x1C0 == 0x1C0:
            self.vehicle.new_mag(self.time_us, (told.xmag, told.ymag, told.zmag))
        if updated & 0x1A00 == 0x1A00:
            self.vehicle.new_baro(self.time_us, told.abs_pressure)
        if has_imu:
            self.motors = self.vehicle.motors(self.time_us)
            self.logger.step(self.time_us, self.vehicle, self.motors)
        self.serve()
        if has_imu and not self.is_dead and since_s * 1e6 >= ANSWERS_FROM_US:
            self.answer(since_s, step_us)

    def misbehave(self, since_s):
        bad = self.misbehaviour
        if bad.has("exit", since_s):
            say("ERROR [px4] ended as it was told")
            sys.exit(int(bad.value("exit")))
        if bad.has("signal", since_s):
            os.kill(os.getpid(), int(bad.value("signal")))
        if bad.has("stall", since_s) and bad.value("stall") == math.inf:
            self.spin()
        if bad.has("close", since_s):
            self.simulator.close()
            self.spin()
        text = self.pack(self.mavlink.statustext_encode(6, b"flood"))
        if bad.has("flood", since_s):
            old = self.pack(self.mavlink.hil_actuator_controls_encode(50, [1.0] * 16, 129, 1))
            self.simulator.sendall((text + old) * 50)
        if bad.has("flood-api", since_s):
            for _ in range(150):
                self.payload.send(text)
        if bad.has("garbage", since_s):
            self.simulator.sendall(bytes((self.time_us // 4000 * k * k) % 251 + k % 5 for k in range(300)) + b"\xfd")

    def answer(self, since_s, step_us):
        bad = self.misbehaviour
        if bad.has("stall", since_s) and bad.use_up("stall"):
            return
        if self.vehicle.is_terminated or self.vehicle.is_without_setpoints(self.time_us):
            return
        rate = round(1e6 / step_us)
        integrates = self.parameters.get("IMU_INTEG_RATE") == rate or self.parameters.get("SDLOG_BACKEND") == 0
        if step_us <= 2_000 and not integrates:
            self.is_second = not self.is_second
            if self.is_second:
                return
        controls = [*self.motors, *[0.0] * 12]
        if bad.has("nan", since_s):
            controls = [math.nan] * 16
        time_us = self.time_us - (step_us if bad.has("late-answer", since_s) else 0)
        if bad.has("slow") and bad.use_up("slow"):
            time.sleep(0.06)
        flags = 0 if bad.has("no-lockstep") else 1
        message = self.mavlink.hil_actuator_controls_encode(time_us, controls, 128 * self.vehicle.is_armed + 1, flags)
        for _ in range(2 if bad.has("twice", since_s) else 1):
            self.send(message)


def meet(folder, instance):
    """Write a note, and wait for another process unless this is the first."""
    with open(os.path.join(folder, f"{time.monotonic_ns():020d}"), "w") as file:
        file.write(f"{instance} {os.getppid()} {os.getpid()}")
    while 1 < len(os.listdir(folder)) < 3:
        time.sleep(0.01)


def find_scripts(data):
    """Link `etc` to the start scripts, if they are given and there is no link yet; exit without them."""
    if data is not None and not os.path.lexists("etc"):
        os.symlink(data, "etc")
    try:
        with open(START_SCRIPT):
            pass
    except OSError:
        say(f"ERROR [px4] Error opening startup file, does not exist: {START_SCRIPT}")
        raise SystemExit(255) from None


def main():
    arguments = sys.argv[1:]
    instance, folder, data = 0, ".", None
    while arguments:
        word = arguments.pop(0)
        if word == "-i":
            instance = int(arguments.pop(0))
        elif word == "-w":
            folder = arguments.pop(0)
        elif not word.startswith("-"):
            data = word
    if "PX4_DOUBLE_MEET" in os.environ:
        meet(os.environ["PX4_DOUBLE_MEET"], instance)
    os.chdir(folder)
    with open("pid", "w") as file:
        file.write(str(os.getpid()))
    find_scripts(data)
    misbehaviour = Misbehaviour(os.environ.get("PX4_DOUBLE_MISBEHAVE", ""))
    if misbehaviour.has("ignore-term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if misbehaviour.has("child"):
        with open("child", "w") as file:
            file.write(str(subprocess.Popen(["sleep", "3600"]).pid))
    found = {name[10:]: value for name, value in sorted(os.environ.items()) if name.startswith("PX4_PARAM_")}
    is_old = os.environ.get("PX4_DOUBLE_VERSION") == "1.17"
    double = Double(instance, Parameters(found, say, is_old), misbehaviour, is_old)
    double.open()
    with contextlib.suppress(ConnectionError):
        double.run()
    double.spin()


if __name__ == "__main__":
    main()
