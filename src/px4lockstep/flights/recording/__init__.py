"""Recordings: all that a flight was, in one file that can be replayed exactly."""
