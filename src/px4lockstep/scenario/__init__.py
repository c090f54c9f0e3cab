"""What happens to a flight from outside: requests to the autopilot, wind steps, faults; and whether it has landed."""
