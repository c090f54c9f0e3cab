"""A served vehicle in this process, and clients that speak to it with pymavlink over UDP.

Nothing here waits: a client steps the vehicle until it has its answer, for a limited simulated time.
"""

import fcntl
import math
import socket
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pymavlink.dialects.v20 import development

from px4lockstep.service.endpoint import MAX_INSTANCE, Endpoint, ports_of
from px4lockstep.service.loop import ServiceLoop
from px4lockstep.service.streams import RATES_HZ
from px4lockstep.service.vehicle import Vehicle

HOST = "127.0.0.1"
NANS = (math.nan,) * 7


@contextmanager
def own_served_instance(count=1):
    """Reserve consecutive instances with locks, from the last down, and yield the first.

    Tests of other processes serve vehicles, too.
    """
    for first in reversed(range(20, MAX_INSTANCE + 2 - count)):
        with ExitStack() as stack:
            try:
                for number in range(first, first + count):
                    path = Path(tempfile.gettempdir()) / f"px4lockstep-tests-served-{number}"
                    fcntl.flock(stack.enter_context(path.open("w")), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            yield first
            return
    raise AssertionError("tests of other processes have all instances")


class Served:
    """A vehicle with its links, stepped by its clients."""

    def __init__(self, instance, spec="x500", **options):
        self.instance = instance
        self.vehicle = Vehicle(spec, **options)
        self.endpoint = Endpoint(self.vehicle, instance)
        self.loop = ServiceLoop([self.endpoint], math.inf)
        self.clients = []

    def client(self, link="application", system=245, *, mute=True):
        """Return a new client that has sent its first heartbeat; without fast streams, which take long to decode."""
        streams = self.endpoint.channels[link == "application"].streams
        for name in RATES_HZ if mute else ():
            if 0 < streams.interval_us(name) < 200_000:
                streams.set_interval(name, -1.0, 0)
        made = Client(self, ports_of(self.instance)[link == "application"].bound, system)
        self.clients.append(made)
        return made

    def run(self, seconds):
        """Fly for a simulated time; clients send heartbeats and keep what they receive."""
        end_us = self.vehicle.time_us + round(1e6 * seconds)
        while self.vehicle.time_us < end_us:
            self.step()

    def step(self):
        """Fly up to the next look at the network."""
        for client in self.clients:
            client.beat()
        self.loop.step()
        self.loop.flush()
        for client in self.clients:
            client.read()

    def close(self):
        """End the flight."""
        for client in self.clients:
            client.socket.close()
        self.endpoint.close()
        self.vehicle.close()


class Client:
    """A ground station or an application."""

    def __init__(self, served, port, system):
        self.served, self.system = served, system
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        self.socket.bind((HOST, 0))
        self.socket.setblocking(False)
        self.port = port
        self.mav = development.MAVLink(None, system, 190)
        self.mav.robust_parsing = True
        self.received = []
        self._beat_us = -1
        self.beat()

    def beat(self):
        """Send a heartbeat once per simulated second."""
        if self.served.vehicle.time_us >= self._beat_us:
            self._beat_us = self.served.vehicle.time_us + 1_000_000
            self.send("heartbeat", 6, 8, 0, 0, 4)

    def send(self, name, *fields):
        """Send a message."""
        message = getattr(self.mav, f"{name}_encode")(*fields)
        self.socket.sendto(bytes(message.pack(self.mav)), (HOST, self.port))

    def read(self):
        """Take what has arrived."""
        while True:
            try:
                data = self.socket.recv(65_536)
            except (BlockingIOError, ConnectionRefusedError):
                return
            for message in self.mav.parse_buffer(bytearray(data)) or []:
                message.time_us = self.served.vehicle.time_us
                self.received.append(message)

    def expect(self, name, within_s=10.0, **fields):
        """Step until a message arrives with these fields; return it."""
        end_us = self.served.vehicle.time_us + round(1e6 * within_s)
        while True:
            while self.received:
                message = self.received.pop(0)
                if message.get_type() == name and all(getattr(message, key) == value for key, value in fields.items()):
                    return message
            assert self.served.vehicle.time_us < end_us, f"no {name} with {fields} within {within_s} s"
            self.served.step()

    def expect_none(self, name, within_s=1.0):
        """Check that a message does not arrive."""
        self.received.clear()
        self.served.run(within_s)
        assert [message for message in self.received if message.get_type() == name] == []

    def command(self, number, *params, target=None, component=1):
        """Send a COMMAND_LONG and return its result."""
        target = self.served.instance + 1 if target is None else target
        params = (*params, *(0.0,) * 7)[:7]
        self.send("command_long", target, component, number, 0, *params)
        return self.expect("COMMAND_ACK", command=number).result

    def requested(self, name, number, *params):
        """Send a COMMAND_LONG that asks for a message; return the message, which comes before the result."""
        params = (*params, *(0.0,) * 7)[:7]
        self.send("command_long", self.served.instance + 1, 1, number, 0, *params)
        found = self.expect(name)
        assert self.expect("COMMAND_ACK", command=number).result == 0
        return found

    def command_int(self, number, frame, params, x, y, z):
        """Send a COMMAND_INT and return its result."""
        self.send("command_int", self.served.instance + 1, 1, frame, number, 0, 0, *params, x, y, z)
        return self.expect("COMMAND_ACK", command=number).result

    def set_mode(self, main, sub=0):
        """Change the mode as MAVSDK does; return the result."""
        return self.command(176, 1.0, float(main), float(sub))

    @property
    def texts(self):
        """All texts that have arrived and were not taken, joined from their chunks."""
        found, parts = [], {}
        for message in self.received:
            if message.get_type() == "STATUSTEXT":
                if message.id == 0:
                    found.append(message.text)
                else:
                    parts[message.id] = parts.get(message.id, "") + message.text
        return [*found, *parts.values()]
