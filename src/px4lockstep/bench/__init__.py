"""Benchmarks as ratios of our time to that of the same plant in C, measured in one run because machines are noisy."""
