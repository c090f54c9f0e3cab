"""PX4's own formats: missions and parameters. Usable alone: imports neither Numba nor the simulator."""
