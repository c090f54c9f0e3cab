"""Benchmarks as ratios: our time divided by that of the same plant in C, in one run, since machines are noisy."""
