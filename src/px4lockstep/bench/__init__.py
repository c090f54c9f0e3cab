"""Benchmarks as ratios: our time over that of the same plant in C, in one run, since machines are noisy."""
