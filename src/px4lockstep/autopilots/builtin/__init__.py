"""The built-in autopilot: a compiled multicopter stack with PX4's structure, parameter names and defaults."""
