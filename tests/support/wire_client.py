"""A client of a served vehicle in another process, with pymavlink over UDP, in wall-clock time."""

import math
import socket
import time

from pymavlink.dialects.v20 import development

from px4lockstep.service.endpoint import ports_of

HOST = "127.0.0.1"
GROUND, APPLICATION = 0, 1
ACK_S, TRIES = 0.5, 20
"""A command is sent again like MAVSDK does, but more often: the machine of a test may be busy."""


class WireClient:
    """A ground station or an application, which sends a heartbeat every second while it waits."""

    def __init__(self, instance, link=APPLICATION, system=245):
        self.target = instance + 1
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((HOST, 0))
        self.socket.settimeout(0.1)
        self.address = (HOST, ports_of(instance)[link].bound)
        self.mav = development.MAVLink(None, system, 190)
        self.mav.robust_parsing = True
        self._beat_s = 0.0
        self._unread = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, name, *fields):
        """Send a message."""
        message = getattr(self.mav, f"{name}_encode")(*fields)
        self.socket.sendto(bytes(message.pack(self.mav)), self.address)

    def read(self):
        """Return the messages that have arrived, waiting for a moment."""
        now_s = time.perf_counter()
        if now_s - self._beat_s > 1.0:
            self._beat_s = now_s
            self.send("heartbeat", 6, 8, 0, 0, 4)
        try:
            data = self.socket.recv(65_536)
        except (TimeoutError, ConnectionRefusedError):
            return []
        return self.mav.parse_buffer(bytearray(data)) or []

    def wait(self, name, holds=lambda message: True, timeout_s=60.0):
        """Return the next message of a type for which a condition holds."""
        end_s = time.perf_counter() + timeout_s
        while time.perf_counter() < end_s:
            self._unread += [] if self._unread else self.read()
            while self._unread:
                message = self._unread.pop(0)
                if message.get_type() == name and message.get_srcSystem() == self.target and holds(message):
                    return message
        raise AssertionError(f"no such {name} within {timeout_s} s")

    def command(self, number, *params):
        """Send a command until it is answered; return the result."""
        params = (*params, *(0.0,) * 7)[:7]
        for _ in range(TRIES):
            self.send("command_long", self.target, 1, number, 0, *params)
            try:
                return self.wait("COMMAND_ACK", lambda ack: ack.command == number, ACK_S).result
            except AssertionError:
                continue
        raise AssertionError(f"command {number} was not answered")

    def take_off(self):
        """Arm, take off and wait until the vehicle is in the air."""
        self.wait("HEARTBEAT")
        assert self.command(400, 1.0) == 0
        assert self.command(22, *(math.nan,) * 7) == 0
        self.wait("GLOBAL_POSITION_INT", lambda position: position.relative_alt > 2_000)

    def land(self):
        """Land and wait until the vehicle is disarmed."""
        assert self.command(21, *(math.nan,) * 7) == 0
        self.wait("HEARTBEAT", lambda beat: not beat.base_mode & 128)
