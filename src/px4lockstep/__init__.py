"""Deterministic, fast flight simulation for PX4, in lockstep."""

__version__ = "0.1.0"
