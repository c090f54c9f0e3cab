"""Verification that a user can run: reference problems with known solutions, orders of convergence."""
