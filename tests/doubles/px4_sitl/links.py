"""PX4's MAVLink links over UDP, and the streams on them.

| link | from | to |
|---|---|---|
| ground stations | 18570 + instance | the last sender |
| API | 14580 + instance | 14540 + instance, or the last sender |
| payload | 14280 + instance | 14030 + instance, or the last sender |

A link carries status texts only while it receives a ground station's heartbeats. The payload link has 4 kB/s, so that
its streams, but not heartbeats, have a twentieth of their rate. MAV_CMD_SET_MESSAGE_INTERVAL changes the rate of a
stream, but not of heartbeats; MISSION_CURRENT is not a stream.
"""

import contextlib
import socket

STATUSTEXT, CURRENT_MODE = 253, 436
STREAMS_US = {STATUSTEXT: 50_000, CURRENT_MODE: 2_000_000}
HEARTBEAT_TIMEOUT_US = 2_500_000
STALE_US = 5_000_000
CHUNK = 50


class Link:
    """A UDP link."""

    def __init__(self, name, port, remote=None, scale=1):
        self.name, self.port, self.scale = name, port, scale
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.peer = None if remote is None else ("127.0.0.1", remote)
        self.intervals = dict(STREAMS_US)
        self.beat_us = -(10**12)
        self.sent_us = {}
        self.texts = []
        self.text_id = 0
        self.last_reached = None
        self.reached_left = 0

    def open(self):
        self.socket.bind(("127.0.0.1", self.port))

    def send(self, data):
        if self.peer is not None:
            with contextlib.suppress(OSError):
                self.socket.sendto(data, self.peer)

    def receive(self):
        """Yield the datagrams that have arrived."""
        while True:
            try:
                data, self.peer = self.socket.recvfrom(65536)
            except OSError:
                return
            yield data

    def is_due(self, name, period_us, time_us):
        if time_us - self.sent_us.get(name, -(10**12)) < period_us:
            return False
        self.sent_us[name] = time_us
        return True

    def is_stream_due(self, number, time_us):
        return self.is_due(number, self.scale * self.intervals[number], time_us)

    def queue(self, severity, text, time_us):
        self.texts = [*self.texts, (severity, text, time_us)][-8:]

    def chunks(self, time_us):
        """Return severity, text, id and number of the next status text's chunks, if one is due."""
        if not time_us - self.beat_us < HEARTBEAT_TIMEOUT_US:
            return []
        self.texts = [text for text in self.texts if time_us - text[2] < STALE_US]
        if not self.texts or not self.is_stream_due(STATUSTEXT, time_us):
            return []
        severity, text, _ = self.texts.pop(0)
        self.text_id += 1
        data = text.encode()
        parts = [data[i : i + CHUNK] for i in range(0, len(data), CHUNK)]
        return [(severity, part, self.text_id - 1, number) for number, part in enumerate(parts)]
