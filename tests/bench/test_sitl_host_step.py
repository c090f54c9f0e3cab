"""A step of stock PX4's host costs less than 60 µs, scaled by the speed of Python and sockets on this machine."""

import math
import socket
import struct
import time

import pytest

from px4lockstep.bench import sitl_host_step

pytestmark = pytest.mark.process

LIMIT_US = 60.0
YARDSTICK_US = 12.5
"""Cost of the yardstick on a machine where a step costs 45 to 55 µs; on slower machines the limit scales with it."""
ATTEMPTS = 3
LAYOUT = struct.Struct("<Q13fIB")


def yardstick_us():
    """Return the cost of some plain Python and two system calls, best of many rounds."""
    best_s = math.inf
    near, far = socket.socketpair()
    with near, far:
        for _ in range(200):
            before_s = time.process_time()
            for i in range(50):
                near.send(LAYOUT.pack(i, *[0.5] * 13, i, 0))
                far.recv(4096)
                total = 0.0
                for value in range(300):
                    total += value * 0.5
            best_s = min(best_s, time.process_time() - before_s)
    return 1e6 * best_s / 50


def test_a_step_of_the_host_costs_less_than_60_us():
    """The value is CPU time, best of 20 rounds and up to three attempts, since the machine may be shared."""
    found = []
    for _ in range(ATTEMPTS):
        scale = max(1.0, yardstick_us() / YARDSTICK_US)
        found.append(sitl_host_step.measured() / scale)
        if found[-1] < LIMIT_US:
            break
    assert 5.0 < min(found) < LIMIT_US
