"""Autopilots: what turns an estimate into motor commands."""
