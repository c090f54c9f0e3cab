"""Benchmark of one step of stock PX4's host: sensors, packing, sockets, parsing, and the plant.

A peer in a separate process, `python -m px4lockstep.bench.sitl_host_step PORT`, answers every step with a hover
command. The benchmark measures the CPU time of the host, including system time for its sockets. It excludes waiting for
the peer and the cost of putting the host to sleep and waking it, which in a flight is PX4's own time. Like PX4, the
peer sleeps until it receives something; waking it is included, and costs most where a core is idle.
"""

import select
import socket
import subprocess
import sys
import time

from px4lockstep.autopilots.mavlink import hil
from px4lockstep.autopilots.mavlink.frame import frame
from px4lockstep.autopilots.mavlink.links import HOST
from px4lockstep.autopilots.mavlink.stream import Stream
from px4lockstep.autopilots.px4_sitl.autopilot import SIMULATOR_PORT, Px4Sitl
from px4lockstep.autopilots.px4_sitl.options import SitlOptions
from px4lockstep.bench import hover
from px4lockstep.engine.simulation import Simulation
from px4lockstep.engine.timeline import Periodic, Timeline
from px4lockstep.integrators.solver import Integrator

MODULE = "px4lockstep.bench.sitl_host_step"
ROUND_US = 1_000_000
ROUNDS = 20


class TimedSitl(Px4Sitl):
    """Stock PX4's host, which measures the CPU time spent waiting."""

    waited_s = 0.0

    def parameters(self) -> dict[str, float | int]:
        """Return no parameters: the peer has no API."""
        return {}

    def _answer(self, hil_us: int, timeout_s: float) -> hil.Actuators | None:
        assert self._link is not None
        before_s = time.process_time()
        select.select([self._link], [], [], timeout_s)
        self.waited_s += time.process_time() - before_s
        return super()._answer(hil_us, timeout_s)


def answer(port: int) -> None:
    """Act as the peer until the host closes the connection."""
    stream = Stream(hil.CRC_EXTRA)
    with socket.create_connection((HOST, port)) as link:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := link.recv(65_536):
            for received in stream.take(data):
                if received.message == hil.HIL_SENSOR:
                    link.sendall(_answer(hil.SENSOR.unpack(received.payload.ljust(hil.SENSOR.size, b"\0"))[0]))


def _answer(time_us: int) -> bytes:
    payload = hil.ACTUATORS.pack(time_us, hil.LOCKSTEP, *[hover.HOVER_DUTY] * 16, hil.ARMED | 1)
    return frame(hil.HIL_ACTUATOR_CONTROLS, hil.CRC_EXTRA[hil.HIL_ACTUATOR_CONTROLS], payload, 0, 1, 1)


def measured() -> float:
    """Return the cost of a step, best of several rounds [µs]."""
    started: list[subprocess.Popen[bytes]] = []

    def start(_: str) -> None:
        if not started and sitl.instance is not None:
            port = str(SIMULATOR_PORT + sitl.instance)
            started.append(subprocess.Popen([sys.executable, "-P", "-m", MODULE, port]))

    sitl = TimedSitl(options=SitlOptions(wait_for_user=True, boot_s=ROUND_US / 1e6))
    sitl.work_in(on_wait=start)
    tick, log, step = Periodic(hover.TICK_US), Periodic(10 * hover.TICK_US), Periodic(hover.STEP_US)
    timeline = Timeline(ROUNDS * ROUND_US, autopilot=tick, log=log, physics=step)
    sim = Simulation(hover.aircraft(), timeline, integrator=Integrator("RK4"), autopilot=sitl, record=True)
    best_s = float("inf")
    try:
        for i in range(1, ROUNDS + 1):
            before_s = time.process_time() - sitl.waited_s
            sim.run(i * ROUND_US)
            if i > 1:  # the first round includes the boot
                best_s = min(best_s, time.process_time() - sitl.waited_s - before_s)
    finally:
        sim.close()
        for process in started:
            process.kill()
            process.wait()
    return 1e6 * best_s / (ROUND_US // hover.TICK_US)


if __name__ == "__main__":
    answer(int(sys.argv[1]))
