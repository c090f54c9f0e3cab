"""Scenarios: requests to the autopilot, wind steps and faults; and the detection of landings and crashes."""
