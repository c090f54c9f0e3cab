"""The built-in autopilot: a multicopter stack with PX4's structure, parameter names and defaults, compiled."""
