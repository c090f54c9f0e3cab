"""What the autopilot is told of the vehicle: the truth, or the truth with noise, bias and delay."""
