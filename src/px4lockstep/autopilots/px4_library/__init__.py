"""Real PX4 through its library, compiled: its inputs and outputs at a tick, and the calls into it by address."""
