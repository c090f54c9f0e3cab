"""Autopilots, which turn the state estimate into motor commands."""
