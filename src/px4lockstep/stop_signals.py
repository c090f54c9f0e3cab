"""The signals that request the end of a process."""

import signal

STOPS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that request the end of a process; it writes its results first."""
