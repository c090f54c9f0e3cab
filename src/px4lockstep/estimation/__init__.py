"""The state estimate for the autopilot: the true state, or the true state with noise, bias and delay."""
