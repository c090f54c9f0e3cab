"""Recordings: everything about a flight, in one file that can be replayed exactly."""
